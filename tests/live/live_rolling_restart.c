/* SPDX-License-Identifier: Apache-2.0 */
/* The servers of an ensemble are restarted one after the other, as for an update, while
 * a mutex and a semaphore are contended for and a lock is held: nobody holds beside
 * another, nobody is left out, no hold is lost, nothing stays behind. */
#include <stdatomic.h>
#include <stdio.h>
#include <time.h>

#include "contention.h"
#include "session/close_keep_session.h"

#define HELD "/rolling/held"
#define MUTEX "/rolling/mutex"
#define SEMAPHORE "/rolling/semaphore"
#define SESSION_MS 40000 /* outlives each restart */
#define SIDES ENSEMBLE_SIZE
#define HOLD_MS 10

static struct world world;
static struct process processes[SIDES]; /* each with a mutex on the path that is held */
static uvzk_mutex_t mutexes[SIDES];
static uvzk_semaphore_t semaphores[SIDES];
static struct hold holder;
static struct contention for_mutex = {
    .permits = 1, .hold_ms = HOLD_MS, .pause_ms = HOLD_MS};
static struct contention for_leases = {
    .permits = 2, .hold_ms = HOLD_MS, .pause_ms = HOLD_MS};
static struct contention_user at_mutex[SIDES], at_semaphore[2 * SIDES];

/* From now on. */
static void wait_until_nobody_is_left_out(void)
{
    uint64_t since = world_now(&world);
    contention_mark(&for_mutex);
    contention_mark(&for_leases);
    while (!contention_all_granted(&for_mutex, 1) ||
           !contention_all_granted(&for_leases, 1)) {
        assert_true(world_turn(&world, since));
    }
}

static void join(int i)
{
    struct process *process = &processes[i];
    process_begin(process, &world, "side", NULL);
    assert_int_equal(uvzk_mutex_init(&process->client, &mutexes[i], MUTEX), 0);
    assert_int_equal(
        uvzk_semaphore_init(&process->client, &semaphores[i], SEMAPHORE, 2, NULL), 0);
    contention_join(&for_mutex, &at_mutex[i], process, &mutexes[i]);
    contention_join(&for_leases, &at_semaphore[2 * i], process, &semaphores[i]);
    contention_join(&for_leases, &at_semaphore[2 * i + 1], process, &semaphores[i]);
}

static void begin(void)
{
    world_begin(&world, HELD);
    world.options.session_timeout_ms = SESSION_MS;
    for (int i = 0; i < SIDES; i++) {
        join(i);
    }
    hold_take(&holder, &processes[0]);
    wait_until_nobody_is_left_out();
}

static void assert_nothing_stands(void)
{
    const char *const paths[] = {HELD, MUTEX, SEMAPHORE "/locks", SEMAPHORE "/leases"};
    world_look_from(&world, ensemble_hosts_of(ensemble, ensemble_leader(ensemble)));
    for (size_t i = 0; i < sizeof(paths) / sizeof(paths[0]); i++) {
        assert_true(world_await_children(&world, paths[i], 0)); /* it may lag */
    }
}

static void end(void)
{
    assert_true(contention_stop(&for_mutex, &world));
    assert_true(contention_stop(&for_leases, &world));
    hold_give_back(&holder);
    assert_nothing_stands(); /* while the sessions live */
    for (int i = 0; i < SIDES; i++) {
        assert_int_equal(processes[i].lost, 0);
    }
    printf("%d and %d grants\n", for_mutex.grants, for_leases.grants);
    contention_assert_clean(&for_mutex);
    contention_assert_clean(&for_leases);
    world_end(&world);
}

static void test_nobody_notices(void **state)
{
    (void)state;
    begin();
    int first = ensemble_follower(ensemble);
    for (int i = 0; i < ENSEMBLE_SIZE; i++) {
        int member = (first + i) % ENSEMBLE_SIZE;
        ensemble_kill(ensemble, member);
        assert_true(ensemble_revive(ensemble, member));
        assert_true(world_await_that(&world, ensemble_all_serve, ensemble));
        wait_until_nobody_is_left_out();
        assert_true(hold_holds(&holder));
        assert_true(uvzk_hold_is_valid(&holder.request));
    }
    end();
}

/* ------------------------------------------------------- one server of three is known */

static struct proxy proxies[ENSEMBLE_SIZE];
static struct hold waiter;
static atomic_int leaving, left;

/* That server is back, and the client with it, when it is left for the others. */
static void come_back(zhandle_t *zh)
{
    const struct timespec moment = {.tv_nsec = 1000000};
    atomic_fetch_add(&leaving, 1);
    while (zoo_state(zh) != ZOO_CONNECTED_STATE) {
        (void)nanosleep(&moment, NULL);
    }
    atomic_fetch_add(&left, 1);
}

static bool has_begun_to_leave(void *context)
{
    (void)context;
    return atomic_load(&leaving) > 0;
}

static void let_others_answer(int member, bool answer)
{
    for (int i = 0; i < ENSEMBLE_SIZE; i++) {
        if (i != member && answer) {
            proxy_pass(&proxies[i]);
        } else if (i != member) {
            proxy_refuse(&proxies[i]);
        }
    }
}

/* Only this member answers a client that comes, and is all that its handle knows. */
static void begin_at(int member)
{
    static char hosts[128];
    world_begin(&world, HELD);
    for (int i = 0; i < ENSEMBLE_SIZE; i++) {
        const char *server = ensemble_hosts_of(ensemble, i);
        assert_int_equal(proxy_open_to(world.loop, &proxies[i], server), 0);
    }
    (void)snprintf(hosts, sizeof(hosts), "%s,%s,%s", proxies[0].hosts, proxies[1].hosts,
                   proxies[2].hosts);
    let_others_answer(member, false);
    world.options.session_timeout_ms = SESSION_MS;
    world.options.hosts = hosts;
    process_begin(&processes[0], &world, "holder", NULL);
    hold_take(&holder, &processes[0]);
    let_others_answer(member, true);
    world.options.hosts = ensemble_hosts_of(ensemble, (member + 1) % ENSEMBLE_SIZE);
    process_begin(&processes[1], &world, "waiter", NULL);
    hold_queue(&waiter, &processes[1], NULL);
}

/* Its restart is what leaves it for those that it has not known. */
static void test_who_knows_one_server_alone(void **state)
{
    (void)state;
    if (world_is_native()) {
        skip(); /* no thread beside the loop connects */
    }
    int member = ensemble_follower(ensemble);
    begin_at(member);
    int64_t session = uvzk_client_session_id(&processes[0].client);
    atomic_store(&leaving, 0);
    atomic_store(&left, 0);
    uvzk__close_keep_session_hook(come_back);
    ensemble_kill(ensemble, member);
    assert_true(world_await_that(&world, has_begun_to_leave, NULL));
    assert_true(ensemble_revive(ensemble, member));
    assert_true(world_await(&world, &processes[0].reconnected, PATIENCE_MS));
    uvzk__close_keep_session_hook(NULL);
    assert_int_equal(atomic_load(&left), 1);
    hold_verify(&holder, PATIENCE_MS, 0);
    assert_true(uvzk_hold_is_valid(&holder.request));
    assert_int_equal(holder.lost + waiter.answered, 0);
    assert_int_equal(uvzk_client_session_id(&processes[0].client), session);
    hold_give_back(&holder);
    hold_acquire_release(&waiter, PATIENCE_MS);
    process_end(&processes[0]);
    process_end(&processes[1]);
    for (int i = 0; i < ENSEMBLE_SIZE; i++) {
        proxy_close(&proxies[i]);
    }
    assert_true(world_await_that(&world, ensemble_all_serve, ensemble));
    world_end(&world);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_nobody_notices),
        cmocka_unit_test(test_who_knows_one_server_alone),
    };
    return cmocka_run_group_tests(tests, servers_start_three, servers_stop);
}
