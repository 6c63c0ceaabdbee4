/* SPDX-License-Identifier: Apache-2.0 */
/* Which znodes the provider of ACLs is asked for, and what becomes of those who need
 * one of which it says nonsense; over the simulator. */
#include "cmocka_test.h"

#include <stdio.h>
#include <string.h>

#include "engine/acl.h"
#include "world.h"

#define LENGTH(array) (sizeof(array) / sizeof((array)[0]))
#define ASKED_MAX 64
#define CALM_MS 60000U

static struct world world;
static struct process process;
static uvzk_client_t *const client = &process.client;
static struct hold one, other;

static const uvzk_acl_t open_acl[] = {{UVZK_PERM_ALL, "world", "anyone"}};

static struct {
    char paths[ASKED_MAX][256];
    size_t count;
    const char *bad_at; /* nonsense is said of paths that begin like this */
    const uvzk_acl_t *bad;
    size_t bad_count;
} provider;

static const uvzk_acl_t *provide(const uvzk_client_t *asker, const char *path,
                                 size_t *count)
{
    assert_ptr_equal(asker, client);
    assert_int_equal(*count, 0);
    if (provider.count < ASKED_MAX) {
        (void)snprintf(provider.paths[provider.count++], sizeof(provider.paths[0]), "%s",
                       path);
    }
    if (provider.bad_at != NULL &&
        strncmp(path, provider.bad_at, strlen(provider.bad_at)) == 0) {
        *count = provider.bad_count;
        return provider.bad;
    }
    if (strlen(path) % 2 == 0) {
        return NULL; /* the client's own */
    }
    *count = 1;
    return open_acl;
}

/* Returns true if it was asked for a path that is that text, an 'x' standing for any byte
 * of a UUID. */
static bool was_asked(const char *pattern)
{
    for (size_t i = 0; i < provider.count; i++) {
        const char *path = provider.paths[i];
        size_t at = 0;
        while (pattern[at] != '\0' && path[at] != '\0' &&
               (pattern[at] == path[at] || pattern[at] == 'x')) {
            at++;
        }
        if (pattern[at] == '\0' && path[at] == '\0') {
            return true;
        }
    }
    return false;
}

#define NODE "_c_xxxxxxxx-xxxx-xxxx-xxxx-xxxxxxxxxxxx-"

static void begin(void)
{
    uvzk_client_options_t options;

    memset(&provider, 0, sizeof(provider));
    world_begin_exact(&world, UVZK__TUNE_ALL, 1);
    process_options(&options);
    options.ns = "app";
    options.acl_cb = provide;
    process_begin(&process, &world, "a", &options);
    assert_true(process_await_connected(&process, 1000));
    assert_int_equal(provider.count, 0);
}

static void end(void)
{
    world_run_for(&world, CALM_MS);
    assert_int_equal(sim_ephemeral_count(world.sim, sim_session_id(process.port)), 0);
    world_end(&world);
}

static void take_for(struct hold *hold, uvzk_lock_t *lock, void *owner)
{
    hold_begin_on_for(hold, &process, lock, owner);
    hold_await(hold, CALM_MS);
}

static void take(uvzk_lock_t *lock, uint32_t leases)
{
    hold_take_on(&one, &process, lock, leases);
}

/* ------------------------------------------------------------------- what it is asked */

static void test_acls_creating_parents(void **state)
{
    uvzk_mutex_t mutex = {0};
    (void)state;

    begin();
    assert_int_equal(uvzk_mutex_init(client, &mutex, "/base/path"), 0);
    take(&mutex, 0);
    assert_true(was_asked("/app"));
    assert_true(was_asked("/app/base"));
    assert_true(was_asked("/app/base/path"));
    assert_true(was_asked("/app/base/path/" NODE "lock-"));
    hold_give_back(&one);
    end();
}

/* Without the number, also where it is known before, as a downgraded reader's. */
static void test_it_is_asked_for_every_contender(void **state)
{
    uvzk_rwlock_t rwlock = {0};
    uvzk_semaphore_t semaphore = {0};
    uvzk_mutex_t left = {0}, right = {0};
    uvzk_multilock_t both = {0};
    uvzk_lock_t *const members[] = {&left, &right};
    int owner;
    (void)state;

    begin();
    assert_int_equal(uvzk_rwlock_init(client, &rwlock, "/rw"), 0);
    take_for(&one, &rwlock.write, &owner);
    take_for(&other, &rwlock.read, &owner);
    assert_true(was_asked("/app/rw/" NODE "__WRIT__"));
    assert_true(was_asked("/app/rw/" NODE "__READ__"));
    hold_give_back(&one);
    hold_give_back(&other);

    assert_int_equal(uvzk_semaphore_init(client, &semaphore, "/s", 2, NULL), 0);
    take(&semaphore, 2);
    assert_true(was_asked("/app/s"));
    assert_true(was_asked("/app/s/locks"));
    assert_true(was_asked("/app/s/leases"));
    assert_true(was_asked("/app/s/locks/" NODE "lock-"));
    assert_true(was_asked("/app/s/leases/" NODE "lease-"));
    hold_give_back(&one);

    assert_int_equal(uvzk_mutex_init(client, &left, "/left"), 0);
    assert_int_equal(uvzk_mutex_init(client, &right, "/right"), 0);
    assert_int_equal(uvzk_multilock_init(client, &both, members, 2, 0, NULL), 0);
    take(&both, 0);
    assert_true(was_asked("/app/left/" NODE "lock-"));
    assert_true(was_asked("/app/right/" NODE "lock-"));
    hold_give_back(&one);
    for (size_t i = 0; i < provider.count; i++) {
        size_t length = strlen(provider.paths[i]);
        assert_false(length > 10 &&
                     strspn(provider.paths[i] + length - 10, "0123456789") == 10);
    }
    end();
}

static int value_status;

static void on_value(uvzk_shared_value_t *value, int status)
{
    (void)value;
    value_status = status;
}

static void test_it_is_asked_for_a_shared_value(void **state)
{
    uvzk_shared_value_t value = {0};
    (void)state;

    begin();
    value_status = HOLD_NO_STATUS;
    assert_int_equal(uvzk_shared_value_init(client, &value, "/v/x", "1", 1, on_value), 0);
    world_run_for(&world, 1000);
    assert_int_equal(value_status, 0);
    assert_true(was_asked("/app/v"));
    assert_true(was_asked("/app/v/x"));
    assert_int_equal(uvzk_shared_value_close(&value, NULL), 0);
    end();
}

static struct {
    uvzk_req_t request;
    int status;
    size_t failed;
} writing;

static void on_written(uvzk_req_t *request, int status)
{
    size_t failed = request->result->failed_op;
    (void)request;
    writing.status = status;
    writing.failed = failed;
}

static void write_guarded(const char *path)
{
    const uvzk_write_op_t ops[] = {{UVZK_WRITE_CHECK, -1, "/m", NULL, 0},
                                   {UVZK_WRITE_CREATE, -1, path, NULL, 0}};

    memset(&writing, 0, sizeof(writing));
    writing.status = HOLD_NO_STATUS;
    assert_int_equal(uvzk_hold_write(&one.request, &writing.request, ops, 2, on_written),
                     0);
    world_run_for(&world, 1000);
}

static void test_it_is_asked_for_what_is_written(void **state)
{
    uvzk_mutex_t mutex = {0};
    (void)state;

    begin();
    assert_int_equal(uvzk_mutex_init(client, &mutex, "/m"), 0);
    take(&mutex, 0);
    write_guarded("/w");
    assert_int_equal(writing.status, 0);
    assert_true(was_asked("/app/w"));
    provider.bad_at = "/app/bad";
    provider.bad = open_acl;
    write_guarded("/bad");
    assert_int_equal(writing.status, UVZK_EINVALIDACL);
    assert_int_equal(writing.failed, 1);
    assert_false(sim_exists(world.sim, "/app/bad"));
    assert_int_equal(one.lost, 0);
    hold_give_back(&one);
    end();
}

/* ------------------------------------------------------------------------- nonsense */

static char long_id[50000];

static const struct {
    uvzk_acl_t entries[2];
    size_t count;
} nonsense[] = {
    {{{UVZK_PERM_ALL, "world", "anyone"}}, 0},
    {{{UVZK_PERM_ALL, NULL, "anyone"}}, 1},
    {{{UVZK_PERM_ALL, "world", NULL}}, 1},
    {{{0, "world", "anyone"}}, 1},
    {{{UVZK_PERM_ALL + 1, "world", "anyone"}}, 1},
    {{{UVZK_PERM_ALL, "world", "anyone"}, {UINT32_MAX, "world", "anyone"}}, 2},
    {{{UVZK_PERM_ALL, "digest", long_id}}, 1},
};

/* Whoever needs such a znode is refused, and is served when the provider has come to its
 * senses. */
static void refuse(uvzk_lock_t *lock, const char *at)
{
    provider.bad_at = at;
    hold_begin_on(&one, &process, lock, 0, UVZK_WAIT_FOREVER);
    hold_await_status(&one, CALM_MS, UVZK_EINVALIDACL);
    world_run_for(&world, CALM_MS);
    assert_false(sim_exists(world.sim, at));
    provider.bad_at = NULL;
    take(lock, 0);
    hold_give_back(&one);
}

static void test_nonsense_is_an_invalid_acl(void **state)
{
    uvzk_mutex_t mutex, left, right;
    uvzk_rwlock_t rwlock;
    uvzk_semaphore_t semaphore;
    uvzk_multilock_t both;
    uvzk_lock_t *const members[] = {&left, &right};
    (void)state;

    memset(long_id, 'x', sizeof(long_id) - 1);
    for (size_t i = 0; i < LENGTH(nonsense); i++) {
        begin();
        mutex = left = right = semaphore = both = (uvzk_lock_t){0};
        rwlock = (uvzk_rwlock_t){.read = {0}};
        provider.bad = nonsense[i].entries;
        provider.bad_count = nonsense[i].count;
        assert_int_equal(uvzk_mutex_init(client, &mutex, "/a/m"), 0);
        assert_int_equal(uvzk_mutex_init(client, &left, "/l"), 0);
        assert_int_equal(uvzk_mutex_init(client, &right, "/r"), 0);
        assert_int_equal(uvzk_rwlock_init(client, &rwlock, "/rw"), 0);
        assert_int_equal(uvzk_semaphore_init(client, &semaphore, "/s", 2, NULL), 0);
        assert_int_equal(uvzk_multilock_init(client, &both, members, 2, 0, NULL), 0);
        refuse(&mutex, "/app");
        refuse(&mutex, "/app/a/m/_c_");
        refuse(&rwlock.read, "/app/rw/_c_");
        refuse(&rwlock.write, "/app/rw/_c_");
        refuse(&semaphore, "/app/s/leases");
        refuse(&semaphore, "/app/s/leases/_c_");
        refuse(&semaphore, "/app/s/locks/_c_");
        refuse(&both, "/app/r");
        refuse(&both, "/app/r/_c_");
        end();
    }
}

static void test_nonsense_of_a_shared_value(void **state)
{
    uvzk_shared_value_t value = {0};
    (void)state;

    begin();
    value_status = HOLD_NO_STATUS;
    provider.bad_at = "/app/v/x";
    provider.bad = open_acl;
    assert_int_equal(uvzk_shared_value_init(client, &value, "/v/x", "1", 1, on_value), 0);
    world_run_for(&world, 5000);
    assert_int_equal(value_status, UVZK_EINVALIDACL);
    assert_int_equal(uvzk_shared_value_close(&value, NULL), 0);
    end();
}

/* A downgrade whose reader's ACL is nonsense leaves the writer as it is. */
static void test_nonsense_of_a_downgrade(void **state)
{
    uvzk_rwlock_t rwlock = {.read = {0}};
    int owner;
    (void)state;

    begin();
    assert_int_equal(uvzk_rwlock_init(client, &rwlock, "/rw"), 0);
    take_for(&one, &rwlock.write, &owner);
    provider.bad_at = "/app/rw/_c_";
    provider.bad = open_acl;
    hold_begin_on_for(&other, &process, &rwlock.read, &owner);
    hold_await_status(&other, CALM_MS, UVZK_EINVALIDACL);
    assert_int_equal(one.lost, 0);
    assert_true(uvzk_hold_is_valid(&one.request));
    hold_give_back(&one);
    end();
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_acls_creating_parents),
        cmocka_unit_test(test_it_is_asked_for_every_contender),
        cmocka_unit_test(test_it_is_asked_for_a_shared_value),
        cmocka_unit_test(test_it_is_asked_for_what_is_written),
        cmocka_unit_test(test_nonsense_is_an_invalid_acl),
        cmocka_unit_test(test_nonsense_of_a_shared_value),
        cmocka_unit_test(test_nonsense_of_a_downgrade),
    };

    return cmocka_run_group_tests_name("acl", tests, NULL, NULL);
}
