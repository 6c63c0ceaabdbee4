/* A persistent node and a driver lock of one client at one path of a znode, or one of them
 * and a barrier: each would take the znode for its own, because it is in their session. The
 * second is refused before it sends anything. */
#include "cmocka_test.h"

#include <stdlib.h>
#include <string.h>

#include "group_process.h"
#include "persistent_process.h"

#define DIRECTORY "/app/workers" /* the znode of the lock "w" is the persistent node's */

/* A world without randomness, with one process, "c". */
struct scene {
    struct world world;
    struct persistent_process c;
    uvzk_lock_t lock;
    uvzk_hold_t hold;
    int acquired, closed, lost, status, value_status;
};

static int begin_with(void **state, uint32_t sessions)
{
    struct scene *scene = calloc(1, sizeof(*scene));
    uvzk_client_options_t options;

    assert_non_null(scene);
    world_begin_exact(&scene->world, UVZK__TUNE_ALL, 1);
    process_options(&options);
    options.sessions = sessions;
    scene->c.mode = UVZK_PERSISTENT_NODE_EPHEMERAL;
    process_begin(&scene->c.process, &scene->world, "c", &options);
    scene->hold.data = scene;
    scene->lock.data = scene;
    *state = scene;
    return 0;
}

static int begin(void **state)
{
    return begin_with(state, 1);
}

static int begin_sessions(void **state)
{
    return begin_with(state, 3);
}

static int end(void **state)
{
    struct scene *scene = *state;

    persistent_process_end(&scene->c);
    world_end(&scene->world);
    free(scene);
    return 0;
}

#define CASES(test)                                    \
    cmocka_unit_test_setup_teardown(test, begin, end), \
        cmocka_unit_test_setup_teardown(test, begin_sessions, end)

static void acquired(uvzk_hold_t *hold, int status)
{
    struct scene *scene = hold->data;

    scene->acquired++;
    scene->status = status;
}

static void lost(uvzk_hold_t *hold, int reason)
{
    struct scene *scene = hold->data;

    scene->lost++;
    scene->status = reason;
}

static void closed(uvzk_lock_t *lock)
{
    struct scene *scene = lock->data;

    scene->closed++;
}

static int open_lock(struct scene *scene)
{
    uvzk_lock_driver_t driver;

    uvzk_lock_driver_init(&driver);
    driver.name = "w";
    driver.mode = UVZK_NODE_EPHEMERAL;
    return uvzk_lock_init_with_driver(&scene->c.process.client, &scene->lock, DIRECTORY,
                                      &driver);
}

static void acquire_lock(struct scene *scene)
{
    assert_int_equal(uvzk_lock_acquire(&scene->lock, &scene->hold, NULL, acquired, lost),
                     0);
    persistent_process_await(&scene->c, &scene->acquired, 1);
    assert_int_equal(scene->status, 0);
}

static void hold_lock(struct scene *scene)
{
    assert_int_equal(open_lock(scene), 0);
    acquire_lock(scene);
}

static void close_lock(struct scene *scene)
{
    assert_int_equal(uvzk_lock_close(&scene->lock, closed), 0);
    persistent_process_await(&scene->c, &scene->closed, 1);
    world_run_for(&scene->world, 1000);
}

/* Also while it is closing, and until the znode is gone. */
static void no_node_where_a_lock_is(void **state)
{
    struct scene *scene = *state;
    uvzk_group_member_t member = {.data = NULL};

    hold_lock(scene);
    assert_int_equal(persistent_process_init(&scene->c, "here"), UV_EEXIST);
    assert_non_null(strstr(uvzk_refusal(UV_EEXIST), "close the lock first"));
    assert_int_equal(uvzk_group_member_init(&scene->c.process.client, &member, DIRECTORY,
                                            "w", "there", 5, NULL, NULL),
                     UV_EEXIST);
    assert_null(member.impl);
    world_run_for(&scene->world, 1000);
    assert_true(uvzk_hold_is_valid(&scene->hold));
    assert_int_equal(uvzk_lock_close(&scene->lock, closed), 0);
    assert_int_equal(persistent_process_init(&scene->c, "here"), UV_EEXIST);
    persistent_process_await(&scene->c, &scene->closed, 1);
    world_run_for(&scene->world, 1000);
    assert_int_equal(persistent_process_init(&scene->c, "here"), 0);
    persistent_process_await(&scene->c, &scene->c.present, 1);
}

static void no_lock_where_a_node_is(void **state)
{
    struct scene *scene = *state;

    assert_int_equal(persistent_process_init(&scene->c, "here"), 0);
    persistent_process_await(&scene->c, &scene->c.present, 1);
    assert_int_equal(open_lock(scene), UV_EEXIST);
    assert_non_null(strstr(uvzk_refusal(UV_EEXIST), "persistent node"));
    assert_null(scene->lock.impl);
    persistent_process_close(&scene->c);
    assert_int_equal(open_lock(scene), UV_EEXIST);
    persistent_process_await(&scene->c, &scene->c.node_closed, 1);
    hold_lock(scene);
    close_lock(scene);
}

/* A lock with sequential names has other znodes. */
static void a_lock_with_other_names_is_no_owner(void **state)
{
    struct scene *scene = *state;
    uvzk_lock_driver_t driver;

    uvzk_lock_driver_init(&driver);
    driver.name = "w";
    assert_int_equal(persistent_process_init(&scene->c, "here"), 0);
    assert_int_equal(uvzk_lock_init_with_driver(&scene->c.process.client, &scene->lock,
                                                DIRECTORY, &driver),
                     0);
    persistent_process_await(&scene->c, &scene->c.present, 1);
    close_lock(scene);
}

static void not_called(uvzk_barrier_call_t *call, int status)
{
    (void)call;
    fail_msg("called with %d", status);
}

static void refuses_barriers(struct scene *scene, const char *sentence)
{
    uvzk_client_t *client = &scene->c.process.client;
    uvzk_barrier_t barrier = {.data = NULL};
    uvzk_barrier_call_t call = {.data = NULL};

    assert_int_equal(uvzk_barrier_init(client, &barrier, PERSISTENT_PROCESS_PATH), 0);
    assert_int_equal(uvzk_barrier_set(&barrier, &call, not_called), UV_EEXIST);
    assert_non_null(strstr(uvzk_refusal(UV_EEXIST), sentence));
    assert_int_equal(uvzk_barrier_remove(&barrier, &call, not_called), UV_EEXIST);
    assert_int_equal(uvzk_barrier_close(&barrier, NULL), 0);
    world_run_for(&scene->world, 1000);
    assert_true(sim_exists(scene->world.sim, PERSISTENT_PROCESS_PATH));
}

static void no_barrier_is_set_where_a_lock_is(void **state)
{
    struct scene *scene = *state;

    hold_lock(scene);
    refuses_barriers(scene, "close the lock first");
    assert_int_equal(scene->lost, 0);
    close_lock(scene);
    assert_int_equal(persistent_process_init(&scene->c, "here"), 0);
    persistent_process_await(&scene->c, &scene->c.present, 1);
}

static void no_barrier_is_set_where_a_node_is(void **state)
{
    struct scene *scene = *state;

    assert_int_equal(persistent_process_init(&scene->c, "here"), 0);
    persistent_process_await(&scene->c, &scene->c.present, 1);
    refuses_barriers(scene, "persistent node");
    assert_int_equal(scene->c.told, 1);
}

/* Its `ready` would be the znode of the member. */
static void no_double_barrier_is_entered_where_ready_is_owned(void **state)
{
    struct scene *scene = *state;
    uvzk_client_t *client = &scene->c.process.client;
    uvzk_group_member_t member = {.data = NULL};
    uvzk_double_barrier_t barrier = {.data = NULL};
    uvzk_barrier_call_t call = {.data = NULL};

    assert_int_equal(
        uvzk_group_member_init(client, &member, DIRECTORY, "ready", "m", 1, NULL, NULL),
        0);
    assert_int_equal(uvzk_double_barrier_init(client, &barrier, DIRECTORY, 1, NULL), 0);
    assert_int_equal(uvzk_double_barrier_enter(&barrier, &call, 1000, not_called),
                     UV_EEXIST);
    assert_int_equal(uvzk_double_barrier_close(&barrier, NULL), 0);
    assert_int_equal(uvzk_group_member_close(&member, NULL), 0);
    assert_int_equal(persistent_process_init(&scene->c, "here"), 0);
    persistent_process_await(&scene->c, &scene->c.present, 1);
}

static void number_told(uvzk_atomic_call_t *call, int status,
                        const uvzk_atomic_value_t *value)
{
    (void)value;
    *(int *)call->data = status;
}

/* It would be created where a lock's znode is to be. It may be read. */
static void no_number_is_changed_where_a_lock_is(void **state)
{
    struct scene *scene = *state;
    uvzk_atomic_long_t number = {.data = NULL};
    int status = 0;
    uvzk_atomic_call_t call = {.data = &status};

    assert_int_equal(open_lock(scene), 0);
    assert_int_equal(uvzk_atomic_long_init(&scene->c.process.client, &number,
                                           PERSISTENT_PROCESS_PATH, NULL),
                     0);
    assert_int_equal(uvzk_atomic_long_add(&number, &call, 1, number_told), UV_EEXIST);
    assert_int_equal(uvzk_atomic_long_get(&number, &call, number_told), 0);
    world_run_for(&scene->world, 1000);
    assert_int_equal(status, 0);
    assert_false(sim_exists(scene->world.sim, PERSISTENT_PROCESS_PATH));
    close_lock(scene);
    assert_int_equal(uvzk_atomic_long_close(&number, NULL), 0);
    assert_int_equal(persistent_process_init(&scene->c, "here"), 0);
    persistent_process_await(&scene->c, &scene->c.present, 1);
}

static void value_told(uvzk_shared_value_t *value, int status)
{
    struct scene *scene = value->data;

    scene->value_status = status;
}

/* The seed of a value does not become the lock's znode, which would be nobody's. */
static void no_seed_is_written_where_a_lock_is(void **state)
{
    struct scene *scene = *state;
    uvzk_shared_value_t value = {.data = scene};

    assert_int_equal(open_lock(scene), 0);
    assert_int_equal(uvzk_shared_value_init(&scene->c.process.client, &value,
                                            PERSISTENT_PROCESS_PATH, "seed", 4,
                                            value_told),
                     0);
    world_run_for(&scene->world, 1000);
    assert_int_equal(scene->value_status, UVZK_ENONODE);
    assert_false(sim_exists(scene->world.sim, PERSISTENT_PROCESS_PATH));
    acquire_lock(scene);
    world_run_for(&scene->world, 1000);
    assert_int_equal(scene->value_status, 0);
    close_lock(scene);
    assert_int_equal(scene->value_status, UVZK_ENONODE);
    assert_int_equal(uvzk_shared_value_close(&value, NULL), 0);
    assert_int_equal(persistent_process_init(&scene->c, "here"), 0);
    persistent_process_await(&scene->c, &scene->c.present, 1);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        CASES(no_node_where_a_lock_is),
        CASES(no_lock_where_a_node_is),
        CASES(a_lock_with_other_names_is_no_owner),
        CASES(no_barrier_is_set_where_a_lock_is),
        CASES(no_barrier_is_set_where_a_node_is),
        CASES(no_number_is_changed_where_a_lock_is),
        CASES(no_seed_is_written_where_a_lock_is),
        CASES(no_double_barrier_is_entered_where_ready_is_owned),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
