/* SPDX-License-Identifier: Apache-2.0 */
/* Catches the signals that the holder forwards, and stops or kills this process as a
 * shell expects (job_signals.h). */
#include "job_signals.h"

#include <signal.h>
#include <string.h>
#include <unistd.h>

static const int handed_on[] = {SIGINT,  SIGTERM,  SIGHUP,  SIGQUIT, SIGUSR1,
                                SIGUSR2, SIGWINCH, SIGCONT, SIGTSTP, SIGALRM};

_Static_assert(sizeof(handed_on) / sizeof(handed_on[0]) <= JOB_SIGNALS_MAX, "room");

bool job_signals_is_ignored(int signal_number)
{
    struct sigaction action;

    return sigaction(signal_number, NULL, &action) == 0 && action.sa_handler == SIG_IGN;
}

static void on_signal(uv_signal_t *handle, int signal_number)
{
    struct job_signals *signals = handle->data;

    signals->cb(signals, signal_number);
}

int job_signals_begin(struct job_signals *signals, uv_loop_t *loop, job_signals_cb cb)
{
    int status = 0;

    signals->cb = cb;
    /* A closed pipe at stderr must not end the holder before CMD. */
    signal(SIGPIPE, SIG_IGN);
    for (size_t i = 0; status == 0 && i < sizeof(handed_on) / sizeof(handed_on[0]); i++) {
        if (job_signals_is_ignored(handed_on[i])) {
            continue;
        }
        uv_signal_t *handle = &signals->handles[signals->count];
        status = uv_signal_init(loop, handle);
        if (status == 0) {
            signals->count++;
            handle->data = signals;
            status = uv_signal_start(handle, on_signal, handed_on[i]);
        }
    }
    return status;
}

void job_signals_end(struct job_signals *signals, uv_close_cb cb)
{
    for (size_t i = 0; i < signals->count; i++) {
        uv_close((uv_handle_t *)&signals->handles[i], cb);
    }
}

void job_signals_stop_here(struct job_signals *signals)
{
    uv_signal_t *handle = NULL;

    for (size_t i = 0; i < signals->count; i++) {
        if (signals->handles[i].signum == SIGTSTP) {
            handle = &signals->handles[i];
        }
    }
    if (handle != NULL) {
        uv_signal_stop(handle); /* restores the default action, which is to stop */
        raise(SIGTSTP);
        uv_signal_start(handle, on_signal, SIGTSTP);
    }
}

void job_signals_die(int signal_number, bool job)
{
    sigset_t set;

    /* The signal may be caught or blocked. */
    signal(signal_number, SIG_DFL);
    sigemptyset(&set);
    sigaddset(&set, signal_number);
    sigprocmask(SIG_UNBLOCK, &set, NULL);
    if (job) {
        kill(0, signal_number);
    }
    raise(signal_number);
}
