/* A process that holds a lock is stopped for longer than its session lives.
 * When it wakes it believes nothing before it has looked at the clock: no grant
 * and no "held" after somebody else was granted the lock. */
#include "live.h"

#include <inttypes.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>

#include "peer.h"

#define LOCK "/stop/lock"
#define WAITERS 3
#define SESSION_MS "3000"

/* -------------------------------------------------------------------- sleeper */

/* Says, with the moment read before the fact it tells:
 *   "<moment> granted <n>", "<moment> ended <n> <status>", "<moment> lost <n>
 *   <reason>", "<moment> held <0|1>" every 2 ms. */
struct sleeper {
    uv_loop_t loop;
    uv_timer_t asking;
    uvzk_client_t client;
    uvzk_mutex_t mutex;
    uvzk_hold_t requests[1 + WAITERS]; /* the first one holds */
};

static struct sleeper sleeper;

static int number_of(const uvzk_hold_t *hold)
{
    return (int)(hold - sleeper.requests);
}

static void on_acquired(uvzk_hold_t *hold, int status)
{
    if (status == 0) {
        printf("%" PRIu64 " granted %d\n", uvzk_now(), number_of(hold));
    } else {
        printf("%" PRIu64 " ended %d %s\n", uvzk_now(), number_of(hold),
               uvzk_err_name(status));
    }
}

static void on_lost(uvzk_hold_t *hold, int reason)
{
    printf("%" PRIu64 " lost %d %s\n", uvzk_now(), number_of(hold),
           uvzk_err_name(reason));
}

static void on_queued(uvzk_hold_t *hold, uint64_t ahead)
{
    (void)ahead;
    printf("%" PRIu64 " queued %d\n", uvzk_now(), number_of(hold));
}

static void ask(uv_timer_t *timer)
{
    (void)timer;
    uint64_t moment = uvzk_now();
    int held =
        uvzk_hold_is_valid(&sleeper.requests[0]) || uvzk_lock_is_held(&sleeper.mutex);
    printf("%" PRIu64 " held %d\n", moment, held);
}

static void on_closed(uvzk_client_t *client)
{
    (void)client;
    uv_close((uv_handle_t *)&sleeper.asking, NULL);
}

/* The end of the input is the signal to end. */
static void on_input(uv_poll_t *input, int status, int events)
{
    (void)status;
    (void)events;
    uv_close((uv_handle_t *)input, NULL);
    uvzk_client_close(&sleeper.client, on_closed);
}

static int sleeper_main(const char *hosts, const char *tick)
{
    uvzk_client_options_t options;
    uvzk_acquire_options_t acquire;
    uv_poll_t input;
    prctl(PR_SET_PDEATHSIG, SIGKILL);
    setvbuf(stdout, NULL, _IOLBF, 0);
    uvzk_client_options_init(&options);
    options.hosts = hosts;
    options.session_timeout_ms = (uint32_t)atoi(SESSION_MS);
    options.tick_ms = (uint32_t)atoi(tick);
    uvzk_acquire_options_init(&acquire);
    acquire.queued_cb = on_queued;
    uv_loop_init(&sleeper.loop);
    uv_timer_init(&sleeper.loop, &sleeper.asking);
    uv_poll_init(&sleeper.loop, &input, 0);
    uv_poll_start(&input, UV_READABLE | UV_DISCONNECT, on_input);
    if (uvzk_client_init(&sleeper.loop, &sleeper.client, &options) != 0 ||
        uvzk_client_start(&sleeper.client) != 0 ||
        uvzk_mutex_init(&sleeper.client, &sleeper.mutex, LOCK) != 0) {
        return 2;
    }
    for (int i = 0; i < 1 + WAITERS; i++) {
        if (uvzk_lock_acquire(&sleeper.mutex, &sleeper.requests[i], &acquire, on_acquired,
                              on_lost) != 0) {
            return 2;
        }
    }
    uv_timer_start(&sleeper.asking, ask, 0, 2);
    uv_run(&sleeper.loop, UV_RUN_DEFAULT);
    return uv_loop_close(&sleeper.loop) == 0 ? 0 : 1;
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

struct fact_wait {
    const struct peer *peer;
    const char *fact;
};

static bool was_said(void *context)
{
    const struct fact_wait *wait = context;
    return peer_said_fact(wait->peer, wait->fact) || wait->peer->silent;
}

static void expect_fact(struct peer *peer, const char *fact)
{
    struct fact_wait wait = {peer, fact};
    run_until(peer->loop, was_said, &wait, PATIENCE_MS);
    if (!peer_said_fact(peer, fact)) {
        fail_msg("the sleeper never said \"%s\"", fact);
    }
}

/* What it said from that moment on, at which the other one had the lock and it
 * was still stopped. */
static void judge(const struct peer *peer, uint64_t since)
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
    static struct live live;
    static struct peer peer;
    static uvzk_mutex_t mutex;
    static struct attempt attempt;
    char hosts[32], tick[16], program[] = "/proc/self/exe", mode[] = "sleeper";
    char *arguments[] = {program, mode, hosts, tick, NULL};
    (void)state;
    live_open(&live);
    memset(&mutex, 0, sizeof(mutex));
    assert_int_equal(uvzk_mutex_init(&live.client, &mutex, LOCK), 0);
    snprintf(hosts, sizeof(hosts), "%s", server_hosts(live_server));
    snprintf(tick, sizeof(tick), "%u", server_tick_ms(live_server));
    assert_int_equal(peer_start(live.loop, &peer, arguments), 0);
    expect_fact(&peer, " granted 0");
    expect_fact(&peer, " held 1");
    expect_fact(&peer, " queued 3");
    assert_int_equal(attempt_start(&attempt, &mutex, NULL), 0);
    assert_true(attempt_wait_queued(live.loop, &attempt));
    assert_int_equal(attempt.ahead, 1 + WAITERS);

    peer_signal(&peer, SIGSTOP);
    assert_true(attempt_wait_granted(live.loop, &attempt));
    uint64_t granted = uvzk_now();
    peer_signal(&peer, SIGCONT);
    expect_fact(&peer, " lost 0");
    expect_fact(&peer, " ended 1 UVZK_EEXPIRED");
    expect_fact(&peer, " ended 2 UVZK_EEXPIRED");
    expect_fact(&peer, " ended 3 UVZK_EEXPIRED");
    assert_true(attempt_holds(&attempt));
    assert_true(peer_wait(&peer));
    assert_int_equal(peer.exit_status, 0);
    judge(&peer, granted);
    peer_close(&peer);
    assert_true(attempt_release_and_wait(live.loop, &attempt));
    assert_true(live_wait_children(&live, LOCK, 0));
    live_end(&live);
}

int main(int argc, char **argv)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_wakes_without_the_lock),
    };
    if (argc == 4 && strcmp(argv[1], "sleeper") == 0) {
        return sleeper_main(argv[2], argv[3]);
    }
    return cmocka_run_group_tests(tests, live_server_start, live_server_stop);
}
