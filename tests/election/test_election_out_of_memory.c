/* SPDX-License-Identifier: Apache-2.0 */
/* Elections while the n-th allocation of the library fails, once or for three seconds,
 * for n = 1, 2, 3, ... until one play runs through: a call is refused or its outcome comes, a
 * leader is there in the end, everybody knows it, and nothing stays allocated. */
#include "cmocka_test.h"

#include <string.h>

#include "candidate.h"
#include "failing_allocator.h"
#include "world.h"

#define MS 120000U
#define SCARCE_MS 3000U /* how long memory is scarce, if it is for good */

static struct world world;
static struct process a, b;
static struct candidate first, second;
static int listed, list_status;

static void each_ms(struct world *of)
{
    failing_allocator_stop_after(SCARCE_MS, world_now(of));
    candidates_check(of);
}

static bool try_to_begin(struct candidate *candidate, struct process *process,
                         const char *id, uvzk_election_kind_t kind)
{
    uvzk_election_options_t options;

    candidate_options(&options, id);
    options.kind = (uint32_t)kind;
    int status = candidate_ask(candidate, process, CANDIDATE_PATH, &options);
    assert_true(status == 0 || status == UV_ENOMEM);
    if (status != 0) {
        assert_null(candidate->election.impl);
    }
    candidate->may_err = true;
    return status == 0;
}

static void on_participants(uvzk_req_t *request, int status)
{
    size_t count = request->result->count;
    (void)request;
    assert_true(status == 0 ? count <= 2 : count == 0);
    listed++;
    list_status = status;
}

static void on_done(uvzk_future_t *future, int status, void *context)
{
    (void)future;
    *(int *)context = status;
}

static void look_around(void)
{
    static uvzk_req_t request;
    uvzk_future_t leads, list;
    int lead_status = 1, future_status = 1;

    memset(&request, 0, sizeof(request));
    memset(&leads, 0, sizeof(leads));
    memset(&list, 0, sizeof(list));
    listed = 0;
    int status = uvzk_election_participants(&first.election, &request, on_participants);
    assert_true(status == 0 || status == UV_ENOMEM);
    bool waits = uvzk_election_lead_future(&first.election, &leads) == 0;
    bool lists = uvzk_election_participants(&first.election, uvzk_future_req(&list),
                                            uvzk_future_complete) == 0;
    waits = waits && uvzk_future_then(&leads, on_done, &lead_status) == 0;
    lists = lists && uvzk_future_then(&list, on_done, &future_status) == 0;
    world_run_for(&world, 3500);
    assert_true(status != 0 || listed == 1);
    assert_true(!lists || future_status <= 0);
    uvzk_future_drop(&leads);
    uvzk_future_drop(&list);
    (void)waits;
}

/* All of it: queue, lead, follow, resign, lose, close. */
static void play(uvzk_election_kind_t kind)
{
    bool one = try_to_begin(&first, &a, "first", kind);
    world_run_for(&world, 1000);
    bool other = try_to_begin(&second, &b, "second", kind);

    world_run_for(&world, 2000);
    if (one) {
        look_around();
    }
    if (one && candidate_is_leader(&first)) {
        candidate_resign(&first);
    }
    world_run_for(&world, 3000);
    process_expire(&b);
    world_run_for(&world, 4000);
    failing_allocator_stop();
    world.each_ms = NULL; /* longer steps from here on */
    if (one || other) {
        world_run_for(&world, 20000); /* the last pause of the retry policy */
        assert_int_equal(candidates_leading(), 1);
        const char *id = candidates_leader()->id;
        if (one) {
            candidate_await_leader(&first, id, MS);
        }
        if (other) {
            candidate_await_leader(&second, id, MS);
        }
    }
    if (one) {
        candidate_end(&first);
    }
    if (other) {
        candidate_end(&second);
    }
}

static bool run_with(uint64_t fails, uint64_t count, uvzk_election_kind_t kind)
{
    candidates_reset();
    world_begin_exact_two(&world, UVZK__TUNE_ALL, 1, &a, &b);
    a.may_log_errors = b.may_log_errors = true;
    world.each_ms = each_ms;
    failing_allocator_arm(fails, count);
    play(kind);
    bool failed = failing_allocator_failures() > 0;
    world.each_ms = NULL;
    world_end(&world);
    assert_int_equal(failing_allocator_live_blocks(), 0);
    return failed;
}

static void run(void **state)
{
    uint64_t count = *(uint64_t *)*state;

    for (int kind = 0; kind <= (int)UVZK_ELECTION_SELECTOR; kind++) {
        uint64_t fails = 1;
        while (run_with(fails, count, (uvzk_election_kind_t)kind)) {
            fails++;
        }
        assert_true(fails > 50);
    }
}

int main(void)
{
    static uint64_t once = 1, for_good = FAILING_ALLOCATOR_FOREVER;
    const struct CMUnitTest tests[] = {
        {"one allocation fails", run, NULL, NULL, &once},
        {"all fail for three seconds", run, NULL, NULL, &for_good},
    };

    if (failing_allocator_install() != 0) {
        return 1;
    }
    return cmocka_run_group_tests_name("election out of memory", tests, NULL, NULL);
}
