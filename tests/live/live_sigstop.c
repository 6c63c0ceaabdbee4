/* SPDX-License-Identifier: Apache-2.0 */
/* A process that holds a lock is stopped for longer than its session lives.
 * When it wakes it believes nothing before it has looked at the clock: no grant
 * and no "held" after somebody else was granted the lock. */
#include "world.h"

#include <inttypes.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>

#include "peer.h"

#define LOCK "/stop/lock"
#define WAITERS 3
#define SESSION_MS 3000

/* -------------------------------------------------------------------- sleeper */

static struct world world;
static struct process a;

/* Says, with the moment read before the fact it tells:
 *   "<moment> granted <n>", "<moment> ended <n> <status>", "<moment> lost <n>
 *   <reason>", "<moment> held <0|1>" every 2 ms. */
static struct hold holds[1 + WAITERS]; /* the first one holds */

static void say(struct hold *hold)
{
    int number = (int)(hold - holds);
    if (hold->lost > 0) {
        printf("%" PRIu64 " lost %d %s\n", hold->lost_ms, number,
               uvzk_err_name(hold->reason));
    } else if (hold->status == 0) {
        printf("%" PRIu64 " granted %d\n", hold->answered_ms, number);
    } else {
        printf("%" PRIu64 " ended %d %s\n", hold->answered_ms, number,
               uvzk_err_name(hold->status));
    }
}

static void ask(uv_timer_t *timer)
{
    (void)timer;
    uint64_t moment = uvzk_now();
    int held = uvzk_hold_is_valid(&holds[0].request) || uvzk_lock_is_held(&a.mutex);
    printf("%" PRIu64 " held %d\n", moment, held);
}

/* The end of the input is the signal to end. */
static int ended;

static void on_input(uv_poll_t *input, int status, int events)
{
    (void)status;
    (void)events;
    uv_close((uv_handle_t *)input, NULL);
    ended++;
}

static int sleeper_main(const char *hosts, const char *tick)
{
    uv_timer_t asking;
    uv_poll_t input;
    prctl(PR_SET_PDEATHSIG, SIGKILL);
    setvbuf(stdout, NULL, _IOLBF, 0);
    world_begin_beside(&world, LOCK);
    world.options.hosts = hosts;
    world.options.session_timeout_ms = SESSION_MS;
    world.options.tick_ms = (uint32_t)atoi(tick);
    process_begin(&a, &world, "sleeper", NULL);
    uv_poll_init(world.loop, &input, 0);
    uv_poll_start(&input, UV_READABLE | UV_DISCONNECT, on_input);
    for (int i = 0; i < 1 + WAITERS; i++) {
        hold_begin(&holds[i], &a, UVZK_WAIT_FOREVER);
        holds[i].hook = say;
    }
    uv_timer_init(world.loop, &asking);
    uv_timer_start(&asking, ask, 0, 2);
    bool in_time = world_await(&world, &ended, 2 * PATIENCE_MS);
    uv_close((uv_handle_t *)&asking, NULL);
    world_end(&world);
    return in_time ? 0 : 1;
}

/* ----------------------------------------------------------------------- test */

static const char *fact_of(const char *line, uint64_t *moment)
{
    char *fact;
    *moment = strtoull(line, &fact, 10);
    return fact;
}

static bool peer_said_fact(const struct peer *peer, const char *wanted)
{
    uint64_t moment;
    for (size_t i = 0; i < peer->count; i++) {
        if (strncmp(fact_of(peer->lines[i], &moment), wanted, strlen(wanted)) == 0) {
            return true;
        }
    }
    return false;
}

static void expect_fact(struct peer *peer, const char *fact)
{
    uint64_t since = world_now(&world);
    while (!peer_said_fact(peer, fact)) {
        if (peer->silent || !world_turn(&world, since)) {
            fail_msg("the sleeper never said \"%s\"", fact);
        }
    }
}

/* What it said from that moment on, at which the other one had the lock and it
 * was still stopped. */
static void check_journal_of(const struct peer *peer, uint64_t since)
{
    size_t answers = 0;
    for (size_t i = 0; i < peer->count; i++) {
        uint64_t moment;
        const char *fact = fact_of(peer->lines[i], &moment);
        if (moment < since) {
            continue;
        }
        answers += strncmp(fact, " held ", 6) == 0;
        if (strcmp(fact, " held 1") == 0 || strncmp(fact, " granted", 8) == 0) {
            fail_msg("after the loss it said:%s", fact);
        }
    }
    assert_true(answers > 0);
}

static void test_wakes_without_the_lock(void **state)
{
    static struct peer peer;
    static struct hold hold;
    char hosts[32], tick[16], program[] = "/proc/self/exe", mode[] = "sleeper";
    char *arguments[] = {program, mode, hosts, tick, NULL};
    (void)state;
    world_begin_one(&world, LOCK, &a);
    snprintf(hosts, sizeof(hosts), "%s", server_hosts(live_server));
    snprintf(tick, sizeof(tick), "%u", server_tick_ms(live_server));
    assert_int_equal(peer_start(world.loop, &peer, arguments), 0);
    expect_fact(&peer, " granted 0");
    expect_fact(&peer, " held 1");
    assert_true(world_await_children(&world, LOCK, 1 + WAITERS));
    hold_queue(&hold, &a, NULL);
    assert_int_equal(hold.ahead, 1 + WAITERS);

    peer_signal(&peer, SIGSTOP);
    hold_await(&hold, PATIENCE_MS);
    uint64_t granted = uvzk_now();
    peer_signal(&peer, SIGCONT);
    expect_fact(&peer, " lost 0");
    expect_fact(&peer, " ended 1 UVZK_EEXPIRED");
    expect_fact(&peer, " ended 2 UVZK_EEXPIRED");
    expect_fact(&peer, " ended 3 UVZK_EEXPIRED");
    assert_true(hold_holds(&hold));
    assert_true(peer_wait(&peer));
    assert_int_equal(peer.exit_status, 0);
    check_journal_of(&peer, granted);
    peer_close(&peer);
    hold_give_back(&hold);
    world_end(&world);
}

int main(int argc, char **argv)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_wakes_without_the_lock),
    };
    if (argc == 4 && strcmp(argv[1], "sleeper") == 0) {
        return sleeper_main(argv[2], argv[3]);
    }
    return cmocka_run_group_tests(tests, servers_start_one, servers_stop);
}
