/* Curator's TestInterProcessMutexBase: what every lock with a single holder does, run
 * for the mutex, the semaphore mutex and the multi lock over two paths. */
#include "curator_client.h"
#include "curator_crowd.h"
#include "live.h"

#include <stdio.h>
#include <string.h>

#define BASE "/locks"
#define LONG_SESSION_MS 30000 /* outlives a server that is started again */
#define SHORT_SESSION_MS 2000
#define OWNERS 10

/* Containers go as soon as they are empty. */
static int start_server(void **state)
{
    const struct server_options options = {.container_check_ms = 10};
    (void)state;
    live_server = server_start(&options);
    return live_server == NULL ? -1 : 0;
}

/* ----------------------------------------------------------------- the locks */

/* A lock of whatever kind, below BASE. */
struct subject {
    uvzk_lock_t lock;
    uvzk_mutex_t members[2]; /* of a multi lock */
};

struct kind {
    void (*init)(uvzk_client_t *client, struct subject *subject);
    const char *queue;   /* where those stand that wait */
    const char *holders; /* where the one stands that holds */
    long held;           /* znodes in the queue when one holds and nobody waits */
};

static void init_mutex(uvzk_client_t *client, struct subject *subject)
{
    assert_int_equal(uvzk_mutex_init(client, &subject->lock, BASE "/mutex"), 0);
}

static void init_semaphore_mutex(uvzk_client_t *client, struct subject *subject)
{
    assert_int_equal(uvzk_semaphore_mutex_init(client, &subject->lock, BASE "/semaphore"),
                     0);
}

static void init_members(uvzk_client_t *client, struct subject *subject, unsigned flags)
{
    uvzk_lock_t *const members[] = {&subject->members[0], &subject->members[1]};
    assert_int_equal(uvzk_mutex_init(client, members[0], BASE "/one"), 0);
    assert_int_equal(uvzk_mutex_init(client, members[1], BASE "/two"), 0);
    assert_int_equal(uvzk_multilock_init(client, &subject->lock, members, 2, flags, NULL),
                     0);
}

static void init_multi_lock(uvzk_client_t *client, struct subject *subject)
{
    init_members(client, subject, 0);
}

static void init_multi_lock_in_turn(uvzk_client_t *client, struct subject *subject)
{
    init_members(client, subject, UVZK_MULTILOCK_IN_TURN);
}

static struct kind mutex = {init_mutex, BASE "/mutex", BASE "/mutex", 1};
static struct kind semaphore_mutex = {init_semaphore_mutex, BASE "/semaphore/locks",
                                      BASE "/semaphore/leases", 0};
static struct kind multi_lock = {init_multi_lock, BASE "/two", BASE "/two", 1};
static struct kind multi_lock_in_turn = {init_multi_lock_in_turn, BASE "/one",
                                         BASE "/two", 1};

static struct live live;
static struct subject subjects[2];
static struct attempt first, second, third;

static void make(const struct kind *kind, uvzk_client_t *client, struct subject *subject)
{
    memset(subject, 0, sizeof(*subject));
    kind->init(client, subject);
}

/* Two locks of the same client. */
static void make_both(const struct kind *kind)
{
    make(kind, &live.client, &subjects[0]);
    make(kind, &live.client, &subjects[1]);
}

static void end(const struct kind *kind)
{
    assert_true(live_wait_children(&live, kind->queue, 0));
    assert_true(live_wait_children(&live, kind->holders, 0));
    live_end(&live);
}

/* Until so many wait, beside one that holds. */
static void wait_for_waiters(const struct kind *kind, long waiters)
{
    assert_true(live_wait_children(&live, kind->queue, kind->held + waiters));
}

/* The first one holds, the second one waits. */
static void hold_and_wait(const struct kind *kind)
{
    assert_int_equal(attempt_start(&first, &subjects[0].lock, NULL), 0);
    assert_true(attempt_wait_granted(live.loop, &first));
    wait_for_waiters(kind, 0);
    assert_int_equal(attempt_start(&second, &subjects[1].lock, NULL), 0);
    wait_for_waiters(kind, 1);
    assert_int_equal(second.acquired, 0);
}

/* The znode of the one that waits. */
static void find_waiter(const struct kind *kind, char *name, size_t size)
{
    struct raw_names names;
    assert_int_equal(raw_children(live.raw, kind->queue, &names), ZOK);
    assert_int_equal(names.count, kind->held + 1);
    snprintf(name, size, "%s", names.names[names.count - 1]);
    raw_names_free(&names);
}

/* -------------------------------------------------------------------- the locker */

static int locked, unlocked;

static void on_locked(uvzk_locker_t *locker)
{
    locked++;
    assert_int_equal(unlocked, 0);
    assert_true(uvzk_hold_is_valid(&locker->hold));
    assert_true(uvzk_lock_is_held(&subjects[0].lock));
    assert_int_equal(uvzk_locker_done(locker), 0);
}

static void on_unlocked(uvzk_locker_t *locker, int status)
{
    (void)locker;
    unlocked++;
    assert_int_equal(locked, 1);
    assert_int_equal(status, 0);
    assert_false(uvzk_lock_is_held(&subjects[0].lock));
}

static void test_locker(void **state)
{
    static uvzk_locker_t locker;
    const struct kind *kind = *state;
    live_open(&live);
    make(kind, &live.client, &subjects[0]);
    memset(&locker, 0, sizeof(locker));
    locked = unlocked = 0;
    assert_int_equal(
        uvzk_lock_run(&subjects[0].lock, &locker, NULL, on_locked, on_unlocked), 0);
    assert_int_equal(locked, 0);
    assert_true(run_until_count(live.loop, &unlocked, 1));
    assert_int_equal(raw_children_count(live.raw, kind->holders), 0);
    assert_int_equal(uvzk_locker_done(&locker), UVZK_ENOTHELD);
    end(kind);
}

/* -------------------------------------------------------------- servers, sessions */

/* The raw session may not have outlived the server. */
static void look_again(void)
{
    raw_close(live.raw);
    live.raw = raw_open(server_hosts(live_server));
    assert_non_null(live.raw);
}

static void test_waiting_process_killed_server(void **state)
{
    const struct kind *kind = *state;
    char before[128], after[128];
    live_begin(&live);
    live.options.session_timeout_ms = LONG_SESSION_MS;
    live_start(&live);
    make_both(kind);
    hold_and_wait(kind);
    find_waiter(kind, before, sizeof(before));
    server_kill(live_server);
    assert_true(live_wait_state(&live, 0, UVZK_STATE_SUSPENDED));
    assert_true(server_restart(live_server));
    assert_true(live_wait_state(&live, 0, UVZK_STATE_RECONNECTED));
    look_again();
    assert_true(attempt_holds(&first));
    assert_int_equal(second.acquired, 0);
    find_waiter(kind, after, sizeof(after));
    assert_string_equal(after, before); /* it kept its place */
    assert_true(attempt_release_and_wait(live.loop, &first));
    assert_true(attempt_wait_granted(live.loop, &second));
    assert_true(second.token > first.token);
    assert_true(attempt_release_and_wait(live.loop, &second));
    end(kind);
}

/* An acquire ends with its session; the next one is granted in the new one. */
static void test_killed_session(void **state)
{
    const struct kind *kind = *state;
    live_begin(&live);
    live_use_proxy(&live);
    live_start(&live);
    make_both(kind);
    hold_and_wait(kind);
    assert_int_equal(raw_expire_session(server_hosts(live_server), live.proxy.session_id,
                                        live.proxy.session_password),
                     0);
    assert_true(attempt_wait_told(live.loop, &second));
    assert_int_equal(second.status, UVZK_EEXPIRED);
    assert_int_equal(attempt_start(&second, &subjects[1].lock, NULL), 0);
    assert_true(attempt_wait_told(live.loop, &second));
    assert_int_equal(second.status, 0);
    assert_int_equal(first.lost, 1);
    assert_int_equal(first.lost_reason, UVZK_EEXPIRED);
    assert_false(uvzk_lock_is_held(&subjects[0].lock));
    assert_true(second.token > first.token);
    assert_true(attempt_release_and_wait(live.loop, &second));
    assert_true(attempt_is_over(&first));
    end(kind);
}

/* The same with a second client, and a session that the servers end because they hear
 * nothing of it: its holder knows before the other one has the lock. */
static void test_killed_session_of_another_client(void **state)
{
    static struct curator_client other;
    const struct kind *kind = *state;
    live_begin(&live);
    live_use_proxy(&live);
    live.options.session_timeout_ms = SHORT_SESSION_MS;
    live_start(&live);
    curator_client_open(&other, live.loop, server_hosts(live_server), LONG_SESSION_MS,
                        live.options.tick_ms);
    make(kind, &live.client, &subjects[0]);
    make(kind, &other.client, &subjects[1]);
    hold_and_wait(kind);
    proxy_hold_requests(&live.proxy);
    assert_true(attempt_wait_lost(live.loop, &first));
    assert_int_equal(second.acquired, 0);
    assert_true(attempt_wait_granted(live.loop, &second));
    assert_true(second.token > first.token);
    proxy_pass(&live.proxy);
    assert_true(attempt_release_and_wait(live.loop, &second));
    curator_client_assert_idle(&other);
    curator_client_close(&other);
    end(kind);
}

static bool base_is_gone(void *context)
{
    (void)context;
    return raw_exists(live.raw, BASE, NULL) == ZNONODE;
}

static void test_container_cleanup(void **state)
{
    const struct kind *kind = *state;
    live_open(&live);
    make(kind, &live.client, &subjects[0]);
    for (int i = 0; i < 10; i++) {
        assert_int_equal(attempt_start(&first, &subjects[0].lock, NULL), 0);
        assert_true(attempt_wait_granted(live.loop, &first));
        assert_int_equal(raw_exists(live.raw, BASE, NULL), ZOK);
        assert_true(attempt_release_and_wait(live.loop, &first));
        if (i % 2 == 1) { /* with and without a directory to begin with */
            assert_true(run_until(live.loop, base_is_gone, NULL, PATIENCE_MS));
        }
    }
    end(kind);
}

static void test_with_namespace(void **state)
{
    const struct kind *kind = *state;
    live_begin(&live);
    live.options.ns = "foo/bar";
    live_start(&live);
    make(kind, &live.client, &subjects[0]);
    assert_int_equal(attempt_start(&first, &subjects[0].lock, NULL), 0);
    assert_true(attempt_wait_granted(live.loop, &first));
    assert_int_equal(raw_exists(live.raw, "/foo/bar" BASE, NULL), ZOK);
    assert_int_equal(raw_exists(live.raw, BASE, NULL), ZNONODE);
    assert_true(attempt_release_and_wait(live.loop, &first));
    end(kind);
}

/* -------------------------------------------------------------------- re-entry */

static int peak;

static void check_single_holder(struct crowd *crowd)
{
    int holders = crowd_holders(crowd);
    peak = holders > peak ? holders : peak;
    assert_true(holders <= 1);
}

static void test_reentrant_single_lock(void **state)
{
    static struct crowd crowd;
    const struct kind *kind = *state;
    live_open(&live);
    make(kind, &live.client, &subjects[0]);
    crowd_open(&crowd, OWNERS);
    peak = 0;
    crowd.check = check_single_holder;
    for (int i = 0; i < OWNERS; i++) {
        crowd.workers[i].lock = &subjects[0].lock;
        crowd.workers[i].options.owner = &crowd.workers[i];
        crowd.workers[i].rounds = 1;
    }
    (void)crowd_turn(&crowd);
    wait_for_waiters(kind, OWNERS - 1);
    assert_true(attempt_wait_granted(live.loop, &crowd.workers[0].attempt));
    assert_int_equal(crowd_holders(&crowd), 1);
    crowd_finish(&crowd, live.loop);
    assert_int_equal(crowd.grants, OWNERS);
    assert_int_equal(peak, 1);
    crowd_close(&crowd);
    end(kind);
}

/* Not before the last one of the nested holds has been given back. */
static void test_reentrant_2_threads(void **state)
{
    const struct kind *kind = *state;
    int one, other;
    live_open(&live);
    make(kind, &live.client, &subjects[0]);
    assert_int_equal(attempt_start_for(&first, &subjects[0].lock, &one), 0);
    assert_true(attempt_wait_granted(live.loop, &first));
    assert_int_equal(attempt_start_for(&second, &subjects[0].lock, &one), 0);
    assert_true(attempt_wait_granted(live.loop, &second));
    assert_int_equal(attempt_start_for(&third, &subjects[0].lock, &other), 0);
    wait_for_waiters(kind, 1);
    assert_true(attempt_release_and_wait(live.loop, &second));
    run_for(live.loop, 300);
    assert_int_equal(third.acquired, 0);
    assert_true(uvzk_lock_is_held_by(&subjects[0].lock, &one));
    assert_false(uvzk_lock_is_held_by(&subjects[0].lock, &other));
    assert_true(attempt_release_and_wait(live.loop, &first));
    assert_true(attempt_wait_granted(live.loop, &third));
    assert_false(uvzk_lock_is_held_by(&subjects[0].lock, &one));
    assert_true(uvzk_lock_is_held_by(&subjects[0].lock, &other));
    assert_true(attempt_release_and_wait(live.loop, &third));
    end(kind);
}

static void test_reentrant(void **state)
{
    struct attempt *const nested[] = {&first, &second, &third};
    const struct kind *kind = *state;
    int owner;
    live_open(&live);
    make(kind, &live.client, &subjects[0]);
    for (int i = 0; i < 3; i++) {
        assert_int_equal(attempt_start_for(nested[i], &subjects[0].lock, &owner), 0);
        assert_true(attempt_wait_granted(live.loop, nested[i]));
        assert_int_equal(nested[i]->token, first.token);
        assert_int_equal(raw_children_count(live.raw, kind->holders), 1);
    }
    for (int i = 3; i-- > 0;) {
        assert_true(uvzk_lock_is_held(&subjects[0].lock));
        assert_true(uvzk_lock_is_held_by(&subjects[0].lock, &owner));
        assert_int_equal(raw_children_count(live.raw, kind->holders), 1);
        assert_true(attempt_release_and_wait(live.loop, nested[i]));
    }
    assert_false(uvzk_lock_is_held(&subjects[0].lock));
    end(kind);
}

/* ------------------------------------------------------------------ two clients */

/* And never both of them. */
static bool second_holds(void *context)
{
    (void)context;
    assert_false(uvzk_lock_is_held(&subjects[0].lock) &&
                 uvzk_lock_is_held(&subjects[1].lock));
    return uvzk_lock_is_held(&subjects[1].lock);
}

static void test_2_clients(void **state)
{
    static struct curator_client other;
    const struct kind *kind = *state;
    live_open(&live);
    curator_client_open(&other, live.loop, server_hosts(live_server), LONG_SESSION_MS,
                        live.options.tick_ms);
    make(kind, &live.client, &subjects[0]);
    make(kind, &other.client, &subjects[1]);
    for (int i = 0; i < 5; i++) {
        hold_and_wait(kind);
        assert_true(uvzk_lock_is_held(&subjects[0].lock));
        assert_false(uvzk_lock_is_held(&subjects[1].lock));
        assert_int_equal(attempt_release(&first), 0);
        assert_true(run_until(live.loop, second_holds, NULL, PATIENCE_MS));
        assert_true(attempt_wait_released(live.loop, &first));
        assert_int_equal(first.release_status, 0);
        assert_true(second.token > first.token);
        assert_true(attempt_release_and_wait(live.loop, &second));
    }
    curator_client_assert_idle(&other);
    curator_client_close(&other);
    end(kind);
}

#define CASE(test, kind) ((struct CMUnitTest){#test ", " #kind, test, NULL, NULL, &kind})
#define OF_EVERY_KIND(test)                                                 \
    CASE(test, mutex), CASE(test, semaphore_mutex), CASE(test, multi_lock), \
        CASE(test, multi_lock_in_turn)
/* A semaphore mutex is never re-entered, here as in Curator. */
#define OF_REENTRANT_KINDS(test) \
    CASE(test, mutex), CASE(test, multi_lock), CASE(test, multi_lock_in_turn)

int main(void)
{
    const struct CMUnitTest tests[] = {
        OF_EVERY_KIND(test_locker),
        OF_EVERY_KIND(test_waiting_process_killed_server),
        OF_EVERY_KIND(test_killed_session),
        OF_EVERY_KIND(test_killed_session_of_another_client),
        OF_EVERY_KIND(test_container_cleanup),
        OF_EVERY_KIND(test_with_namespace),
        OF_EVERY_KIND(test_reentrant_single_lock),
        OF_REENTRANT_KINDS(test_reentrant_2_threads),
        OF_REENTRANT_KINDS(test_reentrant),
        OF_EVERY_KIND(test_2_clients),
    };
    return cmocka_run_group_tests(tests, start_server, live_server_stop);
}
