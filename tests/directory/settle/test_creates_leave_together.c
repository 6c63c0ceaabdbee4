/* SPDX-License-Identifier: Apache-2.0 */
/* What one turn wants made in different directories leaves as one multi. Of such a multi
 * only the first error is told, its reply tells no czxid, and it may be lost: whatever
 * comes of it, each of those who asked has the outcome that it would have had alone, nobody
 * waits for another one's, and no znode is left behind. */
#include "base/path.h"
#include "directory/queue.h"
#include "locks/mutex.h"
#include "world.h"

#include <stdio.h>
#include <string.h>

#define SEEDS 16U
#define MANY 8U
#define MOST 320U /* five requests full */
#define STEPS 24U /* events from the question to the last grant, and more */
#define PLACE "/many"

enum place {
    NOWHERE,
    EMPTY,
    WORN
}; /* no directory; nobody was ever there; or somebody */

static struct world world;
static struct process a;
static uvzk_mutex_t locks[MOST];
static struct hold holds[MOST];
static size_t count;

static const char *path_of(size_t number)
{
    static char path[32];

    (void)snprintf(path, sizeof(path), PLACE "/%05zu", number);
    return path;
}

static void make_place(size_t number, enum place place)
{
    if (place != NOWHERE) {
        (void)sim_create_by_hand(world.sim, PLACE, UVZK__PERSISTENT);
        assert_non_null(sim_create_by_hand(world.sim, path_of(number), UVZK__PERSISTENT));
    }
    if (place == WORN) {
        assert_int_equal(sim_set_counter(world.sim, path_of(number), 7), 0);
    }
}

static void open_locks(size_t many, enum place place)
{
    count = many;
    memset(locks, 0, sizeof(locks));
    memset(holds, 0, sizeof(holds));
    for (size_t i = 0; i < count; i++) {
        make_place(i, place);
        assert_int_equal(uvzk_mutex_init(&a.client, &locks[i], path_of(i)), 0);
    }
    assert_true(process_await_connected(&a, 1000));
    world_run_for(&world, 200); /* and its barrier is answered */
}

static void begin(uint64_t seed, size_t many, enum place place)
{
    void *tuned = &world_tuned;

    world_begin_one(&world, seed, &tuned, &a);
    assert_int_equal(uvzk_client_start_metrics(&a.client), 0);
    open_locks(many, place);
}

/* All in one turn. */
static void ask(void)
{
    for (size_t i = 0; i < count; i++) {
        hold_begin_on(&holds[i], &a, &locks[i], 0, UVZK_WAIT_FOREVER);
    }
}

static void await_all(void)
{
    for (size_t i = 0; i < count; i++) {
        hold_await(&holds[i], 5000);
    }
}

static void give_back_all(void)
{
    for (size_t i = 0; i < count; i++) {
        hold_release(&holds[i]);
    }
    for (size_t i = 0; i < count; i++) {
        hold_await_released(&holds[i], 1000, 0);
    }
}

static size_t znodes(void)
{
    size_t sum = 0;

    for (size_t i = 0; i < count; i++) {
        sum += world_children(&world, path_of(i));
    }
    return sum;
}

/* Each has one, and gives it back. */
static void end(void)
{
    size_t held = 0;

    for (size_t i = 0; i < count; i++) {
        held += hold_holds(&holds[i]);
    }
    assert_int_equal(znodes(), held);
    world_release_all(&world);
    assert_int_equal(znodes(), 0);
    world_end(&world);
}

/* Requests, without proofs, which go by time. */
static uint64_t requests(void)
{
    uvzk_client_metrics_t stats = process_metrics(&a);

    return stats.requests - stats.proofs;
}

/* Creates that have left alone, of the znodes that are asked for. */
static size_t creates(size_t from)
{
    size_t sum = 0;

    for (size_t i = 0; i < count; i++) {
        char text[64];
        (void)snprintf(text, sizeof(text), "server: create %s/_c_", path_of(i));
        sum += world_count(&world, from, "a", text);
    }
    return sum;
}

static void await_server(size_t from, const char *what)
{
    process_await_line(&a, from, what, 2000);
}

#define MADE "server: multi  -> "

/* ---------------------------------------------------------------------- what it costs */

/* The multi, and one exists for all; a listing only where somebody was before. */
static void a_turn_is_two_requests(void **state)
{
    (void)state;
    for (uint64_t seed = 1; seed <= SEEDS; seed++) {
        for (enum place place = EMPTY; place <= WORN; place++) {
            begin(seed, MANY, place);
            uint64_t before = requests();
            ask();
            await_all();
            assert_int_equal(requests() - before, 2 + (place == WORN ? MANY : 0));
            end();
        }
    }
}

/* A lone one, and those that stand behind one another, as ever. */
static void a_lone_create_is_none(void **state)
{
    struct hold more[2];

    (void)state;
    for (uint64_t seed = 1; seed <= SEEDS; seed++) {
        begin(seed, 1, EMPTY);
        size_t from = world.line_count;
        ask();
        hold_begin_on(&more[0], &a, &locks[0], 0, UVZK_WAIT_FOREVER);
        hold_begin_on(&more[1], &a, &locks[0], 0, UVZK_WAIT_FOREVER);
        await_all();
        hold_give_back(&holds[0]);
        hold_acquire_release(&more[0], 2000);
        hold_acquire_release(&more[1], 2000);
        assert_int_equal(creates(from), 3);
        end();
    }
}

/* What is cancelled before the turn has sent nothing, wherever it stood in line. */
static void who_is_cancelled_in_its_turn_sends_nothing(void **state)
{
    struct hold more[2];

    (void)state;
    for (unsigned left = 0; left < 8; left++) {
        begin(1 + left, 1, WORN);
        uint64_t before = requests();
        struct hold *asked[] = {&holds[0], &more[0], &more[1]};
        for (size_t i = 0; i < 3; i++) {
            hold_begin_on(asked[i], &a, &locks[0], 0, UVZK_WAIT_FOREVER);
        }
        for (size_t i = 0; i < 3; i++) {
            if ((left & 1U << i) == 0) {
                hold_cancel(asked[i]);
            }
        }
        uint64_t creates_left = (left & 1U) + (left >> 1 & 1U) + (left >> 2 & 1U);
        world_run_for(&world, 300);
        assert_int_equal(requests() - before, creates_left == 0 ? 0 : creates_left + 1);
        for (size_t i = 0; i < 3; i++) {
            if ((left & 1U << i) != 0) {
                hold_acquire_release(asked[i], 2000);
            }
        }
        end();
    }
}

static uint64_t requests_when_told;

static void on_refused(uvzk_hold_t *hold, int status)
{
    (void)hold;
    assert_int_equal(status, UV_ETIMEDOUT);
    requests_when_told = requests();
}

static void on_lost(uvzk_hold_t *hold, int reason)
{
    (void)hold;
    fail_msg("lost: %s", uvzk_err_name(reason));
}

/* When the first callback of the turn runs, the listing has left too. */
static void a_listing_leaves_with_its_create(void **state)
{
    static uvzk_hold_t refused;
    uvzk_acquire_options_t options;

    (void)state;
    begin(1, 2, WORN);
    hold_begin_on(&holds[1], &a, &locks[1], 0, UVZK_WAIT_FOREVER);
    hold_await(&holds[1], 1000);
    uint64_t before = requests();
    uvzk_acquire_options_init(&options);
    options.timeout_ms = UVZK_TRY_ONCE;
    requests_when_told = 0;
    hold_begin_on(&holds[0], &a, &locks[0], 0, UVZK_WAIT_FOREVER);
    assert_int_equal(
        uvzk_lock_acquire(&locks[1], &refused, &options, on_refused, on_lost), 0);
    hold_await(&holds[0], 1000);
    assert_int_equal(requests_when_told - before, 2);
    end();
}

static struct hold asked_by_settling;

static void ask_once(struct uvzk__queue *queue)
{
    (void)queue;
    if (asked_by_settling.process == NULL) {
        hold_begin_on(&asked_by_settling, &a, &locks[0], 0, UVZK_WAIT_FOREVER);
    }
}

/* Settling one directory wants a create in another one, which is settled next: too late for
 * the creates of that round. */
static void who_is_wanted_by_another_settling_is_created(void **state)
{
    static const struct uvzk__directory_kind kind = {.settle = ask_once};
    struct uvzk__shared_path *path = uvzk__shared_path_join("/", "another");

    (void)state;
    begin(1, 1, WORN);
    memset(&asked_by_settling, 0, sizeof(asked_by_settling));
    ask();
    await_all();
    struct uvzk__session *session = a.client.impl;
    uvzk__queue_settle_later(uvzk__queue_of(session, &kind, path));
    uvzk__queue_settle_later(uvzk__queue_find(session, &uvzk__exclusive, path_of(0)));
    uvzk__shared_path_unref(path);
    world_run_for(&world, 300);
    assert_int_equal(world_children(&world, path_of(0)), 2);
    hold_give_back(&holds[0]);
    hold_acquire_release(&asked_by_settling, 2000);
    end();
}

/* Whoever asks for a lock first has it first, whatever else is asked for, and whatever
 * becomes of that: in the same turn, or so many events later. */
static void check_order(uint64_t seed, uint64_t steps, bool missing)
{
    struct hold more[MANY];

    begin(seed, MANY, WORN);
    if (missing) {
        assert_int_equal(sim_delete_by_hand(world.sim, path_of(seed % MANY)), 0);
    }
    ask();
    world_steps(&world, steps);
    for (size_t i = 0; i < MANY; i++) {
        hold_begin_on(&more[i], &a, &locks[i / 2], 0, UVZK_WAIT_FOREVER);
    }
    await_all();
    give_back_all();
    for (size_t i = 0; i < MANY; i += 2) {
        hold_await(&more[i], 1000);
        assert_true(hold_pending(&more[i + 1]));
        hold_give_back(&more[i]);
        hold_acquire_release(&more[i + 1], 1000);
    }
    end();
}

static void the_order_in_a_directory_is_kept(void **state)
{
    (void)state;
    for (uint64_t seed = 1; seed <= SEEDS; seed++) {
        for (uint64_t steps = 0; steps < 4; steps++) {
            check_order(seed, steps, false);
            check_order(seed, steps, true);
        }
    }
}

/* While four are under way the others gather. */
static void four_are_under_way(void **state)
{
    (void)state;
    begin(4, MOST, EMPTY); /* whose messages take their time */
    size_t from = world.line_count;
    ask();
    size_t most = 0;
    while (world_line(&world, from, "a", MADE) == WORLD_NO_LINE) {
        most = sim_outstanding(a.port) > most ? sim_outstanding(a.port) : most;
        world_steps(&world, 1);
    }
    assert_int_equal(most, 4);
    await_all();
    assert_int_equal(world_count(&world, from, "a", MADE "ok"), MOST / 64);
    end();
}

/* A writer waits for the next multi. A reader that comes behind it in a later turn may not
 * share that one, whose znodes have one token. */
static void a_reader_joins_no_writer_that_waits(void **state)
{
    static uvzk_rwlock_t both;
    struct hold writer, reader;

    (void)state;
    begin(4, MOST - MANY, EMPTY); /* there is room in the fifth multi */
    memset(&both, 0, sizeof(both));
    assert_non_null(sim_create_by_hand(world.sim, PLACE "/both", UVZK__PERSISTENT));
    assert_int_equal(uvzk_rwlock_init(&a.client, &both, PLACE "/both"), 0);
    ask();
    hold_begin_on(&writer, &a, &both.write, 0, UVZK_WAIT_FOREVER);
    while (sim_outstanding(a.port) < 4) {
        world_steps(&world, 1);
    }
    hold_begin_on(&reader, &a, &both.read, 0, UVZK_WAIT_FOREVER);
    hold_await(&writer, 5000);
    int64_t token = writer.token;
    hold_give_back(&writer);
    hold_await(&reader, 5000);
    assert_true(reader.token > token);
    hold_give_back(&reader);
    await_all();
    assert_int_equal(uvzk_lock_close(&both.read, NULL), 0);
    assert_int_equal(uvzk_lock_close(&both.write, NULL), 0);
    end();
}

/* A request stays far below what a server reads, whatever it is that they write. */
static void a_request_has_its_limits(void **state)
{
    static char bytes[1000000];
    static const size_t sizes[] = {100000, 200000, 1000000};
    static const size_t multis[] = {MANY / 2, 0, 0};

    (void)state;
    for (size_t i = 0; i < sizeof(sizes) / sizeof(sizes[0]); i++) {
        uvzk_acquire_options_t options;
        begin(4, MANY, EMPTY);
        size_t from = world.line_count;
        uvzk_acquire_options_init(&options);
        options.node_data = bytes;
        options.node_data_length = sizes[i];
        for (size_t j = 0; j < count; j++) {
            assert_int_equal(hold_ask(&holds[j], &a, &locks[j], &options), 0);
        }
        await_all();
        assert_int_equal(world_count(&world, from, "a", MADE "ok"), multis[i]);
        assert_int_equal(world_count(&world, from, "a", "server: multi is too long"), 0);
        end();
    }
}

/* ------------------------------------------------------------------------- tokens */

/* All of one multi have one; the next hold of each lock has a greater one. */
static void tokens_grow_in_each_directory(void **state)
{
    int64_t tokens[MANY];

    (void)state;
    for (uint64_t seed = 1; seed <= SEEDS; seed++) {
        begin(seed, MANY, EMPTY);
        for (size_t round = 0; round < 3; round++) {
            ask();
            await_all();
            for (size_t i = 0; i < MANY; i++) {
                struct uvzk__stat stat;
                assert_true(sim_stat(world.sim, holds[i].path, &stat));
                assert_int_equal(holds[i].token, stat.czxid);
                assert_int_equal(holds[i].token, holds[0].token);
                assert_true(round == 0 || holds[i].token > tokens[i]);
                tokens[i] = holds[i].token;
            }
            give_back_all();
        }
        end();
    }
}

/* The token of several locks that are taken in turn is one of theirs, and may be compared
 * with one of a lock that only another of them excludes: they share it with nobody. */
static void several_locks_in_turn_have_their_own(void **state)
{
    uvzk_lock_t *const members[] = {&locks[0], &locks[1]};

    (void)state;
    for (uint64_t seed = 1; seed <= SEEDS; seed++) {
        uvzk_multilock_t both = {0};
        struct hold held;
        begin(seed, MANY, EMPTY);
        assert_int_equal(uvzk_multilock_init(&a.client, &both, members, 2,
                                             UVZK_MULTILOCK_IN_TURN, NULL),
                         0);
        hold_begin_on(&held, &a, &both, 0, UVZK_WAIT_FOREVER);
        for (size_t i = 2; i < MANY; i++) {
            hold_begin_on(&holds[i], &a, &locks[i], 0, UVZK_WAIT_FOREVER);
        }
        hold_await(&held, 2000);
        for (size_t i = 2; i < MANY; i++) {
            hold_await(&holds[i], 2000);
            for (uint32_t j = 0; j < 2; j++) {
                struct uvzk__stat stat;
                const char *path = uvzk_hold_node_path(&held.request, j);
                assert_true(sim_stat(world.sim, path, &stat));
                assert_true(stat.czxid != holds[i].token);
            }
        }
        hold_give_back(&held);
        end();
    }
}

/* ----------------------------------------------------------------------- refused */

/* One is to blame, and is told so. The others go on by themselves. */
static void the_others_of_a_refused_one_go_on(void **state)
{
    static const int codes[] = {UVZK_ENOAUTH, UVZK_EINVALIDACL, UVZK_EREJECTED,
                                UVZK_EZOOKEEPER, UV_ENOMEM};

    (void)state;
    for (uint64_t seed = 1; seed <= SEEDS; seed++) {
        for (size_t i = 0; i < sizeof(codes) / sizeof(codes[0]); i++) {
            size_t blamed = seed % MANY;
            begin(seed, MANY, EMPTY);
            size_t from = world.line_count;
            sim_set_failed_op(world.sim, blamed);
            sim_refuse(world.sim, UVZK__RPC_MULTI, codes[i], 1);
            ask();
            for (size_t j = 0; j < MANY; j++) {
                hold_await_status(&holds[j], 2000, j == blamed ? codes[i] : 0);
            }
            assert_int_equal(creates(from), MANY - 1);
            end();
        }
    }
}

/* Whoever has come behind one that is refused, or given up, is not kept by it. One that is
 * given up before the turn has sent nothing, so the one behind it would be refused. */
static void who_comes_behind_is_not_forgotten(void **state)
{
    (void)state;
    for (uint64_t seed = 1; seed <= SEEDS; seed++) {
        for (uint64_t steps = 0; steps < 8; steps++) {
            struct hold behind;
            begin(seed, MANY, EMPTY);
            sim_set_failed_op(world.sim, 0);
            sim_refuse(world.sim, UVZK__RPC_MULTI, UVZK_ENOAUTH, 1);
            ask();
            world_steps(&world, steps);
            hold_begin_on(&behind, &a, &locks[0], 0, UVZK_WAIT_FOREVER);
            if (seed % 2 == 0 && steps > 0 && hold_pending(&holds[0])) {
                (void)uvzk_hold_cancel(&holds[0].request); /* it may be refused by now */
            }
            hold_finish(&holds[0], 2000);
            hold_finish(&behind, 2000);
            assert_int_equal(behind.status, 0);
            end();
        }
    }
}

/* Nobody is named: it may have been any of them, and it may have been none. */
static void a_refusal_of_nobody_is_of_each(void **state)
{
    static const int codes[] = {UVZK_ENOAUTH,    UVZK_ENONODE, UVZK_EREJECTED,
                                UVZK_EZOOKEEPER, UV_ENOMEM,    UVZK_ETHROTTLED};

    (void)state;
    for (uint64_t seed = 1; seed <= SEEDS; seed++) {
        for (size_t i = 0; i < sizeof(codes) / sizeof(codes[0]); i++) {
            begin(seed, MANY, EMPTY);
            size_t from = world.line_count;
            sim_refuse(world.sim, UVZK__RPC_MULTI, codes[i], 1);
            ask();
            await_all();
            bool again = codes[i] == UVZK_ETHROTTLED; /* a pause, and that is all */
            assert_int_equal(creates(from), again ? 0 : MANY);
            end();
        }
    }
}

/* Of many directories in a new place the first that is missing is told. The others have
 * theirs made as well: one more request each, and not two. */
static void a_new_place_costs_one_more_each(void **state)
{
    (void)state;
    for (uint64_t seed = 1; seed <= SEEDS; seed++) {
        begin(seed, MANY, NOWHERE);
        size_t from = world.line_count;
        ask();
        await_all();
        /* The first of all goes up to the root, and down again. */
        size_t made = world_count(&world, from, "a", "server: create " PLACE);
        assert_in_range(made - creates(from), MANY + 2, MANY + 2);
        end();
    }
}

/* One directory is missing among others that stand. */
static void a_missing_directory_keeps_nobody(void **state)
{
    (void)state;
    for (uint64_t seed = 1; seed <= SEEDS; seed++) {
        size_t missing = seed % MANY;
        begin(seed, MANY, WORN);
        assert_int_equal(sim_delete_by_hand(world.sim, path_of(missing)), 0);
        size_t from = world.line_count;
        ask();
        await_all();
        assert_true(world_count(&world, from, "a", "server: create " PLACE) <= 2 * MANY);
        end();
    }
}

/* Whose directory stands needs no right to make one. */
static void who_makes_no_directory_needs_no_right_to(void **state)
{
    (void)state;
    for (uint64_t seed = 1; seed <= SEEDS; seed++) {
        begin(seed, 2, WORN);
        assert_int_equal(sim_delete_by_hand(world.sim, path_of(0)), 0);
        sim_refuse(world.sim, UVZK__RPC_CREATE, UVZK_ENOAUTH, 2);
        ask();
        hold_await_status(&holds[0], 2000, UVZK_ENOAUTH);
        hold_await(&holds[1], 2000);
        end();
    }
}

/* -------------------------------------------------------------------------- lost */

static void (*const troubles[])(struct process *) = {
    process_lose_request, process_lose_reply, process_reply_enomem,
    process_reset,        process_silence,    process_lose_servers};
#define TROUBLES (sizeof(troubles) / sizeof(troubles[0]))

/* At any moment on the way: each is searched for, all are found or none is, and each has
 * one znode in the end. What does not fit into memory may be told to one of them. */
static void what_is_lost_is_found(void **state)
{
    (void)state;
    for (uint64_t steps = 0; steps < STEPS; steps++) {
        for (size_t trouble = 0; trouble < TROUBLES; trouble++) {
            begin(steps % SEEDS, MANY, (enum place)(steps % 3));
            world.outage_ms = 500;
            ask();
            world_steps(&world, steps);
            troubles[trouble](&a);
            size_t refused = 0;
            for (size_t i = 0; i < MANY; i++) {
                hold_await_answer(&holds[i], 9000);
                refused += holds[i].status == UV_ENOMEM;
                assert_true(hold_holds(&holds[i]) || holds[i].status == UV_ENOMEM);
            }
            assert_in_range(refused, 0, troubles[trouble] == process_reply_enomem);
            world_run_for(&world, 1000);
            assert_int_equal(process_metrics(&a).orphans,
                             0); /* made once, not made again and healed */
            end();
        }
    }
}

static void a_session_ends_at_any_moment(void **state)
{
    (void)state;
    for (uint64_t steps = 0; steps < STEPS; steps++) {
        begin(steps % SEEDS, MANY, (enum place)(steps % 3));
        ask();
        world_steps(&world, steps);
        process_expire(&a);
        for (size_t i = 0; i < MANY; i++) {
            hold_await_answer(&holds[i], 9000);
            assert_true(holds[i].status == 0 || holds[i].status == UVZK_EEXPIRED);
        }
        world_run_for(&world, 3000);
        end();
    }
}

/* ------------------------------------------------------------------------ given up */

/* Every other one is cancelled, at any moment. */
static void who_is_cancelled_leaves_nothing(void **state)
{
    (void)state;
    for (uint64_t steps = 0; steps < STEPS; steps++) {
        begin(steps % SEEDS, MANY, (enum place)(steps % 3));
        ask();
        world_steps(&world, steps);
        for (size_t i = steps % 2; i < MANY; i += 2) {
            hold_release_or_cancel(&holds[i]);
        }
        for (size_t i = 0; i < MANY; i++) {
            hold_await_answer(&holds[i], 5000);
            assert_true(holds[i].status == 0 || i % 2 == steps % 2);
        }
        world_run_for(&world, 1000);
        end();
    }
}

static void a_close_answers_all(void **state)
{
    (void)state;
    for (uint64_t steps = 0; steps < STEPS; steps++) {
        begin(steps % SEEDS, MANY, (enum place)(steps % 3));
        ask();
        world_steps(&world, steps);
        process_close(&a);
        assert_true(world_await(&world, &a.closed, 9000));
        for (size_t i = 0; i < MANY; i++) {
            assert_true(hold_over(&holds[i]));
        }
        assert_int_equal(znodes(), 0);
        world_end(&world);
    }
}

/* ----------------------------------------------------------------- another one's hand */

/* Whose czxid was to be told for all has gone, or may not be read: the next one tells it.
 * Who has gone is made anew. */
static void another_one_tells_it(void **state)
{
    (void)state;
    for (uint64_t seed = 1; seed <= SEEDS; seed++) {
        begin(seed, MANY, EMPTY);
        world.holder_deleted = true;
        size_t from = world.line_count;
        ask();
        await_server(from, MADE "ok");
        world_delete_child(&world, path_of(0), 0);
        world_delete_child(&world, path_of(1), 0);
        await_all();
        for (size_t i = 3; i < MANY; i++) {
            assert_int_equal(holds[i].token, holds[2].token);
        }
        assert_true(holds[0].token > holds[2].token);
        assert_int_equal(world_count(&world, from, "a", "server: exists"), 3);
        end();
    }
}

/* Somebody has put a znode of his own in the place of one of them. */
static void what_is_anothers_tells_nothing(void **state)
{
    (void)state;
    for (uint64_t seed = 1; seed <= SEEDS; seed++) {
        struct uvzk__stat stat;
        begin(seed, MANY, EMPTY);
        world.holder_deleted = true;
        ask();
        while (znodes() == 0) {
            world_steps(&world, 1);
        }
        struct world_path first = world_child(&world, path_of(0), 0);
        assert_int_equal(sim_delete_by_hand(world.sim, first.text), 0);
        assert_non_null(sim_create_by_hand(world.sim, first.text, UVZK__EPHEMERAL));
        for (size_t i = 1; i < MANY; i++) {
            hold_await(&holds[i], 2000);
            assert_true(sim_stat(world.sim, holds[i].path, &stat));
            assert_int_equal(holds[i].token, stat.czxid);
        }
        world_run_for(&world, 1000);
        assert_true(hold_pending(&holds[0]));
        world_delete(&world, &first);
        hold_await(&holds[0], 2000);
        end();
    }
}

static void begin_where_exists_needs_read(void)
{
    struct sim_options options;

    world_exact_options(&options, 10);
    options.exists_needs_read = true;
    world_begin_with(&world, 1, world_tuned, &options);
    process_begin(&a, &world, "a", NULL);
    open_locks(MANY, EMPTY);
}

static void who_may_not_be_read_is_told_by_another(void **state)
{
    struct world_path first;

    (void)state;
    begin_where_exists_needs_read();
    ask();
    while (znodes() == 0) {
        world_steps(&world, 1);
    }
    first = world_child(&world, path_of(0), 0);
    assert_int_equal(sim_set_readable(world.sim, first.text, false), 0);
    await_all();
    for (size_t i = 1; i < MANY; i++) {
        assert_int_equal(holds[i].token, holds[0].token);
    }
    end();
}

/* What nobody may read is made alone, whose reply tells the czxid. */
static void what_nobody_may_read_is_made_alone(void **state)
{
    static const uvzk_acl_t acl[] = {
        {UVZK_PERM_ALL & ~(unsigned)UVZK_PERM_READ, "world", "anyone"}};
    struct sim_options settings;
    uvzk_client_options_t options;

    (void)state;
    world_exact_options(&settings, 10);
    settings.exists_needs_read = true;
    world_begin_with(&world, 1, world_tuned, &settings);
    process_options(&options);
    options.acl = acl;
    options.acl_count = 1;
    process_begin(&a, &world, "a", &options);
    open_locks(MANY, EMPTY);
    ask();
    await_all();
    end();
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_turn_is_two_requests),
        cmocka_unit_test(a_lone_create_is_none),
        cmocka_unit_test(who_is_cancelled_in_its_turn_sends_nothing),
        cmocka_unit_test(a_listing_leaves_with_its_create),
        cmocka_unit_test(who_is_wanted_by_another_settling_is_created),
        cmocka_unit_test(the_order_in_a_directory_is_kept),
        cmocka_unit_test(four_are_under_way),
        cmocka_unit_test(a_reader_joins_no_writer_that_waits),
        cmocka_unit_test(a_request_has_its_limits),
        cmocka_unit_test(tokens_grow_in_each_directory),
        cmocka_unit_test(several_locks_in_turn_have_their_own),
        cmocka_unit_test(the_others_of_a_refused_one_go_on),
        cmocka_unit_test(who_comes_behind_is_not_forgotten),
        cmocka_unit_test(a_refusal_of_nobody_is_of_each),
        cmocka_unit_test(a_new_place_costs_one_more_each),
        cmocka_unit_test(a_missing_directory_keeps_nobody),
        cmocka_unit_test(who_makes_no_directory_needs_no_right_to),
        cmocka_unit_test(what_is_lost_is_found),
        cmocka_unit_test(a_session_ends_at_any_moment),
        cmocka_unit_test(who_is_cancelled_leaves_nothing),
        cmocka_unit_test(a_close_answers_all),
        cmocka_unit_test(another_one_tells_it),
        cmocka_unit_test(what_is_anothers_tells_nothing),
        cmocka_unit_test(who_may_not_be_read_is_told_by_another),
        cmocka_unit_test(what_nobody_may_read_is_made_alone),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
