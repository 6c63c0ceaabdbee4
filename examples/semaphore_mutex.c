/* SPDX-License-Identifier: Apache-2.0 */
/* semaphore_mutex [HOSTS]: one handler acquires a lock, and another handler releases it.
 *
 * A parcel is locked when it is handed in, and released when it has been delivered, by a
 * handler that knows only the hold. Such a lock cannot be acquired again by its holder,
 * so a second acquire for the same parcel waits. In Java this is
 * InterProcessSemaphoreMutex. If all programs use uvzk, a mutex without an owner does the
 * same with fewer requests. */
#include <stdio.h>
#include <uv.h>
#include <uvzk.h>

static uvzk_client_t client;
static uvzk_semaphore_mutex_t parcel;
static uvzk_hold_t handed_in, again;
static uv_timer_t journey;
static int delivered;

static void on_released(uvzk_hold_t *hold, int status)
{
    printf("%s: released, %s\n", hold == &again ? "second" : "first",
           status == 0 ? "yes" : uvzk_strerror(status));
    if (++delivered == 2) {
        uv_close((uv_handle_t *)&journey, NULL);
        uvzk_client_close(&client, NULL);
    }
}

static void on_lost(uvzk_hold_t *hold, int reason)
{
    (void)hold;
    printf("lost: %s\n", uvzk_strerror(reason));
    uv_close((uv_handle_t *)&journey, NULL);
    uvzk_client_close(&client, NULL);
}

/* Another handler, which runs later and needs only the hold. */
static void on_delivered(uv_timer_t *timer)
{
    uvzk_hold_t *hold = timer->data;

    puts("delivered");
    uvzk_hold_release(hold, on_released);
}

static void on_handed_in(uvzk_hold_t *hold, int status)
{
    if (status < 0) {
        on_lost(hold, status);
        return;
    }
    printf("%s: handed in\n", hold == &again ? "second" : "first");
    journey.data = hold;
    uv_timer_start(&journey, on_delivered, 20, 0);
}

int main(int argc, char **argv)
{
    uv_loop_t *loop = uv_default_loop();
    uvzk_client_options_t options;

    uvzk_client_options_init(&options);
    options.hosts = argc > 1 ? argv[1] : "127.0.0.1:2181";
    int rc = uvzk_client_init(loop, &client, &options);
    if (rc < 0) {
        fprintf(stderr, "%s: %s\n", options.hosts, uvzk_strerror(rc));
        return 1;
    }
    uv_timer_init(loop, &journey);
    if ((rc = uvzk_client_start(&client)) < 0 ||
        (rc = uvzk_semaphore_mutex_init(&client, &parcel, "/examples/parcel")) < 0 ||
        (rc = uvzk_lock_acquire(&parcel, &handed_in, NULL, on_handed_in, on_lost)) < 0 ||
        (rc = uvzk_lock_acquire(&parcel, &again, NULL, on_handed_in, on_lost)) < 0) {
        on_lost(&handed_in, rc);
    }
    uv_run(loop, UV_RUN_DEFAULT);
    return uv_loop_close(loop) == 0 && delivered == 2 ? 0 : 1;
}
