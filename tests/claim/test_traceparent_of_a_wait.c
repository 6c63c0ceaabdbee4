/* SPDX-License-Identifier: Apache-2.0 */
/* options.traceparent: in the znodes of each recipe, and what whoever waits is told of
 * it. */
#include "world.h"

#include <string.h>

#define ONE "00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01"
#define OTHER "00-11111111111111111111111111111111-2222222222222222-00"
#define LINE_OF(traceparent) "traceparent: " traceparent

static struct world world;
static struct process a, b;
static struct hold first, second, third;
static char told[UVZK_TRACEPARENT_SIZE]; /* in the last acquire callback; "": nothing */

static uvzk_acquire_options_t options_with(const char *data, const char *traceparent)
{
    uvzk_acquire_options_t options;

    uvzk_acquire_options_init(&options);
    options.node_data = data;
    options.node_data_length = data == NULL ? 0 : strlen(data);
    options.traceparent = traceparent;
    return options;
}

static void ask_with(struct hold *hold, struct process *process, uvzk_lock_t *lock,
                     uvzk_acquire_options_t options)
{
    assert_int_equal(hold_ask(hold, process, lock, &options), 0);
}

static void assert_data(const char *path, const char *wanted)
{
    size_t length;
    const void *data = sim_data(world.sim, path, &length);

    assert_non_null(data);
    assert_int_equal(length, strlen(wanted));
    assert_memory_equal(data, wanted, length);
}

static const char *traceparent_of_wait(const struct hold *hold)
{
    uvzk_wait_info_t wait;

    uvzk_wait_info_init(&wait);
    assert_int_equal(uvzk_hold_wait_info(&hold->request, &wait), 0);
    assert_true(wait.traceparent == NULL || wait.predecessor != NULL);
    return wait.traceparent;
}

static void note_wait(struct hold *hold)
{
    uvzk_wait_info_t wait;

    uvzk_wait_info_init(&wait);
    told[0] = '\0';
    if (uvzk_hold_wait_info(&hold->request, &wait) == 0 && wait.traceparent != NULL) {
        (void)snprintf(told, sizeof(told), "%s", wait.traceparent);
    }
}

/* Instead of the default data, behind the acquire's own, also when that is empty. */
static void data_of_znodes(uint64_t seed, void *const *state)
{
    world_begin_ready(&world, seed, state, &a, &b);
    ask_with(&first, &a, NULL, options_with(NULL, ONE));
    hold_await(&first, 1000);
    assert_data(first.path, LINE_OF(ONE));
    hold_give_back(&first);
    ask_with(&first, &a, NULL, options_with("ann", ONE));
    hold_await(&first, 1000);
    assert_data(first.path, "ann\n" LINE_OF(ONE));
    hold_give_back(&first);
    ask_with(&first, &a, NULL, options_with("", ONE));
    hold_await(&first, 1000);
    assert_data(first.path, LINE_OF(ONE));
    hold_give_back(&first);
    ask_with(&first, &a, NULL, options_with("ann", NULL));
    hold_await(&first, 1000);
    assert_data(first.path, "ann");
    hold_give_back(&first);
    world_end(&world);
}

/* The leases of a semaphore, and the znodes of each member of a multi lock. */
static void data_of_other_recipes(uint64_t seed, void *const *state)
{
    uvzk_mutex_t one = {.data = NULL}, other = {.data = NULL};
    uvzk_lock_t *members[] = {&one, &other};
    uvzk_multilock_t both = {.data = NULL};

    world_begin_ready(&world, seed, state, &a, &b);
    process_make_semaphore(&a, "/permits", 2);
    ask_with(&first, &a, &a.semaphore, options_with("ann", ONE));
    hold_await(&first, 1000);
    assert_data(uvzk_hold_node_path(&first.request, 0), "ann\n" LINE_OF(ONE));
    hold_give_back(&first);
    assert_int_equal(uvzk_mutex_init(&a.client, &one, "/one"), 0);
    assert_int_equal(uvzk_mutex_init(&a.client, &other, "/other"), 0);
    assert_int_equal(uvzk_multilock_init(&a.client, &both, members, 2,
                                         seed % 2 == 0 ? UVZK_MULTILOCK_IN_TURN : 0,
                                         NULL),
                     0);
    ask_with(&first, &a, &both, options_with("ann", ONE));
    hold_await(&first, 1000);
    assert_data(world_child(&world, "/one", 0).text, "ann\n" LINE_OF(ONE));
    assert_data(world_child(&world, "/other", 0).text, "ann\n" LINE_OF(ONE));
    hold_give_back(&first);
    world_end(&world);
}

static void await_told(const struct hold *hold, const char *wanted)
{
    for (int ms = 0; ms < 1000 && traceparent_of_wait(hold) == NULL; ms++) {
        world_run_for(&world, 1);
    }
    assert_non_null(traceparent_of_wait(hold));
    assert_string_equal(traceparent_of_wait(hold), wanted);
}

/* A waiter is told of the contender of another client right before it, and so is one of
 * the same client behind it; when its time runs out, too. */
static void who_is_waited_for(uint64_t seed, void *const *state)
{
    world_begin_ready(&world, seed, state, &a, &b);
    ask_with(&first, &a, NULL, options_with("ann", ONE));
    hold_await(&first, 1000);
    hold_begin(&second, &b, UVZK_WAIT_FOREVER);
    await_told(&second, ONE);
    uvzk_acquire_options_t options = options_with(NULL, OTHER);
    options.timeout_ms = 300;
    ask_with(&third, &b, NULL, options);
    third.hook = note_wait;
    await_told(&third, ONE);
    hold_await_status(&third, 400, UV_ETIMEDOUT);
    assert_string_equal(told, ONE);
    hold_give_back(&first);
    hold_await(&second, 1000);
    hold_give_back(&second);
    world_end(&world);
}

/* Nothing is told of a contender without one, nor of one whose data has been replaced. */
static void who_has_none(uint64_t seed, void *const *state)
{
    world_begin_ready(&world, seed, state, &a, &b);
    ask_with(&first, &a, NULL, options_with("ann", NULL));
    hold_await(&first, 1000);
    hold_begin(&second, &b, UVZK_WAIT_FOREVER);
    world_run_for(&world, 500);
    assert_null(traceparent_of_wait(&second));
    assert_int_equal(
        sim_set_by_hand(world.sim, first.path, LINE_OF(ONE), strlen(LINE_OF(ONE))), 0);
    await_told(&second, ONE);
    assert_int_equal(sim_set_by_hand(world.sim, first.path, "__REVOKE__", 10), 0);
    world_run_for(&world, 500);
    assert_null(traceparent_of_wait(&second));
    hold_give_back(&first);
    hold_await(&second, 1000);
    hold_give_back(&second);
    world_end(&world);
}

/* Only that of the znode that is told as the predecessor, also while uvzk watches the one
 * before it. */
static void who_stands_between(uint64_t seed, void *const *state)
{
    world_begin_ready(&world, seed, state, &a, &b);
    ask_with(&first, &a, NULL, options_with(NULL, ONE));
    hold_await(&first, 1000);
    struct world_path foreign = world_foreign_node(&world, WORLD_PATH, "lock-");
    hold_begin(&second, &b, UVZK_WAIT_FOREVER);
    world_run_for(&world, 500);
    assert_null(traceparent_of_wait(&second));
    world_delete(&world, &foreign);
    hold_give_back(&first);
    hold_await(&second, 1000);
    hold_give_back(&second);
    world_end(&world);
}

static void unexpected_revoke(uvzk_hold_t *hold)
{
    (void)hold;
    fail();
}

static void what_is_refused(uint64_t seed, void *const *state)
{
    uvzk_acquire_options_t options;

    world_begin_ready(&world, seed, state, &a, &b);
    options = options_with(NULL, "00-4bf92f");
    assert_int_equal(hold_ask(&first, &a, NULL, &options), UV_EINVAL);
    assert_int_equal(strncmp(uvzk_refusal(UV_EINVAL), "options.traceparent: not ", 25),
                     0);
    options = options_with(NULL, ONE);
    options.revoke_cb = unexpected_revoke;
    assert_int_equal(hold_ask(&first, &a, NULL, &options), UV_EINVAL);
    assert_string_equal(
        uvzk_refusal(UV_EINVAL),
        "options.traceparent: the znode of an acquire with revoke_cb has no data");
    options = options_with("ann", ONE);
    options.node_data_length = 1000000 - 68;
    assert_int_equal(hold_ask(&first, &a, NULL, &options), UV_EINVAL);
    /* A program that was built before the field existed. */
    options = options_with("ann", "no traceparent");
    options.size = offsetof(uvzk_acquire_options_t, traceparent);
    ask_with(&first, &a, NULL, options);
    hold_await(&first, 1000);
    assert_data(first.path, "ann");
    hold_give_back(&first);
    world_end(&world);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        WORLD_SCENARIO(data_of_znodes, 1, 4),
        WORLD_SCENARIO(data_of_other_recipes, 1, 4),
        WORLD_SCENARIO(who_is_waited_for, 1, 8),
        WORLD_SCENARIO(who_has_none, 1, 4),
        WORLD_SCENARIO(who_stands_between, 1, 8),
        WORLD_SCENARIO(what_is_refused, 1, 1),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
