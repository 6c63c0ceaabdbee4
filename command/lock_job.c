/* The holder process of `uvzk lock`: one ZooKeeper session and one hold, on one loop.
 * lock.c calls lock_job_run.
 *
 * The supervisor runs CMD when the lock is held (supervised_run.h). The holder releases
 * the lock only after CMD has ended, or could not be run. */
#include "lock_job.h"

#include <inttypes.h>
#include <signal.h>
#include <string.h>

#include "diagnostics.h"
#include "event_loop.h"
#include "exit_code.h"
#include "output.h"
#include "refusal.h"

/* The longest time before the grace period at which stderr announces the end of
 * --max-hold. */
#define WARNING_MS 60000U
/* Before the contenders are listed again, because the connection was lost. */
#define LISTING_PAUSE_MS 100U

static const struct uvzk__state table[] = {
    UVZK__STATE(LOCK_JOB_, CONNECTING, WAITING, LEAVING),
    UVZK__STATE(LOCK_JOB_, WAITING, RUNNING, LEAVING),
    UVZK__STATE(LOCK_JOB_, RUNNING, LEAVING),
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
    job->open_handles += 2; /* the timers of the listing and of the connection */
    uv_close((uv_handle_t *)&job->listing, on_handle_closed);
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

/* -------------------------------------------------------------------- the command */

/* The hold is not used before this moment: no contender of another recipe is at the path,
 * and the hold is proved. */
static void on_begun(struct supervised_run *run)
{
    struct lock_job *job = run->data;

    uvzk__machine_move(&lock_job_machine, job, LOCK_JOB_RUNNING);
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
    leave(job, end->exit_code);
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

/* A lost connection does not end the hold; if that is lost too, on_lost says so. */
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
        supervised_run_start(&job->run, &job->hold);
    }
}

/* Contenders of different recipes do not wait for each other, so both would hold.
 * Therefore each `uvzk lock` lists the directories of all recipes after its own znode
 * was created, and gives up if it finds a contender of another recipe. The listing goes
 * through the session that created the znode, so it shows every znode that was created
 * before. So of any two contenders, the one that was created later sees the other. */
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
    } else if (status == UVZK_EEXPIRED && !job->request->try_once) {
        queue_again(job);
    } else if (status < 0) {
        fail_because(job, "not acquired", status,
                     refusal_of_chroot(&job->request->connection, status));
    } else {
        look_for_others(job);
    }
}

static void on_lost(uvzk_hold_t *hold, int reason)
{
    struct lock_job *job = hold->data;

    if (job->state == LOCK_JOB_WAITING) {
        fail(job, "lost before the command was run", reason);
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
    const struct lock_job *job = hold->data;

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
    if (status == 0) {
        status = acquire(job);
    }
    if (status < 0) {
        refused(job, "cannot be acquired", status);
    }
}

/* --------------------------------------------------------------------------- signals */

/* A signal before CMD runs. Signals that end most programs end the job. */
static void give_up(struct lock_job *job, int signal_number)
{
    if (signal_number == SIGINT || signal_number == SIGTERM || signal_number == SIGHUP ||
        signal_number == SIGQUIT || signal_number == SIGALRM) {
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
    if (job.killed_by != 0) {
        job_signals_die(job.killed_by, job.killed_job);
    }
    return job.exit_code;
}
