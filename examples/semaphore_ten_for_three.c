/* SPDX-License-Identifier: Apache-2.0 */
/* semaphore_ten_for_three [HOSTS]: ten contenders for three leases.
 *
 * There are three seats and ten guests. The first three sit down at once. Each of the
 * others sits down when another guest gets up, in the order in which they came. The seats
 * are counted in ZooKeeper, so guests of other processes, and of Java programs that use
 * an InterProcessSemaphoreV2 on the same path, are counted too. */
#include <stdio.h>
#include <uv.h>
#include <uvzk.h>

enum { SEATS = 3, GUESTS = 10, MEAL_MS = 50 };

static struct guest {
    uvzk_hold_t seat;
    uv_timer_t meal;
    int number;
} guests[GUESTS];

static uvzk_client_t client;
static uvzk_semaphore_t table;
static int sitting, most_sitting, served, still_here = GUESTS;

static void on_gone(uv_handle_t *meal)
{
    (void)meal;
    if (--still_here == 0) {
        uvzk_client_close(&client, NULL); /* also closes the semaphore */
    }
}

static void leave(struct guest *guest)
{
    uv_close((uv_handle_t *)&guest->meal, on_gone);
}

static void on_released(uvzk_hold_t *seat, int status)
{
    struct guest *guest = seat->data;

    if (status == 0) {
        served++;
    } else {
        fprintf(stderr, "guest %d: %s\n", guest->number, uvzk_strerror(status));
    }
    leave(guest);
}

static void on_eaten(uv_timer_t *meal)
{
    struct guest *guest = meal->data;

    sitting--;
    printf("guest %d gets up\n", guest->number);
    uvzk_hold_release(&guest->seat, on_released); /* frees a lease for the next guest */
}

/* The seat is lost, and another guest may be granted it. */
static void on_lost(uvzk_hold_t *seat, int reason)
{
    struct guest *guest = seat->data;

    sitting--;
    fprintf(stderr, "guest %d lost the seat: %s\n", guest->number, uvzk_strerror(reason));
    leave(guest); /* also stops the timer */
}

static void on_seat(uvzk_hold_t *seat, int status)
{
    struct guest *guest = seat->data;

    if (status < 0) {
        fprintf(stderr, "guest %d: %s\n", guest->number, uvzk_strerror(status));
        leave(guest);
        return;
    }
    sitting++;
    most_sitting = sitting > most_sitting ? sitting : most_sitting;
    printf("guest %d sits down, %d of %d seats are taken\n", guest->number, sitting,
           SEATS);
    uv_timer_start(&guest->meal, on_eaten, MEAL_MS, 0);
}

static void arrive(uv_loop_t *loop, struct guest *guest, int number)
{
    uvzk_acquire_options_t options;

    uvzk_acquire_options_init(&options);
    options.timeout_ms = 15000;
    guest->number = number;
    uv_timer_init(loop, &guest->meal);
    guest->meal.data = guest->seat.data = guest;
    int rc = uvzk_lock_acquire(&table, &guest->seat, &options, on_seat, on_lost);
    if (rc < 0) {
        fprintf(stderr, "guest %d: %s\n", guest->number, uvzk_strerror(rc));
        leave(guest);
    }
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
    if ((rc = uvzk_client_start(&client)) < 0 ||
        (rc = uvzk_semaphore_init(&client, &table, "/examples/table", SEATS, NULL)) < 0) {
        fprintf(stderr, "%s\n", uvzk_strerror(rc));
        uvzk_client_close(&client, NULL);
    }
    for (int i = 0; i < GUESTS && rc == 0; i++) {
        arrive(loop, &guests[i], i + 1);
    }
    uv_run(loop, UV_RUN_DEFAULT);
    printf("%d guests were served, at most %d at a time\n", served, most_sitting);
    return uv_loop_close(loop) == 0 && served == GUESTS && most_sitting == SEATS ? 0 : 1;
}
