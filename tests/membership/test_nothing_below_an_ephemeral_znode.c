/* An ephemeral znode has no children. What needs a znode below one that this client owns is
 * refused before it sends anything, and so is an owner whose znode would be above what is
 * open already. */
#include "owner_scene.h"

#define CASES(test)                                                                \
    cmocka_unit_test_setup_teardown(test, owner_scene_begin_one, owner_scene_end), \
        cmocka_unit_test_setup_teardown(test, owner_scene_begin_sessions,          \
                                        owner_scene_end)

#define PATH PERSISTENT_PROCESS_PATH
#define BESIDE PATH "side"

/* One of each recipe. */
struct things {
    uvzk_client_t *client;
    uvzk_lock_t lock;
    uvzk_rwlock_t rwlock;
    uvzk_election_t election;
    uvzk_shared_value_t value;
    uvzk_shared_count_t count;
    uvzk_group_member_t member;
    uvzk_persistent_node_t node;
    uvzk_double_barrier_t gate;
    uvzk_barrier_t barrier;
    uvzk_atomic_long_t number;
    uvzk_barrier_call_t call;
    uvzk_atomic_call_t change;
};

static int open_mutex(struct things *things, const char *path)
{
    return uvzk_mutex_init(things->client, &things->lock, path);
}

static int open_cohort(struct things *things, const char *path)
{
    return uvzk_mutex_init_cohort(things->client, &things->lock, path, 3, 1000);
}

static int open_rwlock(struct things *things, const char *path)
{
    return uvzk_rwlock_init(things->client, &things->rwlock, path);
}

static int open_semaphore(struct things *things, const char *path)
{
    return uvzk_semaphore_init(things->client, &things->lock, path, 1, NULL);
}

static int open_driver_lock(struct things *things, const char *path)
{
    uvzk_lock_driver_t driver;

    uvzk_lock_driver_init(&driver);
    driver.name = "l";
    return uvzk_lock_init_with_driver(things->client, &things->lock, path, &driver);
}

static void leads(uvzk_election_t *election, int64_t token, uint64_t valid_until)
{
    (void)election;
    (void)token;
    (void)valid_until;
}

static int open_election(struct things *things, const char *path)
{
    uvzk_election_options_t options;

    uvzk_election_options_init(&options);
    options.leader_cb = leads;
    return uvzk_election_init(things->client, &things->election, path, &options);
}

static int open_member(struct things *things, const char *path)
{
    return uvzk_group_member_init(things->client, &things->member, path, "m", "", 0, NULL,
                                  NULL);
}

static int open_gate(struct things *things, const char *path)
{
    return uvzk_double_barrier_init(things->client, &things->gate, path, 2, NULL);
}

static int open_value(struct things *things, const char *path)
{
    return uvzk_shared_value_init(things->client, &things->value, path, "", 0, NULL);
}

static int open_count(struct things *things, const char *path)
{
    return uvzk_shared_count_init(things->client, &things->count, path, 0, NULL);
}

static int open_node(struct things *things, const char *path)
{
    return uvzk_persistent_node_init(things->client, &things->node, path,
                                     UVZK_PERSISTENT_NODE_PERSISTENT, "", 0, NULL);
}

static void called(uvzk_barrier_call_t *call, int status)
{
    (void)call;
    (void)status;
}

static int set_barrier(struct things *things, const char *path)
{
    int status = uvzk_barrier_init(things->client, &things->barrier, path);

    assert_int_equal(status, 0);
    status = uvzk_barrier_set(&things->barrier, &things->call, called);
    if (status != 0) {
        assert_int_equal(uvzk_barrier_close(&things->barrier, NULL), 0);
    }
    return status;
}

static void changed(uvzk_atomic_call_t *call, int status,
                    const uvzk_atomic_value_t *value)
{
    (void)call;
    (void)status;
    (void)value;
}

static int change_number(struct things *things, const char *path)
{
    int status = uvzk_atomic_long_init(things->client, &things->number, path, NULL);

    assert_int_equal(status, 0);
    status = uvzk_atomic_long_add(&things->number, &things->change, 1, changed);
    if (status != 0) {
        assert_int_equal(uvzk_atomic_long_close(&things->number, NULL), 0);
    }
    return status;
}

typedef int opener(struct things *, const char *path);

/* Their znodes are children of the path; and the path is their znode. */
static opener *const with_children[] = {open_mutex,     open_cohort,      open_rwlock,
                                        open_semaphore, open_driver_lock, open_election,
                                        open_member,    open_gate};
static opener *const with_a_znode[] = {open_value, open_count, open_node, set_barrier,
                                       change_number};

static uint64_t requests_of(const struct owner_scene *scene)
{
    uint64_t requests = 0;

    for (uint32_t i = 0; i < scene->c.process.sessions; i++) {
        requests += sim_submitted(scene->c.process.ports[i]);
    }
    return requests;
}

static void refuses(struct owner_scene *scene, opener *open, const char *path)
{
    struct things things = {.client = &scene->c.process.client};
    uint64_t before = requests_of(scene);

    assert_int_equal(open(&things, path), UVZK_ENOCHILDREN);
    assert_non_null(strstr(uvzk_refusal(UVZK_ENOCHILDREN), "at or below"));
    assert_int_equal(requests_of(scene), before);
    world_run_for(&scene->world, 1000); /* a barrier or an atomic long is closed */
}

static void refuses_all(struct owner_scene *scene)
{
    for (size_t i = 0; i < sizeof(with_children) / sizeof(with_children[0]); i++) {
        refuses(scene, with_children[i], PATH);
        refuses(scene, with_children[i], PATH "/below/it");
    }
    for (size_t i = 0; i < sizeof(with_a_znode) / sizeof(with_a_znode[0]); i++) {
        refuses(scene, with_a_znode[i], PATH "/below/it");
    }
}

/* A mutex may be there again, and above, and beside. */
static void accepts(struct owner_scene *scene, const char *path)
{
    struct things things = {.client = &scene->c.process.client};

    assert_int_equal(open_mutex(&things, path), 0);
    assert_int_equal(uvzk_lock_close(&things.lock, NULL), 0);
    world_run_for(&scene->world, 1000);
}

static void nothing_below_a_lock(void **state)
{
    struct owner_scene *scene = *state;

    assert_int_equal(owner_scene_open_lock(scene), 0);
    refuses_all(scene);
    accepts(scene, OWNER_SCENE_DIRECTORY);
    accepts(scene, BESIDE);
    owner_scene_close_lock(scene);
    accepts(scene, PATH);
}

static void nothing_below_a_node(void **state)
{
    struct owner_scene *scene = *state;

    owner_scene_open_node(scene);
    refuses_all(scene);
    accepts(scene, OWNER_SCENE_DIRECTORY);
    accepts(scene, BESIDE "/deep");
    persistent_process_close(&scene->c);
    persistent_process_await(&scene->c, &scene->c.node_closed, 1);
    accepts(scene, PATH);
}

static void nothing_below_a_member(void **state)
{
    struct owner_scene *scene = *state;
    uvzk_group_member_t member = {.data = NULL};

    assert_int_equal(uvzk_group_member_init(&scene->c.process.client, &member,
                                            OWNER_SCENE_DIRECTORY, "w", "", 0, NULL,
                                            NULL),
                     0);
    refuses_all(scene);
    assert_int_equal(uvzk_group_member_close(&member, NULL), 0);
    world_run_for(&scene->world, 1000);
    accepts(scene, PATH);
}

/* A persistent znode may have children. */
static void anything_below_a_persistent_node(void **state)
{
    struct owner_scene *scene = *state;

    scene->c.mode = UVZK_PERSISTENT_NODE_PERSISTENT;
    owner_scene_open_node(scene);
    accepts(scene, PATH);
    accepts(scene, PATH "/below/it");
}

/* ------------------------------------------------------------------- the other order */

static void refuses_owners(struct owner_scene *scene)
{
    uvzk_group_member_t member = {.data = NULL};
    uint64_t before = requests_of(scene);

    assert_int_equal(owner_scene_open_lock(scene), UV_EEXIST);
    assert_non_null(strstr(uvzk_refusal(UV_EEXIST), "below that path"));
    assert_int_equal(persistent_process_init(&scene->c, "here"), UV_EEXIST);
    assert_int_equal(uvzk_group_member_init(&scene->c.process.client, &member,
                                            OWNER_SCENE_DIRECTORY, "w", "", 0, NULL,
                                            NULL),
                     UV_EEXIST);
    assert_int_equal(requests_of(scene), before);
}

static void accepts_a_lock(struct owner_scene *scene)
{
    assert_int_equal(owner_scene_open_lock(scene), 0);
    owner_scene_close_lock(scene);
}

static void no_owner_above_a_lock(void **state)
{
    static const char *const paths[] = {PATH, PATH "/below/it", PATH "/other", PATH "/l"};
    struct owner_scene *scene = *state;

    for (size_t i = 0; i < sizeof(paths) / sizeof(paths[0]); i++) {
        struct things things = {.client = &scene->c.process.client};
        assert_int_equal(open_mutex(&things, paths[i]), 0);
        refuses_owners(scene);
        assert_int_equal(uvzk_lock_close(&things.lock, NULL), 0);
        world_run_for(&scene->world, 1000);
    }
    accepts_a_lock(scene);
}

static void no_owner_above_a_value(void **state)
{
    struct owner_scene *scene = *state;
    struct things things = {.client = &scene->c.process.client};

    assert_int_equal(open_value(&things, PATH "/below/it"), 0);
    refuses_owners(scene);
    assert_int_equal(uvzk_shared_value_close(&things.value, NULL), 0);
    world_run_for(&scene->world, 1000);
    accepts_a_lock(scene);
}

static void no_owner_above_a_double_barrier(void **state)
{
    struct owner_scene *scene = *state;
    struct things things = {.client = &scene->c.process.client};

    assert_int_equal(open_gate(&things, PATH), 0);
    refuses_owners(scene);
    assert_int_equal(uvzk_double_barrier_close(&things.gate, NULL), 0);
    world_run_for(&scene->world, 1000);
    accepts_a_lock(scene);
}

/* A path that begins with the same letters is another one. */
static void owners_beside_are_accepted(void **state)
{
    struct owner_scene *scene = *state;
    struct things things = {.client = &scene->c.process.client};

    assert_int_equal(open_mutex(&things, BESIDE), 0);
    owner_scene_open_node(scene);
    assert_int_equal(uvzk_lock_close(&things.lock, NULL), 0);
    world_run_for(&scene->world, 1000);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        CASES(nothing_below_a_lock),
        CASES(nothing_below_a_node),
        CASES(nothing_below_a_member),
        CASES(anything_below_a_persistent_node),
        CASES(no_owner_above_a_lock),
        CASES(no_owner_above_a_value),
        CASES(no_owner_above_a_double_barrier),
        CASES(owners_beside_are_accepted),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
