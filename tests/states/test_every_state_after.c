/* SPDX-License-Identifier: Apache-2.0 */
/* After an ending: what must have become of everything. */
#include "test_every_state.h"

#include "cmocka_test.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "client/lifecycle.h"
#include "failing_allocator.h"
#include "sim_internal.h"

/* Somebody finds the way clear: connecting, a few round trips. */
#define AT_ONCE_MS 500U

/* The same of a client that has been opening a session for so long that the servers'
 * answers of the next two ticks are needed to prove the session. */
#define AFTER_AN_OUTAGE_MS 4000U

/* Until everything has come to its end. */
#define PATIENCE_MS (WORLD_TIMEOUT_MS + 5000U) /* a watermark lasts a timeout */

/* ------------------------------------------------------------------ the answers */

/* The script deletes znodes of waiters and holders by hand, spoils a reply, and cancels. */
static bool told_by_the_script(const struct part *part, int status)
{
    if (part->once && (status == UVZK_ECONNLOSS || status == UV_ETIMEDOUT)) {
        return true;
    }
    return status == UVZK_EDELETED || status == UV_ENOMEM || status == UV_ECANCELED;
}

/* Returns true if the ending is this one's, among others'. */
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

/* The time of one ran out who had nobody before him yet. */
static bool ran_out_alone(int status)
{
    return status == UVZK_EUNREACHABLE || status == UVZK_ENOTQUEUED ||
           status == UVZK_EPROOF;
}

static bool told_by_the_ending(const struct scene *scene, int number, int status)
{
    const struct ending *ending = scene->ending;

    /* The limit of a claim ends the owner's other requests too. */
    if (ending != NULL && ending->told == UVZK_EMAXHOLD && status == UVZK_EMAXHOLD) {
        return true;
    }
    return is_ended(scene, number) && status != 0 &&
           (status == ending->told || status == ending->also_told ||
            (ending->told == UV_ETIMEDOUT && ran_out_alone(status)));
}

/* A close leaves no choice, nor does a cancel, nor the session's end. */
static void check_ended_part(struct scene *scene, int number)
{
    const struct part *part = &scene->parts[number];
    const struct hold *hold = &part->hold;
    const struct ending *ending = scene->ending;

    if (!is_ended(scene, number) || ending->later) {
        return;
    }
    if (ending->lasts_ms > 0) {
        if ((part->queued_by_then || part->granted_by_then) && hold->released > 0 &&
            hold->release_status == 0) {
            world_fail(&scene->world, "request %d has survived its session", number);
        }
        return;
    }
    if (part->undecided && hold->status != ending->told) {
        world_fail(&scene->world, "acquire %d ends with %s", number,
                   uvzk_err_name(hold->status));
    }
    if (part->granted_by_then && ending->scope != OF_HELD &&
        hold->reason != ending->told) {
        world_fail(&scene->world, "hold %d ends with %s", number,
                   uvzk_err_name(hold->reason));
    }
}

static void check_part(struct scene *scene, int number)
{
    const struct part *part = &scene->parts[number];
    const struct hold *hold = &part->hold;

    check_ended_part(scene, number);
    if (hold->answered > 0 && hold->status != 0 &&
        !told_by_the_script(part, hold->status) &&
        !told_by_the_ending(scene, number, hold->status)) {
        world_fail(&scene->world, "acquire %d ends with %s", number,
                   uvzk_err_name(hold->status));
    }
    if (hold->lost > 0 && !told_by_the_script(part, hold->reason) &&
        !told_by_the_ending(scene, number, hold->reason)) {
        world_fail(&scene->world, "hold %d is lost with %s", number,
                   uvzk_err_name(hold->reason));
    }
    if (hold->released > 0 && hold->release_status != 0 &&
        hold->release_status != UVZK_ELOST &&
        !told_by_the_ending(scene, number, hold->release_status)) {
        world_fail(&scene->world, "release %d says %s", number,
                   uvzk_err_name(hold->release_status));
    }
}

/* ------------------------------------------------------------------- coming to rest */

static void release_all(struct scene *scene)
{
    for (int i = 0; i < SCENE_PARTS; i++) {
        if (part_held(&scene->parts[i])) {
            hold_release(&scene->parts[i].hold);
        }
    }
}

static bool everybody_answered(const struct scene *scene)
{
    for (int i = 0; i < SCENE_PARTS; i++) {
        if (!hold_over(&scene->parts[i].hold)) {
            return false;
        }
    }
    for (int i = 0; i < SCENE_LOCKS; i++) {
        if (scene->lock_closing[i] && !scene->process.closing &&
            scene->lock_closed[i] == 0) {
            return false;
        }
    }
    return !scene->process.closing || scene->process.closed > 0;
}

static uint64_t watches_expected(const struct scene *scene)
{
    return scene->set.has_permits ? 1 : 0;
}

static bool client_at_rest(const struct scene *scene)
{
    const struct uvzk__session *session = scene_session(scene);
    uvzk_client_metrics_t stats;

    if (session == NULL) {
        return true;
    }
    uvzk_client_metrics_init(&stats);
    uvzk_client_metrics(&scene->process.client, &stats);
    return stats.contenders == 0 && stats.watches == watches_expected(scene) &&
           uvzk__catalogue_first(&session->directories->catalogue) == NULL &&
           session->connection.connected && sim_outstanding(scene->process.port) == 0 &&
           sim_watch_count(scene->world.sim) == watches_expected(scene);
}

static void run_to_rest(struct scene *scene)
{
    uint64_t lasts_ms = scene->ending == NULL ? 0 : scene->ending->lasts_ms;
    uint64_t since_ms = world_now(&scene->world), passed_ms = 0;

    while (passed_ms < lasts_ms ||
           (passed_ms < lasts_ms + PATIENCE_MS &&
            !(everybody_answered(scene) && client_at_rest(scene)))) {
        if (passed_ms > 0 && passed_ms >= lasts_ms) {
            release_all(scene);
        }
        sim_run_for(scene->world.sim, passed_ms < 1000 ? 5 : 200);
        world_check(&scene->world);
        passed_ms = world_now(&scene->world) - since_ms;
    }
    for (int i = 0; i < SCENE_PARTS; i++) {
        if (!hold_over(&scene->parts[i].hold)) {
            world_fail(&scene->world, "request %d is never answered", i);
        }
    }
    if (!everybody_answered(scene)) {
        world_fail(&scene->world, "a close is never answered");
    }
}

/* ----------------------------------------------------------------- nothing is left */

static void check_locks(struct scene *scene)
{
    for (size_t i = 0; i < scene->set.count; i++) {
        const struct uvzk__lock *lock = scene->set.locks[i]->impl;
        if (lock != NULL && (lock->refs != 0 || lock->held_count != 0 ||
                             uvzk__lock_first_claim(lock) != NULL ||
                             (!lock->no_claims && lock->owned != NULL))) {
            world_fail(&scene->world, "lock %zu has something left", i);
        }
        if (scene->lock_closing[i] != (lock == NULL) && !scene->process.closing) {
            world_fail(&scene->world, "lock %zu is not what it should be", i);
        }
    }
}

static void check_client(struct scene *scene)
{
    const struct uvzk__session *session = scene_session(scene);
    uvzk_client_metrics_t stats;

    if (session == NULL) {
        return;
    }
    uvzk_client_metrics_init(&stats);
    uvzk_client_metrics(&scene->process.client, &stats);
    if (stats.contenders != 0 || stats.watches != watches_expected(scene)) {
        world_fail(&scene->world, "%" PRIu64 " contenders, %" PRIu64 " watches left",
                   stats.contenders, stats.watches);
    }
    const struct uvzk__queue *left =
        uvzk__catalogue_first(&session->directories->catalogue);
    if (left != NULL) {
        world_fail(&scene->world, "the queue of %s is left", left->path->text);
    }
    if (!uvzk__list_empty(&session->directories->contenders) ||
        !uvzk__list_empty(&session->prover->held) ||
        !uvzk__list_empty(&session->prover->candidates) ||
        !uvzk__list_empty(&session->directories->to_create) ||
        !uvzk__list_empty(&session->directories->to_delete) ||
        session->directories->create_batches_in_flight +
                session->directories->delete_batches_in_flight !=
            0 ||
        !uvzk__list_empty(&session->claims->to_withdraw) ||
        !uvzk__list_empty(&session->claims->try_once) ||
        !uvzk__list_empty(&session->notifications) ||
        !uvzk__list_empty(&session->directories->to_settle) ||
        !uvzk__list_empty(&session->directories->behind_creator) ||
        session->directories->parents_creator != NULL ||
        session->directories->node_bytes != 0) {
        world_fail(&scene->world, "the client has something left");
    }
    if (!session->connection.connected) {
        world_fail(&scene->world, "the client never comes back");
    }
}

static void check_server(struct scene *scene, size_t watches)
{
    for (int i = 0; i < SCENE_DIRECTORIES; i++) {
        const char *path = scene->recipe->directories[i];
        if (path != NULL && sim_children(scene->world.sim, path, NULL, 0) != 0) {
            world_fail(&scene->world, "%zu znodes are left in %s",
                       sim_children(scene->world.sim, path, NULL, 0), path);
        }
    }
    if (sim_watch_count(scene->world.sim) != watches) {
        world_fail(&scene->world, "%zu watches are left at the server",
                   sim_watch_count(scene->world.sim));
    }
}

/* ------------------------------------------------------------ the lock can be had */

static void await(struct scene *scene, const int *counter, uint64_t patience_ms,
                  const char *what)
{
    uint64_t since_ms = world_now(&scene->world);

    while (*counter == 0 && world_now(&scene->world) < since_ms + patience_ms) {
        sim_run_for(scene->world.sim, 5);
    }
    if (*counter != 1) {
        world_fail(&scene->world, "%s", what);
    }
}

static void probe_lock(struct scene *scene, struct process *process,
                       const struct lock_set *set, uint64_t patience_ms, const char *what)
{
    struct hold hold;

    hold_begin_on(&hold, process, set->locks[scene->recipe->probe],
                  scene->recipe->probe_leases, UVZK_WAIT_FOREVER);
    await(scene, &hold.answered, patience_ms, what);
    assert_int_equal(hold.status, 0);
    hold_release(&hold);
    await(scene, &hold.released, patience_ms, what);
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

/* Somebody else, who comes now. */
static void another_client_has_it(struct scene *scene)
{
    struct process other;
    struct lock_set set;

    memset(&set, 0, sizeof(set));
    process_make(&other, &scene->world, "b", NULL);
    scene->recipe->open(&set, &other.client);
    process_start(&other);
    probe_lock(scene, &other, &set, AT_ONCE_MS,
               "another client does not get the lock at once");
    close_locks(&set);
    process_close(&other);
    await(scene, &other.closed, AT_ONCE_MS, "another client is never closed");
}

/* ---------------------------------------------------------------------- the end */

static void heal(struct scene *scene)
{
    for (int i = 0; i < SCENE_FOREIGNERS; i++) {
        if (scene->foreign_nodes[i].text[0] != '\0') {
            (void)sim_delete_by_hand(scene->world.sim, scene->foreign_nodes[i].text);
        }
    }
}

/* Those that were opened or closed while the connection was lost. */
static void run_sessions_out(struct scene *scene)
{
    uint64_t since_ms = world_now(&scene->world);

    while (sim_session_count(scene->world.sim) > 0 &&
           world_now(&scene->world) < since_ms + 3 * WORLD_TIMEOUT_MS) {
        sim_run_for(scene->world.sim, 100);
    }
    if (sim_session_count(scene->world.sim) > 0) {
        world_fail(&scene->world, "a session is left");
    }
}

/* What was to meet the client's next request, and has met none. */
static void call_off_faults(struct scene *scene)
{
    if (scene->process.port != NULL) {
        struct sim__client *client = sim__client_of(scene->process.port);
        client->lose_request = client->lose_reply = client->reply_enomem = false;
    }
}

static void come_to_rest(struct scene *scene)
{
    const struct uvzk__session *session = scene_session(scene);

    if (session != NULL && session->life.state == UVZK__SESSION_CREATED) {
        process_start(&scene->process);
    }
    run_to_rest(scene);
    for (int i = 0; i < SCENE_PARTS; i++) {
        check_part(scene, i);
    }
    check_client(scene);
    check_locks(scene);
    if (scene->process.closing) {
        run_sessions_out(scene);
    }
    check_server(scene, scene->process.closing ? 0 : watches_expected(scene));
}

void scene_close(struct scene *scene)
{
    struct uvzk__session *session;

    heal(scene);
    come_to_rest(scene);
    call_off_faults(scene);
    session = scene_session(scene);
    if (session != NULL && !scene->lock_closing[scene->recipe->probe]) {
        probe_lock(scene, &scene->process, &scene->set,
                   scene->ending != NULL && scene->ending->lasts_ms > WORLD_TIMEOUT_MS
                       ? AFTER_AN_OUTAGE_MS
                       : AT_ONCE_MS,
                   "the client itself does not get the lock");
    }
    another_client_has_it(scene);
    if (session != NULL) {
        close_locks(&scene->set);
        sim_run_for(scene->world.sim, 20);
        check_server(scene, process_watermarks(&scene->process));
        process_close(&scene->process);
        await(scene, &scene->process.closed, AT_ONCE_MS, "the client is never closed");
    }
    run_sessions_out(scene);
    if (failing_allocator_live_blocks() != scene->blocks) {
        world_fail(&scene->world, "%" PRId64 " blocks are left",
                   failing_allocator_live_blocks() - scene->blocks);
    }
    sim_free(scene->world.sim);
}
