/* SPDX-License-Identifier: Apache-2.0 */
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

/* The session's connection has changed to these states, in this order. Reports each change
 * of the combined state. A repeated LATENT is reported again if the client's state is
 * LATENT, as a reminder. */
void uvzk__combined_state_announce(struct uvzk__session *, struct uvzk__connection_news);

/* Reports this state to the observer and to the user, whatever was reported last. The
 * user's callback runs at once, not at the end of a turn. */
void uvzk__combined_state_report(struct uvzk__session *, uvzk_client_state_t);

/* The combined state at this moment. */
uvzk_client_state_t uvzk__combined_state_now(const struct uvzk__session *);

#endif
