/* SPDX-License-Identifier: Apache-2.0 */
/* mutex [HOSTS]: acquires a lock, works, and releases the lock.
 *
 *   $ ./mutex localhost:2181
 *
 * Each call below returns at once; its result arrives in a callback that uv_run() calls.
 * Run two of this program at the same time, or run one beside a Java program that uses an
 * InterProcessMutex on the same path: one of the two waits for the other. */
#include <inttypes.h>
#include <stdio.h>
#include <uv.h>
#include <uvzk.h>

/* The program owns these structs; uvzk keeps pointers to them until their last callback.
 * They must be all zeros before the first use, and static memory is. */
static uvzk_client_t client; /* one ZooKeeper session, for any number of locks */
static uvzk_mutex_t mutex;   /* one lock, by its path */
static uvzk_hold_t request;  /* one acquire; once granted, the hold */

static int exit_code = 1;

static void finish(void)
{
    /* Also closes the mutex. When both are closed, the loop has nothing left to do, and
     * uv_run() returns. */
    uvzk_client_close(&client, NULL);
}

/* The znode is deleted, and the lock is free. */
static void on_released(uvzk_hold_t *hold, int status)
{
    (void)hold;
    printf("released: %s\n", status == 0 ? "yes" : uvzk_strerror(status));
    exit_code = status == 0 ? 0 : 1;
    finish();
}

/* The hold was lost before it was released: the session has expired, or uvzk could not
 * prove in time that it has not. Stop all work that needs the lock. */
static void on_lost(uvzk_hold_t *hold, int reason)
{
    (void)hold;
    fprintf(stderr, "lost: %s\n", uvzk_strerror(reason));
    finish();
}

static void on_acquired(uvzk_hold_t *hold, int status)
{
    if (status < 0) {
        fprintf(stderr, "not granted: %s\n", uvzk_strerror(status));
        finish();
        return;
    }
    /* Send the token with each write that the lock protects. It grows with each grant, so
     * the receiver can refuse writes of former holders. */
    printf("granted: %s, token %" PRId64 "\n", uvzk_hold_path(hold),
           uvzk_hold_token(hold));
    uvzk_hold_release(hold, on_released);
}

int main(int argc, char **argv)
{
    uv_loop_t *loop = uv_default_loop();
    uvzk_client_options_t options;
    uvzk_acquire_options_t acquire_options;

    uvzk_client_options_init(&options);
    options.hosts = argc > 1 ? argv[1] : "127.0.0.1:2181";
    int rc = uvzk_client_init(loop, &client, &options);
    if (rc < 0) {
        fprintf(stderr, "%s: %s\n", options.hosts, uvzk_strerror(rc));
        return 1;
    }
    /* The program does not have to wait for the connection; the acquire waits for it. */
    uvzk_acquire_options_init(&acquire_options);
    acquire_options.timeout_ms = 15000;
    if ((rc = uvzk_client_start(&client)) < 0 ||
        (rc = uvzk_mutex_init(&client, &mutex, "/examples/mutex")) < 0 ||
        (rc = uvzk_lock_acquire(&mutex, &request, &acquire_options, on_acquired,
                                on_lost)) < 0) {
        fprintf(stderr, "%s\n", uvzk_strerror(rc));
        finish();
    }
    uv_run(loop, UV_RUN_DEFAULT);
    return uv_loop_close(loop) == 0 ? exit_code : 1;
}
