/* SPDX-License-Identifier: Apache-2.0 */
/* A child process with which a test exchanges lines, on the test's own loop. */
#ifndef PEER_H
#define PEER_H

#include <stdbool.h>
#include <stddef.h>
#include <uv.h>

struct peer {
    uv_loop_t *loop;
    uv_process_t process;
    uv_pipe_t input, output;
    char **lines; /* all lines that it has printed, without newlines */
    size_t count, capacity;
    size_t consumed; /* lines before this index are taken */
    /* Output after the last newline. */
    char *partial;
    size_t partial_length;
    bool silent; /* its output has ended */
    bool exited;
    int64_t exit_status;
    int exit_signal;
    /* libuv handles that are not closed yet. */
    int open_handles;
};

/* Starts the program arguments[0]. The last argument is NULL. The child has the test's
 * stderr. Returns 0 or libuv's code. */
int peer_start(uv_loop_t *loop, struct peer *peer, char **arguments);

/* Sends a line. The newline is added. */
void peer_say(struct peer *peer, const char *format, ...)
    __attribute__((format(printf, 2, 3)));

/* Runs the loop until the child prints a line with this beginning, and takes that line.
 * Returns the line, which is valid until peer_close, or NULL if the output ended or
 * PATIENCE_MS have passed. Lines before it stay available for later calls. */
const char *peer_expect(struct peer *peer, const char *beginning);
/* Sends a line, then calls peer_expect with this beginning. */
const char *peer_ask(struct peer *peer, const char *beginning, const char *format, ...)
    __attribute__((format(printf, 3, 4)));
/* Takes the next available line with this beginning, without waiting. NULL: there is
 * none. */
const char *peer_heard(struct peer *peer, const char *beginning);

void peer_signal(struct peer *peer, int signal);
/* Closes the child's input and waits until the child ends. Returns false after
 * PATIENCE_MS. */
bool peer_wait(struct peer *peer);
/* Kills the child if it runs, waits until it has ended, and frees everything. Must be
 * called once. */
void peer_close(struct peer *peer);

#endif
