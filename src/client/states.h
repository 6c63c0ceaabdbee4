/* The states of a client's sessions, told as one: the worst of them. Connected is a client
 * all of whose sessions are; before it has been so for the first time it is LATENT, unless
 * one of them is worse off. */
#ifndef UVZK_STATES_H
#define UVZK_STATES_H

#include "engine/client.h"

/* Of a client; its sessions share it. */
struct uvzk__states {
    uint8_t
        each[UVZK__SESSIONS_MAX]; /* uvzk_client_state_t, as far as it has been told */
    uvzk_client_state_t told;     /* of all of them */
    bool ever_connected;          /* all of them at one time */
};

/* The session has come into this state; true, and which one: that is to be told of the
 * client. It is if it is LATENT still. */
bool uvzk__states_tell(struct uvzk__client *, uvzk_client_state_t, uvzk_client_state_t *);

/* As things stand. */
uvzk_client_state_t uvzk__states_now(const struct uvzk__client *);

#endif
