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
    "                       [--container-check MS] [--seed N]\n"
    "ZooKeeper servers in memory, for tests. It prints the addresses of the servers, "
    "and\n"
    "the address to which a test can write commands, and serves until it is told "
    "\"quit\"\n"
    "there, or gets SIGTERM or SIGINT.\n";

struct settings {
    uint64_t port, control_port, servers, tick_ms, min_session_ms, max_session_ms;
    uint64_t container_check_ms, seed;
};

static int set_number(uint64_t *setting, const char *text, uint64_t most)
{
    char *end;

    *setting = strtoull(text, &end, 10);
    return *text < '0' || *text > '9' || *end != '\0' || *setting > most;
}

/* Returns 0, or the program's exit status plus 1. */
static int parse(int argc, char **argv, struct settings *settings)
{
    static const struct option options[] = {
        {"port", required_argument, NULL, 'p'},
        {"control-port", required_argument, NULL, 'c'},
        {"servers", required_argument, NULL, 's'},
        {"tick", required_argument, NULL, 't'},
        {"min-session", required_argument, NULL, 'm'},
        {"max-session", required_argument, NULL, 'M'},
        {"container-check", required_argument, NULL, 'k'},
        {"seed", required_argument, NULL, 'r'},
        {"help", no_argument, NULL, 'h'},
        {NULL, 0, NULL, 0},
    };
    int option, wrong = 0;

    while ((option = getopt_long(argc, argv, "", options, NULL)) != -1) {
        switch (option) {
        case 'p':
            wrong |= set_number(&settings->port, optarg, UINT16_MAX);
            break;
        case 'c':
            wrong |= set_number(&settings->control_port, optarg, UINT16_MAX);
            break;
        case 's':
            wrong |= set_number(&settings->servers, optarg, TCP_SERVERS_MAX) ||
                     settings->servers == 0;
            break;
        case 't':
            wrong |=
                set_number(&settings->tick_ms, optarg, 60000) || settings->tick_ms == 0;
            break;
        case 'm':
            wrong |= set_number(&settings->min_session_ms, optarg, INT32_MAX);
            break;
        case 'M':
            wrong |= set_number(&settings->max_session_ms, optarg, INT32_MAX);
            break;
        case 'k':
            wrong |= set_number(&settings->container_check_ms, optarg, INT32_MAX) ||
                     settings->container_check_ms == 0;
            break;
        case 'r':
            wrong |= set_number(&settings->seed, optarg, UINT64_MAX);
            break;
        case 'h':
            (void)fputs(usage, stdout);
            return 1;
        default:
            wrong = 1;
        }
    }
    if (wrong || optind < argc) {
        (void)fputs(usage, stderr);
        return 3;
    }
    return 0;
}

/* Virtual time is the time of day, so that the times of znodes mean something. */
static struct sim *make_sim(const struct settings *settings)
{
    struct sim_options options;
    struct timespec now;

    clock_gettime(CLOCK_REALTIME, &now);
    sim_options_init(&options);
    options.start_ms = (uint64_t)now.tv_sec * 1000 + (uint64_t)now.tv_nsec / 1000000;
    options.servers = (uint32_t)settings->servers;
    options.tick_ms = (uint32_t)settings->tick_ms;
    options.container_check_ms = (uint32_t)settings->container_check_ms;
    options.latency_min_ms = options.latency_max_ms = 0;
    options.trace = false;
    return sim_new(settings->seed, &options);
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

static int serve(struct sim *sim, const struct settings *settings)
{
    static const int numbers[] = {SIGTERM, SIGINT};
    int status = tcp_server_open(&loop, &server, sim, (uint16_t)settings->port);

    if (status == 0) {
        server.settings.min_session_ms = (uint32_t)settings->min_session_ms;
        server.settings.max_session_ms = (uint32_t)settings->max_session_ms;
        status = control_open(&loop, &control, &server, (uint16_t)settings->control_port,
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
    struct settings settings = {
        .servers = 1, .tick_ms = 2000, .container_check_ms = 60000, .seed = 1};
    int status = parse(argc, argv, &settings);

    if (status != 0) {
        return status - 1;
    }
    (void)signal(SIGPIPE, SIG_IGN);
    uv_loop_init(&loop);
    struct sim *sim = make_sim(&settings);
    status = serve(sim, &settings);
    if (status == 0) {
        sim_free(sim);
        uv_loop_close(&loop);
    }
    return status;
}
