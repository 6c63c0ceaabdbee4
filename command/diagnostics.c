/* SPDX-License-Identifier: Apache-2.0 */
/* The thread that writes standard error, and the pipe to it (diagnostics.h). A line goes
 * into the pipe as a whole or is dropped and counted, so the loop never waits. */
#include "diagnostics.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <poll.h>
#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "output.h"

/* How long diagnostics_end waits for a reader. */
#define LAST_WAIT_S 1

static struct {
    int from, to;          /* the pipe's ends; a write to `to` does not wait */
    size_t dropped;        /* lines since the last one that had room */
    size_t handed;         /* bytes that the loop has passed to the thread */
    atomic_size_t written; /* of these, by the thread */
    FILE *direct;          /* what stderr was */
    FILE *stream;          /* what it is: line by line to `put` */
    pthread_t thread;
} diagnostics;

/* ---------------------------------------------------------------------- the thread */

/* Another process may have set standard error to be non-blocking. */
static void write_all(const char *text, size_t length)
{
    while (length > 0) {
        ssize_t written = write(STDERR_FILENO, text, length);
        if (written >= 0) {
            text += written;
            length -= (size_t)written;
        } else if (errno == EAGAIN) {
            poll(&(struct pollfd){.fd = STDERR_FILENO, .events = POLLOUT}, 1, -1);
        } else if (errno != EINTR) {
            return; /* no reader is left */
        }
    }
}

static void *relay(void *unused)
{
    char block[PIPE_BUF];
    ssize_t length;

    while ((length = read(diagnostics.from, block, sizeof(block))) > 0) {
        write_all(block, (size_t)length);
        atomic_fetch_add(&diagnostics.written, (size_t)length);
    }
    return unused;
}

/* The loop handles the signals of the process. */
static int start_thread(void)
{
    sigset_t all, before;

    sigfillset(&all);
    pthread_sigmask(SIG_SETMASK, &all, &before);
    int error = pthread_create(&diagnostics.thread, NULL, relay, NULL);
    pthread_sigmask(SIG_SETMASK, &before, NULL);
    return -error;
}

/* ------------------------------------------------------------------------ the loop */

/* A pipe takes a piece of this length as a whole, or not at all. */
static bool hand_over(const char *text, size_t length)
{
    if (write(diagnostics.to, text, length) != (ssize_t)length) {
        return false;
    }
    diagnostics.handed += length;
    return true;
}

bool diagnostics_are_written(void)
{
    return atomic_load(&diagnostics.written) == diagnostics.handed;
}

static void tell_dropped(void)
{
    char begin[OUTPUT_LINE_BEGIN_SIZE], line[OUTPUT_LINE_BEGIN_SIZE + 128];
    int length =
        snprintf(line, sizeof(line), "%s%zu lines dropped: standard error was not read\n",
                 output_line_begin(begin), diagnostics.dropped);

    if (diagnostics.dropped > 0 && hand_over(line, (size_t)length)) {
        diagnostics.dropped = 0;
    }
}

static size_t lines_in(const char *text, size_t length)
{
    size_t lines = 0;

    for (size_t i = 0; i < length; i++) {
        lines += text[i] == '\n';
    }
    return lines;
}

static ssize_t put(void *unused, const char *text, size_t length)
{
    (void)unused;
    for (size_t at = 0; at < length;) {
        size_t piece = length - at < PIPE_BUF ? length - at : PIPE_BUF;
        tell_dropped();
        if (diagnostics.dropped > 0 || !hand_over(text + at, piece)) {
            diagnostics.dropped += lines_in(text + at, piece);
        }
        at += piece;
    }
    return (ssize_t)length;
}

static int open_stream(void)
{
    const cookie_io_functions_t functions = {.write = put};

    diagnostics.stream = fopencookie(NULL, "w", functions);
    if (diagnostics.stream == NULL) {
        return -errno;
    }
    setvbuf(diagnostics.stream, NULL, _IOLBF, PIPE_BUF);
    return 0;
}

static int begin(void)
{
    int ends[2];

    if (pipe2(ends, O_CLOEXEC) < 0) {
        return -errno;
    }
    diagnostics.from = ends[0];
    diagnostics.to = ends[1];
    if (fcntl(ends[1], F_SETFL, O_NONBLOCK) < 0) {
        return -errno;
    }
    int status = open_stream();
    return status == 0 ? start_thread() : status;
}

/* If it fails, the process ends. */
int diagnostics_begin(void)
{
    int status = begin();

    if (status < 0) {
        output_report("nothing can be reported: %s", strerror(-status));
        return status;
    }
    diagnostics.direct = stderr;
    stderr = diagnostics.stream;
    return 0;
}

/* The thread may be waiting for a reader forever: then it ends with the process. */
void diagnostics_end(void)
{
    struct timespec limit;

    fclose(diagnostics.stream);
    stderr = diagnostics.direct;
    tell_dropped();
    close(diagnostics.to);
    clock_gettime(CLOCK_REALTIME, &limit);
    limit.tv_sec += LAST_WAIT_S;
    pthread_timedjoin_np(diagnostics.thread, NULL, &limit);
}
