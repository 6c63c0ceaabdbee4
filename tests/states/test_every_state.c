/* SPDX-License-Identifier: Apache-2.0 */
/* One scene of each recipe, ended at every moment, in every way there is: whoever asked is
 * answered once, nothing is left behind, neither here nor at the server, and the next
 * one gets the lock at once. Which states of the machines inside the endings have met is
 * counted: a state that can be met and was not is a failure.
 *
 *   UVZK_VERBOSE  set: the tables of each recipe
 *   UVZK_ONLY     the name of a recipe: no other is played
 *   UVZK_CASE     with UVZK_ONLY, ending's number, target and moment, as "0 -1 17": this
 *                 one alone, with its trace */
#include "test_every_state.h"

#include "cmocka_test.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "claim/acquisition.h"
#include "claim/claim.h"
#include "claim/hold_limit.h"
#include "directory/own_watch.h"
#include "engine/turn.h"
#include "failing_allocator.h"
#include "test_every_state_met.h"

/* ------------------------------------------------------------------- the endings */

/* An expired client is back after this. */
#define EXPIRY_MS 500U
#define CUT_MS (4 * WORLD_TIMEOUT_MS)

/* Else its end is decided, and about to be told. */
static bool undecided(const struct uvzk__acquisition *acquisition)
{
    return acquisition->state == UVZK__ACQUISITION_ASKED ||
           acquisition->state == UVZK__ACQUISITION_GRANTING;
}

static void cancel(struct scene *scene, int part)
{
    bool decided = !undecided(scene_acquisition(scene, part));

    assert_int_equal(uvzk_hold_cancel(&scene->parts[part].hold.request),
                     decided ? UVZK_ESTATE : 0);
}

/* As if it had been asked for with just that much time. */
static void deadline(struct scene *scene, int part)
{
    struct uvzk__session *session = scene_session(scene);
    const struct uvzk__acquisition *acquisition = scene_acquisition(scene, part);
    struct uvzk__timer *deadline = uvzk__acquisition_deadline(acquisition);

    if (undecided(acquisition) && deadline != NULL) {
        uvzk__timer_set(session, deadline, uvzk__now(session));
    }
}

static void release(struct scene *scene, int part)
{
    hold_release(&scene->parts[part].hold);
}

/* As if it had been asked for with just that much time. */
static void reach_limit(struct scene *scene, int part)
{
    const struct uvzk__acquisition *acquisition = scene_acquisition(scene, part);
    struct uvzk__hold_limit *limit =
        acquisition->claim == NULL ? NULL : uvzk__claim_hold_limit(acquisition->claim);

    if (acquisition->state == UVZK__ACQUISITION_GRANTED && limit != NULL) {
        limit->warned = true;
        limit->ends_at = uvzk__now(limit->session);
        uvzk__timer_set(limit->session, &limit->timer, limit->ends_at);
    }
}

static void close_client(struct scene *scene, int nobody)
{
    (void)nobody;
    process_close(&scene->process);
}

static void expire(struct scene *scene, int nobody)
{
    (void)nobody;
    scene->process.killed = true;
    (void)sim_expire(scene->process.port);
}

static void expire_connected(struct scene *scene, int nobody)
{
    (void)nobody;
    scene->process.killed = true;
    if (!sim_expire_connected(scene->process.port)) {
        (void)sim_expire(scene->process.port); /* it cannot be told: it is cut off */
    }
}

static void cut_off(struct scene *scene, int nobody)
{
    (void)nobody;
    sim_disconnect(scene->process.port, SIM_RESET, CUT_MS);
}

static void fall_silent(struct scene *scene, int nobody)
{
    (void)nobody;
    sim_disconnect(scene->process.port, SIM_SILENT, CUT_MS);
}

/* Whoever holds while the connection is cut loses it when nothing can be proved. */
const struct ending endings[ENDINGS] = {
    {"cancel", OF_PENDING, cancel, UV_ECANCELED, 0, 0, false},
    {"deadline", OF_PENDING, deadline, UV_ETIMEDOUT, 0, 0, true},
    {"release", OF_HELD, release, 0, 0, 0, false},
    {"close of the lock", OF_LOCK, scene_close_lock, UVZK_ECLOSED, 0, 0, false},
    {"close of the client", OF_CLIENT, close_client, UVZK_ECLOSED, 0, 0, false},
    {"expiry", OF_CLIENT, expire, UVZK_EEXPIRED, 0, EXPIRY_MS, false},
    {"expiry told at once", OF_CLIENT, expire_connected, UVZK_EEXPIRED, 0, EXPIRY_MS,
     false},
    {"cut off for good", OF_CLIENT, cut_off, UVZK_EEXPIRED, UVZK_EPROOF, CUT_MS, false},
    {"silence for good", OF_CLIENT, fall_silent, UVZK_EEXPIRED, UVZK_EPROOF, CUT_MS,
     false},
    {"longest hold", OF_HELD, reach_limit, UVZK_EMAXHOLD, 0, 0, true},
};

/* --------------------------------------------------------------------- one scene */

/* What can be ended at each moment of the undisturbed scene: bits. */
struct chances {
    uint32_t *pending, *held;
    size_t count, room;
};

static void note_chances(struct scene *scene)
{
    struct chances *chances = scene->data;

    if (chances->count == chances->room) {
        chances->room = 2 * chances->room + 256;
        chances->pending = realloc(chances->pending, chances->room * sizeof(uint32_t));
        chances->held = realloc(chances->held, chances->room * sizeof(uint32_t));
        assert_true(chances->pending != NULL && chances->held != NULL);
    }
    chances->pending[chances->count] = chances->held[chances->count] = 0;
    for (int i = 0; i < SCENE_PARTS; i++) {
        const struct part *part = &scene->parts[i];
        chances->pending[chances->count] |= (uint32_t)hold_pending(&part->hold) << i;
        chances->held[chances->count] |= (uint32_t)(part_held(part)) << i;
    }
    chances->count++;
}

static void never_told(uvzk_hold_t *hold, int status)
{
    struct hold *of = hold->data;

    (void)status;
    world_fail(of->process->world, "a refused release calls back");
}

/* Nobody who holds is cancelled, nobody who does not hold is released. */
static void check_refusals(struct scene *scene)
{
    for (int i = 0; i < SCENE_PARTS; i++) {
        const struct uvzk__acquisition *acquisition = scene_acquisition(scene, i);
        uvzk_hold_t *hold = &scene->parts[i].hold.request;
        bool held =
            acquisition != NULL && (acquisition->state == UVZK__ACQUISITION_GRANTED ||
                                    acquisition->state == UVZK__ACQUISITION_LOSING);
        if (acquisition == NULL || !undecided(acquisition)) {
            assert_int_equal(uvzk_hold_cancel(hold), UVZK_ESTATE);
        }
        if (!held) {
            assert_int_equal(uvzk_hold_release(hold, never_told), UVZK_ENOTHELD);
        }
    }
}

/* Returns true if it ends with the session. Who watches his own znode may be told that it
 * was deleted before the client learns why. */
static bool has_znode(const struct scene *scene,
                      const struct uvzk__acquisition *acquisition)
{
    const struct uvzk__claim *claim = acquisition->claim;

    if (claim == NULL || uvzk__ring_empty(&claim->contenders)) {
        return false;
    }
    const struct uvzk__contender *first = uvzk__claim_first_contender(claim);
    return first->node.state == UVZK__NODE_UNKNOWN ||
           (uvzk__own_watch_state(first) == UVZK__OWN_WATCH_NONE &&
            sim_exists(scene->world.sim, first->path));
}

static void note_parts(struct scene *scene)
{
    for (int i = 0; i < SCENE_PARTS; i++) {
        const struct uvzk__acquisition *acquisition = scene_acquisition(scene, i);
        struct part *part = &scene->parts[i];
        if (acquisition != NULL) {
            part->undecided = undecided(acquisition);
            part->granted_by_then = acquisition->state == UVZK__ACQUISITION_GRANTED;
            part->queued_by_then = part->undecided && has_znode(scene, acquisition);
        }
    }
}

static void end_it(struct scene *scene)
{
    const struct ending *ending = scene->ending;

    if (scene->ended || scene->moments++ != scene->ends_at) {
        return;
    }
    scene->ended = true;
    world_note(&scene->world, "the ending: %s (%d)", ending->name, scene->target);
    met_count(scene, (size_t)(ending - endings));
    check_refusals(scene);
    note_parts(scene);
    ending->apply(scene, scene->target);
}

static void again_with_a_trace(struct world *world);

static void perform(const struct recipe *recipe, const struct ending *ending, int target,
                    uint64_t moment, bool trace)
{
    struct scene scene;

    scene_open(&scene, recipe, ending, target, moment, trace);
    scene.at_moment = end_it;
    scene.world.failing = trace ? NULL : again_with_a_trace;
    scene_play(&scene);
    if (!scene.ended) {
        world_fail(&scene.world, "the script does not come to the moment");
    }
    scene_close(&scene);
}

static void again_with_a_trace(struct world *world)
{
    const struct scene *scene = world->data;

    perform(scene->recipe, scene->ending, scene->target, scene->ends_at, true);
}

/* ------------------------------------------------------------------ all of them */

static void end_at(const struct recipe *recipe, const struct chances *chances,
                   uint64_t moment)
{
    for (size_t i = 0; i < ENDINGS; i++) {
        const struct ending *ending = &endings[i];
        uint32_t parts = ending->scope == OF_PENDING ? chances->pending[moment]
                         : ending->scope == OF_HELD  ? chances->held[moment]
                                                     : 0;
        for (int part = 0; part < SCENE_PARTS; part++) {
            if (parts & 1U << part) {
                perform(recipe, ending, part, moment, false);
            }
        }
        for (int lock = 0; ending->scope == OF_LOCK && (size_t)lock < recipe->closable;
             lock++) {
            perform(recipe, ending, lock, moment, false);
        }
        if (ending->scope == OF_CLIENT) {
            perform(recipe, ending, SCENE_NOBODY, moment, false);
        }
    }
}

static void play_undisturbed(const struct recipe *recipe, struct chances *chances)
{
    struct scene scene;

    scene_open(&scene, recipe, NULL, SCENE_NOBODY, 0, false);
    scene.data = chances;
    scene.at_moment = note_chances;
    scene_play(&scene);
    scene.at_moment = NULL;
    scene_close(&scene);
}

/* Returns true if only one case was asked for, which has been performed. */
static bool perform_one(const struct recipe *recipe)
{
    const char *one = getenv("UVZK_CASE");
    unsigned ending, moment;
    int target;

    if (one == NULL || sscanf(one, "%u %d %u", &ending, &target, &moment) != 3) {
        return false;
    }
    assert_true(ending < ENDINGS);
    perform(recipe, &endings[ending], target, moment, true);
    return true;
}

static void recipe_at_every_moment(void **state)
{
    const struct recipe *recipe = *state;
    struct chances chances = {.count = 0};

    met_begin(recipe);
    if (perform_one(recipe)) {
        return;
    }
    play_undisturbed(recipe, &chances);
    for (uint64_t moment = 0; moment < chances.count; moment++) {
        end_at(recipe, &chances, moment);
    }
    if (getenv("UVZK_VERBOSE") != NULL) {
        (void)printf("%s: %zu moments\n", recipe->name, chances.count);
        met_print_recipe();
    }
    free(chances.pending);
    free(chances.held);
}

static void every_state_has_met_every_ending(void **state)
{
    (void)state;
    met_print();
    met_check();
}

int main(void)
{
    struct CMUnitTest tests[32];
    const char *only = getenv("UVZK_ONLY");
    size_t count = 0;

    if (failing_allocator_install() != 0) {
        return 1;
    }
    for (size_t i = 0; i < recipe_count; i++) {
        if (only == NULL || strcmp(only, recipes[i].name) == 0) {
            tests[count++] = (struct CMUnitTest){
                .name = recipes[i].name,
                .test_func = recipe_at_every_moment,
                .initial_state = (void *)(uintptr_t)&recipes[i],
            };
        }
    }
    if (only == NULL) {
        tests[count++] =
            (struct CMUnitTest)cmocka_unit_test(every_state_has_met_every_ending);
    }
    return _cmocka_run_group_tests("every state", tests, count, NULL, NULL);
}
