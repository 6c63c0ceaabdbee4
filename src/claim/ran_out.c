#include "claim/ran_out.h"

#include "base/memory.h"
#include "base/path.h"
#include "directory/contender.h"

struct uvzk__ran_out {
    uvzk_wait_t wait;
    char path[]; /* of wait.predecessor */
};

/* ------------------------------------------------------------------ what it waits for */

void uvzk__claim_plain_awaits(const struct uvzk__claim *claim, size_t most,
                              struct uvzk__awaiting *awaiting)
{
    bool any = false;

    for (struct uvzk__link *link = uvzk__ring_first(&claim->contenders); link != NULL;
         link = uvzk__ring_next(&claim->contenders, link)) {
        const struct uvzk__contender *contender =
            UVZK__CONTAINER_OF(link, struct uvzk__contender, in_claim);
        struct uvzk__awaiting one;
        if (contender->held || contender->given_up) {
            continue;
        }
        uvzk__contender_awaits(contender, most, &one);
        if (!any || (one.ahead > 0 && awaiting->ahead == 0)) {
            *awaiting = one;
        }
        any = true;
    }
}

void uvzk__claim_awaits(const struct uvzk__claim *claim, size_t most,
                        struct uvzk__awaiting *awaiting)
{
    *awaiting = (struct uvzk__awaiting){.kind = UVZK_WAITS_FOR_NOTHING};
    if (claim->state == UVZK__CLAIM_HELD) {
        return;
    }
    awaiting->kind = UVZK_WAITS_FOR_ZNODE;
    if (claim->kind->awaits != NULL) {
        claim->kind->awaits(claim, most, awaiting);
    } else {
        uvzk__claim_plain_awaits(claim, most, awaiting);
    }
}

/* ----------------------------------------------------------- in the words of the user */

size_t uvzk__awaiting_path_size(const struct uvzk__awaiting *awaiting)
{
    return awaiting->name == NULL
               ? 0
               : uvzk__path_join_into(NULL, awaiting->directory, awaiting->name);
}

uvzk_wait_t uvzk__awaiting_in_words(const struct uvzk__awaiting *awaiting, char *path)
{
    uvzk_wait_t wait = {.size = sizeof(wait),
                        .kind = awaiting->kind,
                        .ahead = awaiting->ahead,
                        .since = awaiting->since_ms};

    if (awaiting->name != NULL) {
        (void)uvzk__path_join_into(path, awaiting->directory, awaiting->name);
        wait.predecessor = path;
    }
    return wait;
}

/* Only those are before one of whom it is known. */
static int code_of(const struct uvzk__awaiting *awaiting)
{
    switch (awaiting->kind) {
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
    const struct uvzk__ran_out *ran_out;
} telling;

int uvzk__wait_ran_out(const struct uvzk__claim *claim, struct uvzk__ran_out **ran_out)
{
    struct uvzk__awaiting awaiting = {.kind = UVZK_WAITS_FOR_OURS};

    if (claim != NULL) {
        uvzk__claim_awaits(claim, UVZK__AWAITING_COUNTED_MAX, &awaiting);
    }
    *ran_out = uvzk__malloc(sizeof(**ran_out) + uvzk__awaiting_path_size(&awaiting));
    if (*ran_out != NULL) {
        (*ran_out)->wait = uvzk__awaiting_in_words(&awaiting, (*ran_out)->path);
    }
    return code_of(&awaiting);
}

void uvzk__ran_out_tell(struct uvzk__ran_out *ran_out, uvzk_hold_t *hold,
                        uvzk_hold_acquire_cb acquire_cb, int status)
{
    const uvzk_hold_t *hold_before = telling.hold;
    const struct uvzk__ran_out *ran_out_before = telling.ran_out;

    telling.hold = hold;
    telling.ran_out = ran_out;
    acquire_cb(hold, status);
    telling.hold = hold_before; /* another loop's, which this one was run inside of */
    telling.ran_out = ran_out_before;
    uvzk__free(ran_out);
}

const uvzk_wait_t *uvzk__ran_out_told(const uvzk_hold_t *hold)
{
    return telling.hold == hold && telling.ran_out != NULL ? &telling.ran_out->wait
                                                           : NULL;
}
