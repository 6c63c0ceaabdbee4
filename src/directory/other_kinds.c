/* SPDX-License-Identifier: Apache-2.0 */
/* Keeps what a directory knows of contenders of other kinds (other_kinds.h): what its
 * listings have shown, which listing.c reports, and what was read elsewhere
 * (settle/other_kinds_check.c). The timer has all of it read again while contenders
 * hold. */
#include "directory/other_kinds.h"

#include <string.h>

#include "base/memory.h"
#include "base/path.h"
#include "base/place.h"
#include "directory/queue.h"
#include "engine/log.h"
#include "engine/turn.h"

struct uvzk__other_kinds *uvzk__other_kinds(const struct uvzk__queue *queue)
{
    return uvzk__queue_optional(queue)->other_kinds;
}

struct uvzk__other_kinds *uvzk__other_kinds_need(struct uvzk__queue *queue)
{
    struct uvzk__other_kinds *other_kinds = uvzk__other_kinds(queue);

    if (other_kinds != NULL || !uvzk__queue_need_optional(queue)) {
        return other_kinds;
    }
    other_kinds = uvzk__calloc(1, sizeof(*other_kinds));
    if (other_kinds != NULL) {
        other_kinds->session = queue->session;
        other_kinds->queue = queue;
        other_kinds->oldest_czxid = INT64_MAX;
        other_kinds->places[0].other_kinds = other_kinds;
        other_kinds->places[1].other_kinds = other_kinds;
        queue->optional->other_kinds = other_kinds;
    }
    return other_kinds;
}

static enum uvzk__name_kind own_kind(const struct uvzk__queue *queue)
{
    return uvzk__name_kind_of_prefix(queue->kind->name_prefixes[0].text);
}

void uvzk__other_kinds_log(const struct uvzk__other_kinds *other_kinds, int level,
                           const char *what)
{
    const struct uvzk__queue *queue = other_kinds->queue;
    bool above = queue->kind->kinds_elsewhere == UVZK__KINDS_ABOVE;
    enum uvzk__name_kind other = other_kinds->listed.first.kind != UVZK__NAMES_OTHER
                                     ? other_kinds->listed.first.kind
                                     : other_kinds->oldest_kind;
    const char *path = queue->path->text;
    int length = (int)(above ? uvzk__path_parent_length(path) : strlen(path));

    uvzk__log(queue->session, level, "kinds",
              "%.*s: a %s and a %s do not exclude one another; %s", length, path,
              uvzk__name_kind_text(own_kind(queue)), uvzk__name_kind_text(other), what);
}

/* ------------------------------------------------------- later ones, while it holds */

static void read_again_due(struct uvzk__timer *timer)
{
    struct uvzk__other_kinds *other_kinds =
        UVZK__CONTAINER_OF(timer, struct uvzk__other_kinds, timer);

    other_kinds->due = !uvzk__ring_empty(&other_kinds->queue->holders);
    uvzk__queue_settle_later(other_kinds->queue);
}

void uvzk__other_kinds_again(struct uvzk__other_kinds *other_kinds)
{
    struct uvzk__session *session = other_kinds->session;

    other_kinds->timer.due = read_again_due;
    uvzk__timer_set(session, &other_kinds->timer,
                    uvzk__now(session) + session->connection.timeout_ms);
}

/* One of another kind is there while contenders hold here. It came later: if it had come
 * first, they would have been refused. */
static void tell_later_one(struct uvzk__other_kinds *other_kinds)
{
    if (other_kinds->session->refuses_mixed_kinds && !other_kinds->told &&
        !uvzk__ring_empty(&other_kinds->queue->holders)) {
        other_kinds->told = true;
        uvzk__other_kinds_log(other_kinds, UVZK_LOG_WARN,
                              "the other one came later; both may be held");
    }
}

/* Without memory there is no such reading. */
void uvzk__other_kinds_granted(struct uvzk__queue *queue)
{
    struct uvzk__other_kinds *other_kinds =
        queue->kind->kinds_elsewhere != UVZK__KINDS_NOWHERE &&
                queue->session->refuses_mixed_kinds
            ? uvzk__other_kinds_need(queue)
            : NULL;

    if (other_kinds != NULL && !uvzk__deadline_is_armed(&other_kinds->timer.deadline)) {
        uvzk__other_kinds_again(other_kinds);
    }
}

bool uvzk__other_kinds_due(const struct uvzk__queue *queue)
{
    const struct uvzk__other_kinds *other_kinds = uvzk__other_kinds(queue);

    return other_kinds != NULL && other_kinds->due;
}

/* ---------------------------------------------------- what a listing has shown */

static void take_first(struct uvzk__other_contender *first, enum uvzk__name_kind kind,
                       int32_t number)
{
    if (first->kind == UVZK__NAMES_OTHER || number < first->number) {
        *first = (struct uvzk__other_contender){kind, number};
    }
}

void uvzk__listed_kinds_add(struct uvzk__listed_kinds *listed,
                            const struct uvzk__queue *queue, const char *name)
{
    int32_t number;

    if (queue->kind->kinds_elsewhere != UVZK__KINDS_BELOW) {
        return;
    }
    if (strcmp(name, UVZK__TICKETS_NAME) == 0 || strcmp(name, UVZK__LEASES_NAME) == 0) {
        listed->below = true;
        return;
    }
    enum uvzk__name_kind kind = uvzk__name_kind(name, &number);
    /* One of its own kind is here because its number is used up (listing.c). Such a number
     * does not contend. A lease belongs to the semaphore of another path. */
    if (kind != UVZK__NAMES_OTHER && kind != own_kind(queue) &&
        kind != UVZK__NAMES_SEMAPHORE && !uvzk__sequence_exhausted(number)) {
        take_first(&listed->first, kind, number);
    }
}

static bool is_empty(const struct uvzk__listed_kinds *listed)
{
    return !listed->below && listed->first.kind == UVZK__NAMES_OTHER;
}

int uvzk__other_kinds_listed(struct uvzk__queue *queue,
                             const struct uvzk__listed_kinds *listed)
{
    struct uvzk__other_kinds *other_kinds = uvzk__other_kinds(queue);

    if (is_empty(listed) && other_kinds == NULL) {
        return 0;
    }
    other_kinds = uvzk__other_kinds_need(queue);
    if (other_kinds == NULL) {
        return UV_ENOMEM;
    }
    other_kinds->listed = *listed;
    other_kinds->news = true;
    other_kinds->told = other_kinds->told && !is_empty(listed);
    if (other_kinds->due) {
        other_kinds->due = false;
        other_kinds->read_below = listed->below;
        uvzk__other_kinds_again(other_kinds);
    }
    if (listed->first.kind != UVZK__NAMES_OTHER) {
        tell_later_one(other_kinds);
    }
    return 0;
}

bool uvzk__other_kinds_shown(const struct uvzk__queue *queue)
{
    const struct uvzk__other_kinds *other_kinds = uvzk__other_kinds(queue);

    return other_kinds != NULL && !is_empty(&other_kinds->listed);
}

void uvzk__other_kinds_read_done(struct uvzk__other_kinds *other_kinds)
{
    if (other_kinds->oldest_czxid != INT64_MAX) {
        tell_later_one(other_kinds);
    } else {
        other_kinds->doubt_ms = 0;
        other_kinds->told = other_kinds->told && !is_empty(&other_kinds->listed);
    }
}

/* ------------------------------------------------------------------------ its end */

void uvzk__kinds_places_free(struct uvzk__other_kinds *other_kinds)
{
    for (size_t i = 0; i < 2; i++) {
        uvzk__free(other_kinds->places[i].path);
        other_kinds->places[i].path = NULL;
    }
}

void uvzk__other_kinds_free_memory(struct uvzk__other_kinds *other_kinds)
{
    uvzk__kinds_places_free(other_kinds);
    uvzk__free(other_kinds);
}

void uvzk__other_kinds_free(struct uvzk__queue *queue)
{
    struct uvzk__other_kinds *other_kinds = uvzk__other_kinds(queue);

    if (other_kinds == NULL) {
        return;
    }
    queue->optional->other_kinds = NULL;
    uvzk__timer_clear(other_kinds->session, &other_kinds->timer);
    if (other_kinds->outstanding == 0) {
        uvzk__other_kinds_free_memory(other_kinds);
    } else {
        other_kinds->queue = NULL;
    }
}

/* The leases keep the stamp of their reading, which counts for leases that are handed
 * over. */
void uvzk__other_kinds_trim(struct uvzk__queue *queue)
{
    const struct uvzk__other_kinds *other_kinds = uvzk__other_kinds(queue);

    if (other_kinds != NULL && queue->kind->kinds_elsewhere == UVZK__KINDS_BELOW &&
        is_empty(&other_kinds->listed) && other_kinds->outstanding == 0 &&
        !other_kinds->due && !uvzk__deadline_is_armed(&other_kinds->timer.deadline)) {
        uvzk__other_kinds_free(queue);
    }
}
