/* A child process that is spoken to in lines, on the test's own loop. */
#ifndef PEER_H
#define PEER_H

#include <stdbool.h>
#include <stddef.h>
#include <uv.h>

struct peer {
    uv_loop_t *loop;
    uv_process_t process;
    uv_pipe_t input, output;
    char **lines; /* all it has said, without newlines */
    size_t count, capacity;
    size_t consumed; /* lines before this one are taken */
    char *partial;
    size_t partial_length;
    bool silent; /* its output has ended */
    bool exited;
    int64_t exit_status;
    int exit_signal;
    int open_handles;
};

/* Starts arguments[0] with its arguments, the last one NULL. Its stderr is the
 * test's. 0 or libuv's code. */
int peer_start(uv_loop_t *loop, struct peer *peer, char **arguments);

/* Sends a line, without its newline in the format. */
void peer_say(struct peer *peer, const char *format, ...)
    __attribute__((format(printf, 2, 3)));

/* Runs the loop until it says a line that begins so, and takes that line: the
 * text, valid until peer_close, or NULL if it ended or took too long. Lines
 * before the found one stay untaken for later calls. */
const char *peer_expect(struct peer *peer, const char *beginning);
/* Sends a line, then expects the answer that begins so. */
const char *peer_ask(struct peer *peer, const char *beginning, const char *format, ...)
    __attribute__((format(printf, 3, 4)));
/* Takes the next untaken line that begins so and is there already, or NULL. */
const char *peer_heard(struct peer *peer, const char *beginning);

void peer_signal(struct peer *peer, int signal);
/* Ends its input and waits for its end. false: it took too long. */
bool peer_wait(struct peer *peer);
/* Kills it if it runs, waits, and frees everything. Once. */
void peer_close(struct peer *peer);

#endif
