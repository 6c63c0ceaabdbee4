/* SPDX-License-Identifier: Apache-2.0 */
/* three_of_five [HOSTS]: any three of five locks, whichever are granted first.
 *
 * There are five replicas, each behind a lock, and an update must go to three of them.
 * Another client holds two of the locks. Each lock is acquired as a future. A combined
 * future of the five is done as soon as three of them are done; the other two are then
 * cancelled, and leave no znodes behind in their queues. */
#include <stdbool.h>
#include <stdio.h>
#include <uv.h>
#include <uvzk.h>

enum { REPLICAS = 5, QUORUM = 3, TAKEN = 2 };

struct party {
    uvzk_client_t client;
    uvzk_mutex_t replicas[REPLICAS];
    uvzk_future_t locks[REPLICAS], together;
};
static struct party updater, somebody;
static bool updated;

static void leave(struct party *party)
{
    for (int i = 0; i < REPLICAS; i++) {
        uvzk_future_drop(&party->locks[i]); /* releases the lock if it is held */
    }
    uvzk_future_drop(&party->together);
    uvzk_client_close(&party->client, NULL);
}

static bool failed(int status)
{
    if (status < 0) {
        fprintf(stderr, "failed: %s\n", uvzk_strerror(status));
        leave(&updater);
        leave(&somebody);
    }
    return status < 0;
}

static void on_lost(uvzk_hold_t *hold, int reason)
{
    (void)hold;
    failed(reason);
}

/* Acquires the first `count` locks, n of which are needed. cb runs when n are granted, or
 * when that has failed. */
static int take(struct party *party, size_t count, size_t n, uvzk_future_cb cb)
{
    uvzk_future_t *parts[REPLICAS];
    int status = 0;

    for (size_t i = 0; i < count && status == 0; i++) {
        parts[i] = &party->locks[i];
        status = uvzk_lock_acquire_future(&party->replicas[i], parts[i], NULL, on_lost);
    }
    if (status == 0) {
        status = uvzk_future_n_of(&party->together, parts, count, n);
    }
    if (status == 0) {
        status = uvzk_future_deadline(&party->together, 15000);
    }
    return status < 0 ? status : uvzk_future_then(&party->together, cb, party);
}

static void on_three(uvzk_future_t *future, int status, void *context)
{
    (void)context;
    if (failed(status)) {
        return;
    }
    printf("updates replicas");
    for (size_t place = 0; place < QUORUM; place++) {
        printf(" %zu", uvzk_future_winner(future, place));
    }
    puts("; the others were given up");
    updated = true;
    leave(&updater);
    leave(&somebody);
}

static void on_two_taken(uvzk_future_t *future, int status, void *context)
{
    (void)future;
    (void)context;
    if (!failed(status)) {
        puts("somebody has replicas 0 and 1");
        failed(take(&updater, REPLICAS, QUORUM, on_three));
    }
}

static int join(struct party *party, const char *hosts)
{
    uvzk_client_options_t options;
    char path[32];

    uvzk_client_options_init(&options);
    options.hosts = hosts;
    int status = uvzk_client_init(uv_default_loop(), &party->client, &options);
    for (int i = 0; i < REPLICAS && status == 0; i++) {
        snprintf(path, sizeof(path), "/examples/replica-%d", i);
        status = uvzk_mutex_init(&party->client, &party->replicas[i], path);
    }
    return status < 0 ? status : uvzk_client_start(&party->client);
}

int main(int argc, char **argv)
{
    const char *hosts = argc > 1 ? argv[1] : "127.0.0.1:2181";

    if (!failed(join(&updater, hosts)) && !failed(join(&somebody, hosts))) {
        failed(take(&somebody, TAKEN, TAKEN, on_two_taken));
    }
    uv_run(uv_default_loop(), UV_RUN_DEFAULT);
    return uv_loop_close(uv_default_loop()) == 0 && updated ? 0 : 1;
}
