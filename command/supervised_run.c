/* SPDX-License-Identifier: Apache-2.0 */
/* The holder's side of a run of CMD (supervised_run.h).
 *
 * The holder does not run CMD itself. It starts the supervisor process first, sends it
 * MESSAGE_START when the lock is held, and writes the end of the hold's validity into
 * shared memory after that. If the holder is killed, the supervisor ends CMD. If the
 * holder is stopped, or the lock is lost, the supervisor ends CMD unless --on-lost is
 * ignore. If the supervisor dies or does not do its work, the holder kills all descendants
 * itself. */
#include "supervised_run.h"

#include <errno.h>
#include <inttypes.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/wait.h>

#include "descendants.h"
#include "diagnostics.h"
#include "exit_code.h"
#include "output.h"

/* How long after the grace period the supervisor may take to report that CMD has
 * ended. */
#define OVERDUE_MS 1000U
/* How often the validity is passed on to the supervisor: this many times in a session
 * timeout, but within the two limits. A proof renews the validity six times in a session
 * timeout. */
#define LOOKS_PER_SESSION 12U
#define LOOK_LEAST_MS 50U
#define LOOK_MOST_MS 1000U
/* How long CMD waits until its start is reported, so that its own output comes after the
 * report. Standard error may have no reader. */
#define SAY_MOST_MS 100U

/* ------------------------------------------------------------------ how it has ended */

static void ended(struct supervised_run *run, const struct supervised_end *end)
{
    run->running = run->started = run->lost = run->at_limit = false;
    run->hold = NULL;
    run->said_at = 0;
    uv_timer_stop(&run->proofs);
    uv_timer_stop(&run->overdue);
    run->ended_cb(run, end);
}

/* The supervisor may have ended CMD because of --max-hold before the hold was lost. */
static int exit_code_of_loss(const struct supervised_run *run, uint32_t flags)
{
    return run->at_limit || (flags & ENDED_AT_LIMIT) ? EXIT_MAX_HOLD : EXIT_LOST;
}

/* The supervisor died or does not do its work. So the holder kills CMD and its
 * descendants, which blocks the loop until they are gone. */
static void supervisor_failed(struct supervised_run *run, const char *how)
{
    const struct supervised_end end = {.outcome = SUPERVISED_OUT_OF_HAND,
                                       .exit_code = run->lost ? exit_code_of_loss(run, 0)
                                                              : EX_OSERR};

    supervisor_kill(&run->supervisor);
    output_report("%s: the supervisor %s; all processes that it had started are killed",
                  run->options.path, how);
    ended(run, &end);
}

static void command_ended(struct supervised_run *run, const struct message *message)
{
    int status = (int)message->number;
    struct supervised_end end = {.outcome = SUPERVISED_ENDED,
                                 .status = exit_code_of_process(status),
                                 .by_signal = WIFSIGNALED(status) ? WTERMSIG(status) : 0,
                                 .in_front = (message->flags & ENDED_IN_FRONT) != 0};

    end.exit_code = end.status;
    if (message->flags & ENDED_NEVER_BEGUN) {
        output_report("%s: lost before the command was run", run->options.path);
    }
    if (message->flags & (ENDED_NEVER_BEGUN | ENDED_BY_US)) {
        end.outcome = SUPERVISED_MADE_TO;
        end.by_signal = 0;
        end.exit_code = exit_code_of_loss(run, message->flags);
    }
    ended(run, &end);
}

static void not_run(struct supervised_run *run, int error)
{
    const struct supervised_end end = {.outcome = SUPERVISED_NOT_RUN,
                                       .exit_code = exit_code_of_start(error)};

    output_report("%s: %s: %s", run->options.path, run->options.command[0],
                  strerror(error));
    ended(run, &end);
}

/* With ON_LOST_IGNORE CMD continues without the lock, so the watchdog does not depend on
 * the hold. */
static void keep_service_alive(struct supervised_run *run)
{
    bool ignores = run->options.rules.on_lost == ON_LOST_IGNORE;

    if (ignores || !run->lost) {
        service_manager_keep_alive(&run->service_manager,
                                   ignores ? UINT64_MAX
                                           : uvzk_hold_valid_until(run->hold),
                                   uvzk_client_session_timeout(run->client));
    }
}

static void handle_message(struct supervised_run *run, const struct message *message)
{
    switch (message->kind) {
    case MESSAGE_STARTED:
        run->started = true;
        keep_service_alive(run);
        break;
    case MESSAGE_NOT_STARTED:
        not_run(run, (int)message->number);
        break;
    case MESSAGE_STOPPED:
        kill(0, SIGTSTP); /* to the shell's job; the user's on_signal stops the holder */
        break;
    case MESSAGE_ENDED:
        command_ended(run, message);
        break;
    default:
        break;
    }
}

/* The callbacks may have closed the handle, or finished the run. */
static bool is_listening(const struct supervised_run *run)
{
    return !run->is_finished && !uv_is_closing((const uv_handle_t *)&run->channel);
}

static void on_channel(uv_poll_t *handle, int status, int events)
{
    struct supervised_run *run = handle->data;
    struct message message;
    int heard = 0;

    (void)status;
    (void)events;
    while (is_listening(run) &&
           (heard = channel_receive(run->supervisor.channel, &message)) > 0) {
        handle_message(run, &message);
    }
    if (is_listening(run) && heard < 0) {
        supervisor_failed(run, "has died");
    }
}

static void on_overdue(uv_timer_t *timer)
{
    supervisor_failed(timer->data, "does not answer");
}

/* ------------------------------------------------------------------ while it is held */

/* After a loss the validity is 0. With 0 the supervisor would send SIGKILL at once, but
 * a loss gives CMD its grace period (MESSAGE_LOST). */
static void hand_on_validity(struct supervised_run *run)
{
    if (!run->lost) {
        atomic_store(run->supervisor.valid_until, uvzk_hold_valid_until(run->hold));
    }
}

static uint64_t look_every(const struct supervised_run *run)
{
    uint64_t part = uvzk_client_session_timeout(run->client) / LOOKS_PER_SESSION;

    part = part > LOOK_MOST_MS ? LOOK_MOST_MS : part;
    part = service_manager_every(&run->service_manager, part);
    return part < LOOK_LEAST_MS ? LOOK_LEAST_MS : part;
}

/* The validity must be in the shared memory before the supervisor reads MESSAGE_START,
 * because the supervisor checks it before it runs CMD. */
static void run_command(struct supervised_run *run)
{
    struct message start = {.kind = MESSAGE_START};

    start.number = uvzk_hold_token(run->hold);
    start.flags = uvzk_client_session_timeout(run->client);
    snprintf(start.text, sizeof(start.text), "%s", uvzk_hold_path(run->hold));
    hand_on_validity(run);
    run->running = true;
    /* A standby's watchdog does not end with a validity. From here on it must. */
    if (run->service_manager.ready) {
        keep_service_alive(run);
    }
    if (channel_send(run->supervisor.channel, &start)) {
        run->begun_cb(run);
    } else {
        supervisor_failed(run, "cannot be reached");
    }
}

/* Reports once that CMD begins. Returns true if CMD no longer has to wait for that. */
static bool begin_is_told(struct supervised_run *run)
{
    if (run->says_begun == NULL) {
        return true;
    }
    if (run->said_at == 0) {
        run->said_at = uvzk_now();
        output_report("%s: %s after %.3f s, token %" PRId64 ", %s", run->options.path,
                      run->says_begun, (double)(run->said_at - run->asked_at) / 1000,
                      uvzk_hold_token(run->hold), uvzk_hold_path(run->hold));
    }
    return diagnostics_are_written() || uvzk_now() - run->said_at >= SAY_MOST_MS;
}

static void on_proofs(uv_timer_t *timer);

/* Runs CMD if the hold is valid for long enough. A hold may be granted when little of
 * its validity is left. CMD then waits for the next proof, which on_proofs looks for. The
 * supervisor checks the same condition a little later, hence LOOK_LEAST_MS. */
static void run_when_proved(struct supervised_run *run)
{
    uint32_t session = uvzk_client_session_timeout(run->client);

    if (!termination_in_time(&run->options.rules, session, uvzk_now() + LOOK_LEAST_MS,
                             uvzk_hold_valid_until(run->hold))) {
        return;
    }
    if (begin_is_told(run)) {
        run_command(run);
    } else {
        uv_timer_start(&run->proofs, on_proofs, 1, look_every(run));
    }
}

static void on_proofs(uv_timer_t *timer)
{
    struct supervised_run *run = timer->data;

    if (run->running) {
        hand_on_validity(run);
        if (run->started) {
            keep_service_alive(run);
        }
    } else {
        run_when_proved(run);
    }
}

void supervised_run_start(struct supervised_run *run, uvzk_hold_t *hold)
{
    run->hold = hold;
    uv_timer_start(&run->proofs, on_proofs, look_every(run), look_every(run));
    run_when_proved(run);
}

void supervised_run_cancel(struct supervised_run *run)
{
    run->hold = NULL;
    run->said_at = 0;
    uv_timer_stop(&run->proofs);
}

/* If the supervisor does not report the end of CMD in time, on_overdue runs. */
static void make_end(struct supervised_run *run, enum message_kind kind, const char *why)
{
    struct message message = {.kind = kind};

    snprintf(message.text, sizeof(message.text), "%s", why);
    channel_send(run->supervisor.channel, &message);
    uv_timer_start(&run->overdue, on_overdue, run->options.rules.grace_ms + OVERDUE_MS,
                   0);
}

/* The supervisor may have begun to end CMD already, because the validity was about to
 * end. */
void supervised_run_lost(struct supervised_run *run, int reason, const char *why)
{
    if (!run->running || run->lost) {
        return;
    }
    run->lost = true;
    run->at_limit = reason == UVZK_EMAXHOLD;
    if (run->options.rules.on_lost != ON_LOST_IGNORE) {
        uv_timer_stop(&run->proofs);
        make_end(run, MESSAGE_LOST, why);
    }
}

void supervised_run_give_up(struct supervised_run *run, const char *why)
{
    if (run->running && !run->lost) {
        make_end(run, MESSAGE_GIVE_UP, why);
    }
}

void supervised_run_tell(struct supervised_run *run, enum message_kind kind,
                         int64_t number)
{
    if (run->running) {
        channel_send_number(run->supervisor.channel, kind, number);
    }
}

/* ---------------------------------------------------------------- begin and end */

int supervised_run_prepare(struct supervised_run *run)
{
    int status = descendants_check();

    output_show_times(); /* of the supervisor, too, which is started before the loop */
    if (status == -ENOENT) {
        output_report(
            "%s: /proc does not show this process: without it, what %s starts cannot "
            "be found and ended when the lock is lost",
            run->options.path, run->options.command[0]);
        return EX_OSFILE;
    }
    if (status == 0) {
        status = supervisor_start(&run->supervisor, &run->options);
    }
    if (status < 0) {
        output_report("%s: cannot start the supervisor: %s", run->options.path,
                      uv_strerror(status));
    }
    return status < 0 ? EX_OSERR : EX_OK;
}

int supervised_run_begin(struct supervised_run *run, uv_loop_t *loop,
                         const uvzk_client_t *client)
{
    run->client = client;
    uv_timer_init(loop, &run->proofs);
    uv_timer_init(loop, &run->overdue);
    run->channel.data = run->proofs.data = run->overdue.data = run;
    int status = uv_poll_init(loop, &run->channel, run->supervisor.channel);

    return status < 0
               ? status
               : uv_poll_start(&run->channel, UV_READABLE | UV_DISCONNECT, on_channel);
}

void supervised_run_finish(struct supervised_run *run)
{
    run->is_finished = true;
    uv_poll_stop(&run->channel);
}

void supervised_run_close(struct supervised_run *run, uv_close_cb cb)
{
    uv_close((uv_handle_t *)&run->channel, cb);
    uv_close((uv_handle_t *)&run->proofs, cb);
    uv_close((uv_handle_t *)&run->overdue, cb);
}

void supervised_run_end(struct supervised_run *run)
{
    supervisor_end(&run->supervisor);
}
