/* SPDX-License-Identifier: Apache-2.0 */
/* simulated_test: a program that uses a lock, and its test in virtual time. It is linked
 * with libuvzk-sim.a instead of libuvzk. It needs no server, and takes no HOSTS.
 *
 * Of two reporters, only the one that holds the lock may send a report. The test pauses
 * the holder for longer than its session lives. Then the other reporter is granted the
 * lock, and the first one must no longer send when it continues. */
#include <assert.h>
#include <stdio.h>
#include <uvzk.h>
#include <uvzk_sim.h>

/* ------------------------------------------------------------------ the program */

struct reporter {
    uvzk_client_t client;
    uvzk_mutex_t mutex;
    uvzk_hold_t hold;
    int granted, lost, closed;
};

static void on_lost(uvzk_hold_t *hold, int reason)
{
    struct reporter *reporter = hold->data;

    (void)reason;
    reporter->lost = 1;
}

static void on_acquired(uvzk_hold_t *hold, int status)
{
    struct reporter *reporter = hold->data;

    reporter->granted = status == 0;
}

static int reporter_start(struct reporter *reporter, uv_loop_t *loop, const char *hosts)
{
    uvzk_client_options_t options;
    int status;

    uvzk_client_options_init(&options);
    options.hosts = hosts;
    options.session_timeout_ms = 10000;
    reporter->client.data = reporter;
    reporter->hold.data = reporter;
    if ((status = uvzk_client_init(loop, &reporter->client, &options)) < 0) {
        return status;
    }
    if ((status = uvzk_client_start(&reporter->client)) < 0 ||
        (status = uvzk_mutex_init(&reporter->client, &reporter->mutex, "/report")) < 0) {
        return status;
    }
    return uvzk_lock_acquire(&reporter->mutex, &reporter->hold, NULL, on_acquired,
                             on_lost);
}

/* Called right before a report is sent. */
static int reporter_may_send(const struct reporter *reporter)
{
    return uvzk_hold_is_valid(&reporter->hold);
}

/* ----------------------------------------------------------------------- its test */

static void on_closed(uvzk_client_t *client)
{
    struct reporter *reporter = client->data;

    reporter->closed = 1;
}

static int exactly_one_sends(void *context)
{
    struct reporter *both = context;

    assert(!reporter_may_send(&both[0]) || !reporter_may_send(&both[1]));
    return both[1].granted;
}

static int never_both(void *context)
{
    struct reporter *both = context;

    assert(!reporter_may_send(&both[0]) || !reporter_may_send(&both[1]));
    return 0;
}

static void close_both(struct reporter *both)
{
    for (int i = 0; i < 2; i++) {
        assert(uvzk_client_close(&both[i].client, on_closed) == 0);
        assert(uvzk_sim_await(&both[i].closed, 60000) == 0);
    }
    uvzk_sim_run_for(
        60000); /* the last requests arrive, and sessions that are left expire */
    assert(uvzk_sim_sessions() == 0 && uvzk_sim_end() == 0);
}

/* Whatever faults occur, the two must never be allowed to send at the same time. When the
 * faults are over, both must be able to close. */
static void tell_stories(void)
{
    uvzk_sim_options_t options;

    uvzk_sim_options_init(&options);
    for (uint64_t seed = 1; seed <= 100; seed++) {
        struct reporter both[2] = {0};

        options.seed = seed;
        assert(uvzk_sim_begin(&options) == 0);
        /* Each kind of fault occurs about once in 50 s for each client. */
        assert(uvzk_sim_trouble(20000) == 0);
        assert(reporter_start(&both[0], NULL, "anything:1") == 0);
        assert(reporter_start(&both[1], NULL, "anything:1") == 0);
        (void)uvzk_sim_await_that(never_both, both, 60000);
        assert(uvzk_sim_trouble(0) == 0);
        close_both(both);
    }
}

int main(void)
{
    static struct reporter both[2];

    assert(uvzk_sim_begin(NULL) == 0);
    assert(reporter_start(&both[0], NULL, "anything:1") == 0);
    assert(uvzk_sim_await(&both[0].granted, 1000) == 0);
    assert(reporter_start(&both[1], NULL, "anything:1") == 0);
    uvzk_sim_run_for(3600000);
    assert(reporter_may_send(&both[0]) && !both[1].granted);
    printf("an hour later: the first one sends\n");

    assert(uvzk_sim_pause(&both[0].client, 60000) == 0);
    assert(uvzk_sim_await_that(exactly_one_sends, both, 60000) == 0);
    assert(reporter_may_send(&both[1]) && !reporter_may_send(&both[0]));
    printf("it is stopped for a minute: the second one has taken over\n");

    uvzk_sim_run_for(60000);
    assert(both[0].lost && !reporter_may_send(&both[0]) && reporter_may_send(&both[1]));
    printf("the first one goes on: it knows, and sends nothing\n");

    close_both(both);
    tell_stories();
    printf("a hundred stories with troubles: never both\n");
    return 0;
}
