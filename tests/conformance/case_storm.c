/* Requests, watches, losses and expiries at random, reproducibly as far as the
 * world is. The user checks order and dues all the while (user.h). */
#include <stdio.h>
#include <string.h>

#include "cases.h"

#define SLOTS 64
#define STEPS 3000 /* each of the two times it blows */

static const uvzk_acl_t open_entries[] = {{UVZK_PERM_ALL, "world", "anyone"}};
static const struct uvzk__acl open_acl = {open_entries, 1};

struct slot {
    struct ask ask;
    char path[16];
    bool used; /* submitted at least once */
};

struct storm {
    struct user *user;
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
    return slot->ask.watch.armed != NULL;
}

static bool is_outstanding(const struct slot *slot)
{
    return slot->used && slot->ask.replies == 0;
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
    ask_init(&slot->ask, storm->user, kind, slot->path);
    slot->used = true;
    if (kind == UVZK__RPC_GET || kind == UVZK__RPC_EXISTS || kind == UVZK__RPC_CHILDREN) {
        ask_watch(&slot->ask);
    } else if (kind == UVZK__RPC_MULTI) {
        slot->ask.rpc.ops = storm->ops;
        slot->ask.rpc.op_count = 2;
    }
    ask_submit(&slot->ask);
}

static void disturb(struct storm *storm)
{
    struct user *user = storm->user;
    uint64_t what = roll(storm, 40);
    if (what == 0 && user->connected && user->session_id != storm->expired) {
        storm->expired = user->session_id;
        world_expire(user->world);
    } else if (what < 8 && !storm->lost) {
        storm->lost = true;
        world_lose(user->world);
    } else if (what >= 20 && storm->lost) {
        storm->lost = false;
        world_restore(user->world);
    }
}

static bool is_connected(void *context)
{
    return ((struct user *)context)->connected;
}

static bool all_replied(void *context)
{
    const struct user *user = context;
    return user->replies == user->asks;
}

static void blow(struct storm *storm)
{
    struct user *user = storm->user;
    for (int step = 0; step < STEPS; step++) {
        struct slot *slot = &storm->slots[roll(storm, SLOTS)];
        uint64_t what = roll(storm, 100);
        if (what < 70) {
            submit_some(storm, slot);
        } else if (what < 90) {
            if (is_watched(slot)) {
                ask_unwatch(&slot->ask);
            }
        } else if (what < 98) {
            world_run_for(user->world, (unsigned)roll(storm, 5));
        } else {
            disturb(storm);
        }
    }
    storm->lost = false;
    world_restore(user->world);
    assert_true(world_run_until(user->world, all_replied, user));
    assert_true(world_run_until(user->world, is_connected, user));
}

void a_storm_keeps_the_promises(void **state)
{
    static struct storm storm;
    memset(&storm, 0, sizeof(storm));
    struct user *user = storm.user = *state;
    user->reopen = true;
    storm.ops[0] = (struct uvzk__op){.kind = UVZK__OP_CHECK, .path = "/", .version = -1};
    storm.ops[1] = (struct uvzk__op){.kind = UVZK__OP_CREATE,
                                     .mode = UVZK__EPHEMERAL_SEQUENTIAL,
                                     .path = "/m-",
                                     .acl = &open_acl};
    storm.random = 20;
    for (int i = 0; i < SLOTS; i++) {
        snprintf(storm.slots[i].path, sizeof(storm.slots[i].path), "/s%d", i);
    }
    assert_true(user_connect(user));
    blow(&storm);
    if (user->session_id != storm.expired) { /* a storm may have none of its own */
        unsigned before = user->sessions[UVZK__SESSION_EXPIRED];
        world_expire(user->world);
        assert_true(user_wait_session(user, UVZK__SESSION_EXPIRED, before + 1));
    }
    blow(&storm);
    for (int i = 0; i < SLOTS; i++) {
        if (is_watched(&storm.slots[i])) {
            ask_unwatch(&storm.slots[i].ask);
        }
    }
    assert_true(user_wait_watch_count(user, 0));
    assert_true(user->sessions[UVZK__SESSION_SUSPENDED] > 0);
}
