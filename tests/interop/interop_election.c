/* SPDX-License-Identifier: Apache-2.0 */
/* The library and Apache Curator's LeaderLatch and LeaderSelector in one election: one of
 * them leads, in the order in which they came, whoever resigns, leaves or is closed; each
 * side sees the other's ids and who leads. The state of each test is the kind. */
#include <stdio.h>
#include <string.h>

#include "candidate.h"
#include "other_side.h"

struct kind {
    uvzk_election_kind_t kind;
    const char *command; /* that makes Curator's */
    const char *prefix;  /* of the znodes' names */
};

static struct kind latch = {UVZK_ELECTION_LATCH, "latch", "latch-"};
static struct kind selector = {UVZK_ELECTION_SELECTOR, "selector", "lock-"};

static struct world world;
static struct process us;
static struct peer curator;
static struct candidate ours;

static void begin(void)
{
    candidates_reset();
    both_sides_begin(&world, NULL, &us, &curator);
}

static void end(void)
{
    candidate_end(&ours);
    assert_true(world_await_children(&world, CANDIDATE_PATH, 0));
    both_sides_end(&world, &curator);
}

static void they_begin(const struct kind *kind, const char *name)
{
    assert_non_null(peer_ask(&curator, "made ", "%s %s %s id-of-%s", kind->command, name,
                             CANDIDATE_PATH, name));
}

static void they_lead(const char *name)
{
    char line[64];

    (void)snprintf(line, sizeof(line), "leads %s", name);
    assert_non_null(peer_expect(&curator, line));
}

static void they_leave(const char *name)
{
    assert_non_null(peer_ask(&curator, "left ", "leave %s notify", name));
}

static void await_queued(long count)
{
    assert_true(world_await_children(&world, CANDIDATE_PATH, count));
}

/* ---------------------------------------------------------------- participants */

static struct {
    int answered;
    size_t count;
    char text[512]; /* as Curator's side says it */
} list;

static void on_participants(uvzk_req_t *request, int status)
{
    const uvzk_election_participant_t *const *participants =
        request->result->participants;
    size_t count = request->result->count;
    size_t length = 0;

    (void)request;
    assert_int_equal(status, 0);
    list.count = count;
    length = (size_t)snprintf(list.text, sizeof(list.text), "%s", participants[0]->id);
    for (size_t i = 0; i < count; i++) {
        assert_int_equal(participants[i]->is_leader, i == 0);
        length += (size_t)snprintf(list.text + length, sizeof(list.text) - length, " %s",
                                   participants[i]->id);
    }
    list.answered++;
}

/* Both sides list the same ids in the same order, with the same leader. */
static void assert_same_list(const char *name, size_t count)
{
    static uvzk_req_t request;
    char expected[600];

    memset(&request, 0, sizeof(request));
    memset(&list, 0, sizeof(list));
    assert_int_equal(
        uvzk_election_participants(&ours.election, &request, on_participants), 0);
    assert_true(world_await(&world, &list.answered, PATIENCE_MS));
    assert_int_equal(list.count, count);
    const char *theirs = peer_ask(&curator, "elected ", "elected %s", name);
    assert_non_null(theirs);
    (void)snprintf(expected, sizeof(expected), "elected %s %s", name, list.text);
    assert_string_equal(theirs, expected);
}

/* ----------------------------------------------------------------------- tests */

static void test_we_follow_curator(void **state)
{
    const struct kind *kind = *state;

    begin();
    they_begin(kind, "A");
    they_lead("A");
    candidate_begin_as(&ours, &us, "ours", kind->kind, true);
    candidate_await_leader(&ours, "id-of-A", PATIENCE_MS);
    await_queued(2);
    they_begin(kind, "B");
    await_queued(3);
    assert_same_list("A", 3);
    assert_int_equal(ours.led, 0);
    they_leave("A");
    assert_non_null(peer_expect(&curator, "deposed A"));
    candidate_await_led(&ours, 1, PATIENCE_MS);
    candidate_await_leader(&ours, "ours", PATIENCE_MS);
    assert_null(peer_heard(&curator, "leads B"));
    assert_same_list("B", 2);
    struct world_path path = world_child(&world, CANDIDATE_PATH, 0);
    assert_name_survives(path.text, kind->prefix);
    world_assert_data(&world, path.text, "ours", 4);
    candidate_resign(&ours);
    they_lead("B");
    candidate_await_leader(&ours, "id-of-B", PATIENCE_MS);
    assert_int_equal(ours.deposed, 1);
    they_leave("B");
    candidate_await_led(&ours, 2, PATIENCE_MS);
    end();
}

static void test_curator_follows_us(void **state)
{
    const struct kind *kind = *state;

    begin();
    candidate_begin_as(&ours, &us, "ours", kind->kind, true);
    candidate_await_led(&ours, 1, PATIENCE_MS);
    they_begin(kind, "A");
    await_queued(2);
    struct world_path path = world_child(&world, CANDIDATE_PATH, 0);
    assert_true(other_side_wait_watches(&us, path.text)); /* it has seen ours */
    assert_same_list("A", 2);
    assert_null(peer_heard(&curator, "leads A"));
    candidate_resign(&ours);
    they_lead("A");
    assert_false(candidate_is_leader(&ours));
    candidate_await_leader(&ours, "id-of-A", PATIENCE_MS);
    await_queued(2);
    they_leave("A");
    candidate_await_led(&ours, 2, PATIENCE_MS);
    end();
}

/* Three rounds: each side goes to the end of the queue when it has led. */
static void test_both_rotate(void **state)
{
    (void)state;
    begin();
    they_begin(&selector, "A");
    they_lead("A");
    candidate_begin_as(&ours, &us, "ours", UVZK_ELECTION_SELECTOR, true);
    await_queued(2);
    for (int round = 1; round <= 3; round++) {
        assert_non_null(peer_ask(&curator, "resigned A", "resign A"));
        candidate_await_led(&ours, round, PATIENCE_MS);
        assert_non_null(peer_expect(&curator, "deposed A"));
        await_queued(2);
        candidate_resign(&ours);
        they_lead("A");
        await_queued(2);
    }
    they_leave("A");
    candidate_await_led(&ours, 4, PATIENCE_MS);
    end();
}

/* Closed silently on either side: the other side leads all the same. */
static void test_silent_closes(void **state)
{
    (void)state;
    begin();
    candidate_begin(&ours, &us, "ours");
    candidate_await_led(&ours, 1, PATIENCE_MS);
    they_begin(&latch, "A");
    await_queued(2);
    candidate_close(&ours, UVZK_ELECTION_SILENT);
    they_lead("A");
    candidate_end(&ours);
    candidate_begin(&ours, &us, "again");
    candidate_await_leader(&ours, "id-of-A", PATIENCE_MS);
    assert_non_null(peer_ask(&curator, "left A", "leave A silent"));
    candidate_await_led(&ours, 1, PATIENCE_MS);
    assert_null(peer_heard(&curator, "deposed A"));
    end();
}

int main(int argc, char **argv)
{
    const struct CMUnitTest tests[] = {
        {"we follow a LeaderLatch", test_we_follow_curator, NULL, NULL, &latch},
        {"we follow a LeaderSelector", test_we_follow_curator, NULL, NULL, &selector},
        {"a LeaderLatch follows us", test_curator_follows_us, NULL, NULL, &latch},
        {"a LeaderSelector follows us", test_curator_follows_us, NULL, NULL, &selector},
        cmocka_unit_test(test_both_rotate),
        cmocka_unit_test(test_silent_closes),
    };

    if (!other_side_commands(argc, argv, 1)) {
        return 2;
    }
    return cmocka_run_group_tests(tests, servers_start_one, servers_stop);
}
