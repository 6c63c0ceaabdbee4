/* SPDX-License-Identifier: Apache-2.0 */
/* One standalone ZooKeeper server as a child process, for the live tests and
 * with_zookeeper. zk_process.c starts and ends the process; this file keeps its options,
 * port, directory and configuration, so that a killed server can be restarted with the
 * same ones. */
#include "server.h"

#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "scratch.h"
#include "zk_process.h"

#define HOST "127.0.0.1"
#define START_DEADLINE_MS 30000
#define ANSWER_MS 5000
#define START_ATTEMPTS 5

struct server {
    struct server_options options;
    struct zk_process process;
    char hosts[32];
    struct scratch directory;
    char config[160], data[160], log[160];
};

/* ------------------------------------------------------------------- start */

/* Appends the lines of a file. Later lines override earlier ones. */
static bool add_lines(FILE *file, const char *from)
{
    char line[512];
    FILE *more = from == NULL ? NULL : fopen(from, "r");
    if (more == NULL) {
        if (from != NULL) {
            perror(from);
        }
        return from == NULL;
    }
    while (fgets(line, sizeof(line), more) != NULL) {
        fputs(line, file);
    }
    return fclose(more) == 0;
}

static struct zk_limits limits_of(const struct server *s)
{
    return (struct zk_limits){s->options.tick_ms, s->options.min_session_ms,
                              s->options.max_session_ms};
}

static bool write_config(const struct server *s)
{
    const struct zk_limits limits = limits_of(s);
    FILE *file = zk_config_open(s->config, &s->process, s->data, &limits);
    bool written = file != NULL && add_lines(file, s->options.config);
    return file != NULL && fclose(file) == 0 && written;
}

static bool choose_port(struct server *s)
{
    s->process.host = HOST;
    s->process.port = zk_free_port(HOST);
    snprintf(s->hosts, sizeof(s->hosts), HOST ":%u", s->process.port);
    return s->process.port != 0;
}

static bool spawn(struct server *s)
{
    const struct zk_settings settings = {.limits = limits_of(s),
                                         .alone = true,
                                         .heap_mb = s->options.heap_mb,
                                         .container_check_ms =
                                             s->options.container_check_ms,
                                         .jute_maxbuffer = s->options.jute_maxbuffer,
                                         .netty = s->options.netty,
                                         .long_lived = s->options.long_lived};
    return zk_process_start(&s->process, &settings, s->config, s->log);
}

enum readiness { READY, DIED, LATE };

static bool serves_or_has_died(void *context)
{
    struct server *s = context;
    return zk_process_is_dead(&s->process) || zk_process_has_mode(&s->process, "Mode:");
}

static enum readiness wait_until_ready(struct server *s)
{
    if (!zk_wait_until(serves_or_has_died, s, START_DEADLINE_MS)) {
        return LATE;
    }
    return zk_process_is_dead(&s->process) ? DIED : READY;
}

static bool bring_up(struct server *s)
{
    return write_config(s) && spawn(s) && wait_until_ready(s) == READY;
}

/* Another process may take the port between its choice and the server's bind. Then the
 * server ends, and is started again on another port. A restart keeps its port instead. */
static bool bring_up_anywhere(struct server *s)
{
    for (int attempt = 0; attempt < START_ATTEMPTS; attempt++) {
        if (!choose_port(s) || !write_config(s) || !spawn(s)) {
            return false;
        }
        enum readiness outcome = wait_until_ready(s);
        if (outcome != DIED) {
            return outcome == READY;
        }
    }
    return false;
}

static void set_defaults(struct server_options *options)
{
    const struct server_options defaults = {.tick_ms = 200,
                                            .min_session_ms = 400,
                                            .max_session_ms = 60000,
                                            .heap_mb = 512,
                                            .container_check_ms = 300};
    if (options->tick_ms == 0) {
        options->tick_ms = defaults.tick_ms;
    }
    if (options->min_session_ms == 0) {
        options->min_session_ms = defaults.min_session_ms;
    }
    if (options->max_session_ms == 0) {
        options->max_session_ms = defaults.max_session_ms;
    }
    if (options->heap_mb == 0) {
        options->heap_mb = defaults.heap_mb;
    }
    if (options->container_check_ms == 0) {
        options->container_check_ms = defaults.container_check_ms;
    }
}

struct server *server_start(const struct server_options *options)
{
    struct server *s = calloc(1, sizeof(*s));
    if (s == NULL) {
        return NULL;
    }
    if (options != NULL) {
        s->options = *options;
    }
    set_defaults(&s->options);
    if (!scratch_make(&s->directory)) {
        free(s);
        return NULL;
    }
    snprintf(s->config, sizeof(s->config), "%s/zoo.cfg", s->directory.path);
    snprintf(s->data, sizeof(s->data), "%s/data", s->directory.path);
    snprintf(s->log, sizeof(s->log), "%s/log", s->directory.path);
    if (!bring_up_anywhere(s)) {
        fprintf(stderr, "server: did not come up on port %u\n", s->process.port);
        zk_print_log(s->log, "server");
        server_stop(s);
        return NULL;
    }
    return s;
}

void server_kill(struct server *s)
{
    zk_process_kill(&s->process);
}

void server_stop(struct server *s)
{
    if (s == NULL) {
        return;
    }
    server_kill(s);
    scratch_remove(&s->directory);
    free(s);
}

void server_wipe(struct server *s)
{
    scratch_remove_tree(s->data);
}

bool server_restart(struct server *s)
{
    server_kill(s);
    if (!bring_up(s)) {
        fprintf(stderr, "server: did not come up again on port %u\n", s->process.port);
        zk_print_log(s->log, "server");
        return false;
    }
    return true;
}

void server_pause(struct server *s)
{
    zk_process_signal(&s->process, SIGSTOP);
}

void server_resume(struct server *s)
{
    zk_process_signal(&s->process, SIGCONT);
}

const char *server_hosts(const struct server *s)
{
    return s->hosts;
}

uint16_t server_port(const struct server *s)
{
    return s->process.port;
}

uint32_t server_tick_ms(const struct server *s)
{
    return s->options.tick_ms;
}

/* --------------------------------------------------------------- questions */

unsigned server_log_count(const struct server *s, const char *text)
{
    char line[1024];
    unsigned count = 0;
    FILE *file = fopen(s->log, "re");

    while (file != NULL && fgets(line, sizeof(line), file) != NULL) {
        count += strstr(line, text) != NULL;
    }
    if (file != NULL) {
        fclose(file);
    }
    return count;
}

long server_command(const struct server *s, const char *word, char *answer, size_t size)
{
    return zk_process_ask(&s->process, word, answer, size, ANSWER_MS);
}

static long number_after(const struct server *s, const char *word, const char *label)
{
    char answer[65536];
    return server_command(s, word, answer, sizeof(answer)) < 0
               ? -1
               : zk_number_after(answer, label);
}

long server_watch_count(const struct server *s)
{
    return number_after(s, "wchs", "Total watches:");
}

long server_ephemeral_count(const struct server *s)
{
    return number_after(s, "mntr", "zk_ephemerals_count\t");
}
