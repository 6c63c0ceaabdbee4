/* SPDX-License-Identifier: Apache-2.0 */
/* deadline_cancel_lost [HOSTS]: the ways in which a lock is not granted, or is lost.
 * Three contenders of one process want one lock:
 *
 *   alice  is granted the lock and keeps it;
 *   bob    waits half a second at most: his callback gets UV_ETIMEDOUT;
 *   carol  has no time limit, but is cancelled as soon as she knows her position
 *          in the queue: her callback gets UV_ECANCELED;
 *   alice  loses the lock, because the mutex is closed while she holds it.
 *
 * Each request has exactly one last callback. After that callback, the request has no
 * znode in ZooKeeper, or its znode is being deleted. */
#include <inttypes.h>
#include <stdbool.h>
#include <stdio.h>
#include <uv.h>
#include <uvzk.h>

static uvzk_client_t client;
static uvzk_mutex_t mutex;
static uvzk_hold_t alice, bob, carol; /* must be all zeros */

static bool bob_timed_out, carol_was_cancelled, alice_lost_it;
static int still_waiting = 2; /* bob and carol */

static void on_mutex_closed(uvzk_mutex_t *closed)
{
    (void)closed;
    puts("the mutex is closed");
    uvzk_client_close(&client, NULL);
}

/* The hold is lost: this program no longer holds the lock, although it did not
 * release the lock, and another contender may be granted it. The program must stop all
 * work that needs the lock. This callback runs at most once for a hold, and not while a
 * release is under way. These are the most common reasons:
 *
 *   UVZK_EEXPIRED  the session has expired, and its znodes are deleted;
 *   UVZK_EPROOF    the hold could not be proved in time: there is no connection, or
 *                  only to a server that has lost its quorum. This callback runs
 *                  before the servers can grant the lock to another client, so
 *                  there are never two holders;
 *   UVZK_EDELETED  another client deleted the lock's znode;
 *   UVZK_EAUTH     ZooKeeper refused the credentials;
 *   UVZK_ECLOSED   this program closed the client or the mutex; this is the reason
 *                  that a small program can show. */
static void on_lost(uvzk_hold_t *hold, int reason)
{
    printf("alice: lost, %s (%s)\n", uvzk_err_name(reason), uvzk_strerror(reason));
    alice_lost_it = hold == &alice && reason == UVZK_ECLOSED;
}

static void on_waited(uvzk_hold_t *request, int status)
{
    printf("%s: %s\n", request == &bob ? "bob" : "carol",
           status == 0 ? "granted" : uvzk_err_name(status));
    if (request == &bob) {
        bob_timed_out = status == UV_ETIMEDOUT;
    } else {
        carol_was_cancelled = status == UV_ECANCELED;
    }
    if (--still_waiting == 0) {
        /* alice still holds the lock. uvzk_hold_is_valid() reads the clock and may be
         * called at any time. It returns 0 as soon as the hold is no longer proved. */
        printf("alice: %s\n", uvzk_hold_is_valid(&alice) ? "still held" : "not held");
        uvzk_lock_close(&mutex, on_mutex_closed);
    }
}

static void on_queued(uvzk_hold_t *hold, uint64_t ahead)
{
    printf("carol: queued, %" PRIu64 " ahead; cancelled\n", ahead);
    uvzk_hold_cancel(hold);
}

static void on_alice(uvzk_hold_t *hold, int status)
{
    uvzk_acquire_options_t options;

    if (status < 0) {
        fprintf(stderr, "alice: %s\n", uvzk_strerror(status));
        uvzk_client_close(&client, NULL);
        return;
    }
    printf("alice: granted, token %" PRId64 "\n", uvzk_hold_token(hold));

    /* The timeout covers the requests to the server too. */
    uvzk_acquire_options_init(&options);
    options.timeout_ms = 500;
    uvzk_lock_acquire(&mutex, &bob, &options, on_waited, on_lost);

    uvzk_acquire_options_init(&options);
    options.queued_cb = on_queued;
    uvzk_lock_acquire(&mutex, &carol, &options, on_waited, on_lost);
}

int main(int argc, char **argv)
{
    uv_loop_t *loop = uv_default_loop();
    uvzk_client_options_t options;
    uvzk_acquire_options_t patience;

    uvzk_client_options_init(&options);
    options.hosts = argc > 1 ? argv[1] : "127.0.0.1:2181";
    int rc = uvzk_client_init(loop, &client, &options);
    if (rc < 0) {
        fprintf(stderr, "%s: %s\n", options.hosts, uvzk_strerror(rc));
        return 1;
    }
    uvzk_acquire_options_init(&patience);
    patience.timeout_ms = 15000;
    if ((rc = uvzk_client_start(&client)) < 0 ||
        (rc = uvzk_mutex_init(&client, &mutex, "/examples/three")) < 0 ||
        (rc = uvzk_lock_acquire(&mutex, &alice, &patience, on_alice, on_lost)) < 0) {
        fprintf(stderr, "%s\n", uvzk_strerror(rc));
        uvzk_client_close(&client, NULL);
    }
    uv_run(loop, UV_RUN_DEFAULT);
    bool as_told = bob_timed_out && carol_was_cancelled && alice_lost_it;
    return uv_loop_close(loop) == 0 && as_told ? 0 : 1;
}
