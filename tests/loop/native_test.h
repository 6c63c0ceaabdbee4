/* SPDX-License-Identifier: Apache-2.0 */
/* A probe over a native port to scripted servers, and the loop of all three. */
#ifndef NATIVE_TEST_H
#define NATIVE_TEST_H

#include "probe.h"
#include "scripted_server.h"

/* What a native test has: a server, another one, and a probe whose port is not open. */
struct native_test {
    uv_loop_t loop;
    struct scripted_server server, other;
    struct probe *probe;
};

/* What the next port is given. */
struct native_test_settings {
    const char *chroot;
    const char *auth_scheme;
    const char *sasl;            /* as in options.sasl; NULL: none */
    uint32_t session_timeout_ms; /* asked for, and granted */
    bool two_servers;            /* it knows the other one, too */
};
extern struct native_test_settings native_test_settings;

int native_test_reset(void **state);
/* A test with a probe that is not open; the same, connected. Both have empty servers. */
struct native_test *native_begin(void);
struct native_test *native_begin_connected(void);
void native_end(struct native_test *test);

/* Waits until the counter has reached the value. */
void native_await(struct native_test *test, const unsigned *counter, unsigned value);
/* Closes the newest connection at the server, and waits for the next CONNECTED. */
void native_reconnect(struct native_test *test);
/* Requests that arm watches again have so many bytes, or one path more. */
void native_rearm_bytes(struct native_test *test, size_t bytes);
/* Waits until both sides have read what was sent. */
void native_settle(struct native_test *test);

/* Run the tests of a file. They return the number of those that have failed. */
int native_dialect_tests_run(void);
int native_watch_tests_run(void);
int native_sending_tests_run(void);
int native_turn_tests_run(void);
int native_reply_tests_run(void);
int native_list_tests_run(void);
int native_conduct_tests_run(void);
int native_authentication_tests_run(void);

#endif
