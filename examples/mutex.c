/* mutex [HOSTS]: takes a lock, does something under it, gives it back.
 *
 *   $ ./mutex localhost:2181
 *
 * Every call below returns at once; what comes of it arrives in a callback, from
 * inside uv_run(). Run it twice at the same time, or beside a Java program with
 * an InterProcessMutex on the same path: one waits for the other. */
#include <inttypes.h>
#include <stdio.h>
#include <uv.h>
#include <uvzk.h>

/* These are yours: uvzk keeps pointers to them until their last callback.
 * Static memory is filled with zeros, as they must be before the first use. */
static uvzk_client_t client; /* one ZooKeeper session, for any number of locks */
static uvzk_mutex_t mutex;   /* one lock, by its path */
static uvzk_hold_t request;  /* one attempt to take it; once granted, the hold */

static int exit_code = 1;

static void finish(void)
{
    /* Closes the mutex as well. When all of it is done the loop has nothing
     * left to do, and uv_run() returns. */
    uvzk_client_close(&client, NULL);
}

/* The znode is gone, the lock is free. */
static void on_released(uvzk_hold_t *hold, int status)
{
    (void)hold;
    printf("released: %s\n", status == 0 ? "yes" : uvzk_strerror(status));
    exit_code = status == 0 ? 0 : 1;
    finish();
}

/* The lock stopped being ours before we released it: the session ended, or it
 * could not be proved in time that it had not. Stop what needs the lock. */
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
    /* Send the token along with whatever you write under the lock: it grows
     * with every grant, so the other side can refuse writes of former holders. */
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
    /* No need to wait for the connection: the request does. */
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
