/* SPDX-License-Identifier: Apache-2.0 */
/* Elections of a client with several sessions: each path has its home, a session that
 * ends deposes its own leaders only, and who leads is known in all of them. */
#include "cmocka_test.h"

#include <string.h>

#include "candidate.h"
#include "world.h"

#define MS 60000U
#define PATHS 6

static struct world world;
static struct process a, b;
static struct candidate ours[PATHS], others[PATHS];
static const char *const paths[PATHS] = {"/e/0", "/e/1", "/e/2", "/e/3", "/e/4", "/e/5"};

static void several_sessions(uint64_t seed, void *const *state)
{
    uvzk_election_options_t options;

    candidates_reset();
    world_begin(&world, seed, state);
    world.options.sessions = 3;
    process_begin(&a, &world, "a", NULL);
    process_begin(&b, &world, "b", NULL);
    world.each_ms = candidates_check;
    for (int i = 0; i < PATHS; i++) {
        candidate_options(&options, "ours");
        options.kind = (uint32_t)i % 2;
        assert_int_equal(candidate_ask(&ours[i], &a, paths[i], &options), 0);
        candidate_await_led(&ours[i], 1, MS);
        candidate_options(&options, "others");
        options.kind = (uint32_t)i % 2;
        assert_int_equal(candidate_ask(&others[i], &b, paths[i], &options), 0);
        candidate_await_leader(&others[i], "ours", MS);
    }
    process_expire(&a); /* the first session alone */
    world_run_for(&world, 2ULL * WORLD_TIMEOUT_MS);
    int deposed = 0;
    for (int i = 0; i < PATHS; i++) {
        assert_int_equal(ours[i].deposed, others[i].led);
        candidate_await_leader(&ours[i], ours[i].deposed > 0 ? "others" : "ours", MS);
        candidate_await_leader(&others[i], ours[i].deposed > 0 ? "others" : "ours", MS);
        deposed += ours[i].deposed;
    }
    assert_in_range(deposed, 0, PATHS - 1);
    for (int i = 0; i < PATHS; i++) {
        candidate_end(&ours[i]);
        candidate_end(&others[i]);
    }
    world.each_ms = NULL;
    world_end(&world);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        WORLD_SCENARIO(several_sessions, 1, 6),
    };

    return cmocka_run_group_tests_name("election of several sessions", tests, NULL, NULL);
}
