/* SPDX-License-Identifier: Apache-2.0 */
#include "body.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define TICK_MS 20
#define SERVER_TICK_MS 500

static const struct body_lock *lock;
static uvzk_client_t client;
static uv_pipe_t input;
static uv_timer_t timer;

static char line[256]; /* what has been read of one */
static size_t length;
static uint64_t version;  /* of the set, as it was read */
static uint64_t work_end; /* ns */
static bool closing;

static void say_at(uint64_t at, const char *word, const char *more)
{
    printf("%s %" PRIu64 "%s%s\n", word, at, more[0] != '\0' ? " " : "", more);
    fflush(stdout);
}

static void say(const char *word, const char *more)
{
    say_at(uv_hrtime(), word, more);
}

static const char *token_text(void)
{
    static char text[32];

    snprintf(text, sizeof(text), "%" PRId64, lock->token());
    return text;
}

/* ------------------------------------------------------------------------ the section */

static bool still_holds(void)
{
    uint64_t at = uv_hrtime();
    bool holds = lock->holds();

    if (holds) {
        say_at(at, "holds", "");
    }
    return holds;
}

static void unlock(void)
{
    say("unlocking", "");
    lock->release();
}

static void end_work(void)
{
    char text[64];

    if (!still_holds()) {
        say("gave_up", "");
        unlock();
        return;
    }
    snprintf(text, sizeof(text), "%" PRIu64 " %s", version, token_text());
    say("write", text);
}

static void on_tick(uv_timer_t *of)
{
    (void)of;
    if (uv_hrtime() >= work_end || !still_holds()) {
        uv_timer_stop(&timer);
        end_work();
    }
}

static void work(uint64_t ms, bool blocks)
{
    work_end = uv_hrtime() + ms * 1000000;
    if (!blocks) {
        uv_timer_start(&timer, on_tick, 0, TICK_MS);
        return;
    }
    while (uv_hrtime() < work_end) {
    }
    end_work();
}

/* ---------------------------------------------------------------- what the lock tells */

void body_locked(void)
{
    say("locked", token_text());
    say("read", token_text());
}

void body_lost(int reason)
{
    say("lost", uvzk_err_name(reason));
}

void body_unlocked(int status)
{
    say("unlocked", status == 0 ? "" : uvzk_err_name(status));
}

void body_failed(int status)
{
    if (!closing) {
        say("failed", uvzk_err_name(status));
    }
}

/* -------------------------------------------------------------------------- the input */

static void on_closed(uvzk_client_t *closed)
{
    (void)closed;
    uv_close((uv_handle_t *)&input, NULL);
    uv_close((uv_handle_t *)&timer, NULL);
}

static void finish(void)
{
    if (!closing) {
        closing = true;
        uv_timer_stop(&timer);
        uvzk_client_close(&client, on_closed);
    }
}

static void obey(const char *words)
{
    uint64_t ms;
    char how[8];

    if (strcmp(words, "lock") == 0) {
        lock->acquire();
    } else if (sscanf(words, "work %" SCNu64 " %" SCNu64 " %7s", &version, &ms, how) ==
               3) {
        work(ms, strcmp(how, "block") == 0);
    } else { /* written, or refused */
        unlock();
    }
}

static void on_room(uv_handle_t *handle, size_t suggested, uv_buf_t *room)
{
    (void)handle;
    (void)suggested;
    *room = uv_buf_init(line + length, (unsigned)(sizeof(line) - length));
}

static void on_input(uv_stream_t *stream, ssize_t count, const uv_buf_t *room)
{
    char *end;

    (void)stream;
    (void)room;
    if (count < 0) {
        finish();
        return;
    }
    length += (size_t)count;
    while ((end = memchr(line, '\n', length)) != NULL) {
        *end = '\0';
        obey(line);
        length -= (size_t)(end + 1 - line);
        memmove(line, end + 1, length);
    }
}

/* -------------------------------------------------------------------------- the whole */

static int begin(uv_loop_t *loop, char **argv)
{
    uvzk_client_options_t options;

    uvzk_client_options_init(&options);
    options.hosts = argv[1];
    options.session_timeout_ms = (uint32_t)strtoul(argv[3], NULL, 10);
    options.tick_ms = SERVER_TICK_MS;
    options.transport =
        strcmp(argv[4], "native") == 0 ? UVZK_TRANSPORT_NATIVE : UVZK_TRANSPORT_C_CLIENT;
    int status = uv_pipe_init(loop, &input, 0);
    if (status == 0) {
        status = uv_timer_init(loop, &timer);
    }
    if (status == 0) {
        status = uv_pipe_open(&input, 0);
    }
    if (status == 0) {
        status = uv_read_start((uv_stream_t *)&input, on_room, on_input);
    }
    if (status == 0) {
        status = uvzk_client_init(loop, &client, &options);
    }
    return status < 0 ? status : uvzk_client_start(&client);
}

int body_run(const struct body_lock *of,
             int (*init)(uvzk_client_t *client, const char *path, const char *kind),
             int argc, char **argv)
{
    uv_loop_t *loop = uv_default_loop();
    char path[256];

    if (argc != 6) {
        fprintf(stderr, "usage: %s SERVERS NAME TIMEOUT_MS c-client|native KIND\n",
                argv[0]);
        return 2;
    }
    lock = of;
    snprintf(path, sizeof(path), "/%s", argv[2]);
    int status = begin(loop, argv);
    if (status == 0) {
        status = init(&client, path, argv[5]);
    }
    if (status < 0) {
        fprintf(stderr, "%s\n", uvzk_strerror(status));
        return 1;
    }
    say("ready", "");
    uv_run(loop, UV_RUN_DEFAULT);
    return 0;
}
