/* SPDX-License-Identifier: Apache-2.0 */
/* The holder process of `uvzk lock`: one ZooKeeper session and one hold, on one loop.
 * lock.c calls lock_job_run.
 *
 * The supervisor runs CMD when the lock is held (supervised_run.h). The holder releases
 * the lock only after CMD has ended, or could not be run. */
#include "lock_job.h"

#include <inttypes.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <time.h>

#include "diagnostics.h"
#include "event_loop.h"
#include "exit_code.h"
#include "output.h"
#include "refusal.h"

/* The longest time before the grace period at which stderr announces the end of
 * --max-hold. */
#define WARNING_MS 60000U
/* Before the contenders are listed once more, because the connection was lost. */
#define LISTING_PAUSE_MS 100U
/* Before a request about the key is repeated. */
#define KEY_PAUSE_MS 100U
/* In ENDED, the longest time to the next keepalive. */
#define KEEP_MOST_MS 1000U

static const struct uvzk__state table[] = {
    UVZK__STATE(LOCK_JOB_, CONNECTING, WAITING, LEAVING),
    UVZK__STATE(LOCK_JOB_, WAITING, RUNNING, LEAVING),
    UVZK__STATE(LOCK_JOB_, RUNNING, ENDED),
    UVZK__STATE(LOCK_JOB_, ENDED, LEAVING),
    UVZK__STATE(LOCK_JOB_, LEAVING, DONE),
    UVZK__FINAL(LOCK_JOB_, DONE),
};

/* CMD runs in RUNNING only. */
static bool invariant_holds(const void *object)
{
    const struct lock_job *job = object;

    return job->state == LOCK_JOB_RUNNING || !job->run.running;
}

const struct uvzk__machine lock_job_machine =
    UVZK__MACHINE("the lock command", table, struct lock_job, state, invariant_holds);

static void say_verbose(const struct lock_job *job, const char *text)
{
    if (job->request->connection.verbose) {
        output_report("%s: %s", job->request->path, text);
    }
}

static void tell_service_manager(const struct lock_job *job, const char *what)
{
    service_manager_tell(&job->run.service_manager, what, job->request->path);
}

/* --------------------------------------------------------------------- leaving */

/* Nothing waits for this: closing the client waits for the release, with a limit. */
static void on_released(uvzk_hold_t *hold, int status)
{
    struct lock_job *job = hold->data;

    if (status < 0) {
        say_verbose(job, "not released; the servers free it when the session ends");
    }
}

static void on_handle_closed(uv_handle_t *handle)
{
    struct lock_job *job = handle->loop->data;

    if (--job->open_handles == 0) {
        uvzk__machine_move(&lock_job_machine, job, LOCK_JOB_DONE);
    }
}

/* Releases the lock, and closes everything. The client's close waits for the release, at
 * most close_wait_ms, and then ends the session. */
static void leave(struct lock_job *job, int exit_code)
{
    if (job->state == LOCK_JOB_LEAVING) {
        return;
    }
    uvzk__machine_move(&lock_job_machine, job, LOCK_JOB_LEAVING);
    job->exit_code = exit_code;
    service_manager_stopping(&job->run.service_manager, "releasing the lock");
    /* Fails if the lock is not held. Closing the client ends a pending acquire. */
    uvzk_hold_release(&job->hold, on_released);
    job->open_handles += job->signals.count;
    job_signals_end(&job->signals, on_handle_closed);
    job->open_handles += SUPERVISED_RUN_HANDLES;
    supervised_run_close(&job->run, on_handle_closed);
    job->open_handles += 4; /* the job's three timers, and that of the connection */
    uv_close((uv_handle_t *)&job->listing, on_handle_closed);
    uv_close((uv_handle_t *)&job->pause, on_handle_closed);
    uv_close((uv_handle_t *)&job->keep, on_handle_closed);
    connection_close(&job->connection, on_handle_closed);
}

/* Prints the reason, and ends the job. */
static void fail_because(struct lock_job *job, const char *what, int status,
                         const char *why)
{
    output_report("%s: %s: %s", job->request->path, what, why);
    leave(job, exit_code_of(status));
}

static void fail(struct lock_job *job, const char *what, int status)
{
    fail_because(job, what, status, uvzk_strerror(status));
}

/* The call has just been refused: the library says which argument is wrong. */
static void refused(struct lock_job *job, const char *what, int status)
{
    fail_because(job, what, status, refusal_text(&job->request->connection, status));
}

/* -------------------------------------------------- when the command has ended */

static bool has_key(const struct lock_job *job)
{
    return run_options_has_key(&job->request->runs);
}

static int64_t now_since_1970(void)
{
    struct timespec now;

    clock_gettime(CLOCK_REALTIME, &now);
    return (int64_t)now.tv_sec * 1000 + now.tv_nsec / 1000000;
}

static bool is_held(const struct lock_job *job)
{
    return uvzk_hold_path(&job->hold) != NULL;
}

/* Returns when --min-hold is over. The lock is not kept if somebody wants the job to end,
 * or asks for the lock. */
static uint64_t kept_until(const struct lock_job *job)
{
    bool is_kept = is_held(job) && job->killed_by == 0 && !job->revoked;

    return is_kept ? job->began_at + job->request->min_hold_ms : 0;
}

/* Until the run is recorded, and --min-hold is over. The service manager must not think
 * meanwhile that the holder hangs. */
static void on_keep(uv_timer_t *timer)
{
    struct lock_job *job = timer->loop->data;
    uint64_t now = uvzk_now(), until = kept_until(job), next = KEEP_MOST_MS;

    if (!job->is_recording && now >= until) {
        leave(job, job->exit_code);
        return;
    }
    service_manager_keep_alive(&job->run.service_manager,
                               uvzk_hold_valid_until(&job->hold),
                               uvzk_client_session_timeout(&job->connection.client));
    next = service_manager_every(&job->run.service_manager, next);
    if (!job->is_recording && until - now < next) {
        next = until - now;
    }
    uv_timer_start(timer, on_keep, next, 0);
}

static void keep(struct lock_job *job)
{
    on_keep(&job->keep);
}

/* With --verbose it tells that CMD has ended, because the lock is still held. */
static void keep_and_tell(struct lock_job *job)
{
    uint64_t now = uvzk_now(), until = kept_until(job);

    if (until > now && job->request->connection.verbose) {
        output_report("%s: the command has ended; --min-hold keeps the lock for %.1f s",
                      job->request->path, (double)(until - now) / 1000);
    }
    keep(job);
}

/* The job has run, and nobody knows that. A success is none then, because the job may run
 * again. */
static void not_recorded(struct lock_job *job, int status)
{
    bool may_run_again = !job->request->runs.keyed.at_most_once;

    job->is_recording = false;
    output_report("%s: key %s: it is not certain that the end of the run is recorded%s: "
                  "%s",
                  job->request->path, job->keyed.key,
                  may_run_again ? ", so it may run again" : "", uvzk_strerror(status));
    if (may_run_again) {
        job->exit_code = EXIT_LOST;
    }
    leave(job, job->exit_code);
}

static void on_recorded(struct keyed_run *keyed, int status)
{
    struct lock_job *job = keyed->data;

    if (job->state != LOCK_JOB_ENDED) {
        return;
    }
    if (status < 0) {
        not_recorded(job, status);
    } else {
        job->is_recording = false;
        keep_and_tell(job);
    }
}

static void set_record(const struct lock_job *job, struct run_record *record)
{
    *record = (struct run_record){.began_ms = job->began_ms != 0 ? job->began_ms
                                                                 : now_since_1970()};
    snprintf(record->by, sizeof(record->by), "%s", job->request->node_data);
}

static void record_run(struct lock_job *job)
{
    struct run_record record;

    set_record(job, &record);
    record.has_ended = true;
    record.took_ms = (int64_t)(uvzk_now() - job->began_at);
    record.status = job->exit_code;
    job->is_recording = true;
    keep(job);
    /* With --on-lost ignore the command may have gone on after the loss. */
    if (!is_held(job)) {
        not_recorded(job, UVZK_ELOST);
    } else {
        keyed_run_record(&job->keyed, &record);
    }
}

/* A run that has failed leaves no record, so that its key may run again. With
 * --at-most-once the record exists already. */
static void after_the_command(struct lock_job *job, const struct supervised_end *end)
{
    bool has_succeeded = end->outcome == SUPERVISED_ENDED && end->exit_code == EX_OK;

    uvzk__machine_move(&lock_job_machine, job, LOCK_JOB_ENDED);
    supervised_run_finish(&job->run);
    job->exit_code = end->exit_code;
    if (has_key(job) && (has_succeeded || job->request->runs.keyed.at_most_once)) {
        record_run(job);
    } else if (end->outcome == SUPERVISED_NOT_RUN) {
        leave(job, job->exit_code);
    } else {
        keep_and_tell(job);
    }
}

/* ------------------------------------------------- whether the command is run */

static void on_decided(struct keyed_run *keyed, int status, enum run_decision decision)
{
    struct lock_job *job = keyed->data;

    if (job->state != LOCK_JOB_WAITING) {
        return;
    }
    if (status < 0) {
        fail(job, "it cannot be found out whether its key is done", status);
    } else if (decision == RUN_DONE) {
        if (job->request->connection.verbose) {
            output_report("%s: key %s is done", job->request->path, keyed->key);
        }
        leave(job, job->request->runs.done_code);
    } else if (decision == RUN_TOO_OLD) {
        output_report("%s: key %s is older than the last %u, whose records are kept: it "
                      "may have been done",
                      job->request->path, keyed->key, RUN_KEYS_KEPT);
        leave(job, EX_DATAERR);
    } else {
        supervised_run_start(&job->run, &job->hold);
    }
}

static void on_key_known(struct keyed_run *keyed)
{
    const struct lock_job *job = keyed->data;

    if (job->request->connection.verbose) {
        output_report("%s: this run has the key %s", job->request->path, keyed->key);
    }
}

static void on_pause_over(uv_timer_t *timer)
{
    struct lock_job *job = timer->loop->data;

    keyed_run_resume(&job->keyed);
}

static void on_key_pause(struct keyed_run *keyed)
{
    struct lock_job *job = keyed->data;

    if (job->state != LOCK_JOB_LEAVING) {
        uv_timer_start(&job->pause, on_pause_over, KEY_PAUSE_MS, 0);
    }
}

static void decide(struct lock_job *job)
{
    struct run_record record;

    if (has_key(job)) {
        set_record(job, &record);
        keyed_run_decide(&job->keyed, &job->hold, &record);
    } else {
        supervised_run_start(&job->run, &job->hold);
    }
}

static int begin_keys(struct lock_job *job)
{
    job->keyed.options = job->request->runs.keyed;
    job->keyed.decided_cb = on_decided;
    job->keyed.recorded_cb = on_recorded;
    job->keyed.known_cb = on_key_known;
    job->keyed.pause_cb = on_key_pause;
    job->keyed.data = job;
    return keyed_run_init(&job->keyed, &job->connection.client);
}

/* -------------------------------------------------------------------- the command */

/* The hold is not used before this moment: it is proved for long enough. */
static void on_begun(struct supervised_run *run)
{
    struct lock_job *job = run->data;

    uvzk__machine_move(&lock_job_machine, job, LOCK_JOB_RUNNING);
    job->began_at = uvzk_now();
    job->began_ms = now_since_1970();
    tell_service_manager(job, "holds");
    if (job->hold_ends_at != 0) {
        supervised_run_tell(run, MESSAGE_MAX_HOLD, (int64_t)job->hold_ends_at);
    }
    if (job->revoked) {
        supervised_run_tell(run, MESSAGE_REVOKE, 0);
    }
}

/* CMD and all processes that had to end with it are gone. If Ctrl-C ended CMD, the
 * holder dies of SIGINT too, so that the shell sees it. Ctrl-C may have reached only CMD
 * (CMD had the terminal) or only the holder, which forwarded it. */
static void on_ended(struct supervised_run *run, const struct supervised_end *end)
{
    struct lock_job *job = run->data;

    if (job->state == LOCK_JOB_LEAVING) {
        return;
    }
    if (end->by_signal == SIGINT && (end->in_front || job->killed_by == SIGINT)) {
        job->killed_by = SIGINT;
        job->killed_job = end->in_front;
    } else {
        job->killed_by = 0;
    }
    if (job->state == LOCK_JOB_RUNNING) {
        after_the_command(job, end);
    } else {
        leave(job, end->exit_code);
    }
}

/* -------------------------------------------------------------------------- holding */

static void on_participant_list(struct participant_list *participant_list, int status);

static void list_others(struct lock_job *job)
{
    int status =
        participant_list_read(&job->participant_list, false, on_participant_list);

    if (status < 0) {
        refused(job, "cannot be listed", status);
    }
}

static void on_listing_due(uv_timer_t *timer)
{
    list_others(timer->loop->data);
}

static void on_participant_list(struct participant_list *participant_list, int status)
{
    struct lock_job *job = participant_list->data;

    if (job->state != LOCK_JOB_WAITING) {
        return; /* a signal or the loss of the hold has ended the job */
    }
    if (status < 0 && uvzk_err_is_retriable(status)) {
        uv_timer_start(&job->listing, on_listing_due, LISTING_PAUSE_MS, 0);
    } else if (status < 0) {
        fail(job, "cannot be listed", status);
    } else if (participant_list_is_mixed(participant_list, job->request->path,
                                         job->request->recipe,
                                         job->request->recipe_is_default)) {
        leave(job, EX_DATAERR);
    } else {
        fail(job, "not acquired", UVZK_EKIND); /* the other one has gone meanwhile */
    }
}

/* A contender of another kind came first, so the library has refused the acquire
 * (options.mixed_kinds). The listing shows which one, and which option would have chosen
 * its kind. */
static void look_for_others(struct lock_job *job)
{
    int status = participant_list_init(&job->participant_list, &job->connection.client,
                                       job->request->path);

    job->participant_list.data = job;
    if (status < 0) {
        refused(job, "cannot be listed", status);
    } else {
        list_others(job);
    }
}

static int acquire(struct lock_job *job);

/* The session has expired, and its znode is deleted. The client opens a new session by
 * itself, in which the job queues again, at the end. */
static void queue_again(struct lock_job *job)
{
    say_verbose(job, "the session has expired, waiting in a new one");
    int status = acquire(job);
    if (status < 0) {
        refused(job, "cannot be acquired", status);
    }
}

static void on_acquired(uvzk_hold_t *hold, int status)
{
    struct lock_job *job = hold->data;

    /* The close of the client has ended the acquire. */
    if (job->state == LOCK_JOB_LEAVING) {
        return;
    }
    if (status == UV_ETIMEDOUT) {
        say_verbose(job, "held by others");
        leave(job, job->request->conflict_code);
    } else if (status == UVZK_EEXPIRED && !job->request->try_once &&
               (!has_key(job) || keyed_run_may_queue_again(&job->keyed))) {
        queue_again(job);
    } else if (status == UVZK_EKIND) {
        look_for_others(job);
    } else if (status < 0) {
        fail_because(job, "not acquired", status,
                     refusal_of_chroot(&job->request->connection, status));
    } else {
        decide(job);
    }
}

static void on_lost(uvzk_hold_t *hold, int reason)
{
    struct lock_job *job = hold->data;

    if (job->state == LOCK_JOB_WAITING) {
        fail(job, "lost before the command was run", reason);
    } else if (job->state == LOCK_JOB_ENDED && job->is_recording) {
        not_recorded(job, reason);
    } else if (job->state == LOCK_JOB_ENDED) {
        leave(job, job->exit_code);
    }
    if (job->state != LOCK_JOB_RUNNING) {
        return;
    }
    output_report(
        "%s: the lock was lost: %s%s", job->request->path, uvzk_strerror(reason),
        job->request->rules.on_lost == ON_LOST_IGNORE ? "; the command goes on" : "");
    supervised_run_lost(&job->run, reason, "the lock was lost");
}

static void on_revoked(uvzk_hold_t *hold)
{
    struct lock_job *job = hold->data;

    say_verbose(job, "another client asks for the lock");
    job->revoked = true;
    supervised_run_tell(&job->run, MESSAGE_REVOKE, 0);
    if (job->state == LOCK_JOB_ENDED) {
        keep(job); /* no longer */
    }
}

/* CMD is ended some time before ends_at (termination.h). The supervisor needs the moment
 * to tell the reason. If CMD does not run yet, on_begun sends it. */
static void on_max_hold(uvzk_hold_t *hold, uint64_t ends_at)
{
    struct lock_job *job = hold->data;
    uint64_t now = uvzk_now();

    output_report("%s: --max-hold: the lock is given back in %.1f s", job->request->path,
                  (double)(ends_at > now ? ends_at - now : 0) / 1000);
    job->hold_ends_at = ends_at;
    supervised_run_tell(&job->run, MESSAGE_MAX_HOLD, (int64_t)ends_at);
}

/* ------------------------------------------------------------------------ acquiring */

static void on_queued(uvzk_hold_t *hold, uint64_t ahead)
{
    struct lock_job *job = hold->data;

    if (has_key(job)) {
        keyed_run_queued(&job->keyed, hold);
    }
    if (job->request->connection.verbose) {
        output_report("%s: waiting, %" PRIu64 " ahead", job->request->path, ahead);
    }
}

/* Returns what is left of --wait, which began at the start of the command. At least 1
 * ms, because 0 is UVZK_TRY_ONCE. */
static int64_t timeout_of(const struct lock_job *job)
{
    uint64_t passed = uvzk_now() - job->asked_at;

    if (job->request->try_once) {
        return UVZK_TRY_ONCE;
    }
    if (job->request->waits_for_long) {
        return UVZK_WAIT_FOREVER;
    }
    return passed < job->request->wait_ms ? (int64_t)(job->request->wait_ms - passed) : 1;
}

static int make_lock(struct lock_job *job)
{
    const struct lock_request *request = job->request;
    uvzk_client_t *client = &job->connection.client;

    job->lock = &job->single;
    switch (request->recipe) {
    case RECIPE_MUTEX:
        return uvzk_mutex_init(client, &job->single, request->path);
    case RECIPE_LEASES:
        return uvzk_semaphore_init(client, &job->single, request->path, request->of,
                                   NULL);
    default:
        job->lock =
            request->recipe == RECIPE_READ ? &job->rwlock.read : &job->rwlock.write;
        return uvzk_rwlock_init(client, &job->rwlock, request->path);
    }
}

/* Before CMD gets SIGTERM, which is at most a quarter of the time before the end. */
static uint64_t warning_of(const struct lock_request *request)
{
    uint64_t warning = request->rules.grace_ms + WARNING_MS;
    uint64_t half = request->max_hold_ms / 2;

    return warning < half ? warning : half;
}

static int acquire(struct lock_job *job)
{
    uvzk_acquire_options_t options;

    uvzk_acquire_options_init(&options);
    options.timeout_ms = timeout_of(job);
    options.leases = job->request->leases;
    options.queued_cb = on_queued;
    options.revoke_cb = job->request->revocable ? on_revoked : NULL;
    options.max_hold_ms = (int64_t)job->request->max_hold_ms;
    options.max_hold_warning_ms = warning_of(job->request);
    options.max_hold_cb = on_max_hold;
    if (job->request->traceparent != NULL) {
        /* Otherwise this is the client's default data. */
        options.node_data = job->request->node_data;
        options.node_data_length = strlen(job->request->node_data);
        options.traceparent = job->request->traceparent;
    }
    job->revoked = false; /* a request to an earlier znode does not count */
    job->hold_ends_at = 0;
    job->hold.data = job;
    return uvzk_lock_acquire(job->lock, &job->hold, &options, on_acquired, on_lost);
}

static void on_connected(struct connection *connection, int status)
{
    struct lock_job *job = connection->data;

    if (job->state != LOCK_JOB_CONNECTING) {
        return; /* a signal has ended the job */
    }
    /* connection.c has printed the reason. */
    if (status < 0) {
        leave(job, exit_code_of(status));
        return;
    }
    uvzk__machine_move(&lock_job_machine, job, LOCK_JOB_WAITING);
    tell_service_manager(job, "waits for");
    status = make_lock(job);
    if (status == 0 && has_key(job)) {
        status = begin_keys(job);
    }
    if (status == 0) {
        status = acquire(job);
    }
    if (status < 0) {
        refused(job, "cannot be acquired", status);
    }
}

/* --------------------------------------------------------------------------- signals */

/* A signal while CMD does not run. Signals that end most programs end the job; if CMD has
 * ended, the lock is not kept any longer, but the run is still recorded. */
static void give_up(struct lock_job *job, int signal_number)
{
    bool ends = signal_number == SIGINT || signal_number == SIGTERM ||
                signal_number == SIGHUP || signal_number == SIGQUIT ||
                signal_number == SIGALRM;

    if (ends && job->state == LOCK_JOB_ENDED) {
        job->revoked = true;
        keep(job);
    } else if (ends) {
        job->killed_by = signal_number;
        leave(job, 128 + signal_number);
    } else if (signal_number == SIGTSTP) {
        job_signals_stop_here(&job->signals);
    }
}

static void on_signal(struct job_signals *signals, int signal_number)
{
    struct lock_job *job = signals->data;

    if (job->state != LOCK_JOB_RUNNING) {
        give_up(job, signal_number);
        return;
    }
    supervised_run_tell(&job->run, MESSAGE_SIGNAL, signal_number);
    /* CMD may catch SIGINT: on_ended() decides whether the holder dies of it. */
    if (signal_number == SIGINT) {
        job->killed_by = SIGINT;
    } else if (signal_number == SIGTSTP) {
        job_signals_stop_here(&job->signals);
        supervised_run_tell(&job->run, MESSAGE_CONTINUE, 0);
    }
}

/* --------------------------------------------------------------------- the whole job */

/* Returns EX_OK or an exit code. After a failure the process must exit: nothing is
 * closed again. */
static int begin_loop(struct lock_job *job)
{
    int failed = event_loop_begin(&job->loop);
    if (failed != EX_OK) {
        return failed;
    }
    job->loop.data = job;
    job->signals.data = job;
    job->connection.data = job;
    uv_timer_init(&job->loop, &job->listing);
    uv_timer_init(&job->loop, &job->pause);
    uv_timer_init(&job->loop, &job->keep);
    int status = supervised_run_begin(&job->run, &job->loop, &job->connection.client);
    if (status == 0) {
        status = job_signals_begin(&job->signals, &job->loop, on_signal);
    }
    if (status < 0) {
        output_report("%s", uv_strerror(status));
    }
    return status < 0 || diagnostics_begin() < 0 ? EX_OSERR : EX_OK;
}

static void job_begin(struct lock_job *job, const struct lock_request *request)
{
    job->request = request;
    job->state = LOCK_JOB_CONNECTING;
    job->asked_at = uvzk_now();
    job->run.options = (struct supervisor_options){
        .rules = request->rules,
        .path = request->path,
        .hold = request->hold,
        .command = request->command,
        .says_holder_gone = "the process that held the lock is gone",
        .says_unproved = "it cannot be proved in time that the lock is still held"};
    job->run.says_begun = request->connection.verbose ? "granted" : NULL;
    job->run.asked_at = job->asked_at;
    job->run.begun_cb = on_begun;
    job->run.ended_cb = on_ended;
    job->run.data = job;
}

int lock_job_run(const struct lock_request *request)
{
    static struct lock_job job; /* zeroed; libuv keeps pointers to its handles */

    job_begin(&job, request);
    service_manager_init(&job.run.service_manager);
    /* First of all, because the supervisor must inherit no thread and no socket. */
    int failed = supervised_run_prepare(&job.run);
    if (failed == EX_OK) {
        failed = begin_loop(&job);
    }
    if (failed != EX_OK) {
        return failed; /* the supervisor exits when this process has closed the channel */
    }
    failed = connection_open(&job.connection, &job.loop, &request->connection,
                             request->node_data, on_connected);
    if (failed != EX_OK) {
        leave(&job, failed);
    }
    uv_run(&job.loop, UV_RUN_DEFAULT);
    uv_loop_close(&job.loop);
    diagnostics_end();
    supervised_run_end(&job.run);
    participant_list_free(&job.participant_list);
    keyed_run_free(&job.keyed);
    if (job.killed_by != 0) {
        job_signals_die(job.killed_by, job.killed_job);
    }
    return job.exit_code;
}
