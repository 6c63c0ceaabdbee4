/* SPDX-License-Identifier: Apache-2.0 */
/* An election as its user sees it, over the simulator: who leads in which order, what
 * ends it, what each call refuses, and what each way of closing reports. */
#include "cmocka_test.h"

#include <string.h>

#include "candidate.h"
#include "world.h"

#define MS 60000U
#define MANY 10
#define LAG_MS 100U /* every server has applied what was committed before */

static struct world world;
static struct process a, b;
static struct candidate first, second, third, many[MANY];

static void begin(uint64_t seed, void *const *state)
{
    candidates_reset();
    world_begin_ready(&world, seed, state, &a, &b);
    world.each_ms = candidates_check;
}

/* Whoever shares a client with another candidate may know the leader before it stands in
 * the queue itself. */
static void await_queued(size_t count)
{
    uint64_t until = world_now(&world) + MS;

    while (world_children(&world, CANDIDATE_PATH) < count && world_now(&world) < until) {
        world_run_for(&world, 1);
    }
    assert_int_equal(world_children(&world, CANDIDATE_PATH), count);
}

static void await_gone(size_t count)
{
    uint64_t until = world_now(&world) + MS;

    while (world_children(&world, CANDIDATE_PATH) == count && world_now(&world) < until) {
        world_run_for(&world, 1);
    }
    assert_int_not_equal(world_children(&world, CANDIDATE_PATH), count);
}

/* Who follows watches the leader's znode, and the directory may have a mirror beside that. It
 * would begin and give way again and again, if followers watched the children. */
static void end(void)
{
    assert_in_range(world_count(&world, 0, "a", "add watch /"), 0, 1);
    assert_in_range(world_count(&world, 0, "b", "add watch /"), 0, 1);
    world.each_ms = NULL;
    world_end(&world);
}

/* ---------------------------------------------------------------- who leads, and when */

/* TestLeaderLatch.testBasic: in the order in which they came. */
static void they_lead_in_their_order(uint64_t seed, void *const *state)
{
    begin(seed, state);
    candidate_begin(&first, &a, "first");
    candidate_await_led(&first, 1, MS);
    candidate_begin(&second, &b, "second");
    candidate_await_leader(&second, "first", MS);
    await_queued(2);
    candidate_begin(&third, &a, "third");
    candidate_await_leader(&third, "first", MS);
    await_queued(3);
    assert_true(candidate_is_leader(&first));
    assert_true(first.token > 0);
    candidate_end(&first);
    assert_int_equal(first.reason, UVZK_ECLOSED);
    candidate_await_led(&second, 1, MS);
    assert_int_equal(third.led, 0);
    candidate_end(&second);
    candidate_await_led(&third, 1, MS);
    candidate_end(&third);
    end();
}

/* TestLeaderSelector.testRotatingLeadership: each leads once in each round. */
static void those_who_resign_go_to_the_end(uint64_t seed, void *const *state)
{
    struct candidate *const all[] = {&first, &second, &third};

    begin(seed, state);
    for (int i = 0; i < 3; i++) {
        candidate_begin_as(all[i], i == 1 ? &b : &a,
                           i == 0   ? "1"
                           : i == 1 ? "2"
                                    : "3",
                           UVZK_ELECTION_SELECTOR, true);
        await_queued((size_t)i + 1); /* so that they queue in this order */
    }
    for (int round = 1; round <= 3; round++) {
        for (int i = 0; i < 3; i++) {
            candidate_await_led(all[i], round, MS);
            assert_int_equal(all[(i + 1) % 3]->led, i == 2 ? round : round - 1);
            candidate_resign(all[i]);
            assert_true(candidate_is_leader(all[i])); /* until deposed_cb */
            assert_int_equal(uvzk_election_resign(&all[i]->election), UVZK_ENOTHELD);
            candidate_await_deposed(all[i], round, MS);
            assert_int_equal(all[i]->reason, 0);
            /* Its znode is deleted, and it queues again before the next one resigns. */
            await_gone(3);
            await_queued(3);
        }
    }
    for (int i = 0; i < 3; i++) {
        candidate_end(all[i]);
    }
    end();
}

/* TestLeaderLatch.testCorrectWatching: one in the middle leaves: nobody is elected. */
static void one_in_the_middle_leaves(uint64_t seed, void *const *state)
{
    begin(seed, state);
    candidate_begin(&first, &a, "first");
    candidate_await_led(&first, 1, MS);
    candidate_begin(&second, &b, "second");
    candidate_await_leader(&second, "first", MS);
    await_queued(2);
    candidate_begin(&third, &a, "third");
    candidate_await_leader(&third, "first", MS);
    await_queued(3);
    candidate_end(&second);
    world_run_for(&world, 2000);
    assert_int_equal(third.led + first.deposed, 0);
    candidate_end(&first);
    candidate_await_led(&third, 1, MS);
    candidate_end(&third);
    end();
}

static void the_longest_time_ends(uint64_t seed, void *const *state)
{
    uvzk_election_options_t options;

    begin(seed, state);
    candidate_options(&options, "first");
    options.max_reign_ms = 1500;
    assert_int_equal(candidate_ask(&first, &a, CANDIDATE_PATH, &options), 0);
    candidate_await_led(&first, 1, MS);
    candidate_begin(&second, &b, "second");
    candidate_await_led(&second, 1, MS);
    assert_int_equal(first.reason, UV_ETIMEDOUT);
    assert_true(first.deposed_ms >= first.led_ms + 1500);
    candidate_end(&second);
    candidate_await_led(&first, 2, MS); /* it has queued again by itself */
    candidate_await_led(&first, 3, MS); /* and alone it follows itself */
    candidate_end(&first);
    end();
}

static void requeue_inside(struct candidate *candidate)
{
    assert_int_equal(uvzk_election_requeue(&candidate->election), 0);
    assert_int_equal(uvzk_election_requeue(&candidate->election), UVZK_ESTATE);
}

/* LeaderSelector without autoRequeue. */
static void queued_by_hand(uint64_t seed, void *const *state)
{
    uvzk_election_options_t options;

    begin(seed, state);
    candidate_options(&options, "first");
    options.kind = UVZK_ELECTION_SELECTOR;
    options.manual_requeue = 1;
    assert_int_equal(candidate_ask(&first, &a, CANDIDATE_PATH, &options), 0);
    assert_int_equal(uvzk_election_requeue(&first.election), UVZK_ESTATE); /* queued */
    candidate_await_led(&first, 1, MS);
    assert_int_equal(uvzk_election_requeue(&first.election), UVZK_ESTATE); /* leads */
    candidate_resign(&first);
    candidate_await_deposed(&first, 1, MS);
    world_run_for(&world, 2000);
    assert_int_equal(first.led, 1);
    assert_int_equal(world_children(&world, CANDIDATE_PATH), 0);
    assert_int_equal(uvzk_election_resign(&first.election), UVZK_ENOTHELD);
    assert_int_equal(uvzk_election_requeue(&first.election), 0);
    candidate_await_led(&first, 2, MS);
    first.deposed_hook = requeue_inside;
    candidate_resign(&first);
    candidate_await_led(&first, 3, MS);
    first.deposed_hook = NULL;
    process_expire(&a);
    candidate_await_deposed(&first, 3, MS);
    world_run_for(&world, 2ULL * WORLD_TIMEOUT_MS);
    assert_int_equal(first.led, 3);
    assert_int_equal(uvzk_election_requeue(&first.election), 0);
    candidate_await_led(&first, 4, MS);
    candidate_end(&first);
    end();
}

/* ----------------------------------------------------------- the end of a leadership */

static char led_path[HOLD_PATH_MAX];

static void note_path(struct candidate *candidate)
{
    (void)snprintf(led_path, sizeof(led_path), "%s",
                   uvzk_hold_path(uvzk_election_hold(&candidate->election)));
}

/* [P22]: what the callback does is done before anybody else can lead. */
static void is_there_still(struct candidate *candidate)
{
    if (!sim_exists(world.sim, led_path)) {
        world_fail(&world, "%s: the znode goes before deposed_cb", candidate->id);
    }
    assert_int_equal(candidates_leading(), 0);
}

static void begin_with_two(uint64_t seed, void *const *state)
{
    begin(seed, state);
    candidate_begin(&first, &a, "first");
    first.lead_hook = note_path;
    first.deposed_hook = is_there_still;
    candidate_await_led(&first, 1, MS);
    candidate_begin(&second, &b, "second");
    candidate_await_leader(&second, "first", MS);
}

static void the_znode_goes_after_the_callback(uint64_t seed, void *const *state)
{
    begin_with_two(seed, state);
    if (seed % 2 == 0) {
        candidate_resign(&first);
    } else {
        candidate_close(&first, UVZK_ELECTION_NOTIFY);
    }
    candidate_await_led(&second, 1, MS);
    assert_int_equal(first.deposed, 1);
    assert_true(second.led_ms >= first.deposed_ms);
    candidate_end(&first);
    candidate_end(&second);
    end();
}

/* testCallbackDontNotify. */
static void a_silent_close_says_nothing(uint64_t seed, void *const *state)
{
    begin_with_two(seed, state);
    candidate_close(&first, UVZK_ELECTION_SILENT);
    assert_false(candidate_is_leader(&first));
    candidate_end(&first);
    assert_int_equal(first.deposed, 0);
    candidate_await_led(&second, 1, MS);
    candidate_end(&second);
    end();
}

static void resign_inside(struct candidate *candidate)
{
    if (candidate->led < 3) {
        candidate_resign(candidate);
    }
}

static void close_notified(struct candidate *candidate)
{
    candidate_close(candidate, UVZK_ELECTION_NOTIFY);
}

static void close_silently(struct candidate *candidate)
{
    candidate_close(candidate, UVZK_ELECTION_SILENT);
}

static void await_closed(void)
{
    assert_true(world_await(&world, &first.closed, MS));
}

static void everything_may_be_called_in_callbacks(uint64_t seed, void *const *state)
{
    begin(seed, state);
    candidate_begin(&first, &a, "first");
    first.lead_hook = resign_inside;
    candidate_await_led(&first, 3, MS);
    first.lead_hook = NULL;
    first.deposed_hook = close_notified;
    candidate_resign(&first);
    await_closed();
    assert_int_equal(first.deposed, 3);
    candidate_begin(&first, &a, "first");
    first.lead_hook = close_notified;
    await_closed();
    assert_int_equal(first.deposed, 1);
    candidate_begin(&first, &a, "first");
    first.lead_hook = close_silently;
    await_closed();
    assert_int_equal(first.deposed, 0);
    candidate_begin(&first, &a, "first");
    candidate_await_led(&first, 1, MS);
    first.deposed_hook = close_silently;
    process_expire(&a);
    await_closed();
    candidate_begin(&first, &a, "first");
    first.changed_hook = close_silently;
    await_closed();
    end();
}

/* ------------------------------------------------------------------------- refusals */

static void a_refusal_that_does_not_pass(uint64_t seed, void *const *state)
{
    begin(seed, state);
    /* CURATOR-365: the parents may not be created, and that is no reason to go on. */
    sim_refuse(world.sim, UVZK__RPC_CREATE, UVZK_ENOAUTH, 1000);
    candidate_begin(&first, &a, "first");
    first.may_err = true;
    assert_true(world_await(&world, &first.errors, MS));
    assert_int_equal(first.error, UVZK_ENOAUTH);
    uint64_t submitted = process_metrics(&a).creates;
    world_run_for(&world, 30000);
    assert_int_equal(first.errors, 1);
    assert_int_equal(process_metrics(&a).creates, submitted);
    sim_refuse(world.sim, UVZK__RPC_CREATE, UVZK_ENOAUTH, 0);
    assert_int_equal(uvzk_election_requeue(&first.election), 0);
    candidate_await_led(&first, 1, MS);
    candidate_end(&first);
    end();
}

/* A follower's session ends: it has lost its place, and takes another one at once. Its
 * znode is deleted: after a pause. */
static void a_refusal_that_passes(uint64_t seed, void *const *state)
{
    begin(seed, state);
    candidate_begin(&first, &a, "first");
    candidate_await_led(&first, 1, MS);
    candidate_begin(&second, &b, "second");
    second.may_err = true;
    candidate_await_leader(&second, "first", MS);
    process_expire(&b);
    assert_true(world_await(&world, &second.errors, MS));
    assert_int_equal(second.error, UVZK_EEXPIRED);
    world_run_for(&world, 10000);
    for (int i = 1; i <= 10 && second.errors == 1; i++) {
        world_delete_child(&world, CANDIDATE_PATH, 1);
        world_run_for(&world, 15000);
    }
    assert_int_equal(second.error, UVZK_EDELETED);
    world_run_for(&world, 10000);
    assert_int_equal(world_children(&world, CANDIDATE_PATH), 2);
    candidate_end(&first);
    candidate_await_led(&second, 1, MS);
    candidate_end(&second);
    end();
}

static void the_credentials_are_refused(uint64_t seed, void *const *state)
{
    begin(seed, state);
    candidate_begin(&first, &a, "first");
    candidate_await_led(&first, 1, MS);
    candidate_begin(&second, &a, "second");
    second.may_err = true;
    a.may_log_errors = true;
    sim_fail_auth(a.port);
    candidate_await_deposed(&first, 1, MS);
    assert_int_equal(first.reason, UVZK_EAUTH);
    assert_true(world_await(&world, &second.errors, MS));
    assert_int_equal(second.error, UVZK_EAUTH);
    world_run_for(&world, 5000);
    assert_int_equal(first.led + second.led + second.errors, 2);
    candidate_end(&first);
    candidate_end(&second);
    end();
}

static void ignore_lead(uvzk_election_t *election, int64_t token, uint64_t valid_until)
{
    (void)election;
    (void)token;
    (void)valid_until;
}

static void what_is_refused(uint64_t seed, void *const *state)
{
    uvzk_election_options_t options;
    uvzk_election_t election = {.impl = NULL};
    uvzk_req_t request = {.impl = NULL};

    begin(seed, state);
    uvzk_election_options_init(&options);
    uvzk_election_options_init_size(NULL, 0);
    options.leader_cb = ignore_lead;
    assert_int_equal(uvzk_election_init(NULL, &election, "/a", &options), UV_EINVAL);
    assert_int_equal(uvzk_election_init(&a.client, NULL, "/a", &options), UV_EINVAL);
    assert_int_equal(uvzk_election_init(&a.client, &election, NULL, NULL), UV_EINVAL);
    assert_int_equal(uvzk_election_init(&a.client, &election, "a", NULL), UVZK_EPATH);
    assert_int_equal(uvzk_election_init(&a.client, &election, "/", NULL), UVZK_EPATH);
    options.kind = UVZK_ELECTION_SELECTOR + 1;
    assert_int_equal(uvzk_election_init(&a.client, &election, "/a", &options), UV_EINVAL);
    options.kind = 0;
    options.id_length = 1;
    assert_int_equal(uvzk_election_init(&a.client, &election, "/a", &options), UV_EINVAL);
    options.id = "x";
    options.id_length = 1000001;
    assert_int_equal(uvzk_election_init(&a.client, &election, "/a", &options), UV_EINVAL);
    options.id_length = 0;
    options.size = 8;
    assert_int_equal(uvzk_election_init(&a.client, &election, "/a", &options), UV_EINVAL);
    assert_null(election.impl);
    assert_int_equal(uvzk_election_resign(NULL), UV_EINVAL);
    assert_int_equal(uvzk_election_resign(&election), UVZK_ECLOSED);
    assert_int_equal(uvzk_election_requeue(NULL), UV_EINVAL);
    assert_int_equal(uvzk_election_requeue(&election), UVZK_ECLOSED);
    assert_int_equal(uvzk_election_close(NULL, 0, NULL), UV_EINVAL);
    assert_int_equal(uvzk_election_close(&election, 2, NULL), UV_EINVAL);
    assert_int_equal(uvzk_election_close(&election, 0, NULL), UVZK_ESTATE);
    assert_int_equal(uvzk_election_participants(&election, &request, NULL), UV_EINVAL);
    assert_int_equal(uvzk_election_is_leader(NULL) + uvzk_election_is_leader(&election),
                     0);
    assert_true(uvzk_election_token(NULL) == 0 && uvzk_election_valid_until(NULL) == 0);
    assert_null(uvzk_election_hold(NULL));
    candidate_begin(&first, &a, "first");
    assert_int_equal(uvzk_election_init(&a.client, &first.election, "/a", NULL),
                     UV_EBUSY);
    assert_int_equal(uvzk_election_resign(&first.election), UVZK_ENOTHELD);
    /* Two kinds cannot share what is read at a path. */
    candidate_options(&options, "second");
    options.kind = UVZK_ELECTION_SELECTOR;
    assert_int_equal(candidate_ask(&second, &a, CANDIDATE_PATH, &options), UV_EINVAL);
    candidate_end(&first);
    end();
}

/* ------------------------------------------------------------------------ the client */

static void closed_with_its_client(uint64_t seed, void *const *state)
{
    begin(seed, state);
    candidate_begin(&first, &a, "first");
    candidate_await_led(&first, 1, MS);
    candidate_begin(&second, &a, "second");
    second.may_err = true;
    candidate_begin(&third, &b, "third");
    candidate_await_leader(&third, "first", MS);
    process_end(&a);
    assert_int_equal(first.deposed, 1);
    assert_int_equal(first.reason, UVZK_ECLOSED);
    assert_int_equal(second.error, UVZK_ECLOSED);
    candidates_client_closed(&a);
    candidate_await_led(&third, 1, MS);
    candidate_end(&third);
    end();
}

/* testNoServerAtStart, testProperCloseWithoutConnectionEstablished. */
static void no_server_at_the_start(uint64_t seed, void *const *state)
{
    candidates_reset();
    world_begin_two(&world, seed, state, &a, &b);
    world.each_ms = candidates_check;
    sim_restart(world.sim, 20000);
    candidate_begin(&first, &a, "first");
    candidate_begin(&second, &b, "second");
    world_run_for(&world, 10000);
    assert_int_equal(first.led + second.led, 0);
    candidate_end(&second);
    candidate_await_led(&first, 1, MS);
    candidate_end(&first);
    end();
}

/* --------------------------------------------------------------- who takes part in it */

static struct {
    int answered, status, leaders;
    size_t count;
    char ids[MANY + 1][CANDIDATE_ID_SIZE];
} list;

static void on_participants(uvzk_req_t *request, int status)
{
    const uvzk_election_participant_t *const *participants =
        request->result->participants;
    size_t count = request->result->count;
    (void)request;
    list.answered++;
    list.status = status;
    list.count = count;
    for (size_t i = 0; i < count && i <= MANY; i++) {
        list.leaders += participants[i]->is_leader && i == 0;
        assert_int_equal(participants[i]->is_leader, i == 0);
        assert_true(i == 0 || participants[i]->token > participants[i - 1]->token);
        assert_true(participants[i]->session_id != 0);
        (void)snprintf(list.ids[i], sizeof(list.ids[i]), "%s", participants[i]->id);
    }
}

static void ask_for_participants(struct candidate *candidate)
{
    static uvzk_req_t request;

    memset(&list, 0, sizeof(list));
    memset(&request, 0, sizeof(request));
    assert_int_equal(
        uvzk_election_participants(&candidate->election, &request, on_participants), 0);
    assert_int_equal(
        uvzk_election_participants(&candidate->election, &request, on_participants),
        UV_EBUSY);
    assert_int_equal(list.answered, 0);
    assert_true(world_await(&world, &list.answered, MS));
    assert_null(request.impl);
}

/* TestLeaderSelectorParticipants.testBasic: ten, and one of them leads. */
static void ten_participants(uint64_t seed, void *const *state)
{
    static const char *const ids[MANY] = {"0", "1", "2", "3", "4",
                                          "5", "6", "7", "",  "nine"};

    begin(seed, state);
    for (int i = 0; i < MANY; i++) {
        candidate_begin_as(&many[i], i % 2 == 0 ? &a : &b, ids[i], UVZK_ELECTION_LATCH,
                           false);
        await_queued((size_t)i + 1);
    }
    world_run_for(&world, LAG_MS);
    ask_for_participants(&many[3]);
    assert_int_equal(list.status, 0);
    assert_int_equal(list.count, MANY);
    assert_int_equal(list.leaders, 1);
    for (int i = 0; i < MANY; i++) {
        assert_string_equal(list.ids[i], ids[i]);
    }
    candidate_end(&many[0]);
    world_run_for(&world, LAG_MS);
    ask_for_participants(&many[3]);
    assert_int_equal(list.count, MANY - 1);
    for (int i = 1; i < MANY; i++) {
        candidate_end(&many[i]);
    }
    end();
}

/* testUncreatedPathGetLeader (CURATOR-436), and no connection. */
static void no_participants(uint64_t seed, void *const *state)
{
    uvzk_election_options_t options;

    begin(seed, state);
    candidate_options(&options, "first");
    options.manual_requeue = 1;
    assert_int_equal(candidate_ask(&first, &a, CANDIDATE_PATH, &options), 0);
    candidate_await_led(&first, 1, MS);
    candidate_resign(&first);
    candidate_await_deposed(&first, 1, MS);
    world_run_for(&world, 1000);
    assert_int_equal(sim_delete_by_hand(world.sim, CANDIDATE_PATH), 0);
    ask_for_participants(&first);
    assert_int_equal(list.status + (int)list.count, 0);
    sim_disconnect(a.port, SIM_RESET, 3000);
    world_run_for(&world, 100);
    ask_for_participants(&first);
    assert_int_equal(list.status, UVZK_ENOTSENT);
    world_run_for(&world, 5000);
    candidate_end(&first);
    end();
}

/* The data of a znode are the id; a selector without one has the client's. */
static void ids_are_data(uint64_t seed, void *const *state)
{
    size_t length = 99;
    struct world_path path;

    begin(seed, state);
    candidate_begin_as(&first, &a, NULL, UVZK_ELECTION_LATCH, false);
    candidate_await_led(&first, 1, MS);
    path = world_child(&world, CANDIDATE_PATH, 0);
    assert_non_null(strstr(path.text, "-latch-"));
    assert_non_null(sim_data(world.sim, path.text, &length));
    assert_int_equal(length, 0);
    candidate_end(&first);
    candidate_begin_as(&first, &a, "id", UVZK_ELECTION_SELECTOR, false);
    candidate_await_led(&first, 1, MS);
    path = world_child(&world, CANDIDATE_PATH, 0);
    assert_non_null(strstr(path.text, "-lock-"));
    const void *data = sim_data(world.sim, path.text, &length);
    assert_int_equal(length, 2);
    assert_memory_equal(data, "id", 2);
    candidate_end(&first);
    candidate_begin_as(&first, &a, NULL, UVZK_ELECTION_SELECTOR, true);
    candidate_await_led(&first, 1, MS);
    path = world_child(&world, CANDIDATE_PATH, 0);
    data = sim_data(world.sim, path.text, &length);
    assert_true(length > 0);
    world_run_for(&world, 1000);
    assert_memory_equal(data, first.leader_id, length);
    candidate_end(&first);
    end();
}

/* ------------------------------------------------------------------------- futures */

static int done, done_status;

static void on_done(uvzk_future_t *future, int status, void *context)
{
    (void)future;
    (void)context;
    done++;
    done_status = status;
}

static void await_done(uvzk_future_t *future, int status)
{
    done = 0;
    assert_int_equal(uvzk_future_then(future, on_done, NULL), 0);
    assert_true(world_await(&world, &done, MS));
    assert_int_equal(done_status, status);
    uvzk_future_drop(future);
    memset(future, 0, sizeof(*future));
}

static void futures(uint64_t seed, void *const *state)
{
    uvzk_future_t future = {.impl = NULL}, other = {.impl = NULL};
    const uvzk_election_participant_t *const *participants;
    size_t count;

    begin(seed, state);
    candidate_begin(&first, &a, "first");
    assert_int_equal(uvzk_election_lead_future(&first.election, &future), 0);
    assert_int_equal(uvzk_future_status(&future), UV_EAGAIN);
    await_done(&future, 0);
    assert_true(candidate_is_leader(&first));
    candidate_begin(&second, &b, "second");
    candidate_await_leader(&second, "first", MS);
    world_run_for(&world, 1000); /* it has its place */
    assert_int_equal(uvzk_election_lead_future(&first.election, &future), 0);
    assert_int_equal(uvzk_future_status(&future), UV_EAGAIN); /* not inside the call */
    await_done(&future, 0);
    assert_int_equal(uvzk_election_lead_future(&second.election, &future), 0);
    assert_int_equal(uvzk_future_cancel(&future), 0);
    await_done(&future, UV_ECANCELED);
    assert_int_equal(uvzk_election_lead_future(&second.election, &future), 0);
    uvzk_future_drop(&future); /* pending */
    memset(&future, 0, sizeof(future));
    assert_int_equal(uvzk_election_participants(&second.election, uvzk_future_req(&other),
                                                uvzk_future_complete),
                     0);
    assert_null(uvzk_future_req(&other)->result);
    done = 0;
    assert_int_equal(uvzk_future_then(&other, on_done, NULL), 0);
    assert_true(world_await(&world, &done, MS));
    assert_int_equal(uvzk_future_status(&other), 0);
    participants = uvzk_future_req(&other)->result->participants;
    count = uvzk_future_req(&other)->result->count;
    assert_int_equal(count, 2);
    assert_string_equal(participants[0]->id, "first");
    assert_true(participants[0]->is_leader && !participants[1]->is_leader);
    uvzk_future_drop(&other);
    assert_int_equal(uvzk_election_lead_future(&second.election, &future), 0);
    candidate_end(&second);
    assert_int_equal(uvzk_future_status(&future), UVZK_ECLOSED);
    uvzk_future_drop(&future);
    memset(&future, 0, sizeof(future));
    first.closing = true;
    assert_int_equal(uvzk_election_close(&first.election, 2, NULL), UV_EINVAL);
    assert_int_equal(uvzk_election_close(&first.election, UVZK_ELECTION_NOTIFY, NULL), 0);
    assert_int_equal(uvzk_future_end(&future, &first.election), 0);
    await_done(&future, 0);
    assert_null(first.election.impl);
    candidates_reset();
    end();
}

/* A participant whose znode is deleted pauses for a minute. */
static void begin_pausing(uint64_t seed, void *const *state)
{
    candidates_reset();
    world_begin(&world, seed, state);
    world.options.retry.kind = UVZK_RETRY_N_TIMES;
    world.options.retry.max_retries = 0;
    world.options.retry.base_ms = 60000;
    process_begin(&a, &world, "a", NULL);
    process_begin(&b, &world, "b", NULL);
    world.each_ms = candidates_check;
}

/* A wait for the leadership ends with its client, wherever the participant is. */
static void futures_end_with_the_client(uint64_t seed, void *const *state)
{
    uvzk_future_t pausing = {.impl = NULL}, queued = {.impl = NULL};

    begin_pausing(seed, state);
    candidate_begin(&first, &a, "first");
    candidate_await_led(&first, 1, MS);
    candidate_begin(&second, &b, "second");
    second.may_err = true;
    world_run_for(&world, 2000);
    candidate_begin(&third, &b, "third");
    third.may_err = true;
    world_run_for(&world, 2000);
    assert_int_equal(uvzk_election_lead_future(&third.election, &queued), 0);
    assert_int_equal(uvzk_election_lead_future(&second.election, &pausing), 0);
    world_delete_child(&world, CANDIDATE_PATH, 1);
    assert_true(world_await(&world, &second.errors, MS)); /* it pauses */
    assert_int_equal(second.error, UVZK_EDELETED);
    process_end(&b);
    assert_int_equal(uvzk_future_status(&pausing), UVZK_ECLOSED);
    assert_int_equal(uvzk_future_status(&queued), UVZK_ECLOSED);
    uvzk_future_drop(&pausing);
    uvzk_future_drop(&queued);
    candidates_client_closed(&b);
    candidate_end(&first);
    end();
}

/* A leader writes with its hold, and after it no more. */
static int written, write_status;

static void on_written(uvzk_req_t *request, int status)
{
    (void)request;
    written++;
    write_status = status;
}

static void a_leader_writes(uint64_t seed, void *const *state)
{
    uvzk_req_t request = {.impl = NULL};
    const uvzk_write_op_t op = {UVZK_WRITE_CREATE, -1, "/written", "x", 1};

    begin(seed, state);
    candidate_begin(&first, &a, "first");
    candidate_await_led(&first, 1, MS);
    written = 0;
    assert_int_equal(uvzk_hold_write(uvzk_election_hold(&first.election), &request, &op,
                                     1, on_written),
                     0);
    assert_true(world_await(&world, &written, MS));
    assert_int_equal(write_status, 0);
    candidate_end(&first);
    end();
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        WORLD_SCENARIO(they_lead_in_their_order, 1, 10),
        WORLD_SCENARIO(those_who_resign_go_to_the_end, 1, 10),
        WORLD_SCENARIO(one_in_the_middle_leaves, 1, 10),
        WORLD_SCENARIO(the_longest_time_ends, 1, 10),
        WORLD_SCENARIO(queued_by_hand, 1, 10),
        WORLD_SCENARIO(the_znode_goes_after_the_callback, 1, 10),
        WORLD_SCENARIO(a_silent_close_says_nothing, 1, 4),
        WORLD_SCENARIO(everything_may_be_called_in_callbacks, 1, 10),
        WORLD_SCENARIO(a_refusal_that_does_not_pass, 1, 4),
        WORLD_SCENARIO(a_refusal_that_passes, 1, 10),
        WORLD_SCENARIO(the_credentials_are_refused, 1, 4),
        WORLD_SCENARIO(what_is_refused, 1, 2),
        WORLD_SCENARIO(closed_with_its_client, 1, 10),
        WORLD_SCENARIO(no_server_at_the_start, 1, 4),
        WORLD_SCENARIO(ten_participants, 1, 4),
        WORLD_SCENARIO(no_participants, 1, 4),
        WORLD_SCENARIO(ids_are_data, 1, 4),
        WORLD_SCENARIO(futures, 1, 4),
        WORLD_SCENARIO(futures_end_with_the_client, 1, 4),
        WORLD_SCENARIO(a_leader_writes, 1, 4),
    };

    return cmocka_run_group_tests_name("election", tests, NULL, NULL);
}
