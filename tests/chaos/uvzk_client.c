/* SPDX-License-Identifier: Apache-2.0 */
/* chaos_uvzk_client: a process with one uvzk client, for the chaos program. It acquires
 * and releases locks repeatedly, stands for election repeatedly, and prints the begin and
 * the end of each hold and each reign. It reads commands from stdin, one per line.
 * Arguments: hosts, session timeout and the servers' tick in ms, number of sessions,
 * directory of the fenced resources, name server.
 *
 *   lock NAME KIND PATH [N]       made NAME      kinds: see make() and make_lock()
 *   multi NAME FLAGS MEMBER...    made NAME
 *   work ID NAME HOLD_MS PAUSE_MS PATIENCE_MS LEASES LONG_MS
 *       a worker acquires the lock repeatedly until "rest"; one hold in 200 lasts a
 *       random time below LONG_MS instead of HOLD_MS. If NAME is a value: it is set
 *       repeatedly
 *   rest                          resting, when no worker holds or waits
 *   go                            continues after "rest"
 *   known N                       known N ... (introspection.c), then known N end
 *   late MS                       late MS: keeps the loop's thread busy for so long
 *   busy THREADS MS               busy THREADS: occupies so many threads of libuv's pool
 *   wall MS                       sets the wall clock of this process ahead (or, if
 *                                 negative, behind): wall AHEAD, the difference that
 *                                 libuv now sees, against CLOCK_BOOTTIME
 *
 * Without a command it prints:
 *   ready
 *   session NUMBER ID T_MS CONNECTED AT_NS  of each session, at each state callback
 *   granted ID NAME FROM 0 TOKEN COHORT SESSION LEASES - PATH...    "held" tells its end
 *   held ID NAME FROM UNTIL TOKEN COHORT SESSION LEASES END PATH...
 *       times in ns of CLOCK_BOOTTIME: from the grant to the release, or to the end of
 *       validity. END: released, or the code of the loss
 *   shown NAME MZXID VERSION CONTENT AT_NS  of a shared value (kind value or count)
 *   set ID NAME STATUS CONTENT SENT_NS AT_NS
 *       the result of a set; STATUS: 0, or the code
 *   refused ID NAME STATUS AT_NS
 *   fell ID NAME TOKEN            the fenced resource refused the token of a valid hold
 *   older ID NAME TOKEN BEFORE    a participant was told of an older leader than before
 * An error is printed as "error ID-or-NAME TEXT". The process ends when stdin ends. */
#include "client.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "discovery/host_names.h"
#include "wall_clock.h"

#define SAMPLE_MS 2
#define WORDS_MAX 16
#define NS_IN_MS 1000000U

struct chaos_client chaos;
static char line[4096];
static size_t length;

uint64_t now_ns(void)
{
    struct timespec now;
    clock_gettime(CLOCK_BOOTTIME, &now);
    return (uint64_t)now.tv_sec * 1000 * NS_IN_MS + (uint64_t)now.tv_nsec;
}

void say(const char *format, ...)
{
    va_list arguments;
    va_start(arguments, format);
    vprintf(format, arguments);
    va_end(arguments);
    putchar('\n');
    fflush(stdout);
}

void wrong(const char *who, int status)
{
    say("error %s %s %s", who, uvzk_err_name(status), uvzk_refusal(status));
}

void tell_resting(void)
{
    if (workers_rest() && values_rest()) {
        say("resting");
    }
}

/* ------------------------------------------------------- faults in the process itself */

/* Keeps the loop's thread busy, as a user's slow callback does. Meanwhile it reads until
 * when the holds are valid, as such a callback would. */
static void be_late(uint64_t ms)
{
    for (uint64_t until = uvzk_now() + ms; uvzk_now() < until;) {
        workers_sample();
        usleep(1000);
    }
    say("late %llu", (unsigned long long)ms);
}

static void occupy(uv_work_t *work)
{
    usleep((useconds_t)(*(uint64_t *)work->data * 1000));
}

static void occupied(uv_work_t *work, int status)
{
    (void)status;
    free(work->data);
    free(work);
}

static void be_busy(int threads, uint64_t ms)
{
    for (int i = 0; i < threads; i++) {
        uv_work_t *work = malloc(sizeof(*work));
        uint64_t *patience = malloc(sizeof(*patience));
        if (work == NULL || patience == NULL) {
            abort();
        }
        *patience = ms;
        work->data = patience;
        uv_queue_work(&chaos.loop, work, occupy, occupied);
    }
    say("busy %d", threads);
}

static int64_t wall_ahead_of_boot_ms(void)
{
    uv_timeval64_t wall;
    uv_gettimeofday(&wall);
    return wall.tv_sec * 1000 + wall.tv_usec / 1000 - (int64_t)(now_ns() / NS_IN_MS);
}

static void set_wall_clock(int64_t ahead_ms)
{
    wall_clock_set_ahead(0);
    int64_t before = wall_ahead_of_boot_ms();
    wall_clock_set_ahead(ahead_ms);
    say("wall %lld", (long long)(wall_ahead_of_boot_ms() - before));
}

/* --------------------------------------------------------------------------- commands */

static uint32_t number(char *const *words, int count, int index)
{
    return index < count ? (uint32_t)strtoul(words[index], NULL, 10) : 0;
}

static void begin_work(char *const *words, int count)
{
    if (begin_setting(words[1], words[2], number(words, count, 4))) {
        return;
    }
    struct worker *worker = &chaos.workers[chaos.worker_count];
    struct chaos_lock *lock = find_lock(words[2]);
    if (count < 8 || lock == NULL || chaos.worker_count == WORKERS_MAX) {
        wrong(words[1], UV_EINVAL);
        return;
    }
    chaos.worker_count++;
    snprintf(worker->id, sizeof(worker->id), "%s", words[1]);
    worker->lock = lock;
    worker->hold_ms = number(words, count, 3);
    worker->pause_ms = number(words, count, 4);
    worker->patience_ms = strtoll(words[5], NULL, 10);
    worker->leases = number(words, count, 6);
    worker->long_ms = number(words, count, 7);
    worker_begin(worker);
}

static void make(char **words, int count)
{
    int status;
    if (strcmp(words[0], "multi") == 0) {
        status =
            make_multi(words[1], number(words, count, 2), words + 3, (size_t)count - 3);
    } else if (strcmp(words[2], "value") == 0 || strcmp(words[2], "count") == 0) {
        status = make_value(words[1], words[2][0] == 'c', words[3]);
    } else {
        status = make_lock(words[1], words[2], words[3], number(words, count, 4));
    }
    if (status < 0) {
        wrong(words[1], status);
    } else {
        say("made %s", words[1]);
    }
}

static void obey(char *text)
{
    char *words[WORDS_MAX];
    int count = 0;
    for (char *word = strtok(text, " "); word != NULL && count < WORDS_MAX;
         word = strtok(NULL, " ")) {
        words[count++] = word;
    }
    if (count >= 4 && (strcmp(words[0], "lock") == 0 || strcmp(words[0], "multi") == 0)) {
        make(words, count);
    } else if (count >= 3 && strcmp(words[0], "work") == 0) {
        begin_work(words, count);
    } else if (count == 2 && strcmp(words[0], "known") == 0) {
        tell_known(words[1]);
    } else if (count == 2 && strcmp(words[0], "late") == 0) {
        be_late(number(words, count, 1));
    } else if (count == 3 && strcmp(words[0], "busy") == 0) {
        be_busy((int)number(words, count, 1), number(words, count, 2));
    } else if (count == 2 && strcmp(words[0], "wall") == 0) {
        set_wall_clock(strtoll(words[1], NULL, 10));
    } else if (count == 1 && strcmp(words[0], "rest") == 0) {
        chaos.resting = true;
        tell_resting();
    } else if (count == 1 && strcmp(words[0], "go") == 0) {
        chaos.resting = false;
        workers_go();
        values_go();
    } else {
        say("error unknown %s", count > 0 ? words[0] : "");
    }
}

/* ------------------------------------------------------------------------------ input */

static void on_room(uv_handle_t *handle, size_t suggested, uv_buf_t *buffer)
{
    (void)handle;
    (void)suggested;
    *buffer = uv_buf_init(line + length, (unsigned)(sizeof(line) - 1 - length));
}

static void close_timer(uv_handle_t *handle)
{
    if (!uv_is_closing(handle)) {
        uv_close(handle, NULL);
    }
}

static void on_closed(uvzk_client_t *client)
{
    (void)client;
    for (size_t i = 0; i < chaos.worker_count; i++) {
        close_timer((uv_handle_t *)&chaos.workers[i].timer);
    }
    values_close_timers();
    close_timer((uv_handle_t *)&chaos.sampling);
}

static void on_read(uv_stream_t *stream, ssize_t count, const uv_buf_t *buffer)
{
    char *end;
    (void)buffer;
    if (count < 0) {
        uv_close((uv_handle_t *)stream, NULL);
        chaos.closing = true;
        uvzk_client_close(&chaos.client, on_closed);
        return;
    }
    length += (size_t)count;
    line[length] = '\0';
    while ((end = strchr(line, '\n')) != NULL) {
        size_t rest = length - (size_t)(end + 1 - line);
        *end = '\0';
        obey(line);
        memmove(line, end + 1, rest + 1);
        length = rest;
    }
}

static void on_state(uvzk_client_t *client, uvzk_client_state_t state)
{
    (void)client;
    tell_sessions();
    if (state == UVZK_STATE_CONNECTED && !chaos.ready && !chaos.closing) {
        chaos.ready = true;
        say("ready");
        uv_read_start((uv_stream_t *)&chaos.input, on_room, on_read);
    }
}

static void on_log(uvzk_client_t *client, int level, const char *module, const char *text)
{
    (void)module;
    (void)client;
    fprintf(stderr, "%llu %d %s\n", (unsigned long long)uvzk_now(), level, text);
}

static void on_sample(uv_timer_t *timer)
{
    (void)timer;
    workers_sample();
}

int main(int argc, char **argv)
{
    uvzk_client_options_t options;
    if (argc != 7) {
        fprintf(stderr,
                "usage: %s HOSTS SESSION_MS TICK_MS SESSIONS FENCES NAME_SERVER\n",
                argv[0]);
        return 2;
    }
    uvzk_client_options_init(&options);
    options.hosts = argv[1];
    options.session_timeout_ms = (uint32_t)strtoul(argv[2], NULL, 10);
    options.tick_ms = (uint32_t)strtoul(argv[3], NULL, 10);
    options.sessions = (uint32_t)strtoul(argv[4], NULL, 10);
    options.state_cb = on_state;
    options.log_cb = on_log;
    options.metrics = 1;
    chaos.fences = argv[5];
    uvzk__resolver_ask(argv[6]);
    srand((unsigned)getpid());
    uv_loop_init(&chaos.loop);
    uv_pipe_init(&chaos.loop, &chaos.input, 0);
    uv_pipe_open(&chaos.input, 0);
    uv_timer_init(&chaos.loop, &chaos.sampling);
    uv_timer_start(&chaos.sampling, on_sample, SAMPLE_MS, SAMPLE_MS);
    int status = uvzk_client_init(&chaos.loop, &chaos.client, &options);
    if (status == 0) {
        status = uvzk_client_start(&chaos.client);
    }
    if (status < 0) {
        wrong("client", status);
        return 1;
    }
    uv_run(&chaos.loop, UV_RUN_DEFAULT);
    return uv_loop_close(&chaos.loop) == 0 ? 0 : 1;
}
