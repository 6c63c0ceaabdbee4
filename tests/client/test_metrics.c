/* SPDX-License-Identifier: Apache-2.0 */
/* What a client tells of itself: counters and histograms, as a struct and as text; what is
 * pending and held; each step to who wants to trace it. */
#include "world.h"

#include <stdlib.h>
#include <string.h>

#include "engine/session.h"

#define LATENCY 5U
#define HELD_MS 300U

static struct world world;
static struct process a, b;
static struct hold first, second;
static struct {
    int steps[UVZK_TRACE_STATE + 1];
    uint64_t last_ms;
    char order[64]; /* of one hold's steps: A G R D ... */
} traced;

static void on_trace(const uvzk_client_t *client, const uvzk_trace_t *event)
{
    static const char letters[] = "?AGXRDL";

    assert_ptr_equal(client, &a.client);
    assert_int_equal(event->size, sizeof(*event));
    assert_in_range(event->step, UVZK_TRACE_ACQUIRE, UVZK_TRACE_STATE);
    assert_true(event->at >= traced.last_ms && event->took_ms <= event->at);
    traced.last_ms = event->at;
    traced.steps[event->step]++;
    assert_true((event->hold != NULL) == (event->step <= UVZK_TRACE_LOST));
    assert_true((event->request != NULL) ==
                (event->step == UVZK_TRACE_REQUEST || event->step == UVZK_TRACE_REPLY));
    if (event->hold == &first.request) {
        assert_string_equal(event->path, WORLD_PATH);
        (void)strncat(traced.order, &letters[event->step], 1);
    }
}

static void begin_tuned(unsigned tuning, uint32_t metrics, uvzk_client_trace_cb trace_cb)
{
    uvzk_client_options_t options;

    memset(&traced, 0, sizeof(traced));
    world_begin_exact(&world, tuning, LATENCY);
    process_options(&options);
    options.metrics = metrics;
    options.trace_cb = trace_cb;
    process_begin(&a, &world, "a", &options);
    process_begin(&b, &world, "b", NULL);
    assert_true(process_await_connected(&a, 1000));
    assert_true(process_await_connected(&b, 1000));
    world_make_directory(&world, &b);
}

static void begin(uint32_t metrics, uvzk_client_trace_cb trace_cb)
{
    begin_tuned(UVZK__TUNE_ALL, metrics, trace_cb);
}

static uvzk_client_metrics_t metrics_of_a(void)
{
    uvzk_client_metrics_t metrics;

    uvzk_client_metrics_init(&metrics);
    assert_int_equal(uvzk_client_metrics(&a.client, &metrics), 0);
    assert_int_equal(metrics.size, sizeof(metrics));
    return metrics;
}

/* One is granted, held and released; one runs out of time. */
static void play(void)
{
    hold_take(&first, &a);
    hold_begin(&second, &a, 100);
    world_run_for(&world, HELD_MS);
    assert_int_equal(second.status, UV_ETIMEDOUT);
    hold_give_back(&first);
}

static uint64_t in_buckets(const uvzk_histogram_t *histogram)
{
    uint64_t count = 0;

    for (size_t i = 0; i < UVZK_HISTOGRAM_BUCKETS; i++) {
        count += histogram->buckets[i];
    }
    assert_int_equal(count, histogram->count);
    return count;
}

/* ------------------------------------------------------------------------ counting */

static void test_counts_and_takes_the_time(void **state)
{
    (void)state;
    begin(1, NULL);
    play();
    uvzk_client_metrics_t metrics = metrics_of_a();
    assert_int_equal(metrics.grants, 1);
    assert_int_equal(metrics.releases, 1);
    assert_int_equal(metrics.refused_behind_others, 1);
    assert_int_equal(in_buckets(&metrics.acquire), 1);
    assert_int_equal(metrics.acquire.sum_ms, 2 * LATENCY);
    assert_int_equal(metrics.acquire.buckets[4], 1); /* 8 to 15 ms */
    assert_int_equal(in_buckets(&metrics.hold), 1);
    assert_in_range(metrics.hold.sum_ms, HELD_MS, HELD_MS + 1);
    assert_int_equal(in_buckets(&metrics.release), 1);
    assert_int_equal(metrics.release.sum_ms, 2 * LATENCY);
    assert_int_equal(metrics.creates + metrics.deletes + metrics.multis +
                         metrics.listings + metrics.reads + metrics.others,
                     process_metrics(&a).requests);
    assert_int_equal(in_buckets(&metrics.round_trip), process_metrics(&a).requests);
    assert_int_equal(metrics.listings, process_metrics(&a).listings);
    assert_int_equal(metrics.state, UVZK_STATE_CONNECTED);
    assert_int_equal(metrics.session_timeout_ms, WORLD_TIMEOUT_MS);
    assert_int_equal(metrics.session_id, uvzk_client_session_id(&a.client));
    assert_int_equal(metrics.locks, 1);
    assert_int_equal(metrics.held + metrics.waiting, 0);
    assert_true(metrics.node_bytes_most > 1000000 && metrics.watch_bytes_most > 500000);
    world_end(&world);
}

/* Of ours, in the same turn; of another client's, in that of the event; nothing of one that
 * waited for nobody. */
static void test_from_hand_to_hand(void **state)
{
    (void)state;
    begin(1, NULL);
    hold_take(&first, &a);
    assert_int_equal(metrics_of_a().handover.count, 0);
    hold_begin(&second, &a, UVZK_WAIT_FOREVER);
    world_run_for(&world, HELD_MS);
    hold_give_back(&first);
    assert_true(hold_holds(&second));
    uvzk_client_metrics_t metrics = metrics_of_a();
    assert_int_equal(in_buckets(&metrics.handover), 1);
    assert_int_equal(metrics.handover.sum_ms, 0);
    hold_give_back(&second);
    world_run_for(&world, HELD_MS);
    hold_take(&first, &a); /* it was free for long */
    assert_int_equal(metrics_of_a().handover.count, 1);
    hold_give_back(&first);
    hold_take(&second, &b);
    hold_begin(&first, &a, UVZK_WAIT_FOREVER);
    world_run_for(&world, HELD_MS);
    hold_give_back(&second);
    hold_await(&first, HELD_MS);
    metrics = metrics_of_a();
    assert_int_equal(in_buckets(&metrics.handover), 2);
    assert_int_equal(metrics.handover.sum_ms, 0);
    hold_give_back(&first);
    world_end(&world);
}

/* Without credit one of ours waits until the znode before it is gone. */
static void test_from_hand_to_hand_by_way_of_the_server(void **state)
{
    (void)state;
    begin_tuned(0, 1, NULL);
    hold_take(&first, &a);
    hold_begin(&second, &a, UVZK_WAIT_FOREVER);
    world_run_for(&world, HELD_MS);
    hold_give_back(&first);
    hold_await(&second, HELD_MS);
    uvzk_client_metrics_t metrics = metrics_of_a();
    assert_int_equal(in_buckets(&metrics.handover), 1);
    assert_int_equal(metrics.handover.sum_ms, 4 * LATENCY); /* the delete, and a look */
    hold_give_back(&second);
    world_end(&world);
}

/* Readers that come when another one has gone have waited for nobody. */
static void test_readers_wait_for_nobody(void **state)
{
    struct hold third;
    (void)state;

    begin(1, NULL);
    process_make_rwlock(&a, "/book");
    hold_take_on(&first, &a, &a.rwlock.read, 0);
    hold_take_on(&second, &a, &a.rwlock.read, 0);
    hold_give_back(&second);
    world_run_for(&world, HELD_MS);
    hold_take_on(&third, &a, &a.rwlock.read, 0);
    assert_int_equal(metrics_of_a().handover.count, 0);
    hold_begin_on(&second, &a, &a.rwlock.write, 0, UVZK_WAIT_FOREVER);
    world_run_for(&world, HELD_MS);
    hold_give_back(&first);
    world_run_for(&world, HELD_MS);
    hold_give_back(&third);
    hold_await(&second, HELD_MS);
    uvzk_client_metrics_t metrics = metrics_of_a();
    assert_int_equal(in_buckets(&metrics.handover), 1); /* from the last of them */
    assert_in_range(metrics.handover.sum_ms, 0, 4 * LATENCY);
    hold_give_back(&second);
    world_end(&world);
}

/* Semaphores: the lease that is let go; seen in a listing when it was another client's. */
static void test_leases_from_hand_to_hand(void **state)
{
    uvzk_semaphore_t one = {.data = NULL}, other = {.data = NULL};
    (void)state;

    begin(1, NULL);
    assert_int_equal(uvzk_semaphore_init(&a.client, &one, "/leases", 1, NULL), 0);
    assert_int_equal(uvzk_semaphore_init(&b.client, &other, "/leases", 1, NULL), 0);
    hold_take_on(&second, &b, &other, 1);
    hold_begin_on(&first, &a, &one, 1, UVZK_WAIT_FOREVER);
    world_run_for(&world, HELD_MS);
    assert_int_equal(metrics_of_a().handover.count, 0);
    hold_give_back(&second);
    hold_await(&first, HELD_MS);
    uvzk_client_metrics_t metrics = metrics_of_a();
    assert_int_equal(in_buckets(&metrics.handover), 1);
    assert_int_equal(metrics.handover.sum_ms, 2 * LATENCY); /* ours is made */
    hold_begin_on(&second, &a, &one, 1, UVZK_WAIT_FOREVER);
    world_run_for(&world, HELD_MS);
    hold_give_back(&first);
    hold_await(&second, HELD_MS);
    assert_int_equal(metrics_of_a().handover.count, 2);
    hold_give_back(&second);
    world_end(&world);
}

static void test_losses_and_proofs(void **state)
{
    (void)state;
    begin(1, NULL);
    hold_take(&first, &a);
    world_run_for(&world, WORLD_TIMEOUT_MS);
    uvzk_client_metrics_t metrics = metrics_of_a();
    assert_int_equal(metrics.held, 1);
    assert_true(metrics.node_bytes > 0);
    assert_int_equal(metrics.proof.count, process_metrics(&a).proofs);
    assert_true(in_buckets(&metrics.proof) > 0);
    a.killed = true;
    assert_true(sim_expire_connected(a.port));
    hold_await_lost(&first, WORLD_TIMEOUT_MS, UVZK_EEXPIRED);
    metrics = metrics_of_a();
    assert_int_equal(metrics.lost_expired, 1);
    assert_int_equal(
        metrics.lost_unproved + metrics.lost_deleted + metrics.lost_otherwise, 0);
    sim_disconnect(a.port, SIM_RESET, 1000);
    world_run_for(&world, 50);
    hold_begin(&first, &a, 100);
    hold_await_status(&first, 200, UVZK_EUNREACHABLE);
    assert_int_equal(metrics_of_a().refused_unreachable, 1);
    world_end(&world);
}

/* Not before it is first asked for, and then of what begins since. */
static void test_counts_from_the_start_of_metrics_on(void **state)
{
    char text[16384];
    (void)state;
    begin(0, NULL);
    hold_take(&first, &a);
    const struct uvzk__session *session = a.client.impl;
    assert_true(metrics_of_a().requests > 0);
    assert_int_equal(metrics_of_a().held, 1);
    assert_int_equal(metrics_of_a().counting + metrics_of_a().grants, 0);
    assert_true(uvzk_client_write_metrics(&a.client, "a", text, sizeof(text)) > 0);
    assert_non_null(strstr(text, "uvzk_requests_total"));
    assert_null(strstr(text, "uvzk_grants_total"));
    assert_null(strstr(text, "uvzk_acquire_seconds"));
    assert_null(session->observer); /* reading has not begun to count */
    assert_int_equal(uvzk_client_start_metrics(&a.client), 0);
    assert_int_equal(metrics_of_a().counting, 1);
    hold_give_back(&first);
    assert_int_equal(metrics_of_a().releases, 1);
    assert_int_equal(uvzk_client_start_metrics(&a.client), 0);
    assert_int_equal(metrics_of_a().releases, 1);
    play();
    assert_int_equal(metrics_of_a().grants, 1);
    world_end(&world);
}

/* ---------------------------------------------------------------------------- text */

static void test_text_for_prometheus(void **state)
{
    char text[32768], cut[100];
    (void)state;

    begin(1, NULL);
    play();
    int length =
        uvzk_client_write_metrics(&a.client, "a \"b\" \\ \n", text, sizeof(text));
    assert_true(length > 0 && (size_t)length < sizeof(text));
    assert_int_equal(strlen(text), length);
    assert_int_equal(uvzk_client_write_metrics(&a.client, "a \"b\" \\ \n", NULL, 0),
                     length);
    assert_int_equal(
        uvzk_client_write_metrics(&a.client, "a \"b\" \\ \n", cut, sizeof(cut)), length);
    assert_int_equal(strlen(cut), sizeof(cut) - 1);
    assert_memory_equal(cut, text, sizeof(cut) - 1);
    assert_non_null(
        strstr(text, "\nuvzk_grants_total{client=\"a \\\"b\\\" \\\\ \\n\"} 1\n"));
    assert_non_null(strstr(text, "reason=\"behind_others\"} 1\n"));
    assert_non_null(strstr(text, "uvzk_acquire_seconds_bucket"));
    assert_non_null(strstr(text, "uvzk_handover_seconds_bucket"));
    assert_non_null(strstr(text, ",le=\"0.007\"} 0\n"));
    assert_non_null(strstr(text, ",le=\"0.015\"} 1\n"));
    assert_non_null(strstr(text, ",le=\"+Inf\"} 1\n"));
    assert_non_null(strstr(text, "uvzk_acquire_seconds_sum{client=\"a \\\"b\\\" \\\\ "
                                 "\\n\"} 0.010\n"));
    for (const char *line = text; *line != '\0'; line = strchr(line, '\n') + 1) {
        assert_true(strncmp(line, "# HELP uvzk_", 12) == 0 ||
                    strncmp(line, "# TYPE uvzk_", 12) == 0 ||
                    strncmp(line, "uvzk_", 5) == 0);
    }
    world_end(&world);
}

/* -------------------------------------------------------------------------- tracing */

static void test_each_step_is_traced(void **state)
{
    (void)state;
    begin(0, on_trace);
    play();
    assert_string_equal(traced.order, "AGRD");
    assert_int_equal(traced.steps[UVZK_TRACE_ACQUIRE], 2);
    assert_int_equal(traced.steps[UVZK_TRACE_REFUSED], 1);
    assert_int_equal(traced.steps[UVZK_TRACE_REQUEST], process_metrics(&a).requests);
    assert_int_equal(traced.steps[UVZK_TRACE_REPLY], process_metrics(&a).requests);
    assert_int_equal(traced.steps[UVZK_TRACE_STATE], 1);
    hold_take(&first, &a);
    a.killed = true;
    assert_true(sim_expire_connected(a.port));
    hold_await_lost(&first, WORLD_TIMEOUT_MS, UVZK_EEXPIRED);
    assert_string_equal(traced.order, "AGRDAGL");
    world_run_for(&world, 1000);
    assert_int_equal(traced.steps[UVZK_TRACE_STATE], 3);
    world_end(&world);
}

/* --------------------------------------------------------------- pending and held */

struct seen {
    int count, held, waiting;
    uint64_t ahead;
    char path[HOLD_PATH_MAX], predecessor[HOLD_PATH_MAX];
};

static void on_entry(const uvzk_client_t *client, const uvzk_hold_entry_t *entry,
                     void *context)
{
    struct seen *seen = context;

    assert_true(client->impl != NULL && entry->size == sizeof(*entry));
    assert_string_equal(entry->lock_path, WORLD_PATH);
    assert_true(entry->wait->since > 0 || entry->is_held);
    seen->count++;
    if (entry->is_held) {
        seen->held++;
        assert_true(entry->token > 0);
        (void)snprintf(seen->path, sizeof(seen->path), "%s", entry->path);
    } else {
        seen->waiting++;
        assert_null(entry->path);
        seen->ahead = entry->wait->ahead;
        (void)snprintf(seen->predecessor, sizeof(seen->predecessor), "%s",
                       entry->wait->predecessor == NULL ? "" : entry->wait->predecessor);
    }
}

static struct seen look_at(struct process *process)
{
    struct seen seen = {.count = 0};

    assert_int_equal(uvzk_client_each_hold(&process->client, on_entry, &seen), 0);
    return seen;
}

static void test_shows_what_is_pending_and_held(void **state)
{
    struct hold third;
    (void)state;

    begin(0, NULL);
    assert_int_equal(look_at(&a).count, 0);
    hold_take(&first, &a);
    hold_begin(&second, &a, UVZK_WAIT_FOREVER);
    hold_begin(&third, &b, UVZK_WAIT_FOREVER);
    world_run_for(&world, 200);
    struct seen seen = look_at(&a);
    assert_int_equal(seen.held, 1);
    assert_int_equal(seen.waiting, 1);
    assert_int_equal(seen.ahead, 1);
    assert_string_equal(seen.path, first.path);
    assert_string_equal(seen.predecessor, "");
    seen = look_at(&b);
    assert_int_equal(seen.count, 1);
    assert_int_equal(seen.ahead, 2);
    assert_non_null(strstr(seen.predecessor, WORLD_PATH "/_c_"));
    hold_release(&first);
    world_run_for(&world, 200);
    assert_int_equal(look_at(&a).held, 1);
    assert_int_equal(uvzk_client_each_hold(NULL, on_entry, NULL), UV_EINVAL);
    assert_int_equal(uvzk_client_each_hold(&a.client, NULL, NULL), UV_EINVAL);
    world_release_and_end(&world);
}

static void test_what_may_be_asked(void **state)
{
    struct {
        uvzk_client_metrics_t known;
        uint64_t more;
    } newer;
    uvzk_client_t nobody = {.data = NULL};
    uvzk_client_metrics_t metrics;
    char text[10];
    (void)state;

    begin(0, NULL);
    uvzk_client_metrics_init(&metrics);
    uvzk_client_metrics_init_size(NULL, sizeof(metrics));
    assert_int_equal(uvzk_client_metrics(NULL, &metrics), UV_EINVAL);
    assert_int_equal(uvzk_client_metrics(&a.client, NULL), UV_EINVAL);
    assert_int_equal(uvzk_client_metrics(&nobody, &metrics), UVZK_ESTATE);
    metrics.size = 8;
    assert_int_equal(uvzk_client_metrics(&a.client, &metrics), UV_EINVAL);
    uvzk_client_metrics_init_size(&newer.known, sizeof(newer));
    newer.more = 7;
    assert_int_equal(uvzk_client_metrics(&a.client, &newer.known), 0);
    assert_int_equal(newer.known.locks, 1);
    assert_int_equal(newer.more, 7);
    assert_int_equal(uvzk_client_start_metrics(NULL), UV_EINVAL);
    assert_int_equal(uvzk_client_start_metrics(&nobody), UVZK_ESTATE);
    assert_int_equal(uvzk_client_write_metrics(&a.client, NULL, text, 10), UV_EINVAL);
    assert_int_equal(uvzk_client_write_metrics(&a.client, "a", NULL, 10), UV_EINVAL);
    assert_int_equal(uvzk_client_write_metrics(&nobody, "a", text, 10), UVZK_ESTATE);
    assert_int_equal(uvzk_client_each_hold(&nobody, on_entry, NULL), UVZK_ESTATE);
    world_end(&world);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_counts_and_takes_the_time),
        cmocka_unit_test(test_from_hand_to_hand),
        cmocka_unit_test(test_from_hand_to_hand_by_way_of_the_server),
        cmocka_unit_test(test_readers_wait_for_nobody),
        cmocka_unit_test(test_leases_from_hand_to_hand),
        cmocka_unit_test(test_losses_and_proofs),
        cmocka_unit_test(test_counts_from_the_start_of_metrics_on),
        cmocka_unit_test(test_text_for_prometheus),
        cmocka_unit_test(test_each_step_is_traced),
        cmocka_unit_test(test_shows_what_is_pending_and_held),
        cmocka_unit_test(test_what_may_be_asked),
    };
    return cmocka_run_group_tests_name("metrics", tests, NULL, NULL);
}
