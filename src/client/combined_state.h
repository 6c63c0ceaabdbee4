/* The states of a client's sessions, told as one: the worst of them. Connected is a client
 * all of whose sessions are; before it has been so for the first time it is LATENT, unless
 * one of them is worse off. */
#ifndef UVZK_COMBINED_STATE_H
#define UVZK_COMBINED_STATE_H

#include "engine/session.h"

/* Of a client; its sessions share it. */
struct uvzk__combined_state {
    uint8_t
        each[UVZK__SESSIONS_MAX]; /* uvzk_client_state_t, as far as it has been told */
    uvzk_client_state_t told;     /* of all of them */
    bool ever_connected;          /* all of them at one time */
};

/* The session has come into this state; true, and which one: that is to be told of the
 * client. It is if it is LATENT still. */
bool uvzk__combined_state_update(struct uvzk__session *, uvzk_client_state_t,
                                 uvzk_client_state_t *);

/* As things stand. */
uvzk_client_state_t uvzk__combined_state_now(const struct uvzk__session *);

#endif
