/* SPDX-License-Identifier: Apache-2.0 */
/* A list of holds, and one timer for the first that expires (expiring_holds.h).
 * served_hold.c adds and removes them. */
#include "serve/expiring_holds.h"

#include <utlist.h>
#include <uvzk.h>

#include "serve/served_hold.h"

static void wait_for_first(struct expiring_holds *expiring);

/* Ends those that their programs can no longer believe in at this time. */
static void end_until(struct expiring_holds *expiring, uint64_t now)
{
    struct served_hold *hold, *next;

    DL_FOREACH_SAFE(expiring->holds, hold, next)
    {
        if (now >= hold->told_until) {
            expiring_holds_remove(expiring, hold);
            served_hold_expired(hold);
        }
    }
}

/* The loop's clock stands still while the machine is suspended, so the timer may be late,
 * and never early. */
static void on_timer(uv_timer_t *timer)
{
    struct expiring_holds *expiring = timer->data;

    end_until(expiring, uvzk_now());
    wait_for_first(expiring);
}

static void wait_for(struct expiring_holds *expiring, uint64_t until)
{
    uint64_t now = uvzk_now();

    expiring->first = until;
    uv_timer_start(&expiring->timer, on_timer, until > now ? until - now : 0, 0);
}

static void wait_for_first(struct expiring_holds *expiring)
{
    const struct served_hold *hold;
    uint64_t first = UINT64_MAX;

    DL_FOREACH(expiring->holds, hold)
    {
        first = hold->told_until < first ? hold->told_until : first;
    }
    if (expiring->holds == NULL) {
        uv_timer_stop(&expiring->timer);
    } else {
        wait_for(expiring, first);
    }
}

void expiring_holds_init(struct expiring_holds *expiring, uv_loop_t *loop)
{
    uv_timer_init(loop, &expiring->timer);
    expiring->timer.data = expiring;
    expiring->holds = NULL;
}

void expiring_holds_add(struct expiring_holds *expiring, struct served_hold *hold)
{
    bool is_first = expiring->holds == NULL || hold->told_until < expiring->first;

    DL_APPEND(expiring->holds, hold);
    if (is_first) {
        wait_for(expiring, hold->told_until);
    }
}

void expiring_holds_end(struct expiring_holds *expiring)
{
    end_until(expiring, UINT64_MAX);
    uv_timer_stop(&expiring->timer);
}

void expiring_holds_remove(struct expiring_holds *expiring, struct served_hold *hold)
{
    /* The first one's `prev` is the last one. */
    if (hold->prev != NULL) {
        DL_DELETE(expiring->holds, hold);
        hold->prev = NULL;
    }
}
