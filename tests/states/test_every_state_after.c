/* After an ending: what must have become of everything. */
#include "test_every_state.h"

#include "cmocka_test.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "client/lifecycle.h"
#include "scarce.h"
#include "sim_inside.h"

/* Somebody finds the way clear: connecting, a few round trips. */
#define AT_ONCE_MS 500U

/* The same of a client that has been opening a session for so long that the servers'
 * answers of the next two ticks are needed to prove the session. */
#define AFTER_AN_OUTAGE_MS 4000U

/* Until everything has come to its end. */
#define PATIENCE_MS 5000U

/* ------------------------------------------------------------------ the answers */

/* The script deletes znodes of waiters and holders by hand, spoils a reply, and cancels. */
static bool told_by_the_script(const struct part *part, int status)
{
    if (part->once && (status == UVZK_ECONNLOSS || status == UV_ETIMEDOUT)) {
        return true;
    }
    return status == UVZK_EDELETED || status == UV_ENOMEM || status == UV_ECANCELED;
}

/* Whether the ending is this one's, among others'. */
static bool is_ended(const struct scene *scene, int number)
{
    const struct ending *ending = scene->ending;

    if (ending == NULL) {
        return false;
    }
    return ending->scope == OF_CLIENT ||
           scene->target ==
               (ending->scope == OF_LOCK ? scene->parts[number].lock : number);
}

static bool told_by_the_ending(const struct scene *scene, int number, int status)
{
    const struct ending *ending = scene->ending;

    return is_ended(scene, number) && status != 0 &&
           (status == ending->told || status == ending->also_told);
}

/* A close leaves no choice, nor does a cancel, nor the session's end. */
static void check_ended_part(struct scene *scene, int number)
{
    const struct part *part = &scene->parts[number];
    const struct ending *ending = scene->ending;

    if (!is_ended(scene, number) || ending->later) {
        return;
    }
    if (ending->lasts_ms > 0) {
        if ((part->queued_by_then || part->granted_by_then) && part->released > 0 &&
            part->release_status == 0) {
            scene_fail(scene, "request %d has survived its session", number);
        }
        return;
    }
    if (part->undecided && part->status != ending->told) {
        scene_fail(scene, "acquire %d ends with %s", number, uvzk_err_name(part->status));
    }
    if (part->granted_by_then && ending->scope != OF_HELD &&
        part->reason != ending->told) {
        scene_fail(scene, "hold %d ends with %s", number, uvzk_err_name(part->reason));
    }
}

static void check_part(struct scene *scene, int number)
{
    const struct part *part = &scene->parts[number];

    check_ended_part(scene, number);
    if (part->refused > 0 && !told_by_the_script(part, part->status) &&
        !told_by_the_ending(scene, number, part->status)) {
        scene_fail(scene, "acquire %d ends with %s", number, uvzk_err_name(part->status));
    }
    if (part->lost > 0 && !told_by_the_script(part, part->reason) &&
        !told_by_the_ending(scene, number, part->reason)) {
        scene_fail(scene, "hold %d is lost with %s", number, uvzk_err_name(part->reason));
    }
    if (part->released > 0 && part->release_status != 0 &&
        part->release_status != UVZK_ELOST &&
        !told_by_the_ending(scene, number, part->release_status)) {
        scene_fail(scene, "release %d says %s", number,
                   uvzk_err_name(part->release_status));
    }
}

/* ------------------------------------------------------------------- coming to rest */

static void release_all(struct scene *scene)
{
    for (int i = 0; i < SCENE_PARTS; i++) {
        if (part_held(&scene->parts[i]) && scene->parts[i].request.impl != NULL) {
            part_release(&scene->parts[i]);
        }
    }
}

static bool everybody_answered(const struct scene *scene)
{
    for (int i = 0; i < SCENE_PARTS; i++) {
        if (!part_over(&scene->parts[i])) {
            return false;
        }
    }
    for (int i = 0; i < SCENE_LOCKS; i++) {
        if (scene->lock_closing[i] && !scene->client_closing &&
            scene->lock_closed[i] == 0) {
            return false;
        }
    }
    return !scene->client_closing || scene->client_closed > 0;
}

static uint64_t watches_expected(const struct scene *scene)
{
    return scene->set.has_permits ? 1 : 0;
}

static bool client_at_rest(const struct scene *scene)
{
    const struct uvzk__client *client = scene_client(scene);
    uvzk_client_stats_t stats;

    if (client == NULL) {
        return true;
    }
    uvzk_client_stats(&scene->client, &stats);
    return stats.contenders == 0 && stats.watches == watches_expected(scene) &&
           client->directories->queues == NULL && client->session.connected &&
           sim_outstanding(scene->port) == 0 &&
           sim_watch_count(scene->sim) == watches_expected(scene);
}

static void run_to_rest(struct scene *scene)
{
    uint64_t lasts_ms = scene->ending == NULL ? 0 : scene->ending->lasts_ms;
    uint64_t since_ms = sim_now(scene->sim), passed_ms = 0;

    while (passed_ms < lasts_ms ||
           (passed_ms < lasts_ms + PATIENCE_MS &&
            !(everybody_answered(scene) && client_at_rest(scene)))) {
        if (passed_ms > 0 && passed_ms >= lasts_ms) {
            release_all(scene);
        }
        sim_run_for(scene->sim, passed_ms < 1000 ? 5 : 200);
        if (scene_miscount(scene) != NULL) {
            scene_fail(scene, "a count of %s is wrong", scene_miscount(scene));
        }
        passed_ms = sim_now(scene->sim) - since_ms;
    }
    for (int i = 0; i < SCENE_PARTS; i++) {
        if (!part_over(&scene->parts[i])) {
            scene_fail(scene, "request %d is never answered", i);
        }
    }
    if (!everybody_answered(scene)) {
        scene_fail(scene, "a close is never answered");
    }
}

/* ----------------------------------------------------------------- nothing is left */

static void check_locks(struct scene *scene)
{
    for (size_t i = 0; i < scene->set.count; i++) {
        const struct uvzk__lock *lock = scene->set.locks[i]->impl;
        if (lock != NULL && (lock->pins != 0 || lock->held_count != 0 ||
                             lock->owned != NULL || !uvzk__list_empty(&lock->claims))) {
            scene_fail(scene, "lock %zu has something left", i);
        }
        if (scene->lock_closing[i] != (lock == NULL) && !scene->client_closing) {
            scene_fail(scene, "lock %zu is not what it should be", i);
        }
    }
}

static void check_client(struct scene *scene)
{
    const struct uvzk__client *client = scene_client(scene);
    uvzk_client_stats_t stats;

    if (client == NULL) {
        return;
    }
    uvzk_client_stats(&scene->client, &stats);
    if (stats.contenders != 0 || stats.watches != watches_expected(scene)) {
        scene_fail(scene, "%" PRIu64 " contenders, %" PRIu64 " watches left",
                   stats.contenders, stats.watches);
    }
    if (client->directories->queues != NULL) {
        scene_fail(scene, "the queue of %s is left", client->directories->queues->path);
    }
    if (!uvzk__list_empty(&client->directories->contenders) ||
        !uvzk__list_empty(&client->prover->held) ||
        !uvzk__list_empty(&client->prover->candidates) ||
        !uvzk__list_empty(&client->directories->doomed) ||
        !uvzk__list_empty(&client->claims->unwinding) ||
        !uvzk__list_empty(&client->claims->tries) ||
        !uvzk__list_empty(&client->tellings) ||
        !uvzk__list_empty(&client->directories->dirty) ||
        !uvzk__list_empty(&client->directories->behind_scout) ||
        client->directories->scout != NULL || client->directories->node_bytes != 0) {
        scene_fail(scene, "the client has something left");
    }
    if (!client->session.connected) {
        scene_fail(scene, "the client never comes back");
    }
}

static void check_server(struct scene *scene, size_t watches)
{
    for (int i = 0; i < SCENE_DIRECTORIES; i++) {
        const char *path = scene->recipe->directories[i];
        if (path != NULL && sim_children(scene->sim, path, NULL, 0) != 0) {
            scene_fail(scene, "%zu znodes are left in %s",
                       sim_children(scene->sim, path, NULL, 0), path);
        }
    }
    if (sim_watch_count(scene->sim) != watches) {
        scene_fail(scene, "%zu watches are left at the server",
                   sim_watch_count(scene->sim));
    }
}

/* ------------------------------------------------------------ the lock can be had */

struct probe {
    uvzk_hold_t request;
    int granted, over;
};

static void on_probe(uvzk_hold_t *hold, int status)
{
    struct probe *probe = hold->data;

    probe->granted += status == 0;
    probe->over += status != 0;
}

static void on_probe_lost(uvzk_hold_t *hold, int reason)
{
    struct probe *probe = hold->data;

    (void)reason;
    probe->over++;
}

static void on_probe_released(uvzk_hold_t *hold, int status)
{
    struct probe *probe = hold->data;

    (void)status;
    probe->over++;
}

static void await(struct scene *scene, const int *counter, uint64_t patience_ms,
                  const char *what)
{
    uint64_t since_ms = sim_now(scene->sim);

    while (*counter == 0 && sim_now(scene->sim) < since_ms + patience_ms) {
        sim_run_for(scene->sim, 5);
    }
    if (*counter != 1) {
        scene_fail(scene, "%s", what);
    }
}

static void probe_lock(struct scene *scene, struct lock_set *set, uint64_t patience_ms,
                       const char *what)
{
    struct probe probe = {.granted = 0};
    uvzk_acquire_options_t options;

    probe.request.data = &probe;
    uvzk_acquire_options_init(&options);
    options.leases = scene->recipe->probe_leases;
    assert_int_equal(uvzk_lock_acquire(set->locks[scene->recipe->probe], &probe.request,
                                       &options, on_probe, on_probe_lost),
                     0);
    await(scene, &probe.granted, patience_ms, what);
    assert_int_equal(uvzk_hold_release(&probe.request, on_probe_released), 0);
    await(scene, &probe.over, patience_ms, what);
}

static void close_locks(struct lock_set *set)
{
    for (size_t i = 0; i < set->count; i++) {
        if (set->locks[i]->impl != NULL) {
            assert_int_equal(uvzk_lock_close(set->locks[i], NULL), 0);
        }
    }
    if (set->has_permits && set->permits.impl != NULL) {
        assert_int_equal(uvzk_shared_count_close(&set->permits, NULL), 0);
    }
}

static void on_other_closed(uvzk_client_t *client)
{
    int *closed = client->data;

    (*closed)++;
}

/* Somebody else, who comes now. */
static void another_client_has_it(struct scene *scene)
{
    uvzk_client_t client;
    struct lock_set set;
    int closed = 0;

    memset(&client, 0, sizeof(client));
    memset(&set, 0, sizeof(set));
    (void)scene_make_client(&client, scene->sim, "b", scene->recipe->tuning);
    client.data = &closed;
    scene->recipe->open(&set, &client);
    assert_int_equal(uvzk_client_start(&client), 0);
    probe_lock(scene, &set, AT_ONCE_MS, "another client does not get the lock at once");
    close_locks(&set);
    assert_int_equal(uvzk_client_close(&client, on_other_closed), 0);
    await(scene, &closed, AT_ONCE_MS, "another client is never closed");
}

/* ---------------------------------------------------------------------- the end */

static void heal(struct scene *scene)
{
    for (int i = 0; i < SCENE_FOREIGNERS; i++) {
        if (scene->foreigners[i][0] != '\0') {
            (void)sim_delete_by_hand(scene->sim, scene->foreigners[i]);
        }
    }
}

/* Those that were opened or closed while the connection was lost. */
static void run_sessions_out(struct scene *scene)
{
    uint64_t since_ms = sim_now(scene->sim);

    while (sim_session_count(scene->sim) > 0 &&
           sim_now(scene->sim) < since_ms + 3 * SCENE_TIMEOUT_MS) {
        sim_run_for(scene->sim, 100);
    }
    if (sim_session_count(scene->sim) > 0) {
        scene_fail(scene, "a session is left");
    }
}

/* What was to meet the client's next request, and has met none. */
static void call_off_faults(struct scene *scene)
{
    if (scene->port != NULL) {
        struct sim__client *client = sim__client_of(scene->port);
        client->lose_request = client->lose_reply = client->spoil_reply = false;
    }
}

static void come_to_rest(struct scene *scene)
{
    const struct uvzk__client *client = scene_client(scene);

    if (client != NULL && !client->life->started && !client->closing) {
        assert_int_equal(uvzk_client_start(&scene->client), 0);
    }
    run_to_rest(scene);
    for (int i = 0; i < SCENE_PARTS; i++) {
        check_part(scene, i);
    }
    check_client(scene);
    check_locks(scene);
    if (scene->client_closing) {
        run_sessions_out(scene);
    }
    check_server(scene, scene->client_closing ? 0 : watches_expected(scene));
}

void scene_close(struct scene *scene)
{
    struct uvzk__client *client;

    heal(scene);
    come_to_rest(scene);
    call_off_faults(scene);
    client = scene_client(scene);
    if (client != NULL && !scene->lock_closing[scene->recipe->probe]) {
        probe_lock(scene, &scene->set,
                   scene->ending != NULL && scene->ending->lasts_ms > SCENE_TIMEOUT_MS
                       ? AFTER_AN_OUTAGE_MS
                       : AT_ONCE_MS,
                   "the client itself does not get the lock");
    }
    another_client_has_it(scene);
    if (client != NULL) {
        close_locks(&scene->set);
        sim_run_for(scene->sim, 20);
        check_server(scene, 0);
        scene_close_client(scene);
        await(scene, &scene->client_closed, AT_ONCE_MS, "the client is never closed");
    }
    run_sessions_out(scene);
    if (scarce_live() != scene->blocks) {
        scene_fail(scene, "%" PRId64 " blocks are left", scarce_live() - scene->blocks);
    }
    sim_free(scene->sim);
}
