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

#include "sim_inside.h"
#include "stage.h"

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

struct play {
    struct stage stage;
    struct trouble trouble;
    struct claim claims[CLAIMS];
    uint64_t over_ms;   /* when the trouble is; 0: it has not begun */
    uint64_t second_ms; /* begin of the second in which requests are counted */
    uint64_t submitted[STAGE_SEATS];
};

static uint64_t hits; /* refusals in all plays of one kind */

/* ----------------------------------------------------------------- the trouble */

static void end_trouble(struct play *play)
{
    struct trouble *trouble = &play->trouble;

    hits += trouble->times - play->stage.sim->server.refuse[trouble->kind].times;
    sim_refuse(play->stage.sim, trouble->kind, 0, 0);
    play->over_ms = UINT64_MAX;
}

static void count_requests(struct play *play)
{
    for (int i = 0; i < STAGE_SEATS; i++) {
        struct uvzk__port *port = play->stage.seats[i].port;
        if (port == NULL) {
            continue;
        }
        uint64_t count = sim_submitted(port) - play->submitted[i];
        if (count > REQUESTS_A_SECOND) {
            stage_fail(&play->stage, "c%d sends %" PRIu64 " requests in a second", i,
                       count);
        }
        play->submitted[i] = sim_submitted(port);
    }
}

static void each_ms(struct stage *stage)
{
    struct play *play = stage->data;
    uint64_t now = sim_now(stage->sim);

    if (play->over_ms != 0 && now >= play->over_ms) {
        end_trouble(play);
    }
    if (now >= play->second_ms + 1000) {
        play->second_ms = now;
        count_requests(play);
    }
}

/* The play has come to this step. */
static void step(struct play *play, enum step step)
{
    struct trouble *trouble = &play->trouble;

    if (trouble->step == step) {
        sim_note(play->stage.sim, "the trouble begins");
        sim_refuse(play->stage.sim, trouble->kind, trouble->code, trouble->times);
        play->over_ms = sim_now(play->stage.sim) + TROUBLE_MS;
    }
}

/* ---------------------------------------------------------------------- a play */

static void ask(struct play *play, int claim, int seat)
{
    (void)claim_simply(&play->claims[claim], &play->stage.seats[seat], NULL, PATIENCE_MS);
}

static void run(struct play *play, uint64_t ms)
{
    stage_run(&play->stage, ms);
}

static void a_first_lock(struct play *play)
{
    step(play, START);
    stage_start(&play->stage);
    run(play, 100);
    step(play, MAKE);
    ask(play, 0, 0);
    run(play, 1);
    step(play, PARENTS); /* the create has reached the server, its reply not us */
    claim_wait_answer(&play->claims[0]);
    step(play, PROVE);
    run(play, 8000);
}

static void a_queue(struct play *play)
{
    step(play, JOIN);
    ask(play, 1, 0);
    ask(play, 2, 1);
    run(play, 4000);
    step(play, HAND_OVER);
    for (int i = 0; i < 3; i++) {
        claim_finish(&play->claims[i]);
    }
    step(play, SEARCH);
    sim_lose_reply(play->stage.seats[0].port);
    ask(play, 3, 0);
    claim_finish(&play->claims[3]);
    sim_lose_request(play->stage.seats[0].port);
    ask(play, 4, 0);
    claim_finish(&play->claims[4]);
}

static void a_foreigner(struct play *play)
{
    struct stage_path foreigner = stage_foreigner(&play->stage);

    step(play, WAIT);
    ask(play, 5, 0);
    run(play, 4000);
    step(play, GRANT);
    stage_delete(&play->stage, &foreigner);
    claim_wait_answer(&play->claims[5]);
    step(play, RELEASE);
    claim_finish(&play->claims[5]);
    ask(play, 6, 1);
    claim_finish(&play->claims[6]);
}

/* ------------------------------------------------------------------- the checks */

/* A node that may not be deleted stays to the end of its session, and who comes
 * after it waits as long. */
static bool undeletable(const struct trouble *trouble)
{
    return trouble->code == UVZK_ENOAUTH &&
           (trouble->kind == UVZK__RPC_DELETE || trouble->kind == UVZK__RPC_MULTI);
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

static void check_claim(struct play *play, int number)
{
    const struct trouble *trouble = &play->trouble;
    const struct claim *claim = &play->claims[number];
    int refusal = trouble->code == UVZK_ENODEEXISTS ? UVZK_EEXHAUSTED : trouble->code;

    if (!claim->accepted || !claim_over(claim)) {
        stage_fail(&play->stage, "claim %d was not answered", number);
    }
    if (claim->refused && !(claim->status == refusal && documented(refusal)) &&
        !(claim->status == UV_ETIMEDOUT && undeletable(trouble))) {
        stage_fail(&play->stage, "acquire %d ends with %s", number,
                   uvzk_err_name(claim->status));
    }
    if (trouble->told == number + 1 && !claim->refused) {
        stage_fail(&play->stage, "acquire %d is not refused", number);
    }
    if (claim->lost) {
        stage_fail(&play->stage, "hold %d is lost with %s", number,
                   uvzk_err_name(claim->reason));
    }
    if (claim->released && claim->release_status != 0 &&
        !(claim->release_status == UVZK_ENOAUTH && undeletable(trouble))) {
        stage_fail(&play->stage, "release %d says %s", number,
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

static void perform(const struct trouble *trouble)
{
    struct stage_options options = {.tuning = UVZK__TUNE_ALL, .proof = trouble->proof};
    struct play *play = calloc(1, sizeof(*play));
    char what[160];

    (void)snprintf(
        what, sizeof(what), "%s refused with %s, %" PRIu32 " times, from %s on",
        sim__request_name((uint32_t)trouble->kind), uvzk_err_name(trouble->code),
        trouble->times, step_names[trouble->step]);
    stage_open(&play->stage, &options);
    play->trouble = *trouble;
    play->stage.what = what;
    performed = what;
    (void)alarm(PLAY_S);
    play->stage.data = play;
    play->stage.each_ms = each_ms;
    a_first_lock(play);
    a_queue(play);
    a_foreigner(play);
    for (int i = 0; i < CLAIMS; i++) {
        check_claim(play, i);
    }
    if (!undeletable(trouble)) {
        stage_let_go(&play->stage);
    }
    stage_end(&play->stage);
    (void)alarm(0);
    free(play);
}

/* ------------------------------------------------------------------- all of them */

static void refuse(enum uvzk__rpc_kind kind, int code, uint32_t proof)
{
    static const uint32_t times[] = {1, 4, LASTING};

    hits = 0;
    for (int step = 0; step < STEPS; step++) {
        for (size_t i = 0; i < sizeof(times) / sizeof(times[0]); i++) {
            perform(&(struct trouble){.step = (enum step)step,
                                      .kind = kind,
                                      .code = code,
                                      .times = times[i],
                                      .proof = proof});
        }
    }
    assert_true(hits >= STEPS); /* or hardly anything was refused at all */
}

static void refuse_everything_with(int code, uint32_t proof)
{
    refuse(UVZK__RPC_CREATE, code, proof);
    refuse(UVZK__RPC_DELETE, code, proof);
    refuse(UVZK__RPC_GET, code, proof);
    refuse(UVZK__RPC_EXISTS, code, proof);
    refuse(UVZK__RPC_CHILDREN, code, proof);
    refuse(UVZK__RPC_MULTI, code, proof);
}

static void not_allowed(void **state)
{
    (void)state;
    refuse_everything_with(UVZK_ENOAUTH, UVZK_PROOF_QUORUM);
}

static void acl_invalid(void **state)
{
    (void)state;
    refuse_everything_with(UVZK_EINVALIDACL, UVZK_PROOF_QUORUM);
}

static void no_children_for_ephemerals(void **state)
{
    (void)state;
    refuse_everything_with(UVZK_ENOCHILDREN, UVZK_PROOF_QUORUM);
}

static void unimplemented(void **state)
{
    (void)state;
    refuse_everything_with(UVZK_EUNIMPLEMENTED, UVZK_PROOF_QUORUM);
}

static void throttled(void **state)
{
    (void)state;
    refuse_everything_with(UVZK_ETHROTTLED, UVZK_PROOF_QUORUM);
    refuse(UVZK__RPC_SYNC, UVZK_ETHROTTLED, UVZK_PROOF_SYNC);
}

static void rejected(void **state)
{
    (void)state;
    refuse_everything_with(UVZK_EREJECTED, UVZK_PROOF_QUORUM);
}

static void another_error(void **state)
{
    (void)state;
    refuse_everything_with(UVZK_EZOOKEEPER, UVZK_PROOF_QUORUM);
    refuse(UVZK__RPC_SYNC, UVZK_EZOOKEEPER, UVZK_PROOF_SYNC);
}

/* On a sequential create it says that the counter sticks. */
static void exists_already(void **state)
{
    (void)state;
    refuse(UVZK__RPC_CREATE, UVZK_ENODEEXISTS, UVZK_PROOF_QUORUM);
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
        struct trouble trouble = troubles[i];
        trouble.code = UVZK_ENOAUTH;
        trouble.times = LASTING;
        perform(&trouble);
    }
}

/* The bound of the checks above is not met by chance: a play without any trouble
 * stays well below it, and everybody is served. */
static void without_trouble_everybody_is_served(void **state)
{
    (void)state;
    perform(&(struct trouble){.step = STEPS, .kind = UVZK__RPC_GET});
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(without_trouble_everybody_is_served),
        cmocka_unit_test(who_may_not_is_told_so),
        cmocka_unit_test(not_allowed),
        cmocka_unit_test(acl_invalid),
        cmocka_unit_test(no_children_for_ephemerals),
        cmocka_unit_test(unimplemented),
        cmocka_unit_test(throttled),
        cmocka_unit_test(rejected),
        cmocka_unit_test(another_error),
        cmocka_unit_test(exists_already),
    };
    (void)signal(SIGALRM, hangs);
    return cmocka_run_group_tests_name("refusals", tests, NULL, NULL);
}
