/* SPDX-License-Identifier: Apache-2.0 */
/* What `uvzk lock` tells systemd: when the watchdog ends, what is in the datagrams, and what
 * CMD inherits of the environment. */
#include "service_manager.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "cmocka_test.h"

#define SESSION 16000U
#define SLACK 1000U /* of this session */
#define UNIT_MS 30000U
#define NOW 1000000U

static int manager_socket;
static uint64_t now, now_after;
uint64_t __wrap_uvzk_now(void);

/* The second look at the clock is after the datagram. */
uint64_t __wrap_uvzk_now(void)
{
    uint64_t told = now;

    now = now_after;
    return told;
}

/* A service manager with an abstract address. */
static int listen_as(const char *address, size_t length)
{
    struct sockaddr_un name = {.sun_family = AF_UNIX};
    int end = socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);

    memcpy(name.sun_path, address, length);
    assert_int_equal(bind(end, (const struct sockaddr *)&name,
                          (socklen_t)(offsetof(struct sockaddr_un, sun_path) + length)),
                     0);
    return end;
}

static int begin(void **state)
{
    char address[64], pid[32];
    int length = snprintf(address, sizeof(address), "@uvzk-test-%ld", (long)getpid());

    (void)state;
    (void)snprintf(pid, sizeof(pid), "%ld", (long)getpid());
    setenv("NOTIFY_SOCKET", address, 1);
    setenv("WATCHDOG_USEC", "30000000", 1);
    setenv("WATCHDOG_PID", pid, 1);
    setenv("SYSTEMD_EXEC_PID", pid, 1);
    address[0] = '\0';
    manager_socket = listen_as(address, (size_t)length);
    now = now_after = NOW;
    return 0;
}

static int end(void **state)
{
    (void)state;
    return close(manager_socket);
}

/* The next datagram; "" if there is none. */
static const char *told(void)
{
    static char text[1024];
    ssize_t length = recv(manager_socket, text, sizeof(text) - 1, 0);

    text[length < 0 ? 0 : length] = '\0';
    return text;
}

static void the_watchdog_ends_before_the_validity(void **state)
{
    (void)state;
    for (uint64_t left = 0; left < 2 * SESSION; left += 7) {
        uint64_t watchdog = service_manager_watchdog(UNIT_MS, NOW, NOW + left, SESSION);
        if (watchdog == 0) {
            assert_in_range(left, 0, SLACK + 10);
        } else {
            assert_true(NOW + watchdog + SLACK <= NOW + left || watchdog == UNIT_MS);
            assert_true(watchdog <= UNIT_MS);
        }
    }
    assert_int_equal(service_manager_watchdog(UNIT_MS, NOW, NOW - 1, SESSION), 0);
    assert_int_equal(service_manager_watchdog(UNIT_MS, NOW, 0, SESSION), 0);
    assert_int_equal(service_manager_watchdog(UNIT_MS, NOW, UINT64_MAX, SESSION),
                     UNIT_MS);
}

/* A hold that is proved on schedule has a third of its session timeout left, and is looked
 * at twelve times in one: no look comes too late. */
static void a_hold_that_is_proved_is_kept_alive(void **state)
{
    (void)state;
    for (uint64_t session = 1000; session < 100000; session += 500) {
        uint64_t watchdog =
            service_manager_watchdog(86400000, NOW, NOW + session / 3, session);
        assert_true(watchdog > session / 6);
    }
}

static void it_tells_that_it_is_ready_once(void **state)
{
    struct service_manager manager;

    (void)state;
    service_manager_init(&manager);
    service_manager_tell(&manager, "waits for", "/a");
    assert_string_equal(told(), "STATUS=waits for /a");
    service_manager_keep_alive(&manager, NOW + 6000, SESSION);
    assert_string_equal(told(), "READY=1\nWATCHDOG=1\nWATCHDOG_USEC=5000000");
    service_manager_keep_alive(&manager, NOW + 100000, SESSION);
    assert_string_equal(told(), "WATCHDOG=1\nWATCHDOG_USEC=30000000");
    service_manager_keep_alive(&manager, NOW + SLACK, SESSION);
    assert_string_equal(told(), "");
    service_manager_stopping(&manager, "releasing the lock");
    assert_string_equal(told(), "STOPPING=1\nSTATUS=releasing the lock");
}

/* It is ready with the first keepalive, and not before: systemd would begin with the length
 * that the unit has. */
static void it_is_not_ready_without_a_keepalive(void **state)
{
    struct service_manager manager;

    (void)state;
    service_manager_init(&manager);
    service_manager_keep_alive(&manager, NOW + SLACK, SESSION);
    assert_string_equal(told(), "");
    service_manager_keep_alive(&manager, NOW + 6000, SESSION);
    assert_string_equal(told(), "READY=1\nWATCHDOG=1\nWATCHDOG_USEC=5000000");
}

/* Stopped between the look at the clock and the datagram: systemd counts from too late a
 * moment, so a shorter watchdog follows. */
static void a_late_keepalive_is_corrected(void **state)
{
    struct service_manager manager;

    (void)state;
    service_manager_init(&manager);
    now_after = NOW + 3000;
    service_manager_keep_alive(&manager, NOW + 6000, SESSION);
    assert_string_equal(told(), "READY=1\nWATCHDOG=1\nWATCHDOG_USEC=5000000");
    assert_string_equal(told(), "WATCHDOG=1\nWATCHDOG_USEC=2000000");
    assert_string_equal(told(), "");
}

static void a_unit_without_a_watchdog_gets_none(void **state)
{
    struct service_manager manager;

    (void)state;
    setenv("WATCHDOG_PID", "1", 1); /* the watchdog of another process */
    service_manager_init(&manager);
    service_manager_keep_alive(&manager, NOW + 6000, SESSION);
    assert_string_equal(told(), "READY=1");
    service_manager_keep_alive(&manager, NOW + 6000, SESSION);
    assert_string_equal(told(), "");
    assert_int_equal(service_manager_every(&manager, 1000), 1000);
}

static void it_is_called_twice_in_a_watchdog(void **state)
{
    struct service_manager manager;

    (void)state;
    setenv("WATCHDOG_USEC", "600000", 1);
    service_manager_init(&manager);
    assert_int_equal(service_manager_every(&manager, 1000), 300);
    assert_int_equal(service_manager_every(&manager, 100), 100);
}

static void cmd_inherits_none_of_it(void **state)
{
    struct service_manager manager;

    (void)state;
    service_manager_init(&manager);
    assert_null(getenv("NOTIFY_SOCKET"));
    assert_null(getenv("WATCHDOG_USEC"));
    assert_null(getenv("WATCHDOG_PID"));
}

/* The unit is a script, which tells of itself. */
static void it_tells_nothing_within_a_script_of_a_unit(void **state)
{
    struct service_manager manager;

    (void)state;
    setenv("SYSTEMD_EXEC_PID", "1", 1);
    service_manager_init(&manager);
    service_manager_keep_alive(&manager, NOW + 6000, SESSION);
    service_manager_tell(&manager, "waits for", "/a");
    assert_string_equal(told(), "");
    assert_non_null(getenv("NOTIFY_SOCKET"));
}

static void a_path_is_an_address(void **state)
{
    struct service_manager manager;
    char path[64];

    (void)state;
    (void)snprintf(path, sizeof(path), "/tmp/uvzk-test-%ld", (long)getpid());
    close(manager_socket);
    (void)unlink(path);
    manager_socket = listen_as(path, strlen(path));
    setenv("NOTIFY_SOCKET", path, 1);
    service_manager_init(&manager);
    service_manager_tell(&manager, "waits for", "/a");
    assert_string_equal(told(), "STATUS=waits for /a");
    assert_int_equal(unlink(path), 0);
    service_manager_tell(&manager, "waits for", "/b"); /* nobody listens */
}

static void a_path_is_one_field(void **state)
{
    struct service_manager manager;

    (void)state;
    service_manager_init(&manager);
    service_manager_tell(&manager, "waits for", "/a\nMAINPID=1\r\x7f");
    assert_string_equal(told(), "STATUS=waits for /a?MAINPID=1??");
}

static void other_addresses_are_left_alone(void **state)
{
    static const char *const others[] = {"", "/", "relative", "vsock:2:1"};
    struct service_manager manager;
    char long_path[200];

    (void)state;
    for (size_t i = 0; i < sizeof(others) / sizeof(others[0]); i++) {
        setenv("NOTIFY_SOCKET", others[i], 1);
        service_manager_init(&manager);
        service_manager_tell(&manager, "waits for", "/a");
    }
    memset(long_path, '/', sizeof(long_path) - 1);
    long_path[sizeof(long_path) - 1] = '\0';
    setenv("NOTIFY_SOCKET", long_path, 1);
    service_manager_init(&manager);
    service_manager_tell(&manager, "waits for", "/a");
    assert_string_equal(told(), "");
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, begin, end)

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(the_watchdog_ends_before_the_validity),
        TEST(a_hold_that_is_proved_is_kept_alive),
        TEST(it_tells_that_it_is_ready_once),
        TEST(it_is_not_ready_without_a_keepalive),
        TEST(a_late_keepalive_is_corrected),
        TEST(a_unit_without_a_watchdog_gets_none),
        TEST(it_is_called_twice_in_a_watchdog),
        TEST(cmd_inherits_none_of_it),
        TEST(it_tells_nothing_within_a_script_of_a_unit),
        TEST(a_path_is_an_address),
        TEST(a_path_is_one_field),
        TEST(other_addresses_are_left_alone),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
