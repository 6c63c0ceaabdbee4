/* SPDX-License-Identifier: Apache-2.0 */
/* A child process with which a test exchanges lines, on the test's loop. The live and
 * interop tests call it.
 *
 * The one idea: all lines of the child are kept. peer_expect and peer_heard search them
 * for a beginning and take one line each. So a test need not expect lines in the order in
 * which the child prints them. */
#include "peer.h"

#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "run_loop.h"

struct said {
    uv_write_t write;
    char text[];
};

static void *checked(void *memory)
{
    if (memory == NULL) {
        fprintf(stderr, "peer: out of memory\n");
        abort();
    }
    return memory;
}

static void handle_closed(uv_handle_t *handle)
{
    struct peer *peer = handle->data;
    peer->open_handles--;
}

static void on_ended(uv_process_t *process, int64_t status, int signal)
{
    struct peer *peer = process->data;
    peer->exited = true;
    peer->exit_status = status;
    peer->exit_signal = signal;
}

static void keep_line(struct peer *peer, const char *text, size_t length)
{
    if (peer->count == peer->capacity) {
        peer->capacity = peer->capacity * 2 + 64;
        peer->lines =
            checked(realloc(peer->lines, peer->capacity * sizeof(peer->lines[0])));
    }
    peer->lines[peer->count++] = checked(strndup(text, length));
}

static void take_apart(struct peer *peer)
{
    char *start = peer->partial, *end = peer->partial + peer->partial_length;
    char *newline;
    while ((newline = memchr(start, '\n', (size_t)(end - start))) != NULL) {
        keep_line(peer, start, (size_t)(newline - start));
        start = newline + 1;
    }
    peer->partial_length = (size_t)(end - start);
    memmove(peer->partial, start, peer->partial_length);
}

static void allocate(uv_handle_t *handle, size_t suggested, uv_buf_t *buffer)
{
    struct peer *peer = handle->data;
    peer->partial = checked(realloc(peer->partial, peer->partial_length + suggested));
    *buffer = uv_buf_init(peer->partial + peer->partial_length, (unsigned)suggested);
}

static void received(uv_stream_t *stream, ssize_t got, const uv_buf_t *buffer)
{
    struct peer *peer = stream->data;
    (void)buffer;
    if (got < 0) {
        peer->silent = true;
        uv_read_stop(stream);
        return;
    }
    peer->partial_length += (size_t)got;
    take_apart(peer);
}

int peer_start(uv_loop_t *loop, struct peer *peer, char **arguments)
{
    uv_stdio_container_t stdio[3];
    uv_process_options_t options;
    memset(peer, 0, sizeof(*peer));
    memset(&options, 0, sizeof(options));
    signal(SIGPIPE, SIG_IGN); /* the child may end before it has read everything */
    peer->loop = loop;
    uv_pipe_init(loop, &peer->input, 0);
    uv_pipe_init(loop, &peer->output, 0);
    peer->input.data = peer->output.data = peer->process.data = peer;
    peer->open_handles = 3;
    stdio[0].flags = UV_CREATE_PIPE | UV_READABLE_PIPE;
    stdio[0].data.stream = (uv_stream_t *)&peer->input;
    stdio[1].flags = UV_CREATE_PIPE | UV_WRITABLE_PIPE;
    stdio[1].data.stream = (uv_stream_t *)&peer->output;
    stdio[2].flags = UV_INHERIT_FD;
    stdio[2].data.fd = 2;
    options.file = arguments[0];
    options.args = arguments;
    options.stdio = stdio;
    options.stdio_count = 3;
    options.exit_cb = on_ended;
    int status = uv_spawn(loop, &peer->process, &options);
    peer->exited = peer->silent = status != 0;
    if (status == 0) {
        status = uv_read_start((uv_stream_t *)&peer->output, allocate, received);
    }
    return status;
}

static void sent(uv_write_t *write, int status)
{
    /* The child may have ended. A test that waits for its answer notices that. */
    (void)status;
    free(write);
}

static void say(struct peer *peer, const char *format, va_list arguments)
{
    char line[2048];
    int length = vsnprintf(line, sizeof(line) - 1, format, arguments);
    if (length < 0 || (size_t)length >= sizeof(line) - 1) {
        fprintf(stderr, "peer: line too long\n");
        abort();
    }
    line[length++] = '\n';
    struct said *said = checked(malloc(sizeof(*said) + (size_t)length));
    memcpy(said->text, line, (size_t)length);
    uv_buf_t buffer = uv_buf_init(said->text, (unsigned)length);
    if (uv_write(&said->write, (uv_stream_t *)&peer->input, &buffer, 1, sent) != 0) {
        free(said);
    }
}

void peer_say(struct peer *peer, const char *format, ...)
{
    va_list arguments;
    va_start(arguments, format);
    say(peer, format, arguments);
    va_end(arguments);
}

/* Takes a line: moves it behind the lines that are already taken, so that those not taken
 * stay in order. */
const char *peer_heard(struct peer *peer, const char *beginning)
{
    for (size_t i = peer->consumed; i < peer->count; i++) {
        if (strncmp(peer->lines[i], beginning, strlen(beginning)) == 0) {
            char *line = peer->lines[i];
            memmove(peer->lines + peer->consumed + 1, peer->lines + peer->consumed,
                    (i - peer->consumed) * sizeof(peer->lines[0]));
            peer->lines[peer->consumed++] = line;
            return line;
        }
    }
    return NULL;
}

struct expectation {
    struct peer *peer;
    const char *beginning, *found;
};

static bool is_met(void *context)
{
    struct expectation *expectation = context;
    expectation->found = peer_heard(expectation->peer, expectation->beginning);
    return expectation->found != NULL || expectation->peer->silent;
}

const char *peer_expect(struct peer *peer, const char *beginning)
{
    struct expectation expectation = {peer, beginning, NULL};
    run_until(peer->loop, is_met, &expectation, PATIENCE_MS);
    if (expectation.found == NULL) {
        fprintf(stderr, "peer: never said \"%s\"%s\n", beginning,
                peer->silent ? ", it ended" : "");
        for (size_t i = peer->consumed; i < peer->count; i++) {
            fprintf(stderr, "peer: said %s\n", peer->lines[i]);
        }
    }
    return expectation.found;
}

const char *peer_ask(struct peer *peer, const char *beginning, const char *format, ...)
{
    va_list arguments;
    va_start(arguments, format);
    say(peer, format, arguments);
    va_end(arguments);
    return peer_expect(peer, beginning);
}

void peer_signal(struct peer *peer, int signal)
{
    uv_process_kill(&peer->process, signal);
}

static void end_input(struct peer *peer)
{
    if (!uv_is_closing((uv_handle_t *)&peer->input)) {
        uv_close((uv_handle_t *)&peer->input, handle_closed);
    }
}

bool peer_wait(struct peer *peer)
{
    end_input(peer);
    return run_until_set(peer->loop, &peer->exited);
}

static bool has_no_handles(void *context)
{
    const struct peer *peer = context;
    return peer->open_handles == 0;
}

void peer_close(struct peer *peer)
{
    if (!peer->exited) {
        peer_signal(peer, SIGKILL);
        run_until_set(peer->loop, &peer->exited);
    }
    end_input(peer);
    uv_close((uv_handle_t *)&peer->output, handle_closed);
    uv_close((uv_handle_t *)&peer->process, handle_closed);
    run_until(peer->loop, has_no_handles, peer, PATIENCE_MS);
    for (size_t i = 0; i < peer->count; i++) {
        free(peer->lines[i]);
    }
    free(peer->lines);
    free(peer->partial);
}
