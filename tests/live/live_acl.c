/* SPDX-License-Identifier: Apache-2.0 */
/* An ACL for each path, against a real server (Curator's TestLockACLs). */
#define THREADED /* the C client's blocking calls */
#include "world.h"

#include <stdio.h>
#include <string.h>

#define LENGTH(array) (sizeof(array) / sizeof((array)[0]))
#define ASKED_MAX 64

static struct world world;
static struct process a;
static struct hold first, second;

/* What the provider says of each path: who it is for shows in the permissions. */
static const uvzk_acl_t of_namespace[] = {
    {UVZK_PERM_ALL - UVZK_PERM_ADMIN, "world", "anyone"}};
static const uvzk_acl_t of_parents[] = {
    {UVZK_PERM_ALL - UVZK_PERM_WRITE, "world", "anyone"}};
static const uvzk_acl_t of_locks[] = {{UVZK_PERM_READ, "world", "anyone"},
                                      {UVZK_PERM_ALL, "auth", ""}};
static const uvzk_acl_t of_contenders[] = {{UVZK_PERM_READ, "world", "anyone"},
                                           {UVZK_PERM_DELETE, "world", "anyone"}};

static char asked[ASKED_MAX][256];
static size_t asked_count;
static const uvzk_acl_t *invalid; /* of "/acl/invalid" */
static size_t invalid_count;

static const uvzk_acl_t *provide(const uvzk_client_t *client, const char *path,
                                 size_t *count)
{
    assert_ptr_equal(client, &a.client);
    if (asked_count < ASKED_MAX) {
        (void)snprintf(asked[asked_count++], sizeof(asked[0]), "%s", path);
    }
    if (strcmp(path, "/acl/invalid") == 0) {
        *count = invalid_count;
        return invalid;
    }
    if (strstr(path, "/_c_") != NULL) {
        *count = LENGTH(of_contenders);
        return of_contenders;
    }
    if (strstr(path, "/lock") != NULL) {
        *count = LENGTH(of_locks);
        return of_locks;
    }
    *count = 1;
    return strcmp(path, "/acl") == 0       ? of_namespace
           : strcmp(path, "/acl/own") == 0 ? NULL
                                           : of_parents;
}

static bool was_asked(const char *path)
{
    for (size_t i = 0; i < asked_count; i++) {
        if (strcmp(asked[i], path) == 0) {
            return true;
        }
    }
    return false;
}

static const uvzk_acl_t own[] = {{UVZK_PERM_ALL - UVZK_PERM_CREATE, "world", "anyone"}};

static void begin(const char *path)
{
    asked_count = 0;
    world_begin(&world, path);
    world.options.ns = "acl";
    world.options.auth_scheme = "digest";
    world.options.auth = "me:pass";
    world.options.auth_length = 7;
    world.options.acl = own;
    world.options.acl_count = 1;
    world.options.acl_cb = provide;
    process_begin(&a, &world, "a", NULL);
    assert_int_equal(zoo_add_auth(world.raw, "digest", "me:pass", 7, NULL, NULL), ZOK);
}

/* One entry of its ACL. */
static void expect_entry(const char *path, int32_t index, int32_t count, uint32_t perms,
                         const char *scheme)
{
    struct ACL_vector acl = {0, NULL};
    struct Stat stat;

    assert_int_equal(zoo_get_acl(world.raw, path, &acl, &stat), ZOK);
    assert_int_equal(acl.count, count);
    assert_int_equal(acl.data[index].perms, perms);
    assert_string_equal(acl.data[index].id.scheme, scheme);
    deallocate_ACL_vector(&acl);
}

static void expect_contender(const char *path)
{
    expect_entry(path, 0, 2, UVZK_PERM_READ, "world");
    expect_entry(path, 1, 2, UVZK_PERM_DELETE, "world");
}

static void test_lock_acls(void **state)
{
    char asked_for[256];
    (void)state;

    begin("/parent/lock");
    hold_take(&first, &a);
    expect_entry("/acl", 0, 1, of_namespace[0].perms, "world");
    expect_entry("/acl/parent", 0, 1, of_parents[0].perms, "world");
    expect_entry("/acl/parent/lock", 0, 2, UVZK_PERM_READ, "world");
    expect_entry("/acl/parent/lock", 1, 2, UVZK_PERM_ALL, "digest");
    expect_contender(first.path);
    (void)snprintf(asked_for, sizeof(asked_for), "%s", first.path);
    asked_for[strlen(asked_for) - 10] = '\0'; /* without the number */
    assert_true(was_asked(asked_for));
    hold_give_back(&first);
    world_end(&world);
}

static void test_acls_creating_parents(void **state)
{
    (void)state;

    begin("/base/some/path");
    hold_take(&first, &a);
    assert_true(was_asked("/acl/base"));
    assert_true(was_asked("/acl/base/some"));
    assert_true(was_asked("/acl/base/some/path"));
    expect_entry("/acl/base", 0, 1, of_parents[0].perms, "world");
    expect_entry("/acl/base/some/path", 0, 1, of_parents[0].perms, "world");
    hold_give_back(&first);
    world_end(&world);
}

static void test_acls_of_leases_and_downgraded_readers(void **state)
{
    uvzk_semaphore_t semaphore = {0};
    uvzk_rwlock_t rwlock = {.read = {0}};
    int owner;
    (void)state;

    begin(NULL);
    assert_int_equal(uvzk_semaphore_init(&a.client, &semaphore, "/s", 2, NULL), 0);
    hold_take_on(&first, &a, &semaphore, 1);
    expect_contender(first.path);
    hold_give_back(&first);

    assert_int_equal(uvzk_rwlock_init(&a.client, &rwlock, "/rw"), 0);
    hold_take_for(&first, &a, &rwlock.write, &owner);
    hold_take_for(&second, &a, &rwlock.read, &owner);
    expect_contender(first.path);
    expect_contender(second.path);
    hold_give_back(&first);
    hold_give_back(&second);
    for (size_t i = 0; i < asked_count; i++) {
        size_t length = strlen(asked[i]);
        assert_false(length > 10 && strspn(asked[i] + length - 10, "0123456789") == 10);
    }
    world_end(&world);
}

static int value_told, value_status;

static void on_value(uvzk_shared_value_t *value, int status)
{
    (void)value;
    value_told++;
    value_status = status;
}

static void test_acl_of_a_shared_value(void **state)
{
    uvzk_shared_value_t value = {0};
    (void)state;

    begin(NULL);
    value_told = 0;
    assert_int_equal(
        uvzk_shared_value_init(&a.client, &value, "/own", "seed", 4, on_value), 0);
    assert_true(world_await(&world, &value_told, PATIENCE_MS));
    assert_int_equal(value_status, 0);
    expect_entry("/acl/own", 0, 1, own[0].perms, "world"); /* the client's */
    assert_int_equal(uvzk_shared_value_close(&value, NULL), 0);
    world_end(&world);
}

static int written, write_status;
static size_t write_failed;

static void on_written(uvzk_req_t *request, int status)
{
    size_t failed = request->result->failed_op;
    (void)request;
    written++;
    write_status = status;
    write_failed = failed;
}

static void test_acl_of_what_is_written(void **state)
{
    const uvzk_write_op_t good = {UVZK_WRITE_CREATE, -1, "/written", NULL, 0};
    const uvzk_write_op_t bad = {UVZK_WRITE_CREATE, -1, "/invalid", NULL, 0};
    uvzk_req_t request = {0};
    (void)state;

    begin("/parent/lock");
    written = 0;
    invalid = own;
    invalid_count = 0;
    hold_take(&first, &a);
    assert_int_equal(uvzk_hold_write(&first.request, &request, &good, 1, on_written), 0);
    assert_true(world_await(&world, &written, PATIENCE_MS));
    assert_int_equal(write_status, 0);
    expect_entry("/acl/written", 0, 1, of_parents[0].perms, "world");
    assert_int_equal(uvzk_hold_write(&first.request, &request, &bad, 1, on_written), 0);
    assert_true(world_await_count(&world, &written, 2, PATIENCE_MS));
    assert_int_equal(write_status, UVZK_EINVALIDACL);
    assert_int_equal(write_failed, 0);
    hold_give_back(&first);
    assert_int_equal(raw_delete(world.raw, "/acl/written"), ZOK);
    world_end(&world);
}

/* Nonsense that we see, and nonsense that only the server sees. */
static void test_an_invalid_acl_is_told(void **state)
{
    static const uvzk_acl_t nonsense[] = {{UVZK_PERM_ALL, NULL, "anyone"},
                                          {0, "world", "anyone"},
                                          {UVZK_PERM_ALL, "world", "nobody"},
                                          {UVZK_PERM_ALL, "no such scheme", ""}};
    (void)state;

    begin("/invalid");
    for (size_t i = 0; i < LENGTH(nonsense); i++) {
        invalid = &nonsense[i];
        invalid_count = 1;
        hold_try(&first, &a, NULL, UVZK_WAIT_FOREVER, UVZK_EINVALIDACL);
        assert_int_equal(raw_exists(world.raw, "/acl/invalid", NULL), ZNONODE);
    }
    invalid = of_parents;
    hold_take(&first, &a);
    hold_give_back(&first);
    world_end(&world);
}

/* Whoever was compiled before there was a provider has none, whatever lies there. */
static void test_older_options_have_no_provider(void **state)
{
    (void)state;

    asked_count = 0;
    world_begin(&world, "/older");
    world.options.acl_cb = provide;
    world.options.size = offsetof(uvzk_client_options_t, acl_cb);
    process_begin(&a, &world, "a", NULL);
    hold_take(&first, &a);
    assert_int_equal(asked_count, 0);
    expect_entry("/older", 0, 1, UVZK_PERM_ALL, "world");
    hold_give_back(&first);
    world_end(&world);
}

static void set_perms(const char *path, int32_t perms)
{
    struct ACL entry = {perms, ZOO_ANYONE_ID_UNSAFE};
    struct ACL_vector acl = {1, &entry};

    assert_int_equal(zoo_set_acl(world.raw, path, -1, &acl), ZOK);
}

/* Whose event is never told, and whose watch is used up all the same: a server does not
 * tell who may not READ the znode at that moment. A watch renewal makes up for it. */
static void test_predecessor_made_unreadable(void **state)
{
    (void)state;

    world_begin_one(&world, "/hidden", &a);
    world_make_path(&world, "/hidden");
    struct world_path before = world_foreign_node(&world, "/hidden", "lock-");
    hold_begin(&first, &a, UVZK_WAIT_FOREVER);
    uint64_t since = world_now(&world);
    while (process_metrics(&a).watches != 2) { /* the predecessor's, and the own watch */
        assert_true(world_turn(&world, since));
    }
    world_run_for(&world, 500); /* both are set */
    set_perms(before.text, ZOO_PERM_ADMIN | ZOO_PERM_DELETE);
    world_delete(&world, &before);
    hold_await(&first, PATIENCE_MS);
    hold_give_back(&first);
    world_end(&world);
}

static void test_value_made_unreadable_for_a_while(void **state)
{
    uvzk_shared_value_t value = {0};
    (void)state;

    value_told = 0;
    world_begin_one(&world, NULL, &a);
    assert_int_equal(
        uvzk_shared_value_init(&a.client, &value, "/veiled", "seed", 4, on_value), 0);
    assert_true(world_await(&world, &value_told, PATIENCE_MS));
    world_run_for(&world, 500); /* its watch is set */
    set_perms("/veiled", ZOO_PERM_ADMIN | ZOO_PERM_WRITE | ZOO_PERM_DELETE);
    assert_int_equal(raw_set(world.raw, "/veiled", "unseen"), ZOK);
    set_perms("/veiled", ZOO_PERM_ALL);
    assert_true(world_await_count(&world, &value_told, 2, PATIENCE_MS));
    assert_int_equal(raw_set(world.raw, "/veiled", "seen"), ZOK);
    assert_true(world_await_count(&world, &value_told, 3, PATIENCE_MS));
    assert_int_equal(value_status, 0);
    assert_int_equal(uvzk_shared_value_close(&value, NULL), 0);
    world_end(&world);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_lock_acls),
        cmocka_unit_test(test_acls_creating_parents),
        cmocka_unit_test(test_acls_of_leases_and_downgraded_readers),
        cmocka_unit_test(test_acl_of_a_shared_value),
        cmocka_unit_test(test_acl_of_what_is_written),
        cmocka_unit_test(test_an_invalid_acl_is_told),
        cmocka_unit_test(test_older_options_have_no_provider),
        cmocka_unit_test(test_predecessor_made_unreadable),
        cmocka_unit_test(test_value_made_unreadable_for_a_while),
    };

    return cmocka_run_group_tests_name("acl", tests, servers_start_one, servers_stop);
}
