#include "test_every_state.h"

#include "cmocka_test.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "claim/acquisition.h"
#include "scarce.h"

/* Of every request: a deadline that is not reached by itself. */
#define FAR_MS 3600000

void scene_fail(struct scene *scene, const char *format, ...)
{
    char text[256];
    va_list arguments;

    va_start(arguments, format);
    (void)vsnprintf(text, sizeof(text), format, arguments);
    va_end(arguments);
    if (scene->failed != NULL) {
        scene->failed(scene);
    }
    if (scene->ending == NULL) {
        fail_msg("%s: %s", scene->recipe->name, text);
    }
    fail_msg("%s, %s (%d) at moment %" PRIu64 ": %s", scene->recipe->name,
             scene->ending->name, scene->target, scene->ends_at, text);
}

struct uvzk__client *scene_client(const struct scene *scene)
{
    return scene->client.impl;
}

struct uvzk__acquisition *scene_acquisition(const struct scene *scene, int part)
{
    return scene->parts[part].request.impl;
}

/* ------------------------------------------------------------------- the parts */

bool part_pending(const struct part *part)
{
    return part->accepted && part->granted + part->refused == 0;
}

bool part_held(const struct part *part)
{
    return part->granted == 1 && !part->releasing && part->lost == 0;
}

bool part_over(const struct part *part)
{
    return !part->accepted || part->refused + part->lost + part->released == 1;
}

/* A moment, unless the ending has come. */
static void a_moment(struct scene *scene)
{
    if (scene->at_moment != NULL && !scene->ended) {
        scene->at_moment(scene);
    }
}

static void on_acquired(uvzk_hold_t *hold, int status)
{
    struct part *part = hold->data;

    if (!part_pending(part) || status > 0 || (status == 0) != (hold->impl != NULL)) {
        scene_fail(part->scene, "an acquire callback out of order");
    }
    part->status = status;
    part->granted += status == 0;
    part->refused += status != 0;
    a_moment(part->scene);
}

static void on_lost(uvzk_hold_t *hold, int reason)
{
    struct part *part = hold->data;

    if (!part_held(part) || hold->impl != NULL) {
        scene_fail(part->scene, "a lost callback out of order");
    }
    part->lost++;
    part->reason = reason;
    a_moment(part->scene);
}

static void on_queued(uvzk_hold_t *hold, uint64_t ahead)
{
    struct part *part = hold->data;

    if (!part_pending(part) || ahead == 0) {
        scene_fail(part->scene, "a queued callback out of order");
    }
    part->queued++;
    a_moment(part->scene);
}

static void on_revoked(uvzk_hold_t *hold)
{
    struct part *part = hold->data;

    if (part_over(part) || part->releasing || hold->impl == NULL) {
        scene_fail(part->scene, "a revoke callback out of order");
    }
    part->revoked++;
    a_moment(part->scene);
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
    options.queued_cb = on_queued;
    options.node_data = "data"; /* of all the same: leases are handed on */
    options.node_data_length = 4;
    options.revoke_cb = scene->recipe->revocable ? on_revoked : NULL;
    memset(part, 0, sizeof(*part));
    part->scene = scene;
    part->lock = cue->lock;
    part->once = cue->once;
    part->request.data = part;
    part->status = part->reason = part->release_status = SCENE_UNTOLD;
    status = uvzk_lock_acquire(scene->set.locks[cue->lock], &part->request, &options,
                               on_acquired, on_lost);
    if (status != 0) {
        scene_fail(scene, "acquire says %s", uvzk_err_name(status));
    }
    part->accepted = true;
}

static void on_released(uvzk_hold_t *hold, int status)
{
    struct part *part = hold->data;

    if (!part->releasing || part_over(part) || hold->impl != NULL) {
        scene_fail(part->scene, "a release callback out of order");
    }
    part->released++;
    part->release_status = status;
    a_moment(part->scene);
}

void part_release(struct part *part)
{
    int status = uvzk_hold_release(&part->request, on_released);

    if (status != 0) {
        scene_fail(part->scene, "release says %s", uvzk_err_name(status));
    }
    part->releasing = true;
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

static void on_client_closed(uvzk_client_t *client)
{
    struct scene *scene = client->data;

    scene->client_closed++;
    scene->port = NULL;
}

void scene_close_client(struct scene *scene)
{
    scene->client_closing = true;
    assert_int_equal(uvzk_client_close(&scene->client, on_client_closed), 0);
}

/* ------------------------------------------------------------------- beginning */

struct uvzk__port *scene_make_client(uvzk_client_t *client, struct sim *sim,
                                     const char *name, unsigned tuning)
{
    struct uvzk__port *port = sim_port_new(sim, name);
    uvzk_client_options_t options;

    sim_set_timeout(port, SCENE_TIMEOUT_MS);
    uvzk_client_options_init(&options);
    options.hosts = "simulated:1";
    options.session_timeout_ms = SCENE_TIMEOUT_MS;
    options.retry.kind = UVZK_RETRY_N_TIMES;
    options.retry.base_ms = 50;
    options.retry.max_retries = 3;
    assert_int_equal(uvzk__client_create(client, port, &options, tuning), 0);
    return port;
}

void scene_open(struct scene *scene, const struct recipe *recipe, bool trace)
{
    struct sim_options settings;

    memset(scene, 0, sizeof(*scene));
    sim_options_init(&settings);
    settings.latency_min_ms = settings.latency_max_ms = 1;
    settings.alarm_late_max_ms = 0;
    settings.trace = trace;
    settings.trace_lines = 1;
    settings.trace_cb = trace ? sim_trace_to_stderr : NULL;
    scene->recipe = recipe;
    scene->blocks = scarce_live();
    scene->target = SCENE_NOBODY;
    scene->sim = sim_new(1, &settings);
    scene->port = scene_make_client(&scene->client, scene->sim, "a", recipe->tuning);
    scene->client.data = scene;
    recipe->open(&scene->set, &scene->client);
}

/* --------------------------------------------------------------------- playing */

static void act(struct scene *scene, uint64_t begun_ms)
{
    const struct recipe *recipe = scene->recipe;

    while (scene->next_cue < recipe->cues && !scene->ended &&
           sim_now(scene->sim) >= begun_ms + recipe->script[scene->next_cue].at_ms) {
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
    uint64_t begun_ms = sim_now(scene->sim);

    act(scene, begun_ms);
    metronome_begin(&scene->metronome, scene->sim, recipe->script[scene->next_cue].at_ms);
    while (scene->next_cue < recipe->cues && !scene->ended) {
        scene->metronome.period_ms = gap_behind(recipe, scene->next_cue);
        if (metronome_step(&scene->metronome)) {
            a_moment(scene);
        }
        act(scene, begun_ms);
    }
    metronome_end(&scene->metronome);
}
