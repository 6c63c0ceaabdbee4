/* SPDX-License-Identifier: Apache-2.0 */
/* Bad input and odd places on a real server: each has a clear error or the right
 * service, and nothing is left behind. */
#define THREADED /* the C client's blocking calls */
#include "participants_call.h"

#include <dirent.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#define LOCK "/bad/lock"
#define UUID "64fc66ae-773f-4d77-9695-eba698b095f7"
#define DIGITS32 "64fc66ae773f4d779695eba698b095f7"
#define CROWD 10000
#define CROWD_BATCH 500
/* Above this suffix a place in the queue is refused: 2^31 - 1 - 2^20. */
#define LAST_SUFFIX 2146435071
#define LENGTH(array) (sizeof(array) / sizeof((array)[0]))

static struct world world;
static struct process a;
static struct hold first, second, third;
static int warnings;
static char warning[1024];

static void note_warning(uvzk_client_t *client, int level, const char *module,
                         const char *line)
{
    (void)module;
    (void)client;
    if (level == UVZK_LOG_WARN && strstr(line, "not contenders") != NULL) {
        warnings++;
        snprintf(warning, sizeof(warning), "%s", line);
    }
}

static void begin(const char *path)
{
    world_begin(&world, path);
    world.options.log_cb = note_warning;
    warnings = 0;
}

static void begin_on(const char *path)
{
    begin(path);
    process_begin(&a, &world, "a", NULL);
}

static void refuse_with(int status)
{
    hold_try(&first, &a, NULL, UVZK_WAIT_FOREVER, status);
    assert_null(first.request.impl);
}

static void serve(void)
{
    hold_take(&first, &a);
    hold_give_back(&first);
}

static int put(const char *path, int mode)
{
    return zoo_create(world.raw, path, "", 0, &ZOO_OPEN_ACL_UNSAFE, mode, NULL, 0);
}

/* -------------------------------------------------------------- client init */

static int init_and_close(const uvzk_client_options_t *options)
{
    uv_loop_t loop;
    uvzk_client_t client;
    memset(&client, 0, sizeof(client));
    assert_int_equal(uv_loop_init(&loop), 0);
    int status = uvzk_client_init(&loop, &client, options);
    if (status == 0) {
        assert_int_equal(uvzk_client_close(&client, NULL), 0);
        assert_int_equal(uv_run(&loop, UV_RUN_DEFAULT), 0);
    }
    assert_null(client.impl);
    assert_int_equal(uv_loop_close(&loop), 0);
    return status;
}

static int init_with_hosts(const char *hosts)
{
    uvzk_client_options_t options;
    uvzk_client_options_init(&options);
    options.hosts = hosts;
    return init_and_close(&options);
}

static void test_refuses_hosts(void **state)
{
    static const struct {
        const char *hosts;
        int status;
    } rows[] = {{"a:1", 0},
                {"a:65535", 0},
                {"[::1]:2181", 0},
                {"a:1,b:2,c:3", 0},
                {"a:1/", 0},
                {"a:1/chroot/deep", 0},
                {"a:1, b:2", 0},
                {"a", 0},
                {"a:", UV_EINVAL},
                {":1", UV_EINVAL},
                {"a:0", UV_EINVAL},
                {"a:65536", UV_EINVAL},
                {"a:999999", UV_EINVAL},
                {"a:-1", UV_EINVAL},
                {"a:+1", UV_EINVAL},
                {"a:1x", UV_EINVAL},
                {"a:0x1", UV_EINVAL},
                {"a:1:2", UV_EINVAL},
                {"::1:2181", UV_EINVAL},
                {"[::1]", 0},
                {"[]:1", UV_EINVAL},
                {"[::1:1", UV_EINVAL},
                {",", UV_EINVAL},
                {",a:1", UV_EINVAL},
                {"a:1,", UV_EINVAL},
                {"a:1,,b:2", UV_EINVAL},
                {"a:1;b:2", UV_EINVAL},
                {"a b:1", UV_EINVAL},
                {"a\n:1", UV_EINVAL},
                {" ", UV_EINVAL},
                {"/", UV_EINVAL},
                {"/chroot", UV_EINVAL},
                {"a:1,/chroot", UV_EINVAL},
                {"http://a:1", UV_EINVAL},
                {"a:1//", UVZK_EPATH},
                {"a:1/b/", UVZK_EPATH},
                {"a:1/../b", UVZK_EPATH},
                {"a:1/b/.", UVZK_EPATH},
                {"a:1/\x01", UVZK_EPATH},
                {"a:1/\xff", UVZK_EPATH},
                {"a:1/b,c:2/d", UVZK_EPATH} /* the chroot comes once, at the end */};
    (void)state;
    for (size_t i = 0; i < LENGTH(rows); i++) {
        int status = init_with_hosts(rows[i].hosts);
        if (status != rows[i].status) {
            fail_msg("\"%s\": %s", rows[i].hosts, uvzk_err_name(status));
        }
    }
}

static void test_refuses_long_hosts(void **state)
{
    char hosts[2048];
    (void)state;
    memset(hosts, 'h', sizeof(hosts));
    memcpy(hosts + 255, ":1", 3);
    assert_int_equal(init_with_hosts(hosts), 0);
    memset(hosts, 'h', sizeof(hosts));
    memcpy(hosts + 256, ":1", 3);
    assert_int_equal(init_with_hosts(hosts), UV_EINVAL);
    memset(hosts, 'c', sizeof(hosts));
    memcpy(hosts, "a:1/", 4);
    hosts[3 + 1024] = '\0';
    assert_int_equal(init_with_hosts(hosts), 0);
    hosts[3 + 1024] = 'c';
    hosts[3 + 1025] = '\0';
    assert_int_equal(init_with_hosts(hosts), UVZK_EPATH);
}

static void test_refuses_options(void **state)
{
    uvzk_client_options_t options, good;
    uvzk_client_t client = {.data = NULL};
    uv_loop_t loop;
    (void)state;
    uvzk_client_options_init(&good);
    good.hosts = "a:1";
    assert_int_equal(uv_loop_init(&loop), 0);
    assert_int_equal(uvzk_client_init(NULL, &client, &good), UV_EINVAL);
    assert_int_equal(uvzk_client_init(&loop, NULL, &good), UV_EINVAL);
    assert_int_equal(uvzk_client_init(&loop, &client, NULL), UV_EINVAL);
    assert_int_equal(uv_loop_close(&loop), 0);
#define REFUSED(status, field, value)                         \
    do {                                                      \
        options = good;                                       \
        options.field = (value);                              \
        assert_int_equal(init_and_close(&options), (status)); \
    } while (0)
    REFUSED(UV_EINVAL, size, 0);
    REFUSED(UV_EINVAL, size, offsetof(uvzk_client_options_t, session_timeout_ms) - 1);
    REFUSED(UV_EINVAL, tick_ms, UINT32_MAX);
    REFUSED(UV_EINVAL, retry.kind, 99);
    REFUSED(UV_EINVAL, transport, UVZK_TRANSPORT_NATIVE + 1);
    REFUSED(0, transport, UVZK_TRANSPORT_NATIVE);
    REFUSED(UV_EINVAL, acl_count, 1);
    REFUSED(UV_EINVAL, default_data_length, 1);
    REFUSED(UV_EINVAL, auth_length, 1);
    REFUSED(UV_EINVAL, auth_length, SIZE_MAX);
    REFUSED(UVZK_EPATH, ns, "/slash");
    good.auth_scheme = "digest";
    REFUSED(UV_EINVAL, auth_length, 1);
    REFUSED(UV_EINVAL, auth_length, INT32_MAX);
    REFUSED(0, auth, "x");
}

/* uvzk.h: UV_EBUSY: the client is in use. */
static void test_a_client_in_use_is_not_made_anew(void **state)
{
    (void)state;
    begin_on(LOCK);
    void *impl = a.client.impl;
    int status = uvzk_client_init(world.loop, &a.client, &world.options);
    if (status == 0) { /* let both go all the same */
        assert_int_equal(uvzk_client_close(&a.client, NULL), 0);
        world_run_for(&world, 200);
        a.client.impl = impl;
    }
    serve();
    world_end(&world);
    assert_int_equal(status, UV_EBUSY);
}

/* ---------------------------------------------------------- foreign children */

static const char *const foreign_names[] = {
    "0", "-1", "lock-", "x-lock-0000000000", "_c_x-lock-0000000000", "lock-0000000000",
    "_c_" UUID "-lock-00000000000", "_c_" UUID "-lease-0000000000",
    "_c_" UUID "-lock-2147483648", DIGITS32 "__lock__0000000000", "a b", "%s%n",
    "x-0123456789abcdef-0000000000", "\xc3\xa4-lock-0000000000",
    "\xe6\xbc\xa2\xe5\xad\x97",
    /* contenders that are worn out */
    "_c_" UUID "-lock--000000001", "_c_" UUID "-lock--2147483648",
    "_c_" UUID "-lock-2147483647", "_c_" UUID "-lock-2146435072"};

static size_t count_participants(void)
{
    static struct participants_call participants;
    participants_call_run(&participants, &world, &a.mutex);
    return participants.count;
}

/* Ours, a foreign client's, ours: served in this order beside the foreign children. */
static void serve_three(uint64_t foreign)
{
    hold_take(&first, &a);
    assert_int_equal(process_metrics(&a).foreign, foreign);
    struct world_path foreign_node = world_foreign_node(&world, LOCK, "lock-");
    hold_queue(&second, &a, NULL);
    assert_int_equal(second.ahead, 2);
    assert_int_equal(process_metrics(&a).foreign, foreign);
    assert_int_equal(warnings, 1);
    assert_non_null(strstr(warning, LOCK));
    hold_give_back(&first);
    world_run_for(&world, 300);
    assert_int_equal(second.answered, 0); /* the foreign client's turn */
    world_delete(&world, &foreign_node);
    hold_await(&second, PATIENCE_MS);
    assert_true(second.token > first.token);
    hold_give_back(&second);
}

static void test_serves_among_foreign_children(void **state)
{
    char path[256];
    (void)state;
    begin_on(LOCK);
    world_make_path(&world, LOCK); /* a container would go away under the test */
    for (size_t i = 0; i < LENGTH(foreign_names); i++) {
        snprintf(path, sizeof(path), LOCK "/%s", foreign_names[i]);
        assert_int_equal(put(path, i % 2 ? ZOO_EPHEMERAL : ZOO_PERSISTENT), ZOK);
    }
    serve_three(LENGTH(foreign_names));
    assert_int_equal(world_children(&world, LOCK), LENGTH(foreign_names));
    hold_take(&first, &a);
    size_t count = count_participants();
    hold_give_back(&first);
    for (size_t i = 0; i < LENGTH(foreign_names); i++) {
        snprintf(path, sizeof(path), LOCK "/%s", foreign_names[i]);
        assert_int_equal(raw_delete(world.raw, path), ZOK);
    }
    world_end(&world);
    assert_int_equal(count, 1);
}

/* Makes or deletes a batch of the crowd in one request. */
static void crowd_batch(int from, bool make)
{
    static char paths[CROWD_BATCH][64];
    static char made[CROWD_BATCH][64];
    static zoo_op_t ops[CROWD_BATCH];
    static zoo_op_result_t results[CROWD_BATCH];
    for (int i = 0; i < CROWD_BATCH; i++) {
        int number = from + i;
        snprintf(paths[i], sizeof(paths[i]), LOCK "/x%d-lock-%010d", number, number);
        if (make) {
            zoo_create_op_init(&ops[i], paths[i], "", 0, &ZOO_OPEN_ACL_UNSAFE,
                               number % 2 ? ZOO_EPHEMERAL : ZOO_PERSISTENT, made[i],
                               sizeof(made[i]));
        } else {
            zoo_delete_op_init(&ops[i], paths[i], -1);
        }
    }
    assert_int_equal(zoo_multi(world.raw, CROWD_BATCH, ops, results), ZOK);
}

static void test_serves_among_ten_thousand_foreign_children(void **state)
{
    (void)state;
    begin_on(LOCK);
    world_make_path(&world, LOCK); /* a container would go away under the test */
    for (int from = 0; from < CROWD; from += CROWD_BATCH) {
        crowd_batch(from, true);
    }
    serve_three(CROWD);
    assert_int_equal(count_participants(), 0);
    assert_int_equal(world_children(&world, LOCK), CROWD);
    for (int from = 0; from < CROWD; from += CROWD_BATCH) {
        crowd_batch(from, false);
    }
    world_end(&world);
}

/* ------------------------------------------------------------------ odd places */

static void test_a_missing_chroot(void **state)
{
    char hosts[64];
    (void)state;
    begin(LOCK);
    snprintf(hosts, sizeof(hosts), "%s/missing/root", server_hosts(live_server));
    world.options.hosts = hosts;
    process_begin(&a, &world, "a", NULL);
    refuse_with(UVZK_ENONODE);
    hold_try(&second, &a, NULL, UVZK_TRY_ONCE, UVZK_ENONODE);
    assert_int_equal(count_participants(), 0);
    assert_int_equal(raw_exists(world.raw, "/missing", NULL), ZNONODE);
    assert_int_equal(put("/missing", ZOO_PERSISTENT), ZOK);
    refuse_with(UVZK_ENONODE);
    assert_int_equal(put("/missing/root", ZOO_PERSISTENT), ZOK);
    serve(); /* without a new client */
    world_end(&world);
}

static void test_below_an_ephemeral_znode(void **state)
{
    static uvzk_mutex_t deep, itself;
    (void)state;
    begin_on("/mortal/lock");
    memset(&deep, 0, sizeof(deep));
    memset(&itself, 0, sizeof(itself));
    assert_int_equal(uvzk_mutex_init(&a.client, &deep, "/mortal/a/b/lock"), 0);
    assert_int_equal(uvzk_mutex_init(&a.client, &itself, "/mortal"), 0);
    assert_int_equal(put("/mortal", ZOO_EPHEMERAL), ZOK);
    refuse_with(UVZK_ENOCHILDREN);
    hold_begin_on(&second, &a, &deep, 1, UVZK_WAIT_FOREVER);
    hold_begin_on(&third, &a, &itself, 1, UVZK_WAIT_FOREVER);
    hold_await_status(&second, PATIENCE_MS, UVZK_ENOCHILDREN);
    hold_await_status(&third, PATIENCE_MS, UVZK_ENOCHILDREN);
    assert_int_equal(world_children(&world, "/mortal"), 0);
    assert_int_equal(raw_delete(world.raw, "/mortal"), ZOK);
    serve();
    world_end(&world);
}

static void test_in_the_servers_own_directory(void **state)
{
    static uvzk_mutex_t itself, config, quota;
    (void)state;
    begin_on("/zookeeper/lock");
    memset(&itself, 0, sizeof(itself));
    memset(&config, 0, sizeof(config));
    memset(&quota, 0, sizeof(quota));
    assert_int_equal(uvzk_mutex_init(&a.client, &itself, "/zookeeper"), 0);
    assert_int_equal(uvzk_mutex_init(&a.client, &config, "/zookeeper/config"), 0);
    assert_int_equal(uvzk_mutex_init(&a.client, &quota, "/zookeeper/quota/a/lock"), 0);
    serve();
    hold_take_on(&first, &a, &itself, 1);
    hold_give_back(&first);
    hold_try(&second, &a, &config, UVZK_WAIT_FOREVER, UVZK_ENOAUTH);
    hold_take_on(&third, &a, &quota, 1);
    hold_give_back(&third);
    world_end(&world);
}

/* The longest path with the longest data; the deepest path; odd characters. */
static void test_the_longest_path_and_data(void **state)
{
    static char bytes[1000000];
    char path[1025];
    uvzk_acquire_options_t options;
    struct Stat stat;
    (void)state;
    memset(path, 'x', sizeof(path));
    path[0] = path[1000] = '/';
    path[1024] = '\0';
    begin_on(path);
    uvzk_acquire_options_init(&options);
    options.node_data = bytes;
    options.node_data_length = sizeof(bytes);
    options.timeout_ms = INT64_MAX;
    assert_int_equal(hold_ask(&first, &a, NULL, &options), 0);
    assert_int_equal(hold_ask(&second, &a, NULL, &options), 0);
    hold_await(&first, PATIENCE_MS);
    hold_await_queued(&second);
    assert_int_equal(raw_exists(world.raw, uvzk_hold_path(&first.request), &stat), ZOK);
    assert_int_equal(stat.dataLength, sizeof(bytes));
    world_run_for(&world, 300);
    assert_int_equal(second.answered, 0); /* INT64_MAX is no time in the past */
    hold_give_back(&first);
    hold_await(&second, PATIENCE_MS);
    hold_give_back(&second);
    world_end(&world);
}

/* Beside the lock path's own limit there is the longer path of its znode. */
static void test_long_paths(void **state)
{
    static const size_t lengths[] = {900, 967, 968, 969, 978, 979, 1024};
    char path[1025];
    (void)state;
    for (size_t i = 0; i < LENGTH(lengths); i++) {
        memset(path, 'x', sizeof(path));
        path[0] = '/';
        path[lengths[i]] = '\0';
        begin_on(path);
        hold_begin(&first, &a, 5000);
        assert_true(world_await(&world, &first.answered, PATIENCE_MS));
        if (first.status != 0) {
            fail_msg("%zu bytes: %s", lengths[i], uvzk_err_name(first.status));
        }
        hold_give_back(&first);
        assert_int_equal(world_children(&world, path), 0);
        world_end(&world);
    }
}

static void test_the_deepest_path(void **state)
{
    char path[1025];
    (void)state;
    for (size_t i = 0; i < 1024; i++) {
        path[i] = i % 2 == 0 ? '/' : 'd';
    }
    path[1024] = '\0';
    begin_on(path);
    serve();
    world_end(&world);
}

static void test_odd_characters(void **state)
{
    static const char *const paths[] = {"/ ",
                                        "/a b/%s%n",
                                        "/..a/b..",
                                        "/\\/\"'",
                                        "/\xc2\xa0",
                                        "/\xed\x9f\xbf",
                                        "/\xef\xa4\x80",
                                        "/\xef\xbf\xaf",
                                        "/b\xc3\xa9/\xe6\xbc\xa2",
                                        "/_c_" UUID "-lock-"};
    static uvzk_mutex_t mutexes[LENGTH(paths)];
    (void)state;
    begin_on(LOCK);
    memset(mutexes, 0, sizeof(mutexes));
    for (size_t i = 0; i < LENGTH(paths); i++) {
        assert_int_equal(uvzk_mutex_init(&a.client, &mutexes[i], paths[i]), 0);
        hold_take_on(&first, &a, &mutexes[i], 1);
        hold_give_back(&first);
    }
    world_end(&world);
}

/* -------------------------------------------------------------------- rights */

static void start_with_acls(const uvzk_acl_t *acl, size_t count, const char *path)
{
    begin(path);
    world.options.acl = acl;
    world.options.acl_count = count;
    process_begin(&a, &world, "a", NULL);
}

static void start_with_acl(const uvzk_acl_t *acl, const char *path)
{
    start_with_acls(acl, 1, path);
}

static void test_reports_a_refused_acl(void **state)
{
    static const uvzk_acl_t refused[] = {{UVZK_PERM_ALL, "no-such-scheme", "x"},
                                         {UVZK_PERM_ALL, "ip", "10.0.0.256"},
                                         {UVZK_PERM_ALL, "x509", "x=y"},
                                         {UVZK_PERM_ALL, "auth", ""}};
    (void)state;
    for (size_t i = 0; i < LENGTH(refused); i++) {
        start_with_acl(&refused[i], "/refused/lock");
        refuse_with(UVZK_EINVALIDACL);
        assert_int_equal(raw_exists(world.raw, "/refused", NULL), ZNONODE);
        world_end(&world);
    }
}

/* A directory of our own that we may not list: only its first place is known. */
static void test_reports_an_acl_without_read(void **state)
{
    /* The digest is of "raw:raw". */
    const uvzk_acl_t blind[] = {
        {UVZK_PERM_CREATE | UVZK_PERM_DELETE, "world", "anyone"},
        {UVZK_PERM_READ, "digest", "raw:d6EnEzqYquczJZvSt1l9D5Iogac="}};
    (void)state;
    start_with_acls(blind, LENGTH(blind), "/blind");
    assert_int_equal(zoo_add_auth(world.raw, "digest", "raw:raw", 7, NULL, NULL), ZOK);
    hold_take(&first, &a);
    hold_try(&second, &a, NULL, UVZK_WAIT_FOREVER, UVZK_ENOAUTH);
    assert_true(world_await_children(&world, "/blind", 1));
    assert_true(hold_holds(&first));
    hold_give_back(&first);
    assert_true(world_await_children(&world, "/blind", 0));
    refuse_with(UVZK_ENOAUTH);
    world_end(&world);
}

/* A znode that we may not delete goes with the session, and that is told. */
static void test_reports_an_acl_without_delete(void **state)
{
    const uvzk_acl_t keep = {UVZK_PERM_ALL & ~UVZK_PERM_DELETE, "world", "anyone"};
    (void)state;
    start_with_acl(&keep, "/keep");
    hold_take(&first, &a);
    hold_release(&first);
    assert_true(world_await(&world, &first.released, PATIENCE_MS));
    assert_int_equal(first.release_status, UVZK_ENOAUTH);
    assert_int_equal(world_children(&world, "/keep"), 1);
    process_end(&a);
    world_end(&world);
}

/* A request larger than the servers take costs the connection, again and again. */
static void test_refuses_an_acl_that_is_too_large(void **state)
{
    static char id[600001];
    uvzk_client_options_t options;
    (void)state;
    memset(id, 'x', sizeof(id) - 1);
    const uvzk_acl_t acl[] = {{UVZK_PERM_ALL, "digest", id},
                              {UVZK_PERM_ALL, "digest", id}};
    uvzk_client_options_init(&options);
    options.hosts = server_hosts(live_server);
    options.acl = acl;
    options.acl_count = LENGTH(acl);
    assert_int_equal(init_and_close(&options), UV_EINVAL);
}

static void test_reports_empty_credentials(void **state)
{
    (void)state;
    begin("/bad/credentials");
    world.options.auth_scheme = "digest";
    process_begin(&a, &world, "a", NULL);
    hold_begin(&first, &a, UVZK_WAIT_FOREVER);
    assert_true(world_await(&world, &first.answered, PATIENCE_MS));
    if (first.status == 0) { /* the server takes the empty user */
        hold_give_back(&first);
    } else {
        assert_int_equal(first.status, UVZK_EAUTH);
    }
    world_end(&world);
}

/* ---------------------------------------------------------------- worn out */

static uint32_t adler32(uint32_t sum, const unsigned char *bytes, size_t length)
{
    uint32_t low = sum & 0xffff, high = sum >> 16;
    for (size_t i = 0; i < length; i++) {
        low = (low + bytes[i]) % 65521;
        high = (high + low) % 65521;
    }
    return high << 16 | low;
}

static void put_big_endian(unsigned char *bytes, uint64_t value, size_t length)
{
    for (size_t i = length; i > 0; i--) {
        bytes[i - 1] = (unsigned char)value;
        value >>= 8;
    }
}

/* A seal of a snapshot: the checksum of all before it as 64 bits, then "/". */
static bool is_seal(const unsigned char *bytes, uint32_t sum)
{
    static const unsigned char slash[] = {0, 0, 0, 1, '/'};
    unsigned char expected[8];
    put_big_endian(expected, sum, sizeof(expected));
    return memcmp(bytes, expected, 8) == 0 && memcmp(bytes + 8, slash, 5) == 0;
}

/* Finds the record of the znode: its path, no data, the ACL, then the stat. */
static unsigned char *counter_of(unsigned char *bytes, size_t size, const char *path)
{
    unsigned char key[64];
    size_t length = strlen(path);
    put_big_endian(key, length, 4);
    memcpy(key + 4, path, length);
    unsigned char *found = memmem(bytes, size, key, 4 + length);
    return found == NULL ? NULL : found + 4 + length + 4 + 8 + 4 * 8 + 4;
}

static int patch(unsigned char *bytes, size_t size, const char *path, int32_t counter)
{
    unsigned char *place = counter_of(bytes, size, path);
    uint32_t before = 1, after = 1;
    int seals = 0;
    if (place == NULL) {
        return 0;
    }
    size_t at = (size_t)(place - bytes);
    unsigned char changed[4];
    put_big_endian(changed, (uint32_t)counter, 4);
    for (size_t i = 0; i < size; i++) {
        if (i + 13 <= size && is_seal(bytes + i, before)) {
            before = adler32(before, bytes + i, 8);
            put_big_endian(bytes + i, after, 8);
            after = adler32(after, bytes + i, 8);
            i += 7;
            seals++;
            continue;
        }
        before = adler32(before, bytes + i, 1);
        if (i >= at && i < at + 4) {
            bytes[i] = changed[i - at];
        }
        after = adler32(after, bytes + i, 1);
    }
    return seals;
}

/* The newest snapshot of the server, which is not running. */
static void newest_snapshot(const char *directory, char *out, size_t size)
{
    uint64_t newest = 0;
    DIR *entries = opendir(directory);
    assert_non_null(entries);
    for (struct dirent *entry; (entry = readdir(entries)) != NULL;) {
        uint64_t zxid;
        if (sscanf(entry->d_name, "snapshot.%" SCNx64, &zxid) == 1 && zxid >= newest) {
            newest = zxid;
            snprintf(out, size, "%s/%s", directory, entry->d_name);
        }
    }
    closedir(entries);
}

/* A znode with this many creates behind it: 2^31 of them would take weeks, so the
 * server is stopped and its snapshot changed. */
static void make_worn_directory(const char *path, int32_t counter)
{
    static unsigned char bytes[4 << 20];
    char answer[4096], directory[256], snapshot[512];
    assert_int_equal(put(path, ZOO_PERSISTENT), ZOK);
    raw_close(world.raw);
    world.raw = NULL;
    assert_true(server_restart(live_server)); /* it takes a snapshot at its start */
    assert_true(server_command(live_server, "conf", answer, sizeof(answer)) > 0);
    const char *where = strstr(answer, "dataDir=");
    assert_non_null(where);
    assert_int_equal(sscanf(where, "dataDir=%255[^\n]", directory), 1);
    server_kill(live_server);
    newest_snapshot(directory, snapshot, sizeof(snapshot));
    FILE *file = fopen(snapshot, "r+b");
    assert_non_null(file);
    size_t size = fread(bytes, 1, sizeof(bytes), file);
    assert_true(patch(bytes, size, path, counter) > 0);
    rewind(file);
    assert_int_equal(fwrite(bytes, 1, size, file), size);
    assert_int_equal(fclose(file), 0);
    assert_true(server_restart(live_server));
    world_look_again(&world);
}

static void test_a_counter_at_its_limit(void **state)
{
    (void)state;
    begin("/worn");
    make_worn_directory("/worn", LAST_SUFFIX);
    process_begin(&a, &world, "a", NULL);
    hold_begin(&first, &a, UVZK_WAIT_FOREVER);
    hold_begin(&second, &a, UVZK_WAIT_FOREVER);
    hold_await(&first, PATIENCE_MS);
    assert_string_equal(first.path + strlen(first.path) - 10, "2146435071");
    hold_await_status(&second, PATIENCE_MS, UVZK_EEXHAUSTED);
    assert_true(world_await_children(&world, "/worn", 1));
    assert_true(hold_holds(&first));
    hold_give_back(&first);
    refuse_with(UVZK_EEXHAUSTED);
    world_end(&world);
}

/* At 2147483647 the server's counter sticks, or turns negative in a burst. */
static void test_a_counter_at_its_end(void **state)
{
    static struct hold pool[20];
    (void)state;
    begin("/stuck");
    make_worn_directory("/stuck", INT32_MAX - 5);
    process_begin(&a, &world, "a", NULL);
    for (size_t i = 0; i < LENGTH(pool); i++) {
        hold_begin(&pool[i], &a, UVZK_WAIT_FOREVER);
    }
    for (size_t i = 0; i < LENGTH(pool); i++) {
        hold_await_status(&pool[i], PATIENCE_MS, UVZK_EEXHAUSTED);
    }
    refuse_with(UVZK_EEXHAUSTED);
    world_end(&world);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_refuses_hosts),
        cmocka_unit_test(test_refuses_long_hosts),
        cmocka_unit_test(test_refuses_options),
        cmocka_unit_test(test_serves_among_foreign_children),
        cmocka_unit_test(test_serves_among_ten_thousand_foreign_children),
        cmocka_unit_test(test_a_missing_chroot),
        cmocka_unit_test(test_below_an_ephemeral_znode),
        cmocka_unit_test(test_in_the_servers_own_directory),
        cmocka_unit_test(test_the_longest_path_and_data),
        cmocka_unit_test(test_long_paths),
        cmocka_unit_test(test_the_deepest_path),
        cmocka_unit_test(test_odd_characters),
        cmocka_unit_test(test_reports_a_refused_acl),
        cmocka_unit_test(test_reports_an_acl_without_read),
        cmocka_unit_test(test_reports_an_acl_without_delete),
        cmocka_unit_test(test_refuses_an_acl_that_is_too_large),
        cmocka_unit_test(test_reports_empty_credentials),
        cmocka_unit_test(test_a_counter_at_its_limit),
        cmocka_unit_test(test_a_counter_at_its_end),
        cmocka_unit_test(test_a_client_in_use_is_not_made_anew),
    };
    return cmocka_run_group_tests(tests, servers_start_one, servers_stop);
}
