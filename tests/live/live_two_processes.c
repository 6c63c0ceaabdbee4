/* Two processes of 500 contenders each on one lock. Every holder shows its
 * fencing token to a register that refuses old ones, and writes down when it
 * enters and leaves; the test judges the record. */
#include "live.h"

#include <inttypes.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <unistd.h>

#include "fence.h"
#include "journal.h"
#include "peer.h"
#include "scratch.h"

#define PARENT "/two"
#define LOCK PARENT "/lock"
#define PROCESSES 2
#define CONTENDERS 500
/* So many of a process are in the queue at a time: whoever releases sends the next
 * one to the tail, so that the processes' places mix. */
#define AT_A_TIME 25

/* ------------------------------------------------------------------ contender */

struct crowd {
    uv_loop_t loop;
    uv_check_t leaving; /* a hold lasts until the loop has polled once */
    uvzk_client_t client;
    uvzk_mutex_t mutex;
    uvzk_hold_t requests[CONTENDERS], *holder;
    const char *fence;
    char name[32];
    int journal, started, released, failures;
    bool closed;
};

static struct crowd crowd;

static void fail_crowd(const char *text)
{
    fprintf(stderr, "%s: %s\n", crowd.name, text);
    crowd.failures++;
}

static void crowd_closed(uvzk_client_t *client)
{
    (void)client;
    crowd.closed = true;
}

static void send_one(void);

static void crowd_released(uvzk_hold_t *hold, int status)
{
    (void)hold;
    if (status != 0) {
        fail_crowd(uvzk_strerror(status));
    }
    if (crowd.started < CONTENDERS) {
        send_one();
    }
    if (++crowd.released == CONTENDERS) {
        uv_close((uv_handle_t *)&crowd.leaving, NULL);
        uvzk_client_close(&crowd.client, crowd_closed);
    }
}

static void leave(uv_check_t *check)
{
    uvzk_hold_t *hold = crowd.holder;
    uv_check_stop(check);
    crowd.holder = NULL;
    if (!journal_leave(crowd.journal, crowd.name, uvzk_hold_token(hold))) {
        fail_crowd("cannot write the journal");
    }
    if (uvzk_hold_release(hold, crowd_released) != 0) {
        fail_crowd("cannot release");
    }
}

static void crowd_acquired(uvzk_hold_t *hold, int status)
{
    if (status != 0 || crowd.holder != NULL) {
        fail_crowd(status != 0 ? uvzk_strerror(status) : "two at once");
        return;
    }
    crowd.holder = hold;
    if (!journal_enter(crowd.journal, crowd.name, uvzk_hold_token(hold))) {
        fail_crowd("cannot write the journal");
    }
    if (!fence_present(crowd.fence, uvzk_hold_token(hold))) {
        fail_crowd("the token was refused");
    }
    uv_check_start(&crowd.leaving, leave);
}

static void crowd_lost(uvzk_hold_t *hold, int reason)
{
    (void)hold;
    fail_crowd(uvzk_strerror(reason));
}

static void send_one(void)
{
    uvzk_hold_t *hold = &crowd.requests[crowd.started++];
    if (uvzk_lock_acquire(&crowd.mutex, hold, NULL, crowd_acquired, crowd_lost) != 0) {
        fail_crowd("cannot acquire");
    }
}

static void crowd_state(uvzk_client_t *client, uvzk_client_state_t state)
{
    (void)client;
    if (state == UVZK_STATE_CONNECTED) {
        puts("ready");
        fflush(stdout);
    }
}

/* The first line from the test is the signal to begin. */
static void begin(uv_poll_t *input, int status, int events)
{
    (void)status;
    (void)events;
    uv_close((uv_handle_t *)input, NULL);
    while (crowd.started < AT_A_TIME) {
        send_one();
    }
}

static int crowd_main(const char *hosts, const char *tick, const char *directory)
{
    char fence[160], journal[160];
    uvzk_client_options_t options;
    uv_poll_t input;
    prctl(PR_SET_PDEATHSIG, SIGKILL);
    snprintf(crowd.name, sizeof(crowd.name), "process-%d", (int)getpid());
    snprintf(fence, sizeof(fence), "%s/fence", directory);
    snprintf(journal, sizeof(journal), "%s/journal", directory);
    crowd.fence = fence;
    crowd.journal = journal_open(journal);
    uvzk_client_options_init(&options);
    options.hosts = hosts;
    options.session_timeout_ms = 20000;
    options.tick_ms = (uint32_t)strtoul(tick, NULL, 10);
    options.state_cb = crowd_state;
    uv_loop_init(&crowd.loop);
    uv_check_init(&crowd.loop, &crowd.leaving);
    uv_poll_init(&crowd.loop, &input, 0);
    uv_poll_start(&input, UV_READABLE, begin);
    if (uvzk_client_init(&crowd.loop, &crowd.client, &options) != 0 ||
        uvzk_client_start(&crowd.client) != 0 ||
        uvzk_mutex_init(&crowd.client, &crowd.mutex, LOCK) != 0) {
        return 2;
    }
    uv_run(&crowd.loop, UV_RUN_DEFAULT);
    if (uv_loop_close(&crowd.loop) != 0 || !crowd.closed) {
        fail_crowd("the loop does not close");
    }
    printf("done %d\n", crowd.released);
    return crowd.failures == 0 ? 0 : 1;
}

/* ----------------------------------------------------------------------- test */

static void test_two_processes_exclude_each_other(void **state)
{
    static struct live live;
    static struct peer peers[PROCESSES];
    struct scratch scratch;
    struct journal_verdict verdict;
    char hosts[32], tick[16], journal[160], gate[256], program[] = "/proc/self/exe",
                                                       mode[] = "crowd";
    char *arguments[] = {program, mode, hosts, tick, scratch.path, NULL};
    (void)state;
    assert_true(scratch_make(&scratch));
    live_begin(&live);
    snprintf(hosts, sizeof(hosts), "%s", server_hosts(live_server));
    snprintf(tick, sizeof(tick), "%u", server_tick_ms(live_server));
    for (int i = 0; i < PROCESSES; i++) {
        assert_int_equal(peer_start(live.loop, &peers[i], arguments), 0);
    }
    for (int i = 0; i < PROCESSES; i++) {
        assert_non_null(peer_expect(&peers[i], "ready"));
    }
    /* A znode of the test's own holds them back until both are in the queue. */
    assert_int_equal(raw_create(live.raw, PARENT), ZOK);
    assert_int_equal(raw_create(live.raw, LOCK), ZOK);
    assert_int_equal(raw_contend(live.raw, LOCK, gate, sizeof(gate)), ZOK);
    for (int i = 0; i < PROCESSES; i++) {
        peer_say(&peers[i], "begin");
    }
    assert_true(live_wait_children(&live, LOCK, 1 + PROCESSES * AT_A_TIME));
    assert_int_equal(raw_delete(live.raw, gate), ZOK);
    for (int i = 0; i < PROCESSES; i++) {
        assert_non_null(peer_expect(&peers[i], "done 500"));
        assert_true(peer_wait(&peers[i]));
        assert_int_equal(peers[i].exit_status, 0);
        peer_close(&peers[i]);
    }
    snprintf(journal, sizeof(journal), "%s/journal", scratch.path);
    assert_true(journal_judge(journal, &verdict));
    if (verdict.complaint[0] != '\0') {
        print_error("%s\n", verdict.complaint);
    }
    assert_true(verdict.exclusive);
    assert_true(verdict.tokens_grow);
    assert_int_equal(verdict.entries, PROCESSES * CONTENDERS);
    print_message("handed over between the processes %zu times\n", verdict.handovers);
    assert_true(verdict.handovers >= 10); /* else nothing was shown */
    assert_true(live_wait_children(&live, LOCK, 0));
    scratch_remove(&scratch);
    live_end(&live);
}

int main(int argc, char **argv)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_two_processes_exclude_each_other),
    };
    if (argc == 5 && strcmp(argv[1], "crowd") == 0) {
        return crowd_main(argv[2], argv[3], argv[4]);
    }
    return cmocka_run_group_tests(tests, live_server_start, live_server_stop);
}
