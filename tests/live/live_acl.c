/* An ACL for each path, against a real server (Curator's TestLockACLs). */
#define THREADED /* the C client's blocking calls */
#include "live.h"

#include <stdio.h>
#include <string.h>

#define LENGTH(array) (sizeof(array) / sizeof((array)[0]))
#define ASKED_MAX 64

static struct live live;
static struct attempt first, second;

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

static const uvzk_acl_t *provide(uvzk_client_t *client, const char *path, size_t *count)
{
    assert_ptr_equal(client, &live.client);
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

static void begin(void)
{
    asked_count = 0;
    memset(&first, 0, sizeof(first));
    memset(&second, 0, sizeof(second));
    live_begin(&live);
    live.options.ns = "acl";
    live.options.auth_scheme = "digest";
    live.options.auth = "me:pass";
    live.options.auth_length = 7;
    live.options.acl = own;
    live.options.acl_count = 1;
    live.options.acl_cb = provide;
    live_start(&live);
    assert_int_equal(zoo_add_auth(live.raw, "digest", "me:pass", 7, NULL, NULL), ZOK);
}

/* One entry of its ACL. */
static void expect_entry(const char *path, int32_t index, int32_t count, uint32_t perms,
                         const char *scheme)
{
    struct ACL_vector acl = {0, NULL};
    struct Stat stat;

    assert_int_equal(zoo_get_acl(live.raw, path, &acl, &stat), ZOK);
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
    uvzk_mutex_t mutex = {0};
    char asked_for[256];
    (void)state;

    begin();
    assert_int_equal(uvzk_mutex_init(&live.client, &mutex, "/parent/lock"), 0);
    assert_int_equal(attempt_start(&first, &mutex, NULL), 0);
    assert_true(attempt_wait_granted(live.loop, &first));
    expect_entry("/acl", 0, 1, of_namespace[0].perms, "world");
    expect_entry("/acl/parent", 0, 1, of_parents[0].perms, "world");
    expect_entry("/acl/parent/lock", 0, 2, UVZK_PERM_READ, "world");
    expect_entry("/acl/parent/lock", 1, 2, UVZK_PERM_ALL, "digest");
    expect_contender(uvzk_hold_path(&first.request));
    (void)snprintf(asked_for, sizeof(asked_for), "%s", uvzk_hold_path(&first.request));
    asked_for[strlen(asked_for) - 10] = '\0'; /* without the number */
    assert_true(was_asked(asked_for));
    assert_true(attempt_release_and_wait(live.loop, &first));
    live_end(&live);
}

static void test_acls_creating_parents(void **state)
{
    uvzk_mutex_t mutex = {0};
    (void)state;

    begin();
    assert_int_equal(uvzk_mutex_init(&live.client, &mutex, "/base/some/path"), 0);
    assert_int_equal(attempt_start(&first, &mutex, NULL), 0);
    assert_true(attempt_wait_granted(live.loop, &first));
    assert_true(was_asked("/acl/base"));
    assert_true(was_asked("/acl/base/some"));
    assert_true(was_asked("/acl/base/some/path"));
    expect_entry("/acl/base", 0, 1, of_parents[0].perms, "world");
    expect_entry("/acl/base/some/path", 0, 1, of_parents[0].perms, "world");
    assert_true(attempt_release_and_wait(live.loop, &first));
    live_end(&live);
}

static void test_acls_of_leases_and_downgraded_readers(void **state)
{
    uvzk_semaphore_t semaphore = {0};
    uvzk_rwlock_t rwlock = {.read = {0}};
    int owner;
    (void)state;

    begin();
    assert_int_equal(uvzk_semaphore_init(&live.client, &semaphore, "/s", 2, NULL), 0);
    assert_int_equal(attempt_start(&first, &semaphore, NULL), 0);
    assert_true(attempt_wait_granted(live.loop, &first));
    expect_contender(uvzk_hold_path(&first.request));
    assert_true(attempt_release_and_wait(live.loop, &first));

    assert_int_equal(uvzk_rwlock_init(&live.client, &rwlock, "/rw"), 0);
    assert_int_equal(attempt_start_for(&first, &rwlock.write, &owner), 0);
    assert_true(attempt_wait_granted(live.loop, &first));
    assert_int_equal(attempt_start_for(&second, &rwlock.read, &owner), 0);
    assert_true(attempt_wait_granted(live.loop, &second));
    expect_contender(uvzk_hold_path(&first.request));
    expect_contender(uvzk_hold_path(&second.request));
    assert_true(attempt_release_and_wait(live.loop, &first));
    assert_true(attempt_release_and_wait(live.loop, &second));
    for (size_t i = 0; i < asked_count; i++) {
        size_t length = strlen(asked[i]);
        assert_false(length > 10 && strspn(asked[i] + length - 10, "0123456789") == 10);
    }
    live_end(&live);
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

    begin();
    value_told = 0;
    assert_int_equal(
        uvzk_shared_value_init(&live.client, &value, "/own", "seed", 4, on_value), 0);
    assert_true(run_until_count(live.loop, &value_told, 1));
    assert_int_equal(value_status, 0);
    expect_entry("/acl/own", 0, 1, own[0].perms, "world"); /* the client's */
    assert_int_equal(uvzk_shared_value_close(&value, NULL), 0);
    live_end(&live);
}

static int written, write_status;
static size_t write_failed;

static void on_written(uvzk_write_t *request, int status, size_t failed)
{
    (void)request;
    written++;
    write_status = status;
    write_failed = failed;
}

static void test_acl_of_what_is_written(void **state)
{
    const uvzk_write_op_t good = {UVZK_WRITE_CREATE, -1, "/written", NULL, 0};
    const uvzk_write_op_t bad = {UVZK_WRITE_CREATE, -1, "/invalid", NULL, 0};
    uvzk_write_t request = {0};
    uvzk_mutex_t mutex = {0};
    (void)state;

    begin();
    written = 0;
    invalid = own;
    invalid_count = 0;
    assert_int_equal(uvzk_mutex_init(&live.client, &mutex, "/parent/lock"), 0);
    assert_int_equal(attempt_start(&first, &mutex, NULL), 0);
    assert_true(attempt_wait_granted(live.loop, &first));
    assert_int_equal(uvzk_hold_write(&first.request, &request, &good, 1, on_written), 0);
    assert_true(run_until_count(live.loop, &written, 1));
    assert_int_equal(write_status, 0);
    expect_entry("/acl/written", 0, 1, of_parents[0].perms, "world");
    assert_int_equal(uvzk_hold_write(&first.request, &request, &bad, 1, on_written), 0);
    assert_true(run_until_count(live.loop, &written, 2));
    assert_int_equal(write_status, UVZK_EINVALIDACL);
    assert_int_equal(write_failed, 0);
    assert_true(attempt_release_and_wait(live.loop, &first));
    assert_int_equal(raw_delete(live.raw, "/acl/written"), ZOK);
    live_end(&live);
}

/* Nonsense that we see, and nonsense that only the server sees. */
static void test_an_invalid_acl_is_told(void **state)
{
    static const uvzk_acl_t nonsense[] = {{UVZK_PERM_ALL, NULL, "anyone"},
                                          {0, "world", "anyone"},
                                          {UVZK_PERM_ALL, "world", "nobody"},
                                          {UVZK_PERM_ALL, "no such scheme", ""}};
    uvzk_mutex_t mutex = {0};
    (void)state;

    begin();
    assert_int_equal(uvzk_mutex_init(&live.client, &mutex, "/invalid"), 0);
    for (size_t i = 0; i < LENGTH(nonsense); i++) {
        invalid = &nonsense[i];
        invalid_count = 1;
        memset(&first, 0, sizeof(first));
        assert_int_equal(attempt_start(&first, &mutex, NULL), 0);
        assert_true(attempt_wait_told(live.loop, &first));
        assert_int_equal(first.status, UVZK_EINVALIDACL);
        assert_int_equal(raw_exists(live.raw, "/acl/invalid", NULL), ZNONODE);
    }
    invalid = of_parents;
    memset(&first, 0, sizeof(first));
    assert_int_equal(attempt_start(&first, &mutex, NULL), 0);
    assert_true(attempt_wait_granted(live.loop, &first));
    assert_true(attempt_release_and_wait(live.loop, &first));
    live_end(&live);
}

/* Whoever was compiled before there was a provider has none, whatever lies there. */
static void test_older_options_have_no_provider(void **state)
{
    uvzk_mutex_t mutex = {0};
    (void)state;

    asked_count = 0;
    memset(&first, 0, sizeof(first));
    live_begin(&live);
    live.options.acl_cb = provide;
    live.options.size = offsetof(uvzk_client_options_t, acl_cb);
    live_start(&live);
    assert_int_equal(uvzk_mutex_init(&live.client, &mutex, "/older"), 0);
    assert_int_equal(attempt_start(&first, &mutex, NULL), 0);
    assert_true(attempt_wait_granted(live.loop, &first));
    assert_int_equal(asked_count, 0);
    expect_entry("/older", 0, 1, UVZK_PERM_ALL, "world");
    assert_true(attempt_release_and_wait(live.loop, &first));
    live_end(&live);
}

static void set_perms(const char *path, int32_t perms)
{
    struct ACL entry = {perms, ZOO_ANYONE_ID_UNSAFE};
    struct ACL_vector acl = {1, &entry};

    assert_int_equal(zoo_set_acl(live.raw, path, -1, &acl), ZOK);
}

static bool watches(void *count)
{
    uvzk_client_stats_t stats;

    uvzk_client_stats(&live.client, &stats);
    return stats.watches == *(uint64_t *)count;
}

/* Whose event is never told, and whose watch is used up all the same: a server does not
 * tell who may not READ the znode at that moment. A second look makes up for it. */
static void test_predecessor_made_unreadable(void **state)
{
    uint64_t both = 2; /* the predecessor's watch, and the guard */
    uvzk_mutex_t mutex = {0};
    char before[256];
    (void)state;

    memset(&first, 0, sizeof(first));
    live_begin(&live);
    live_start(&live);
    assert_int_equal(raw_create(live.raw, "/hidden"), ZOK);
    assert_int_equal(raw_contend(live.raw, "/hidden", before, sizeof(before)), ZOK);
    assert_int_equal(uvzk_mutex_init(&live.client, &mutex, "/hidden"), 0);
    assert_int_equal(attempt_start(&first, &mutex, NULL), 0);
    assert_true(run_until(live.loop, watches, &both, PATIENCE_MS));
    run_for(live.loop, 500); /* both are set */
    set_perms(before, ZOO_PERM_ADMIN | ZOO_PERM_DELETE);
    assert_int_equal(raw_delete(live.raw, before), ZOK);
    assert_true(attempt_wait_granted(live.loop, &first));
    assert_true(attempt_release_and_wait(live.loop, &first));
    live_end(&live);
}

static void test_value_made_unreadable_for_a_while(void **state)
{
    uvzk_shared_value_t value = {0};
    (void)state;

    value_told = 0;
    live_begin(&live);
    live_start(&live);
    assert_int_equal(
        uvzk_shared_value_init(&live.client, &value, "/veiled", "seed", 4, on_value), 0);
    assert_true(run_until_count(live.loop, &value_told, 1));
    run_for(live.loop, 500); /* its watch is set */
    set_perms("/veiled", ZOO_PERM_ADMIN | ZOO_PERM_WRITE | ZOO_PERM_DELETE);
    assert_int_equal(raw_set(live.raw, "/veiled", "unseen"), ZOK);
    set_perms("/veiled", ZOO_PERM_ALL);
    assert_true(run_until_count(live.loop, &value_told, 2));
    assert_int_equal(raw_set(live.raw, "/veiled", "seen"), ZOK);
    assert_true(run_until_count(live.loop, &value_told, 3));
    assert_int_equal(value_status, 0);
    assert_int_equal(uvzk_shared_value_close(&value, NULL), 0);
    live_end(&live);
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

    return cmocka_run_group_tests_name("acl", tests, live_server_start, live_server_stop);
}
