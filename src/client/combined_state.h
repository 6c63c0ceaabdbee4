/* The connection states of all sessions of a client, reported as one state: the worst of
 * them, in the order LOST, SUSPENDED, LATENT, connected. A client counts as connected
 * only if all of its sessions are. Before that has happened for the first time the client
 * is LATENT, unless one of its sessions is in a worse state. */
#ifndef UVZK_COMBINED_STATE_H
#define UVZK_COMBINED_STATE_H

#include "engine/session.h"

/* One for each client; its sessions share it. */
struct uvzk__combined_state {
    /* For each session the last state that was processed, a uvzk_client_state_t. */
    uint8_t each[UVZK__SESSIONS_MAX];
    uvzk_client_state_t told; /* the combined state that was reported last */
    bool ever_connected;      /* all sessions have been connected at the same time */
};

/* The session has changed to this state. Returns whether the client's state callback is
 * to run, and the state for it. A repeated LATENT is reported again if the client's state
 * is LATENT, as a reminder. */
bool uvzk__combined_state_update(struct uvzk__session *, uvzk_client_state_t,
                                 uvzk_client_state_t *);

/* The combined state at this moment. */
uvzk_client_state_t uvzk__combined_state_now(const struct uvzk__session *);

#endif
