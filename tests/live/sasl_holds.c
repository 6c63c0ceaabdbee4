/* SPDX-License-Identifier: Apache-2.0 */
/* sasl_holds HOSTS SASL PATH COUNT: one session of the native transport that holds COUNT
 * mutexes until its stdin ends. SASL "-": without. Prints "held" when it has all of them,
 * "connected again" each time; for each line on stdin, what has been since the last one:
 *
 *   valid N lost N reconnects N longest_turn_us N processor_us N turns N
 *
 * 0: nothing was lost */
#include <inttypes.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <uv.h>

#include "loop_turns.h"
#include "uvzk.h"

struct run {
    uv_loop_t loop;
    uvzk_client_t client;
    uv_pipe_t input;
    struct loop_turns turns;
    char line[16];
    size_t count, granted, lost;
    uvzk_mutex_t *mutexes;
    uvzk_hold_t *holds;
    int reconnects;
    bool ends;
};

static struct run run;

static void tell(void)
{
    size_t valid = 0;

    for (size_t i = 0; i < run.count; i++) {
        valid += uvzk_hold_is_valid(&run.holds[i]) != 0;
    }
    printf("valid %zu lost %zu reconnects %d longest_turn_us %" PRId64
           " processor_us %" PRId64 " turns %d\n",
           valid, run.lost, run.reconnects, run.turns.longest_us,
           loop_turns_us(&run.turns), run.turns.count);
    run.reconnects = 0;
    loop_turns_begin(&run.turns);
}

static void on_alloc(uv_handle_t *handle, size_t suggested, uv_buf_t *buffer)
{
    (void)handle;
    (void)suggested;
    *buffer = uv_buf_init(run.line, sizeof(run.line));
}

/* One line is one question, and arrives as a whole. */
static void on_line(uv_stream_t *stream, ssize_t length, const uv_buf_t *buffer)
{
    (void)stream;
    (void)buffer;
    if (length > 0) {
        tell();
    } else if (length < 0) {
        run.ends = true;
        uvzk_client_close(&run.client, NULL);
        uv_close((uv_handle_t *)&run.input, NULL);
        loop_turns_close(&run.turns);
    }
}

static void on_acquired(uvzk_hold_t *hold, int status)
{
    (void)hold;
    if (status < 0) {
        fprintf(stderr, "not granted: %s\n", uvzk_strerror(status));
        exit(1);
    }
    if (++run.granted == run.count) {
        puts("held");
    }
}

static void on_lost(uvzk_hold_t *hold, int reason)
{
    (void)hold;
    if (!run.ends && run.lost++ == 0) {
        fprintf(stderr, "lost: %s\n", uvzk_strerror(reason));
    }
}

static void on_state(uvzk_client_t *client, uvzk_client_state_t state)
{
    (void)client;
    if (state == UVZK_STATE_RECONNECTED) {
        run.reconnects++;
        puts("connected again");
    }
}

static int start(char **argv)
{
    uvzk_client_options_t options;
    char path[64];

    uvzk_client_options_init(&options);
    options.hosts = argv[1];
    options.sasl = strcmp(argv[2], "-") == 0 ? NULL : argv[2];
    options.transport = UVZK_TRANSPORT_NATIVE;
    options.session_timeout_ms = 60000;
    options.state_cb = on_state;
    int status = uvzk_client_init(&run.loop, &run.client, &options);
    if (status == 0) {
        status = uvzk_client_start(&run.client);
    }
    for (size_t i = 0; i < run.count && status == 0; i++) {
        snprintf(path, sizeof(path), "%s/%05zu", argv[3], i);
        status = uvzk_mutex_init(&run.client, &run.mutexes[i], path);
        if (status == 0) {
            status = uvzk_lock_acquire(&run.mutexes[i], &run.holds[i], NULL, on_acquired,
                                       on_lost);
        }
    }
    return status;
}

int main(int argc, char **argv)
{
    if (argc != 5) {
        return 2;
    }
    setvbuf(stdout, NULL, _IOLBF, 0);
    run.count = (size_t)atoi(argv[4]);
    run.mutexes = calloc(run.count, sizeof(*run.mutexes));
    run.holds = calloc(run.count, sizeof(*run.holds));
    if (run.mutexes == NULL || run.holds == NULL || uv_loop_init(&run.loop) != 0) {
        return 1;
    }
    uv_pipe_init(&run.loop, &run.input, 0);
    uv_pipe_open(&run.input, 0);
    uv_read_start((uv_stream_t *)&run.input, on_alloc, on_line);
    loop_turns_init(&run.turns, &run.loop);
    int status = start(argv);
    if (status < 0) {
        fprintf(stderr, "sasl_holds: %s\n", uvzk_strerror(status));
        return 1;
    }
    loop_turns_begin(&run.turns);
    uv_run(&run.loop, UV_RUN_DEFAULT);
    uv_loop_close(&run.loop);
    free(run.holds);
    free(run.mutexes);
    return run.lost == 0 ? 0 : 1;
}
