/* SPDX-License-Identifier: Apache-2.0 */
/* exclusive_driver HOSTS: a lock driver of your own, for a lock that has one znode for
 * all contenders, /exclusive_lock/lock.
 *
 *   $ ./exclusive_driver localhost:2181 & ./exclusive_driver localhost:2181
 *
 * exclusive_driver() in drivers.c defines this lock. Everything else is as with any lock
 * of uvzk: the hold is proved, the lost callback runs if the hold is lost, and uvzk
 * repeats the delete of the znode until it is known to be gone. */
#include <inttypes.h>
#include <stdio.h>
#include <uv.h>
#include <uvzk.h>

#include "drivers.h"

#define WORK_MS 1000

static uvzk_client_t client;
static uvzk_lock_t lock;
static uvzk_hold_t request;
static uv_timer_t work;

static int exit_code = 1;

static void finish(void)
{
    uv_close((uv_handle_t *)&work, NULL);
    uvzk_client_close(&client, NULL);
}

static void on_released(uvzk_hold_t *hold, int status)
{
    (void)hold;
    printf("released: %s\n", status == 0 ? "yes" : uvzk_strerror(status));
    exit_code = status == 0 ? 0 : 1;
    finish();
}

static void on_lost(uvzk_hold_t *hold, int reason)
{
    (void)hold;
    fprintf(stderr, "lost: %s\n", uvzk_strerror(reason));
    finish();
}

static void on_worked(uv_timer_t *timer)
{
    (void)timer;
    (void)uvzk_hold_release(&request, on_released); /* if refused, on_lost will run */
}

/* Another contender has created the znode. */
static void on_queued(uvzk_hold_t *hold, uint64_t ahead)
{
    (void)hold;
    (void)ahead;
    printf("waiting for whoever has it\n");
}

static void on_acquired(uvzk_hold_t *hold, int status)
{
    if (status < 0) {
        fprintf(stderr, "not granted: %s\n", uvzk_strerror(status));
        finish();
        return;
    }
    printf("granted: %s, token %" PRId64 "\n", uvzk_hold_path(hold),
           uvzk_hold_token(hold));
    uv_timer_start(&work, on_worked, WORK_MS, 0);
}

static int begin(void)
{
    uvzk_lock_driver_t driver;
    uvzk_acquire_options_t options;
    int rc;

    exclusive_driver(&driver); /* uvzk_lock_init_with_driver copies it */
    uvzk_acquire_options_init(&options);
    options.timeout_ms = 15000;
    options.queued_cb = on_queued;
    if ((rc = uvzk_client_start(&client)) == 0 &&
        (rc = uvzk_lock_init_with_driver(&client, &lock, "/exclusive_lock", &driver)) ==
            0) {
        rc = uvzk_lock_acquire(&lock, &request, &options, on_acquired, on_lost);
    }
    return rc;
}

int main(int argc, char **argv)
{
    uv_loop_t *loop = uv_default_loop();
    uvzk_client_options_t options;
    int rc;

    if (argc != 2) {
        fprintf(stderr, "usage: %s HOSTS\n", argv[0]);
        return 2;
    }
    uvzk_client_options_init(&options);
    options.hosts = argv[1];
    if ((rc = uvzk_client_init(loop, &client, &options)) < 0) {
        fprintf(stderr, "%s: %s\n", argv[1], uvzk_strerror(rc));
        return 1;
    }
    uv_timer_init(loop, &work);
    if ((rc = begin()) < 0) {
        fprintf(stderr, "%s\n", uvzk_strerror(rc));
        finish();
    }
    uv_run(loop, UV_RUN_DEFAULT);
    return uv_loop_close(loop) == 0 ? exit_code : 1;
}
