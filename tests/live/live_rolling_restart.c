/* The servers of an ensemble are restarted one after the other, as for an update, while
 * a mutex and a semaphore are contended for and a lock is held: nobody holds beside
 * another, nobody is left out, no hold is lost, nothing stays behind. */
#include <stdio.h>

#include "contest.h"

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
static struct contest for_mutex = {.permits = 1, .hold_ms = HOLD_MS, .pause_ms = HOLD_MS};
static struct contest for_leases = {
    .permits = 2, .hold_ms = HOLD_MS, .pause_ms = HOLD_MS};
static struct contestant at_mutex[SIDES], at_semaphore[2 * SIDES];

/* From now on. */
static void wait_until_nobody_is_left_out(void)
{
    uint64_t since = world_now(&world);
    contest_mark(&for_mutex);
    contest_mark(&for_leases);
    while (!contest_has_gone_round(&for_mutex, 1) ||
           !contest_has_gone_round(&for_leases, 1)) {
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
    contest_join(&for_mutex, &at_mutex[i], process, &mutexes[i]);
    contest_join(&for_leases, &at_semaphore[2 * i], process, &semaphores[i]);
    contest_join(&for_leases, &at_semaphore[2 * i + 1], process, &semaphores[i]);
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
    assert_true(contest_stop(&for_mutex, &world));
    assert_true(contest_stop(&for_leases, &world));
    hold_give_back(&holder);
    assert_nothing_stands(); /* while the sessions live */
    for (int i = 0; i < SIDES; i++) {
        assert_int_equal(processes[i].lost, 0);
    }
    printf("%d and %d grants\n", for_mutex.grants, for_leases.grants);
    contest_assert_fair(&for_mutex);
    contest_assert_fair(&for_leases);
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

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_nobody_notices),
    };
    return cmocka_run_group_tests(tests, servers_start_three, servers_stop);
}
