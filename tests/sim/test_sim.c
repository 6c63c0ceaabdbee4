/* SPDX-License-Identifier: Apache-2.0 */
/* Tests of the simulation as a whole: the port's contract holds under all random faults,
 * the same seed gives the same history, the trace, and misuse of the port. */
#include "cmocka_test.h"

#include "probe.h"
#include "sim.h"

#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

/* ----------------------------------------------------------- random requests */

static const struct sim_faults weather = {.lose_request = 5000,
                                          .lose_reply = 5000,
                                          .reply_enomem = 1000,
                                          .delay = 5000,
                                          .random_fails = 1000,
                                          .reset = 50000,
                                          .silence = 50000,
                                          .expire = 10000,
                                          .pause = 20000,
                                          .stall = 20000,
                                          .follower_cut = 20000,
                                          .repeat_connected = 20000,
                                          .replace_handle = 20000,
                                          .restart = 10000,
                                          .move = 50000,
                                          .lag = 200000,
                                          .depose = 50000,
                                          .down_max_ms = 15000,
                                          .pause_max_ms = 15000,
                                          .cut_max_ms = 15000};

/* Submits a random request on one of a few paths, and at most one watch on each path, as
 * the contract demands. The probe asserts the contract. */
static void ask_anything(struct sim *sim, struct probe *probe)
{
    static const char *const paths[] = {"/a", "/b", "/a/x", "/a/y", "/b/x"};
    const char *path = paths[sim_random(sim, 5)];
    bool watched = sim_random(sim, 3) == 0;
    for (const struct ask *ask = probe->asks; ask != NULL && watched; ask = ask->next) {
        watched = ask->watch.armed == NULL || strcmp(ask->path, path) != 0;
    }
    switch (sim_random(sim, 8)) {
    case 0:
        ask_create(probe, path,
                   sim_random(sim, 4) == 0 ? UVZK__EPHEMERAL : UVZK__CONTAINER);
        break;
    case 1:
        ask_create(probe, path, UVZK__EPHEMERAL_SEQUENTIAL);
        break;
    case 2:
        ask_delete(probe, path, -1);
        break;
    case 3:
        ask_set(probe, path, "data", (int32_t)sim_random(sim, 3) - 1);
        break;
    case 4:
        ask_sync(probe, path);
        break;
    default:
        ask_read(probe, (enum uvzk__rpc_kind)(UVZK__RPC_GET + sim_random(sim, 3)), path,
                 watched);
        break;
    }
    if (sim_random(sim, 10) == 0) {
        ask_unwatch(probe->asks);
    }
}

/* Three clients submit random requests while random faults happen. Returns the hash of
 * the trace. */
static uint64_t swarm(uint64_t seed, bool shuffle)
{
    struct sim_options options;
    struct probe *probes[3];
    size_t armed = 0;
    sim_options_init(&options);
    options.container_check_ms = 500;
    options.container_check_random = true;
    options.shuffle_ties = shuffle;
    options.to_loop_max_ms = (uint32_t)(seed % 3);
    options.batches = seed / 2 % 2 == 1;
    options.servers = (uint32_t)(1 + seed / 4 % 4);
    struct sim *sim = sim_new(seed, &options);
    for (size_t i = 0; i < 3; i++) {
        static const char *const names[] = {"a", "b", "c"};
        probes[i] = probe_new(sim, names[i]);
        probes[i]->reopens = true;
        probe_open(probes[i]);
    }
    sim_set_faults(sim, &weather);
    for (unsigned i = 0; i < 600; i++) {
        ask_anything(sim, probes[sim_random(sim, 3)]);
        sim_run_for(sim, sim_random(sim, 200));
    }
    sim_set_faults(sim, NULL);
    /* After a minute without faults every rpc has its reply, and the servers and the
     * clients know the same watches. */
    sim_run_for(sim, 60000);
    for (size_t i = 0; i < 3; i++) {
        assert_int_equal(sim_outstanding(probes[i]->port), 0);
        assert_int_equal(probes[i]->submitted, sim_submitted(probes[i]->port));
        armed += sim_armed(probes[i]->port);
    }
    assert_int_equal(sim_watch_count(sim), armed);
    assert_int_equal(sim_session_count(sim), 3);
    for (size_t i = 0; i < 3; i++) {
        probe_end(probes[i]);
    }
    sim_run_for(sim, 1000);
    assert_int_equal(sim_session_count(sim), 0);
    assert_int_equal(sim_watch_count(sim), 0);
    uint64_t hash = sim_trace_hash(sim);
    sim_free(sim);
    return hash;
}

static void the_contract_holds_in_any_weather(void **state)
{
    (void)state;
    for (uint64_t seed = 0; seed < 150; seed++) {
        swarm(seed, seed % 2 == 1);
    }
}

static void one_seed_makes_one_history(void **state)
{
    (void)state;
    for (uint64_t seed = 1000; seed < 1005; seed++) {
        uint64_t hash = swarm(seed, false), shuffled = swarm(seed, true);
        assert_true(hash != shuffled);
        assert_true(hash != swarm(seed + 100, false));
        char *shift = malloc(12345); /* changes addresses, which must not matter */
        assert_true(hash == swarm(seed, false));
        assert_true(shuffled == swarm(seed, true));
        free(shift);
    }
}

static void the_generator_is_uniform_and_seeded(void **state)
{
    struct sim *sim = sim_new(7, NULL), *same = sim_new(7, NULL),
               *other = sim_new(8, NULL);
    unsigned seen[10] = {0}, equal = 0;
    (void)state;
    for (unsigned i = 0; i < 10000; i++) {
        uint64_t value = sim_random(sim, 10);
        assert_true(value < 10);
        seen[value]++;
        assert_true(sim_random(same, 10) == value);
        equal += sim_random(other, 10) == value;
    }
    for (unsigned i = 0; i < 10; i++) {
        assert_in_range(seen[i], 850, 1150);
    }
    assert_in_range(equal, 850, 1150);
    sim_free(sim);
    sim_free(same);
    sim_free(other);
}

/* ---------------------------------------------------------------- the trace */

static void keep_line(void *arg, const char *line)
{
    snprintf(arg, 200, "%s", line);
}

static void the_trace_keeps_the_last_lines(void **state)
{
    struct sim_options options;
    char last[200] = "", *printed = NULL;
    size_t size = 0;
    (void)state;
    sim_options_init(&options);
    options.trace_lines = 3;
    options.trace_cb = keep_line;
    options.trace_arg = last;
    struct sim *sim = sim_new(1, &options);
    for (int i = 0; i < 5; i++) {
        sim_note(sim, "line %d", i);
    }
    assert_string_equal(last, "[    1000] --       line 4");
    FILE *file = open_memstream(&printed, &size);
    assert_non_null(file);
    sim_trace_print(sim, file);
    fclose(file);
    assert_string_equal(printed,
                        "[    1000] --       line 2\n[    1000] --       line 3\n"
                        "[    1000] --       line 4\n");
    free(printed);
    sim_free(sim);
    options.trace = false;
    sim = sim_new(1, &options);
    sim_note(sim, "unheard");
    assert_string_equal(last, "[    1000] --       line 4");
    sim_free(sim);
}

static void the_trace_changes_nothing(void **state)
{
    uint64_t steps[2], random[2];
    (void)state;
    for (int traced = 0; traced < 2; traced++) {
        struct sim_options options;
        sim_options_init(&options);
        options.trace = traced == 1;
        struct sim *sim = sim_new(3, &options);
        struct probe *a = probe_connected(sim, "a");
        sim_set_faults(sim, &weather);
        for (int i = 0; i < 100; i++) {
            ask_create(a, "/n-", UVZK__EPHEMERAL_SEQUENTIAL);
            sim_run_for(sim, 100);
        }
        steps[traced] = sim_steps(sim);
        random[traced] = sim_random(sim, UINT64_MAX);
        sim_set_faults(sim, NULL);
        probe_end(a);
        sim_free(sim);
    }
    assert_true(steps[0] == steps[1]);
    assert_true(random[0] == random[1]);
}

static void a_hundred_clients_are_served(void **state)
{
    struct sim *sim = sim_plain();
    struct probe *probes[100];
    struct ask *asks[100];
    (void)state;
    sim_create_by_hand(sim, "/l", UVZK__PERSISTENT);
    for (int i = 0; i < 100; i++) {
        probes[i] = probe_new(sim, "one of many");
        probe_open(probes[i]);
    }
    sim_run_for(sim, 100);
    for (int i = 0; i < 100; i++) {
        asks[i] = ask_create(probes[i], "/l/n-", UVZK__EPHEMERAL_SEQUENTIAL);
    }
    sim_run_for(sim, 100);
    for (int i = 0; i < 100; i++) {
        assert_int_equal(asks[i]->status, 0);
    }
    assert_int_equal(sim_children(sim, "/l", NULL, 0), 100);
    for (int i = 0; i < 100; i++) {
        probe_end(probes[i]);
    }
    sim_run_for(sim, 100);
    assert_int_equal(sim_children(sim, "/l", NULL, 0), 0);
    sim_free(sim);
}

/* -------------------------------------------------------------------- misuse */

static void misuse_persistent_beside_another(struct sim *sim)
{
    struct probe *a = probe_connected(sim, "a");
    ask_read(a, UVZK__RPC_EXISTS, "/a", true);
    ask_add_watch(a, "/a");
}

static void misuse_another_beside_persistent(struct sim *sim)
{
    struct probe *a = probe_connected(sim, "a");
    ask_add_watch(a, "/a");
    ask_read(a, UVZK__RPC_EXISTS, "/a", true);
}

static void misuse_submit_twice(struct sim *sim)
{
    struct probe *a = probe_connected(sim, "a");
    struct ask *ask = ask_sync(a, "/");
    a->port->submit(a->port, &ask->rpc);
}

static void misuse_change_outstanding(struct sim *sim)
{
    struct probe *a = probe_connected(sim, "a");
    struct ask *ask = ask_sync(a, "/path");
    ask->path[1] = 'x';
    sim_run_for(sim, 100);
}

static void misuse_container_in_multi(struct sim *sim)
{
    struct probe *a = probe_connected(sim, "a");
    struct uvzk__op op = op_of(UVZK__OP_CREATE, "/a", 0);
    op.mode = UVZK__CONTAINER;
    ask_multi(a, &op, 1);
}

static void misuse_open_twice(struct sim *sim)
{
    struct probe *a = probe_connected(sim, "a");
    probe_open(a);
}

static void misuse_close_twice(struct sim *sim)
{
    struct probe *a = probe_connected(sim, "a");
    probe_close(a);
    probe_close(a);
}

static void misuse_leak(struct sim *sim)
{
    probe_connected(sim, "a");
    sim_free(sim);
}

/* Runs the misuse in a child process without output, and returns whether it aborts. */
static bool aborts(void (*misuse)(struct sim *))
{
    int status = 0;
    pid_t child = fork();
    assert_true(child >= 0);
    if (child == 0) {
        const struct rlimit no_core = {0, 0};
        setrlimit(RLIMIT_CORE, &no_core);
        close(STDOUT_FILENO);
        close(STDERR_FILENO);
        signal(SIGABRT, SIG_DFL);
        misuse(sim_plain());
        _exit(0);
    }
    assert_int_equal(waitpid(child, &status, 0), child);
    return WIFSIGNALED(status) && WTERMSIG(status) == SIGABRT;
}

static void misuse_of_the_port_aborts(void **state)
{
    (void)state;
    assert_true(aborts(misuse_persistent_beside_another));
    assert_true(aborts(misuse_another_beside_persistent));
    assert_true(aborts(misuse_submit_twice));
    assert_true(aborts(misuse_change_outstanding));
    assert_true(aborts(misuse_container_in_multi));
    assert_true(aborts(misuse_open_twice));
    assert_true(aborts(misuse_close_twice));
    assert_true(aborts(misuse_leak));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_contract_holds_in_any_weather),
        cmocka_unit_test(one_seed_makes_one_history),
        cmocka_unit_test(the_generator_is_uniform_and_seeded),
        cmocka_unit_test(the_trace_keeps_the_last_lines),
        cmocka_unit_test(the_trace_changes_nothing),
        cmocka_unit_test(a_hundred_clients_are_served),
        cmocka_unit_test(misuse_of_the_port_aborts),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
