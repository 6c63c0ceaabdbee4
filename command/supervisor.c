#include "supervisor.h"

#include <errno.h>
#include <poll.h>
#include <signal.h>
#include <stddef.h>
#include <stdio.h>
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
#include "terminal.h"

/* The supervisor's side. */
struct supervisor_process {
    const struct supervisor_options *options;
    struct termination termination;
    struct terminal terminal;
    const _Atomic uint64_t *valid_until;
    sigset_t mask;  /* CMD's */
    int channel;    /* -1: the holder has gone */
    int deaths;     /* signalfd of SIGCHLD */
    int alarm;      /* on CLOCK_BOOTTIME, which runs while the machine is suspended */
    pid_t command;  /* its group, too; 0: there is none */
    bool reaped;    /* CMD; its group may still have members */
    bool said;      /* why CMD is ended */
    bool was_front; /* it had the terminal when it ended */
    int status;     /* CMD's, as waitpid() has it */
};

static uint64_t validity(const struct supervisor_process *process)
{
    return atomic_load(process->valid_until);
}

static void tell_end(struct supervisor_process *process, uint32_t flags)
{
    struct message message = {.kind = MESSAGE_ENDED, .flags = flags, .text = ""};

    message.number = process->status;
    channel_send(process->channel, &message);
}

/* ------------------------------------------------------------------------ CMD */

/* CMD's process group, 0 if it has none any more: once CMD has been waited for, the number
 * may be somebody else's. */
static pid_t group_of(const struct supervisor_process *process)
{
    return process->reaped ? 0 : process->command;
}

static void signal_command(const struct supervisor_process *process, int signal_number)
{
    if (group_of(process) > 0) {
        kill(-group_of(process), signal_number);
    } else {
        descendants_signal(0, 0, signal_number); /* those it has left behind */
    }
}

/* What is stopped cannot end when it is asked to, unless it goes on. */
static void carry_out(struct supervisor_process *process, enum termination_action wish,
                      const char *why)
{
    if (wish != ACTION_NONE && !process->said) {
        process->said = true;
        dprintf(STDERR_FILENO, "uvzk: %s: %s is ended\n", why,
                process->options->command[0]);
    }
    if (wish == ACTION_TERM) {
        descendants_signal(group_of(process), 0, SIGTERM);
        descendants_signal(group_of(process), 0, SIGCONT);
    } else if (wish == ACTION_KILL) {
        descendants_signal(group_of(process), 0, SIGKILL);
    }
}

static void start(struct supervisor_process *process, const struct message *message)
{
    const struct child_command_options birth = {.command = process->options->command,
                                                .path = process->options->path,
                                                .node = message->text,
                                                .token = message->number,
                                                .mask = &process->mask,
                                                .terminal = &process->terminal};

    if (!termination_in_time(&process->options->rules, message->flags, uvzk_now(),
                             validity(process))) {
        termination_not_started(&process->termination);
        tell_end(process, ENDED_NEVER_BEGUN);
        return;
    }
    pid_t command = child_command_run(&birth);
    if (command < 0) {
        termination_not_started(&process->termination);
        channel_send_number(process->channel, MESSAGE_NOT_STARTED, -command);
        return;
    }
    process->command = command;
    termination_started(&process->termination, message->flags);
    if (terminal_is_wanted_at_once(&process->terminal)) {
        terminal_give(&process->terminal, command);
    }
}

/* The holder, and with it the shell's job, has gone on after a stop. */
static void go_on(struct supervisor_process *process)
{
    if (terminal_is_wanted_at_once(&process->terminal)) {
        terminal_give(&process->terminal, group_of(process));
    }
    signal_command(process, SIGCONT);
}

/* CMD has been stopped. If it wants the terminal, it gets it. If it had the terminal, the
 * whole job is to stop, of which the shell knows only the holder. Else somebody has
 * stopped CMD alone, who will know why. */
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

static void reap(struct supervisor_process *process)
{
    struct signalfd_siginfo death;
    int status;
    pid_t pid;

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
        "the process that held the lock is gone");
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
                  "the lock was lost");
        break;
    default:
        break;
    }
}

static void receive_messages(struct supervisor_process *process)
{
    struct message message;
    int heard = 0;

    while (process->channel >= 0 &&
           (heard = channel_receive(process->channel, &message)) > 0) {
        handle_message(process, &message);
    }
    if (process->channel >= 0 && heard < 0) {
        holder_gone(process);
    }
}

/* ---------------------------------------------------------------------- waiting */

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

/* The validity moves on without a word: whoever wakes up looks at it again. */
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
        carry_out(process,
                  termination_check(&process->termination, uvzk_now(), validity(process)),
                  "it cannot be proved in time that the lock is still held");
    }
}

static uint32_t flags_of_end(const struct supervisor_process *process)
{
    return (termination_made_to_end(&process->termination) ? ENDED_BY_US : 0) |
           (process->was_front ? ENDED_IN_FRONT : 0);
}

/* Blocked signals reach nobody: what the terminal sends to the job, or somebody to all
 * of us, must not end the supervisor before CMD. */
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
    return process->deaths < 0 || process->alarm < 0 || !descendants_adopt() ? -errno : 0;
}

static void supervisor_main(const struct supervisor_options *options, int channel,
                            pid_t job, const _Atomic uint64_t *valid_until)
{
    struct supervisor_process process = {
        .options = options, .channel = channel, .valid_until = valid_until};

    termination_init(&process.termination, &options->rules);
    int status = prepare(&process);
    if (status < 0) {
        channel_send_number(channel, MESSAGE_NOT_STARTED, -status);
        _exit(1);
    }
    terminal_init(&process.terminal, job);
    run_supervisor(&process);
    if (process.command > 0) {
        tell_end(&process, flags_of_end(&process));
    }
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
    descendants_adopt(); /* whom a supervisor that was killed leaves behind */
    supervisor->pid = fork();
    if (supervisor->pid == 0) {
        close(ends[0]);
        supervisor_main(options, ends[1], job, supervisor->valid_until);
    }
    status = supervisor->pid < 0 ? -errno : 0;
    supervisor->start_time = descendants_start_time(supervisor->pid);
    close(ends[1]);
    supervisor->channel = ends[0];
    return status;
}

void supervisor_kill(struct supervisor *supervisor)
{
    const struct timespec pause = {.tv_nsec = 10 * 1000000L};

    /* Again until nobody is left: one may be born while the others are counted. */
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
