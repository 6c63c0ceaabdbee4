/* SPDX-License-Identifier: Apache-2.0 */
/* Counts what the programs have now, when somebody asks, and writes it behind the
 * client's metrics (served_metrics.h). metrics_listener.c and the request "metrics" show
 * the text. */
#include "serve/served_metrics.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <utlist.h>
#include <uvzk.h>

#include "serve/daemon.h"
#include "serve/served_answer.h"
#include "serve/served_connection.h"
#include "serve/served_hold.h"
#include "serve/served_object.h"
#include "serve/served_validity.h"
#include "serve/served_watch.h"

#define NS_IN_MS 1000000U
/* The value of the label `client` of each sample. */
#define CLIENT_NAME "serve"

/* What the programs have now. */
struct served_numbers {
    size_t connections;
    size_t holds;    /* that their programs may rely on */
    size_t expiring; /* holds that are about to be released */
    size_t waiting;  /* acquires */
    size_t watches;
    size_t objects;
    uint64_t longest_wait_ms; /* of an acquire that waits */
};

void served_counts_cut_off(struct served_counts *counts, const char *error)
{
    static const char *const errors[] = {[SERVED_CUT_LINE] = SERVED_ELINE,
                                         [SERVED_CUT_UNREAD] = SERVED_EUNREAD,
                                         [SERVED_CUT_CONNECTIONS] = SERVED_ECONNECTIONS};
    size_t reason = 0;

    while (reason < SERVED_CUT_OTHERWISE && strcmp(errors[reason], error) != 0) {
        reason++;
    }
    counts->cut_off[reason]++;
}

/* ---------------------------------------------------------------------- what there is */

static void count_hold(const struct served_hold *hold, uint64_t now,
                       struct served_numbers *numbers)
{
    uint64_t waits_ms = (now - hold->received) / NS_IN_MS;

    switch (hold->state) {
    case SERVED_HOLD_WAITING:
        numbers->waiting++;
        if (waits_ms > numbers->longest_wait_ms) {
            numbers->longest_wait_ms = waits_ms;
        }
        break;
    case SERVED_HOLD_HELD:
        numbers->holds++;
        break;
    default: /* it is about to end */
        break;
    }
}

/* The connection of an expiring hold may have ended, and is in no list then. */
static void count_now(const struct daemon *daemon, struct served_numbers *numbers)
{
    uint64_t now = served_validity_now().monotonic;
    const struct served_connection *connection;
    const struct served_hold *expiring;

    *numbers = (struct served_numbers){.connections = daemon->connection_count};
    DL_FOREACH(daemon->connections, connection)
    {
        for (const struct served_hold *hold = connection->holds; hold != NULL;
             hold = hold->hh.next) {
            count_hold(hold, now, numbers);
        }
        numbers->objects += HASH_COUNT(connection->objects);
        for (const struct served_watch *watch = connection->watches; watch != NULL;
             watch = watch->hh.next) {
            numbers->watches += !watch->ending;
        }
    }
    DL_FOREACH(daemon->expiring.holds, expiring)
    {
        numbers->expiring++;
    }
}

/* ---------------------------------------------------------------------------- the text */

static void put_type(FILE *text, const char *name, const char *type, const char *help)
{
    fprintf(text, "# HELP uvzk_serve_%s %s\n# TYPE uvzk_serve_%s %s\n", name, help, name,
            type);
}

static void put(FILE *text, const char *name, const char *type, const char *help,
                uint64_t value)
{
    put_type(text, name, type, help);
    fprintf(text, "uvzk_serve_%s{client=\"" CLIENT_NAME "\"} %" PRIu64 "\n", name, value);
}

static void put_numbers(FILE *text, const struct daemon *daemon)
{
    struct served_numbers numbers;

    count_now(daemon, &numbers);
    put(text, "connections", "gauge", "Connections of programs.", numbers.connections);
    put(text, "connections_most", "gauge", "How many there may be.",
        daemon->options->max_connections);
    put(text, "holds", "gauge", "Holds of programs.", numbers.holds);
    put(text, "expiring", "gauge",
        "Holds that are released when their programs no longer rely on them.",
        numbers.expiring);
    put(text, "waiting", "gauge", "Acquires of programs that wait.", numbers.waiting);
    put(text, "watches", "gauge", "Watches of programs.", numbers.watches);
    put(text, "objects", "gauge", "Shared values and other objects of programs.",
        numbers.objects);
    put_type(text, "longest_wait_seconds", "gauge",
             "How long the acquire that has waited longest has waited.");
    fprintf(text,
            "uvzk_serve_longest_wait_seconds{client=\"" CLIENT_NAME "\"} %" PRIu64
            ".%03" PRIu64 "\n",
            numbers.longest_wait_ms / 1000, numbers.longest_wait_ms % 1000);
}

static void put_counts(FILE *text, const struct served_counts *counts)
{
    static const char *const reasons[SERVED_CUTS] = {
        [SERVED_CUT_LINE] = "line",
        [SERVED_CUT_UNREAD] = "unread",
        [SERVED_CUT_CONNECTIONS] = "connections",
        [SERVED_CUT_OTHERWISE] = "other",
    };

    put(text, "accepted_total", "counter", "Connections that were accepted.",
        counts->accepted);
    put(text, "requests_total", "counter", "Requests that were read.", counts->requests);
    put(text, "wrong_requests_total", "counter", "Lines that were no requests.",
        counts->wrong);
    put_type(text, "cut_off_total", "counter", "Connections that were cut off.");
    for (size_t i = 0; i < SERVED_CUTS; i++) {
        fprintf(text,
                "uvzk_serve_cut_off_total{client=\"" CLIENT_NAME
                "\",reason=\"%s\"} %" PRIu64 "\n",
                reasons[i], counts->cut_off[i]);
    }
}

/* Returns false if there is no memory. A client that has closed itself has no metrics. */
static bool put_client(FILE *text, const uvzk_client_t *client)
{
    int length = uvzk_client_write_metrics(client, CLIENT_NAME, NULL, 0);
    char *metrics = length < 0 ? NULL : malloc((size_t)length + 1);

    if (metrics != NULL) {
        uvzk_client_write_metrics(client, CLIENT_NAME, metrics, (size_t)length + 1);
        fputs(metrics, text);
        free(metrics);
    }
    return length < 0 || metrics != NULL;
}

char *served_metrics_text(const struct daemon *daemon, size_t *length)
{
    char *bytes = NULL;
    FILE *text = open_memstream(&bytes, length);

    if (text == NULL) {
        return NULL;
    }
    bool whole = put_client(text, &daemon->zookeeper.client);
    put_numbers(text, daemon);
    put_counts(text, &daemon->counts);
    whole = ferror(text) == 0 && whole;
    if (fclose(text) != 0 || !whole) {
        free(bytes);
        return NULL;
    }
    return bytes;
}

/* -------------------------------------------------------------------------- the request */

void served_metrics_send(struct served_connection *connection,
                         const struct served_request *request)
{
    struct served_numbers numbers;
    size_t length;
    char *text = served_metrics_text(connection->daemon, &length);
    json_t *answer;

    if (text == NULL) {
        served_connection_send(connection,
                               served_answer_status(request->id, UV_ENOMEM, 0));
        return;
    }
    count_now(connection->daemon, &numbers);
    answer = served_answer_ok(request->id);
    served_answer_add_number(answer, "connections", (int64_t)numbers.connections);
    served_answer_add_number(answer, "holds", (int64_t)numbers.holds);
    served_answer_add_number(answer, "waiting", (int64_t)numbers.waiting);
    served_answer_add_number(answer, "watches", (int64_t)numbers.watches);
    served_answer_add_number(answer, "objects", (int64_t)numbers.objects);
    served_answer_add_number(answer, "longest_wait_ms", (int64_t)numbers.longest_wait_ms);
    served_answer_add_text(answer, "text", text);
    free(text);
    served_connection_send(connection, answer);
}
