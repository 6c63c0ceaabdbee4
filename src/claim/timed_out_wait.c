#include "claim/timed_out_wait.h"

#include "base/memory.h"
#include "base/path.h"
#include "directory/contender.h"

struct uvzk__timed_out_wait {
    uvzk_wait_t wait;
    char path[]; /* of wait.predecessor */
};

/* ------------------------------------------------------------------ what it waits for */

void uvzk__claim_plain_wait_reason(const struct uvzk__claim *claim, size_t most,
                                   struct uvzk__wait_reason *reason)
{
    bool any = false;

    for (struct uvzk__link *link = uvzk__ring_first(&claim->contenders); link != NULL;
         link = uvzk__ring_next(&claim->contenders, link)) {
        const struct uvzk__contender *contender =
            UVZK__CONTAINER_OF(link, struct uvzk__contender, in_claim);
        struct uvzk__wait_reason one;
        if (contender->held || contender->given_up) {
            continue;
        }
        uvzk__contender_wait_reason(contender, most, &one);
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

/* ----------------------------------------------------------- in the words of the user */

size_t uvzk__wait_reason_path_size(const struct uvzk__wait_reason *reason)
{
    return reason->name == NULL
               ? 0
               : uvzk__path_join_into(NULL, reason->directory, reason->name);
}

uvzk_wait_t uvzk__wait_reason_to_public(const struct uvzk__wait_reason *reason,
                                        char *path)
{
    uvzk_wait_t wait = {.size = sizeof(wait),
                        .kind = reason->kind,
                        .ahead = reason->ahead,
                        .since = reason->since_ms};

    if (reason->name != NULL) {
        (void)uvzk__path_join_into(path, reason->directory, reason->name);
        wait.predecessor = path;
    }
    return wait;
}

/* Only those are before one of whom it is known. */
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

/* ---------------------------------------------------------------- whose time ran out */

/* Whose acquire callback is running on this thread, and what it waited for. */
static _Thread_local struct {
    const uvzk_hold_t *hold;
    const struct uvzk__timed_out_wait *timed_out_wait;
} running_cb;

int uvzk__wait_timed_out(const struct uvzk__claim *claim,
                         struct uvzk__timed_out_wait **timed_out_wait)
{
    struct uvzk__wait_reason reason = {.kind = UVZK_WAITS_FOR_OURS};

    if (claim != NULL) {
        uvzk__claim_wait_reason(claim, UVZK__WAIT_REASON_COUNTED_MAX, &reason);
    }
    *timed_out_wait =
        uvzk__malloc(sizeof(**timed_out_wait) + uvzk__wait_reason_path_size(&reason));
    if (*timed_out_wait != NULL) {
        (*timed_out_wait)->wait =
            uvzk__wait_reason_to_public(&reason, (*timed_out_wait)->path);
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
    running_cb.hold = hold_before; /* another loop's, which this one was run inside of */
    running_cb.timed_out_wait = timed_out_wait_before;
    uvzk__free(timed_out_wait);
}

const uvzk_wait_t *uvzk__timed_out_wait_of(const uvzk_hold_t *hold)
{
    return running_cb.hold == hold && running_cb.timed_out_wait != NULL
               ? &running_cb.timed_out_wait->wait
               : NULL;
}
