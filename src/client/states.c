#include "client/states.h"

#include "client/lifecycle.h"

static unsigned badness(uvzk_client_state_t state)
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

static uvzk_client_state_t worst(const struct uvzk__client *client, bool told)
{
    const struct uvzk__sessions *sessions = client->sessions;
    const struct uvzk__states *states = client->life->states;
    uvzk_client_state_t found = UVZK_STATE_CONNECTED;

    for (uint32_t i = 0; i < sessions->count; i++) {
        uvzk_client_state_t state =
            told ? (uvzk_client_state_t)states->each[i]
                 : uvzk__session_state(&sessions->each[i]->session);
        found = badness(state) > badness(found) ? state : found;
    }
    return uvzk__state_is_connected(found) && states->ever_connected
               ? UVZK_STATE_RECONNECTED
               : found;
}

bool uvzk__states_tell(struct uvzk__client *client, uvzk_client_state_t state,
                       uvzk_client_state_t *of_all)
{
    struct uvzk__states *states = client->life->states;

    *of_all = state;
    if (!uvzk__has_sessions(client)) {
        return true;
    }
    bool again = state == UVZK_STATE_LATENT; /* a reminder */
    states->each[client->number] = (uint8_t)state;
    state = worst(client, true);
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

uvzk_client_state_t uvzk__states_now(const struct uvzk__client *client)
{
    uvzk_client_state_t now;

    if (!uvzk__has_sessions(client)) {
        return uvzk__session_state(&client->session);
    }
    now = worst(client, false);
    return uvzk__state_is_connected(now) &&
                   uvzk__state_is_connected(client->life->states->told)
               ? client->life->states->told
               : now;
}
