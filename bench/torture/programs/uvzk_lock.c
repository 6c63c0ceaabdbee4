/* uvzk_lock SERVERS NAME TIMEOUT_MS c-client|native: a lock program (body.py says what that
 * is) with uvzk's mutex, as examples/mutex.c uses it.
 *
 * docs/guide/first-lock.md, docs/guide/lost.md: whoever does something that must not be done
 * twice asks uvzk_hold_is_valid first, and passes the token to the store. The time-out of
 * the session and the servers' tickTime are given; all else is as it comes. */
#include <inttypes.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <uv.h>
#include <uvzk.h>

#define TICK_MS 20
#define SERVER_TICK_MS 500

static uvzk_client_t client;
static uvzk_mutex_t mutex;
static uvzk_hold_t hold;
static uv_pipe_t input;
static uv_timer_t timer;
static char path[256];

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

    snprintf(text, sizeof(text), "%" PRId64, uvzk_hold_token(&hold));
    return text;
}

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
        uvzk_client_close(&client, on_closed);
    }
}

/* ------------------------------------------------------------------------ the section */

static void on_released(uvzk_hold_t *released, int status)
{
    (void)released;
    say(status == 0 ? "unlocked" : "failed", status == 0 ? "" : uvzk_err_name(status));
}

static void unlock(void)
{
    say("unlocking", "");
    int status = uvzk_hold_release(&hold, on_released);
    if (status < 0) { /* it was lost */
        say("unlocked", uvzk_err_name(status));
    }
}

static bool still_holds(void)
{
    uint64_t at = uv_hrtime();
    bool holds = uvzk_hold_is_valid(&hold) != 0;

    if (holds) {
        say_at(at, "holds", "");
    }
    return holds;
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
    uint64_t now = uv_hrtime();

    if (now >= work_end || !still_holds()) {
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

/* --------------------------------------------------------------------------- the lock */

static void on_lost(uvzk_hold_t *lost, int reason)
{
    (void)lost;
    say("lost", uvzk_err_name(reason));
}

static void on_acquired(uvzk_hold_t *granted, int status)
{
    (void)granted;
    if (closing) {
        return;
    }
    if (status < 0) {
        say("failed", uvzk_err_name(status));
        return;
    }
    say("locked", token_text());
    say("read", token_text());
}

static void lock(void)
{
    memset(&hold, 0, sizeof(hold));
    int status = uvzk_lock_acquire(&mutex, &hold, NULL, on_acquired, on_lost);
    if (status < 0) {
        say("failed", uvzk_err_name(status));
    }
}

static void obey(const char *words)
{
    uint64_t ms;
    char how[8];

    if (strcmp(words, "lock") == 0) {
        lock();
    } else if (sscanf(words, "work %" SCNu64 " %" SCNu64 " %7s", &version, &ms, how) ==
               3) {
        work(ms, strcmp(how, "block") == 0);
    } else { /* written, or refused */
        unlock();
    }
}

/* -------------------------------------------------------------------------- the whole */

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

static void parse(uvzk_client_options_t *options, int argc, char **argv)
{
    if (argc != 5) {
        fputs("usage: uvzk_lock SERVERS NAME TIMEOUT_MS c-client|native\n", stderr);
        exit(2);
    }
    uvzk_client_options_init(options);
    options->hosts = argv[1];
    options->session_timeout_ms = (uint32_t)strtoul(argv[3], NULL, 10);
    options->tick_ms = SERVER_TICK_MS;
    options->transport =
        strcmp(argv[4], "native") == 0 ? UVZK_TRANSPORT_NATIVE : UVZK_TRANSPORT_C_CLIENT;
    snprintf(path, sizeof(path), "/%s", argv[2]);
}

static int begin(uv_loop_t *loop, const uvzk_client_options_t *options)
{
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
        status = uvzk_client_init(loop, &client, options);
    }
    if (status == 0) {
        status = uvzk_client_start(&client);
    }
    return status < 0 ? status : uvzk_mutex_init(&client, &mutex, path);
}

int main(int argc, char **argv)
{
    uv_loop_t *loop = uv_default_loop();
    uvzk_client_options_t options;

    parse(&options, argc, argv);
    int status = begin(loop, &options);
    if (status < 0) {
        fprintf(stderr, "%s\n", uvzk_strerror(status));
        return 1;
    }
    say("ready", "");
    uv_run(loop, UV_RUN_DEFAULT);
    return 0;
}
