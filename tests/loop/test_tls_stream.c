/* SPDX-License-Identifier: Apache-2.0 */
/* A stream over TLS (native/stream.h), against a server of OpenSSL behind a socket: a server of
 * TLS 1.2 that begins a new handshake on the connection costs neither the connection nor what
 * waits to be sent. */
#include "cmocka_test.h"

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <uv.h>

#include "base/list.h"
#include "native/stream.h"
#include "tls_peer.h"
#include "uvzk.h"

#define PATIENCE_MS 20000
#define FINISHED 12 /* bytes of the message, in TLS 1.2 */

static const char request[] = {0, 0, 0, 2, 'h', 'i'};
static char file[] = "/tmp/uvzk-ca-XXXXXX";

struct world {
    uv_loop_t loop;
    uv_timer_t pulse;
    struct uvzk__sockets sockets;
    struct uvzk__tls_context *context;
    struct uvzk__stream *stream;
    int status; /* of the stream */
    int listener, accepted;
    SSL *server;
    size_t got;                       /* bytes that the server has got */
    unsigned char finished[FINISHED]; /* the server's, of the first handshake */
    struct issuer ours, named;
    bool closed;
};

/* -------------------------------------------------------------------------- both ends */

static void on_ready(struct uvzk__sockets *sockets, int fd, bool readable, bool writable)
{
    struct world *world = UVZK__CONTAINER_OF(sockets, struct world, sockets);
    (void)fd;

    if (world->status == 0) {
        world->status = uvzk__stream_ready(world->stream, readable, writable);
    }
}

static void on_due(struct uvzk__sockets *sockets)
{
    (void)sockets;
}

static void on_closed(struct uvzk__sockets *sockets)
{
    UVZK__CONTAINER_OF(sockets, struct world, sockets)->closed = true;
}

static void on_pulse(uv_timer_t *timer)
{
    (void)timer;
}

/* The server reads what has come. */
static void serve_on(struct world *world)
{
    char bytes[64];
    int count;

    if (world->accepted < 0) {
        world->accepted = accept(world->listener, NULL, NULL);
        if (world->accepted >= 0) {
            fcntl(world->accepted, F_SETFL, O_NONBLOCK);
            SSL_set_fd(world->server, world->accepted);
        }
        return;
    }
    while ((count = SSL_read(world->server, bytes, sizeof(bytes))) > 0) {
        world->got += (size_t)count;
    }
}

typedef bool (*condition)(struct world *world);

static void go_on_until(struct world *world, condition holds)
{
    uint64_t end = uvzk_now() + PATIENCE_MS;

    while (!holds(world)) {
        assert_int_equal(world->status, 0);
        assert_true(uvzk_now() < end);
        uv_run(&world->loop, UV_RUN_ONCE);
        serve_on(world);
    }
    assert_int_equal(world->status, 0);
}

static bool is_open(struct world *world)
{
    return uvzk__stream_is_open(world->stream);
}

static bool has_request(struct world *world)
{
    return world->got == sizeof(request);
}

/* The last message of a handshake is the server's, and differs from handshake to handshake. */
static bool is_renegotiated(struct world *world)
{
    unsigned char finished[FINISHED];

    return SSL_get_finished(world->server, finished, FINISHED) > 0 &&
           memcmp(finished, world->finished, FINISHED) != 0 &&
           SSL_is_init_finished(world->server);
}

static bool has_answer(struct world *world)
{
    struct uvzk__jute_bytes frame;

    return uvzk__stream_next(world->stream, &frame) == 0;
}

static void send_request(struct world *world)
{
    uvzk__jute_put_raw(uvzk__stream_out(world->stream), request, sizeof(request));
    uvzk__stream_flush(world->stream);
}

/* ---------------------------------------------------------------------- the connection */

static void make_context(struct world *world)
{
    char options[sizeof(file) + 4];
    FILE *out = fopen(file, "w");

    assert_int_equal(PEM_write_X509(out, world->ours.certificate), 1);
    fclose(out);
    snprintf(options, sizeof(options), "ca=%s", file);
    assert_int_equal(uvzk__tls_context_new(options, &world->context), 0);
}

static int open_world(void **state)
{
    struct world *world = calloc(1, sizeof(*world));
    struct sockaddr_in here = {.sin_family = AF_INET,
                               .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
    struct uvzk__address address;
    socklen_t length = sizeof(here);
    int fd = mkstemp(file);

    *state = world;
    close(fd);
    uv_loop_init(&world->loop);
    uv_timer_init(&world->loop, &world->pulse);
    uv_timer_start(&world->pulse, on_pulse, 1, 1);
    world->sockets.ready = on_ready;
    world->sockets.due = on_due;
    world->sockets.closed = on_closed;
    uvzk__sockets_open(&world->sockets, &world->loop);
    world->ours = certify("ours", NULL, -10, 10, NULL);
    world->named = certify("server", &world->ours, -1, 1, "IP:127.0.0.1");
    make_context(world);
    world->server = serve(&world->named);
    SSL_set_max_proto_version(world->server, TLS1_2_VERSION);
    world->accepted = -1;
    world->listener = socket(AF_INET, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
    assert_int_equal(bind(world->listener, (struct sockaddr *)&here, sizeof(here)), 0);
    assert_int_equal(listen(world->listener, 1), 0);
    getsockname(world->listener, (struct sockaddr *)&here, &length);
    assert_true(uvzk__address_read("127.0.0.1", ntohs(here.sin_port), &address));
    world->stream = uvzk__stream_new(&world->sockets, &address,
                                     uvzk__tls_new(world->context, NULL, "127.0.0.1"),
                                     &world->status);
    return world->stream == NULL ? -1 : 0;
}

static int close_world(void **state)
{
    struct world *world = *state;

    uvzk__stream_close(world->stream);
    uvzk__stream_free(world->stream);
    uvzk__sockets_close(&world->sockets);
    uv_close((uv_handle_t *)&world->pulse, NULL);
    uv_run(&world->loop, UV_RUN_DEFAULT);
    assert_true(world->closed);
    uv_loop_close(&world->loop);
    SSL_free(world->server);
    close(world->accepted);
    close(world->listener);
    uvzk__tls_context_free(world->context);
    discard(&world->named);
    discard(&world->ours);
    free(world);
    return unlink(file);
}

/* The client has answered, and the server has not read it. */
static void wait_for_the_client(struct world *world)
{
    uint64_t end = uvzk_now() + PATIENCE_MS;
    char byte;

    while (recv(world->accepted, &byte, 1, MSG_PEEK) != 1) {
        assert_int_equal(world->status, 0);
        assert_true(uvzk_now() < end);
        uv_run(&world->loop, UV_RUN_ONCE);
    }
}

static void begin_again(struct world *world)
{
    assert_true(SSL_get_finished(world->server, world->finished, FINISHED) > 0);
    assert_int_equal(SSL_renegotiate(world->server), 1);
    assert_int_equal(SSL_do_handshake(world->server), 1);
}

/* The client says at once what the server waits for. */
static void a_new_handshake_ends_without_a_request(void **state)
{
    struct world *world = *state;

    go_on_until(world, is_open);
    begin_again(world);
    go_on_until(world, is_renegotiated);
    send_request(world);
    go_on_until(world, has_request);
    assert_int_equal(SSL_write(world->server, request, sizeof(request)), sizeof(request));
    go_on_until(world, has_answer);
}

/* The client has begun the handshake when the request is sent. It is sent when the handshake
 * is over. */
static void a_request_waits_for_a_new_handshake(void **state)
{
    struct world *world = *state;

    go_on_until(world, is_open);
    begin_again(world);
    uint64_t before = uvzk__stream_taken(world->stream);
    wait_for_the_client(world);
    send_request(world);
    assert_int_equal(uvzk__stream_taken(world->stream), before);
    go_on_until(world, has_request);
    assert_int_equal(uvzk__stream_taken(world->stream), before + sizeof(request));
    assert_true(is_renegotiated(world));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(a_new_handshake_ends_without_a_request,
                                        open_world, close_world),
        cmocka_unit_test_setup_teardown(a_request_waits_for_a_new_handshake, open_world,
                                        close_world),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
