/* SPDX-License-Identifier: Apache-2.0 */
/* Readers of one lock that come in a row are made in one multi, which gives them one
 * czxid, and so one token: they hold together. A writer has a transaction, and a
 * token, of its own. Whatever comes of such a multi, who asked before a writer has its
 * number before that one's, each has the outcome that it would have had alone, and no
 * znode is left behind. */
#include "world.h"

#include <stdio.h>
#include <string.h>

#define SEEDS 16U
#define MOST 160U
#define STEPS 28U
#define PATH "/rw"

static struct world world;
static struct process a;
static struct hold holds[MOST];
static const char *row; /* who asks, in this order: r, w */

static size_t count_of(char who)
{
    size_t sum = 0;

    for (size_t i = 0; row[i] != '\0'; i++) {
        sum += row[i] == who;
    }
    return sum;
}

static void begin(uint64_t seed, const char *who, bool worn)
{
    void *tuned = &world_tuned;

    row = who;
    memset(holds, 0, sizeof(holds));
    world_begin_one(&world, seed, &tuned, &a);
    process_make_rwlock(&a, PATH);
    if (worn) {
        assert_non_null(sim_create_by_hand(world.sim, PATH, UVZK__PERSISTENT));
        assert_int_equal(sim_set_counter(world.sim, PATH, 7), 0);
    }
    assert_true(process_await_connected(&a, 1000));
    world_run_for(&world, 200); /* and its barrier is answered */
}

/* All in one turn. */
static void ask(void)
{
    for (size_t i = 0; row[i] != '\0'; i++) {
        hold_begin_on(&holds[i], &a, row[i] == 'r' ? &a.rwlock.read : &a.rwlock.write, 0,
                      UVZK_WAIT_FOREVER);
    }
}

/* And each lets go as soon as it is told. */
static void ask_for_turns(void)
{
    ask();
    for (size_t i = 0; row[i] != '\0'; i++) {
        holds[i].release_at_once = true;
    }
}

static void await_all(void)
{
    for (size_t i = 0; row[i] != '\0'; i++) {
        hold_await(&holds[i], 2000);
    }
}

/* Each is granted, or has been given up. */
static void await_answers(void)
{
    for (size_t i = 0; row[i] != '\0'; i++) {
        hold_await_answer(&holds[i], 9000);
    }
}

static void end(void)
{
    world_release_all(&world);
    assert_int_equal(world_children(&world, PATH), 0);
    world_end(&world);
}

static uint64_t requests(void)
{
    uvzk_client_metrics_t stats = process_metrics(&a);

    return stats.requests - stats.proofs;
}

/* Creates that have left alone. */
static size_t creates(size_t from)
{
    return world_count(&world, from, "a", "server: create " PATH "/_c_");
}

static int number_of(const struct hold *hold)
{
    int number;
    const char *digits = hold->path + strlen(hold->path) - 10;

    assert_int_equal(sscanf(digits, "%d", &number), 1);
    return number;
}

/* Everybody in turn; alone: its place and token are its own. */
static void check_order(void)
{
    int last_number[2] = {-1, -1}; /* of a reader, of a writer */
    int64_t last_token[2] = {0, 0};

    for (size_t i = 0; row[i] != '\0'; i++) {
        bool alone = row[i] == 'w';
        struct uvzk__stat stat;
        hold_await(&holds[i], 9000);
        int number = number_of(&holds[i]);
        assert_true(sim_stat(world.sim, holds[i].path, &stat));
        assert_int_equal(holds[i].token, stat.czxid);
        assert_true(number > last_number[1] && holds[i].token > last_token[1]);
        if (alone) {
            assert_true(number > last_number[0] && holds[i].token > last_token[0]);
        }
        last_number[alone] = number > last_number[alone] ? number : last_number[alone];
        last_token[alone] =
            holds[i].token > last_token[alone] ? holds[i].token : last_token[alone];
        if (alone || row[i + 1] == 'w') { /* all before the next writer */
            for (size_t j = 0; j <= i; j++) {
                if (hold_holds(&holds[j])) {
                    hold_give_back(&holds[j]);
                }
            }
        }
    }
}

/* ---------------------------------------------------------------------- what it costs */

/* The multi, one exists, and a listing where somebody was before; one delete. */
static void a_row_is_a_few_requests(void **state)
{
    (void)state;
    for (uint64_t seed = 1; seed <= SEEDS; seed++) {
        begin(seed, "rrrrrrrr", true);
        uint64_t before = requests();
        size_t from = world.line_count;
        ask();
        for (size_t i = 0; i < 8; i++) {
            hold_await(&holds[i], 2000);
            assert_int_equal(holds[i].token, holds[0].token);
        }
        assert_int_equal(requests() - before, 3);
        assert_int_equal(creates(from), 0);
        for (size_t i = 0; i < 8; i++) {
            hold_release(&holds[i]);
        }
        for (size_t i = 0; i < 8; i++) {
            hold_await_released(&holds[i], 1000, 0);
        }
        assert_int_equal(requests() - before, 4);
        end();
    }
}

/* They would be as many requests, and a round trip later. */
static void two_are_made_by_themselves(void **state)
{
    (void)state;
    for (uint64_t seed = 1; seed <= SEEDS; seed++) {
        begin(seed, "rr", true);
        size_t from = world.line_count;
        ask();
        hold_await(&holds[0], 2000);
        hold_await(&holds[1], 2000);
        assert_int_equal(creates(from), 2);
        assert_true(holds[0].token != holds[1].token);
        end();
    }
}

/* Who comes while a row is under way gathers behind it: the next row is one again. */
static void newcomers_gather(void **state)
{
    (void)state;
    for (uint64_t seed = 1; seed <= SEEDS; seed++) {
        begin(seed, "rrrrrrrr", true);
        size_t from = world.line_count, before = 8;
        row = "rrrr";
        ask();
        while (sim_outstanding(a.port) == 0) {
            world_steps(&world, 1);
        }
        for (size_t i = 4; i < before; i++) {
            hold_begin_on(&holds[i], &a, &a.rwlock.read, 0, UVZK_WAIT_FOREVER);
        }
        for (size_t i = 0; i < before; i++) {
            hold_await(&holds[i], 2000);
        }
        assert_int_equal(creates(from), 0);
        assert_int_equal(world_count(&world, from, "a", "server: multi  -> ok"), 2);
        end();
    }
}

/* The writer's delete waits for theirs, which let go as soon as they are told. */
static void a_row_behind_a_writer_is_deleted_with_it(void **state)
{
    (void)state;
    for (uint64_t seed = 1; seed <= SEEDS; seed++) {
        begin(seed, "wrrrrrrrr", true);
        ask();
        hold_await(&holds[0], 2000);
        world_run_for(&world, 500);
        for (size_t i = 1; i <= 8; i++) {
            holds[i].release_at_once = true;
        }
        uint64_t before = requests();
        hold_release(&holds[0]);
        for (size_t i = 0; i <= 8; i++) {
            hold_await_released(&holds[i], 1000, 0);
        }
        assert_int_equal(requests() - before, 1);
        end();
    }
}

/* They hold on: the delete leaves all the same, with a check of each, and in the turn that
 * has told them. */
static void a_writer_goes_before_readers_that_stay(void **state)
{
    (void)state;
    for (uint64_t seed = 1; seed <= SEEDS; seed++) {
        begin(seed, "wrrrrrrrr", true);
        ask();
        hold_await(&holds[0], 2000);
        world_run_for(&world, 500);
        uint64_t before = requests();
        hold_release(&holds[0]);
        while (!hold_holds(&holds[8])) {
            world_steps(&world, 1);
        }
        assert_int_equal(requests() - before, 1);
        hold_await_released(&holds[0], 200, 0);
        for (size_t i = 1; i <= 8; i++) {
            assert_true(hold_holds(&holds[i]));
        }
        end();
    }
}

/* ------------------------------------------------------------------------- the order */

static const char *const rows[] = {"rrrrwrrrrwrr", "wrrrrrwwrrrr", "rrrwwrwrrrrw",
                                   "rrrrrrrrrrrr", "wrwrwrrrrwrw"};
#define ROWS (sizeof(rows) / sizeof(rows[0]))

/* A writer has its number behind the readers that were asked for before it. */
static void the_order_is_kept(void **state)
{
    (void)state;
    for (uint64_t seed = 1; seed <= SEEDS; seed++) {
        for (size_t i = 0; i < ROWS; i++) {
            begin(seed, rows[i], seed % 2 == 0);
            ask();
            check_order();
            end();
        }
    }
}

/* Also when a multi is refused. */
static void the_order_is_kept_by_the_refused(void **state)
{
    static const int codes[] = {UVZK_EREJECTED, UVZK_ETHROTTLED, UVZK_ENONODE};

    (void)state;
    for (uint64_t seed = 1; seed <= SEEDS; seed++) {
        for (size_t i = 0; i < sizeof(codes) / sizeof(codes[0]); i++) {
            begin(seed, "rrrrwrrrrw", true);
            sim_refuse(world.sim, UVZK__RPC_MULTI, codes[i], 1);
            ask();
            check_order();
            end();
        }
    }
}

/* All find that their directory is missing, and go along again when it stands. */
static void a_missing_directory_is_missing_for_all(void **state)
{
    (void)state;
    for (uint64_t seed = 1; seed <= SEEDS; seed++) {
        begin(seed, "rrrrrrrr", false);
        size_t from = world.line_count;
        ask();
        await_all();
        assert_int_equal(creates(from), 0);
        end();
    }
}

/* More than fit into one request. */
static void a_long_row_is_a_few_multis(void **state)
{
    static char many[MOST + 1];

    (void)state;
    memset(many, 'r', MOST);
    for (uint64_t seed = 1; seed <= SEEDS; seed++) {
        begin(seed, many, true);
        uint64_t before = requests();
        size_t from = world.line_count;
        ask();
        await_all();
        assert_int_equal(creates(from), 0);
        assert_in_range(requests() - before, 3 + 3 + 1, 3 + 3 + 2);
        end();
    }
}

/* A lone writer that waits to be made with others' locks is not made with readers. */
static void a_writer_shares_with_no_reader(void **state)
{
    (void)state;
    for (uint64_t seed = 1; seed <= SEEDS; seed++) {
        begin(seed, "wrrr", true);
        size_t from = world.line_count;
        ask();
        check_order();
        assert_int_equal(creates(from), 1);
        assert_int_equal(count_of('w'), 1);
        end();
    }
}

/* ------------------------------------------------------------------- lost, given up */

static void (*const troubles[])(struct process *) = {
    process_lose_request, process_lose_reply, process_reset, process_silence,
    process_lose_servers};
#define TROUBLES (sizeof(troubles) / sizeof(troubles[0]))

/* At any moment: each has one znode in the end, and holds it in its turn. */
static void what_is_lost_is_found(void **state)
{
    (void)state;
    for (uint64_t steps = 0; steps < STEPS; steps++) {
        for (size_t trouble = 0; trouble < TROUBLES; trouble++) {
            begin(steps % SEEDS, rows[steps % ROWS], steps % 2 == 0);
            world.outage_ms = 500;
            ask_for_turns();
            world_steps(&world, steps);
            troubles[trouble](&a);
            for (size_t i = 0; row[i] != '\0'; i++) {
                if (!hold_over(&holds[i])) {
                    hold_await(&holds[i], 9000);
                }
            }
            end();
        }
    }
}

/* Some are given up at any moment: nobody is forgotten. */
static void who_is_cancelled_leaves_nothing(void **state)
{
    (void)state;
    for (uint64_t steps = 0; steps < STEPS; steps++) {
        for (size_t keep = 1; keep <= 4; keep++) {
            begin(steps % SEEDS, rows[steps % ROWS], steps % 2 == 0);
            ask_for_turns();
            world_steps(&world, steps);
            for (size_t i = 0; row[i] != '\0'; i++) {
                if (i % keep == 0 && row[i] == 'r') {
                    hold_release_or_cancel(&holds[i]);
                }
            }
            await_answers();
            end();
        }
    }
}

/* The row has not left yet, and does not leave any more. */
static void who_waits_behind_a_row_that_goes_is_made(void **state)
{
    (void)state;
    for (uint64_t seed = 1; seed <= SEEDS; seed++) {
        for (size_t left = 0; left < 3; left++) {
            begin(seed, "rrrrwr", true);
            ask();
            for (size_t i = left; i < 4; i++) {
                hold_release_or_cancel(&holds[i]);
            }
            for (size_t i = 0; i < left; i++) {
                hold_acquire_release(&holds[i], 2000);
            }
            hold_acquire_release(&holds[4], 2000);
            hold_acquire_release(&holds[5], 2000);
            end();
        }
    }
}

static void a_session_ends_at_any_moment(void **state)
{
    (void)state;
    for (uint64_t steps = 0; steps < STEPS; steps++) {
        begin(steps % SEEDS, rows[steps % ROWS], steps % 2 == 0);
        ask_for_turns();
        world_steps(&world, steps);
        process_expire(&a);
        world_run_for(&world, 3000);
        end();
    }
}

static void a_close_answers_all(void **state)
{
    (void)state;
    for (uint64_t steps = 0; steps < STEPS; steps++) {
        begin(steps % SEEDS, rows[steps % ROWS], steps % 2 == 0);
        ask();
        world_steps(&world, steps);
        process_close(&a);
        assert_true(world_await(&world, &a.closed, 9000));
        for (size_t i = 0; row[i] != '\0'; i++) {
            assert_true(hold_over(&holds[i]));
        }
        assert_int_equal(world_children(&world, PATH), 0);
        world_end(&world);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_row_is_a_few_requests),
        cmocka_unit_test(two_are_made_by_themselves),
        cmocka_unit_test(newcomers_gather),
        cmocka_unit_test(a_row_behind_a_writer_is_deleted_with_it),
        cmocka_unit_test(a_writer_goes_before_readers_that_stay),
        cmocka_unit_test(the_order_is_kept),
        cmocka_unit_test(the_order_is_kept_by_the_refused),
        cmocka_unit_test(a_missing_directory_is_missing_for_all),
        cmocka_unit_test(a_long_row_is_a_few_multis),
        cmocka_unit_test(a_writer_shares_with_no_reader),
        cmocka_unit_test(what_is_lost_is_found),
        cmocka_unit_test(who_is_cancelled_leaves_nothing),
        cmocka_unit_test(who_waits_behind_a_row_that_goes_is_made),
        cmocka_unit_test(a_session_ends_at_any_moment),
        cmocka_unit_test(a_close_answers_all),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
