/* SPDX-License-Identifier: Apache-2.0 */
/* Requests, watches, losses and expiries at random, reproducibly as far as the
 * world is. The probe checks order and dues all the while (probe.h). */
#include "cases.h"

#include <stdio.h>

#define SLOTS 64
#define STEPS 3000 /* each of the two times it blows */

struct slot {
    struct ask *ask; /* the last one, NULL: none yet */
    char path[16];
};

struct storm {
    struct probe *probe;
    struct slot slots[SLOTS];
    struct uvzk__op ops[2];
    uint64_t random;
    int64_t expired; /* the session that was ended last */
    bool lost;
};

static uint64_t roll(struct storm *storm, uint64_t n)
{
    storm->random = storm->random * 6364136223846793005U + 1442695040888963407U;
    return (storm->random >> 33) % n;
}

static bool is_watched(const struct slot *slot)
{
    return slot->ask != NULL && slot->ask->watch.armed != NULL;
}

static bool is_outstanding(const struct slot *slot)
{
    return slot->ask != NULL && slot->ask->replied == 0;
}

/* A request on the slot's own path, since one watch may stand on a path. */
static void submit_some(struct storm *storm, struct slot *slot)
{
    static const uint8_t kinds[] = {
        UVZK__RPC_CREATE, UVZK__RPC_DELETE, UVZK__RPC_SET,
        UVZK__RPC_GET,    UVZK__RPC_EXISTS, UVZK__RPC_CHILDREN,
        UVZK__RPC_SYNC,   UVZK__RPC_MULTI,  UVZK__RPC_EXISTS};
    uint8_t kind = kinds[roll(storm, sizeof(kinds))];
    if (is_outstanding(slot) || is_watched(slot)) {
        return;
    }
    if (kind == UVZK__RPC_MULTI) {
        slot->ask = ask_multi(storm->probe, storm->ops, 2);
    } else if (kind == UVZK__RPC_GET || kind == UVZK__RPC_EXISTS ||
               kind == UVZK__RPC_CHILDREN) {
        slot->ask = ask_read(storm->probe, kind, slot->path, true);
    } else {
        slot->ask = ask_submit(ask_new(storm->probe, kind, slot->path));
    }
}

static void disturb(struct storm *storm)
{
    struct probe *probe = storm->probe;
    uint64_t what = roll(storm, 40);
    if (what == 0 && probe->connected && probe->session_id != storm->expired) {
        storm->expired = probe->session_id;
        world_expire(probe->world);
    } else if (what < 8 && !storm->lost) {
        storm->lost = true;
        world_lose(probe->world);
    } else if (what >= 20 && storm->lost) {
        storm->lost = false;
        world_restore(probe->world);
    }
}

static bool is_connected(void *context)
{
    return ((struct probe *)context)->connected;
}

static bool all_replied(void *context)
{
    const struct probe *probe = context;
    return probe->replies == probe->submitted;
}

static void blow(struct storm *storm)
{
    struct probe *probe = storm->probe;
    for (int step = 0; step < STEPS; step++) {
        struct slot *slot = &storm->slots[roll(storm, SLOTS)];
        uint64_t what = roll(storm, 100);
        if (what < 70) {
            submit_some(storm, slot);
        } else if (what < 90) {
            if (is_watched(slot)) {
                ask_unwatch(slot->ask);
            }
        } else if (what < 98) {
            world_run_for(probe->world, (unsigned)roll(storm, 5));
        } else {
            disturb(storm);
        }
    }
    storm->lost = false;
    world_restore(probe->world);
    assert_true(world_run_until(probe->world, all_replied, probe));
    assert_true(world_run_until(probe->world, is_connected, probe));
}

void a_storm_keeps_the_promises(void **state)
{
    struct probe *probe = connected(state);
    struct storm storm = {.probe = probe,
                          .ops = {op_of(UVZK__OP_CHECK, "/", -1),
                                  op_create("/m-", UVZK__EPHEMERAL_SEQUENTIAL)},
                          .random = 20};
    probe->reopens = true;
    for (int i = 0; i < SLOTS; i++) {
        snprintf(storm.slots[i].path, sizeof(storm.slots[i].path), "/s%d", i);
    }
    blow(&storm);
    if (probe->session_id != storm.expired) { /* a storm may have none of its own */
        unsigned before = probe->sessions[UVZK__SESSION_EXPIRED];
        world_expire(probe->world);
        probe_await_session(probe, UVZK__SESSION_EXPIRED, before + 1);
    }
    blow(&storm);
    for (int i = 0; i < SLOTS; i++) {
        if (is_watched(&storm.slots[i])) {
            ask_unwatch(storm.slots[i].ask);
        }
    }
    probe_await_watches(probe, 0);
    assert_true(probe->sessions[UVZK__SESSION_SUSPENDED] > 0);
}
