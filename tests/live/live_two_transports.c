/* SPDX-License-Identifier: Apache-2.0 */
/* Clients of both transports in one loop, at the same locks: they exclude one another, and
 * a service can go over from one transport to the other client by client. A native client
 * has no threads. */
#include "contention.h"

#define MUTEX "/transports/mutex"
#define SEMAPHORE "/transports/semaphore"
#define CLIENTS 3 /* of each transport */
#define MANY_SESSIONS 32

static struct world world;
static struct process processes[2 * CLIENTS];
static uvzk_semaphore_t semaphores[2 * CLIENTS];
static struct contention_user at_mutex[2 * CLIENTS], at_semaphore[2 * CLIENTS];
static struct contention for_mutex, for_leases;
static struct hold holder;

static void join(int i, uvzk_transport_t transport)
{
    struct process *process = &processes[i];

    world.options.transport = transport;
    process_begin(process, &world, transport == UVZK_TRANSPORT_NATIVE ? "native" : "old",
                  NULL);
    assert_int_equal(
        uvzk_semaphore_init(&process->client, &semaphores[i], SEMAPHORE, 2, NULL), 0);
    contention_join(&for_mutex, &at_mutex[i], process, &process->mutex);
    contention_join(&for_leases, &at_semaphore[i], process, &semaphores[i]);
}

static void leave(int i)
{
    assert_true(contention_leave(&at_mutex[i]));
    assert_true(contention_leave(&at_semaphore[i]));
    process_end(&processes[i]);
}

static void wait_until_all_are_granted(void)
{
    uint64_t since = world_now(&world);

    contention_mark(&for_mutex);
    contention_mark(&for_leases);
    while (!contention_all_granted(&for_mutex, 3) ||
           !contention_all_granted(&for_leases, 3)) {
        assert_true(world_turn(&world, since));
    }
}

static void begin(void)
{
    world_begin(&world, MUTEX);
    for_mutex = (struct contention){.permits = 1};
    for_leases = (struct contention){.permits = 2};
}

static void end(void)
{
    assert_true(contention_stop(&for_mutex, &world));
    assert_true(contention_stop(&for_leases, &world));
    contention_assert_clean(&for_mutex);
    contention_assert_clean(&for_leases);
    world_end(&world);
}

/* One goes after the other, and for each a new one comes. */
static void test_clients_go_over(void **state)
{
    (void)state;
    begin();
    for (int i = 0; i < CLIENTS; i++) {
        join(i, UVZK_TRANSPORT_C_CLIENT);
    }
    for (int i = 0; i < CLIENTS; i++) {
        join(CLIENTS + i, UVZK_TRANSPORT_NATIVE);
        wait_until_all_are_granted();
        leave(i);
    }
    wait_until_all_are_granted();
    end();
}

static void test_a_native_client_has_no_threads(void **state)
{
    (void)state;
    world_begin(&world, MUTEX);
    int before = world_threads();
    world.options.transport = UVZK_TRANSPORT_NATIVE;
    world.options.sessions = MANY_SESSIONS;
    process_begin(&processes[0], &world, "native", NULL);
    hold_take(&holder, &processes[0]);
    assert_int_equal(world_threads(), before);
    hold_give_back(&holder);
    world_end(&world);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_clients_go_over),
        cmocka_unit_test(test_a_native_client_has_no_threads),
    };
    return cmocka_run_group_tests(tests, servers_start_one, servers_stop);
}
