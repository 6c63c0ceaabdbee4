/* SPDX-License-Identifier: Apache-2.0 */
/* The signals that the holder of `uvzk lock` or `uvzk elect` receives and forwards to CMD.
 * A signal that was ignored when uvzk was started, as nohup ignores SIGHUP, stays ignored. */
#ifndef JOB_SIGNALS_H
#define JOB_SIGNALS_H

#include <stdbool.h>
#include <stddef.h>

#include <uv.h>

#define JOB_SIGNALS_MAX 12

struct job_signals;
typedef void (*job_signals_cb)(struct job_signals *, int signal_number);

struct job_signals {
    uv_signal_t handles[JOB_SIGNALS_MAX];
    size_t count; /* of handles: the signals that were not ignored */
    job_signals_cb cb;
    void *data; /* the user's */
};

/* Starts to receive the signals; cb is called for each one. SIGPIPE is ignored from now
 * on. Returns 0 or libuv's error code. */
int job_signals_begin(struct job_signals *, uv_loop_t *, job_signals_cb cb);
/* Closes the handles. cb is called once for each of them, `count` times. */
void job_signals_end(struct job_signals *, uv_close_cb cb);

/* Stops this process, as SIGTSTP does in a process that does not catch it. Returns when
 * the process is continued. Returns at once if SIGTSTP was ignored at the start, or if
 * the process group is orphaned: no shell could continue it, so the kernel does not stop
 * it. */
void job_signals_stop_here(struct job_signals *);

/* Kills this process with the signal, so that the parent, such as a shell after Ctrl-C,
 * sees that the signal ended it. job: also sends the signal to the rest of the shell's
 * job, which did not receive it because CMD's process group had the terminal. */
void job_signals_die(int signal_number, bool job);

/* Returns true if this process ignores the signal now. */
bool job_signals_is_ignored(int signal_number);

#endif
