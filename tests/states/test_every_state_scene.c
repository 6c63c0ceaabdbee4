/* SPDX-License-Identifier: Apache-2.0 */
#include "test_every_state.h"

#include "cmocka_test.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "failing_allocator.h"

/* Of every request: a deadline, and a longest hold, that are not reached by themselves. */
#define FAR_MS 3600000

struct uvzk__session *scene_session(const struct scene *scene)
{
    return scene->process.client.impl;
}

struct uvzk__acquisition *scene_acquisition(const struct scene *scene, int part)
{
    return scene->parts[part].hold.request.impl;
}

/* ------------------------------------------------------------------- the parts */

bool part_held(const struct part *part)
{
    return hold_holds(&part->hold) && !part->hold.releasing;
}

/* A moment, unless the ending has come. */
static void a_moment(struct scene *scene)
{
    if (scene->at_moment != NULL && !scene->ended) {
        scene->at_moment(scene);
    }
}

static void on_told(struct hold *hold)
{
    a_moment(hold->process->world->data);
}

static void on_revoked(uvzk_hold_t *request)
{
    struct hold *hold = request->data;

    if (hold_over(hold) || hold->releasing || request->impl == NULL) {
        world_fail(hold->process->world, "a revoke callback out of order");
    }
    hold->revoked++;
    on_told(hold);
}

void part_ask(struct scene *scene, const struct cue *cue)
{
    struct part *part = &scene->parts[cue->part];
    uvzk_acquire_options_t options;
    int status;

    uvzk_acquire_options_init(&options);
    options.timeout_ms = cue->once ? UVZK_TRY_ONCE : FAR_MS;
    options.owner = cue->owner ? scene : NULL;
    options.leases = (uint32_t)cue->number;
    options.max_hold_ms = FAR_MS;
    options.node_data = "data"; /* of all the same: leases are handed on */
    options.node_data_length = 4;
    options.revoke_cb = scene->recipe->revocable ? on_revoked : NULL;
    memset(part, 0, sizeof(*part));
    part->lock = cue->lock;
    part->once = cue->once;
    status =
        hold_ask(&part->hold, &scene->process, scene->set.locks[cue->lock], &options);
    if (status != 0) {
        world_fail(&scene->world, "acquire says %s", uvzk_err_name(status));
    }
    part->hold.hook = part->hold.queued_hook = on_told;
}

/* -------------------------------------------------------------------- the ends */

static void on_lock_closed(uvzk_lock_t *lock)
{
    struct scene *scene = lock->data;

    for (size_t i = 0; i < scene->set.count; i++) {
        scene->lock_closed[i] += scene->set.locks[i] == lock;
    }
}

void scene_close_lock(struct scene *scene, int lock)
{
    scene->lock_closing[lock] = true;
    scene->set.locks[lock]->data = scene;
    assert_int_equal(uvzk_lock_close(scene->set.locks[lock], on_lock_closed), 0);
}

/* ------------------------------------------------------------------- beginning */

static void describe(struct scene *scene)
{
    int length = snprintf(scene->what, sizeof(scene->what), "%s", scene->recipe->name);

    if (scene->ending != NULL) {
        (void)snprintf(scene->what + length, sizeof(scene->what) - (size_t)length,
                       ", %s (%d) at moment %" PRIu64, scene->ending->name, scene->target,
                       scene->ends_at);
    }
}

void scene_open(struct scene *scene, const struct recipe *recipe,
                const struct ending *ending, int target, uint64_t ends_at, bool trace)
{
    struct sim_options settings;

    memset(scene, 0, sizeof(*scene));
    world_exact_options(&settings, 1);
    settings.trace = trace;
    settings.trace_lines = 1;
    settings.trace_cb = trace ? sim_trace_to_stderr : NULL;
    scene->recipe = recipe;
    scene->ending = ending;
    scene->target = target;
    scene->ends_at = ends_at;
    scene->blocks = failing_allocator_live_blocks();
    describe(scene);
    world_begin_with(&scene->world, 1, recipe->tuning, &settings);
    scene->world.data = scene;
    scene->world.what = scene->what;
    process_make(&scene->process, &scene->world, "a", NULL);
    recipe->open(&scene->set, &scene->process.client);
}

/* --------------------------------------------------------------------- playing */

static void act(struct scene *scene, uint64_t begun_ms)
{
    const struct recipe *recipe = scene->recipe;

    while (scene->next_cue < recipe->cues && !scene->ended &&
           world_now(&scene->world) >= begun_ms + recipe->script[scene->next_cue].at_ms) {
        const struct cue *cue = &recipe->script[scene->next_cue++];
        cue->act(scene, cue);
        a_moment(scene);
    }
}

/* From this cue's moment to the next one that is later. */
static uint64_t gap_behind(const struct recipe *recipe, size_t cue)
{
    uint64_t at_ms = recipe->script[cue].at_ms;

    while (cue < recipe->cues && recipe->script[cue].at_ms == at_ms) {
        cue++;
    }
    return cue < recipe->cues ? recipe->script[cue].at_ms - at_ms : 1;
}

void scene_play(struct scene *scene)
{
    const struct recipe *recipe = scene->recipe;
    uint64_t begun_ms = world_now(&scene->world);

    act(scene, begun_ms);
    ticker_begin(&scene->ticker, scene->world.sim, recipe->script[scene->next_cue].at_ms);
    while (scene->next_cue < recipe->cues && !scene->ended) {
        scene->ticker.period_ms = gap_behind(recipe, scene->next_cue);
        if (ticker_step(&scene->ticker)) {
            a_moment(scene);
        }
        act(scene, begun_ms);
    }
    ticker_end(&scene->ticker);
}
