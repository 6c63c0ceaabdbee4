#include "stage.h"

#include "cmocka_test.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#define PATIENCE_MS 120000U
#define TURN_MS 30000U /* how long others may hold while one is waited for */

void stage_fail(struct stage *stage, const char *format, ...)
{
    char text[256];
    va_list arguments;

    va_start(arguments, format);
    (void)vsnprintf(text, sizeof(text), format, arguments);
    va_end(arguments);
    sim_trace_print(stage->sim, stderr);
    fail_msg("%s: %s", stage->what == NULL ? "stage" : stage->what, text);
}

/* ------------------------------------------------------------------ the clients */

static void on_closed(uvzk_client_t *client)
{
    struct seat *seat = client->data;

    seat->closed++;
    seat->port = NULL;
}

static void on_mutex_closed(uvzk_mutex_t *mutex)
{
    struct seat *seat = mutex->data;

    seat->mutex_closed++;
}

static void take_seat(struct seat *seat, const char *name,
                      const struct stage_options *options)
{
    uvzk_client_options_t settings;

    seat->port = sim_port_new(seat->stage->sim, name);
    seat->client.data = seat;
    seat->mutex.data = seat;
    sim_set_timeout(seat->port, STAGE_TIMEOUT_MS);
    uvzk_client_options_init(&settings);
    settings.hosts = "simulated:1";
    settings.session_timeout_ms = STAGE_TIMEOUT_MS;
    settings.proof = options->proof;
    settings.retry.kind = UVZK_RETRY_N_TIMES;
    settings.retry.base_ms = 50;
    settings.retry.max_retries = 3;
    assert_int_equal(
        uvzk__client_create(&seat->client, seat->port, &settings, options->tuning), 0);
    assert_int_equal(uvzk_mutex_init(&seat->client, &seat->mutex, STAGE_PATH), 0);
}

void stage_open(struct stage *stage, const struct stage_options *options)
{
    static const char *const names[STAGE_SEATS] = {"c0", "c1"};
    struct sim_options settings;

    sim_options_init(&settings);
    settings.latency_min_ms = settings.latency_max_ms = 1;
    settings.alarm_late_max_ms = 0;
    settings.no_containers = options->no_containers;
    settings.trace_lines = 300;
    memset(stage, 0, sizeof(*stage));
    stage->sim = sim_new(1, &settings);
    for (int i = 0; i < STAGE_SEATS; i++) {
        stage->seats[i].stage = stage;
        take_seat(&stage->seats[i], names[i], options);
    }
}

void stage_start(struct stage *stage)
{
    for (int i = 0; i < STAGE_SEATS; i++) {
        assert_int_equal(uvzk_client_start(&stage->seats[i].client), 0);
    }
}

void seat_close(struct seat *seat)
{
    seat->closing = true;
    assert_int_equal(uvzk_client_close(&seat->client, on_closed), 0);
}

void seat_close_mutex(struct seat *seat)
{
    assert_int_equal(uvzk_lock_close(&seat->mutex, on_mutex_closed), 0);
}

/* ------------------------------------------------------------------- the claims */

bool claim_holds(const struct claim *claim)
{
    return claim->granted == 1 && claim->lost == 0 && claim->released == 0;
}

bool claim_pending(const struct claim *claim)
{
    return claim->accepted && claim->granted + claim->refused == 0;
}

bool claim_over(const struct claim *claim)
{
    return !claim->accepted || claim->refused + claim->lost + claim->released == 1;
}

static void on_acquired(uvzk_hold_t *hold, int status)
{
    struct claim *claim = hold->data;

    if (!claim_pending(claim)) {
        stage_fail(claim->seat->stage, "an acquire callback out of order");
    }
    claim->status = status;
    claim->granted += status == 0;
    claim->turn = status == 0 ? ++claim->seat->stage->grants : 0;
    claim->refused += status != 0;
    if (status == 0 && !uvzk_hold_is_valid(hold)) {
        stage_fail(claim->seat->stage, "granted, but not valid");
    }
    if (status > 0 || (status != 0 && hold->impl != NULL)) {
        stage_fail(claim->seat->stage, "the refusal is not final");
    }
}

static void on_lost(uvzk_hold_t *hold, int reason)
{
    struct claim *claim = hold->data;

    if (!claim_holds(claim) || claim->releasing || hold->impl != NULL) {
        stage_fail(claim->seat->stage, "a lost callback out of order");
    }
    claim->lost++;
    claim->reason = reason;
}

static void on_released(uvzk_hold_t *hold, int status)
{
    struct claim *claim = hold->data;

    if (!claim_holds(claim) || !claim->releasing || hold->impl != NULL) {
        stage_fail(claim->seat->stage, "a release callback out of order");
    }
    claim->released++;
    claim->release_status = status;
}

static void on_queued(uvzk_hold_t *hold, uint64_t ahead)
{
    struct claim *claim = hold->data;

    if (!claim_pending(claim) || ahead == 0) {
        stage_fail(claim->seat->stage, "a queued callback out of order");
    }
    claim->queued++;
}

int claim_ask(struct claim *claim, struct seat *seat, uvzk_acquire_options_t *options)
{
    memset(claim, 0, sizeof(*claim));
    claim->seat = seat;
    claim->owner = options->owner;
    claim->status = claim->reason = claim->release_status = STAGE_UNTOLD;
    claim->request.data = claim;
    claim->next = seat->stage->claims;
    seat->stage->claims = claim;
    options->queued_cb = on_queued;

    int status =
        uvzk_lock_acquire(&seat->mutex, &claim->request, options, on_acquired, on_lost);
    claim->accepted = status == 0;
    if (status != 0 && (status != UV_ENOMEM || claim->request.impl != NULL)) {
        stage_fail(seat->stage, "acquire says %s", uvzk_err_name(status));
    }
    return status;
}

int claim_simply(struct claim *claim, struct seat *seat, void *owner, int64_t timeout_ms)
{
    uvzk_acquire_options_t options;

    uvzk_acquire_options_init(&options);
    options.owner = owner;
    options.timeout_ms = timeout_ms;
    return claim_ask(claim, seat, &options);
}

void claim_release(struct claim *claim)
{
    if (claim_holds(claim) && !claim->releasing) {
        claim->releasing = true;
        assert_int_equal(uvzk_hold_release(&claim->request, on_released), 0);
    }
}

/* Runs until the claim is what it should be, one of the two. */
static void wait_for(struct claim *claim, bool (*done)(const struct claim *),
                     bool release)
{
    struct stage *stage = claim->seat->stage;
    uint64_t since = sim_now(stage->sim);

    while (!done(claim) && sim_now(stage->sim) < since + PATIENCE_MS) {
        if (release) {
            claim_release(claim);
        }
        for (struct claim *other = stage->claims;
             other != NULL && sim_now(stage->sim) > since + TURN_MS;
             other = other->next) {
            if (other != claim) {
                claim_release(other);
            }
        }
        stage_run(stage, 1);
    }
    if (!done(claim)) {
        stage_fail(stage, "somebody is never answered");
    }
}

static bool answered(const struct claim *claim)
{
    return !claim_pending(claim);
}

void claim_wait_answer(struct claim *claim)
{
    wait_for(claim, answered, false);
}

void claim_finish(struct claim *claim)
{
    wait_for(claim, claim_over, true);
}

/* ------------------------------------------------------------------- the running */

static bool same_hold(const struct claim *a, const struct claim *b)
{
    return a->seat == b->seat && a->owner != NULL && a->owner == b->owner;
}

static void check_exclusion(struct stage *stage)
{
    const struct claim *holder = NULL;

    for (const struct claim *claim = stage->meddled ? NULL : stage->claims; claim != NULL;
         claim = claim->next) {
        if (!claim->accepted || claim->releasing || !claim_holds(claim) ||
            !uvzk_hold_is_valid(&claim->request)) {
            continue;
        }
        if (holder != NULL && !same_hold(holder, claim)) {
            stage_fail(stage, "two valid holds");
        }
        holder = claim;
    }
}

void stage_run(struct stage *stage, uint64_t ms)
{
    uint64_t until = sim_now(stage->sim) + ms;

    while (sim_now(stage->sim) < until) {
        sim_run_for(stage->sim, 1);
        check_exclusion(stage);
        if (stage->each_ms != NULL) {
            stage->each_ms(stage);
        }
    }
}

bool stage_until(struct stage *stage, const int *counter, int value, uint64_t ms)
{
    uint64_t until = sim_now(stage->sim) + ms;

    while (*counter < value && sim_now(stage->sim) < until) {
        stage_run(stage, 1);
    }
    return *counter >= value;
}

/* ------------------------------------------------------------ another one's hand */

struct stage_path stage_foreigner(struct stage *stage)
{
    static const char prefix[] =
        STAGE_PATH "/_c_64fc66ae-773f-4d77-9695-eba698b095f7-lock-";
    struct stage_path path = {""};
    const char *made = sim_create_by_hand(stage->sim, prefix, UVZK__EPHEMERAL_SEQUENTIAL);

    if (made != NULL) {
        (void)snprintf(path.text, sizeof(path.text), "%s", made);
    }
    return path;
}

void stage_delete(struct stage *stage, const struct stage_path *path)
{
    if (path->text[0] != '\0') {
        assert_int_equal(sim_delete_by_hand(stage->sim, path->text), 0);
    }
}

/* --------------------------------------------------------------------- the end */

static void check_clients(struct stage *stage)
{
    for (int i = 0; i < STAGE_SEATS; i++) {
        uvzk_client_stats_t stats;
        if (stage->seats[i].closing) {
            continue;
        }
        uvzk_client_stats(&stage->seats[i].client, &stats);
        if (stats.contenders != 0 || stats.watches != 0) {
            stage_fail(stage, "c%d: %" PRIu64 " contenders and %" PRIu64 " watches left",
                       i, stats.contenders, stats.watches);
        }
    }
}

void stage_let_go(struct stage *stage)
{
    for (struct claim *claim = stage->claims; claim != NULL; claim = claim->next) {
        claim_release(claim);
    }
    for (struct claim *claim = stage->claims; claim != NULL; claim = claim->next) {
        claim_finish(claim);
    }
    stage_run(stage, 3 * STAGE_TIMEOUT_MS);
    check_clients(stage);
    if (sim_watch_count(stage->sim) != 0) {
        stage_fail(stage, "%zu watches left", sim_watch_count(stage->sim));
    }
    if (sim_children(stage->sim, STAGE_PATH, NULL, 0) != 0) {
        stage_fail(stage, "%zu nodes left",
                   sim_children(stage->sim, STAGE_PATH, NULL, 0));
    }
}

void stage_end(struct stage *stage)
{
    for (int i = 0; i < STAGE_SEATS; i++) {
        if (!stage->seats[i].closing) {
            seat_close(&stage->seats[i]);
        }
    }
    for (int i = 0; i < STAGE_SEATS; i++) {
        if (!stage_until(stage, &stage->seats[i].closed, 1, PATIENCE_MS)) {
            stage_fail(stage, "a client never closes");
        }
    }
    stage_run(stage, 3 * STAGE_TIMEOUT_MS); /* sessions left to themselves run out */
    for (int i = 0; i < STAGE_SEATS; i++) {
        assert_int_equal(stage->seats[i].closed, 1);
    }
    if (sim_session_count(stage->sim) != 0 || sim_watch_count(stage->sim) != 0 ||
        sim_children(stage->sim, STAGE_PATH, NULL, 0) != 0) {
        stage_fail(stage, "something is left after the end");
    }
    sim_free(stage->sim);
}
