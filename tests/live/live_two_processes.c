/* SPDX-License-Identifier: Apache-2.0 */
/* Two processes of 500 contenders each on one lock. Every holder shows its
 * fencing token to a register that refuses old ones, and writes down when it
 * enters and leaves; the test checks the record. */
#include "world.h"

#include <inttypes.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <unistd.h>

#include "fenced_resource.h"
#include "journal.h"
#include "peer.h"
#include "scratch.h"

#define LOCK "/two/lock"
#define PROCESSES 2
#define CONTENDERS 500
/* So many of a process are in the queue at a time: whoever releases sends the next
 * one to the tail, so that the processes' places mix. */
#define AT_A_TIME 25

/* ------------------------------------------------------------------ contender */

static struct world world;
static struct process a;

static struct {
    uv_check_t leaving; /* a hold lasts until the loop has polled once */
    struct hold holds[CONTENDERS], *holder;
    char fence[160], name[32];
    int journal, started;
} pool;

static void leave(uv_check_t *check)
{
    struct hold *hold = pool.holder;
    uv_check_stop(check);
    pool.holder = NULL;
    assert_true(journal_leave(pool.journal, pool.name, hold->token));
    hold_release(hold);
}

static void enter(struct hold *hold)
{
    assert_int_equal(hold->status, 0);
    assert_null(pool.holder);
    pool.holder = hold;
    assert_true(journal_enter(pool.journal, pool.name, hold->token));
    assert_true(fenced_resource_accept(pool.fence, hold->token));
    uv_check_start(&pool.leaving, leave);
}

static void on_told(struct hold *hold);

static void send_one(void)
{
    struct hold *hold = &pool.holds[pool.started++];
    hold_begin(hold, &a, UVZK_WAIT_FOREVER);
    hold->hook = on_told;
}

static void on_told(struct hold *hold)
{
    assert_int_equal(hold->lost, 0);
    if (hold->released == 0) {
        enter(hold);
        return;
    }
    assert_int_equal(hold->release_status, 0);
    if (pool.started < CONTENDERS) {
        send_one();
    }
}

/* Without a test around it a failed assertion ends the process. */
static int crowd_main(const char *hosts, const char *tick, const char *directory)
{
    char journal[160], line[16];
    prctl(PR_SET_PDEATHSIG, SIGKILL);
    snprintf(pool.name, sizeof(pool.name), "process-%d", (int)getpid());
    snprintf(pool.fence, sizeof(pool.fence), "%s/fence", directory);
    snprintf(journal, sizeof(journal), "%s/journal", directory);
    pool.journal = journal_open(journal);
    world_begin_beside(&world, LOCK);
    world.options.hosts = hosts;
    world.options.session_timeout_ms = 20000;
    world.options.tick_ms = (uint32_t)strtoul(tick, NULL, 10);
    process_begin(&a, &world, pool.name, NULL);
    uv_check_init(world.loop, &pool.leaving);
    assert_true(world_await(&world, &a.connected, PATIENCE_MS));
    puts("ready");
    fflush(stdout);
    assert_non_null(fgets(line, sizeof(line), stdin)); /* the signal to begin */
    while (pool.started < AT_A_TIME) {
        send_one();
    }
    assert_true(world_await_count(&world, &world.ends, CONTENDERS, PATIENCE_MS));
    uv_close((uv_handle_t *)&pool.leaving, NULL);
    world_end(&world);
    printf("done %d\n", CONTENDERS);
    return 0;
}

/* ----------------------------------------------------------------------- test */

static void test_two_processes_exclude_each_other(void **state)
{
    static struct peer peers[PROCESSES];
    struct scratch scratch;
    struct journal_result result;
    char hosts[32], tick[16], journal[160], program[] = "/proc/self/exe",
                                            mode[] = "crowd";
    char *arguments[] = {program, mode, hosts, tick, scratch.path, NULL};
    (void)state;
    assert_true(scratch_make(&scratch));
    world_begin(&world, LOCK);
    snprintf(hosts, sizeof(hosts), "%s", server_hosts(live_server));
    snprintf(tick, sizeof(tick), "%u", server_tick_ms(live_server));
    for (int i = 0; i < PROCESSES; i++) {
        assert_int_equal(peer_start(world.loop, &peers[i], arguments), 0);
    }
    for (int i = 0; i < PROCESSES; i++) {
        assert_non_null(peer_expect(&peers[i], "ready"));
    }
    /* A znode of the test's own holds them back until both are in the queue. */
    world_make_path(&world, LOCK);
    struct world_path gate = world_foreign_node(&world, LOCK, "lock-");
    for (int i = 0; i < PROCESSES; i++) {
        peer_say(&peers[i], "begin");
    }
    assert_true(world_await_children(&world, LOCK, 1 + PROCESSES * AT_A_TIME));
    world_delete(&world, &gate);
    for (int i = 0; i < PROCESSES; i++) {
        assert_non_null(peer_expect(&peers[i], "done 500"));
        assert_true(peer_wait(&peers[i]));
        assert_int_equal(peers[i].exit_status, 0);
        peer_close(&peers[i]);
    }
    snprintf(journal, sizeof(journal), "%s/journal", scratch.path);
    assert_true(journal_check(journal, &result));
    if (result.first_error[0] != '\0') {
        print_error("%s\n", result.first_error);
    }
    assert_true(result.exclusive);
    assert_true(result.tokens_grow);
    assert_int_equal(result.entries, PROCESSES * CONTENDERS);
    print_message("handed over between the processes %zu times\n", result.handovers);
    assert_true(result.handovers >= 10); /* else nothing was shown */
    scratch_remove(&scratch);
    world_end(&world);
}

int main(int argc, char **argv)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_two_processes_exclude_each_other),
    };
    if (argc == 5 && strcmp(argv[1], "crowd") == 0) {
        return crowd_main(argv[2], argv[3], argv[4]);
    }
    return cmocka_run_group_tests(tests, servers_start_one, servers_stop);
}
