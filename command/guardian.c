#include "guardian.h"

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
#include "descendants.h"
#include "terminal.h"
#include "ward.h"

/* The guardian's side. */
struct watch {
    const struct guardian_orders *orders;
    struct supervision supervision;
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

static uint64_t validity(const struct watch *watch)
{
    return atomic_load(watch->valid_until);
}

static void tell_end(struct watch *watch, uint32_t flags)
{
    struct message message = {.kind = MESSAGE_ENDED, .flags = flags, .text = ""};

    message.number = watch->status;
    channel_tell(watch->channel, &message);
}

/* ------------------------------------------------------------------------ CMD */

/* CMD's process group, 0 if it has none any more: once CMD has been waited for, the number
 * may be somebody else's. */
static pid_t group_of(const struct watch *watch)
{
    return watch->reaped ? 0 : watch->command;
}

static void signal_command(const struct watch *watch, int signal_number)
{
    if (group_of(watch) > 0) {
        kill(-group_of(watch), signal_number);
    } else {
        descendants_signal(0, 0, signal_number); /* those it has left behind */
    }
}

/* What is stopped cannot end when it is asked to, unless it goes on. */
static void carry_out(struct watch *watch, enum supervision_wish wish, const char *why)
{
    if (wish != WISH_NOTHING && !watch->said) {
        watch->said = true;
        dprintf(STDERR_FILENO, "uvzk: %s: %s is ended\n", why, watch->orders->command[0]);
    }
    if (wish == WISH_ASK) {
        descendants_signal(group_of(watch), 0, SIGTERM);
        descendants_signal(group_of(watch), 0, SIGCONT);
    } else if (wish == WISH_KILL) {
        descendants_signal(group_of(watch), 0, SIGKILL);
    }
}

static void start(struct watch *watch, const struct message *message)
{
    const struct ward_birth birth = {.command = watch->orders->command,
                                     .path = watch->orders->path,
                                     .node = message->text,
                                     .token = message->number,
                                     .mask = &watch->mask,
                                     .terminal = &watch->terminal};

    if (!supervision_in_time(&watch->orders->rules, message->flags, uvzk_now(),
                             validity(watch))) {
        supervision_not_started(&watch->supervision);
        tell_end(watch, ENDED_NEVER_BEGUN);
        return;
    }
    pid_t command = ward_run(&birth);
    if (command < 0) {
        supervision_not_started(&watch->supervision);
        channel_tell_number(watch->channel, MESSAGE_NOT_STARTED, -command);
        return;
    }
    watch->command = command;
    supervision_started(&watch->supervision, message->flags);
    if (terminal_is_wanted_at_once(&watch->terminal)) {
        terminal_give(&watch->terminal, command);
    }
}

/* The holder, and with it the shell's job, has gone on after a stop. */
static void go_on(struct watch *watch)
{
    if (terminal_is_wanted_at_once(&watch->terminal)) {
        terminal_give(&watch->terminal, group_of(watch));
    }
    signal_command(watch, SIGCONT);
}

/* CMD has been stopped. If it wants the terminal, it gets it. If it had the terminal, the
 * whole job is to stop, of which the shell knows only the holder. Else somebody has
 * stopped CMD alone, who will know why. */
static void command_stopped(struct watch *watch, int signal_number)
{
    if (signal_number == SIGTTIN || signal_number == SIGTTOU) {
        if (terminal_give(&watch->terminal, group_of(watch))) {
            signal_command(watch, SIGCONT);
        } else {
            channel_tell_number(watch->channel, MESSAGE_STOPPED, signal_number);
        }
    } else if (watch->terminal.given) {
        terminal_take_back(&watch->terminal);
        channel_tell_number(watch->channel, MESSAGE_STOPPED, signal_number);
    }
}

static void reap(struct watch *watch)
{
    struct signalfd_siginfo death;
    int status;
    pid_t pid;

    while (read(watch->deaths, &death, sizeof(death)) > 0) {
    }
    while ((pid = waitpid(-1, &status, WNOHANG | WUNTRACED)) > 0) {
        if (pid != watch->command) {
            continue;
        }
        if (WIFSTOPPED(status)) {
            command_stopped(watch, WSTOPSIG(status));
            continue;
        }
        watch->status = status;
        watch->reaped = true;
        watch->was_front = watch->terminal.given;
        terminal_take_back(&watch->terminal);
        supervision_command_ended(&watch->supervision);
    }
    if (pid < 0 && errno == ECHILD) {
        supervision_nobody_left(&watch->supervision);
    }
}

/* ----------------------------------------------------------------- the holder */

static void holder_gone(struct watch *watch)
{
    close(watch->channel);
    watch->channel = -1;
    carry_out(watch,
              supervision_holder_gone(&watch->supervision, uvzk_now(), validity(watch)),
              "the process that held the lock is gone");
}

static void obey(struct watch *watch, const struct message *message)
{
    switch (message->kind) {
    case MESSAGE_START:
        start(watch, message);
        break;
    case MESSAGE_SIGNAL:
        signal_command(watch, (int)message->number);
        break;
    case MESSAGE_CONTINUE:
        go_on(watch);
        break;
    case MESSAGE_ASK:
        signal_command(watch, SIGTERM);
        signal_command(watch, SIGCONT);
        break;
    case MESSAGE_LOST:
        carry_out(watch, supervision_lost(&watch->supervision, uvzk_now()),
                  "the lock was lost");
        break;
    default:
        break;
    }
}

static void hear(struct watch *watch)
{
    struct message message;
    int heard = 0;

    while (watch->channel >= 0 && (heard = channel_hear(watch->channel, &message)) > 0) {
        obey(watch, &message);
    }
    if (watch->channel >= 0 && heard < 0) {
        holder_gone(watch);
    }
}

/* ---------------------------------------------------------------------- waiting */

static void set_alarm(const struct watch *watch)
{
    struct itimerspec when = {0};
    uint64_t due = supervision_due(&watch->supervision, validity(watch));

    if (due != UINT64_MAX) {
        when.it_value.tv_sec = (time_t)(due / 1000);
        when.it_value.tv_nsec = (long)(due % 1000) * 1000000L + 1; /* 0 would disarm it */
    }
    timerfd_settime(watch->alarm, TFD_TIMER_ABSTIME, &when, NULL);
}

/* The validity moves on without a word: whoever wakes up looks at it again. */
static void keep_watch(struct watch *watch)
{
    while (supervision_state(&watch->supervision) != SUPERVISION_OVER) {
        struct pollfd fds[] = {{.fd = watch->deaths, .events = POLLIN},
                               {.fd = watch->alarm, .events = POLLIN},
                               {.fd = watch->channel, .events = POLLIN}};
        set_alarm(watch);
        poll(fds, sizeof(fds) / sizeof(fds[0]), -1);
        hear(watch);
        reap(watch);
        carry_out(watch,
                  supervision_look(&watch->supervision, uvzk_now(), validity(watch)),
                  "it cannot be proved in time that the lock is still held");
    }
}

static uint32_t flags_of_end(const struct watch *watch)
{
    return (supervision_made_to_end(&watch->supervision) ? ENDED_BY_US : 0) |
           (watch->was_front ? ENDED_IN_FRONT : 0);
}

/* Blocked signals reach nobody: what the terminal sends to the job, or somebody to all
 * of us, must not end the guardian before CMD. */
static int prepare(struct watch *watch)
{
    sigset_t all, deaths;

    sigfillset(&all);
    sigemptyset(&deaths);
    sigaddset(&deaths, SIGCHLD);
    sigprocmask(SIG_SETMASK, &all, &watch->mask);
    setpgid(0, 0);
    prctl(PR_SET_NAME, "uvzk-guardian");
    watch->deaths = signalfd(-1, &deaths, SFD_CLOEXEC | SFD_NONBLOCK);
    watch->alarm = timerfd_create(CLOCK_BOOTTIME, TFD_CLOEXEC | TFD_NONBLOCK);
    return watch->deaths < 0 || watch->alarm < 0 || !descendants_adopt() ? -errno : 0;
}

static void guard(const struct guardian_orders *orders, int channel, pid_t job,
                  const _Atomic uint64_t *valid_until)
{
    struct watch watch = {
        .orders = orders, .channel = channel, .valid_until = valid_until};

    supervision_init(&watch.supervision, &orders->rules);
    int status = prepare(&watch);
    if (status < 0) {
        channel_tell_number(channel, MESSAGE_NOT_STARTED, -status);
        _exit(1);
    }
    terminal_init(&watch.terminal, job);
    keep_watch(&watch);
    if (watch.command > 0) {
        tell_end(&watch, flags_of_end(&watch));
    }
    _exit(0);
}

/* ------------------------------------------------------------- the holder's side */

int guardian_begin(struct guardian *guardian, const struct guardian_orders *orders)
{
    int ends[2];
    pid_t job = getpgrp();

    guardian->valid_until =
        mmap(NULL, sizeof(*guardian->valid_until), PROT_READ | PROT_WRITE,
             MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    if (guardian->valid_until == MAP_FAILED) {
        return -errno;
    }
    int status = channel_open(ends);
    if (status < 0) {
        return status;
    }
    descendants_adopt(); /* whom a guardian that was killed leaves behind */
    guardian->pid = fork();
    if (guardian->pid == 0) {
        close(ends[0]);
        guard(orders, ends[1], job, guardian->valid_until);
    }
    status = guardian->pid < 0 ? -errno : 0;
    guardian->birth = descendants_birth(guardian->pid);
    close(ends[1]);
    guardian->channel = ends[0];
    return status;
}

void guardian_kill(struct guardian *guardian)
{
    const struct timespec pause = {.tv_nsec = 10 * 1000000L};

    /* Again until nobody is left: one may be born while the others are counted. */
    while (descendants_signal(0, guardian->birth, SIGKILL) > 0) {
        nanosleep(&pause, NULL);
    }
}

void guardian_end(struct guardian *guardian)
{
    close(guardian->channel);
    while (waitpid(guardian->pid, NULL, 0) < 0 && errno == EINTR) {
    }
    munmap((void *)(uintptr_t)guardian->valid_until, sizeof(*guardian->valid_until));
}
