/* SPDX-License-Identifier: Apache-2.0 */
/* uvzk-sim-server: ZooKeeper servers in memory, for tests. docs/guide/sim-server.md is its
 * guide. */
#include <getopt.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "control.h"
#include "sim.h"
#include "tcp_server.h"

static uv_loop_t loop;
static struct tcp_server server;
static struct control control;
static uv_signal_t signals[2];

static const char usage[] =
    "usage: uvzk-sim-server [--port PORT] [--control-port PORT] [--servers N]\n"
    "                       [--tick MS] [--min-session MS] [--max-session MS]\n"
    "                       [--container-check MS] [--jute-maxbuffer BYTES] [--seed N]\n"
    "ZooKeeper servers in memory, for tests. It prints the addresses of the servers, "
    "and\n"
    "the address to which a test can write commands, and serves until it is told "
    "\"quit\"\n"
    "there, or gets SIGTERM or SIGINT.\n";

/* The options, each a number. */
enum setting {
    PORT,
    CONTROL_PORT,
    SERVERS,
    TICK,
    MIN_SESSION,
    MAX_SESSION,
    CHECK,
    MAXBUFFER,
    SEED,
    SETTINGS
};

static const struct {
    const char *name;
    uint64_t least, most, usual;
} known[SETTINGS] = {
    [PORT] = {"port", 0, UINT16_MAX, 0},
    [CONTROL_PORT] = {"control-port", 0, UINT16_MAX, 0},
    [SERVERS] = {"servers", 1, TCP_SERVERS_MAX, 1},
    [TICK] = {"tick", 1, 60000, 2000},
    [MIN_SESSION] = {"min-session", 0, INT32_MAX, 0},
    [MAX_SESSION] = {"max-session", 0, INT32_MAX, 0},
    [CHECK] = {"container-check", 1, INT32_MAX, 60000},
    [MAXBUFFER] = {"jute-maxbuffer", 256, UVZK__JUTE_MAXBUFFER, UVZK__JUTE_MAXBUFFER},
    [SEED] = {"seed", 0, UINT64_MAX, 1},
};

static bool set_number(uint64_t *settings, size_t which, const char *text)
{
    char *end;

    settings[which] = strtoull(text, &end, 10);
    return *text >= '0' && *text <= '9' && *end == '\0' &&
           settings[which] >= known[which].least && settings[which] <= known[which].most;
}

static int wrong_usage(void)
{
    (void)fputs(usage, stderr);
    return 2;
}

/* Returns -1, or the program's exit status if it is to end. */
static int parse(int argc, char **argv, uint64_t settings[SETTINGS])
{
    struct option options[SETTINGS + 2] = {[SETTINGS] = {"help", no_argument, NULL, 'h'}};
    int option, which;

    for (size_t i = 0; i < SETTINGS; i++) {
        options[i] = (struct option){known[i].name, required_argument, NULL, 'n'};
        settings[i] = known[i].usual;
    }
    while ((option = getopt_long(argc, argv, "", options, &which)) != -1) {
        if (option == 'h') {
            (void)fputs(usage, stdout);
            return 0;
        }
        if (option != 'n' || !set_number(settings, (size_t)which, optarg)) {
            return wrong_usage();
        }
    }
    return optind < argc ? wrong_usage() : -1;
}

/* Virtual time is the time of day, so that the times of znodes mean something. */
static struct sim *make_sim(const uint64_t settings[SETTINGS])
{
    struct sim_options options;
    struct timespec now;

    clock_gettime(CLOCK_REALTIME, &now);
    sim_options_init(&options);
    options.start_ms = (uint64_t)now.tv_sec * 1000 + (uint64_t)now.tv_nsec / 1000000;
    options.servers = (uint32_t)settings[SERVERS];
    options.tick_ms = (uint32_t)settings[TICK];
    options.container_check_ms = (uint32_t)settings[CHECK];
    options.jute_maxbuffer = (uint32_t)settings[MAXBUFFER];
    options.latency_min_ms = options.latency_max_ms = 0;
    options.trace = false;
    return sim_new(settings[SEED], &options);
}

static void stop(void)
{
    tcp_server_close(&server);
    control_close(&control);
    for (size_t i = 0; i < sizeof(signals) / sizeof(signals[0]); i++) {
        uv_close((uv_handle_t *)&signals[i], NULL);
    }
}

static void told_to_quit(struct control *which)
{
    (void)which;
    stop();
}

static void signalled(uv_signal_t *which, int number)
{
    (void)which;
    (void)number;
    stop();
}

static void print_addresses(void)
{
    printf("servers ");
    for (size_t i = 0; i < server.servers; i++) {
        printf("%s127.0.0.1:%u", i > 0 ? "," : "", server.ports[i]);
    }
    printf("\ncontrol 127.0.0.1:%u\n", control.port);
    (void)fflush(stdout);
}

static int serve(struct sim *sim, const uint64_t settings[SETTINGS])
{
    static const int numbers[] = {SIGTERM, SIGINT};
    int status = tcp_server_open(&loop, &server, sim, (uint16_t)settings[PORT]);

    if (status == 0) {
        server.settings.min_session_ms = (uint32_t)settings[MIN_SESSION];
        server.settings.max_session_ms = (uint32_t)settings[MAX_SESSION];
        status = control_open(&loop, &control, &server, (uint16_t)settings[CONTROL_PORT],
                              told_to_quit);
    }
    if (status != 0) {
        (void)fprintf(stderr, "uvzk-sim-server: %s\n", uv_strerror(status));
        return 1;
    }
    for (size_t i = 0; i < sizeof(signals) / sizeof(signals[0]); i++) {
        uv_signal_init(&loop, &signals[i]);
        uv_signal_start_oneshot(&signals[i], signalled, numbers[i]);
    }
    print_addresses();
    uv_run(&loop, UV_RUN_DEFAULT);
    return 0;
}

int main(int argc, char **argv)
{
    uint64_t settings[SETTINGS];
    int status = parse(argc, argv, settings);

    if (status >= 0) {
        return status;
    }
    (void)signal(SIGPIPE, SIG_IGN);
    uv_loop_init(&loop);
    struct sim *sim = make_sim(settings);
    status = serve(sim, settings);
    if (status == 0) {
        sim_free(sim);
        uv_loop_close(&loop);
    }
    return status;
}
