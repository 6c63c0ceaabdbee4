/* SPDX-License-Identifier: Apache-2.0 */
/* Curator's locks of one kind, and ours of another kind, at one path. Curator does not look
 * for other kinds. A client of ours that refuses the later one is refused beside a holder
 * of Curator, and keeps its own lock when one of Curator comes later, which is told. */
#include <stdio.h>
#include <string.h>

#include "locks/leader_latch.h"
#include "mix.h"

#define TIMEOUT_MS 4000U

static struct world world;
static struct process us;
static struct peer curator;
static struct hold ours;
static volatile unsigned warnings;

/* What Curator is asked to do, with the path in the place of %s. */
static const struct {
    const char *name;
    int group;
    const char *make, *made, *take, *taken, *leave, *left;
    size_t holder; /* which of ours holds when this one comes later */
} theirs[] = {
    {"mutex", 0, "mutex M %s", "made M", "acquire t M", "granted t", "release t M",
     "released t", 2},
    {"writer", 2, "rw R %s", "made R", "acquire t R.write", "granted t",
     "release t R.write", "released t", 0},
    {"reader", 2, "rw R %s", "made R", "acquire t R.read", "granted t",
     "release t R.read", "released t", 1},
    {"semaphore", 3, "semaphore S %s 1", "made S", "acquire t S", "granted t",
     "release t S", "released t", 2},
    {"semaphore mutex", 3, "semaphore_mutex X %s", "made X", "acquire t X", "granted t",
     "release t X", "released t", 0},
};

struct lock {
    uvzk_lock_t single, *acquires;
    uvzk_rwlock_t rwlock;
};

/* They stay until their client is closed. */
static struct lock locks[5][4];

static void make_ours(struct lock *lock, size_t kind, const char *path)
{
    lock->acquires = &lock->single;
    switch (kind) {
    case 0:
        assert_int_equal(uvzk_mutex_init(&us.client, &lock->single, path), 0);
        break;
    case 1:
        assert_int_equal(uvzk__leader_latch_init(&us.client, &lock->single, path), 0);
        break;
    case 2:
        assert_int_equal(uvzk_rwlock_init(&us.client, &lock->rwlock, path), 0);
        lock->acquires = &lock->rwlock.write;
        break;
    default:
        assert_int_equal(uvzk_semaphore_init(&us.client, &lock->single, path, 1, NULL),
                         0);
    }
}

static void on_log(uvzk_client_t *client, int level, const char *module, const char *line)
{
    (void)client;
    (void)line;
    warnings += level == UVZK_LOG_WARN && strcmp(module, "kinds") == 0;
}

static void begin(void)
{
    uvzk_client_options_t options;

    memset(locks, 0, sizeof(locks));
    world_begin(&world, NULL);
    process_options(&options);
    options.session_timeout_ms = TIMEOUT_MS;
    options.mixed_kinds = UVZK_MIXED_KINDS_REFUSE;
    options.log_cb = on_log;
    process_begin(&us, &world, "us", &options);
    assert_true(process_await_connected(&us, PATIENCE_MS));
    other_side_start(&world, &curator, 0);
}

static void end(void)
{
    other_side_end(&curator);
    world_end(&world);
}

static void wait_for_a_warning(unsigned count)
{
    uint64_t since = world_now(&world);

    while (warnings < count) {
        assert_true(world_turn(&world, since));
    }
}

/* Curator holds: ours is refused. Then ours holds, and Curator comes. */
static void beside(size_t which, size_t kind)
{
    struct lock *lock = &locks[which][kind];
    char path[64], make[96];

    snprintf(path, sizeof(path), "/mixed/%zu-%zu", which, kind);
    snprintf(make, sizeof(make), theirs[which].make, path);
    make_ours(lock, kind, path);
    assert_non_null(peer_ask(&curator, theirs[which].made, "%s", make));
    assert_non_null(peer_ask(&curator, theirs[which].taken, "%s", theirs[which].take));
    hold_try(&ours, &us, lock->acquires, UVZK_WAIT_FOREVER, UVZK_EKIND);
    assert_non_null(peer_ask(&curator, theirs[which].left, "%s", theirs[which].leave));

    if (kind != theirs[which].holder) {
        return;
    }
    warnings = 0;
    hold_take_on(&ours, &us, lock->acquires, 1);
    assert_non_null(peer_ask(&curator, theirs[which].taken, "%s", theirs[which].take));
    wait_for_a_warning(1);
    assert_true(hold_holds(&ours));
    assert_non_null(peer_ask(&curator, theirs[which].left, "%s", theirs[which].leave));
    hold_give_back(&ours);
}

static void test_each_kind_beside_each_other_one(void **state)
{
    (void)state;
    begin();
    for (size_t which = 0; which < sizeof(theirs) / sizeof(theirs[0]); which++) {
        for (size_t kind = 0; kind < 4; kind++) {
            if ((int)kind != theirs[which].group) {
                beside(which, kind);
            }
        }
    }
    end();
}

/* A selector of Curator and a mutex of ours exclude each other: their names are the same. */
static void test_a_selector_is_a_mutex(void **state)
{
    struct lock *lock = &locks[0][0];

    (void)state;
    begin();
    make_ours(lock, 0, "/mixed/selector");
    hold_take_on(&ours, &us, lock->acquires, 1);
    assert_non_null(peer_ask(&curator, "made E", "selector E /mixed/selector them"));
    assert_true(world_await_children(&world, "/mixed/selector", 2));
    assert_null(peer_heard(&curator, "leads E"));
    hold_give_back(&ours);
    assert_non_null(peer_expect(&curator, "leads E"));
    assert_non_null(peer_ask(&curator, "left E", "leave E"));
    end();
}

int main(int argc, char **argv)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_each_kind_beside_each_other_one),
        cmocka_unit_test(test_a_selector_is_a_mutex),
    };

    if (!other_side_commands(argc, argv, 1)) {
        return 2;
    }
    return cmocka_run_group_tests(tests, servers_start_one, servers_stop);
}
