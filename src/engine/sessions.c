#include "engine/sessions.h"

#include <stddef.h>

#include "base/rendezvous.h"
#include "engine/client.h"

void uvzk__sessions_add(struct uvzk__sessions *sessions, struct uvzk__client *client)
{
    sessions->each[sessions->count++] = client;
}

struct uvzk__client *uvzk__first_session(const struct uvzk__client *client)
{
    return client->sessions->each[0];
}

bool uvzk__has_sessions(const struct uvzk__client *client)
{
    return client->sessions->count > 1;
}

struct uvzk__client *uvzk__next_in_rank(const struct uvzk__client *client,
                                        const char *path, uint32_t *tried)
{
    const struct uvzk__sessions *sessions = client->sessions;
    uint64_t key = uvzk__rendezvous_key(path), greatest = 0;
    struct uvzk__client *next = NULL;

    for (uint32_t i = 0; i < sessions->count; i++) {
        uint64_t drawn = uvzk__rendezvous_draw(key, i);
        if ((*tried >> i & 1U) == 0 && (next == NULL || drawn > greatest)) {
            greatest = drawn;
            next = sessions->each[i];
        }
    }
    if (next != NULL) {
        *tried |= UINT32_C(1) << next->number;
    }
    return next;
}

struct uvzk__client *uvzk__home_of(const struct uvzk__client *client, const char *path)
{
    uint32_t tried = 0;

    return uvzk__has_sessions(client) ? uvzk__next_in_rank(client, path, &tried)
                                      : uvzk__first_session(client);
}

bool uvzk__session_over(struct uvzk__client *client)
{
    return ++client->sessions->ended == client->sessions->count;
}

/* The first one has what is told of the client as a whole. */
bool uvzk__session_waits_for_others(const struct uvzk__client *client)
{
    return client->number == 0 && client->sessions->ended + 1 < client->sessions->count;
}
