/* Finds the sessions of a client and the home session of a path (client.h). */
#include "engine/client.h"

#include <stddef.h>

#include "base/rendezvous.h"
#include "engine/session.h"

void uvzk__client_add_session(struct uvzk__client *client, struct uvzk__session *session)
{
    client->sessions[client->count++] = session;
}

struct uvzk__session *uvzk__first_session(const struct uvzk__session *session)
{
    return session->client->sessions[0];
}

bool uvzk__has_sessions(const struct uvzk__session *session)
{
    return session->client->count > 1;
}

struct uvzk__session *uvzk__next_in_rank(const struct uvzk__session *session,
                                         const char *path, uint32_t *tried)
{
    const struct uvzk__client *client = session->client;
    uint64_t key = uvzk__rendezvous_key(path), greatest = 0;
    struct uvzk__session *next = NULL;

    for (uint32_t i = 0; i < client->count; i++) {
        uint64_t weight = uvzk__rendezvous_weight(key, i);
        if ((*tried >> i & 1U) == 0 && (next == NULL || weight > greatest)) {
            greatest = weight;
            next = client->sessions[i];
        }
    }
    if (next != NULL) {
        *tried |= UINT32_C(1) << next->number;
    }
    return next;
}

struct uvzk__session *uvzk__home_of(const struct uvzk__session *session, const char *path)
{
    uint32_t tried = 0;

    /* With one session, hashing the path is not necessary. */
    return uvzk__has_sessions(session) ? uvzk__next_in_rank(session, path, &tried)
                                       : uvzk__first_session(session);
}

bool uvzk__session_count_closed(struct uvzk__session *session)
{
    return ++session->client->ended == session->client->count;
}

/* Callbacks about the client as a whole are queued in the first session, so that session
 * closes its port after all others. */
bool uvzk__session_waits_for_others(const struct uvzk__session *session)
{
    return session->number == 0 && session->client->ended + 1 < session->client->count;
}
