/* SPDX-License-Identifier: Apache-2.0 */
/* Computes what an acquire waits for, translates it into the public uvzk_wait_info_t, and
 * keeps the result for the callback of an acquire that has timed out (timed_out_wait.h).
 * acquisition.c and hold_wait.c call it. It requests nothing from a
 * server: the answer is the latest state of the directories. */
#include "claim/timed_out_wait.h"

#include <string.h>

#include "base/memory.h"
#include "base/path.h"
#include "directory/contender.h"

struct uvzk__timed_out_wait {
    uvzk_wait_info_t wait;
    char text[]; /* of wait.predecessor, followed by that of wait.traceparent */
};

/* ------------------------------------------------------------------ wait reasons */

void uvzk__claim_plain_wait_reason(const struct uvzk__claim *claim, size_t most,
                                   struct uvzk__wait_reason *reason)
{
    bool any = false;

    for (struct uvzk__link *link = uvzk__ring_first(&claim->contenders); link != NULL;
         link = uvzk__ring_next(&claim->contenders, link)) {
        const struct uvzk__contender *contender =
            UVZK__CONTAINER_OF(link, struct uvzk__contender, in_claim);
        struct uvzk__wait_reason one;
        if (uvzk__contender_holds(contender) || uvzk__contender_is_given_up(contender)) {
            continue;
        }
        uvzk__contender_wait_reason(contender, most, &one);
        /* A contender with others ahead explains the wait better than one that waits for
         * a proof. */
        if (!any || (one.ahead > 0 && reason->ahead == 0)) {
            *reason = one;
        }
        any = true;
    }
}

void uvzk__claim_wait_reason(const struct uvzk__claim *claim, size_t most,
                             struct uvzk__wait_reason *reason)
{
    *reason = (struct uvzk__wait_reason){.kind = UVZK_WAITS_FOR_NOTHING};
    if (claim->state == UVZK__CLAIM_HELD) {
        return;
    }
    reason->kind = UVZK_WAITS_FOR_ZNODE;
    if (claim->kind->wait_reason != NULL) {
        claim->kind->wait_reason(claim, most, reason);
    } else {
        uvzk__claim_plain_wait_reason(claim, most, reason);
    }
}

/* ----------------------------------------------------------- the public struct */

size_t uvzk__wait_reason_text_size(const struct uvzk__wait_reason *reason)
{
    return (reason->name == NULL
                ? 0
                : uvzk__path_join_into(NULL, reason->directory, reason->name)) +
           (reason->traceparent == NULL ? 0 : UVZK_TRACEPARENT_SIZE);
}

uvzk_wait_info_t uvzk__wait_reason_to_public(const struct uvzk__wait_reason *reason,
                                             char *text)
{
    uvzk_wait_info_t wait = {.size = sizeof(wait),
                             .kind = reason->kind,
                             .ahead = reason->ahead,
                             .since = reason->since_ms,
                             .node_path = reason->node_path};

    if (reason->name != NULL) {
        /* A znode of another client is known to be ahead. */
        size_t length = uvzk__path_join_into(text, reason->directory, reason->name);
        wait.predecessor = text;
        if (reason->traceparent != NULL) {
            wait.traceparent =
                memcpy(text + length, reason->traceparent, UVZK_TRACEPARENT_SIZE);
        }
    }
    return wait;
}

/* The code of a timeout. UV_ETIMEDOUT means that contenders are known to be ahead.
 * Otherwise no contender is known to be ahead, and the code says what is missing: a
 * connection, a known place or a proof. */
static int code_of(const struct uvzk__wait_reason *reason)
{
    switch (reason->kind) {
    case UVZK_WAITS_FOR_CONNECTION:
        return UVZK_EUNREACHABLE;
    case UVZK_WAITS_FOR_DIRECTORY:
    case UVZK_WAITS_FOR_ZNODE:
    case UVZK_WAITS_FOR_PLACE:
        return UVZK_ENOTQUEUED;
    case UVZK_WAITS_FOR_PROOF:
        return UVZK_EPROOF;
    default:
        return UV_ETIMEDOUT;
    }
}

/* ---------------------------------------------------------------- timed-out acquires */

/* The timed-out acquire whose callback is running on this thread, and what it waited for.
 * Thread-local, because each thread may run a loop with clients of its own. */
static _Thread_local struct {
    const uvzk_hold_t *hold;
    const struct uvzk__timed_out_wait *timed_out_wait;
} running_cb;

int uvzk__wait_timed_out(const struct uvzk__claim *claim,
                         struct uvzk__timed_out_wait **timed_out_wait)
{
    /* Without a claim a local contender was ahead (acquire.c, refusal). */
    struct uvzk__wait_reason reason = {.kind = UVZK_WAITS_FOR_OURS};

    if (claim != NULL) {
        uvzk__claim_wait_reason(claim, UVZK__WAIT_REASON_COUNTED_MAX, &reason);
    }
    *timed_out_wait =
        uvzk__malloc(sizeof(**timed_out_wait) + uvzk__wait_reason_text_size(&reason));
    if (*timed_out_wait != NULL) {
        (*timed_out_wait)->wait =
            uvzk__wait_reason_to_public(&reason, (*timed_out_wait)->text);
        (*timed_out_wait)->wait.node_path = NULL; /* its contender may end first */
    }
    return code_of(&reason);
}

void uvzk__timed_out_wait_notify(struct uvzk__timed_out_wait *timed_out_wait,
                                 uvzk_hold_t *hold, uvzk_hold_acquire_cb acquire_cb,
                                 int status)
{
    const uvzk_hold_t *hold_before = running_cb.hold;
    const struct uvzk__timed_out_wait *timed_out_wait_before = running_cb.timed_out_wait;

    running_cb.hold = hold;
    running_cb.timed_out_wait = timed_out_wait;
    acquire_cb(hold, status);
    /* A callback may run another loop, whose callback is nested in this one. The outer
     * values are restored. */
    running_cb.hold = hold_before;
    running_cb.timed_out_wait = timed_out_wait_before;
    uvzk__free(timed_out_wait);
}

const uvzk_wait_info_t *uvzk__timed_out_wait_of(const uvzk_hold_t *hold)
{
    return running_cb.hold == hold && running_cb.timed_out_wait != NULL
               ? &running_cb.timed_out_wait->wait
               : NULL;
}
