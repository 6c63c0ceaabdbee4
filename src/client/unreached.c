#include "client/unreached.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "base/refusal.h"
#include "client/lifecycle.h"
#include "engine/log.h"

#define FIRST_PAUSE_MS 5000U
#define LAST_PAUSE_MS 300000U

static struct uvzk__unreached *of(struct uvzk__client *client)
{
    return &client->life->unreached;
}

void uvzk__unreached_begin(struct uvzk__client *client)
{
    struct uvzk__unreached *unreached = of(client);

    if (unreached->since_ms == 0) {
        unreached->since_ms = uvzk__now(client);
        unreached->pause_ms = FIRST_PAUSE_MS;
        unreached->say_at_ms = unreached->since_ms + FIRST_PAUSE_MS;
    }
}

void uvzk__unreached_end(struct uvzk__client *client)
{
    of(client)->since_ms = 0;
}

const char *uvzk__unreached_at(const struct uvzk__client *client, int code)
{
    const struct uvzk__unreached *unreached = &client->life->unreached;

    return unreached->code == code ? unreached->address : "";
}

/* Of several sessions without a connection the first one says so: the others mostly have
 * the same reason. */
static bool speaks_for_others(const struct uvzk__client *client)
{
    uint32_t i = 0;

    while (client->sessions->each[i]->life->unreached.since_ms == 0) {
        i++;
    }
    return i == client->number;
}

bool uvzk__unreached_for(struct uvzk__client *client, const struct uvzk__trouble *trouble)
{
    struct uvzk__unreached *unreached = of(client);

    unreached->code = trouble->code;
    unreached->at_ms = uvzk__now(client);
    if (trouble->address != unreached->address) {
        (void)snprintf(unreached->address, sizeof(unreached->address), "%s",
                       trouble->address);
    }
    (void)snprintf(unreached->text, sizeof(unreached->text), "%s", trouble->text);
    return unreached->since_ms != 0 && unreached->at_ms >= unreached->say_at_ms &&
           speaks_for_others(client);
}

void uvzk__unreached_say(struct uvzk__client *client)
{
    struct uvzk__unreached *unreached = of(client);

    unreached->pause_ms =
        unreached->pause_ms < LAST_PAUSE_MS / 2 ? 2 * unreached->pause_ms : LAST_PAUSE_MS;
    unreached->say_at_ms = unreached->at_ms + unreached->pause_ms;
    uvzk__log(client, UVZK_LOG_WARN, "session", "no connection for %" PRIu64 " s: %s%s%s",
              (unreached->at_ms - unreached->since_ms) / 1000, unreached->address,
              unreached->address[0] == '\0' ? "" : ": ", unreached->text);
}

/* ----------------------------------------------------------------- the public question */

void uvzk_client_error_init_size(uvzk_client_error_t *error, size_t size)
{
    if (error != NULL) {
        memset(error, 0, size);
        error->size = size;
    }
}

static const struct uvzk__unreached *latest(const struct uvzk__sessions *sessions)
{
    const struct uvzk__unreached *latest = &sessions->each[0]->life->unreached;

    for (uint32_t i = 1; i < sessions->count; i++) {
        const struct uvzk__unreached *unreached = &sessions->each[i]->life->unreached;
        if (unreached->at_ms > latest->at_ms) {
            latest = unreached;
        }
    }
    return latest;
}

int uvzk_client_last_error(const uvzk_client_t *shell, uvzk_client_error_t *error)
{
    const struct uvzk__client *client = shell == NULL ? NULL : shell->impl;

    if (shell == NULL) {
        return uvzk__refuse(UV_EINVAL, "client is NULL");
    }
    if (error == NULL || error->size < sizeof(*error)) {
        return uvzk__refuse(UV_EINVAL, "error is NULL, or its size not set by "
                                       "uvzk_client_error_init");
    }
    if (client == NULL) {
        return uvzk__refuse(UVZK_ESTATE, "client is not initialised");
    }
    const struct uvzk__unreached *unreached = latest(client->sessions);
    error->code = unreached->code;
    error->address = unreached->address;
    error->text = unreached->text;
    error->at = unreached->at_ms;
    return 0;
}
