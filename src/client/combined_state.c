/* SPDX-License-Identifier: Apache-2.0 */
/* Combines the connection states of a client's sessions into one (combined_state.h).
 * lifecycle.c calls it for each change, and it calls the observer and the user. With a
 * single session the state of that session is passed on unchanged. */
#include "client/combined_state.h"

#include "client/lifecycle.h"
#include "engine/probe_points.h"

static unsigned combined_state_severity(uvzk_client_state_t state)
{
    switch (state) {
    case UVZK_STATE_CONNECTED:
    case UVZK_STATE_RECONNECTED:
        return 0;
    case UVZK_STATE_LATENT:
        return 1;
    case UVZK_STATE_SUSPENDED:
        return 2;
    case UVZK_STATE_LOST:
        return 3;
    default:
        return 4;
    }
}

/* told: from the states that have been processed, instead of the sessions' present
 * states. The two differ while changes of several sessions are being reported one after
 * the other. */
static uvzk_client_state_t combined_state_worst(const struct uvzk__session *session,
                                                bool told)
{
    const struct uvzk__client *client = session->client;
    const struct uvzk__combined_state *states = session->lifecycle->combined_state;
    uvzk_client_state_t found = UVZK_STATE_CONNECTED;

    for (uint32_t i = 0; i < client->count; i++) {
        uvzk_client_state_t state =
            told ? (uvzk_client_state_t)states->each[i]
                 : uvzk__connection_state(&client->sessions[i]->connection);
        found = combined_state_severity(state) > combined_state_severity(found) ? state
                                                                                : found;
    }
    return uvzk__state_is_connected(found) && states->ever_connected
               ? UVZK_STATE_RECONNECTED
               : found;
}

/* The session has changed to this state. Returns whether a state of the client is to be
 * reported, and which. */
static bool combined_state_update(struct uvzk__session *session,
                                  uvzk_client_state_t state, uvzk_client_state_t *of_all)
{
    struct uvzk__combined_state *states = session->lifecycle->combined_state;

    *of_all = state;
    if (!uvzk__has_sessions(session)) {
        return true;
    }
    /* A reminder from a session without a connection (lifecycle.c). */
    bool again = state == UVZK_STATE_LATENT;
    states->each[session->number] = (uint8_t)state;
    state = combined_state_worst(session, true);
    /* CONNECTED and RECONNECTED count as the same state here, so the user is not called
     * for a change between them. */
    if (uvzk__state_is_connected(state)
            ? uvzk__state_is_connected(states->told)
            : state == states->told && !(again && state == UVZK_STATE_LATENT)) {
        return false;
    }
    states->ever_connected |= uvzk__state_is_connected(state);
    states->told = state;
    *of_all = state;
    return true;
}

void uvzk__combined_state_report(struct uvzk__session *session, uvzk_client_state_t state)
{
    if (session->observer != NULL) {
        uvzk__observe_state(session, state);
    }
    if (uvzk__probed()) {
        uvzk__probe_state(session, state);
    }
    if (session->lifecycle->state_cb != NULL) {
        session->lifecycle->state_cb(session->handle, state);
    }
}

void uvzk__combined_state_announce(struct uvzk__session *session,
                                   struct uvzk__connection_news news)
{
    for (int i = 0; i < news.count; i++) {
        uvzk_client_state_t state;
        if (combined_state_update(session, news.states[i], &state)) {
            uvzk__combined_state_report(session, state);
        }
    }
}

uvzk_client_state_t uvzk__combined_state_now(const struct uvzk__session *session)
{
    uvzk_client_state_t now;

    if (!uvzk__has_sessions(session)) {
        return uvzk__connection_state(&session->connection);
    }
    /* A connected state keeps the name by which it was reported. */
    now = combined_state_worst(session, false);
    return uvzk__state_is_connected(now) &&
                   uvzk__state_is_connected(session->lifecycle->combined_state->told)
               ? session->lifecycle->combined_state->told
               : now;
}
