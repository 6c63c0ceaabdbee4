/* SPDX-License-Identifier: Apache-2.0 */
/* A timer that reports a missing connection at growing intervals (no_connection.h).
 * connection.c and query.c use it. */
#include "no_connection.h"

#include <inttypes.h>
#include <stdio.h>

#include "output.h"

#define FIRST_PAUSE_MS 5000U
#define LAST_PAUSE_MS 120000U
#define PAUSE_GROWTH 3U

int no_connection_reason(const uvzk_client_t *client)
{
    uvzk_client_error_t why;

    uvzk_client_error_init(&why);
    return uvzk_client_last_error(client, &why) == 0 ? why.code : 0;
}

const char *no_connection_reason_text(const uvzk_client_t *client)
{
    static char text[1024];
    uvzk_client_error_t why;

    uvzk_client_error_init(&why);
    text[0] = '\0';
    if (uvzk_client_last_error(client, &why) == 0 && why.code != 0) {
        snprintf(text, sizeof(text), " (%s%s%s)", why.address,
                 why.address[0] == '\0' ? "" : ": ", why.text);
    }
    return text;
}

static void report(uv_timer_t *timer)
{
    struct no_connection *no_connection = timer->data;
    uint64_t next = no_connection->pause_ms * PAUSE_GROWTH;

    output_report("%sno connection to %s for %" PRIu64 " s%s, still trying",
                  no_connection->subject, no_connection->hosts,
                  (uvzk_now() - no_connection->since) / 1000,
                  no_connection_reason_text(no_connection->client));
    no_connection->pause_ms = next < LAST_PAUSE_MS ? next : LAST_PAUSE_MS;
    uv_timer_start(timer, report, no_connection->pause_ms, 0);
}

void no_connection_init(struct no_connection *no_connection, uv_loop_t *loop,
                        const uvzk_client_t *client, const char *hosts,
                        const char *subject)
{
    no_connection->client = client;
    no_connection->hosts = hosts;
    no_connection->subject = subject;
    no_connection->pause_ms = 0;
    uv_timer_init(loop, &no_connection->timer);
    no_connection->timer.data = no_connection;
}

void no_connection_begin(struct no_connection *no_connection)
{
    if (no_connection->pause_ms == 0) {
        no_connection->since = uvzk_now();
        no_connection->pause_ms = FIRST_PAUSE_MS;
        uv_timer_start(&no_connection->timer, report, no_connection->pause_ms, 0);
    }
}

void no_connection_end(struct no_connection *no_connection)
{
    no_connection->pause_ms = 0;
    uv_timer_stop(&no_connection->timer);
}
