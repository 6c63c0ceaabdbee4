/* SPDX-License-Identifier: Apache-2.0 */
/* Locks of different kinds at one path do not exclude one another. The one that came later
 * is refused, or a warning is logged (options.mixed_kinds). The matrix: each kind beside
 * each other one, in both orders, of two clients and of one; and beside the znodes of
 * another library. */
#include "cmocka_test.h"

#include <stdlib.h>
#include <string.h>

#include "locks/leader_latch.h"
#include "process.h"
#include "world.h"

#define PATH "/kinds"
#define SETTLE_MS 2000U
#define WARNINGS 4U

struct lock {
    uvzk_lock_t single, member, *acquires;
    uvzk_rwlock_t rwlock;
};

struct kind {
    const char *name;
    int group; /* kinds of one group exclude one another */
    void (*make)(struct process *, struct lock *);
};

static struct world world;
static struct process a, b;
static struct lock locks[2];
static struct hold first, second;
static unsigned warnings;
static char warning[256];

/* ---------------------------------------------------------------------- the kinds */

static void make_mutex(struct process *process, struct lock *lock)
{
    lock->acquires = &lock->single;
    assert_int_equal(uvzk_mutex_init(&process->client, &lock->single, PATH), 0);
}

static void make_multi_lock(struct process *process, struct lock *lock)
{
    uvzk_lock_t *members[] = {&lock->member};

    lock->acquires = &lock->single;
    assert_int_equal(uvzk_mutex_init(&process->client, &lock->member, PATH), 0);
    assert_int_equal(
        uvzk_multilock_init(&process->client, &lock->single, members, 1, 0, NULL), 0);
}

static void make_latch(struct process *process, struct lock *lock)
{
    lock->acquires = &lock->single;
    assert_int_equal(uvzk__leader_latch_init(&process->client, &lock->single, PATH), 0);
}

static void make_writer(struct process *process, struct lock *lock)
{
    lock->acquires = &lock->rwlock.write;
    assert_int_equal(uvzk_rwlock_init(&process->client, &lock->rwlock, PATH), 0);
}

static void make_reader(struct process *process, struct lock *lock)
{
    make_writer(process, lock);
    lock->acquires = &lock->rwlock.read;
}

static void make_semaphore(struct process *process, struct lock *lock)
{
    lock->acquires = &lock->single;
    assert_int_equal(uvzk_semaphore_init(&process->client, &lock->single, PATH, 1, NULL),
                     0);
}

static void make_semaphore_mutex(struct process *process, struct lock *lock)
{
    lock->acquires = &lock->single;
    assert_int_equal(uvzk_semaphore_mutex_init(&process->client, &lock->single, PATH), 0);
}

static const struct kind kinds[] = {
    {"mutex", 0, make_mutex},
    {"multi lock", 0, make_multi_lock},
    {"latch", 1, make_latch},
    {"writer", 2, make_writer},
    {"reader", 2, make_reader},
    {"semaphore", 3, make_semaphore},
    {"semaphore mutex", 3, make_semaphore_mutex},
};
#define KINDS (sizeof(kinds) / sizeof(kinds[0]))

/* Two readers hold together. */
static bool share(const struct kind *one, const struct kind *other)
{
    return one->make == make_reader && other->make == make_reader;
}

/* ---------------------------------------------------------------------- the world */

static void on_log(uvzk_client_t *client, int level, const char *module, const char *line)
{
    (void)client;
    (void)module;
    if (level == UVZK_LOG_WARN && strstr(line, "do not exclude") != NULL) {
        warnings++;
        (void)snprintf(warning, sizeof(warning), "%s", line);
    }
}

static void begin(uint64_t seed, void *const *state, uvzk_mixed_kinds_t mixed_kinds)
{
    memset(locks, 0, sizeof(locks));
    warnings = 0;
    world_begin(&world, seed, state);
    world.options.mixed_kinds = mixed_kinds;
    world.options.log_cb = on_log;
    process_begin(&a, &world, "a", NULL);
    process_begin(&b, &world, "b", NULL);
    assert_true(process_await_connected(&a, 5000));
    assert_true(process_await_connected(&b, 5000));
}

static void take(struct hold *hold, struct process *process, struct lock *lock)
{
    hold_begin_on(hold, process, lock->acquires, 1, UVZK_WAIT_FOREVER);
}

/* The other client, or the same one. */
static struct process *later(bool one_client)
{
    return one_client ? &a : &b;
}

/* ------------------------------------------------------------------------- the matrix */

static void refuses(const struct kind *one, const struct kind *other, bool one_client,
                    uint64_t seed, void *const *state)
{
    begin(seed, state, UVZK_MIXED_KINDS_REFUSE);
    one->make(&a, &locks[0]);
    other->make(later(one_client), &locks[1]);
    hold_take_on(&first, &a, locks[0].acquires, 1);
    take(&second, later(one_client), &locks[1]);
    if (one->group == other->group) {
        world_run_for(&world, SETTLE_MS);
        assert_int_equal(second.answered, share(one, other));
    } else {
        hold_await_status(&second, SETTLE_MS, UVZK_EKIND);
        assert_int_equal(process_metrics(later(one_client)).mixed_kinds, 1);
        assert_true(hold_holds(&first));
        hold_give_back(&first);
        /* The directories of a semaphore stay, and are empty. */
        take(&second, later(one_client), &locks[1]);
    }
    hold_release_or_cancel(&first);
    hold_acquire_release(&second, SETTLE_MS);
    world_end(&world);
}

static void the_later_one_is_refused(uint64_t seed, void *const *state)
{
    for (size_t i = 0; i < KINDS * KINDS * 2; i++) {
        char what[64];
        const struct kind *one = &kinds[i / 2 % KINDS], *other = &kinds[i / 2 / KINDS];
        (void)snprintf(what, sizeof(what), "%s, then %s, %s", one->name, other->name,
                       i % 2 == 0 ? "two clients" : "one client");
        world.what = what;
        refuses(one, other, i % 2 == 1, seed, state);
    }
}

/* Both ask at the same time. The one whose znode is first holds, and the other one is
 * refused. */
static void of_two_at_once_one_is_refused(uint64_t seed, void *const *state)
{
    for (size_t i = 0; i < KINDS * KINDS; i++) {
        const struct kind *one = &kinds[i % KINDS], *other = &kinds[i / KINDS];
        if (one->group == other->group) {
            continue;
        }
        begin(seed, state, UVZK_MIXED_KINDS_REFUSE);
        one->make(&a, &locks[0]);
        other->make(&b, &locks[1]);
        take(&first, &a, &locks[0]);
        take(&second, &b, &locks[1]);
        hold_await_answer(&first, SETTLE_MS);
        hold_await_answer(&second, SETTLE_MS);
        assert_int_equal(hold_holds(&first) + hold_holds(&second), 1);
        assert_int_equal(hold_holds(&first) ? second.status : first.status, UVZK_EKIND);
        hold_give_back(hold_holds(&first) ? &first : &second);
        world_end(&world);
    }
}

static void a_warning_names_both_kinds(uint64_t seed, void *const *state)
{
    for (size_t i = 0; i < KINDS * KINDS; i++) {
        const struct kind *one = &kinds[i % KINDS], *other = &kinds[i / KINDS];
        if (one->group == other->group) {
            continue;
        }
        begin(seed, state, UVZK_MIXED_KINDS_WARN);
        one->make(&a, &locks[0]);
        other->make(&b, &locks[1]);
        hold_take_on(&first, &a, locks[0].acquires, 1);
        hold_take_on(&second, &b, locks[1].acquires, 1);
        assert_int_equal(warnings, 1);
        assert_non_null(strstr(warning, PATH ": "));
        assert_int_equal(process_metrics(&a).mixed_kinds, 0);
        assert_int_equal(process_metrics(&b).mixed_kinds, 1);
        hold_give_back(&first);
        hold_give_back(&second);
        world_end(&world);
    }
}

/* ------------------------------------------------------------ another library's znodes */

static void a_foreign_znode_counts(uint64_t seed, void *const *state)
{
    static const struct {
        const char *directory, *end;
        int group;
    } foreigners[] = {{PATH, "lock-", 0},          {PATH, "latch-", 1},
                      {PATH, "__WRIT__", 2},       {PATH, "__READ__", 2},
                      {PATH "/locks", "lock-", 3}, {PATH "/leases", "lease-", 3}};

    for (size_t i = 0; i < KINDS * 6; i++) {
        size_t which = i / KINDS;
        if (foreigners[which].group == kinds[i % KINDS].group) {
            continue;
        }
        begin(seed, state, UVZK_MIXED_KINDS_REFUSE);
        world_make_path(&world, foreigners[which].directory);
        struct world_path node = world_foreign_node(&world, foreigners[which].directory,
                                                    foreigners[which].end);
        kinds[i % KINDS].make(&a, &locks[0]);
        hold_try(&first, &a, locks[0].acquires, UVZK_WAIT_FOREVER, UVZK_EKIND);
        assert_int_equal(warnings, 0);
        /* One that comes later does not take the lock away, and is told of. */
        world_delete(&world, &node);
        hold_take_on(&first, &a, locks[0].acquires, 1);
        (void)world_foreign_node(&world, foreigners[which].directory,
                                 foreigners[which].end);
        world_run_for(&world, 3 * (uint64_t)world.options.session_timeout_ms);
        assert_true(hold_holds(&first));
        assert_int_equal(warnings, 1);
        hold_give_back(&first);
        world_end(&world);
    }
}

/* ----------------------------------------------------------------- what it costs */

static uint64_t listings(struct process *process)
{
    return process_metrics(process).listings;
}

static uint64_t of_a_turn(struct process *process, struct lock *lock)
{
    uint64_t before = listings(process);

    hold_take_on(&first, process, lock->acquires, 1);
    hold_give_back(&first);
    world_run_for(&world, 100);
    return listings(process) - before;
}

/* With a warning, only the first acquire of a semaphore lists its path. */
static void a_semaphore_lists_its_path_once(uint64_t seed, void *const *state)
{
    begin(seed, state, UVZK_MIXED_KINDS_WARN);
    make_semaphore(&a, &locks[0]);
    uint64_t before = of_a_turn(&a, &locks[0]);
    uint64_t after = of_a_turn(&a, &locks[0]);
    assert_true(after < before);
    assert_int_equal(of_a_turn(&a, &locks[0]), after);
    world_end(&world);
    begin(seed, state, UVZK_MIXED_KINDS_REFUSE);
    make_semaphore(&a, &locks[0]);
    (void)of_a_turn(&a, &locks[0]);
    assert_int_equal(of_a_turn(&a, &locks[0]), after + 1);
    world_end(&world);
}

/* Where there is no semaphore, a mutex sends what it always sent. */
static void a_mutex_alone_lists_nothing_more(uint64_t seed, void *const *state)
{
    begin(seed, state, UVZK_MIXED_KINDS_REFUSE);
    make_mutex(&a, &locks[0]);
    assert_true(of_a_turn(&a, &locks[0]) <= 1);
    (void)of_a_turn(&a, &locks[0]);
    (void)of_a_turn(&a, &locks[0]);
    assert_int_equal(of_a_turn(&a, &locks[0]), 0); /* it has a watermark */
    world_end(&world);
}

/* ------------------------------------------------------- one count of leases for a path */

static void another_number_of_leases_is_refused(uint64_t seed, void *const *state)
{
    uvzk_semaphore_t three, five;

    memset(&three, 0, sizeof(three));
    memset(&five, 0, sizeof(five));
    begin(seed, state, UVZK_MIXED_KINDS_WARN);
    assert_int_equal(uvzk_semaphore_init(&a.client, &three, PATH, 3, NULL), 0);
    assert_int_equal(uvzk_semaphore_init(&a.client, &five, PATH, 5, NULL), 0);
    hold_take_on(&first, &a, &three, 1);
    assert_int_equal(hold_ask(&second, &a, &five, NULL), UVZK_EKIND);
    assert_non_null(strstr(uvzk_refusal(UVZK_EKIND), "max_leases"));
    hold_give_back(&first);
    world_run_for(&world, SETTLE_MS);
    hold_take_on(&second, &a, &five, 1);
    hold_give_back(&second);
    world_end(&world);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        WORLD_SCENARIO(the_later_one_is_refused, 1, 4),
        WORLD_SCENARIO(of_two_at_once_one_is_refused, 1, 20),
        WORLD_SCENARIO(a_warning_names_both_kinds, 1, 4),
        WORLD_SCENARIO(a_foreign_znode_counts, 1, 4),
        WORLD_SCENARIO_CASE(a_semaphore_lists_its_path_once, WORLD_NO_QUEUED_CB,
                            WORLD_NO_QUEUED_CB, tuned),
        WORLD_SCENARIO_CASE(a_mutex_alone_lists_nothing_more, WORLD_NO_QUEUED_CB,
                            WORLD_NO_QUEUED_CB, tuned),
        WORLD_SCENARIO(another_number_of_leases_is_refused, 1, 4),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
