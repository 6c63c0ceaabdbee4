/* SPDX-License-Identifier: Apache-2.0 */
/* fenced_store [HOSTS]: a handler that hangs, a longest hold, and a store that refuses old
 * tokens.
 *
 *   slow   holds the lock for one second at most, and hands its token to a worker, which
 *          hangs. The hold is given back, and slow is told that it has lost the lock;
 *   fast   is granted the lock, with a greater token, and writes;
 *   slow's worker goes on at last, and writes with its old token: the store refuses.
 *
 * The limit makes others wait no longer than a second. It cannot stop what the worker has
 * sent already, or is about to send. Only the store can do that, so it keeps the greatest
 * token that it has seen. */
#include <inttypes.h>
#include <stdbool.h>
#include <stdio.h>
#include <uv.h>
#include <uvzk.h>

/* Elsewhere: a database, with one row for each lock, or an object store that compares. */
static struct {
    int64_t token; /* the greatest so far */
    const char *text;
} store;

static uvzk_client_t client;
static uvzk_mutex_t mutex;
static uvzk_hold_t slow, fast; /* must be all zeros */
static uv_timer_t worker;
static int64_t slow_token; /* what slow's worker was given */
static bool late_write_was_refused;

static bool store_write(int64_t token, const char *text)
{
    bool is_new_enough = token >= store.token;

    if (is_new_enough) {
        store.token = token;
        store.text = text;
    }
    printf("the store %s \"%s\", with the token %" PRId64 "\n",
           is_new_enough ? "has" : "refuses", text, token);
    return is_new_enough;
}

static void on_closed(uvzk_client_t *closed)
{
    (void)closed;
    uv_close((uv_handle_t *)&worker, NULL);
}

static void finish(void)
{
    uvzk_client_close(&client, on_closed);
}

static void on_released(uvzk_hold_t *hold, int status)
{
    (void)hold;
    printf("fast: released, %s\n", status == 0 ? "yes" : uvzk_strerror(status));
    finish();
}

/* It knows nothing of what has happened since it was given the token. */
static void on_worker(uv_timer_t *timer)
{
    (void)timer;
    late_write_was_refused = !store_write(slow_token, "slow's work");
    uvzk_hold_release(&fast, on_released);
}

/* The end is near. A program may cancel its work here, or log who hangs. */
static void on_max_hold(uvzk_hold_t *hold, uint64_t ends_at)
{
    (void)hold;
    printf("slow: the hold ends soon: %s\n", ends_at > uvzk_now() ? "yes" : "at once");
}

/* The lock is given back when this returns: from now on, others may hold it. */
static void on_lost(uvzk_hold_t *hold, int reason)
{
    printf("%s: lost, %s\n", hold == &slow ? "slow" : "fast", uvzk_err_name(reason));
}

static void on_fast(uvzk_hold_t *hold, int status)
{
    if (status < 0) {
        fprintf(stderr, "fast: %s\n", uvzk_strerror(status));
        finish();
        return;
    }
    printf("fast: granted\n");
    store_write(uvzk_hold_token(hold), "fast's work");
    uv_timer_start(&worker, on_worker, 100, 0); /* slow's worker goes on */
}

static void on_slow(uvzk_hold_t *hold, int status)
{
    if (status < 0) {
        fprintf(stderr, "slow: %s\n", uvzk_strerror(status));
        finish();
        return;
    }
    slow_token = uvzk_hold_token(hold);
    printf("slow: granted, with the token %" PRId64 "; its worker hangs\n", slow_token);
    uvzk_lock_acquire(&mutex, &fast, NULL, on_fast, on_lost);
}

int main(int argc, char **argv)
{
    uv_loop_t *loop = uv_default_loop();
    uvzk_client_options_t options;
    uvzk_acquire_options_t limited;

    uv_timer_init(loop, &worker);
    uvzk_client_options_init(&options);
    options.hosts = argc > 1 ? argv[1] : "127.0.0.1:2181";
    int rc = uvzk_client_init(loop, &client, &options);
    if (rc < 0) {
        fprintf(stderr, "%s: %s\n", options.hosts, uvzk_strerror(rc));
        return 1;
    }
    uvzk_acquire_options_init(&limited);
    limited.max_hold_ms = 1000;
    limited.max_hold_warning_ms = 500;
    limited.max_hold_cb = on_max_hold;
    if ((rc = uvzk_client_start(&client)) < 0 ||
        (rc = uvzk_mutex_init(&client, &mutex, "/examples/fenced")) < 0 ||
        (rc = uvzk_lock_acquire(&mutex, &slow, &limited, on_slow, on_lost)) < 0) {
        fprintf(stderr, "%s\n", uvzk_strerror(rc));
        finish();
    }
    uv_run(loop, UV_RUN_DEFAULT);
    return uv_loop_close(loop) == 0 && late_write_was_refused ? 0 : 1;
}
