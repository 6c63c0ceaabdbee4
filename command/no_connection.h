/* SPDX-License-Identifier: Apache-2.0 */
/* Reports on standard error that there is no connection, so a command that waits for one
 * does not wait silently. The first report comes after 5 s, the others after pauses of 15
 * s and 45 s, and then every 120 s. */
#ifndef NO_CONNECTION_H
#define NO_CONNECTION_H

#include <stdbool.h>
#include <stdint.h>

#include <uv.h>
#include <uvzk.h>

struct no_connection {
    uv_timer_t timer; /* until the next report; its data: this struct */
    const uvzk_client_t *client;
    const char *hosts;
    const char *subject; /* begins each report; "": nothing */
    uint64_t since;      /* uvzk_now() when it began */
    uint64_t pause_ms;   /* the last pause; 0: there is a connection */
    void *data;          /* the user's */
};

/* Initialises the timer, which the user closes. The pointers must outlive it. */
void no_connection_init(struct no_connection *, uv_loop_t *, const uvzk_client_t *,
                        const char *hosts, const char *subject);

/* From now on there is no connection; does nothing if there was none before. */
void no_connection_begin(struct no_connection *);
/* There is a connection again, or reports are no longer wanted. */
void no_connection_end(struct no_connection *);

/* Returns the code of the last reason why there was no connection; 0: none yet. */
int no_connection_reason(const uvzk_client_t *);

/* Returns " (address: reason)" for the last reason why there was no connection; "" if there is
 * none yet. The text is static. */
const char *no_connection_reason_text(const uvzk_client_t *);

#endif
