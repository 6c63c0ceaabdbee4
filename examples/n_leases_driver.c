/* SPDX-License-Identifier: Apache-2.0 */
/* n_leases_driver HOSTS: a lock driver of your own, for a lock with three leases; ten
 * contenders want one.
 *
 *   $ ./n_leases_driver localhost:2181
 *
 * n_leases_driver() in drivers.c defines this lock. Its function receives the directory's
 * children in order, and decides who holds, and who waits for whom. In a real program,
 * use uvzk_semaphore_init for leases. */
#include <inttypes.h>
#include <stdio.h>
#include <uv.h>
#include <uvzk.h>

#include "drivers.h"

#define LEASES 3
#define CONTENDERS 10
#define WORK_MS 100

struct contender {
    uvzk_hold_t request;
    uv_timer_t work;
    int number;
};

static uvzk_client_t client;
static uvzk_lock_t lock;
static struct contender contenders[CONTENDERS];
static int holding, left = CONTENDERS, served;

/* The last contender that leaves closes the client. */
static void leave(struct contender *contender)
{
    uv_close((uv_handle_t *)&contender->work, NULL);
    if (--left == 0) {
        uvzk_client_close(&client, NULL);
    }
}

static void on_released(uvzk_hold_t *hold, int status)
{
    struct contender *contender = hold->data;

    served += status == 0;
    leave(contender);
}

static void on_lost(uvzk_hold_t *hold, int reason)
{
    struct contender *contender = hold->data;

    holding--;
    fprintf(stderr, "%d: lost: %s\n", contender->number, uvzk_strerror(reason));
    leave(contender);
}

static void on_worked(uv_timer_t *timer)
{
    struct contender *contender = timer->data;

    if (uvzk_hold_release(&contender->request, on_released) == 0) {
        holding--;
    }
}

static void on_acquired(uvzk_hold_t *hold, int status)
{
    struct contender *contender = hold->data;

    if (status < 0) {
        fprintf(stderr, "%d: not granted: %s\n", contender->number,
                uvzk_strerror(status));
        leave(contender);
        return;
    }
    holding++;
    printf("%d: granted, token %" PRId64 ", %d of %d leases are out\n", contender->number,
           uvzk_hold_token(hold), holding, LEASES);
    uv_timer_start(&contender->work, on_worked, WORK_MS, 0);
}

static int begin(uv_loop_t *loop)
{
    uvzk_lock_driver_t driver;
    int rc;

    n_leases_driver(&driver, LEASES); /* uvzk_lock_init_with_driver copies it */
    if ((rc = uvzk_client_start(&client)) < 0 ||
        (rc = uvzk_lock_init_with_driver(&client, &lock, "/examples/n_leases", &driver)) <
            0) {
        return rc;
    }
    for (int i = 0; i < CONTENDERS; i++) {
        struct contender *contender = &contenders[i];
        contender->number = i;
        contender->request.data = contender->work.data = contender;
        uv_timer_init(loop, &contender->work);
        rc = uvzk_lock_acquire(&lock, &contender->request, NULL, on_acquired, on_lost);
        if (rc < 0) {
            fprintf(stderr, "%d: %s\n", i, uvzk_strerror(rc));
            leave(contender);
        }
    }
    return 0;
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
    if ((rc = begin(loop)) < 0) {
        fprintf(stderr, "%s\n", uvzk_strerror(rc));
        uvzk_client_close(&client, NULL);
    }
    uv_run(loop, UV_RUN_DEFAULT);
    return uv_loop_close(loop) == 0 && served == CONTENDERS ? 0 : 1;
}
