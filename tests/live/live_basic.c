/* The public face against a real server: each promise of the header once. */
#include "live.h"

#include <stdio.h>
#include <string.h>

#define LOCK "/basic/lock"

static struct live live;
static uvzk_mutex_t mutex;
static struct attempt first, second, third;

/* Starts the client, as it was set up since live_begin, with one mutex on the path. */
static void start_with_lock(const char *path)
{
    live_start(&live);
    memset(&mutex, 0, sizeof(mutex));
    assert_int_equal(uvzk_mutex_init(&live.client, &mutex, path), 0);
}

/* A client and one mutex on LOCK. */
static void open_lock(void)
{
    live_begin(&live);
    start_with_lock(LOCK);
}

static void take_first(void)
{
    assert_int_equal(attempt_start(&first, &mutex, NULL), 0);
    assert_true(attempt_wait_granted(live.loop, &first));
}

/* The first one holds, and the second one waits. */
static void queue_two(void)
{
    assert_int_equal(attempt_start(&first, &mutex, NULL), 0);
    assert_int_equal(attempt_start(&second, &mutex, NULL), 0);
    assert_true(attempt_wait_granted(live.loop, &first));
    assert_true(attempt_wait_queued(live.loop, &second));
}

/* The first one holds, and two come after it. */
static void start_three(void)
{
    assert_int_equal(attempt_start(&first, &mutex, NULL), 0);
    assert_int_equal(attempt_start(&second, &mutex, NULL), 0);
    assert_int_equal(attempt_start(&third, &mutex, NULL), 0);
    assert_true(attempt_wait_granted(live.loop, &first));
}

static void hand_over(struct attempt *holder, struct attempt *next)
{
    assert_true(attempt_release_and_wait(live.loop, holder));
    assert_true(attempt_wait_granted(live.loop, next));
}

static void wait_refused(struct attempt *attempt, int status)
{
    assert_true(attempt_wait_told(live.loop, attempt));
    assert_int_equal(attempt->status, status);
}

static bool has_watches(void *context)
{
    (void)context;
    return server_watch_count(live_server) > 0;
}

static bool has_no_watches(void *context)
{
    (void)context;
    return server_watch_count(live_server) == 0;
}

static void end_without_children(const char *path)
{
    assert_true(live_wait_children(&live, path, 0));
    live_end(&live);
}

/* --------------------------------------------------------- acquire, release */

static void test_acquires_and_releases(void **state)
{
    struct Stat stat;
    (void)state;
    open_lock();
    assert_int_equal(attempt_start(&first, &mutex, NULL), 0);
    assert_int_equal(first.acquired, 0); /* never from inside the call */
    assert_int_equal(uvzk_hold_token(&first.request), 0);
    assert_null(uvzk_hold_path(&first.request));
    assert_true(attempt_wait_granted(live.loop, &first));
    assert_true(uvzk_hold_is_valid(&first.request));
    assert_true(uvzk_lock_is_held(&mutex));
    assert_int_equal(raw_exists(live.raw, uvzk_hold_path(&first.request), &stat), ZOK);
    assert_int_equal(stat.czxid, uvzk_hold_token(&first.request));
    assert_int_equal(stat.ephemeralOwner, uvzk_client_session_id(&live.client));
    assert_int_equal(attempt_release(&first), 0);
    assert_int_equal(first.released, 0);
    assert_true(attempt_wait_released(live.loop, &first));
    assert_int_equal(first.release_status, 0);
    assert_int_equal(raw_children_count(live.raw, LOCK), 0); /* known to be gone */
    assert_int_equal(first.queued, 0);
    assert_false(uvzk_lock_is_held(&mutex));
    end_without_children(LOCK);
}

static void test_grants_in_turn_and_tells_the_place(void **state)
{
    (void)state;
    open_lock();
    start_three();
    assert_true(attempt_wait_queued(live.loop, &second));
    assert_true(attempt_wait_queued(live.loop, &third));
    assert_int_equal(second.ahead, 1);
    assert_int_equal(third.ahead, 2);
    assert_int_equal(raw_children_count(live.raw, LOCK), 3);
    hand_over(&first, &second);
    assert_int_equal(third.acquired, 0);
    hand_over(&second, &third);
    assert_true(attempt_release_and_wait(live.loop, &third));
    assert_true(first.token < second.token && second.token < third.token);
    assert_int_equal(second.queued, 1);
    assert_int_equal(third.queued, 1);
    end_without_children(LOCK);
}

static void test_waits_behind_a_stranger(void **state)
{
    char made[256];
    (void)state;
    live_begin(&live);
    start_with_lock("/stranger");
    assert_int_equal(raw_create(live.raw, "/stranger"), ZOK);
    assert_int_equal(raw_contend(live.raw, "/stranger", made, sizeof(made)), ZOK);
    assert_int_equal(attempt_start(&first, &mutex, NULL), 0);
    assert_true(attempt_wait_queued(live.loop, &first));
    assert_int_equal(first.ahead, 1);
    assert_int_equal(first.acquired, 0);
    assert_int_equal(raw_delete(live.raw, made), ZOK);
    assert_true(attempt_wait_granted(live.loop, &first));
    assert_true(attempt_release_and_wait(live.loop, &first));
    end_without_children("/stranger");
}

static void test_reenters_by_owner(void **state)
{
    int alice, bob;
    (void)state;
    open_lock();
    assert_int_equal(attempt_start_for(&first, &mutex, &alice), 0);
    assert_true(attempt_wait_granted(live.loop, &first));
    uvzk_client_stats_t before = live_stats(&live);
    assert_int_equal(attempt_start_for(&second, &mutex, &alice), 0);
    assert_int_equal(second.acquired, 0);
    assert_true(attempt_wait_granted(live.loop, &second));
    uvzk_client_stats_t after = live_stats(&live);
    assert_int_equal(after.requests - after.proofs, before.requests - before.proofs);
    assert_int_equal(second.token, first.token);
    assert_int_equal(raw_children_count(live.raw, LOCK), 1);
    assert_int_equal(attempt_start_for(&third, &mutex, &bob), 0);
    assert_true(attempt_wait_queued(live.loop, &third));
    assert_true(attempt_release_and_wait(live.loop, &first));
    assert_true(uvzk_lock_is_held_by(&mutex, &alice)); /* the re-entry stands */
    assert_false(uvzk_lock_is_held_by(&mutex, &bob));
    assert_int_equal(third.acquired, 0);
    hand_over(&second, &third);
    assert_true(uvzk_lock_is_held_by(&mutex, &bob));
    assert_true(attempt_release_and_wait(live.loop, &third));
    end_without_children(LOCK);
}

/* -------------------------------------------------------- giving up, losing */

static void test_try_once(void **state)
{
    (void)state;
    open_lock();
    assert_true(live_wait_state(&live, 0, UVZK_STATE_CONNECTED));
    assert_int_equal(attempt_start_within(&first, &mutex, UVZK_TRY_ONCE), 0);
    assert_true(attempt_wait_granted(live.loop, &first));
    assert_int_equal(attempt_start_within(&second, &mutex, UVZK_TRY_ONCE), 0);
    wait_refused(&second, UV_ETIMEDOUT);
    assert_true(live_wait_children(&live, LOCK, 1));
    assert_true(attempt_holds(&first));
    assert_true(attempt_release_and_wait(live.loop, &first));
    end_without_children(LOCK);
}

static void test_times_out_in_the_queue(void **state)
{
    (void)state;
    open_lock();
    take_first();
    uint64_t begin = uvzk_now();
    assert_int_equal(attempt_start_within(&second, &mutex, 300), 0);
    wait_refused(&second, UV_ETIMEDOUT);
    assert_int_equal(second.queued, 1);
    assert_true(uvzk_now() - begin >= 300);
    assert_true(live_wait_children(&live, LOCK, 1));
    assert_true(attempt_release_and_wait(live.loop, &first));
    end_without_children(LOCK);
}

static void test_cancels_in_the_queue(void **state)
{
    (void)state;
    open_lock();
    start_three();
    assert_true(attempt_wait_queued(live.loop, &third));
    assert_int_equal(uvzk_hold_cancel(&second.request), 0);
    assert_int_equal(second.acquired, 0);
    wait_refused(&second, UV_ECANCELED);
    assert_int_equal(uvzk_hold_cancel(&first.request), UVZK_ESTATE);
    assert_true(live_wait_children(&live, LOCK, 2));
    assert_int_equal(third.acquired, 0); /* the first one still holds */
    hand_over(&first, &third);
    assert_true(attempt_release_and_wait(live.loop, &third));
    end_without_children(LOCK);
}

/* The predecessor stands, and with it the watch on it, if that is forgotten. */
static void test_cancels_behind_a_stranger(void **state)
{
    char made[256];
    (void)state;
    open_lock();
    take_first();
    assert_int_equal(raw_contend(live.raw, LOCK, made, sizeof(made)), ZOK);
    assert_true(attempt_release_and_wait(live.loop, &first));
    assert_int_equal(attempt_start(&second, &mutex, NULL), 0);
    assert_true(attempt_wait_queued(live.loop, &second));
    assert_true(run_until(live.loop, has_watches, NULL, PATIENCE_MS));
    assert_int_equal(uvzk_hold_cancel(&second.request), 0);
    wait_refused(&second, UV_ECANCELED);
    assert_true(run_until(live.loop, has_no_watches, NULL, PATIENCE_MS));
    assert_true(live_wait_children(&live, LOCK, 1));
    assert_int_equal(raw_delete(live.raw, made), ZOK);
    end_without_children(LOCK);
}

/* Cancelled before its create is answered: the znode is found and withdrawn. */
static void test_cancels_at_once(void **state)
{
    (void)state;
    open_lock();
    assert_true(live_wait_state(&live, 0, UVZK_STATE_CONNECTED));
    assert_int_equal(attempt_start(&first, &mutex, NULL), 0);
    assert_int_equal(uvzk_hold_cancel(&first.request), 0);
    wait_refused(&first, UV_ECANCELED);
    assert_int_equal(attempt_start(&second, &mutex, NULL), 0);
    assert_true(attempt_wait_granted(live.loop, &second));
    assert_true(attempt_release_and_wait(live.loop, &second));
    end_without_children(LOCK);
}

static void test_loses_a_deleted_znode(void **state)
{
    (void)state;
    open_lock();
    take_first();
    assert_int_equal(raw_delete(live.raw, uvzk_hold_path(&first.request)), ZOK);
    assert_true(attempt_wait_lost(live.loop, &first));
    assert_int_equal(first.lost_reason, UVZK_EDELETED);
    assert_false(uvzk_lock_is_held(&mutex));
    assert_int_equal(attempt_release(&first), UVZK_ENOTHELD);
    end_without_children(LOCK);
}

/* Deletes the last contender's znode by hand; its path goes to `path`. */
static void delete_last_znode(char *path, size_t size)
{
    struct raw_names names;
    assert_int_equal(raw_children(live.raw, LOCK, &names), ZOK);
    assert_true(names.count > 0);
    snprintf(path, size, "%s/%s", LOCK, names.names[names.count - 1]);
    raw_names_free(&names);
    assert_int_equal(raw_delete(live.raw, path), ZOK);
}

/* The retry policy lets a waiter whose znode was deleted queue up again. */
static void test_queues_again_after_its_znode_was_deleted(void **state)
{
    char made[256], path[256];
    (void)state;
    open_lock();
    take_first();
    assert_int_equal(raw_contend(live.raw, LOCK, made, sizeof(made)), ZOK);
    assert_int_equal(attempt_start(&second, &mutex, NULL), 0);
    assert_true(attempt_wait_queued(live.loop, &second));
    delete_last_znode(path, sizeof(path));
    assert_true(attempt_release_and_wait(live.loop, &first));
    assert_int_equal(raw_delete(live.raw, made), ZOK);
    assert_true(attempt_wait_granted(live.loop, &second));
    assert_true(attempt_holds(&second));
    assert_string_not_equal(uvzk_hold_path(&second.request), path);
    assert_int_equal(raw_exists(live.raw, uvzk_hold_path(&second.request), NULL), ZOK);
    assert_true(second.token > first.token);
    assert_true(attempt_release_and_wait(live.loop, &second));
    end_without_children(LOCK);
}

struct exclusion {
    char stranger[256]; /* the full path of its znode */
    int violations;
};

/* Whether the second attempt has come to a hold on a real znode, or to a loss.
 * On the way: it never holds while a stranger is first in line. */
static bool second_is_decided(void *context)
{
    struct exclusion *exclusion = context;
    struct raw_names names;
    char front[256] = "";
    assert_int_equal(raw_children(live.raw, LOCK, &names), ZOK);
    if (names.count > 0) {
        snprintf(front, sizeof(front), "%s/%s", LOCK, names.names[0]);
    }
    raw_names_free(&names);
    bool held = uvzk_hold_is_valid(&second.request);
    exclusion->violations += held && strcmp(front, exclusion->stranger) == 0;
    return second.lost > 0 ||
           (held && raw_exists(live.raw, uvzk_hold_path(&second.request), NULL) == ZOK);
}

/* The same next to a holder of the same client, who hands over without asking
 * the server: the hand-over may come to nothing, but nobody else may hold. */
static void test_excludes_others_after_its_znode_was_deleted(void **state)
{
    static struct exclusion exclusion;
    char path[256];
    (void)state;
    memset(&exclusion, 0, sizeof(exclusion));
    open_lock();
    queue_two();
    delete_last_znode(path, sizeof(path));
    assert_int_equal(
        raw_contend(live.raw, LOCK, exclusion.stranger, sizeof(exclusion.stranger)), ZOK);
    assert_int_equal(attempt_release(&first), 0);
    run_until(live.loop, second_is_decided, &exclusion, 3000);
    assert_int_equal(exclusion.violations, 0);
    assert_true(attempt_wait_released(live.loop, &first));
    assert_int_equal(first.release_status, 0);
    assert_int_equal(raw_delete(live.raw, exclusion.stranger), ZOK);
    assert_true(run_until(live.loop, second_is_decided, &exclusion, PATIENCE_MS));
    if (attempt_holds(&second)) {
        assert_true(attempt_release_and_wait(live.loop, &second));
    } else {
        assert_int_equal(second.lost_reason, UVZK_EDELETED);
    }
    end_without_children(LOCK);
}

/* ------------------------------------------------------------------ questions */

struct listing {
    uvzk_participants_t request;
    int told, status;
    size_t count;
    char paths[4][256];
};

static void on_listed(uvzk_participants_t *request, int status, const char *const *paths,
                      size_t count)
{
    struct listing *listing = request->data;
    listing->told++;
    listing->status = status;
    listing->count = count;
    for (size_t i = 0; i < count && i < 4; i++) {
        snprintf(listing->paths[i], sizeof(listing->paths[i]), "%s", paths[i]);
    }
}

static void list(struct listing *listing)
{
    memset(listing, 0, sizeof(*listing));
    listing->request.data = listing;
    assert_int_equal(uvzk_lock_participants(&mutex, &listing->request, on_listed), 0);
    assert_int_equal(listing->told, 0);
    assert_true(run_until_count(live.loop, &listing->told, 1));
}

static void test_lists_participants(void **state)
{
    static struct listing listing;
    char made[256];
    (void)state;
    open_lock();
    assert_true(live_wait_state(&live, 0, UVZK_STATE_CONNECTED));
    list(&listing);
    assert_int_equal(listing.status, 0);
    assert_int_equal(listing.count, 0);
    take_first();
    assert_int_equal(raw_contend(live.raw, LOCK, made, sizeof(made)), ZOK);
    assert_int_equal(raw_create(live.raw, LOCK "/no-contender"), ZOK);
    assert_int_equal(attempt_start(&second, &mutex, NULL), 0);
    assert_true(attempt_wait_queued(live.loop, &second));
    list(&listing);
    assert_int_equal(listing.status, 0);
    assert_int_equal(listing.count, 3);
    assert_string_equal(listing.paths[0], uvzk_hold_path(&first.request));
    assert_string_equal(listing.paths[1], made);
    assert_int_equal(live_stats(&live).foreign, 1);
    assert_int_equal(raw_delete(live.raw, made), ZOK);
    hand_over(&first, &second);
    assert_string_equal(listing.paths[2], uvzk_hold_path(&second.request));
    assert_true(attempt_release_and_wait(live.loop, &second));
    assert_int_equal(raw_delete(live.raw, LOCK "/no-contender"), ZOK);
    end_without_children(LOCK);
}

struct question {
    uvzk_verify_t request;
    int told, status;
};

static void on_verified(uvzk_verify_t *request, int status)
{
    struct question *question = request->data;
    question->told++;
    question->status = status;
}

static void test_verifies_a_hold(void **state)
{
    static struct question question;
    (void)state;
    open_lock();
    memset(&question, 0, sizeof(question));
    question.request.data = &question;
    take_first();
    assert_int_equal(uvzk_hold_verify(&first.request, &question.request, on_verified), 0);
    assert_true(run_until_count(live.loop, &question.told, 1));
    assert_int_equal(question.status, 0);
    assert_int_equal(raw_delete(live.raw, uvzk_hold_path(&first.request)), ZOK);
    assert_int_equal(uvzk_hold_verify(&first.request, &question.request, on_verified), 0);
    assert_true(run_until_count(live.loop, &question.told, 2));
    assert_true(question.status == UVZK_EDELETED || question.status == UVZK_ELOST);
    assert_true(attempt_wait_lost(live.loop, &first));
    assert_int_equal(uvzk_hold_verify(&first.request, &question.request, on_verified),
                     UVZK_ENOTHELD);
    end_without_children(LOCK);
}

static bool was_extended(void *context)
{
    return uvzk_hold_valid_until(&first.request) > *(uint64_t *)context;
}

static void test_proofs_extend_the_hold(void **state)
{
    (void)state;
    live_begin(&live);
    live.options.session_timeout_ms = 3000;
    start_with_lock(LOCK);
    take_first();
    assert_int_equal(uvzk_client_session_timeout(&live.client), 3000);
    for (int i = 0; i < 3; i++) {
        uint64_t until = uvzk_hold_valid_until(&first.request);
        assert_true(until > uvzk_now());
        assert_true(until <= uvzk_now() + 3000);
        assert_true(run_until(live.loop, was_extended, &until, PATIENCE_MS));
    }
    assert_true(live_stats(&live).proofs > 0);
    assert_true(attempt_release_and_wait(live.loop, &first));
    end_without_children(LOCK);
}

/* ------------------------------------------------------ namespace, rights */

static void test_puts_everything_below_the_namespace(void **state)
{
    (void)state;
    live_begin(&live);
    live.options.ns = "app";
    start_with_lock("/ns/lock");
    take_first();
    assert_int_equal(raw_children_count(live.raw, "/app/ns/lock"), 1);
    assert_int_equal(strncmp(uvzk_hold_path(&first.request), "/app/ns/lock/_c_", 16), 0);
    assert_true(attempt_release_and_wait(live.loop, &first));
    end_without_children("/app/ns/lock");
}

static void test_chroot_must_exist_and_is_not_told(void **state)
{
    char hosts[64];
    (void)state;
    live_begin(&live);
    snprintf(hosts, sizeof(hosts), "%s/root", server_hosts(live_server));
    assert_int_equal(raw_create(live.raw, "/root"), ZOK);
    live.options.hosts = hosts;
    start_with_lock(LOCK);
    assert_int_equal(attempt_start(&first, &mutex, NULL), 0);
    assert_int_equal(attempt_start(&second, &mutex, NULL), 0);
    assert_true(attempt_wait_granted(live.loop, &first));
    assert_int_equal(
        strncmp(uvzk_hold_path(&first.request), LOCK "/_c_", strlen(LOCK "/_c_")), 0);
    assert_true(live_wait_children(&live, "/root" LOCK, 2));
    hand_over(&first, &second);
    assert_true(attempt_release_and_wait(live.loop, &second));
    end_without_children("/root" LOCK);
}

static void test_protects_znodes_by_acl(void **state)
{
    const uvzk_acl_t acl = {UVZK_PERM_ALL, "auth", ""};
    char text[64];
    (void)state;
    live_begin(&live);
    live.options.auth_scheme = "digest";
    live.options.auth = "user:secret";
    live.options.auth_length = strlen("user:secret");
    live.options.acl = &acl;
    live.options.acl_count = 1;
    start_with_lock("/secret/lock");
    take_first();
    const char *node = uvzk_hold_path(&first.request);
    assert_int_equal(raw_get(live.raw, node, text, sizeof(text)), ZNOAUTH);
    assert_int_equal(raw_delete(live.raw, node), ZNOAUTH);
    assert_int_equal(raw_create(live.raw, "/secret/lock/other"), ZNOAUTH);
    assert_true(attempt_release_and_wait(live.loop, &first));
    end_without_children("/secret/lock");
}

static void test_reports_a_forbidden_directory(void **state)
{
    (void)state;
    live_begin(&live);
    assert_int_equal(raw_create(live.raw, "/forbidden"), ZOK);
    assert_int_equal(raw_forbid_creates(live.raw, "/forbidden"), ZOK);
    start_with_lock("/forbidden");
    assert_int_equal(attempt_start(&first, &mutex, NULL), 0);
    wait_refused(&first, UVZK_ENOAUTH);
    end_without_children("/forbidden");
}

static void test_reports_an_unknown_scheme(void **state)
{
    (void)state;
    live_begin(&live);
    live.options.auth_scheme = "no-such-scheme";
    live.options.auth = "x";
    live.options.auth_length = 1;
    start_with_lock(LOCK);
    assert_int_equal(attempt_start(&first, &mutex, NULL), 0);
    wait_refused(&first, UVZK_EAUTH);
    live_end(&live);
}

/* ---------------------------------------------------------------- connection */

static void test_tells_the_states_in_order(void **state)
{
    (void)state;
    live_begin(&live);
    live_use_proxy(&live);
    start_with_lock(LOCK);
    assert_int_equal(uvzk_client_state(&live.client), UVZK_STATE_LATENT);
    queue_two();
    assert_int_equal(uvzk_client_state(&live.client), UVZK_STATE_CONNECTED);
    int64_t session = uvzk_client_session_id(&live.client);
    proxy_cut(&live.proxy);
    assert_true(live_wait_state(&live, 0, UVZK_STATE_RECONNECTED));
    assert_int_equal(live.state_count, 3);
    assert_int_equal(live.states[0], UVZK_STATE_CONNECTED);
    assert_int_equal(live.states[1], UVZK_STATE_SUSPENDED);
    assert_int_equal(live.states[2], UVZK_STATE_RECONNECTED);
    assert_int_equal(uvzk_client_session_id(&live.client), session);
    assert_true(attempt_holds(&first));
    assert_int_equal(raw_children_count(live.raw, LOCK), 2);
    hand_over(&first, &second);
    assert_int_equal(second.queued, 1);
    assert_true(attempt_release_and_wait(live.loop, &second));
    end_without_children(LOCK);
}

static void test_loses_everything_with_the_session(void **state)
{
    (void)state;
    live_begin(&live);
    live_use_proxy(&live);
    start_with_lock(LOCK);
    queue_two();
    assert_int_equal(raw_expire_session(server_hosts(live_server), live.proxy.session_id,
                                        live.proxy.session_password),
                     0);
    assert_true(attempt_wait_lost(live.loop, &first));
    assert_int_equal(first.lost_reason, UVZK_EEXPIRED);
    wait_refused(&second, UVZK_EEXPIRED);
    assert_true(live_wait_state(&live, 0, UVZK_STATE_LOST));
    assert_true(live_wait_state(&live, 0, UVZK_STATE_RECONNECTED));
    assert_int_equal(attempt_start(&third, &mutex, NULL), 0);
    assert_true(attempt_wait_granted(live.loop, &third));
    assert_true(attempt_release_and_wait(live.loop, &third));
    assert_true(attempt_is_over(&first) && attempt_is_over(&second));
    end_without_children(LOCK);
}

static void test_waits_for_an_absent_server(void **state)
{
    (void)state;
    open_lock();
    assert_true(live_wait_state(&live, 0, UVZK_STATE_CONNECTED));
    server_kill(live_server);
    assert_true(live_wait_state(&live, 0, UVZK_STATE_SUSPENDED));
    assert_int_equal(attempt_start_within(&first, &mutex, UVZK_TRY_ONCE), 0);
    wait_refused(&first, UVZK_ECONNLOSS);
    assert_int_equal(attempt_start_within(&second, &mutex, 200), 0);
    assert_int_equal(attempt_start(&third, &mutex, NULL), 0);
    wait_refused(&second, UV_ETIMEDOUT);
    assert_int_equal(third.acquired, 0);
    assert_true(server_restart(live_server));
    assert_true(attempt_wait_granted(live.loop, &third));
    assert_true(attempt_release_and_wait(live.loop, &third));
    end_without_children(LOCK);
}

static void test_outlives_a_name_without_address(void **state)
{
    (void)state;
    live_begin(&live);
    live.options.hosts = "no-such-host.invalid:2181";
    start_with_lock(LOCK);
    assert_int_equal(attempt_start_within(&first, &mutex, UVZK_TRY_ONCE), 0);
    assert_int_equal(attempt_start_within(&second, &mutex, 300), 0);
    assert_int_equal(attempt_start(&third, &mutex, NULL), 0);
    wait_refused(&first, UVZK_ECONNLOSS);
    wait_refused(&second, UV_ETIMEDOUT);
    assert_int_equal(uvzk_client_state(&live.client), UVZK_STATE_LATENT);
    live_close_client(&live);
    assert_int_equal(third.status, UVZK_ECLOSED);
    live_end(&live);
}

/* --------------------------------------------------------------------- close */

static void test_close_ends_everything(void **state)
{
    (void)state;
    open_lock();
    queue_two();
    assert_int_equal(attempt_start(&third, &mutex, NULL), 0);
    live_close_client(&live);
    assert_int_equal(first.lost, 1);
    assert_int_equal(first.lost_reason, UVZK_ECLOSED);
    assert_int_equal(second.acquired, 1);
    assert_int_equal(second.status, UVZK_ECLOSED);
    assert_int_equal(third.acquired, 1);
    assert_int_equal(third.status, UVZK_ECLOSED);
    end_without_children(LOCK);
}

static void test_close_waits_for_releases(void **state)
{
    (void)state;
    open_lock();
    take_first();
    assert_int_equal(attempt_release(&first), 0);
    live_close_client(&live);
    assert_int_equal(first.released, 1);
    assert_int_equal(first.release_status, 0);
    assert_int_equal(first.lost, 0);
    end_without_children(LOCK);
}

static void count_mutex_close(uvzk_mutex_t *closed)
{
    ++*(int *)closed->data;
}

static void test_closes_a_mutex_alone(void **state)
{
    static uvzk_mutex_t other;
    int closed = 0;
    (void)state;
    open_lock();
    memset(&other, 0, sizeof(other));
    assert_int_equal(uvzk_mutex_init(&live.client, &other, "/basic/other"), 0);
    mutex.data = &closed;
    assert_int_equal(attempt_start(&first, &mutex, NULL), 0);
    assert_int_equal(attempt_start(&second, &mutex, NULL), 0);
    assert_int_equal(attempt_start(&third, &other, NULL), 0);
    assert_true(attempt_wait_granted(live.loop, &first));
    assert_true(attempt_wait_granted(live.loop, &third));
    assert_int_equal(uvzk_lock_close(&mutex, count_mutex_close), 0);
    assert_int_equal(closed, 0);
    assert_int_equal(uvzk_lock_close(&mutex, count_mutex_close), UVZK_ESTATE);
    assert_true(run_until_count(live.loop, &closed, 1));
    assert_int_equal(first.lost_reason, UVZK_ECLOSED);
    assert_int_equal(second.status, UVZK_ECLOSED);
    assert_true(live_wait_children(&live, LOCK, 0));
    assert_true(attempt_holds(&third));
    assert_true(attempt_release_and_wait(live.loop, &third));
    assert_int_equal(closed, 1);
    end_without_children("/basic/other");
}

static void test_closes_before_and_right_after_start(void **state)
{
    (void)state;
    live_begin(&live);
    assert_int_equal(uvzk_client_init(live.loop, &live.client, &live.options), 0);
    live.client.data = &live;
    live_close_client(&live);
    live_end(&live);

    live_open(&live);
    live_close_client(&live);
    live_end(&live);
}

static void close_handle(uv_handle_t *handle, void *context)
{
    (void)context;
    if (!uv_is_closing(handle)) {
        uv_close(handle, NULL);
    }
}

/* libuv's usual ending of a loop: every handle that uv_walk shows is closed, those of
 * the client too, while it holds and another one waits. */
static int walked_closed;

static void on_walked_closed(uvzk_client_t *client)
{
    assert_ptr_equal(client, &live.client);
    walked_closed++;
}

static void walk(bool wanted)
{
    if (wanted) {
        uv_walk(live.loop, close_handle, NULL);
    }
}

static void test_survives_a_walk(void **state)
{
    (void)state;
    for (int walk_first = 0; walk_first <= 1; walk_first++) {
        walked_closed = 0;
        open_lock();
        queue_two();
        walk(walk_first != 0);
        assert_int_equal(uvzk_client_close(&live.client, on_walked_closed), 0);
        walk(walk_first == 0);
        assert_true(run_until_count(live.loop, &walked_closed, 1));
        assert_int_equal(first.lost_reason, UVZK_ECLOSED);
        assert_int_equal(second.status, UVZK_ECLOSED);
        live.started = false; /* closed here, not by the end of the test */
        end_without_children(LOCK);
    }
}

static void test_closes_once(void **state)
{
    (void)state;
    live_open(&live);
    assert_int_equal(uvzk_client_start(&live.client), UVZK_ESTATE);
    assert_true(live_wait_state(&live, 0, UVZK_STATE_CONNECTED));
    assert_int_equal(uvzk_client_close(&live.client, NULL), 0);
    assert_int_equal(uvzk_client_close(&live.client, NULL), UVZK_ESTATE);
    assert_int_equal(uvzk_client_state(&live.client), UVZK_STATE_CLOSED);
    live.started = false; /* closed here, not by the end of the test */
    live_end(&live);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_acquires_and_releases),
        cmocka_unit_test(test_grants_in_turn_and_tells_the_place),
        cmocka_unit_test(test_waits_behind_a_stranger),
        cmocka_unit_test(test_reenters_by_owner),
        cmocka_unit_test(test_try_once),
        cmocka_unit_test(test_times_out_in_the_queue),
        cmocka_unit_test(test_cancels_in_the_queue),
        cmocka_unit_test(test_cancels_behind_a_stranger),
        cmocka_unit_test(test_cancels_at_once),
        cmocka_unit_test(test_loses_a_deleted_znode),
        cmocka_unit_test(test_queues_again_after_its_znode_was_deleted),
        cmocka_unit_test(test_excludes_others_after_its_znode_was_deleted),
        cmocka_unit_test(test_lists_participants),
        cmocka_unit_test(test_verifies_a_hold),
        cmocka_unit_test(test_proofs_extend_the_hold),
        cmocka_unit_test(test_puts_everything_below_the_namespace),
        cmocka_unit_test(test_chroot_must_exist_and_is_not_told),
        cmocka_unit_test(test_protects_znodes_by_acl),
        cmocka_unit_test(test_reports_a_forbidden_directory),
        cmocka_unit_test(test_reports_an_unknown_scheme),
        cmocka_unit_test(test_tells_the_states_in_order),
        cmocka_unit_test(test_loses_everything_with_the_session),
        cmocka_unit_test(test_waits_for_an_absent_server),
        cmocka_unit_test(test_outlives_a_name_without_address),
        cmocka_unit_test(test_close_ends_everything),
        cmocka_unit_test(test_close_waits_for_releases),
        cmocka_unit_test(test_closes_a_mutex_alone),
        cmocka_unit_test(test_closes_before_and_right_after_start),
        cmocka_unit_test(test_closes_once),
        cmocka_unit_test(test_survives_a_walk),
    };
    return cmocka_run_group_tests(tests, live_server_start, live_server_stop);
}
