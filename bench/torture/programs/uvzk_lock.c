/* SPDX-License-Identifier: Apache-2.0 */
/* uvzk_lock SERVERS NAME TIMEOUT_MS c-client|native mutex|reentrant|semaphore: a lock program
 * (body.py says what that is) with uvzk's mutex, as examples/mutex.c uses it; with the
 * same, which its owner acquires and releases twice, as in examples/owners.c; or with a
 * semaphore of two leases, as in examples/semaphore_ten_for_three.c.
 *
 * docs/guide/first-lock.md, docs/guide/lost.md: whoever does something that must not be done
 * twice asks uvzk_hold_is_valid first, and passes the token to the store. The time-out of
 * the session and the servers' tickTime are given; all else is as it comes. */
#include <string.h>

#include "body.h"

#define LEASES 2

static uvzk_lock_t lock;
static uvzk_hold_t hold, again;
static bool is_reentrant;

static void acquire(uvzk_hold_t *with, uvzk_hold_acquire_cb acquired);

static void on_lost(uvzk_hold_t *lost, int reason)
{
    if (lost == &hold) {
        body_lost(reason);
    }
}

static void on_released(uvzk_hold_t *released, int status)
{
    if (released == &again) {
        status = uvzk_hold_release(&hold, on_released);
        if (status == 0) {
            return;
        }
    }
    body_unlocked(status);
}

static void release(void)
{
    int status = uvzk_hold_release(is_reentrant ? &again : &hold, on_released);

    if (status < 0) { /* it was lost */
        body_unlocked(status);
    }
}

static void on_acquired(uvzk_hold_t *granted, int status)
{
    if (status < 0) {
        body_failed(status);
    } else if (is_reentrant && granted == &hold) {
        acquire(&again, on_acquired);
    } else {
        body_locked();
    }
}

static void acquire(uvzk_hold_t *with, uvzk_hold_acquire_cb acquired)
{
    uvzk_acquire_options_t options;

    uvzk_acquire_options_init(&options);
    options.owner = is_reentrant ? &hold : NULL;
    memset(with, 0, sizeof(*with));
    int status = uvzk_lock_acquire(&lock, with, &options, acquired, on_lost);
    if (status < 0) {
        body_failed(status);
    }
}

static void acquire_first(void)
{
    acquire(&hold, on_acquired);
}

static bool holds(void)
{
    return uvzk_hold_is_valid(&hold) != 0;
}

static int64_t token(void)
{
    return uvzk_hold_token(&hold);
}

static int init(uvzk_client_t *client, const char *path, const char *kind)
{
    is_reentrant = strcmp(kind, "reentrant") == 0;
    return strcmp(kind, "semaphore") == 0
               ? uvzk_semaphore_init(client, &lock, path, LEASES, NULL)
               : uvzk_mutex_init(client, &lock, path);
}

int main(int argc, char **argv)
{
    static const struct body_lock program = {acquire_first, holds, token, release};

    return body_run(&program, init, argc, argv);
}
