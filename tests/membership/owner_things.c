/* SPDX-License-Identifier: Apache-2.0 */
#include "owner_things.h"

static int open_mutex(struct things *things, const char *path)
{
    return uvzk_mutex_init(things->client, &things->lock, path);
}

static int open_cohort(struct things *things, const char *path)
{
    return uvzk_mutex_init_with_cohort(things->client, &things->lock, path, 3, 1000);
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

static void called(uvzk_req_t *call, int status)
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

static void changed(uvzk_req_t *call, int status)
{
    const uvzk_atomic_value_t *value = call->result->value;
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

static void close_lock(struct things *things)
{
    assert_int_equal(uvzk_lock_close(&things->lock, NULL), 0);
}

static void close_rwlock(struct things *things)
{
    assert_int_equal(uvzk_lock_close(&things->rwlock.read, NULL), 0);
    assert_int_equal(uvzk_lock_close(&things->rwlock.write, NULL), 0);
}

static void close_election(struct things *things)
{
    assert_int_equal(uvzk_election_close(&things->election, 0, NULL), 0);
}

static void close_member(struct things *things)
{
    assert_int_equal(uvzk_group_member_close(&things->member, NULL), 0);
}

static void close_gate(struct things *things)
{
    assert_int_equal(uvzk_double_barrier_close(&things->gate, NULL), 0);
}

static void close_value(struct things *things)
{
    assert_int_equal(uvzk_shared_value_close(&things->value, NULL), 0);
}

static void close_count(struct things *things)
{
    assert_int_equal(uvzk_shared_count_close(&things->count, NULL), 0);
}

static void close_node(struct things *things)
{
    assert_int_equal(uvzk_persistent_node_close(&things->node, NULL), 0);
}

static void close_barrier(struct things *things)
{
    assert_int_equal(uvzk_barrier_close(&things->barrier, NULL), 0);
}

static void close_number(struct things *things)
{
    assert_int_equal(uvzk_atomic_long_close(&things->number, NULL), 0);
}

const struct thing things_mutex = {open_mutex, close_lock};
const struct thing things_double_barrier = {open_gate, close_gate};
const struct thing things_value = {open_value, close_value};
const struct thing things_count = {open_count, close_count};
const struct thing things_barrier = {set_barrier, close_barrier};
const struct thing things_number = {change_number, close_number};

const struct thing things_with_children[] = {
    {open_mutex, close_lock},       {open_cohort, close_lock},
    {open_rwlock, close_rwlock},    {open_semaphore, close_lock},
    {open_driver_lock, close_lock}, {open_election, close_election},
    {open_member, close_member},    {open_gate, close_gate}};
const size_t things_with_children_count =
    sizeof(things_with_children) / sizeof(things_with_children[0]);

const struct thing things_with_a_znode[] = {{open_value, close_value},
                                            {open_count, close_count},
                                            {open_node, close_node},
                                            {set_barrier, close_barrier},
                                            {change_number, close_number}};
const size_t things_with_a_znode_count =
    sizeof(things_with_a_znode) / sizeof(things_with_a_znode[0]);

uint64_t things_requests(const struct owner_scene *scene)
{
    uint64_t requests = 0;

    for (uint32_t i = 0; i < scene->c.process.sessions; i++) {
        requests += sim_submitted(scene->c.process.ports[i]);
    }
    return requests;
}
