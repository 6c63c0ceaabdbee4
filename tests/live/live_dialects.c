/* SPDX-License-Identifier: Apache-2.0 */
/* Servers that lack requests which came late to the protocol, over both transports: the
 * clients find that out once, before their users hear of a connection, and do without. A
 * proxy in front of a real server refuses what such a server does not know. */
#include "contention.h"

#define LOCK "/dialects/lock"
#define LEASES "/dialects/leases"
#define CLIENTS 3

#define UNKNOWN(type) (1U << PROXY_##type)
#define SINCE_3_5 (UNKNOWN(CREATE2) | UNKNOWN(REMOVE_WATCHES) | UNKNOWN(CREATE_CONTAINER))

/* What a test is run with. */
struct setting {
    uvzk_transport_t transport;
    struct proxy_dialect dialect;
};

static struct world world;
static struct process processes[CLIENTS];
static int clients; /* how many of them there are */
static uvzk_semaphore_t semaphores[CLIENTS];
static struct contention_user at_lock[CLIENTS], at_leases[CLIENTS];
static struct contention for_lock, for_leases;
static struct hold first, second;

static void begin(const struct setting *setting)
{
    clients = 0;
    world_begin(&world, LOCK);
    world_use_proxy(&world);
    world.proxy.dialect = setting->dialect;
    world.options.transport = setting->transport;
    world.options.session_timeout_ms =
        2000; /* sessions that are not continued end soon */
}

static void join(void)
{
    process_begin(&processes[clients++], &world, "a", NULL);
}

/* The clients go first: servers that cannot remove watches have them until then. */
static void end(void)
{
    for (int i = 0; i < clients; i++) {
        process_end(&processes[i]);
    }
    world_end(&world);
}

static void begin_connected(const struct setting *setting)
{
    begin(setting);
    join();
    assert_true(world_await(&world, &processes[0].connected, PATIENCE_MS));
}

/* ------------------------------------------------------------------------- the tests */

/* The znode's czxid is the token although the reply to the create does not tell it. */
static void test_a_mutex(void **state)
{
    struct Stat stat;

    begin_connected(*state);
    hold_take(&first, &processes[0]);
    assert_int_equal(raw_exists(world.raw, first.path, &stat), ZOK);
    assert_int_equal(stat.czxid, uvzk_hold_token(&first.request));
    hold_queue(&second, &processes[0], NULL);
    hold_give_back(&first);
    hold_await(&second, PATIENCE_MS);
    assert_true(second.token > first.token);
    hold_give_back(&second);
    end();
}

/* What the server does not know is asked once. */
static void test_nothing_is_asked_twice(void **state)
{
    begin_connected(*state);
    int hang_ups = world.proxy.hang_ups;
    assert_in_range(hang_ups, 1, 4);
    hold_take(&first, &processes[0]);
    proxy_cut(&world.proxy);
    hold_begin(&second, &processes[0], UVZK_WAIT_FOREVER);
    hold_release_or_cancel(&first);
    hold_finish(&first, PATIENCE_MS);
    hold_await_answer(&second, PATIENCE_MS);
    hold_finish(&second, PATIENCE_MS);
    assert_int_equal(world.proxy.hang_ups, hang_ups);
    end();
}

/* The user hears of one connection, and of no loss before it. */
static void test_the_user_hears_of_one_connection(void **state)
{
    begin_connected(*state);
    assert_int_equal(processes[0].connected, 1);
    assert_int_equal(processes[0].state_count, 1);
    end();
}

static void test_contenders_of_several_clients(void **state)
{
    uint64_t since;

    begin(*state);
    for_lock = (struct contention){.permits = 1};
    for_leases = (struct contention){.permits = 2};
    for (int i = 0; i < CLIENTS; i++) {
        join();
        assert_int_equal(
            uvzk_semaphore_init(&processes[i].client, &semaphores[i], LEASES, 2, NULL),
            0);
        contention_join(&for_lock, &at_lock[i], &processes[i], &processes[i].mutex);
        contention_join(&for_leases, &at_leases[i], &processes[i], &semaphores[i]);
    }
    since = world_now(&world);
    contention_mark(&for_lock);
    contention_mark(&for_leases);
    while (!contention_all_granted(&for_lock, 5) ||
           !contention_all_granted(&for_leases, 5)) {
        assert_true(world_turn(&world, since));
    }
    assert_true(contention_stop(&for_lock, &world));
    assert_true(contention_stop(&for_leases, &world));
    contention_assert_clean(&for_lock);
    contention_assert_clean(&for_leases);
    end();
}

/* A waiter that gives up leaves a watch at the server, which is met by nobody. */
static void test_waits_that_are_given_up(void **state)
{
    begin_connected(*state);
    world_make_path(&world, LOCK);
    struct world_path foreign = world_foreign_node(&world, LOCK, "lock-");
    for (int i = 0; i < 3; i++) {
        hold_queue(&first, &processes[0], NULL);
        hold_cancel(&first);
        hold_await_status(&first, PATIENCE_MS, UV_ECANCELED);
    }
    hold_queue(&first, &processes[0], NULL);
    world_delete(&world, &foreign);
    hold_await(&first, PATIENCE_MS);
    hold_give_back(&first);
    end();
}

/* Without a session to resume, each lost connection costs what is held, and nothing
 * else. */
static void test_a_lost_connection(void **state)
{
    begin_connected(*state);
    hold_take(&first, &processes[0]);
    proxy_cut(&world.proxy);
    hold_await_lost(&first, PATIENCE_MS, UVZK_EEXPIRED);
    hold_begin(&second, &processes[0], UVZK_WAIT_FOREVER);
    hold_await(&second, PATIENCE_MS);
    hold_give_back(&second);
    end();
}

/* ------------------------------------------------------------------------------ main */

#define OLD_ZOOKEEPER                         \
    {                                         \
        .unknown = SINCE_3_5, .answers = true \
    }
#define OLD_KEEPER                                     \
    {                                                  \
        .unknown = SINCE_3_5, .forgets_sessions = true \
    }
#define NEWER_KEEPER                                                   \
    {                                                                  \
        .unknown = UNKNOWN(CREATE_CONTAINER), .forgets_sessions = true \
    }

static struct setting old_zookeeper = {UVZK_TRANSPORT_C_CLIENT, OLD_ZOOKEEPER};
static struct setting old_zookeeper_native = {UVZK_TRANSPORT_NATIVE, OLD_ZOOKEEPER};
static struct setting old_keeper = {UVZK_TRANSPORT_C_CLIENT, OLD_KEEPER};
static struct setting old_keeper_native = {UVZK_TRANSPORT_NATIVE, OLD_KEEPER};
static struct setting newer_keeper = {UVZK_TRANSPORT_C_CLIENT, NEWER_KEEPER};
static struct setting newer_keeper_native = {UVZK_TRANSPORT_NATIVE, NEWER_KEEPER};

#define CASE(test, setting)                              \
    {                                                    \
#test " " #setting, test, NULL, NULL, &(setting) \
    }
#define KEEPER_CASES(test)                                                           \
    CASE(test, old_keeper), CASE(test, old_keeper_native), CASE(test, newer_keeper), \
        CASE(test, newer_keeper_native)
#define CASES(test) \
    CASE(test, old_zookeeper), CASE(test, old_zookeeper_native), KEEPER_CASES(test)

int main(void)
{
    const struct CMUnitTest tests[] = {
        CASES(test_a_mutex),
        CASES(test_nothing_is_asked_twice),
        CASES(test_the_user_hears_of_one_connection),
        CASES(test_contenders_of_several_clients),
        CASES(test_waits_that_are_given_up),
        KEEPER_CASES(test_a_lost_connection),
    };
    return cmocka_run_group_tests(tests, servers_start_one, servers_stop);
}
