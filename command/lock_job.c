/* The holder process of `uvzk lock`: one ZooKeeper session and one hold, on one loop.
 * lock.c calls lock_job_run.
 *
 * The holder does not run CMD itself. It starts the supervisor process first, sends it
 * MESSAGE_START when the lock is held, and writes the end of the hold's validity into
 * shared memory after that. If the holder is killed, the supervisor ends CMD. If the
 * holder is stopped, or the lock is lost, the supervisor ends CMD unless --on-lost is
 * ignore. The holder releases the lock only after the supervisor has reported that CMD
 * has ended, or could not be run. If the supervisor dies or does not do its work, the
 * holder kills all descendants itself, and then releases the lock. */
#include "lock_job.h"

#include <inttypes.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/wait.h>

#include "channel.h"
#include "exit_code.h"
#include "refusal.h"

#define CONNECTING LOCK_JOB_CONNECTING
#define WAITING LOCK_JOB_WAITING
#define RUNNING LOCK_JOB_RUNNING
#define LEAVING LOCK_JOB_LEAVING
#define DONE LOCK_JOB_DONE

/* How long after the grace period the supervisor may take to report that CMD has
 * ended. */
#define OVERDUE_MS 1000U
/* How often the validity is passed on to the supervisor: this many times in a session
 * timeout, but within the two limits. A proof renews the validity six times in a session
 * timeout. */
#define LOOKS_PER_SESSION 12U
#define LOOK_LEAST_MS 50U
#define LOOK_MOST_MS 1000U

static const struct uvzk__state table[] = {
    [CONNECTING] = {"CONNECTING", UVZK__BIT(WAITING) | UVZK__BIT(LEAVING)},
    [WAITING] = {"WAITING", UVZK__BIT(RUNNING) | UVZK__BIT(LEAVING)},
    [RUNNING] = {"RUNNING", UVZK__BIT(LEAVING)},
    [LEAVING] = {"LEAVING", UVZK__BIT(DONE)},
    [DONE] = {"DONE", 0},
};

const struct uvzk__machine lock_job_machine = UVZK__MACHINE("the lock command", table);

/* lost is set in RUNNING only. */
static bool invariant_holds(const struct lock_job *job)
{
    return job->state == RUNNING || job->state == LEAVING || job->state == DONE ||
           !job->lost;
}

/* The only writer of state. */
static void move(struct lock_job *job, enum lock_job_state state)
{
    job->state = (uint8_t)uvzk__machine_move(&lock_job_machine, job->state, state);
    assert(invariant_holds(job));
}

static void say_verbose(const struct lock_job *job, const char *text)
{
    if (job->request->connection.verbose) {
        fprintf(stderr, "uvzk: %s: %s\n", job->request->path, text);
    }
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
        move(job, DONE);
    }
}

static void close_handle(struct lock_job *job, uv_handle_t *handle)
{
    job->open_handles++;
    uv_close(handle, on_handle_closed);
}

/* Releases the lock, and closes everything. The client's close waits for the release, at
 * most close_wait_ms, and then ends the session. */
static void leave(struct lock_job *job, int exit_code)
{
    if (job->state == LEAVING) {
        return;
    }
    move(job, LEAVING);
    job->exit_code = exit_code;
    /* Fails if the lock is not held. Closing the client ends a pending acquire. */
    uvzk_hold_release(&job->hold, on_released);
    job->open_handles += job->signals.count;
    job_signals_end(&job->signals, on_handle_closed);
    close_handle(job, (uv_handle_t *)&job->channel);
    close_handle(job, (uv_handle_t *)&job->proofs);
    close_handle(job, (uv_handle_t *)&job->supervisor_timer);
    job->open_handles++; /* the connect timer */
    connection_close(&job->connection, on_handle_closed);
}

/* Prints the reason, and ends the job. */
static void fail_because(struct lock_job *job, const char *what, int status,
                         const char *why)
{
    fprintf(stderr, "uvzk: %s: %s: %s\n", job->request->path, what, why);
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

/* -------------------------------------------------------------------- the supervisor */

/* CMD and all processes that had to end with it are gone. If Ctrl-C ended CMD, the
 * holder dies of SIGINT too, so that the shell sees it. Ctrl-C may have reached only CMD
 * (CMD had the terminal) or only the holder, which forwarded it. */
static void command_ended(struct lock_job *job, const struct message *message)
{
    int status = (int)message->number;
    bool in_front = (message->flags & ENDED_IN_FRONT) != 0;

    if (message->flags & ENDED_NEVER_BEGUN) {
        fprintf(stderr, "uvzk: %s: lost before the command was run\n",
                job->request->path);
    }
    if (message->flags & (ENDED_NEVER_BEGUN | ENDED_BY_US)) {
        leave(job, EXIT_LOST);
        return;
    }
    if (WIFSIGNALED(status) && WTERMSIG(status) == SIGINT &&
        (in_front || job->killed_by == SIGINT)) {
        job->killed_by = SIGINT;
        job->killed_job = in_front;
    } else {
        job->killed_by = 0;
    }
    leave(job, exit_code_of_process(status));
}

/* The supervisor died or does not do its work. So the holder kills CMD and its
 * descendants, which blocks the loop until they are gone, and releases the lock after
 * that. */
static void supervisor_failed(struct lock_job *job, const char *how)
{
    fprintf(stderr,
            "uvzk: the supervisor %s; all processes that it had started are killed\n",
            how);
    supervisor_kill(&job->supervisor);
    job->killed_by = 0;
    leave(job, job->lost ? EXIT_LOST : EX_OSERR);
}

static void handle_message(struct lock_job *job, const struct message *message)
{
    switch (message->kind) {
    case MESSAGE_NOT_STARTED:
        fprintf(stderr, "uvzk: %s: %s\n", job->request->command[0],
                strerror((int)message->number));
        leave(job, exit_code_of_start((int)message->number));
        break;
    case MESSAGE_STOPPED:
        kill(0, SIGTSTP); /* to the shell's job; on_signal() then stops the holder */
        break;
    case MESSAGE_ENDED:
        command_ended(job, message);
        break;
    default:
        break;
    }
}

static void on_channel(uv_poll_t *handle, int status, int events)
{
    struct lock_job *job = handle->loop->data;
    struct message message;
    int heard = 0;

    (void)status;
    (void)events;
    /* A message may end the job: leave() closes the handle of this callback. */
    while (job->state != LEAVING &&
           (heard = channel_receive(job->supervisor.channel, &message)) > 0) {
        handle_message(job, &message);
    }
    if (job->state != LEAVING && heard < 0) {
        supervisor_failed(job, "has died");
    }
}

static void on_overdue(uv_timer_t *timer)
{
    supervisor_failed(timer->loop->data, "does not answer");
}

static void tell_supervisor(struct lock_job *job, enum message_kind kind, int64_t number)
{
    channel_send_number(job->supervisor.channel, kind, number);
}

/* -------------------------------------------------------------------------- holding */

/* After a loss the validity is 0. With 0 the supervisor would send SIGKILL at once, but
 * a loss gives CMD its grace period (MESSAGE_LOST). */
static void hand_on_validity(struct lock_job *job)
{
    if (!job->lost) {
        atomic_store(job->supervisor.valid_until, uvzk_hold_valid_until(&job->hold));
    }
}

static uint64_t look_every(const struct lock_job *job)
{
    uint64_t part =
        uvzk_client_session_timeout(&job->connection.client) / LOOKS_PER_SESSION;

    return part < LOOK_LEAST_MS  ? LOOK_LEAST_MS
           : part > LOOK_MOST_MS ? LOOK_MOST_MS
                                 : part;
}

/* The validity must be in the shared memory before the supervisor reads MESSAGE_START,
 * because the supervisor checks it before it runs CMD. */
static void run_command(struct lock_job *job)
{
    struct message start = {.kind = MESSAGE_START};

    start.number = uvzk_hold_token(&job->hold);
    start.flags = uvzk_client_session_timeout(&job->connection.client);
    snprintf(start.text, sizeof(start.text), "%s", uvzk_hold_path(&job->hold));
    move(job, RUNNING);
    hand_on_validity(job);
    if (job->request->connection.verbose) {
        fprintf(stderr, "uvzk: %s: granted after %.3f s, token %" PRId64 ", %s\n",
                job->request->path, (double)(uvzk_now() - job->asked_at) / 1000,
                start.number, start.text);
    }
    if (!channel_send(job->supervisor.channel, &start)) {
        supervisor_failed(job, "cannot be reached");
    } else if (job->revoked) {
        tell_supervisor(job, MESSAGE_REVOKE, 0);
    }
}

/* Runs CMD if the hold is valid for long enough. A hold may be granted when little of
 * its validity is left. CMD then waits for the next proof, which on_proofs looks for. If
 * no proof arrives, the hold is lost. The supervisor checks the same condition a little
 * later, hence LOOK_LEAST_MS. */
static void run_when_proved(struct lock_job *job)
{
    uint32_t session = uvzk_client_session_timeout(&job->connection.client);

    if (termination_in_time(&job->request->rules, session, uvzk_now() + LOOK_LEAST_MS,
                            uvzk_hold_valid_until(&job->hold))) {
        run_command(job);
    }
}

static void on_proofs(uv_timer_t *timer)
{
    struct lock_job *job = timer->loop->data;

    if (job->state == WAITING) {
        run_when_proved(job);
    } else {
        hand_on_validity(job);
    }
}

/* No contender of another recipe is at the path, so the hold may be used. */
static void use_hold(struct lock_job *job)
{
    uv_timer_start(&job->proofs, on_proofs, look_every(job), look_every(job));
    run_when_proved(job);
}

/* Returns the znode of a contender whose recipe and this job's recipe do not exclude
 * each other; NULL if there is none. */
static const char *other_holder(const struct lock_job *job)
{
    for (size_t i = 0; i < job->participant_list.count; i++) {
        const struct participant *participant = &job->participant_list.participants[i];
        if (!recipes_exclude(participant->recipe, job->request->recipe)) {
            return participant->node;
        }
    }
    return NULL;
}

static void on_participant_list(struct participant_list *participant_list, int status)
{
    struct lock_job *job = participant_list->data;

    if (job->state != WAITING) {
        return; /* a signal or the loss of the hold has ended the job */
    }
    if (status < 0) {
        fail(job, "cannot be listed", status);
    } else if (other_holder(job) != NULL) {
        fprintf(stderr,
                "uvzk: %s is used as another kind of lock; the two would not exclude "
                "each other: %s\n",
                job->request->path, other_holder(job));
        leave(job, EX_DATAERR);
    } else {
        use_hold(job);
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
    if (status == 0) {
        status =
            participant_list_read(&job->participant_list, false, on_participant_list);
    }
    if (status < 0) {
        refused(job, "cannot be listed", status);
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
    if (job->state == LEAVING) {
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

/* The supervisor may have begun to end CMD already, because the validity was about to
 * end. If the supervisor does not report the end of CMD in time, on_overdue runs. */
static void on_lost(uvzk_hold_t *hold, int reason)
{
    struct lock_job *job = hold->data;

    if (job->state == WAITING) {
        fail(job, "lost before the command was run", reason);
    }
    if (job->state != RUNNING) {
        return;
    }
    job->lost = true;
    uv_timer_stop(&job->proofs);
    fprintf(stderr, "uvzk: %s: the lock was lost: %s%s\n", job->request->path,
            uvzk_strerror(reason),
            job->request->rules.on_lost == ON_LOST_IGNORE ? "; the command goes on" : "");
    tell_supervisor(job, MESSAGE_LOST, 0);
    if (job->request->rules.on_lost != ON_LOST_IGNORE) {
        uv_timer_start(&job->supervisor_timer, on_overdue,
                       job->request->rules.grace_ms + OVERDUE_MS, 0);
    }
}

static void on_revoked(uvzk_hold_t *hold)
{
    struct lock_job *job = hold->data;

    say_verbose(job, "another client asks for the lock");
    job->revoked = true;
    if (job->state == RUNNING) {
        tell_supervisor(job, MESSAGE_REVOKE, 0);
    }
}

/* ------------------------------------------------------------------------ acquiring */

static void on_queued(uvzk_hold_t *hold, uint64_t ahead)
{
    const struct lock_job *job = hold->data;

    if (job->request->connection.verbose) {
        fprintf(stderr, "uvzk: %s: waiting, %" PRIu64 " ahead\n", job->request->path,
                ahead);
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

static int acquire(struct lock_job *job)
{
    uvzk_acquire_options_t options;

    uvzk_acquire_options_init(&options);
    options.timeout_ms = timeout_of(job);
    options.leases = job->request->leases;
    options.queued_cb = on_queued;
    options.revoke_cb = job->request->revocable ? on_revoked : NULL;
    if (job->request->traceparent != NULL) {
        /* Otherwise this is the client's default data. */
        options.node_data = job->request->node_data;
        options.node_data_length = strlen(job->request->node_data);
        options.traceparent = job->request->traceparent;
    }
    job->revoked = false; /* a request to an earlier znode does not count */
    job->hold.data = job;
    return uvzk_lock_acquire(job->lock, &job->hold, &options, on_acquired, on_lost);
}

static void on_connected(struct connection *connection, int status)
{
    struct lock_job *job = connection->data;

    if (job->state != CONNECTING) {
        return; /* a signal has ended the job */
    }
    /* connection.c has printed the reason. */
    if (status < 0) {
        leave(job, EX_UNAVAILABLE);
        return;
    }
    move(job, WAITING);
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

    if (job->state != RUNNING) {
        give_up(job, signal_number);
        return;
    }
    tell_supervisor(job, MESSAGE_SIGNAL, signal_number);
    /* CMD may catch SIGINT: command_ended() decides whether the holder dies of it. */
    if (signal_number == SIGINT) {
        job->killed_by = SIGINT;
    } else if (signal_number == SIGTSTP) {
        job_signals_stop_here(&job->signals);
        tell_supervisor(job, MESSAGE_CONTINUE, 0);
    }
}

/* --------------------------------------------------------------------- the whole job */

/* Returns EX_OK or an exit code. After a failure the process must exit: nothing is
 * closed again. */
static int begin_loop(struct lock_job *job)
{
    uv_loop_init(&job->loop);
    job->loop.data = job;
    job->signals.data = job;
    job->connection.data = job;
    uv_timer_init(&job->loop, &job->proofs);
    uv_timer_init(&job->loop, &job->supervisor_timer);
    int status = uv_poll_init(&job->loop, &job->channel, job->supervisor.channel);
    if (status == 0) {
        status = uv_poll_start(&job->channel, UV_READABLE | UV_DISCONNECT, on_channel);
    }
    if (status == 0) {
        status = job_signals_begin(&job->signals, &job->loop, on_signal);
    }
    if (status < 0) {
        fprintf(stderr, "uvzk: %s\n", uv_strerror(status));
    }
    return status < 0 ? EX_OSERR : EX_OK;
}

static void job_begin(struct lock_job *job, const struct lock_request *request)
{
    job->request = request;
    job->state = CONNECTING;
    job->asked_at = uvzk_now();
}

static int start_supervisor(struct lock_job *job)
{
    const struct supervisor_options orders = {.rules = job->request->rules,
                                              .path = job->request->path,
                                              .hold = job->request->hold,
                                              .command = job->request->command};
    int status = supervisor_start(&job->supervisor, &orders);

    if (status < 0) {
        fprintf(stderr, "uvzk: cannot start the supervisor: %s\n", uv_strerror(status));
    }
    return status < 0 ? EX_OSERR : EX_OK;
}

int lock_job_run(const struct lock_request *request)
{
    static struct lock_job job; /* zeroed; libuv keeps pointers to its handles */

    job_begin(&job, request);
    /* First of all, because the supervisor must inherit no thread and no socket. */
    int failed = start_supervisor(&job);
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
    supervisor_end(&job.supervisor);
    participant_list_free(&job.participant_list);
    if (job.killed_by != 0) {
        job_signals_die(job.killed_by, job.killed_job);
    }
    return job.exit_code;
}
