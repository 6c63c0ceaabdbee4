/* SPDX-License-Identifier: Apache-2.0 */
/* The supervisor process of `uvzk lock` and `uvzk elect`, and the functions by which the
 * holder starts and ends it. supervised_run.c calls them.
 *
 * supervisor_start forks. The child never returns from supervisor_main: it waits with
 * poll() for messages, for the end of child processes and for its alarm. After each of
 * them it asks termination.c what to do now. The clock and the shared memory decide when
 * CMD must end, not messages, so a holder that is stopped or slow cannot delay that. */
#include "supervisor.h"

#include <errno.h>
#include <poll.h>
#include <signal.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/signalfd.h>
#include <sys/timerfd.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include <uvzk.h>

#include "channel.h"
#include "child_command.h"
#include "descendants.h"
#include "diagnostics.h"
#include "enclosing_hold.h"
#include "output.h"
#include "terminal.h"

/* The supervisor's side. */
struct supervisor_process {
    const struct supervisor_options *options;
    struct termination termination;
    struct terminal terminal;
    const _Atomic uint64_t *valid_until;
    sigset_t mask;  /* the signal mask for CMD: the one with which uvzk was started */
    int channel;    /* the supervisor's end; -1: the holder is gone */
    int deaths;     /* signalfd of SIGCHLD */
    int alarm;      /* timerfd on CLOCK_BOOTTIME, which counts suspended time too */
    pid_t command;  /* process id and process group of CMD; 0: CMD was not run */
    bool reaped;    /* CMD was waited for; its group may still have members */
    bool said;      /* the reason why CMD is ended was printed */
    bool was_front; /* CMD had the terminal when it ended */
    bool at_limit;  /* CMD is ended because of --max-hold */
    uint64_t limit; /* when the hold ends (CLOCK_BOOTTIME, ms); 0: not known */
    int status;     /* CMD's, from waitpid() */
};

/* Until when the hold is valid (CLOCK_BOOTTIME, ms). The holder changes it at any
 * time. */
static uint64_t validity(const struct supervisor_process *process)
{
    return atomic_load(process->valid_until);
}

/* Tells the holder that CMD has ended. If the holder is gone, the send fails, which does
 * not matter. */
static void tell_end(struct supervisor_process *process, uint32_t flags)
{
    struct message message = {.kind = MESSAGE_ENDED, .flags = flags, .text = ""};

    message.number = process->status;
    channel_send(process->channel, &message);
}

/* ------------------------------------------------------------------------ CMD */

/* Returns CMD's process group, or 0 if CMD was not run or was waited for: after that the
 * kernel may give the number to another process group. */
static pid_t group_of(const struct supervisor_process *process)
{
    return process->reaped ? 0 : process->command;
}

static void signal_command(const struct supervisor_process *process, int signal_number)
{
    if (group_of(process) > 0) {
        kill(-group_of(process), signal_number);
    } else {
        descendants_signal(0, 0, signal_number); /* what CMD has left running */
    }
}

/* Sends what termination.c has decided. The reason is printed once. A stopped process
 * does not handle SIGTERM until it is continued, hence SIGCONT. */
static void carry_out(struct supervisor_process *process, enum termination_action wish,
                      const char *why)
{
    if (wish != ACTION_NONE && !process->said) {
        process->said = true;
        output_report("%s: %s: ending %s", process->options->path, why,
                      process->options->command[0]);
    }
    if (wish == ACTION_TERM) {
        descendants_signal(group_of(process), 0, SIGTERM);
        descendants_signal(group_of(process), 0, SIGCONT);
    } else if (wish == ACTION_KILL) {
        descendants_signal(group_of(process), 0, SIGKILL);
    }
}

/* MESSAGE_START: runs CMD. */
static void start(struct supervisor_process *process, const struct message *message)
{
    char *held = enclosing_hold_add(process->options->hold);
    const struct child_command_options birth = {.command = process->options->command,
                                                .path = process->options->path,
                                                .node = message->text,
                                                .token = message->number,
                                                .held = held,
                                                .mask = &process->mask,
                                                .terminal = &process->terminal};

    /* Time may have passed since the holder sent the message. */
    if (!termination_in_time(&process->options->rules, message->flags, uvzk_now(),
                             validity(process))) {
        termination_not_started(&process->termination);
        tell_end(process, ENDED_NEVER_BEGUN);
        free(held);
        return;
    }
    pid_t command = held == NULL ? -ENOMEM : child_command_run(&birth);
    free(held);
    if (command < 0) {
        termination_not_started(&process->termination);
        channel_send_number(process->channel, MESSAGE_NOT_STARTED, -command);
        return;
    }
    process->command = command;
    termination_started(&process->termination, message->flags);
    channel_send_number(process->channel, MESSAGE_STARTED, command);
    /* The child has already done this. Here it sets process->terminal.given. */
    if (terminal_is_wanted_at_once(&process->terminal)) {
        terminal_give(&process->terminal, command);
    }
}

/* MESSAGE_CONTINUE: the shell has continued its job, and with it the holder. */
static void go_on(struct supervisor_process *process)
{
    if (terminal_is_wanted_at_once(&process->terminal)) {
        terminal_give(&process->terminal, group_of(process));
    }
    signal_command(process, SIGCONT);
}

/* CMD has stopped. SIGTTIN and SIGTTOU mean that CMD needs the terminal: it gets the
 * terminal and is continued. If it cannot get the terminal, or if it stopped while it
 * had the terminal (Ctrl-Z), the shell's whole job must stop. The shell does not know
 * CMD's group, so the holder stops the job (MESSAGE_STOPPED). Otherwise another process
 * has stopped CMD alone, and nothing is done. */
static void command_stopped(struct supervisor_process *process, int signal_number)
{
    if (signal_number == SIGTTIN || signal_number == SIGTTOU) {
        if (terminal_give(&process->terminal, group_of(process))) {
            signal_command(process, SIGCONT);
        } else {
            channel_send_number(process->channel, MESSAGE_STOPPED, signal_number);
        }
    } else if (process->terminal.given) {
        terminal_take_back(&process->terminal);
        channel_send_number(process->channel, MESSAGE_STOPPED, signal_number);
    }
}

/* Waits for all children that have ended or stopped: CMD and adopted descendants. */
static void reap(struct supervisor_process *process)
{
    struct signalfd_siginfo death;
    int status;
    pid_t pid;

    /* One SIGCHLD may stand for several children, so waitpid() decides. */
    while (read(process->deaths, &death, sizeof(death)) > 0) {
    }
    while ((pid = waitpid(-1, &status, WNOHANG | WUNTRACED)) > 0) {
        if (pid != process->command) {
            continue;
        }
        if (WIFSTOPPED(status)) {
            command_stopped(process, WSTOPSIG(status));
            continue;
        }
        process->status = status;
        process->reaped = true;
        process->was_front = process->terminal.given;
        terminal_take_back(&process->terminal);
        termination_command_ended(&process->termination);
    }
    if (pid < 0 && errno == ECHILD) {
        termination_nobody_left(&process->termination);
    }
}

/* ----------------------------------------------------------------- the holder */

static void holder_gone(struct supervisor_process *process)
{
    close(process->channel);
    process->channel = -1;
    carry_out(
        process,
        termination_holder_gone(&process->termination, uvzk_now(), validity(process)),
        process->options->says_holder_gone);
}

static void handle_message(struct supervisor_process *process,
                           const struct message *message)
{
    switch (message->kind) {
    case MESSAGE_START:
        start(process, message);
        break;
    case MESSAGE_SIGNAL:
        signal_command(process, (int)message->number);
        break;
    case MESSAGE_CONTINUE:
        go_on(process);
        break;
    case MESSAGE_REVOKE:
        signal_command(process, SIGTERM);
        signal_command(process, SIGCONT);
        break;
    case MESSAGE_LOST:
        carry_out(process, termination_lost(&process->termination, uvzk_now()),
                  message->text);
        break;
    case MESSAGE_GIVE_UP:
        carry_out(process, termination_given_up(&process->termination, uvzk_now()),
                  message->text);
        break;
    case MESSAGE_MAX_HOLD:
        process->limit = (uint64_t)message->number;
        break;
    default:
        break;
    }
}

static void receive_messages(struct supervisor_process *process)
{
    struct message message;
    int heard = 0;

    /* A message does not close the channel, but holder_gone() does. */
    while (process->channel >= 0 &&
           (heard = channel_receive(process->channel, &message)) > 0) {
        handle_message(process, &message);
    }
    if (process->channel >= 0 && heard < 0) {
        holder_gone(process);
    }
}

/* ---------------------------------------------------------------------- waiting */

/* Sets the alarm to the next time at which something may have to be done. This also
 * clears an earlier expiration, so the timerfd is never read. */
static void set_alarm(const struct supervisor_process *process)
{
    struct itimerspec when = {0};
    uint64_t due = termination_next_check(&process->termination, validity(process));

    if (due != UINT64_MAX) {
        when.it_value.tv_sec = (time_t)(due / 1000);
        when.it_value.tv_nsec = (long)(due % 1000) * 1000000L + 1; /* 0 would disarm it */
    }
    timerfd_settime(process->alarm, TFD_TIMER_ABSTIME, &when, NULL);
}

/* As long as proofs arrive, only the longest hold ends the validity. */
static void check_now(struct supervisor_process *process)
{
    bool rest_is_due = termination_rest_is_due(&process->termination);
    uint64_t valid_until = validity(process);
    enum termination_action wish =
        termination_check(&process->termination, uvzk_now(), valid_until);

    if (wish != ACTION_NONE && !process->said) {
        process->at_limit =
            !rest_is_due && process->limit != 0 && valid_until >= process->limit;
    }
    carry_out(process, wish,
              rest_is_due         ? "not all that it has started has ended with it"
              : process->at_limit ? "it has been held for --max-hold"
                                  : process->options->says_unproved);
}

/* No message says that the holder has extended the validity. So the alarm may fire
 * although the hold was proved again: termination_check() then does nothing, and the
 * alarm is set again. poll() ignores a channel of -1. */
static void run_supervisor(struct supervisor_process *process)
{
    while (termination_state(&process->termination) != TERMINATION_OVER) {
        struct pollfd fds[] = {{.fd = process->deaths, .events = POLLIN},
                               {.fd = process->alarm, .events = POLLIN},
                               {.fd = process->channel, .events = POLLIN}};
        set_alarm(process);
        poll(fds, sizeof(fds) / sizeof(fds[0]), -1);
        receive_messages(process);
        reap(process);
        check_now(process);
    }
}

static uint32_t flags_of_end(const struct supervisor_process *process)
{
    return (termination_made_to_end(&process->termination) ? ENDED_BY_US : 0) |
           (process->was_front ? ENDED_IN_FRONT : 0) |
           (process->at_limit ? ENDED_AT_LIMIT : 0);
}

/* Blocks all signals and leaves the shell's process group. A signal from the terminal to
 * the job, or from a user to all processes, must not end the supervisor before CMD. */
static int prepare(struct supervisor_process *process)
{
    sigset_t all, deaths;

    sigfillset(&all);
    sigemptyset(&deaths);
    sigaddset(&deaths, SIGCHLD);
    sigprocmask(SIG_SETMASK, &all, &process->mask);
    setpgid(0, 0);
    prctl(PR_SET_NAME, "uvzk-supervisor");
    process->deaths = signalfd(-1, &deaths, SFD_CLOEXEC | SFD_NONBLOCK);
    process->alarm = timerfd_create(CLOCK_BOOTTIME, TFD_CLOEXEC | TFD_NONBLOCK);
    if (process->deaths < 0 || process->alarm < 0) {
        return -errno;
    }
    int status = descendants_adopt();
    return status < 0 ? status : diagnostics_begin();
}

/* Waits for MESSAGE_START, and then until CMD has ended. */
static void supervise_once(struct supervisor_process *process)
{
    termination_init(&process->termination, &process->options->rules);
    process->command = 0;
    process->reaped = process->said = process->was_front = process->at_limit = false;
    process->limit = 0;
    run_supervisor(process);
    /* If CMD was not run, start() has already told the holder why. */
    if (process->command > 0) {
        tell_end(process, flags_of_end(process));
    }
}

/* The child's main function; never returns. job: the process group of the shell's job. */
static void supervisor_main(const struct supervisor_options *options, int channel,
                            pid_t job, const _Atomic uint64_t *valid_until)
{
    struct supervisor_process process = {
        .options = options, .channel = channel, .valid_until = valid_until};

    int status = prepare(&process);
    if (status < 0) {
        channel_send_number(channel, MESSAGE_NOT_STARTED, -status);
        _exit(1);
    }
    terminal_init(&process.terminal, job);
    do {
        supervise_once(&process);
    } while (options->again && process.channel >= 0);
    diagnostics_end();
    _exit(0);
}

/* ------------------------------------------------------------- the holder's side */

int supervisor_start(struct supervisor *supervisor,
                     const struct supervisor_options *options)
{
    int ends[2];
    pid_t job = getpgrp();

    supervisor->valid_until =
        mmap(NULL, sizeof(*supervisor->valid_until), PROT_READ | PROT_WRITE,
             MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    if (supervisor->valid_until == MAP_FAILED) {
        return -errno;
    }
    int status = channel_open(ends);
    if (status < 0) {
        return status;
    }
    status = descendants_adopt(); /* the children of a supervisor that is killed */
    if (status < 0) {
        return status;
    }
    supervisor->pid = fork();
    if (supervisor->pid == 0) {
        close(ends[0]);
        supervisor_main(options, ends[1], job, supervisor->valid_until);
    }
    status = supervisor->pid < 0 ? -errno : 0;
    supervisor->start_time = descendants_start_time(supervisor->pid);
    if (status == 0 && supervisor->start_time == 0) {
        status = -EMFILE; /* /proc was readable, so file descriptors are short */
    }
    close(ends[1]);
    supervisor->channel = ends[0];
    return status;
}

void supervisor_kill(struct supervisor *supervisor)
{
    const struct timespec pause = {.tv_nsec = 10 * 1000000L};

    /* Repeats until none is left, because a process may be started during the call. The
     * start time spares children that this process had before it became uvzk by exec. */
    while (descendants_signal(0, supervisor->start_time, SIGKILL) > 0) {
        nanosleep(&pause, NULL);
    }
}

void supervisor_end(struct supervisor *supervisor)
{
    close(supervisor->channel);
    while (waitpid(supervisor->pid, NULL, 0) < 0 && errno == EINTR) {
    }
    munmap((void *)(uintptr_t)supervisor->valid_until, sizeof(*supervisor->valid_until));
}
