/* SPDX-License-Identifier: Apache-2.0 */
/* A process that has only a few descriptors left at each call of the library, over both
 * transports: whichever descriptor is missing, the outcome is a code or a delay, the
 * client works when there are descriptors again, and nothing is left open. */
#include "world.h"

#include <fcntl.h>
#include <string.h>
#include <sys/resource.h>

#define PATH "/descriptors"
#define MOST 24         /* more than a client needs */
#define DESCRIPTORS 256 /* more than this program has */
#define WHILE_FEW_MS 150

/* A client without the kit, whose own descriptors would be missing, too. */
struct user {
    uv_loop_t loop;
    uvzk_client_t client;
    uvzk_mutex_t mutex;
    uvzk_hold_t hold;
    bool answered, lost, released, closed;
    int status, release_status;
};

static struct user user;
static char hosts[64]; /* of the next client */

static bool is_open(int fd)
{
    return fcntl(fd, F_GETFD) >= 0;
}

static int count_open(void)
{
    int count = 0;

    for (int fd = 0; fd < DESCRIPTORS; fd++) {
        count += is_open(fd);
    }
    return count;
}

/* The process can open so many descriptors more. */
static void leave(int more)
{
    struct rlimit limit;
    int fd = 0;

    for (; more > 0 || is_open(fd); fd++) {
        more -= !is_open(fd);
    }
    assert_int_equal(getrlimit(RLIMIT_NOFILE, &limit), 0);
    limit.rlim_cur = (rlim_t)fd;
    assert_int_equal(setrlimit(RLIMIT_NOFILE, &limit), 0);
}

/* A callback of the user. */
static void answered(uvzk_hold_t *hold, int status)
{
    (void)hold;
    user.answered = true;
    user.status = status;
}

static void lost(uvzk_hold_t *hold, int reason)
{
    (void)hold;
    (void)reason;
    user.lost = true;
}

static void released(uvzk_hold_t *hold, int status)
{
    (void)hold;
    user.released = true;
    user.release_status = status;
}

static void closed(uvzk_client_t *client)
{
    (void)client;
    user.closed = true;
}

static int init(uvzk_transport_t transport)
{
    uvzk_client_options_t options;

    uvzk_client_options_init(&options);
    options.hosts = hosts;
    options.transport = transport;
    options.session_timeout_ms = 4000;
    return uvzk_client_init(&user.loop, &user.client, &options);
}

static void acquire(void)
{
    user.answered = false;
    assert_int_equal(uvzk_lock_acquire(&user.mutex, &user.hold, NULL, answered, lost), 0);
}

/* There are descriptors again. Who was told that there are none asks once more. */
static void hold_and_release(void)
{
    assert_true(run_until_set(&user.loop, &user.answered));
    if (user.status != 0) {
        acquire();
        assert_true(run_until_set(&user.loop, &user.answered));
    }
    assert_int_equal(user.status, 0);
    assert_int_equal(uvzk_hold_release(&user.hold, released), 0);
    assert_true(run_until_set(&user.loop, &user.released));
    assert_int_equal(user.release_status, 0);
    assert_false(user.lost);
}

static void use_with(int more)
{
    assert_int_equal(uvzk_client_start(&user.client), 0);
    assert_int_equal(uvzk_mutex_init(&user.client, &user.mutex, PATH), 0);
    acquire();
    run_for(&user.loop, WHILE_FEW_MS);
    leave(DESCRIPTORS / 2);
    hold_and_release();
    leave(more);
    assert_int_equal(uvzk_client_close(&user.client, closed), 0);
    assert_true(run_until_set(&user.loop, &user.closed));
}

/* Returns what the init returned. */
static int try_with(uvzk_transport_t transport, int more)
{
    int before = count_open();

    memset(&user, 0, sizeof(user));
    assert_int_equal(uv_loop_init(&user.loop), 0);
    leave(more);
    int status = init(transport);
    if (status == 0) {
        use_with(more);
    }
    assert_int_equal(run_down(&user.loop), 0);
    leave(DESCRIPTORS / 2);
    assert_int_equal(count_open(), before);
    return status;
}

static void try_all(uvzk_transport_t transport)
{
    /* What libuv has for the whole process is there from now on. */
    assert_int_equal(uv_loop_init(&user.loop), 0);
    assert_int_equal(uv_loop_close(&user.loop), 0);
    assert_true(count_open() < DESCRIPTORS / 2);
    for (int more = 0; more < MOST; more++) {
        int status = try_with(transport, more);
        assert_true(status == 0 || status == UV_EMFILE || status == UV_ENOMEM);
    }
    assert_int_equal(try_with(transport, MOST), 0);
}

/* A name is looked up in a file. */
static void begin(const char *host)
{
    snprintf(hosts, sizeof(hosts), "%s:%u", host, server_port(live_server));
}

static void test_native_with_few_descriptors(void **state)
{
    (void)state;
    begin("127.0.0.1");
    try_all(UVZK_TRANSPORT_NATIVE);
}

static void test_native_with_few_descriptors_for_names(void **state)
{
    (void)state;
    begin("localhost");
    try_all(UVZK_TRANSPORT_NATIVE);
}

static void test_c_client_with_few_descriptors(void **state)
{
    (void)state;
    begin("127.0.0.1");
    try_all(UVZK_TRANSPORT_C_CLIENT);
}

static void test_c_client_with_few_descriptors_for_names(void **state)
{
    (void)state;
    begin("localhost");
    try_all(UVZK_TRANSPORT_C_CLIENT);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_native_with_few_descriptors),
        cmocka_unit_test(test_native_with_few_descriptors_for_names),
        cmocka_unit_test(test_c_client_with_few_descriptors),
        cmocka_unit_test(test_c_client_with_few_descriptors_for_names),
    };
    return cmocka_run_group_tests(tests, servers_start_one, servers_stop);
}
