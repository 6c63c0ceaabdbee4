/* uvzk_lock SERVERS NAME TIMEOUT_MS c-client|native: a lock program (body.py says what that
 * is) with uvzk's mutex, as examples/mutex.c uses it.
 *
 * docs/guide/first-lock.md, docs/guide/lost.md: whoever does something that must not be done
 * twice asks uvzk_hold_is_valid first, and passes the token to the store. The time-out of
 * the session and the servers' tickTime are given; all else is as it comes. */
#include <string.h>

#include "body.h"

static uvzk_mutex_t mutex;
static uvzk_hold_t hold;

static void on_lost(uvzk_hold_t *lost, int reason)
{
    (void)lost;
    body_lost(reason);
}

static void on_acquired(uvzk_hold_t *granted, int status)
{
    (void)granted;
    if (status < 0) {
        body_failed(status);
    } else {
        body_locked();
    }
}

static void mutex_acquire(void)
{
    memset(&hold, 0, sizeof(hold));
    int status = uvzk_lock_acquire(&mutex, &hold, NULL, on_acquired, on_lost);
    if (status < 0) {
        body_failed(status);
    }
}

static bool mutex_holds(void)
{
    return uvzk_hold_is_valid(&hold) != 0;
}

static int64_t mutex_token(void)
{
    return uvzk_hold_token(&hold);
}

static void on_released(uvzk_hold_t *released, int status)
{
    (void)released;
    body_unlocked(status);
}

static void mutex_release(void)
{
    int status = uvzk_hold_release(&hold, on_released);

    if (status < 0) { /* it was lost */
        body_unlocked(status);
    }
}

static int mutex_init(uvzk_client_t *client, const char *path)
{
    return uvzk_mutex_init(client, &mutex, path);
}

int main(int argc, char **argv)
{
    static const struct body_lock lock = {mutex_acquire, mutex_holds, mutex_token,
                                          mutex_release};

    return body_run(&lock, mutex_init, argc, argv);
}
