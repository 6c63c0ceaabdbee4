/* SPDX-License-Identifier: Apache-2.0 */
/* three_locks_at_once [HOSTS]: three locks taken as one, all or none of them.
 *
 * Two diners share a fork, a knife and a plate, and each needs all three. One diner lists
 * them forwards, and the other backwards. If each acquired one lock after the other, each
 * could hold what the other waits for, forever. A multi lock requests its mutexes in one
 * transaction, so the two diners are in the same order in all queues. Each diner is a
 * client of its own, as if in another process. */
#include <inttypes.h>
#include <stdbool.h>
#include <stdio.h>
#include <uv.h>
#include <uvzk.h>

enum { THINGS = 3, MEALS = 10, MEAL_MS = 5 };

static const char *const forwards[THINGS] = {"/examples/fork", "/examples/knife",
                                             "/examples/plate"};
static const char *const backwards[THINGS] = {"/examples/plate", "/examples/knife",
                                              "/examples/fork"};

struct diner {
    const char *name;
    const char *const *list;
    uvzk_client_t client;
    uvzk_mutex_t things[THINGS];
    uvzk_multilock_t cover; /* all of them as one lock */
    uvzk_hold_t hold;
    uv_timer_t meal;
    int meals;
};
static struct diner diners[2] = {{.name = "ada", .list = forwards},
                                 {.name = "bob", .list = backwards}};
static int eating, most_eating;

static void leave(struct diner *diner)
{
    if (!uv_is_closing((uv_handle_t *)&diner->meal)) {
        uv_close((uv_handle_t *)&diner->meal, NULL);
        uvzk_client_close(&diner->client, NULL); /* also closes all its locks */
    }
}

static bool failed(struct diner *diner, int status)
{
    if (status < 0) {
        fprintf(stderr, "%s: %s\n", diner->name, uvzk_strerror(status));
        leave(diner);
    }
    return status < 0;
}

/* If one of the three is lost, the whole hold is lost, and the other two are released. */
static void on_lost(uvzk_hold_t *hold, int reason)
{
    eating--;
    failed(hold->data, reason);
}

static void on_acquired(uvzk_hold_t *hold, int status);

static void get_hungry(struct diner *diner)
{
    uvzk_acquire_options_t options;

    uvzk_acquire_options_init(&options);
    options.timeout_ms = 15000; /* for all three together */
    failed(diner, uvzk_lock_acquire(&diner->cover, &diner->hold, &options, on_acquired,
                                    on_lost));
}

static void on_released(uvzk_hold_t *hold, int status)
{
    struct diner *diner = hold->data;

    if (!failed(diner, status)) {
        if (++diner->meals < MEALS) {
            get_hungry(diner);
        } else {
            leave(diner);
        }
    }
}

static void on_eaten(uv_timer_t *meal)
{
    struct diner *diner = meal->data;

    eating--;
    uvzk_hold_release(&diner->hold, on_released); /* releases all three */
}

static void on_acquired(uvzk_hold_t *hold, int status)
{
    struct diner *diner = hold->data;

    if (!failed(diner, status)) {
        eating++;
        most_eating = eating > most_eating ? eating : most_eating;
        printf("%s eats with %" PRIu32 " things, token %" PRId64 "\n", diner->name,
               uvzk_hold_node_count(hold), uvzk_hold_token(hold));
        uv_timer_start(&diner->meal, on_eaten, MEAL_MS, 0);
    }
}

static void sit_down(struct diner *diner, const char *hosts)
{
    uvzk_lock_t *members[THINGS];
    uvzk_client_options_t options;

    uvzk_client_options_init(&options);
    options.hosts = hosts;
    uv_timer_init(uv_default_loop(), &diner->meal);
    diner->meal.data = diner->hold.data = diner;
    int rc = uvzk_client_init(uv_default_loop(), &diner->client, &options);
    for (int i = 0; i < THINGS && rc == 0; i++) {
        members[i] = &diner->things[i];
        rc = uvzk_mutex_init(&diner->client, members[i], diner->list[i]);
    }
    if (!failed(diner, rc) && !failed(diner, uvzk_client_start(&diner->client)) &&
        !failed(diner, uvzk_multilock_init(&diner->client, &diner->cover, members, THINGS,
                                           0, NULL))) {
        get_hungry(diner);
    }
}

int main(int argc, char **argv)
{
    const char *hosts = argc > 1 ? argv[1] : "127.0.0.1:2181";

    sit_down(&diners[0], hosts);
    sit_down(&diners[1], hosts);
    uv_run(uv_default_loop(), UV_RUN_DEFAULT);
    bool all_eaten = diners[0].meals == MEALS && diners[1].meals == MEALS;
    return uv_loop_close(uv_default_loop()) == 0 && all_eaten && most_eating == 1 ? 0 : 1;
}
