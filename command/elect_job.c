/* SPDX-License-Identifier: Apache-2.0 */
/* The holder process of `uvzk elect`: one ZooKeeper session and one participant of an
 * election, on one loop. elect.c calls elect_job_run.
 *
 * The participant stands again only when this file says so (options.manual_requeue),
 * because CMD, and all that it has started, must have ended before. For the same reason
 * --max-reign is a timer here, and not the option of the election: CMD is ended first,
 * and the leadership is given up after that. */
#include "elect_job.h"

#include <inttypes.h>
#include <signal.h>
#include <string.h>

#include "diagnostics.h"
#include "event_loop.h"
#include "exit_code.h"
#include "output.h"
#include "refusal.h"
#include "terminal.h"

/* A pause grows up to this, unless --pause is longer. A CMD that has run for this long
 * counts as working. */
#define PAUSE_MOST_MS 60000U

static const struct uvzk__state table[] = {
    UVZK__STATE(ELECT_JOB_, CONNECTING, STANDING, LEAVING),
    UVZK__STATE(ELECT_JOB_, STANDING, RUNNING, RESTING, LEAVING),
    UVZK__STATE(ELECT_JOB_, RUNNING, RESTING, LEAVING),
    UVZK__STATE(ELECT_JOB_, RESTING, STANDING, LEAVING),
    UVZK__STATE(ELECT_JOB_, LEAVING, DONE),
    UVZK__FINAL(ELECT_JOB_, DONE),
};

/* CMD runs in RUNNING only. */
static bool invariant_holds(const void *object)
{
    const struct elect_job *job = object;

    return job->state == ELECT_JOB_RUNNING || !job->run.running;
}

const struct uvzk__machine elect_job_machine =
    UVZK__MACHINE("the elect command", table, struct elect_job, state, invariant_holds);

static void say_verbose(const struct elect_job *job, const char *what, int status)
{
    if (job->request->connection.verbose) {
        output_report("%s: %s: %s", job->request->path, what, uvzk_strerror(status));
    }
}

/* ------------------------------------------------------------ the service manager */

static void tell_service_manager(const struct elect_job *job, const char *what)
{
    service_manager_tell(&job->run.service_manager, what, job->request->path);
}

/* A host without a running CMD does not delay others, so no validity limits its watchdog.
 * While CMD runs, or is made to end, supervised_run.c sends the keepalives. */
static void keep_standby_alive(struct elect_job *job)
{
    if (!job->run.running) {
        service_manager_keep_alive(&job->run.service_manager, UINT64_MAX, 0);
    }
}

static void on_keepalive(uv_timer_t *timer)
{
    keep_standby_alive(timer->loop->data);
}

static void begin_keepalives(struct elect_job *job)
{
    const struct service_manager *manager = &job->run.service_manager;

    keep_standby_alive(job);
    if (manager->watchdog_ms != 0) {
        uint64_t every = service_manager_every(manager, UINT64_MAX);
        uv_timer_start(&job->keepalives, on_keepalive, every, every);
    }
}

/* --------------------------------------------------------------------- leaving */

static void on_handle_closed(uv_handle_t *handle)
{
    struct elect_job *job = handle->loop->data;

    if (--job->open_handles == 0) {
        uvzk__machine_move(&elect_job_machine, job, ELECT_JOB_DONE);
    }
}

/* Leaves the election, and closes everything. The client's close waits for the delete of
 * the znode, at most close_wait_ms, and then ends the session. */
static void leave(struct elect_job *job, int exit_code)
{
    if (job->state == ELECT_JOB_LEAVING) {
        return;
    }
    uvzk__machine_move(&elect_job_machine, job, ELECT_JOB_LEAVING);
    job->exit_code = exit_code;
    service_manager_stopping(&job->run.service_manager, "leaving the election");
    /* Fails if the election was not initialised. */
    uvzk_election_close(&job->election, UVZK_ELECTION_SILENT, NULL);
    job->open_handles += job->signals.count + SUPERVISED_RUN_HANDLES + 4;
    job_signals_end(&job->signals, on_handle_closed);
    supervised_run_close(&job->run, on_handle_closed);
    uv_close((uv_handle_t *)&job->pause, on_handle_closed);
    uv_close((uv_handle_t *)&job->term, on_handle_closed);
    uv_close((uv_handle_t *)&job->keepalives, on_handle_closed);
    connection_close(&job->connection, on_handle_closed); /* the fourth */
}

/* Prints the reason, and ends the job. */
static void fail_because(struct elect_job *job, const char *what, int status,
                         const char *why)
{
    output_report("%s: %s: %s", job->request->path, what, why);
    leave(job, exit_code_of(status));
}

/* The call has just been refused: the library says which argument is wrong. */
static void refused(struct elect_job *job, const char *what, int status)
{
    fail_because(job, what, status, refusal_text(&job->request->connection, status));
}

/* Ends the process by the signal that has ended CMD. */
static void leave_by(struct elect_job *job, int signal_number, bool whole_job)
{
    job->killed_by = signal_number;
    job->killed_job = whole_job;
    leave(job, 128 + signal_number);
}

/* --------------------------------------------------------------------- resting */

static void on_pause_over(uv_timer_t *timer)
{
    struct elect_job *job = timer->loop->data;

    if (job->fatal != 0) {
        leave(job, exit_code_of(job->fatal)); /* on_deposed has printed it */
        return;
    }
    int status = uvzk_election_requeue(&job->election);
    if (status < 0) {
        refused(job, "cannot stand for election", status);
        return;
    }
    job->run.asked_at = uvzk_now();
    uvzk__machine_move(&elect_job_machine, job, ELECT_JOB_STANDING);
    tell_service_manager(job, "stands for election at");
}

static void start_pause(struct elect_job *job)
{
    uv_timer_start(&job->pause, on_pause_over, job->pause_ms, 0);
}

/* Gives up the leadership, and then pauses. If the leadership is over already, deposed_cb
 * has been called. */
static void rest(struct elect_job *job, uint64_t pause_ms)
{
    uvzk__machine_move(&elect_job_machine, job, ELECT_JOB_RESTING);
    keep_standby_alive(job);
    tell_service_manager(job, "pauses before it stands for election at");
    job->pause_ms = pause_ms;
    if (uvzk_election_resign(&job->election) < 0) {
        start_pause(job);
    }
}

/* Returns the pause after CMD has ended by itself: it is doubled each time, so that a CMD
 * that cannot work on this host does not disturb the others. */
static uint64_t next_pause(struct elect_job *job)
{
    uint64_t first = job->request->pause_ms;
    uint64_t most = first > PAUSE_MOST_MS ? first : PAUSE_MOST_MS;

    if (uvzk_now() - job->begun_at >= PAUSE_MOST_MS) {
        job->growth_ms = first;
    }
    uint64_t pause_ms = job->growth_ms;
    job->growth_ms = pause_ms * 2 < most ? pause_ms * 2 : most;
    return pause_ms;
}

/* -------------------------------------------------------------------- the command */

static void on_term_over(uv_timer_t *timer)
{
    struct elect_job *job = timer->loop->data;

    supervised_run_give_up(&job->run, "the time of this leader is over");
}

static void on_begun(struct supervised_run *run)
{
    struct elect_job *job = run->data;

    uvzk__machine_move(&elect_job_machine, job, ELECT_JOB_RUNNING);
    tell_service_manager(job, "leads");
    job->begun_at = uvzk_now();
    job->stopped_by = 0;
    if (job->request->term_ms > 0) {
        uv_timer_start(&job->term, on_term_over, job->request->term_ms, 0);
    }
}

/* A hang-up ends the job only if it has ended CMD, because CMD may reload its
 * configuration on a hang-up. */
static bool is_stopped(const struct elect_job *job)
{
    return job->stopped_by != 0 && job->stopped_by != SIGHUP;
}

/* Returns the signal by which the job ends with CMD: an operator or a terminal has sent it
 * to both, or, with CMD in front, to CMD alone. 0: none. A CMD that has caught the signal
 * ends the job by its exit status. */
static int ended_by(const struct elect_job *job, const struct supervised_end *end)
{
    if (end->outcome == SUPERVISED_MADE_TO && is_stopped(job)) {
        return job->stopped_by;
    }
    return end->by_signal == job->stopped_by ||
                   (end->by_signal == SIGINT && end->in_front)
               ? end->by_signal
               : 0;
}

static void rest_after(struct elect_job *job, const struct supervised_end *end)
{
    if (end->outcome == SUPERVISED_MADE_TO) {
        rest(job, 0);
        return;
    }
    uint64_t pause_ms = next_pause(job);
    output_report("%s: %s has ended with status %d, standing again after %g s",
                  job->request->path, job->request->command[0], end->status,
                  (double)pause_ms / 1000);
    rest(job, pause_ms);
}

/* CMD and all processes that it has started are gone. */
static void on_ended(struct supervised_run *run, const struct supervised_end *end)
{
    struct elect_job *job = run->data;

    if (job->state == ELECT_JOB_LEAVING) {
        return;
    }
    uv_timer_stop(&job->term);
    if (ended_by(job, end) != 0) {
        leave_by(job, ended_by(job, end), end->by_signal == SIGINT && end->in_front);
    } else if (job->request->once || is_stopped(job) ||
               end->outcome == SUPERVISED_NOT_RUN ||
               end->outcome == SUPERVISED_OUT_OF_HAND) {
        leave(job, end->exit_code);
    } else if (job->fatal != 0) {
        leave(job, exit_code_of(job->fatal));
    } else {
        rest_after(job, end);
    }
}

/* -------------------------------------------------------------------------- leading */

static void on_leader(uvzk_election_t *election, int64_t token, uint64_t valid_until)
{
    struct elect_job *job = election->data;

    (void)token;
    (void)valid_until;
    if (job->state == ELECT_JOB_STANDING) {
        supervised_run_start(&job->run, uvzk_election_hold(election));
    }
}

/* After these reasons the election does not queue the participant again, even if it is
 * asked to. */
static bool is_final(int reason)
{
    return reason == UVZK_EAUTH || reason == UVZK_EINTERNAL;
}

/* The leadership was lost before CMD has ended. In RUNNING on_ended follows. */
static void lost(struct elect_job *job, int reason)
{
    job->fatal = is_final(reason) ? reason : 0;
    if (job->state == ELECT_JOB_RUNNING) {
        supervised_run_lost(&job->run, reason, "this host no longer leads");
        return;
    }
    supervised_run_cancel(&job->run);
    if (job->fatal != 0) {
        leave(job, exit_code_of(reason));
    } else {
        rest(job, 0);
    }
}

static void on_deposed(uvzk_election_t *election, int reason)
{
    struct elect_job *job = election->data;

    if (job->state == ELECT_JOB_LEAVING) {
        return;
    }
    if (reason != 0) { /* else it was given up */
        output_report("%s: this host no longer leads: %s", job->request->path,
                      uvzk_strerror(reason));
    }
    if (job->state == ELECT_JOB_RESTING) {
        job->fatal = is_final(reason) ? reason : 0;
        start_pause(job);
    } else {
        lost(job, reason);
    }
}

/* The library queues the participant again after a temporary refusal. */
static void on_refused(uvzk_election_t *election, int status)
{
    struct elect_job *job = election->data;

    if (job->state == ELECT_JOB_LEAVING) {
        return; /* the client is being closed */
    }
    if (uvzk_err_is_retriable(status)) {
        say_verbose(job, "not queued", status);
    } else {
        fail_because(job, "cannot stand for election", status,
                     refusal_of_chroot(&job->request->connection, status));
    }
}

/* With --verbose. */
static void on_changed(uvzk_election_t *election,
                       const uvzk_election_participant_t *leader)
{
    const struct elect_job *job = election->data;

    if (job->state == ELECT_JOB_LEAVING || leader == NULL) {
        return;
    }
    output_report("%s: the leader is %.*s, token %" PRId64, job->request->path,
                  (int)leader->id_length, leader->id, leader->token);
}

/* ------------------------------------------------------------------------- standing */

static int stand(struct elect_job *job)
{
    const struct elect_request *request = job->request;
    uvzk_election_options_t options;

    uvzk_election_options_init(&options);
    options.kind =
        request->recipe == RECIPE_MUTEX ? UVZK_ELECTION_SELECTOR : UVZK_ELECTION_LATCH;
    options.manual_requeue = 1;
    options.id = request->id;
    options.leader_cb = on_leader;
    options.deposed_cb = on_deposed;
    options.changed_cb = request->connection.verbose ? on_changed : NULL;
    options.error_cb = on_refused;
    job->election.data = job;
    return uvzk_election_init(&job->connection.client, &job->election, request->path,
                              &options);
}

static void on_connected(struct connection *connection, int status)
{
    struct elect_job *job = connection->data;

    if (job->state != ELECT_JOB_CONNECTING) {
        return; /* a signal has ended the job */
    }
    /* connection.c has printed the reason. */
    if (status < 0) {
        leave(job, exit_code_of(status));
        return;
    }
    uvzk__machine_move(&elect_job_machine, job, ELECT_JOB_STANDING);
    tell_service_manager(job, "stands for election at");
    begin_keepalives(job);
    status = stand(job);
    if (status < 0) {
        refused(job, "cannot stand for election", status);
    }
}

/* --------------------------------------------------------------------------- signals */

/* A signal while CMD does not run. Signals that end most programs end the job. A hang-up
 * without a terminal asks a service to read its configuration again: a standby has
 * none. */
static void on_idle_signal(struct elect_job *job, int signal_number)
{
    if (signal_number == SIGINT || signal_number == SIGTERM || signal_number == SIGQUIT ||
        signal_number == SIGALRM || (signal_number == SIGHUP && job->has_terminal)) {
        leave_by(job, signal_number, false);
    } else if (signal_number == SIGTSTP) {
        job_signals_stop_here(&job->signals);
    }
}

static void on_signal(struct job_signals *signals, int signal_number)
{
    struct elect_job *job = signals->data;

    if (job->state != ELECT_JOB_RUNNING) {
        on_idle_signal(job, signal_number);
        return;
    }
    supervised_run_tell(&job->run, MESSAGE_SIGNAL, signal_number);
    if (signal_number == SIGTSTP) {
        job_signals_stop_here(&job->signals);
        supervised_run_tell(&job->run, MESSAGE_CONTINUE, 0);
    } else if (signal_number == SIGINT || signal_number == SIGTERM ||
               signal_number == SIGQUIT ||
               (signal_number == SIGHUP && job->stopped_by == 0)) {
        job->stopped_by = signal_number;
    }
}

/* --------------------------------------------------------------------- the whole job */

/* Returns EX_OK or an exit code. After a failure the process must exit: nothing is
 * closed again. */
static int begin_loop(struct elect_job *job)
{
    int failed = event_loop_begin(&job->loop);
    if (failed != EX_OK) {
        return failed;
    }
    job->loop.data = job;
    job->signals.data = job;
    job->connection.data = job;
    uv_timer_init(&job->loop, &job->pause);
    uv_timer_init(&job->loop, &job->term);
    uv_timer_init(&job->loop, &job->keepalives);
    int status = supervised_run_begin(&job->run, &job->loop, &job->connection.client);
    if (status == 0) {
        status = job_signals_begin(&job->signals, &job->loop, on_signal);
    }
    if (status < 0) {
        output_report("%s", uv_strerror(status));
    }
    return status < 0 || diagnostics_begin() < 0 ? EX_OSERR : EX_OK;
}

static void job_begin(struct elect_job *job, const struct elect_request *request)
{
    job->request = request;
    job->state = ELECT_JOB_CONNECTING;
    job->has_terminal = terminal_exists();
    job->growth_ms = request->pause_ms;
    job->run.options = (struct supervisor_options){
        .rules = request->rules,
        .path = request->path,
        .hold = request->hold,
        .command = request->command,
        .again = true,
        .says_holder_gone = "the process that led the election is gone",
        .says_unproved = "it cannot be proved in time that this host still leads"};
    job->run.says_begun = request->connection.verbose ? "leads" : NULL;
    job->run.asked_at = uvzk_now();
    job->run.begun_cb = on_begun;
    job->run.ended_cb = on_ended;
    job->run.data = job;
}

int elect_job_run(const struct elect_request *request)
{
    static struct elect_job job; /* zeroed; libuv keeps pointers to its handles */

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
                             request->id, on_connected);
    if (failed != EX_OK) {
        leave(&job, failed);
    }
    uv_run(&job.loop, UV_RUN_DEFAULT);
    uv_loop_close(&job.loop);
    diagnostics_end();
    supervised_run_end(&job.run);
    if (job.killed_by != 0) {
        job_signals_die(job.killed_by, job.killed_job);
    }
    return job.exit_code;
}
