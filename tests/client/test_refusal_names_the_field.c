/* SPDX-License-Identifier: Apache-2.0 */
/* Every public call that refuses an argument says which: the sentence has its name. */
#include "world.h"

#include <string.h>

#include "base/refusal.h"
#include "discovery/hosts.h"

static struct world world;
static struct process a;
static struct hold first;
static char bytes[1000001];

/* The call is refused with this code, and says so itself: not the one before. */
#define REFUSED(code, word, call)                                                  \
    do {                                                                           \
        uvzk__refuse((code), "said before");                                       \
        assert_int_equal((call), (code));                                          \
        if (strstr(uvzk_refusal(code), (word)) == NULL) {                          \
            fail_msg("%s: \"%s\" does not name \"%s\"", #call, uvzk_refusal(code), \
                     (word));                                                      \
        }                                                                          \
    } while (0)

static void begin(void)
{
    world_begin_exact(&world, UVZK__TUNE_ALL, 1);
    process_begin(&a, &world, "a", NULL);
    assert_true(process_await_connected(&a, 1000));
    hold_take(&first, &a);
}

static void end(void)
{
    world_release_and_end(&world);
}

/* -------------------------------------------------------------------- what it is told */

static void test_only_of_the_code_that_was_returned(void **state)
{
    (void)state;
    assert_int_equal(uvzk__refuse(UV_EINVAL, "cb is NULL"), UV_EINVAL);
    assert_string_equal(uvzk_refusal(UV_EINVAL), "cb is NULL");
    assert_string_equal(uvzk_refusal(UV_ENOMEM), uvzk_strerror(UV_ENOMEM));
    assert_string_equal(uvzk_refusal(0), uvzk_strerror(0));
    assert_int_equal(uvzk__refuse_if(UV_EBUSY, NULL), 0);
    assert_string_equal(uvzk_refusal(UV_EINVAL), "cb is NULL");
    assert_int_equal(uvzk__refuse_if(UV_EBUSY, "hold is in use"), UV_EBUSY);
    assert_string_equal(uvzk_refusal(UV_EBUSY), "hold is in use");
    assert_string_equal(uvzk_refusal(UV_EINVAL), uvzk_strerror(UV_EINVAL));
}

static void refused_elsewhere(void *nothing)
{
    (void)nothing;
    (void)uvzk__refuse(UV_EINVAL, "elsewhere");
}

static void test_each_thread_has_its_own(void **state)
{
    uv_thread_t thread;
    (void)state;
    (void)uvzk__refuse(UV_EINVAL, "here");
    assert_int_equal(uv_thread_create(&thread, refused_elsewhere, NULL), 0);
    assert_int_equal(uv_thread_join(&thread), 0);
    assert_string_equal(uvzk_refusal(UV_EINVAL), "here");
}

/* ------------------------------------------------------------------------ the options */

static int options_with(void (*change)(uvzk_client_options_t *))
{
    uvzk_client_options_t options, known;

    uvzk_client_options_init(&options);
    options.hosts = "127.0.0.1:2181";
    change(&options);
    return uvzk__options_read(&known, &options);
}

#define OPTION(name, statement)                      \
    static void name(uvzk_client_options_t *options) \
    {                                                \
        statement;                                   \
    }
OPTION(no_size, options->size = 0)
OPTION(no_hosts, options->hosts = "")
OPTION(short_session, options->session_timeout_ms = 499)
OPTION(long_session, options->session_timeout_ms = 86400001)
OPTION(short_tick, options->tick_ms = 9)
OPTION(odd_proof, options->proof = 9)
OPTION(odd_retry, options->retry.kind = 9)
OPTION(no_base, options->retry.kind = UVZK_RETRY_FOREVER)
OPTION(no_auth, options->auth_length = 1)
OPTION(no_scheme, (options->auth = bytes, options->auth_length = 1))
OPTION(long_auth, (options->auth_scheme = "digest", options->auth = bytes,
                   options->auth_length = 1000001))
OPTION(long_data, (options->default_data = bytes, options->default_data_length = 1000001))
OPTION(no_data, options->default_data_length = 1)
OPTION(no_acl, options->acl_count = 1)
OPTION(tls, options->tls = "ca.pem,client.pem,client.key")
OPTION(tls_of_nothing, options->tls = "")
OPTION(sasl, options->sasl = "mechanism=GSSAPI")

static void test_options_of_a_client(void **state)
{
    static const uvzk_acl_t none = {.perms = 0, .scheme = "world", .id = "anyone"};
    uvzk_client_options_t options, known;
    (void)state;

    REFUSED(UV_EINVAL, "options", uvzk__options_read(&known, NULL));
    REFUSED(UV_EINVAL, "options.size", options_with(no_size));
    REFUSED(UV_EINVAL, "options.hosts", options_with(no_hosts));
    REFUSED(UV_EINVAL, "options.session_timeout_ms", options_with(short_session));
    REFUSED(UV_EINVAL, "options.session_timeout_ms", options_with(long_session));
    REFUSED(UV_EINVAL, "options.tick_ms", options_with(short_tick));
    REFUSED(UV_EINVAL, "options.proof", options_with(odd_proof));
    REFUSED(UV_EINVAL, "options.retry.kind", options_with(odd_retry));
    REFUSED(UV_EINVAL, "options.retry.base_ms", options_with(no_base));
    REFUSED(UV_EINVAL, "options.auth ", options_with(no_auth));
    REFUSED(UV_EINVAL, "options.auth_scheme", options_with(no_scheme));
    REFUSED(UV_EINVAL, "options.auth_length", options_with(long_auth));
    REFUSED(UV_EINVAL, "options.default_data_length", options_with(long_data));
    REFUSED(UV_EINVAL, "options.default_data ", options_with(no_data));
    REFUSED(UV_EINVAL, "options.acl ", options_with(no_acl));
    REFUSED(UV_ENOTSUP, "options.tls: ", options_with(tls));
    REFUSED(UV_ENOTSUP, "options.tls: ", options_with(tls_of_nothing));
    REFUSED(UV_ENOTSUP, "options.sasl: ", options_with(sasl));
    uvzk_client_options_init(&options);
    options.hosts = "127.0.0.1:2181";
    options.acl = &none;
    options.acl_count = 1;
    REFUSED(UV_EINVAL, "options.acl", uvzk__options_read(&known, &options));
    uvzk_acl_t large = {.perms = 1, .scheme = "digest", .id = bytes};
    memset(bytes, 'x', 50000);
    options.acl = &large;
    REFUSED(UV_EINVAL, "options.acl", uvzk__options_read(&known, &options));
    memset(bytes, 0, 50000);
}

static int client_in(const char *ns)
{
    uvzk_client_options_t options;
    uvzk_client_t client = {.data = NULL};

    process_options(&options);
    options.ns = ns;
    return uvzk__client_create(&client, a.port, &options, UVZK__TUNE_ALL);
}

static void test_making_and_ending_a_client(void **state)
{
    uvzk_client_options_t options;
    uvzk_client_t nobody = {.data = NULL};
    uv_loop_t *loop = uv_default_loop();
    (void)state;

    begin();
    uvzk_client_options_init(&options);
    options.hosts = "127.0.0.1:0";
    REFUSED(UV_EINVAL, "loop", uvzk_client_init(NULL, &nobody, &options));
    REFUSED(UV_EINVAL, "client", uvzk_client_init(loop, NULL, &options));
    REFUSED(UV_EINVAL, "options", uvzk_client_init(loop, &nobody, NULL));
    REFUSED(UV_EINVAL, "options.hosts", uvzk_client_init(loop, &nobody, &options));
    REFUSED(UV_EINVAL, "options.hosts", uvzk__hosts_validate(NULL));
    REFUSED(UV_EINVAL, "options.hosts", uvzk__hosts_validate(""));
    REFUSED(UVZK_EPATH, "chroot", uvzk__hosts_validate("h:1//"));
    options.size = 0;
    REFUSED(UV_EINVAL, "options.size", uvzk_client_init(loop, &nobody, &options));
    REFUSED(UVZK_EPATH, "options.ns", client_in("/app"));
    REFUSED(UVZK_EPATH, "options.ns", client_in("app//b"));
    process_options(&options);
    REFUSED(UV_EBUSY, "client",
            uvzk__client_create(&a.client, a.port, &options, UVZK__TUNE_ALL));
    REFUSED(UV_EINVAL, "client", uvzk_client_start(NULL));
    REFUSED(UVZK_ESTATE, "client", uvzk_client_start(&a.client));
    REFUSED(UV_EINVAL, "client", uvzk_client_close(NULL, NULL));
    REFUSED(UVZK_ESTATE, "client", uvzk_client_close(&nobody, NULL));
    REFUSED(UV_EINVAL, "four functions", uvzk_replace_allocator(NULL, NULL, NULL, NULL));
    end();
}

/* ---------------------------------------------------------------------- making locks */

static char long_path[2100];

static const char *path_of_length(size_t length)
{
    memset(long_path, 'x', length);
    long_path[0] = '/';
    long_path[length] = '\0';
    return long_path;
}

static void test_making_locks(void **state)
{
    uvzk_client_t nobody = {.data = NULL};
    uvzk_lock_t lock = {.data = NULL};
    uvzk_shared_count_t count = {.data = NULL};
    (void)state;

    begin();
    REFUSED(UV_EINVAL, "client", uvzk_mutex_init(NULL, &lock, "/a"));
    REFUSED(UV_EINVAL, "lock", uvzk_mutex_init(&a.client, NULL, "/a"));
    REFUSED(UV_EINVAL, "path", uvzk_mutex_init(&a.client, &lock, NULL));
    REFUSED(UVZK_ESTATE, "client", uvzk_mutex_init(&nobody, &lock, "/a"));
    REFUSED(UV_EBUSY, "lock", uvzk_mutex_init(&a.client, &a.mutex, "/a"));
    REFUSED(UVZK_EPATH, "'/'", uvzk_mutex_init(&a.client, &lock, "a"));
    REFUSED(UVZK_EPATH, "element", uvzk_mutex_init(&a.client, &lock, "/a//b"));
    REFUSED(UVZK_EPATH, "cannot be", uvzk_mutex_init(&a.client, &lock, "/"));
    REFUSED(UVZK_EPATH, "1024", uvzk_mutex_init(&a.client, &lock, path_of_length(1025)));
    REFUSED(UV_EINVAL, "lock", uvzk_rwlock_init(&a.client, NULL, "/a"));
    REFUSED(UV_EINVAL, "max_leases",
            uvzk_semaphore_init(&a.client, &lock, "/a", 0, NULL));
    REFUSED(UV_EINVAL, "count", uvzk_semaphore_init(&a.client, &lock, "/a", 1, &count));
    assert_null(lock.impl);
    end();
}

static void test_making_multi_locks(void **state)
{
    uvzk_multilock_t multi = {.data = NULL};
    uvzk_lock_t twin = {.data = NULL}, none = {.data = NULL};
    uvzk_lock_t *one[] = {&a.mutex}, *twice[] = {&a.mutex, &a.mutex};
    uvzk_lock_t *same[] = {&a.mutex, &twin}, *bad[] = {&none};
    (void)state;

    begin();
    assert_int_equal(uvzk_mutex_init(&a.client, &twin, WORLD_PATH), 0);
    REFUSED(UV_EINVAL, "flags", uvzk_multilock_init(&a.client, &multi, one, 1, 8, NULL));
    REFUSED(UV_EINVAL, "client", uvzk_multilock_init(NULL, &multi, one, 1, 0, NULL));
    REFUSED(UV_EINVAL, "members",
            uvzk_multilock_init(&a.client, &multi, NULL, 1, 0, NULL));
    REFUSED(UV_EINVAL, "count", uvzk_multilock_init(&a.client, &multi, one, 0, 0, NULL));
    REFUSED(UV_EINVAL, "members",
            uvzk_multilock_init(&a.client, &multi, bad, 1, 0, NULL));
    REFUSED(UV_EINVAL, "twice",
            uvzk_multilock_init(&a.client, &multi, twice, 2, 0, NULL));
    REFUSED(UVZK_EDEADLK, "one path",
            uvzk_multilock_init(&a.client, &multi, same, 2, 0, NULL));
    end();
}

static int drive_with(const uvzk_lock_driver_t *driver)
{
    uvzk_lock_t lock = {.data = NULL};

    return uvzk_lock_init_with_driver(&a.client, &lock, "/driven", driver);
}

static const char *key(const uvzk_lock_driver_t *driver, const char *child)
{
    (void)driver;
    return child;
}

static int gets(const uvzk_lock_driver_t *driver, const char *const *children,
                size_t count, size_t own, size_t *watch)
{
    (void)driver;
    (void)children;
    (void)count;
    (void)watch;
    return own == 0;
}

static void test_making_locks_with_a_driver(void **state)
{
    uvzk_lock_driver_t driver;
    (void)state;

    begin();
    uvzk_lock_driver_init(&driver);
    REFUSED(UV_EINVAL, "driver", drive_with(NULL));
    REFUSED(UV_EINVAL, "driver.name", drive_with(&driver));
    driver.name = "a/b";
    REFUSED(UV_EINVAL, "driver.name", drive_with(&driver));
    driver.name = "a\n";
    REFUSED(UVZK_EPATH, "element", drive_with(&driver));
    driver.name = "own";
    driver.mode = 9;
    REFUSED(UV_EINVAL, "driver.mode", drive_with(&driver));
    driver.mode = UVZK_NODE_EPHEMERAL;
    driver.sort_key = key;
    REFUSED(UV_EINVAL, "driver.sort_key", drive_with(&driver));
    driver.gets_the_lock = gets;
    REFUSED(UV_EINVAL, "driver.gets_the_lock", drive_with(&driver));
    driver.size = 0;
    REFUSED(UV_EINVAL, "driver.size", drive_with(&driver));
    end();
}

/* ------------------------------------------------------------------------- acquiring */

static void ignore(uvzk_hold_t *hold, int status)
{
    (void)hold;
    (void)status;
}

static uvzk_acquire_options_t with_leases(uint32_t leases)
{
    uvzk_acquire_options_t options;

    uvzk_acquire_options_init(&options);
    options.leases = leases;
    return options;
}

static void ignore_revoke(uvzk_hold_t *hold)
{
    (void)hold;
}

static void test_acquiring(void **state)
{
    uvzk_acquire_options_t options;
    uvzk_hold_t hold = {.data = NULL};
    uvzk_lock_t none = {.data = NULL};
    (void)state;

    begin();
#define ACQUIRE(lock) uvzk_lock_acquire((lock), &hold, &options, ignore, ignore)
    uvzk_acquire_options_init(&options);
    REFUSED(UV_EINVAL, "lock", ACQUIRE(NULL));
    REFUSED(UV_EINVAL, "hold",
            uvzk_lock_acquire(&a.mutex, NULL, &options, ignore, ignore));
    REFUSED(UV_EINVAL, "acquire_cb",
            uvzk_lock_acquire(&a.mutex, &hold, &options, NULL, ignore));
    REFUSED(UV_EINVAL, "lost_cb",
            uvzk_lock_acquire(&a.mutex, &hold, &options, ignore, NULL));
    REFUSED(UV_EBUSY, "hold",
            uvzk_lock_acquire(&a.mutex, &first.request, NULL, ignore, ignore));
    REFUSED(UVZK_ECLOSED, "lock", ACQUIRE(&none));
    options.size = 0;
    REFUSED(UV_EINVAL, "options.size", ACQUIRE(&a.mutex));
    uvzk_acquire_options_init(&options);
    options.timeout_ms = -2;
    REFUSED(UV_EINVAL, "options.timeout_ms", ACQUIRE(&a.mutex));
    uvzk_acquire_options_init(&options);
    options.node_data_length = 1;
    REFUSED(UV_EINVAL, "options.node_data ", ACQUIRE(&a.mutex));
    options.node_data_length = 1000001;
    options.node_data = bytes;
    REFUSED(UV_EINVAL, "options.node_data_length", ACQUIRE(&a.mutex));
    end();
}

static void test_acquiring_what_a_recipe_has_not(void **state)
{
    uvzk_acquire_options_t options = with_leases(2);
    uvzk_hold_t hold = {.data = NULL};
    uvzk_multilock_t multi = {.data = NULL};
    uvzk_lock_t driven = {.data = NULL}, *one[] = {&a.mutex};
    uvzk_lock_driver_t driver;
    (void)state;

    begin();
    uvzk_lock_driver_init(&driver);
    driver.name = "own";
    assert_int_equal(uvzk_lock_init_with_driver(&a.client, &driven, "/driven", &driver),
                     0);
    process_make_rwlock(&a, "/rw");
    process_make_semaphore(&a, "/s", 1);
    assert_int_equal(uvzk_multilock_init(&a.client, &multi, one, 1, 0, NULL), 0);
    REFUSED(UV_EINVAL, "options.leases", ACQUIRE(&a.mutex));
    REFUSED(UV_EINVAL, "options.leases", ACQUIRE(&a.rwlock.read));
    REFUSED(UV_EINVAL, "options.leases", ACQUIRE(&a.rwlock.write));
    REFUSED(UV_EINVAL, "options.leases", ACQUIRE(&a.semaphore));
    REFUSED(UV_EINVAL, "options.leases", ACQUIRE(&multi));
    REFUSED(UV_EINVAL, "options.leases", ACQUIRE(&driven));
    options = with_leases(101);
    REFUSED(UV_EINVAL, "100", ACQUIRE(&a.semaphore));
    options = with_leases(1);
    options.revoke_cb = ignore_revoke;
    REFUSED(UV_EINVAL, "options.revoke_cb", ACQUIRE(&a.semaphore));
    REFUSED(UV_EINVAL, "options.revoke_cb", ACQUIRE(&multi));
    REFUSED(UV_EINVAL, "options.revoke_cb", ACQUIRE(&driven));
    options = with_leases(1);
    options.owner = &hold;
    struct hold reading;
    hold_take_for(&reading, &a, &a.rwlock.read, &hold);
    REFUSED(UVZK_EDEADLK, "options.owner", ACQUIRE(&a.rwlock.write));
    end();
}

/* ----------------------------------------------------------------- with what is held */

static void test_releasing_and_asking(void **state)
{
    uvzk_hold_t none = {.data = NULL};
    uvzk_lock_t no_lock = {.data = NULL};
    uvzk_wait_info_t wait;
    (void)state;

    begin();
    process_make_semaphore(&a, "/s", 1);
    struct hold lease;
    hold_take_on(&lease, &a, &a.semaphore, 1);
    REFUSED(UV_EINVAL, "hold", uvzk_hold_release(NULL, ignore));
    REFUSED(UVZK_ENOTHELD, "hold", uvzk_hold_release(&none, ignore));
    REFUSED(UV_EINVAL, "hold", uvzk_hold_cancel(NULL));
    REFUSED(UVZK_ESTATE, "hold", uvzk_hold_cancel(&first.request));
    REFUSED(UV_EINVAL, "hold", uvzk_hold_wait_info(NULL, &wait));
    REFUSED(UV_EINVAL, "wait", uvzk_hold_wait_info(&first.request, NULL));
    uvzk_wait_info_init(&wait);
    REFUSED(UVZK_ESTATE, "hold", uvzk_hold_wait_info(&first.request, &wait));
    REFUSED(UV_EINVAL, "hold", uvzk_hold_return_leases(NULL, 1));
    REFUSED(UVZK_ENOTHELD, "hold", uvzk_hold_return_leases(&none, 1));
    REFUSED(UV_EINVAL, "semaphore", uvzk_hold_return_leases(&first.request, 1));
    REFUSED(UV_EINVAL, "leases", uvzk_hold_return_leases(&lease.request, 0));
    REFUSED(UV_EINVAL, "leases", uvzk_hold_return_leases(&lease.request, 1));
    REFUSED(UV_EINVAL, "lock", uvzk_lock_close(NULL, NULL));
    REFUSED(UVZK_ESTATE, "lock", uvzk_lock_close(&no_lock, NULL));
    end();
}

static void ignore_write(uvzk_req_t *request, int status)
{
    size_t failed = request->result->failed_op;
    (void)request;
    (void)status;
    (void)failed;
}

static void test_writing(void **state)
{
    const uvzk_write_op_t good = {UVZK_WRITE_SET, -1, "/a", "b", 1};
    uvzk_write_op_t op = good;
    uvzk_req_t request = {.data = NULL}, busy = {.impl = &busy};
    uvzk_hold_t none = {.data = NULL};
    (void)state;

    begin();
#define WRITE(count) uvzk_hold_write(&first.request, &request, &op, (count), ignore_write)
    REFUSED(UV_EINVAL, "hold", uvzk_hold_write(NULL, &request, &op, 1, ignore_write));
    REFUSED(UV_EINVAL, "request",
            uvzk_hold_write(&first.request, NULL, &op, 1, ignore_write));
    REFUSED(UV_EINVAL, "ops",
            uvzk_hold_write(&first.request, &request, NULL, 1, ignore_write));
    REFUSED(UV_EINVAL, "count", WRITE(0));
    REFUSED(UV_EINVAL, "cb", uvzk_hold_write(&first.request, &request, &op, 1, NULL));
    REFUSED(UVZK_ENOTHELD, "hold",
            uvzk_hold_write(&none, &request, &op, 1, ignore_write));
    REFUSED(UV_EBUSY, "request",
            uvzk_hold_write(&first.request, &busy, &op, 1, ignore_write));
    op.kind = 9;
    REFUSED(UV_EINVAL, "kind", WRITE(1));
    op = good;
    op.path = NULL;
    REFUSED(UV_EINVAL, "path", WRITE(1));
    op.path = "a";
    REFUSED(UVZK_EPATH, "path", WRITE(1));
    op = good;
    op.version = -2;
    REFUSED(UV_EINVAL, "version", WRITE(1));
    op = good;
    op.data = NULL;
    REFUSED(UV_EINVAL, "data", WRITE(1));
    op.data = bytes;
    op.data_length = 1000001;
    REFUSED(UV_EINVAL, "data_length", WRITE(1));
    op.data_length = 1000000;
    REFUSED(UV_EINVAL, "in all", WRITE(1));
    end();
}

static void ignore_verify(uvzk_req_t *request, int status)
{
    (void)request;
    (void)status;
}
static void ignore_read(uvzk_req_t *request, int status)
{
    size_t length = request->result->length;
    (void)request;
    (void)status;
    (void)length;
}
static void ignore_revoke_status(uvzk_req_t *request, int status)
{
    (void)request;
    (void)status;
}
static void ignore_roll(uvzk_req_t *request, int status)
{
    size_t count = request->result->count;
    (void)request;
    (void)status;
    (void)count;
}

static void test_questions(void **state)
{
    uvzk_req_t verify = {.data = NULL}, busy_verify = {.impl = &verify};
    uvzk_req_t read = {.data = NULL}, busy_read = {.impl = &read};
    uvzk_req_t revoke_request = {.data = NULL}, busy_request = {.impl = &revoke_request};
    uvzk_hold_t none = {.data = NULL};
    uvzk_client_t nobody = {.data = NULL};
    uvzk_hold_t *held = &first.request;
    uvzk_client_t *client = &a.client;
    (void)state;

    begin();
    REFUSED(UV_EINVAL, "hold", uvzk_hold_verify(NULL, &verify, ignore_verify));
    REFUSED(UV_EINVAL, "request", uvzk_hold_verify(held, NULL, ignore_verify));
    REFUSED(UV_EINVAL, "cb", uvzk_hold_verify(held, &verify, NULL));
    REFUSED(UVZK_ENOTHELD, "hold", uvzk_hold_verify(&none, &verify, ignore_verify));
    REFUSED(UV_EBUSY, "request", uvzk_hold_verify(held, &busy_verify, ignore_verify));
    REFUSED(UV_EINVAL, "client", uvzk_client_read(NULL, &read, "/a", ignore_read));
    REFUSED(UV_EINVAL, "request", uvzk_client_read(client, NULL, "/a", ignore_read));
    REFUSED(UV_EINVAL, "node_path", uvzk_client_read(client, &read, NULL, ignore_read));
    REFUSED(UV_EINVAL, "cb", uvzk_client_read(client, &read, "/a", NULL));
    REFUSED(UV_EBUSY, "request", uvzk_client_read(client, &busy_read, "/a", ignore_read));
    REFUSED(UVZK_ECLOSED, "client", uvzk_client_read(&nobody, &read, "/a", ignore_read));
    REFUSED(UVZK_EPATH, "path", uvzk_client_read(client, &read, "a", ignore_read));
    REFUSED(UVZK_EPATH, "2048",
            uvzk_client_read(client, &read, path_of_length(2049), ignore_read));
    REFUSED(UV_EINVAL, "client",
            uvzk_client_revoke(NULL, &revoke_request, "/a", ignore_revoke_status));
    REFUSED(UV_EINVAL, "request",
            uvzk_client_revoke(client, NULL, "/a", ignore_revoke_status));
    REFUSED(UV_EINVAL, "node_path",
            uvzk_client_revoke(client, &revoke_request, NULL, ignore_revoke_status));
    REFUSED(UV_EINVAL, "cb", uvzk_client_revoke(client, &revoke_request, "/a", NULL));
    REFUSED(UV_EBUSY, "request",
            uvzk_client_revoke(client, &busy_request, "/a", ignore_revoke_status));
    REFUSED(UVZK_ECLOSED, "client",
            uvzk_client_revoke(&nobody, &revoke_request, "/a", ignore_revoke_status));
    end();
}

static void ignore_locker(uvzk_locker_t *locker)
{
    (void)locker;
}
static void ignore_unlocked(uvzk_locker_t *locker, int status)
{
    (void)locker;
    (void)status;
}

static void test_participants_and_lockers(void **state)
{
    uvzk_req_t roll = {.data = NULL}, busy = {.impl = &roll};
    uvzk_multilock_t multi = {.data = NULL};
    uvzk_lock_t none = {.data = NULL}, *one[] = {&a.mutex};
    uvzk_locker_t locker = {.data = NULL};
    (void)state;

    begin();
    assert_int_equal(uvzk_multilock_init(&a.client, &multi, one, 1, 0, NULL), 0);
    REFUSED(UV_EINVAL, "lock", uvzk_lock_participants(NULL, &roll, ignore_roll));
    REFUSED(UV_EINVAL, "request", uvzk_lock_participants(&a.mutex, NULL, ignore_roll));
    REFUSED(UV_EINVAL, "cb", uvzk_lock_participants(&a.mutex, &roll, NULL));
    REFUSED(UV_EBUSY, "request", uvzk_lock_participants(&a.mutex, &busy, ignore_roll));
    REFUSED(UVZK_ECLOSED, "lock", uvzk_lock_participants(&none, &roll, ignore_roll));
    REFUSED(UV_ENOTSUP, "multi lock", uvzk_lock_participants(&multi, &roll, ignore_roll));
    REFUSED(UV_EINVAL, "lock",
            uvzk_lock_run(NULL, &locker, NULL, ignore_locker, ignore_unlocked));
    REFUSED(UV_EINVAL, "locker",
            uvzk_lock_run(&a.mutex, NULL, NULL, ignore_locker, ignore_unlocked));
    REFUSED(UV_EINVAL, "locked_cb",
            uvzk_lock_run(&a.mutex, &locker, NULL, NULL, ignore_unlocked));
    REFUSED(UV_EINVAL, "unlocked_cb",
            uvzk_lock_run(&a.mutex, &locker, NULL, ignore_locker, NULL));
    REFUSED(UV_EINVAL, "locker", uvzk_locker_done(NULL));
    REFUSED(UVZK_ENOTHELD, "hold", uvzk_locker_done(&locker));
    end();
}

/* --------------------------------------------------------------- values and futures */

static void ignore_set(uvzk_req_t *request, int status)
{
    (void)request;
    (void)status;
}

static void test_values(void **state)
{
    uvzk_shared_value_t value = {.data = NULL}, none = {.data = NULL};
    uvzk_shared_count_t count = {.data = NULL};
    uvzk_req_t request = {.data = NULL}, busy = {.impl = &request};
    uvzk_value_version_t any = {.version = -1};
    (void)state;

    begin();
    uvzk_client_t *client = &a.client;
#define INIT(handle, path, seed, length) \
    uvzk_shared_value_init(client, (handle), (path), (seed), (length), NULL)
    REFUSED(UV_EINVAL, "client", uvzk_shared_value_init(NULL, &value, "/v", "", 0, NULL));
    REFUSED(UV_EINVAL, "value", INIT(NULL, "/v", "", 0));
    REFUSED(UV_EINVAL, "path", INIT(&value, NULL, "", 0));
    REFUSED(UV_EINVAL, "seed ", INIT(&value, "/v", NULL, 1));
    REFUSED(UV_EINVAL, "seed_length", INIT(&value, "/v", bytes, 1000001));
    REFUSED(UVZK_EPATH, "path", INIT(&value, "v", "", 0));
    assert_int_equal(INIT(&value, "/v", "", 0), 0);
    REFUSED(UV_EBUSY, "value", INIT(&value, "/v", "", 0));
    REFUSED(UVZK_ENONODE, "value", uvzk_shared_value_get(&value, NULL, NULL, NULL));
    REFUSED(UV_EINVAL, "value", uvzk_shared_value_get(NULL, NULL, NULL, NULL));
    REFUSED(UVZK_ECLOSED, "value", uvzk_shared_value_get(&none, NULL, NULL, NULL));
#define SET(handle, set, data, length, cb) \
    uvzk_shared_value_set((handle), (set), (data), (length), (cb))
    REFUSED(UV_EINVAL, "value", SET(NULL, &request, "", 0, ignore_set));
    REFUSED(UV_EINVAL, "request", SET(&value, NULL, "", 0, ignore_set));
    REFUSED(UV_EINVAL, "cb", SET(&value, &request, "", 0, NULL));
    REFUSED(UV_EINVAL, "data", SET(&value, &request, NULL, 1, ignore_set));
    REFUSED(UV_EINVAL, "length", SET(&value, &request, bytes, 1000001, ignore_set));
    REFUSED(UV_EBUSY, "request", SET(&value, &busy, "", 0, ignore_set));
    REFUSED(UVZK_ECLOSED, "value", SET(&none, &request, "", 0, ignore_set));
    REFUSED(UV_EINVAL, "version",
            uvzk_shared_value_try_set(&value, &request, NULL, "", 0, ignore_set));
    REFUSED(UV_EINVAL, "-1",
            uvzk_shared_value_try_set(&value, &request, &any, "", 0, ignore_set));
    REFUSED(UV_EINVAL, "value", uvzk_shared_value_close(NULL, NULL));
    REFUSED(UVZK_ESTATE, "value", uvzk_shared_value_close(&none, NULL));
    REFUSED(UV_EINVAL, "count", uvzk_shared_count_init(client, NULL, "/c", 1, NULL));
    assert_int_equal(uvzk_shared_count_init(client, &count, "/v", 1, NULL), 0);
    REFUSED(UV_EBUSY, "count", uvzk_shared_count_init(client, &count, "/c", 1, NULL));
    REFUSED(UV_EINVAL, "count", uvzk_shared_count_get(NULL, NULL, NULL));
    world_run_for(&world, 100);
    REFUSED(UVZK_EDATA, "four bytes", uvzk_shared_count_get(&count, NULL, NULL));
    assert_int_equal(uvzk_shared_count_close(&count, NULL), 0);
    assert_int_equal(uvzk_shared_value_close(&value, NULL), 0);
    end();
}

static void ignore_call(uvzk_req_t *call, int status)
{
    (void)call;
    (void)status;
}

static void test_barriers(void **state)
{
    uvzk_barrier_t barrier = {.data = NULL}, none = {.data = NULL};
    uvzk_double_barrier_t member = {.data = NULL}, nobody = {.data = NULL};
    uvzk_req_t call = {.data = NULL}, busy = {.impl = &call};
    (void)state;

    begin();
    uvzk_client_t *client = &a.client;
    REFUSED(UV_EINVAL, "client", uvzk_barrier_init(NULL, &barrier, "/b"));
    REFUSED(UV_EINVAL, "barrier", uvzk_barrier_init(client, NULL, "/b"));
    REFUSED(UV_EINVAL, "path", uvzk_barrier_init(client, &barrier, NULL));
    REFUSED(UVZK_EPATH, "path", uvzk_barrier_init(client, &barrier, "b"));
    assert_int_equal(uvzk_barrier_init(client, &barrier, "/b"), 0);
    REFUSED(UV_EBUSY, "barrier", uvzk_barrier_init(client, &barrier, "/b"));
    REFUSED(UV_EINVAL, "barrier", uvzk_barrier_set(NULL, &call, ignore_call));
    REFUSED(UV_EINVAL, "request", uvzk_barrier_set(&barrier, NULL, ignore_call));
    REFUSED(UV_EINVAL, "cb", uvzk_barrier_remove(&barrier, &call, NULL));
    REFUSED(UV_EINVAL, "timeout_ms", uvzk_barrier_wait(&barrier, &call, 0, ignore_call));
    REFUSED(UV_EBUSY, "request", uvzk_barrier_wait(&barrier, &busy, 1, ignore_call));
    REFUSED(UVZK_ECLOSED, "barrier", uvzk_barrier_wait(&none, &call, 1, ignore_call));
    REFUSED(UVZK_ESTATE, "request", uvzk_req_cancel(&call));
    REFUSED(UVZK_ESTATE, "barrier", uvzk_barrier_close(&none, NULL));
    REFUSED(UV_EINVAL, "member_quantity",
            uvzk_double_barrier_init(client, &member, "/d", 0, NULL));
    assert_int_equal(uvzk_double_barrier_init(client, &member, "/d", 2, NULL), 0);
    REFUSED(UVZK_ESTATE, "entered",
            uvzk_double_barrier_leave(&member, &call, 1, ignore_call));
    REFUSED(UVZK_ECLOSED, "barrier",
            uvzk_double_barrier_enter(&nobody, &call, 1, ignore_call));
    REFUSED(UVZK_ESTATE, "barrier", uvzk_double_barrier_close(&nobody, NULL));
    assert_int_equal(uvzk_double_barrier_close(&member, NULL), 0);
    assert_int_equal(uvzk_barrier_close(&barrier, NULL), 0);
    end();
}

static void ignore_future(uvzk_future_t *future, int status, void *context)
{
    (void)future;
    (void)status;
    (void)context;
}

static void test_futures(void **state)
{
    uvzk_future_t whole = {.data = NULL}, part = {.data = NULL}, none = {.data = NULL};
    uvzk_future_t *parts[] = {&part}, *twice[] = {&part, &part}, *bad[] = {&none};
    uvzk_future_t *null[] = {NULL};
    (void)state;

    begin();
    REFUSED(UV_EINVAL, "lost_cb", uvzk_lock_acquire_future(&a.mutex, &part, NULL, NULL));
    REFUSED(UV_EINVAL, "future", uvzk_lock_acquire_future(&a.mutex, NULL, NULL, ignore));
    assert_int_equal(uvzk_lock_acquire_future(&a.mutex, &part, NULL, ignore), 0);
    REFUSED(UV_EBUSY, "future", uvzk_lock_acquire_future(&a.mutex, &part, NULL, ignore));
    REFUSED(UV_EINVAL, "future", uvzk_future_status(NULL));
    REFUSED(UVZK_ESTATE, "future", uvzk_future_status(&none));
    REFUSED(UV_EINVAL, "future", uvzk_future_then(NULL, ignore_future, NULL));
    REFUSED(UV_EINVAL, "cb", uvzk_future_then(&part, NULL, NULL));
    REFUSED(UVZK_ESTATE, "future", uvzk_future_then(&none, ignore_future, NULL));
    REFUSED(UV_EINVAL, "future", uvzk_future_cancel(NULL));
    REFUSED(UVZK_ESTATE, "future", uvzk_future_deadline(&none, 1));
    REFUSED(
        UV_EINVAL, "future",
        uvzk_client_read(&a.client, uvzk_future_req(NULL), "/x", uvzk_future_complete));
    REFUSED(
        UV_EBUSY, "future",
        uvzk_client_read(&a.client, uvzk_future_req(&part), "/x", uvzk_future_complete));
    REFUSED(UV_EINVAL, "uvzk_future_complete",
            uvzk_client_read(&a.client, uvzk_future_req(&none), "/x", ignore_read));
    assert_null(none.impl);
    REFUSED(UV_EINVAL, "handle", uvzk_future_end(&none, NULL));
    REFUSED(UVZK_ESTATE, "handle", uvzk_future_end(&none, &a.client));
    REFUSED(UV_EINVAL, "future", uvzk_future_all_of(NULL, parts, 1));
    REFUSED(UV_EINVAL, "parts", uvzk_future_all_of(&whole, NULL, 1));
    REFUSED(UV_EINVAL, "n is 0", uvzk_future_n_of(&whole, parts, 1, 2));
    REFUSED(UV_EINVAL, "parts", uvzk_future_all_of(&whole, null, 1));
    REFUSED(UVZK_ESTATE, "parts", uvzk_future_all_of(&whole, bad, 1));
    REFUSED(UV_EBUSY, "twice", uvzk_future_all_of(&whole, twice, 2));
    assert_int_equal(uvzk_future_all_of(&whole, parts, 1), 0);
    REFUSED(UV_EBUSY, "another combination", uvzk_future_all_of(&none, parts, 1));
    uvzk_future_drop(&whole);
    uvzk_future_drop(&part);
    end();
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_only_of_the_code_that_was_returned),
        cmocka_unit_test(test_each_thread_has_its_own),
        cmocka_unit_test(test_options_of_a_client),
        cmocka_unit_test(test_making_and_ending_a_client),
        cmocka_unit_test(test_making_locks),
        cmocka_unit_test(test_making_multi_locks),
        cmocka_unit_test(test_making_locks_with_a_driver),
        cmocka_unit_test(test_acquiring),
        cmocka_unit_test(test_acquiring_what_a_recipe_has_not),
        cmocka_unit_test(test_releasing_and_asking),
        cmocka_unit_test(test_writing),
        cmocka_unit_test(test_questions),
        cmocka_unit_test(test_participants_and_lockers),
        cmocka_unit_test(test_values),
        cmocka_unit_test(test_barriers),
        cmocka_unit_test(test_futures),
    };
    return cmocka_run_group_tests_name("refusal", tests, NULL, NULL);
}
