/* SPDX-License-Identifier: Apache-2.0 */
/* Routes each log line of the C client to the port that it belongs to (log_route.h).
 *
 * The C client calls take_line on the thread that logs: one of the C client's threads,
 * the submit thread, a thread of a blocking call or the loop's thread. The route's number
 * is found from that thread. A line is copied and pushed onto the port's to_loop queue,
 * and the user's log callback runs on the loop's thread. */
#include "log/log_route.h"

#include <inttypes.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/memory.h"
#include "log/log_repeats.h"
#include "platform/to_loop.h"
#include "uvzk.h"

#define LINE_MAX_BYTES 1000 /* longer lines are cut */
#define NAME_PREFIX "uvzk-"

struct line {
    struct uvzk__to_loop_entry entry;
    struct uvzk__log_lines *lines;
    int level;
    char text[];
};

/* Protects routes, last_number and the repeats of all log lines. While a route is on the
 * list, its port exists. */
static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
static struct uvzk__link routes = {&routes, &routes};
static uint32_t last_number;

static _Thread_local uint32_t entered; /* set by uvzk__log_route_enter; 0: none */
/* Parsed from the thread's name, once per thread; 0: none. */
static _Thread_local uint32_t inherited;

/* Reports the lines that were dropped while UVZK__LOG_LINES_MAX lines were on the queue.
 * The report follows the first line that arrives after them. */
static void tell_dropped(struct uvzk__port *port, unsigned dropped)
{
    char text[64];
    if (dropped > 0) {
        (void)snprintf(text, sizeof(text),
                       "lines of the ZooKeeper client that were dropped: %u", dropped);
        port->user->log(port->user, UVZK_LOG_WARN, "zookeeper", text);
    }
}

static void log_route_arrive(struct uvzk__to_loop_entry *entry)
{
    struct line *line = UVZK__CONTAINER_OF(entry, struct line, entry);
    struct uvzk__log_lines *lines = line->lines;
    struct uvzk__port *port = lines->port;
    atomic_fetch_sub(&lines->queued, 1U);
    unsigned dropped = atomic_exchange(&lines->dropped, 0U);
    if (!lines->silent) {
        port->user->log(port->user, line->level, "zookeeper", line->text);
        tell_dropped(port, dropped);
    }
    uvzk__free(line);
}

static int level_of(const char *message)
{
    if (strstr(message, "ZOO_ERROR@") != NULL) {
        return UVZK_LOG_ERROR;
    }
    if (strstr(message, "ZOO_INFO@") != NULL) {
        return UVZK_LOG_INFO;
    }
    return strstr(message, "ZOO_DEBUG@") != NULL ? UVZK_LOG_DEBUG : UVZK_LOG_WARN;
}

/* `often` is appended to the message. */
static void push_line(struct uvzk__log_lines *lines, const char *message,
                      const char *often)
{
    if (atomic_fetch_add(&lines->queued, 1U) < UVZK__LOG_LINES_MAX) {
        size_t length = strnlen(message, LINE_MAX_BYTES);
        struct line *line = uvzk__malloc(sizeof(*line) + length + strlen(often) + 1);
        if (line != NULL) {
            line->lines = lines;
            line->level = level_of(message);
            memcpy(line->text, message, length);
            memcpy(line->text + length, often, strlen(often) + 1);
            uvzk__to_loop_push(lines->to_loop, &line->entry, log_route_arrive);
            return;
        }
    }
    atomic_fetch_sub(&lines->queued, 1U);
    atomic_fetch_add(&lines->dropped, 1U);
}

/* While no server is reachable the C client logs the same line about thirty times a
 * second. */
static void log_unless_repeated(struct uvzk__log_lines *lines, const char *message)
{
    char often[64] = "";
    uint64_t now = uvzk_now(), told_ms;
    uint32_t untold;

    if (!uvzk__log_repeats_check(&lines->repeats, message, now, &untold, &told_ms)) {
        return;
    }
    if (untold > 0) {
        (void)snprintf(often, sizeof(often),
                       " (%" PRIu32 " more of these in %" PRIu64 " s)", untold,
                       (now - told_ms) / 1000);
    }
    push_line(lines, message, often);
}

static uint32_t number_of_this_thread(void)
{
    char name[UVZK__THREAD_NAME];
    /* A call of uvzk's own takes precedence: the loop's thread may call for several
     * clients. */
    if (entered != 0) {
        return entered;
    }
    if (inherited == 0 && pthread_getname_np(pthread_self(), name, sizeof(name)) == 0 &&
        strncmp(name, NAME_PREFIX, strlen(NAME_PREFIX)) == 0) {
        inherited = (uint32_t)strtoul(name + strlen(NAME_PREFIX), NULL, 16);
    }
    return inherited;
}

static void take_line(const char *message)
{
    uint32_t number = number_of_this_thread();
    pthread_mutex_lock(&mutex);
    for (struct uvzk__link *link = routes.next; link != &routes; link = link->next) {
        struct uvzk__log_route *route =
            UVZK__CONTAINER_OF(link, struct uvzk__log_route, link);
        if (route->number == number) {
            log_unless_repeated(route->lines, message);
            break;
        }
    }
    pthread_mutex_unlock(&mutex);
}

void uvzk__log_lines_init(struct uvzk__log_lines *lines, struct uvzk__port *port,
                          struct uvzk__to_loop *to_loop)
{
    lines->port = port;
    lines->to_loop = to_loop;
}

void uvzk__log_lines_silence(struct uvzk__log_lines *lines)
{
    lines->silent = true;
}

void uvzk__log_route_begin(struct uvzk__log_route *route, struct uvzk__log_lines *lines)
{
    pthread_mutex_lock(&mutex);
    last_number += last_number == UINT32_MAX ? 2 : 1; /* 0 means "no route" */
    route->number = last_number;
    route->lines = lines;
    uvzk__list_append(&routes, &route->link);
    pthread_mutex_unlock(&mutex);
}

void uvzk__log_route_end(struct uvzk__log_route *route)
{
    pthread_mutex_lock(&mutex);
    uvzk__list_remove(&route->link);
    pthread_mutex_unlock(&mutex);
}

void uvzk__log_route_enter(const struct uvzk__log_route *route)
{
    entered = route->number;
}

void uvzk__log_route_leave(void)
{
    entered = 0;
}

void uvzk__log_route_name(const struct uvzk__log_route *route,
                          char before[UVZK__THREAD_NAME])
{
    char name[UVZK__THREAD_NAME];
    if (pthread_getname_np(pthread_self(), before, UVZK__THREAD_NAME) != 0) {
        before[0] = '\0';
    }
    (void)snprintf(name, sizeof(name), NAME_PREFIX "%" PRIx32, route->number);
    (void)pthread_setname_np(pthread_self(), name);
}

void uvzk__log_route_unname(const char *before)
{
    (void)pthread_setname_np(pthread_self(), before);
}

log_callback_fn uvzk__log_route_callback(void)
{
    return take_line;
}
