/* SPDX-License-Identifier: Apache-2.0 */
/* beside_openssl HOSTS TLS: a program that takes a lock over TLS again and again, and uses OpenSSL
 * itself on the loop's thread. In each second iteration of the loop it leaves errors in OpenSSL's
 * queue, and finds them as it left them; in the others it leaves none, finds none, and its own
 * connection, in memory, waits as it should. tls_native runs it. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <openssl/err.h>
#include <openssl/ssl.h>
#include <uv.h>
#include <uvzk.h>

#define ROUNDS 100
/* The connection is up so long at least, with pings, and the lock is taken meanwhile. */
#define LIFE_MS 3000

static uv_loop_t *loop;
static uvzk_client_t client;
static uvzk_mutex_t mutex;
static uvzk_hold_t hold;
static uv_prepare_t before;
static uv_check_t behind;
static uv_timer_t pulse;
static SSL_CTX *own_ctx;
static SSL *own;
static unsigned iterations, rounds, losses, faults;
static uint64_t end_at;

static void fault(const char *what)
{
    if (faults++ < 10) {
        fprintf(stderr, "iteration %u: %s\n", iterations, what);
    }
}

/* ------------------------------------------------------------------ the program's OpenSSL */

static void open_own(void)
{
    own_ctx = SSL_CTX_new(TLS_client_method());
    own = SSL_new(own_ctx);
    SSL_set_bio(own, BIO_new(BIO_s_mem()), BIO_new(BIO_s_mem()));
    SSL_set_connect_state(own);
}

/* The other end never says anything. */
static void try_own(void)
{
    if (SSL_get_error(own, SSL_do_handshake(own)) != SSL_ERROR_WANT_READ) {
        fault("the program's own connection has failed");
    }
}

static void leave_errors(void)
{
    if (BIO_new_file("/no/such/file", "r") != NULL) {
        fault("there is a file");
    }
    ERR_raise_data(ERR_LIB_USER, 7, "iteration %u", iterations);
}

static void look_for_errors(void)
{
    const char *text = NULL;
    char expected[40];
    int flags;

    snprintf(expected, sizeof(expected), "iteration %u", iterations);
    if (!ERR_SYSTEM_ERROR(ERR_get_error()) ||
        ERR_GET_LIB(ERR_get_error()) != ERR_LIB_BIO) {
        fault("the first two errors are not those that were left");
    }
    unsigned long last = ERR_get_error_all(NULL, NULL, NULL, &text, &flags);
    if (ERR_GET_LIB(last) != ERR_LIB_USER || ERR_GET_REASON(last) != 7 ||
        strcmp(text, expected) != 0) {
        fault("the last error is not the one that was left");
    }
}

/* Behind the timers, and before what the sockets bring. */
static void on_before(uv_prepare_t *handle)
{
    (void)handle;
    iterations++;
    if (iterations % 2 == 1) {
        leave_errors();
    } else {
        try_own();
    }
}

static void on_behind(uv_check_t *handle)
{
    (void)handle;
    if (iterations % 2 == 1) {
        look_for_errors();
    } else {
        try_own();
    }
    if (ERR_peek_error() != 0) {
        fault("there is an error of somebody else");
        ERR_clear_error();
    }
}

/* ------------------------------------------------------------------------------ the lock */

static void on_closed(uvzk_client_t *closed)
{
    (void)closed;
    uv_close((uv_handle_t *)&pulse, NULL);
    uv_close((uv_handle_t *)&before, NULL);
    uv_close((uv_handle_t *)&behind, NULL);
}

static void finish(void)
{
    uvzk_client_close(&client, on_closed);
}

static void acquire(void);

static void on_released(uvzk_hold_t *released, int status)
{
    (void)released;
    rounds++;
    if (status != 0) {
        fault(uvzk_err_name(status));
    }
    if (rounds >= ROUNDS && uvzk_now() >= end_at) {
        finish();
    } else {
        acquire();
    }
}

static void on_acquired(uvzk_hold_t *acquired, int status)
{
    if (status != 0) {
        fault(uvzk_err_name(status));
        finish();
    } else {
        uvzk_hold_release(acquired, on_released);
    }
}

static void on_lost(uvzk_hold_t *lost, int status)
{
    (void)lost;
    fault(uvzk_err_name(status));
}

static void acquire(void)
{
    int status = uvzk_lock_acquire(&mutex, &hold, NULL, on_acquired, on_lost);

    if (status != 0) {
        fault(uvzk_refusal(status));
        finish();
    }
}

static void on_state(uvzk_client_t *changed, uvzk_client_state_t state)
{
    (void)changed;
    losses += state == UVZK_STATE_SUSPENDED || state == UVZK_STATE_LOST;
}

static void on_log(uvzk_client_t *logs, int level, const char *module, const char *line)
{
    (void)logs;
    (void)level;
    fprintf(stderr, "%s: %s\n", module, line);
}

static void on_pulse(uv_timer_t *timer)
{
    (void)timer;
}

static int start(const char *hosts, const char *tls)
{
    uvzk_client_options_t options;

    uvzk_client_options_init(&options);
    options.hosts = hosts;
    options.tls = tls;
    options.transport = UVZK_TRANSPORT_NATIVE;
    options.session_timeout_ms = 3000;
    options.tick_ms = 200;
    options.state_cb = on_state;
    options.log_cb = on_log;
    int status = uvzk_client_init(loop, &client, &options);
    if (status == 0) {
        status = uvzk_client_start(&client);
    }
    if (status == 0) {
        status = uvzk_mutex_init(&client, &mutex, "/tls/beside");
    }
    return status;
}

int main(int argc, char **argv)
{
    loop = uv_default_loop();
    if (argc != 3) {
        return 64;
    }
    open_own();
    int status = start(argv[1], argv[2]);
    if (status != 0) {
        fprintf(stderr, "%s\n", uvzk_refusal(status));
        return 1;
    }
    end_at = uvzk_now() + LIFE_MS;
    uv_prepare_init(loop, &before);
    uv_prepare_start(&before, on_before);
    uv_check_init(loop, &behind);
    uv_check_start(&behind, on_behind);
    uv_timer_init(loop, &pulse);
    uv_timer_start(&pulse, on_pulse, 0, 10);
    acquire();
    uv_run(loop, UV_RUN_DEFAULT);
    SSL_free(own);
    SSL_CTX_free(own_ctx);
    printf("%u rounds, %u losses, %u faults, %u iterations\n", rounds, losses, faults,
           iterations);
    return rounds >= ROUNDS && losses == 0 && faults == 0 ? 0 : 1;
}
