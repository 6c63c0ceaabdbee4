/* SPDX-License-Identifier: Apache-2.0 */
/* Futures in seeded schedules: acquires, releases, combinations of them and of other
 * combinations, cancelled, out of time, dropped and waited for at random, from outside and
 * from callbacks, while the connection breaks, sessions end and locks are closed.
 *
 *   UVZK_SCHEDULES  how many; 2000
 *   UVZK_SEED       the first; 1
 *
 * Checked: who waits is called once, with the status that the future has and keeps, never
 * from inside a call; a combination is done with 0 only when enough of its parts are; two
 * valid holds never stand on one lock; and when all has been dropped, in any order, before
 * or after the client is closed, no contender, znode or byte is left. */
#include "cmocka_test.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "failing_allocator.h"
#include "world.h"

#define LOCKS 4
#define FUTURES 24
#define PARTS_MAX 6
#define WAITERS_MAX 3
#define ACTIVE_MS 4000U

struct waiter {
    struct waiter *next; /* of all */
    struct slot *slot;
    int generation; /* the slot's, when it came */
    int calls;
};

/* A place for one future after another. */
struct slot {
    uvzk_future_t future;
    int generation;
    int last; /* its status when last looked at */
    size_t count, needed;
    struct slot *parts[PARTS_MAX]; /* of a combination */
    int part_generations[PARTS_MAX];
    struct waiter *waiters[WAITERS_MAX];
    int waiter_count;
};

static struct world world;
static struct process process;
static uvzk_mutex_t ours[LOCKS], twins[LOCKS];
static bool is_open[LOCKS];
static struct slot slots[FUTURES];
static struct waiter *waiters;
static uint64_t seed, granted, combined, acts;
static bool inside; /* a call of ours */

static uint64_t chance(uint64_t n)
{
    return sim_random(world.sim, n);
}

static struct slot *some_slot(void)
{
    return &slots[chance(FUTURES)];
}

static bool in_use(const struct slot *slot)
{
    return slot->future.impl != NULL;
}

static void wrong(const char *what)
{
    world_fail(&world, "seed %" PRIu64 ": %s", seed, what);
}

/* --------------------------------------------------------------------- checks */

static void check_status(struct slot *slot)
{
    int status = uvzk_future_status(&slot->future);

    if (slot->last != UV_EAGAIN && status != slot->last) {
        wrong("a status has changed");
    }
    slot->last = status;
}

static void check_winners(const struct slot *slot)
{
    for (size_t place = 0; place < slot->needed; place++) {
        size_t winner = uvzk_future_winner(&slot->future, place);
        if (winner >= slot->count) {
            wrong("a combination without its winners");
        }
        const struct slot *part = slot->parts[winner];
        if (part->generation == slot->part_generations[winner] &&
            uvzk_future_status(&part->future) != 0) {
            wrong("a winner that is not done with 0");
        }
    }
    combined++;
}

static void check_holds(void)
{
    const uvzk_hold_t *holder[LOCKS] = {NULL};

    for (int i = 0; i < FUTURES; i++) {
        uvzk_hold_t *hold = uvzk_future_hold(&slots[i].future);
        if (hold == NULL || !uvzk_hold_is_valid(hold)) {
            continue;
        }
        int lock = uvzk_hold_path(hold)[strlen("/f/")] - '0';
        if (holder[lock] != NULL) {
            wrong("two valid holds of a lock");
        }
        holder[lock] = hold;
    }
}

/* -------------------------------------------------------------------- callbacks */

static void act(void);

static void on_done(uvzk_future_t *future, int status, void *context)
{
    struct waiter *waiter = context;
    struct slot *slot = waiter->slot;

    if (inside) {
        wrong("called from inside a call");
    }
    if (waiter->calls++ > 0 || waiter->generation != slot->generation ||
        future != &slot->future || uvzk_future_status(future) != status) {
        wrong("called out of order");
    }
    check_status(slot);
    if (status == 0 && slot->count > 0) {
        check_winners(slot);
    }
    granted += uvzk_future_hold(future) != NULL;
    if (chance(3) == 0) {
        act();
    }
}

static void on_lost(uvzk_hold_t *hold, int reason)
{
    (void)reason;
    const uvzk_future_t *future = hold->data;
    if (future->impl == NULL || uvzk_future_status(future) != 0) {
        wrong("lost out of order");
    }
    if (chance(3) == 0) {
        act();
    }
}

static void on_released(uvzk_hold_t *hold, int status)
{
    (void)status;
    if (hold->impl != NULL) {
        wrong("released, and still in use");
    }
    if (chance(3) == 0) {
        act();
    }
}

/* ------------------------------------------------------------------- what is done */

static void drop(struct slot *slot)
{
    uvzk_future_drop(&slot->future);
    slot->generation++;
    slot->count = 0;
    slot->last = UV_EAGAIN;
    slot->waiter_count = 0;
}

static void wait_for(struct slot *slot)
{
    if (slot->waiter_count == WAITERS_MAX) {
        return;
    }
    struct waiter *waiter = calloc(1, sizeof(*waiter));
    waiter->slot = slot;
    waiter->generation = slot->generation;
    if (uvzk_future_then(&slot->future, on_done, waiter) != 0) {
        wrong("nobody may wait");
    }
    waiter->next = waiters;
    waiters = waiter;
    slot->waiters[slot->waiter_count++] = waiter;
}

static void acquire(struct slot *slot)
{
    uvzk_acquire_options_t options;
    uint64_t lock = chance(LOCKS);
    bool of_a_twin = chance(3) == 0;

    uvzk_acquire_options_init(&options);
    if (chance(4) == 0) {
        options.timeout_ms = (int64_t)chance(300);
    }
    if (of_a_twin || is_open[lock]) {
        (void)uvzk_lock_acquire_future(of_a_twin ? &twins[lock] : &ours[lock],
                                       &slot->future, &options, on_lost);
    }
}

static void combine(struct slot *slot)
{
    uvzk_future_t *parts[PARTS_MAX];
    size_t count = 1 + chance(PARTS_MAX), needed = 1 + chance(count);

    for (size_t i = 0; i < count; i++) {
        slot->parts[i] = some_slot();
        slot->part_generations[i] = slot->parts[i]->generation;
        parts[i] = &slot->parts[i]->future;
    }
    if (uvzk_future_n_of(&slot->future, parts, count, needed) == 0) {
        slot->count = count;
        slot->needed = needed;
    }
}

static void begin(struct slot *slot)
{
    const struct slot *other = some_slot();
    uvzk_hold_t *hold = uvzk_future_hold(&other->future);

    switch (chance(6)) {
    case 0:
    case 1:
    case 2:
        acquire(slot);
        break;
    case 3:
        if (hold != NULL) {
            (void)(uvzk_hold_release(hold, NULL) == 0
                       ? uvzk_future_end(&slot->future, hold)
                       : UVZK_ESTATE);
        }
        break;
    case 4:
        if (hold != NULL) {
            (void)uvzk_hold_verify(hold, uvzk_future_req(&slot->future),
                                   uvzk_future_complete);
        }
        break;
    default:
        combine(slot);
        break;
    }
    if (in_use(slot) && chance(4) != 0) {
        wait_for(slot);
    }
}

static void go_on(struct slot *slot)
{
    uvzk_hold_t *hold = uvzk_future_hold(&slot->future);

    switch (chance(8)) {
    case 0:
        (void)uvzk_future_cancel(&slot->future);
        break;
    case 1:
        (void)uvzk_future_deadline(&slot->future, chance(500));
        break;
    case 2:
        wait_for(slot);
        break;
    case 3:
        if (hold != NULL) {
            (void)uvzk_hold_release(hold, on_released);
        }
        break;
    case 4:
    case 5:
        drop(slot);
        break;
    default:
        break;
    }
    if (in_use(slot)) {
        check_status(slot);
    }
}

static void act(void)
{
    struct slot *slot = some_slot();
    bool was_inside = inside;

    if (world_now(&world) >= ACTIVE_MS) {
        return;
    }
    acts++;
    inside = true;
    if (in_use(slot)) {
        go_on(slot);
    } else {
        begin(slot);
    }
    inside = was_inside;
}

static void disturb(void)
{
    struct uvzk__port *port = process.port;
    uint64_t lock = chance(LOCKS);

    switch (chance(600)) {
    case 0:
    case 1:
        sim_disconnect(port, SIM_RESET, 1 + chance(800));
        break;
    case 2:
        (void)sim_expire(port);
        break;
    case 3:
        sim_lose_reply(port);
        break;
    case 4:
        if (is_open[lock]) {
            is_open[lock] = false;
            assert_int_equal(uvzk_lock_close(&ours[lock], NULL), 0);
        }
        break;
    default:
        break;
    }
}

/* ------------------------------------------------------------------ a schedule */

static void begin_world(void)
{
    struct sim_options options;
    char path[16];

    memset(ours, 0, sizeof(ours));
    memset(twins, 0, sizeof(twins));
    memset(slots, 0, sizeof(slots));
    world_exact_options(&options, 1);
    world_begin_with(&world, seed, seed % 3 == 0 ? 0U : (unsigned)UVZK__TUNE_ALL,
                     &options);
    process_begin(&process, &world, "a", NULL);
    for (int i = 0; i < LOCKS; i++) {
        (void)snprintf(path, sizeof(path), "/f/%d", i);
        assert_int_equal(uvzk_mutex_init(&process.client, &ours[i], path), 0);
        /* the same client, as two locks on one path are two locks */
        assert_int_equal(uvzk_mutex_init(&process.client, &twins[i], path), 0);
        is_open[i] = true;
    }
    for (int i = 0; i < FUTURES; i++) {
        slots[i].last = UV_EAGAIN;
    }
}

static void drop_all(void)
{
    size_t first = chance(FUTURES), step = 1 + 2 * chance(FUTURES / 2);

    for (size_t i = 0; i < FUTURES; i++) {
        drop(&slots[(first + i * step) % FUTURES]);
        drop(&slots[i]);
    }
}

/* All are done by then, and their callbacks called. */
static void close_client(void)
{
    process_close(&process);
    assert_true(world_await(&world, &process.closed, 60000));
    for (int i = 0; i < FUTURES; i++) {
        if (in_use(&slots[i]) && uvzk_future_status(&slots[i].future) == UV_EAGAIN) {
            wrong("pending after its client's end");
        }
        for (int j = 0; in_use(&slots[i]) && j < slots[i].waiter_count; j++) {
            if (slots[i].waiters[j]->calls != 1) {
                wrong("not called before its client's end");
            }
        }
    }
}

static void free_waiters(void)
{
    while (waiters != NULL) {
        struct waiter *next = waiters->next;
        free(waiters);
        waiters = next;
    }
}

static void run_schedule(void)
{
    char path[16];

    begin_world();
    while (world_now(&world) < ACTIVE_MS) {
        act();
        disturb();
        world_run_for(&world, chance(20));
        check_holds();
    }
    bool close_first = chance(2) == 0;
    if (close_first) {
        close_client();
    }
    drop_all();
    if (!close_first) {
        world_release_all(&world);
    }
    for (int i = 0; i < LOCKS && !close_first; i++) {
        (void)snprintf(path, sizeof(path), "/f/%d", i);
        if (world_children(&world, path) != 0) {
            wrong("a znode is left");
        }
    }
    world_end(&world);
    free_waiters();
    if (failing_allocator_live_blocks() != 0) {
        fail_msg("seed %" PRIu64 ": memory is left", seed);
    }
}

static uint64_t setting(const char *name, uint64_t otherwise)
{
    const char *text = getenv(name);

    return text == NULL ? otherwise : strtoull(text, NULL, 0);
}

static void test_schedules(void **state)
{
    uint64_t first = setting("UVZK_SEED", 1), count = setting("UVZK_SCHEDULES", 2000);
    (void)state;

    for (seed = first; seed < first + count; seed++) {
        run_schedule();
    }
    printf("%" PRIu64 " schedules, %" PRIu64 " acts, %" PRIu64 " holds, %" PRIu64
           " combinations done\n",
           count, acts, granted, combined);
    assert_true(count < 100 || (granted > count && combined > count));
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_schedules)};

    if (failing_allocator_install() != 0) {
        return 1;
    }
    return cmocka_run_group_tests_name("future_schedules", tests, NULL, NULL);
}
