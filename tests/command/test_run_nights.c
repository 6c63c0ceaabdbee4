/* SPDX-License-Identifier: Apache-2.0 */
/* Ten thousand nights of a job that is installed on three hosts, in virtual time. Each host
 * starts the job at 02:15 by its own clock, which is up to 5 s wrong, as are those of the
 * three servers. Hosts are off, crash at any moment, start again, are stopped, and have
 * their connections cut; servers restart, are away, lag and lose their leader.
 *
 * The same nights are simulated with `--once-per 24h`, with `--at-most-once` too, and with
 * `--min-hold` alone, which is the control: it must show second runs. With a key, no run
 * begins after a record of its night was acknowledged; with --at-most-once, no second run
 * begins at all. What no lock can decide is counted apart: jobs that ended without an
 * acknowledged record, and nights in which no host tried.
 *
 * What decides is keyed_run.c, as in the command. What stands around it is here: the job,
 * and what the supervisor does when a hold is lost. */
#include "cmocka_test.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <uvzk.h>

#include "client/create.h"
#include "engine/tuning.h"
#include "keyed_run.h"
#include "sim.h"

#define HOSTS 3U
#define SERVERS 3U
#define CLOCK_MAX_MS 5000
#define SLACK_MS 15000 /* more than two clocks can differ, and their delays */
#define NIGHTS 10000U
#define NIGHTS_OF_A_WORLD 250U
#define FIRST_NIGHT_MS INT64_C(1764382500000) /* 2025-11-29T02:15:00Z */
#define HOUR_MS INT64_C(3600000)
#define DAY_MS (24 * HOUR_MS)
#define EARLIER_MS 60000U /* the simulation is there before the night begins */
#define NIGHT_MS 1200000U /* after which no host tries any more */
#define STEP_MS 20U       /* how late what happens at a host may be noticed */
#define SESSION_MS 10000U
#define RETRY_MS 60000U    /* RestartSec */
#define RETRIES 5U         /* StartLimitBurst */
#define PATIENCE_MS 120000 /* --wait */
#define MIN_HOLD_MS 10000U
#define PAUSE_MS 100U
#define NEVER UINT64_MAX
#define PATH "/jobs/nightly"

enum way { ONCE_PER, AT_MOST_ONCE, MIN_HOLD };

/* One process of `uvzk lock`. */
struct life {
    struct host *host;
    uvzk_client_t client;
    uvzk_mutex_t mutex;
    uvzk_hold_t hold;
    struct keyed_run run;
    struct uvzk__port *port;
    struct life *next; /* of those that have crashed */
    bool waits;        /* --wait, and not --nonblock */
    bool closing, closed, crashed;
    bool job_runs, job_fails;
    uint64_t job_ends_at;   /* NEVER: no job runs */
    uint64_t valid_until;   /* of the hold, when it was looked at last */
    uint64_t free_at;       /* --min-hold: until when the lock is kept */
    uint64_t resume_at;     /* keyed_run_resume is due */
    uint64_t stopped_until; /* the process is stopped */
    uint64_t crash_at;
    bool ended_well; /* the job has, and its record is not acknowledged */
};

struct host {
    unsigned number;
    int64_t clock_ahead_ms;
    uint64_t start_at; /* NEVER: not again in this night */
    unsigned tries;
    bool crashes_before_its_record;
    struct life *life;
};

static struct {
    struct sim *sim;
    enum way way;
    unsigned night;
    struct host hosts[HOSTS];
    struct life *crashed;
    /* Of this night. */
    unsigned tried, starts;
    bool recorded, done_well, unrecorded_end;
    /* Of all nights. */
    uint64_t starts_sum, runs_recorded, found_done, failures, ended_by_loss, crashes,
        waits_again;
    uint64_t second_starts;   /* in one night */
    uint64_t after_a_record;  /* starts after an acknowledged record */
    uint64_t unexplained;     /* of these, no end of the night lacks its record */
    uint64_t after_a_success; /* starts after a job had ended well */
    uint64_t ends_unrecorded; /* jobs that had ended well, without a record */
    uint64_t nights_not_tried, nights_not_run, nights_done, wrong_keys, too_old;
} world;

static uint64_t any(uint64_t below)
{
    return sim_random(world.sim, below);
}

static bool happens(unsigned percent)
{
    return any(100) < percent;
}

static uint64_t now(void)
{
    return sim_now(world.sim);
}

static int64_t night_begins(void)
{
    return FIRST_NIGHT_MS + (int64_t)world.night * DAY_MS;
}

/* ---------------------------------------------------------------------- a life's end */

static void on_closed(uvzk_client_t *client)
{
    struct life *life = client->data;

    life->closed = true;
}

static void close_life(struct life *life)
{
    if (!life->closing) {
        life->closing = true;
        life->job_ends_at = life->resume_at = life->free_at = NEVER;
        (void)uvzk_hold_release(&life->hold, NULL);
        assert_int_equal(uvzk_client_close(&life->client, on_closed), 0);
    }
}

/* The command has ended: systemd starts it again if that may help. */
static void end_life(struct life *life, bool is_tried_again)
{
    struct host *host = life->host;

    close_life(life);
    if (is_tried_again && host->tries < RETRIES) {
        host->tries++;
        host->start_at = now() + RETRY_MS;
    }
}

static void free_life(struct life *life)
{
    keyed_run_free(&life->run);
    free(life);
}

/* The job has ended well, and no record of that will be acknowledged. */
static void end_unrecorded(void)
{
    world.done_well = world.unrecorded_end = true;
    world.ends_unrecorded++;
}

/* The process was stopped while the job went on and ended, before the hold's validity
 * did. */
static bool has_ended_unnoticed(const struct life *life)
{
    return life->job_runs && !life->job_fails && life->job_ends_at <= now() &&
           life->job_ends_at <= life->valid_until;
}

/* Everything of the host is gone. Its session lasts until its timeout. */
static void crash(struct host *host)
{
    struct life *life = host->life;

    world.crashes++;
    if (life->ended_well || has_ended_unnoticed(life)) {
        end_unrecorded();
    }
    life->crashed = true;
    life->crash_at = life->job_ends_at = life->resume_at = life->free_at = NEVER;
    sim_pause(life->port, UINT64_MAX);
    life->next = world.crashed;
    world.crashed = life;
    host->life = NULL;
    host->start_at = happens(70) ? now() + 3000 + any(60000) : NEVER;
}

/* --------------------------------------------------------------------------- the job */

static void check_start(void)
{
    world.second_starts += world.starts > 0;
    world.after_a_record += world.recorded;
    world.after_a_success += world.done_well;
    world.unexplained += world.done_well && !world.unrecorded_end;
    world.starts++;
    world.starts_sum++;
}

static void start_job(struct life *life)
{
    check_start();
    life->job_runs = true;
    life->job_fails = happens(5);
    life->valid_until = uvzk_hold_valid_until(&life->hold);
    life->job_ends_at = now() + (happens(60) ? 20 + any(2000) : 20 + any(30000));
    life->free_at = now() + MIN_HOLD_MS;
}

/* The supervisor ends the job before the hold's validity ends. */
static void job_is_ended(struct life *life)
{
    world.ended_by_loss++;
    life->job_runs = false;
    end_life(life, true);
}

static void job_ended(struct life *life)
{
    const struct run_record record = {.by = "a host", .has_ended = true};

    life->job_runs = false;
    life->job_ends_at = NEVER;
    if (life->job_fails) {
        world.failures++;
        end_life(life, false);
        return;
    }
    world.done_well = life->ended_well = true;
    if (world.way == MIN_HOLD) {
        return; /* until free_at */
    }
    if (life->host->crashes_before_its_record) {
        crash(life->host);
    } else {
        life->crash_at = happens(5) ? now() + any(150) : life->crash_at;
        keyed_run_record(&life->run, &record);
    }
}

/* ------------------------------------------------------------------------- callbacks */

static bool is_over(const struct life *life)
{
    return life->crashed || life->closing;
}

static void on_decided(struct keyed_run *run, int status, enum run_decision decision)
{
    struct life *life = run->data;
    char expected[RUN_KEY_SIZE];

    if (is_over(life)) {
        return;
    }
    if (status < 0) {
        end_life(life, true);
        return;
    }
    run_key_of_time(&(struct run_slots){DAY_MS, night_begins() % DAY_MS, 0},
                    night_begins(), expected);
    world.wrong_keys += strcmp(run->key, expected) != 0;
    world.found_done += decision == RUN_DONE;
    world.too_old += decision == RUN_TOO_OLD;
    /* If the hold is not valid, on_lost comes. */
    if (decision != RUN_NOW) {
        end_life(life, false);
    } else if (uvzk_hold_is_valid(&life->hold)) {
        start_job(life);
    } else {
        end_life(life, true);
    }
}

static void on_recorded(struct keyed_run *run, int status)
{
    struct life *life = run->data;

    if (is_over(life)) {
        return;
    }
    if (status == 0) {
        life->ended_well = false;
        world.recorded = true;
        world.runs_recorded++;
    } else {
        end_unrecorded();
    }
    end_life(life, status < 0);
}

static void on_pause(struct keyed_run *run)
{
    struct life *life = run->data;

    if (!is_over(life)) {
        life->resume_at = now() + PAUSE_MS;
    }
}

static void on_lost(uvzk_hold_t *hold, int reason)
{
    struct life *life = hold->data;

    (void)reason;
    if (is_over(life)) {
        return;
    }
    if (life->ended_well || has_ended_unnoticed(life)) {
        end_unrecorded();
        life->job_runs = false;
    }
    if (life->job_runs) {
        job_is_ended(life);
    } else {
        end_life(life, true);
    }
}

static void on_queued(uvzk_hold_t *hold, uint64_t ahead)
{
    struct life *life = hold->data;

    (void)ahead;
    if (!is_over(life) && world.way != MIN_HOLD) {
        keyed_run_queued(&life->run, hold);
    }
}

static void acquire(struct life *life);

static void on_acquired(uvzk_hold_t *hold, int status)
{
    const struct run_record record = {.by = "a host"};
    struct life *life = hold->data;

    if (is_over(life)) {
        return;
    }
    if (status == UVZK_EEXPIRED && life->waits && keyed_run_may_queue_again(&life->run)) {
        world.waits_again++;
        acquire(life);
    } else if (status < 0) {
        end_life(life, status != UV_ETIMEDOUT);
    } else {
        if (world.way == MIN_HOLD) {
            start_job(life);
        } else {
            keyed_run_decide(&life->run, hold, &record);
        }
    }
}

static void acquire(struct life *life)
{
    uvzk_acquire_options_t options;

    uvzk_acquire_options_init(&options);
    options.timeout_ms = life->waits ? PATIENCE_MS : UVZK_TRY_ONCE;
    options.queued_cb = on_queued;
    life->hold.data = life;
    assert_int_equal(
        uvzk_lock_acquire(&life->mutex, &life->hold, &options, on_acquired, on_lost), 0);
}

/* --------------------------------------------------------------------------- a life */

static void on_state(uvzk_client_t *client, uvzk_client_state_t state)
{
    struct life *life = client->data;
    bool connected = state == UVZK_STATE_CONNECTED;

    /* The command acquires when it is connected for the first time. */
    if (connected && !is_over(life) && life->hold.data == NULL) {
        world.tried++;
        acquire(life);
    }
}

static void open_client(struct life *life, const char *name)
{
    uvzk_client_options_t options;

    uvzk_client_options_init(&options);
    options.hosts = "simulated:1";
    options.session_timeout_ms = SESSION_MS;
    options.state_cb = on_state;
    options.ns = "reports";
    life->port = sim_port_new(world.sim, name);
    sim_set_timeout(life->port, SESSION_MS);
    life->client.data = life;
    assert_int_equal(
        uvzk__client_create(&life->client, life->port, &options, UVZK__TUNE_ALL), 0);
    assert_int_equal(uvzk_mutex_init(&life->client, &life->mutex, PATH), 0);
    assert_int_equal(uvzk_client_start(&life->client), 0);
}

static void begin_life(struct host *host)
{
    struct life *life = calloc(1, sizeof(*life));
    char name[32];

    assert_non_null(life);
    *life = (struct life){.host = host,
                          .waits = happens(50),
                          .job_ends_at = NEVER,
                          .free_at = NEVER,
                          .resume_at = NEVER,
                          .crash_at = happens(8) ? now() + any(40000) : NEVER};
    life->run.options =
        (struct keyed_run_options){.path = PATH,
                                   .slots = {DAY_MS, FIRST_NIGHT_MS % DAY_MS, SLACK_MS},
                                   .at_most_once = world.way == AT_MOST_ONCE};
    life->run.decided_cb = on_decided;
    life->run.recorded_cb = on_recorded;
    life->run.pause_cb = on_pause;
    life->run.data = life;
    host->life = life;
    host->start_at = NEVER;
    snprintf(name, sizeof(name), "host %u", host->number);
    open_client(life, name);
    assert_int_equal(keyed_run_init(&life->run, &life->client), 0);
    if (happens(10)) {
        uint64_t ms = 1000 + any(20000);
        life->stopped_until = now() + ms;
        sim_pause(life->port, ms);
    }
}

/* If the process was stopped, the supervisor has ended the job meanwhile, unless the job
 * had ended before. */
static void notice_the_end(struct life *life)
{
    if (life->valid_until < life->job_ends_at) {
        job_is_ended(life);
    } else {
        job_ended(life);
    }
}

static void act(struct host *host)
{
    struct life *life = host->life;

    if (life == NULL) {
        if (now() >= host->start_at) {
            begin_life(host);
        }
    } else if (life->closed) {
        host->life = NULL;
        free_life(life);
    } else if (now() >= life->crash_at) {
        crash(host);
    } else if (life->closing || now() < life->stopped_until) {
        return; /* nothing happens, but that its job goes on */
    } else if (now() >= life->job_ends_at) {
        notice_the_end(life);
    } else if (now() >= life->resume_at) {
        life->resume_at = NEVER;
        keyed_run_resume(&life->run);
    } else if (life->job_runs) {
        life->valid_until = uvzk_hold_valid_until(&life->hold);
    } else if (life->ended_well && now() >= life->free_at && world.way == MIN_HOLD) {
        end_life(life, false);
    }
}

/* -------------------------------------------------------------------------- a night */

static void begin_night(void)
{
    world.tried = world.starts = 0;
    world.recorded = world.done_well = world.unrecorded_end = false;
    for (unsigned i = 0; i < HOSTS; i++) {
        struct host *host = &world.hosts[i];
        host->tries = 0;
        host->crashes_before_its_record = happens(4);
        host->start_at =
            happens(12) ? NEVER
                        : (uint64_t)(night_begins() - host->clock_ahead_ms) + any(1000);
    }
}

static void disturb(void)
{
    static const struct sim_faults faults = {.lose_request = 10000,
                                             .lose_reply = 10000,
                                             .delay = 10000,
                                             .reset = 12000,
                                             .silence = 12000,
                                             .move = 10000,
                                             .restart = 4000,
                                             .lag = 10000,
                                             .depose = 6000,
                                             .down_max_ms = 20000,
                                             .lag_max_ms = 5000,
                                             .depose_max_ms = 8000};

    sim_set_faults(world.sim, happens(60) ? &faults : NULL);
    if (happens(5)) {
        sim_restart(world.sim, any(90000));
    }
}

static bool is_busy(void)
{
    for (unsigned i = 0; i < HOSTS; i++) {
        if (world.hosts[i].life != NULL || world.hosts[i].start_at != NEVER) {
            return true;
        }
    }
    return false;
}

/* If nothing runs, the next start is the next that happens. */
static uint64_t next_moment(void)
{
    uint64_t next = NEVER;

    for (unsigned i = 0; i < HOSTS; i++) {
        if (world.hosts[i].life != NULL) {
            return now() + STEP_MS;
        }
        next = world.hosts[i].start_at < next ? world.hosts[i].start_at : next;
    }
    return next;
}

static void run_night(void)
{
    uint64_t end = (uint64_t)night_begins() + NIGHT_MS;

    sim_run_until(world.sim, (uint64_t)night_begins() - EARLIER_MS);
    begin_night();
    disturb();
    while (is_busy() && now() < end) {
        sim_run_until(world.sim, next_moment());
        for (unsigned i = 0; i < HOSTS; i++) {
            act(&world.hosts[i]);
        }
    }
    sim_set_faults(world.sim, NULL);
}

/* In the morning whoever has crashed is forgotten: its session has ended long ago. */
static void clear_up(void)
{
    for (unsigned i = 0; i < HOSTS; i++) {
        world.hosts[i].start_at = NEVER;
        if (world.hosts[i].life != NULL) {
            crash(&world.hosts[i]);
            world.hosts[i].start_at = NEVER;
        }
    }
    sim_run_for(world.sim, 10 * SESSION_MS);
    for (struct life *life = world.crashed; life != NULL; life = life->next) {
        if (!life->closing) {
            close_life(life);
        }
        sim_resume(life->port);
    }
    while (world.crashed != NULL) {
        struct life *life = world.crashed;
        while (!life->closed) {
            sim_run_for(world.sim, STEP_MS);
        }
        world.crashed = life->next;
        free_life(life);
    }
}

static void count_night(void)
{
    world.nights_not_tried += world.tried == 0;
    world.nights_not_run += world.tried > 0 && world.starts == 0;
    world.nights_done += world.done_well;
}

static void simulate(uint64_t seed, unsigned nights)
{
    struct sim_options options;

    sim_options_init(&options);
    options.start_ms = (uint64_t)FIRST_NIGHT_MS - 2 * EARLIER_MS;
    options.servers = SERVERS;
    options.batches = true;
    options.followers = true;
    options.server_clocks_max_ms = CLOCK_MAX_MS;
    options.container_check_ms = (uint32_t)HOUR_MS;
    options.trace = getenv("UVZK_VERBOSE") != NULL;
    options.trace_cb = options.trace ? sim_trace_to_stderr : NULL;
    world.sim = sim_new(seed, &options);
    for (unsigned i = 0; i < HOSTS; i++) {
        world.hosts[i] = (struct host){
            .number = i + 1,
            .clock_ahead_ms = (int64_t)any(2 * CLOCK_MAX_MS + 1) - CLOCK_MAX_MS};
    }
    for (world.night = 0; world.night < nights; world.night++) {
        run_night();
        clear_up();
        count_night();
    }
    sim_free(world.sim);
}

/* ------------------------------------------------------------------------- the tests */

static unsigned long number_of(const char *name, unsigned long otherwise)
{
    const char *text = getenv(name);

    return text == NULL ? otherwise : strtoul(text, NULL, 10);
}

static void print_counts(const char *way, unsigned nights)
{
    printf("%u nights, %s: %" PRIu64 " starts, %" PRIu64 " of them second ones, %" PRIu64
           " after an acknowledged record, %" PRIu64 " after a success\n"
           "    %" PRIu64 " recorded, %" PRIu64 " found done, %" PRIu64
           " failed, %" PRIu64 " ended by a loss, %" PRIu64 " crashes, %" PRIu64
           " queued again\n"
           "    apart: %" PRIu64
           " ended well without an acknowledged record; nights: %" PRIu64
           " not tried, %" PRIu64 " tried and not run, %" PRIu64 " done\n",
           nights, way, world.starts_sum, world.second_starts, world.after_a_record,
           world.after_a_success, world.runs_recorded, world.found_done, world.failures,
           world.ended_by_loss, world.crashes, world.waits_again, world.ends_unrecorded,
           world.nights_not_tried, world.nights_not_run, world.nights_done);
}

/* Worlds of different clocks. */
static void simulate_all(enum way way, const char *name)
{
    unsigned nights = (unsigned)number_of("UVZK_NIGHTS", NIGHTS);
    uint64_t seed = number_of("UVZK_SEED", 1);

    memset(&world, 0, sizeof(world));
    world.way = way;
    for (unsigned done = 0; done < nights; done += NIGHTS_OF_A_WORLD) {
        unsigned left = nights - done;
        simulate(seed++, left < NIGHTS_OF_A_WORLD ? left : NIGHTS_OF_A_WORLD);
        if (way != MIN_HOLD &&
            world.after_a_record + world.wrong_keys + world.too_old > 0) {
            print_counts(name, done + NIGHTS_OF_A_WORLD);
            fail_msg("seed %" PRIu64, seed - 1);
        }
    }
    print_counts(name, nights);
}

static void what_is_tested_has_happened(void)
{
    assert_true(world.runs_recorded > 0 && world.found_done > 0);
    assert_true(world.failures > 0 && world.ended_by_loss > 0 && world.crashes > 0);
    assert_true(world.ends_unrecorded > 0 && world.nights_not_tried > 0);
}

static void once_per_night(void **state)
{
    (void)state;
    simulate_all(ONCE_PER, "--once-per 24h");
    what_is_tested_has_happened();
    assert_int_equal(world.after_a_record, 0);
    /* That is its choice: after a failure, a crash or a loss the job runs again. */
    assert_true(world.after_a_success > 0);
    assert_int_equal(world.unexplained, 0);
}

static void at_most_once_per_night(void **state)
{
    (void)state;
    simulate_all(AT_MOST_ONCE, "--once-per 24h --at-most-once");
    what_is_tested_has_happened();
    assert_int_equal(world.second_starts, 0);
}

/* The control: without a record, a host that comes late runs the job again. */
static void only_a_shortest_hold(void **state)
{
    (void)state;
    simulate_all(MIN_HOLD, "--min-hold 10");
    assert_true(world.after_a_success > 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(once_per_night),
        cmocka_unit_test(at_most_once_per_night),
        cmocka_unit_test(only_a_shortest_hold),
    };
    return cmocka_run_group_tests_name("run_nights", tests, NULL, NULL);
}
