/* SPDX-License-Identifier: Apache-2.0 */
/* Finds the sessions of a client and the home session of a path (client.h). */
#include "engine/client.h"

#include <stddef.h>

#include "base/path.h"
#include "base/refusal.h"
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

static int check_pointers(const uvzk_client_t *client, const char *what,
                          const void *handle)
{
    return client == NULL   ? uvzk__refuse(UV_EINVAL, "client is NULL")
           : handle == NULL ? uvzk__refuse_with(UV_EINVAL, "%s is NULL", what)
                            : 0;
}

int uvzk__check_handle(const uvzk_client_t *client, const char *what, const void *handle,
                       const void *impl)
{
    int status = check_pointers(client, what, handle);

    if (status != 0) {
        return status;
    }
    const struct uvzk__session *session = client->impl;
    /* client->impl is NULL before the init and after the end of a client. */
    if (session == NULL || uvzk__session_is_closing(session)) {
        return uvzk__refuse(UVZK_ESTATE, "client is closing, or not initialised");
    }
    return impl == NULL ? 0
                        : uvzk__refuse_with(
                              UV_EBUSY, "%s is initialised already, or not zeroed", what);
}

int uvzk__check_init(const uvzk_client_t *client, const char *what, const void *handle,
                     const void *impl, const char *path)
{
    int status = check_pointers(client, what, handle);

    if (status == 0) {
        status = uvzk__refuse_if(UV_EINVAL, path == NULL ? "path is NULL" : NULL);
    }
    if (status == 0) {
        status = uvzk__check_handle(client, what, handle, impl);
    }
    return status != 0
               ? status
               : uvzk__path_validate_below(uvzk__namespace_of(client->impl), path);
}
