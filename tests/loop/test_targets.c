/* SPDX-License-Identifier: Apache-2.0 */
/* Which servers a search hands over when several of its targets have one address
 * (discovery/targets.h). */
#include "cmocka_test.h"

#include <netinet/in.h>
#include <poll.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/memory.h"
#include "discovery/targets.h"

static struct uvzk__sockets sockets;
static struct uvzk__targets targets;
static const struct uvzk__host first = {"zoo1.example", 2281},
                               second = {"zoo2.example", 2281},
                               first_again = {"zoo1.example", 2281};

static void add(const struct uvzk__host *host, const char *text)
{
    struct uvzk__address address;

    assert_true(uvzk__address_read(text, 2281, &address));
    assert_int_equal(uvzk__targets_add(&targets, host, &address), 0);
    targets.array[targets.count - 1].result = UVZK__PROBE_SERVER;
}

/* What is handed over, in any order: "HOST/ADDRESS" each. */
static void assert_handed_over(const char *const *expected, size_t count)
{
    struct uvzk__named_address *found;
    char local[UVZK__ADDRESS_TEXT];

    assert_int_equal(uvzk__targets_take_addresses(&targets, &found, local), count);
    for (size_t i = 0; i < count; i++) {
        bool any = false;
        for (size_t j = 0; j < count; j++) {
            char address[UVZK__ADDRESS_TEXT], text[UVZK__HOST_MAX + UVZK__ADDRESS_TEXT];
            uvzk__address_text(&found[j].address, address);
            snprintf(text, sizeof(text), "%s/%s",
                     found[j].host == NULL ? "" : found[j].host, address);
            any = any || strcmp(text, expected[i]) == 0;
        }
        assert_true(any);
    }
    uvzk__free(found);
}

static int open_targets(void **state)
{
    (void)state;
    targets = (struct uvzk__targets){.only_connects = false};
    uvzk__targets_init(&targets, &sockets, 1000);
    add(NULL, "127.0.0.1");
    add(&first, "127.0.0.1");
    add(&second, "127.0.0.1");
    add(&first_again, "127.0.0.1");
    add(&first, "127.0.0.2");
    return 0;
}

static int close_targets(void **state)
{
    (void)state;
    uvzk__targets_free(&targets);
    return 0;
}

static void in_plain_text_an_address_is_one_server(void **state)
{
    static const char *const expected[] = {"/127.0.0.1", "zoo1.example/127.0.0.2"};
    (void)state;

    assert_handed_over(expected, 2);
}

/* A certificate is for a host, and a proxy asks which one is meant. */
static void over_tls_each_host_of_an_address_is_one(void **state)
{
    static const char *const expected[] = {"/127.0.0.1", "zoo1.example/127.0.0.1",
                                           "zoo2.example/127.0.0.1",
                                           "zoo1.example/127.0.0.2"};
    (void)state;

    targets.only_connects = true;
    assert_handed_over(expected, 4);
}

/* ------------------------------------------------------------ a queue without room */

static void nothing_is_ready(struct uvzk__sockets *of, int fd, bool readable,
                             bool writable)
{
    (void)of;
    (void)fd;
    (void)readable;
    (void)writable;
}

static void nothing_is_due(struct uvzk__sockets *of)
{
    (void)of;
}

static void never_settled(struct uvzk__targets *of, const struct uvzk__target *target,
                          uint64_t now, bool news)
{
    (void)of;
    (void)target;
    (void)now;
    (void)news;
    fail();
}

static int listen_without_room(struct uvzk__address *address)
{
    struct sockaddr_in name = {.sin_family = AF_INET,
                               .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
    socklen_t length = sizeof(name);
    int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);

    assert_int_equal(bind(fd, (struct sockaddr *)&name, length), 0);
    assert_int_equal(listen(fd, 0), 0);
    assert_int_equal(getsockname(fd, (struct sockaddr *)&name, &length), 0);
    assert_true(uvzk__address_read("127.0.0.1", ntohs(name.sin_port), address));
    return fd;
}

static uint16_t own_port(const struct uvzk__target *target)
{
    struct sockaddr_in name;
    socklen_t length = sizeof(name);

    assert_int_equal(getsockname(target->probe.fd, (struct sockaddr *)&name, &length), 0);
    return name.sin_port;
}

static bool is_connected(const struct uvzk__target *target)
{
    struct pollfd ready = {.fd = target->probe.fd, .events = POLLOUT};

    return poll(&ready, 1, 0) == 1;
}

/* The time of the probe is that of all its connections together. */
static void a_connection_that_is_not_accepted_is_begun_anew(void **state)
{
    struct uvzk__address address;
    int first_in_queue, listener = listen_without_room(&address);
    uv_loop_t loop;
    (void)state;

    assert_int_equal(uvzk__socket_connect(&address, &first_in_queue), 0);
    uv_loop_init(&loop);
    sockets = (struct uvzk__sockets){
        .ready = nothing_is_ready, .due = nothing_is_due, .closed = nothing_is_due};
    assert_int_equal(uvzk__sockets_open(&sockets, &loop), 0);
    targets = (struct uvzk__targets){.searching = true, .settled = never_settled};
    uvzk__targets_init(&targets, &sockets, 60000);
    assert_int_equal(uvzk__targets_add(&targets, NULL, &address), 0);
    const struct uvzk__target *target = &targets.array[0];

    uvzk__targets_begin(&targets, 1);
    uvzk__targets_step(&targets, 1);
    uint64_t ends_at = target->moment, again_at = target->tries.again_at;
    assert_true(again_at < ends_at);
    assert_int_equal(uvzk__targets_next(&targets), again_at);
    uvzk__targets_step(&targets, again_at - 1);
    assert_int_equal(target->tries.again_at, again_at);

    close(accept(listener, NULL, NULL));
    uint16_t dropped = own_port(target);
    uvzk__targets_step(&targets, again_at);
    assert_int_not_equal(own_port(target), dropped);
    assert_true(is_connected(target));
    assert_int_equal(target->moment, ends_at);
    assert_true(target->tries.again_at - again_at > again_at - (ends_at - 20000));
    assert_true(uvzk__targets_ready(&targets, target->probe.fd));
    assert_int_equal(uvzk__targets_next(&targets), ends_at);

    uvzk__targets_end_probes(&targets);
    uvzk__targets_free(&targets);
    uvzk__sockets_close(&sockets);
    uv_run(&loop, UV_RUN_DEFAULT);
    assert_int_equal(uv_loop_close(&loop), 0);
    close(first_in_queue);
    close(listener);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_connection_that_is_not_accepted_is_begun_anew),
        cmocka_unit_test_setup_teardown(in_plain_text_an_address_is_one_server,
                                        open_targets, close_targets),
        cmocka_unit_test_setup_teardown(over_tls_each_host_of_an_address_is_one,
                                        open_targets, close_targets),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
