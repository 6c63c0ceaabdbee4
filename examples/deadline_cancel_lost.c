/* deadline_cancel_lost [HOSTS]: the ways in which a lock is not to be had, or not
 * any more. Three contenders of one process on one lock:
 *
 *   alice  is granted the lock and keeps it;
 *   bob    gives himself half a second: his callback says UV_ETIMEDOUT;
 *   carol  would wait for ever, but is cancelled as soon as she knows her place
 *          in the queue: her callback says UV_ECANCELED;
 *   alice  loses the lock, because the mutex is closed under her.
 *
 * Each request has exactly one last callback. After it there is no znode of the
 * request's in ZooKeeper, or one that is being deleted. */
#include <inttypes.h>
#include <stdbool.h>
#include <stdio.h>
#include <uv.h>
#include <uvzk.h>

static uvzk_client_t client;
static uvzk_mutex_t mutex;
static uvzk_hold_t alice, bob, carol; /* all zeros, as they must be */

static bool bob_timed_out, carol_was_cancelled, alice_lost_it;
static int still_waiting = 2; /* bob and carol */

static void on_mutex_closed(uvzk_mutex_t *closed)
{
    (void)closed;
    puts("the mutex is closed");
    uvzk_client_close(&client, NULL);
}

/* Lost means: the lock is not ours any more, though we never released it, and
 * others may be granted it. Whatever must only be done under the lock has to
 * stop here. It comes at most once, never during a release, and the reason is
 *
 *   UVZK_EEXPIRED  the session is over, and its znodes with it;
 *   UVZK_EPROOF    ownership could not be proved in time: no connection, or to a
 *                  server that has lost its quorum. Told before the servers can
 *                  give the lock away, so there is no moment with two holders;
 *   UVZK_EDELETED  somebody else deleted the lock's znode;
 *   UVZK_EAUTH     ZooKeeper refused the credentials;
 *   UVZK_ECLOSED   the client or the mutex was closed by ourselves: the one
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
        /* alice still holds: is_held() reads the clock, it can be asked at any
         * moment, and is false as soon as the hold cannot be proved any more. */
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

    /* The timeout covers everything, the talk with the server included. */
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
