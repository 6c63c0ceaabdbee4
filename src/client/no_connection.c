/* SPDX-License-Identifier: Apache-2.0 */
/* Why a session has no connection, and how often that is logged (no_connection.h).
 * lifecycle.c records the reasons; uvzk_client_last_error and session_entries.c read
 * them. The first log line comes after 5 s without a connection. The pauses after it are
 * 10 s, 20 s and so on, up to 300 s. */
#include "client/no_connection.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "base/refusal.h"
#include "base/struct_size.h"
#include "client/lifecycle.h"
#include "engine/log.h"

#define FIRST_PAUSE_MS 5000U
#define LAST_PAUSE_MS 300000U

static struct uvzk__no_connection *no_connection_of(struct uvzk__session *session)
{
    return &session->lifecycle->no_connection;
}

void uvzk__no_connection_begin(struct uvzk__session *session)
{
    struct uvzk__no_connection *no_connection = no_connection_of(session);

    if (no_connection->since_ms == 0) {
        no_connection->since_ms = uvzk__now(session);
        no_connection->pause_ms = FIRST_PAUSE_MS;
        no_connection->say_at_ms = no_connection->since_ms + FIRST_PAUSE_MS;
    }
}

void uvzk__no_connection_end(struct uvzk__session *session)
{
    no_connection_of(session)->since_ms = 0;
}

const char *uvzk__no_connection_address(const struct uvzk__session *session, int code)
{
    const struct uvzk__no_connection *no_connection = &session->lifecycle->no_connection;

    return no_connection->code == code ? no_connection->address : "";
}

const char *uvzk__no_connection_text(const struct uvzk__session *session, int code)
{
    const struct uvzk__no_connection *no_connection = &session->lifecycle->no_connection;

    return no_connection->code == code ? no_connection->text : uvzk_strerror(code);
}

/* If several sessions have no connection, only the first of them logs it, because they
 * usually have the same reason. */
static bool speaks_for_others(const struct uvzk__session *session)
{
    uint32_t i = 0;

    /* Ends at this session at the latest, because the caller has checked that it has no
     * connection. */
    while (session->client->sessions[i]->lifecycle->no_connection.since_ms == 0) {
        i++;
    }
    return i == session->number;
}

bool uvzk__no_connection_because(struct uvzk__session *session,
                                 const struct uvzk__connect_error *error)
{
    struct uvzk__no_connection *no_connection = no_connection_of(session);

    no_connection->code = error->code;
    no_connection->at_ms = uvzk__now(session);
    /* The caller may pass what is recorded itself (uvzk__no_connection_address, _text). */
    if (error->address != no_connection->address) {
        (void)snprintf(no_connection->address, sizeof(no_connection->address), "%s",
                       error->address);
    }
    if (error->text != no_connection->text) {
        (void)snprintf(no_connection->text, sizeof(no_connection->text), "%s",
                       error->text);
    }
    return no_connection->since_ms != 0 &&
           no_connection->at_ms >= no_connection->say_at_ms && speaks_for_others(session);
}

void uvzk__no_connection_broken(struct uvzk__session *session)
{
    const struct uvzk__connect_error error = {
        .code = UVZK_EINTERNAL, .address = "", .text = uvzk_strerror(UVZK_EINTERNAL)};

    (void)uvzk__no_connection_because(session, &error);
}

void uvzk__no_connection_log(struct uvzk__session *session)
{
    struct uvzk__no_connection *no_connection = no_connection_of(session);

    no_connection->pause_ms = no_connection->pause_ms < LAST_PAUSE_MS / 2
                                  ? 2 * no_connection->pause_ms
                                  : LAST_PAUSE_MS;
    no_connection->say_at_ms = no_connection->at_ms + no_connection->pause_ms;
    uvzk__log(
        session, UVZK_LOG_WARN, "session", "no connection for %" PRIu64 " s: %s%s%s",
        (no_connection->at_ms - no_connection->since_ms) / 1000, no_connection->address,
        no_connection->address[0] == '\0' ? "" : ": ", no_connection->text);
}

/* ----------------------------------------------------------- the public functions */

void uvzk_client_error_init_size(uvzk_client_error_t *error, size_t size)
{
    if (error != NULL) {
        memset(error, 0, size);
        error->size = size;
    }
}

/* The reason that was reported last in any session. */
static const struct uvzk__no_connection *
no_connection_latest(const struct uvzk__client *client)
{
    const struct uvzk__no_connection *latest =
        &client->sessions[0]->lifecycle->no_connection;

    for (uint32_t i = 1; i < client->count; i++) {
        const struct uvzk__no_connection *no_connection =
            &client->sessions[i]->lifecycle->no_connection;
        if (no_connection->at_ms > latest->at_ms) {
            latest = no_connection;
        }
    }
    return latest;
}

int uvzk_client_last_error(const uvzk_client_t *handle, uvzk_client_error_t *error)
{
    const struct uvzk__session *session = handle == NULL ? NULL : handle->impl;

    if (handle == NULL) {
        return uvzk__refuse(UV_EINVAL, "client is NULL");
    }
    if (error == NULL || error->size < UVZK__SIZE_UP_TO(uvzk_client_error_t, at)) {
        return uvzk__refuse(UV_EINVAL, "error is NULL, or its size not set by "
                                       "uvzk_client_error_init");
    }
    if (session == NULL) {
        return uvzk__refuse(UVZK_ESTATE, "client is not initialised");
    }
    const struct uvzk__no_connection *no_connection =
        no_connection_latest(session->client);
    uvzk_client_error_t now = {.code = no_connection->code,
                               .address = no_connection->address,
                               .text = no_connection->text,
                               .at = no_connection->at_ms};
    uvzk__answer_into(error, &now, sizeof(now));
    return 0;
}
