/* SPDX-License-Identifier: Apache-2.0 */
/* A server that refuses: each kind of request, with each code, once, a few times
 * or for some seconds, from each step of a lock's life on. Everybody is answered
 * once, with a code that uvzk.h names, or served when the trouble has passed; the
 * server is not stormed; nothing is left behind. */
#include "cmocka_test.h"

#include <inttypes.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "request_rate.h"
#include "sim_internal.h"
#include "world.h"

#define TROUBLE_MS 3000U /* how long a lasting trouble lasts */
#define LASTING UINT32_MAX
#define PATIENCE_MS 40000 /* of each acquire */

/* A busy client sends some dozens of requests in a second, one that repeats a
 * refused request as fast as the answers come sends five hundred. */
#define REQUESTS_A_SECOND 100U

/* Seconds of real time: a play takes some ms, unless it does not end. */
#define PLAY_S 30U

enum step {
    START,
    MAKE,
    PARENTS,
    PROVE,
    JOIN,
    HAND_OVER,
    SEARCH,
    WAIT,
    GRANT,
    RELEASE,
    STEPS
};

static const char *const step_names[STEPS + 1] = {
    "the start",    "the first acquire", "the parents", "the proofs",
    "the queueing", "the handover",      "a search",    "a foreigner's lock",
    "the grant",    "the release",       "the end"};

struct trouble {
    enum step step;
    enum uvzk__rpc_kind kind;
    int code;
    uint32_t times;
    uint32_t proof; /* uvzk_proof_t */
    int told;       /* the claim (from 1) that must be refused; 0: none must be */
};

#define CLAIMS 7

static struct world world;
static struct process processes[2];
static struct hold claims[CLAIMS];
static struct trouble trouble;
static uint64_t over_ms; /* when the trouble is; 0: it has not begun */
static struct request_rate request_rates[2];
static uint64_t hits; /* refusals in all plays of one kind */

/* ----------------------------------------------------------------- the trouble */

static void end_trouble(void)
{
    hits += trouble.times - world.sim->server.refuse[trouble.kind].times;
    sim_refuse(world.sim, trouble.kind, 0, 0);
    over_ms = UINT64_MAX;
}

static void each_ms(struct world *of)
{
    if (over_ms != 0 && world_now(of) >= over_ms) {
        end_trouble();
    }
    for (int i = 0; i < 2; i++) {
        if (processes[i].port != NULL &&
            request_rate_now(&request_rates[i]) > REQUESTS_A_SECOND) {
            world_fail(of, "%s repeats without a pause", processes[i].name);
        }
    }
}

/* The play has come to this step. */
static void step(enum step step)
{
    if (trouble.step == step) {
        world_note(&world, "the trouble begins");
        sim_refuse(world.sim, trouble.kind, trouble.code, trouble.times);
        over_ms = world_now(&world) + TROUBLE_MS;
    }
}

/* ---------------------------------------------------------------------- a play */

static void ask(int claim, int process)
{
    hold_begin(&claims[claim], &processes[process], PATIENCE_MS);
}

static void finish(int claim)
{
    world_finish(&world, &claims[claim]);
}

static void a_first_lock(void)
{
    step(START);
    process_start(&processes[0]);
    process_start(&processes[1]);
    world_run_for(&world, 100);
    step(MAKE);
    ask(0, 0);
    world_run_for(&world, 1);
    step(PARENTS); /* the create has reached the server, its reply not us */
    world_await_answer(&world, &claims[0]);
    step(PROVE);
    world_run_for(&world, 8000);
}

static void a_queue(void)
{
    step(JOIN);
    ask(1, 0);
    ask(2, 1);
    world_run_for(&world, 4000);
    step(HAND_OVER);
    for (int i = 0; i < 3; i++) {
        finish(i);
    }
    step(SEARCH);
    process_lose_reply(&processes[0]);
    ask(3, 0);
    finish(3);
    process_lose_request(&processes[0]);
    ask(4, 0);
    finish(4);
}

static void a_foreign_node(void)
{
    struct world_path foreign_node = world_foreign_node(&world, WORLD_PATH, "lock-");

    step(WAIT);
    ask(5, 0);
    world_run_for(&world, 4000);
    step(GRANT);
    world_delete(&world, &foreign_node);
    world_await_answer(&world, &claims[5]);
    step(RELEASE);
    finish(5);
    ask(6, 1);
    finish(6);
}

/* ------------------------------------------------------------------- the checks */

/* A node that may not be deleted stays to the end of its session, and who comes
 * after it waits as long. */
static bool undeletable(void)
{
    return trouble.code == UVZK_ENOAUTH &&
           (trouble.kind == UVZK__RPC_DELETE || trouble.kind == UVZK__RPC_MULTI);
}

/* What uvzk.h names for an acquire. */
static bool documented(int status)
{
    static const int codes[] = {UVZK_EEXHAUSTED,    UVZK_ENOAUTH,   UVZK_EINVALIDACL,
                                UVZK_ENOCHILDREN,   UVZK_EREJECTED, UVZK_EZOOKEEPER,
                                UVZK_EUNIMPLEMENTED};

    for (size_t i = 0; i < sizeof(codes) / sizeof(codes[0]); i++) {
        if (status == codes[i]) {
            return true;
        }
    }
    return false;
}

static void check_claim(int number)
{
    const struct hold *claim = &claims[number];
    int refusal = trouble.code == UVZK_ENODEEXISTS ? UVZK_EEXHAUSTED : trouble.code;

    if (!claim->accepted || !hold_over(claim)) {
        world_fail(&world, "claim %d was not answered", number);
    }
    if (claim->status != 0 && !(claim->status == refusal && documented(refusal)) &&
        !(claim->status == UV_ETIMEDOUT && undeletable())) {
        world_fail(&world, "acquire %d ends with %s", number,
                   uvzk_err_name(claim->status));
    }
    if (trouble.told == number + 1 && claim->status == 0) {
        world_fail(&world, "acquire %d is not refused", number);
    }
    if (claim->lost) {
        world_fail(&world, "hold %d is lost with %s", number,
                   uvzk_err_name(claim->reason));
    }
    if (claim->released && claim->release_status != 0 &&
        !(claim->release_status == UVZK_ENOAUTH && undeletable())) {
        world_fail(&world, "release %d says %s", number,
                   uvzk_err_name(claim->release_status));
    }
}

static const char *performed;

/* Without an assert of cmocka's: it has no control there. */
static void hangs(int number)
{
    (void)number;
    (void)!write(STDERR_FILENO, performed, strlen(performed));
    (void)!write(STDERR_FILENO, ": the loop hangs\n", 17);
    _exit(1);
}

static void begin(const char *what)
{
    uvzk_client_options_t options;

    over_ms = 0;
    world_begin_exact(&world, UVZK__TUNE_ALL, 1);
    world.what = what;
    world.each_ms = each_ms;
    process_options(&options);
    options.proof = trouble.proof;
    for (int i = 0; i < 2; i++) {
        process_make(&processes[i], &world, i == 0 ? "a" : "b", &options);
        request_rate_begin(&request_rates[i], world.sim, processes[i].port,
                           sim_submitted);
    }
}

/* What could not be deleted is withdrawn for as long as there is a client, and goes with
 * its session. */
static void end(void)
{
    if (undeletable()) {
        process_close(&processes[0]);
        process_close(&processes[1]);
        world_run_for(&world, 4ULL * WORLD_TIMEOUT_MS);
        assert_int_equal(world_queue_length(&world), 0);
    } else {
        world_release_all(&world);
    }
    world_end(&world);
}

static void perform(const struct trouble *this)
{
    char what[160];

    trouble = *this;
    (void)snprintf(what, sizeof(what),
                   "%s refused with %s, %" PRIu32 " times, from %s on",
                   sim__request_name((uint32_t)trouble.kind), uvzk_err_name(trouble.code),
                   trouble.times, step_names[trouble.step]);
    performed = what;
    (void)alarm(PLAY_S);
    begin(what);
    a_first_lock();
    a_queue();
    a_foreign_node();
    for (int i = 0; i < CLAIMS; i++) {
        check_claim(i);
    }
    end();
    (void)alarm(0);
}

/* ------------------------------------------------------------------- all of them */

static void refuse(enum uvzk__rpc_kind kind, int code)
{
    static const uint32_t times[] = {1, 4, LASTING};

    hits = 0;
    for (int step = 0; step < STEPS; step++) {
        for (size_t i = 0; i < sizeof(times) / sizeof(times[0]); i++) {
            perform(&(struct trouble){
                .step = (enum step)step,
                .kind = kind,
                .code = code,
                .times = times[i],
                .proof = kind == UVZK__RPC_SYNC ? UVZK_PROOF_SYNC : UVZK_PROOF_QUORUM});
        }
    }
    /* Or hardly anything was refused at all; an exists is asked for but by some steps. */
    assert_true(hits >= (kind == UVZK__RPC_EXISTS ? 1 : STEPS));
}

static void everything_is_refused(void **state)
{
    static const enum uvzk__rpc_kind kinds[] = {UVZK__RPC_CREATE,   UVZK__RPC_DELETE,
                                                UVZK__RPC_GET,      UVZK__RPC_EXISTS,
                                                UVZK__RPC_CHILDREN, UVZK__RPC_MULTI};
    int code = *(const int *)*state;

    for (size_t i = 0; i < sizeof(kinds) / sizeof(kinds[0]); i++) {
        refuse(kinds[i], code);
    }
    if (code == UVZK_ETHROTTLED || code == UVZK_EZOOKEEPER) { /* said of a sync, too */
        refuse(UVZK__RPC_SYNC, code);
    }
}

/* On a sequential create it says that the counter sticks. */
static void exists_already(void **state)
{
    (void)state;
    refuse(UVZK__RPC_CREATE, UVZK_ENODEEXISTS);
}

/* To wait until it passes would be to wait for ever. */
static void who_may_not_is_told_so(void **state)
{
    static const struct trouble troubles[] = {
        {.step = MAKE, .kind = UVZK__RPC_CREATE, .told = 1},
        {.step = PARENTS, .kind = UVZK__RPC_CREATE, .told = 1},
        {.step = WAIT, .kind = UVZK__RPC_CREATE, .told = 6},
        {.step = WAIT, .kind = UVZK__RPC_CHILDREN, .told = 6},
        {.step = WAIT, .kind = UVZK__RPC_GET, .told = 6},
    };

    (void)state;
    for (size_t i = 0; i < sizeof(troubles) / sizeof(troubles[0]); i++) {
        struct trouble forbidden = troubles[i];
        forbidden.code = UVZK_ENOAUTH;
        forbidden.times = LASTING;
        perform(&forbidden);
    }
}

/* The bound of the checks above is not met by chance: a play without any trouble
 * stays well below it, and everybody is served. */
static void without_trouble_everybody_is_served(void **state)
{
    (void)state;
    perform(&(struct trouble){.step = STEPS, .kind = UVZK__RPC_GET});
}

#define REFUSED(name, code) \
    ((struct CMUnitTest){#name, everything_is_refused, NULL, NULL, &(int){code}})

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(without_trouble_everybody_is_served),
        cmocka_unit_test(who_may_not_is_told_so),
        REFUSED(not_allowed, UVZK_ENOAUTH),
        REFUSED(acl_invalid, UVZK_EINVALIDACL),
        REFUSED(no_children_for_ephemerals, UVZK_ENOCHILDREN),
        REFUSED(unimplemented, UVZK_EUNIMPLEMENTED),
        REFUSED(throttled, UVZK_ETHROTTLED),
        REFUSED(rejected, UVZK_EREJECTED),
        REFUSED(another_error, UVZK_EZOOKEEPER),
        cmocka_unit_test(exists_already),
    };
    (void)signal(SIGALRM, hangs);
    return cmocka_run_group_tests_name("refusals", tests, NULL, NULL);
}
