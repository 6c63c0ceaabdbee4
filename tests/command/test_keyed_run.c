/* SPDX-License-Identifier: Apache-2.0 */
/* The records of keyed runs, over the simulator: whether a job runs, what is written then,
 * and what follows when replies are lost, the hold is lost, or somebody else changes or
 * deletes what is written. test_run_nights.c has the random nights. */
#include "cmocka_test.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "keyed_run.h"
#include "world.h"

#define LIST WORLD_PATH ".runs"
#define SOON_MS 2000U
#define LATER_MS 60000U
#define STATUS_MISSING 9999

static struct world world;
static struct process a, b;
static struct hold held, waits;

/* A keyed run, and what its callbacks have said. */
struct story {
    struct keyed_run run;
    int decided, recorded, known; /* how often */
    int status;
    enum run_decision decision;
    bool pauses; /* keyed_run_resume is due */
};
static struct story one, other;

static void on_decided(struct keyed_run *run, int status, enum run_decision decision)
{
    struct story *story = run->data;

    story->decided++;
    story->status = status;
    story->decision = decision;
}

static void on_recorded(struct keyed_run *run, int status)
{
    struct story *story = run->data;

    story->recorded++;
    story->status = status;
}

static void on_known(struct keyed_run *run)
{
    struct story *story = run->data;

    story->known++;
    assert_true(run_key_is_valid(run->key));
}

static void on_pause(struct keyed_run *run)
{
    struct story *story = run->data;

    story->pauses = true;
}

static void begin_story(struct story *story, struct process *process, const char *key,
                        bool at_most_once)
{
    *story = (struct story){.status = STATUS_MISSING};
    story->run.options = (struct keyed_run_options){
        .path = WORLD_PATH, .key = key, .at_most_once = at_most_once};
    story->run.decided_cb = on_decided;
    story->run.recorded_cb = on_recorded;
    story->run.known_cb = on_known;
    story->run.pause_cb = on_pause;
    story->run.data = story;
    assert_int_equal(keyed_run_init(&story->run, &process->client), 0);
}

static void await(struct story *story, const int *calls)
{
    int before = *calls;

    for (unsigned ms = 0; *calls == before && ms < LATER_MS; ms += 10) {
        world_run_for(&world, 10);
        if (story->pauses) {
            story->pauses = false;
            keyed_run_resume(&story->run);
        }
    }
    assert_int_equal(*calls, before + 1);
}

static void decides(struct story *story, enum run_decision decision)
{
    const struct run_record record = {.by = "ann", .began_ms = 1};
    int before = story->decided;

    keyed_run_decide(&story->run, &held.request, &record);
    if (story->decided == before) {
        await(story, &story->decided);
    }
    assert_int_equal(story->status, 0);
    assert_int_equal(story->decision, decision);
}

static void records(struct story *story, int status)
{
    const struct run_record record = {
        .by = "ann", .began_ms = 1, .has_ended = true, .took_ms = 2, .status = 3};
    int before = story->recorded;

    keyed_run_record(&story->run, &record);
    if (story->recorded == before) {
        await(story, &story->recorded);
    }
    assert_int_equal(story->status, status);
}

static void shows(const char *path, const char *text)
{
    size_t length;
    const char *data = sim_data(world.sim, path, &length);

    assert_non_null(data);
    assert_int_equal(length, strlen(text));
    assert_memory_equal(data, text, length);
}

/* Of the record. */
static struct run_record record_of(const char *key)
{
    char path[HOLD_PATH_MAX];
    struct run_record record;
    size_t length;

    snprintf(path, sizeof(path), LIST "/%s", key);
    const char *data = sim_data(world.sim, path, &length);
    assert_non_null(data);
    assert_true(run_record_read(&record, data, length));
    return record;
}

static void begin(uint64_t seed, void *const *state)
{
    world_begin_held(&world, seed, state, &a, &held);
}

static void end(void)
{
    world_release_and_end(&world);
    keyed_run_free(&one.run);
    keyed_run_free(&other.run);
}

/* The next hold, of the other process, decides about the same key. */
static void next_hold(enum run_decision decision, const char *key, bool at_most_once)
{
    hold_give_back(&held);
    process_begin(&b, &world, "b", NULL);
    hold_take(&held, &b);
    begin_story(&other, &b, key, at_most_once);
    decides(&other, decision);
}

/* ------------------------------------------------------------------ one after the other */

static void a_key_runs_once(uint64_t seed, void *const *state)
{
    begin(seed, state);
    begin_story(&one, &a, "monday", false);
    decides(&one, RUN_NOW);
    assert_false(sim_exists(world.sim, LIST)); /* not before the job has ended */
    records(&one, 0);
    shows(LIST, "uvzk runs\nmonday\n");
    assert_int_equal(record_of("monday").token, held.token);
    assert_int_equal(record_of("monday").status, 3);
    assert_int_equal(record_of("monday").took_ms, 2);
    decides(&one, RUN_DONE); /* for the same hold, too */
    next_hold(RUN_DONE, "monday", false);
    end();
}

static void another_key_runs(uint64_t seed, void *const *state)
{
    begin(seed, state);
    begin_story(&one, &a, "2", false);
    decides(&one, RUN_NOW);
    records(&one, 0);
    next_hold(RUN_NOW, "1", false);
    records(&other, 0);
    shows(LIST, "uvzk runs\n1\n2\n");
    end();
}

/* The job has failed, or its host has crashed. */
static void without_a_record_it_runs_again(uint64_t seed, void *const *state)
{
    begin(seed, state);
    begin_story(&one, &a, "monday", false);
    decides(&one, RUN_NOW);
    next_hold(RUN_NOW, "monday", false);
    end();
}

static void at_most_once_counts_a_start(uint64_t seed, void *const *state)
{
    begin(seed, state);
    begin_story(&one, &a, "monday", true);
    decides(&one, RUN_NOW);
    shows(LIST, "uvzk runs\nmonday\n");
    assert_false(record_of("monday").has_ended);
    assert_int_equal(record_of("monday").token, held.token);
    next_hold(RUN_DONE, "monday", true);
    end();
}

static void at_most_once_records_the_end(uint64_t seed, void *const *state)
{
    begin(seed, state);
    begin_story(&one, &a, "monday", true);
    decides(&one, RUN_NOW);
    records(&one, 0);
    assert_true(record_of("monday").has_ended);
    assert_int_equal(record_of("monday").status, 3);
    assert_int_equal(record_of("monday").token, held.token);
    shows(LIST, "uvzk runs\nmonday\n");
    end();
}

static void below_a_namespace(uint64_t seed, void *const *state)
{
    world_begin(&world, seed, state);
    world.options.ns = "reports";
    process_begin(&a, &world, "a", NULL);
    hold_take(&held, &a);
    begin_story(&one, &a, "monday", true);
    decides(&one, RUN_NOW);
    shows("/reports" LIST, "uvzk runs\nmonday\n");
    records(&one, 0);
    decides(&one, RUN_NOW); /* it is the same hold's */
    hold_give_back(&held);
    hold_take(&held, &a);
    decides(&one, RUN_DONE);
    end();
}

/* ------------------------------------------------------------------ faults */

/* The outcome of the write is not known, and is found out. */
static void replies_are_lost(uint64_t seed, void *const *state)
{
    static void (*const faults[])(struct process *) = {process_lose_request,
                                                       process_lose_reply, process_reset};

    begin(seed, state);
    world.outage_ms = 300;
    begin_story(&one, &a, "monday", seed % 2 == 0);
    faults[seed % 3](&a);
    decides(&one, RUN_NOW);
    world_run_for(&world, SOON_MS);
    /* Each request of the recording in turn. */
    sim_delay(a.port, seed % 7 * 20);
    const struct run_record record = {.by = "ann", .has_ended = true, .status = 3};
    keyed_run_record(&one.run, &record);
    world_run_for(&world, seed % 11 * 8);
    faults[seed / 3 % 3](&a);
    if (one.recorded == 0) {
        await(&one, &one.recorded);
    }
    assert_int_equal(one.status, 0);
    assert_int_equal(record_of("monday").status, 3);
    shows(LIST, "uvzk runs\nmonday\n");
    end();
}

static void a_throttled_request_is_repeated(uint64_t seed, void *const *state)
{
    begin(seed, state);
    begin_story(&one, &a, "monday", true);
    sim_refuse(world.sim, UVZK__RPC_GET, UVZK_ETHROTTLED, 2);
    decides(&one, RUN_NOW);
    sim_refuse(world.sim, UVZK__RPC_GET, UVZK_ETHROTTLED, 3);
    records(&one, 0);
    end();
}

/* Another client may hold the lock then, so nothing is written. */
static void a_lost_hold_records_nothing(uint64_t seed, void *const *state)
{
    begin(seed, state);
    begin_story(&one, &a, "monday", false);
    decides(&one, RUN_NOW);
    world.holder_deleted = true;
    assert_int_equal(sim_delete_by_hand(world.sim, held.path), 0);
    const struct run_record record = {.by = "ann", .has_ended = true};
    keyed_run_record(&one.run, &record);
    if (one.recorded == 0) {
        await(&one, &one.recorded);
    }
    assert_true(one.status == UVZK_EDELETED || one.status == UVZK_ENOTHELD);
    assert_false(sim_exists(world.sim, LIST));
    end();
}

static void a_lost_hold_begins_nothing(uint64_t seed, void *const *state)
{
    begin(seed, state);
    begin_story(&one, &a, "monday", true);
    world.holder_deleted = true;
    assert_int_equal(sim_delete_by_hand(world.sim, held.path), 0);
    const struct run_record record = {.by = "ann"};
    keyed_run_decide(&one.run, &held.request, &record);
    if (one.decided == 0) {
        await(&one, &one.decided);
    }
    assert_true(one.status == UVZK_EDELETED || one.status == UVZK_ENOTHELD);
    assert_false(sim_exists(world.sim, LIST));
    end();
}

/* ------------------------------------------------------------------------- by hand */

static void a_deleted_record_runs_again(uint64_t seed, void *const *state)
{
    begin(seed, state);
    begin_story(&one, &a, "monday", false);
    decides(&one, RUN_NOW);
    records(&one, 0);
    assert_int_equal(sim_delete_by_hand(world.sim, LIST "/monday"), 0);
    next_hold(RUN_NOW, "monday", false);
    records(&other, 0);
    shows(LIST, "uvzk runs\nmonday\n");
    assert_int_equal(record_of("monday").token, held.token);
    end();
}

static void another_record_is_not_overwritten(uint64_t seed, void *const *state)
{
    begin(seed, state);
    begin_story(&one, &a, "monday", false);
    decides(&one, RUN_NOW);
    assert_non_null(sim_create_by_hand(world.sim, LIST, UVZK__PERSISTENT));
    assert_non_null(sim_create_by_hand(world.sim, LIST "/monday", UVZK__PERSISTENT));
    records(&one, UVZK_ENODEEXISTS);
    end();
}

/* The list comes and goes while a job runs. */
static void a_list_that_was_deleted_is_made_again(uint64_t seed, void *const *state)
{
    begin(seed, state);
    begin_story(&one, &a, "monday", true);
    decides(&one, RUN_NOW);
    assert_int_equal(sim_delete_by_hand(world.sim, LIST "/monday"), 0);
    assert_int_equal(sim_delete_by_hand(world.sim, LIST), 0);
    records(&one, 0);
    shows(LIST, "uvzk runs\nmonday\n");
    end();
}

/* ... also between our reading of it and our write, which is refused then. */
static void a_list_that_changes_meanwhile_is_read_again(uint64_t seed, void *const *state)
{
    const struct run_record record = {.by = "ann", .has_ended = true, .status = 3};
    bool comes = seed % 2 == 0;

    begin(seed, state);
    begin_story(&one, &a, "monday", false);
    decides(&one, RUN_NOW);
    if (!comes) {
        assert_non_null(sim_create_by_hand(world.sim, LIST, UVZK__PERSISTENT));
    }
    keyed_run_record(&one.run, &record);
    world_run_for(&world, seed);
    if (comes && !sim_exists(world.sim, LIST)) {
        assert_non_null(sim_create_by_hand(world.sim, LIST, UVZK__PERSISTENT));
    } else if (!comes && sim_children(world.sim, LIST, NULL, 0) == 0) {
        assert_int_equal(sim_delete_by_hand(world.sim, LIST), 0);
    }
    if (one.recorded == 0) {
        await(&one, &one.recorded);
    }
    assert_int_equal(one.status, 0);
    shows(LIST, "uvzk runs\nmonday\n");
    assert_int_equal(record_of("monday").status, 3);
    end();
}

static void what_is_no_list_is_left_alone(uint64_t seed, void *const *state)
{
    const struct run_record record = {.by = "ann"};

    begin(seed, state);
    assert_non_null(sim_create_by_hand(world.sim, LIST, UVZK__PERSISTENT));
    assert_int_equal(sim_set_by_hand(world.sim, LIST, "mine", 4), 0);
    begin_story(&one, &a, "monday", true);
    keyed_run_decide(&one.run, &held.request, &record);
    await(&one, &one.decided);
    assert_int_equal(one.status, UVZK_EDATA);
    shows(LIST, "mine");
    end();
}

/* ------------------------------------------------------------------- the last hundred */

static void run_number(int number)
{
    static char key[RUN_KEY_SIZE];

    keyed_run_free(&one.run);
    snprintf(key, sizeof(key), "%d", number);
    begin_story(&one, &a, key, number % 2 == 0);
    decides(&one, RUN_NOW);
    records(&one, 0);
}

static void the_last_hundred_are_kept(uint64_t seed, void *const *state)
{
    begin(seed, state);
    for (int i = 1; i <= 103; i++) {
        run_number(i);
    }
    assert_int_equal(sim_children(world.sim, LIST, NULL, 0), 100);
    assert_false(sim_exists(world.sim, LIST "/3"));
    assert_true(sim_exists(world.sim, LIST "/4"));
    /* The record that has to go is gone already, or has got a child. */
    assert_int_equal(sim_delete_by_hand(world.sim, LIST "/4"), 0);
    assert_non_null(sim_create_by_hand(world.sim, LIST "/5/mine", UVZK__PERSISTENT));
    run_number(104);
    run_number(105);
    assert_true(sim_exists(world.sim, LIST "/5"));
    run_number(106);
    assert_false(sim_exists(world.sim, LIST "/6"));
    next_hold(RUN_TOO_OLD, "3", false);
    end();
}

/* ------------------------------------------------------------------ when it has begun */

#define SLOT_MS 20000

static void begin_slots(struct story *story, struct process *process)
{
    begin_story(story, process, NULL, false);
    story->run.options.slots = (struct run_slots){SLOT_MS, 0, 0};
}

/* In the queue the run has begun, however long it waits, and also in another session. */
static void a_run_begins_with_its_first_contender(uint64_t seed, void *const *state)
{
    char expected[RUN_KEY_SIZE];

    begin(seed, state);
    process_begin(&b, &world, "b", NULL);
    assert_true(process_await_connected(&b, SOON_MS));
    begin_slots(&one, &b);
    hold_queue(&waits, &b, NULL);
    assert_false(keyed_run_may_queue_again(&one.run));
    keyed_run_queued(&one.run, &waits.request);
    run_key_of_time(&one.run.options.slots, (int64_t)world_now(&world), expected);
    world_run_for(&world, 500);
    assert_true(keyed_run_may_queue_again(&one.run));
    assert_string_equal(one.run.key, expected);
    world_run_for(&world, SLOT_MS);
    process_expire(&b);
    hold_await_status(&waits, LATER_MS, UVZK_EEXPIRED);
    hold_give_back(&held);
    hold_take(&held, &b);
    keyed_run_queued(&one.run, &held.request);
    decides(&one, RUN_NOW);
    assert_string_equal(one.run.key, expected);
    assert_int_equal(one.known, 1);
    end();
}

static void a_run_that_did_not_wait_begins_with_its_hold(uint64_t seed,
                                                         void *const *state)
{
    char expected[RUN_KEY_SIZE];

    begin(seed, state);
    struct uvzk__stat stat;
    assert_true(sim_stat(world.sim, held.path, &stat));
    world_run_for(&world, SLOT_MS);
    begin_slots(&one, &a);
    run_key_of_time(&one.run.options.slots, stat.created_ms, expected);
    sim_refuse(world.sim, UVZK__RPC_GET, UVZK_ETHROTTLED, 1);
    decides(&one, RUN_NOW);
    assert_string_equal(one.run.key, expected);
    end();
}

static void decide_when_granted(struct hold *hold)
{
    const struct run_record record = {.by = "ann"};

    if (hold_holds(hold) && one.run.hold == NULL) {
        keyed_run_decide(&one.run, &hold->request, &record);
    }
}

/* The time is asked for in the queue and again when the lock is held, if the first reply has
 * not come by then. */
static void a_time_that_is_asked_for_twice_is_told_once(uint64_t seed, void *const *state)
{
    for (uint64_t ms = 0; ms < 60; ms++) {
        begin(seed, state);
        process_begin(&b, &world, "b", NULL);
        assert_true(process_await_connected(&b, SOON_MS));
        begin_slots(&one, &b);
        hold_queue(&waits, &b, NULL);
        waits.hook = decide_when_granted;
        world_run_for(&world, 500);
        hold_release(&held);
        world_run_for(&world, ms);
        keyed_run_queued(&one.run, &waits.request);
        await(&one, &one.decided);
        assert_int_equal(one.status, 0);
        assert_int_equal(one.known, 1);
        waits.hook = NULL;
        end();
    }
}

/* Nothing tells when it has begun. */
static void without_its_first_time_a_run_ends(uint64_t seed, void *const *state)
{
    const struct run_record record = {.by = "ann"};

    begin(seed, state);
    process_begin(&b, &world, "b", NULL);
    assert_true(process_await_connected(&b, SOON_MS));
    begin_slots(&one, &b);
    hold_queue(&waits, &b, NULL);
    world_run_for(&world, 500); /* it has read what it needs for its place */
    sim_refuse(world.sim, UVZK__RPC_GET, UVZK_EZOOKEEPER, 1);
    keyed_run_queued(&one.run, &waits.request);
    world_run_for(&world, 500);
    assert_false(keyed_run_may_queue_again(&one.run));
    hold_cancel(&waits);
    world_run_for(&world, 500);
    hold_give_back(&held);
    hold_take(&held, &b); /* by another znode */
    keyed_run_decide(&one.run, &held.request, &record);
    assert_int_equal(one.decided, 1);
    assert_int_equal(one.status, UVZK_EDELETED);
    end();
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        WORLD_SCENARIO(a_key_runs_once, 1, 4),
        WORLD_SCENARIO(another_key_runs, 1, 2),
        WORLD_SCENARIO(without_a_record_it_runs_again, 1, 2),
        WORLD_SCENARIO(at_most_once_counts_a_start, 1, 2),
        WORLD_SCENARIO(at_most_once_records_the_end, 1, 2),
        WORLD_SCENARIO(below_a_namespace, 1, 2),
        WORLD_SCENARIO(replies_are_lost, 1, 150),
        WORLD_SCENARIO(a_throttled_request_is_repeated, 1, 2),
        WORLD_SCENARIO(a_lost_hold_records_nothing, 1, 8),
        WORLD_SCENARIO(a_lost_hold_begins_nothing, 1, 8),
        WORLD_SCENARIO(a_deleted_record_runs_again, 1, 2),
        WORLD_SCENARIO(another_record_is_not_overwritten, 1, 2),
        WORLD_SCENARIO(a_list_that_was_deleted_is_made_again, 1, 2),
        WORLD_SCENARIO(a_list_that_changes_meanwhile_is_read_again, 1, 100),
        WORLD_SCENARIO(what_is_no_list_is_left_alone, 1, 2),
        WORLD_SCENARIO(the_last_hundred_are_kept, 1, 1),
        WORLD_SCENARIO(a_run_begins_with_its_first_contender, WORLD_QUEUED_CB,
                       WORLD_QUEUED_CB),
        WORLD_SCENARIO(a_run_that_did_not_wait_begins_with_its_hold, 1, 2),
        WORLD_SCENARIO(a_time_that_is_asked_for_twice_is_told_once, WORLD_QUEUED_CB,
                       WORLD_QUEUED_CB),
        WORLD_SCENARIO(without_its_first_time_a_run_ends, WORLD_QUEUED_CB,
                       WORLD_QUEUED_CB),
    };
    return cmocka_run_group_tests_name("keyed_run", tests, NULL, NULL);
}
