/* SPDX-License-Identifier: Apache-2.0 */
/* Learns from answered and lost requests what length the servers accept, and holds or
 * refuses longer ones (size_limit.h). submission.c asks before each request and reports
 * each reply. */
#include "engine/size_limit.h"

#include <string.h>

#include "engine/request_size.h"
#include "engine/session.h"
#include "engine/submission.h"

/* Every server accepts this much. */
#define SURELY_ACCEPTED 1024U

/* Of a batch, before any has been lost: far below the size of a request that a server
 * accepts by default. */
#define BATCH_MAX 262144U

/* This many losses in a row are not a coincidence. */
#define LOSSES_MAX 3U

static size_t size_limit_greater(size_t one, size_t other)
{
    return one > other ? one : other;
}

static bool is_proved(const struct uvzk__size_limit *limit, const struct uvzk__rpc *rpc)
{
    return rpc->size <= size_limit_greater(limit->answered, SURELY_ACCEPTED);
}

static bool is_refused(const struct uvzk__size_limit *limit, const struct uvzk__rpc *rpc)
{
    return limit->refused_from != 0 && rpc->size >= limit->refused_from &&
           !is_proved(limit, rpc);
}

static bool is_sent_alone(const struct uvzk__size_limit *limit,
                          const struct uvzk__rpc *rpc)
{
    return limit->losses == LOSSES_MAX && !is_proved(limit, rpc) &&
           !is_refused(limit, rpc);
}

/* Hands the request to the port. Without a connection the port does not send it. A batch
 * that is refused counts as not sent: the next ones are shorter. */
static void size_limit_pass(struct uvzk__session *session, struct uvzk__rpc *rpc)
{
    struct uvzk__size_limit *limit = &session->submissions.size_limit;

    if (!uvzk__is_connected(session)) {
        rpc->size = 0;
    } else if (is_refused(limit, rpc)) {
        rpc->refused = rpc->divisible ? UVZK_ENOTSENT : UVZK_EREJECTED;
    } else if (is_sent_alone(limit, rpc)) {
        limit->alone = rpc;
    }
    limit->in_flight++;
    session->port->submit(session->port, rpc);
}

static bool must_wait(const struct uvzk__size_limit *limit, const struct uvzk__rpc *rpc)
{
    return limit->alone != NULL || (limit->in_flight > 0 && is_sent_alone(limit, rpc));
}

static void size_limit_hold(struct uvzk__size_limit *limit, struct uvzk__rpc *rpc)
{
    rpc->port.next = NULL;
    if (limit->first_held == NULL) {
        limit->first_held = rpc;
    } else {
        limit->last_held->port.next = rpc;
    }
    limit->last_held = rpc;
}

/* Submits the held requests, up to the first that must wait. all: none must wait. */
static void size_limit_release(struct uvzk__session *session, bool all)
{
    struct uvzk__size_limit *limit = &session->submissions.size_limit;

    while (limit->first_held != NULL && (all || !must_wait(limit, limit->first_held))) {
        struct uvzk__rpc *rpc = limit->first_held;

        limit->first_held = rpc->port.next;
        rpc->port.next = NULL;
        size_limit_pass(session, rpc);
    }
}

void uvzk__size_limit_unwatch(struct uvzk__session *session,
                              const struct uvzk__watch *watch)
{
    struct uvzk__rpc *rpc = session->submissions.size_limit.first_held;

    for (; rpc != NULL; rpc = rpc->port.next) {
        if (rpc->watch == watch) {
            rpc->watch = NULL;
        }
    }
}

void uvzk__size_limit_release(struct uvzk__session *session)
{
    size_limit_release(session, true);
}

/* Stamps tell the order of requests (submission.h), so every request that is submitted
 * after a held one is held, too. */
void uvzk__size_limit_submit(struct uvzk__session *session, struct uvzk__rpc *rpc)
{
    struct uvzk__size_limit *limit = &session->submissions.size_limit;

    rpc->refused = 0;
    rpc->size = uvzk__request_size(session, rpc);
    if (limit->first_held != NULL || must_wait(limit, rpc)) {
        size_limit_hold(limit, rpc);
    } else {
        size_limit_pass(session, rpc);
    }
}

/* The reply of a request that was in flight when the connection was lost. */
static void size_limit_lost(struct uvzk__size_limit *limit, const struct uvzk__rpc *rpc)
{
    if (rpc->refused != 0) {
        return;
    }
    if (rpc->divisible) {
        limit->lost_batch = size_limit_greater(limit->lost_batch, rpc->size);
    }
    if (is_proved(limit, rpc)) {
        return;
    }
    limit->lost = size_limit_greater(limit->lost, rpc->size);
    if (limit->alone == rpc) {
        limit->lost_alone = rpc->size;
    }
}

void uvzk__size_limit_replied(struct uvzk__session *session, const struct uvzk__rpc *rpc,
                              int status)
{
    struct uvzk__size_limit *limit = &session->submissions.size_limit;
    bool ends = uvzk__says_session_over(status);

    limit->in_flight -= limit->in_flight > 0;
    if (uvzk__is_answer(status)) {
        limit->answered = size_limit_greater(limit->answered, rpc->size);
        limit->losses = rpc->size >= limit->suspect ? 0 : limit->losses;
    } else if (uvzk__says_connection_lost(status)) {
        size_limit_lost(limit, rpc);
    }
    if (limit->alone == rpc) {
        limit->alone = NULL;
    }
    if (limit->first_held != NULL) {
        size_limit_release(session, ends || !uvzk__is_connected(session));
    }
}

static uint8_t losses_after(uint8_t losses, size_t lost)
{
    return lost == 0 ? 0 : losses == LOSSES_MAX ? losses : (uint8_t)(losses + 1);
}

/* A new connection of the same session: evaluates the loss of the previous one. */
static void learn_from_loss(struct uvzk__size_limit *limit)
{
    if (limit->losses < LOSSES_MAX) {
        limit->losses = losses_after(limit->losses, limit->lost);
    }
    if (limit->lost != 0) {
        limit->suspect = limit->lost;
    }
    limit->batch_losses = losses_after(limit->batch_losses, limit->lost_batch);
    if (limit->lost_batch > limit->answered || limit->batch_losses == LOSSES_MAX) {
        limit->batch_most = limit->lost_batch / 2;
    }
    if (limit->refused_from == 0 || limit->lost_alone == 0 ||
        limit->lost_alone < limit->refused_from) {
        limit->refused_from = limit->lost_alone;
    }
}

void uvzk__size_limit_connected(struct uvzk__session *session, bool fresh)
{
    struct uvzk__size_limit *limit = &session->submissions.size_limit;

    if (fresh) {
        limit->answered = limit->batch_most = limit->refused_from = limit->suspect = 0;
        limit->losses = limit->batch_losses = 0;
    } else {
        learn_from_loss(limit);
    }
    limit->lost = limit->lost_batch = limit->lost_alone = 0;
}

size_t uvzk__batch_size_max(const struct uvzk__session *session)
{
    const struct uvzk__size_limit *limit = &session->submissions.size_limit;
    size_t most = limit->batch_most == 0 ? BATCH_MAX : limit->batch_most;

    if (limit->refused_from != 0 && most >= limit->refused_from) {
        most = limit->refused_from - 1;
    }
    return size_limit_greater(most, SURELY_ACCEPTED);
}
