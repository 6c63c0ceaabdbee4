/* The signals that are handed on to CMD. What was ignored when we were started, as nohup
 * does it, is left alone. */
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
    size_t count;
    job_signals_cb cb;
    void *data; /* the user's */
};

/* 0 or libuv's code. */
int job_signals_begin(struct job_signals *, uv_loop_t *, job_signals_cb cb);
void job_signals_end(struct job_signals *, uv_close_cb cb);

/* Stops this process as the terminal's SIGTSTP would if it were not caught, and returns
 * when it goes on; at once if nobody is there to continue it (an orphaned group). */
void job_signals_stop_here(struct job_signals *);

/* Dies of this signal, as whoever started us expects it of Ctrl-C; job: together with the
 * rest of the shell's job, which has not got it from the terminal. */
void job_signals_die(int signal_number, bool job);

#endif
