/* SPDX-License-Identifier: Apache-2.0 */
/* One ZooKeeper server as a child process, alone or as a member of an ensemble: started
 * with a configuration file, asked by four-letter words, and ended by its process id. */
#ifndef ZK_PROCESS_H
#define ZK_PROCESS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <sys/types.h>

struct zk_limits {
    uint32_t tick_ms, min_session_ms, max_session_ms;
};

struct zk_process {
    pid_t pid;        /* 0: not running */
    const char *host; /* the numeric loopback address that it serves at */
    uint16_t port;
};

/* With UVZK_TEST_SIM_SERVER in the environment, the path of uvzk-sim-server, a server that
 * stands alone is a simulated one. */
struct zk_settings {
    struct zk_limits limits;
    bool alone;
    uint32_t heap_mb;
    uint32_t container_check_ms; /* how often empty containers are deleted */
    uint32_t jute_maxbuffer;     /* 0: the default */
    bool netty;                  /* the Netty connection factory instead of NIO */
    bool long_lived;             /* with Java's second compiler and the G1 collector */
};

/* Returns a port of this loopback address that is free now; 0, with a message on stderr,
 * on an error. The port lies below the range that the kernel uses for outgoing
 * connections. So no other process takes it while the server is down, and no client that
 * connects to it then can be connected to itself. */
uint16_t zk_free_port(const char *host);

/* Opens the configuration file of a server with this data directory. The caller may
 * append lines and closes the file. Returns NULL, with a message on stderr, on an
 * error. */
FILE *zk_config_open(const char *path, const struct zk_process *process, const char *data,
                     const struct zk_limits *limits);

/* The class path of the servers' jars, for java -cp. */
const char *zk_process_class_path(void);

/* Starts a server without waiting until it serves. Its output is appended to the log. It
 * is killed when the calling thread ends, for whatever reason. Returns false, with a
 * message on stderr, on an error. */
bool zk_process_start(struct zk_process *process, const struct zk_settings *settings,
                      const char *config, const char *log);
/* Returns true if the server has ended by itself or was never started. */
bool zk_process_is_dead(struct zk_process *process);
/* Sends SIGKILL and waits until the server is dead. Does nothing if it does not run. */
void zk_process_kill(struct zk_process *process);
/* Sends a signal. Does nothing if the server does not run. */
void zk_process_signal(const struct zk_process *process, int signal);

/* Sends a four-letter word, and waits up to patience_ms for each part of the answer,
 * which is cut to size - 1 bytes and terminated with a zero. Returns its length, or
 * -1. */
long zk_process_ask(const struct zk_process *process, const char *word, char *answer,
                    size_t size, long patience_ms);
/* The number after a label in an answer; -1 if the label does not occur. */
long zk_number_after(const char *answer, const char *label);
/* Returns true if the server serves in this mode: "Mode: standalone", "Mode: leader", or
 * "Mode: " for any mode. Waits up to 300 ms for the answer. */
bool zk_process_has_mode(const struct zk_process *process, const char *mode);

/* Blocks until the condition holds, which is evaluated every 20 ms, or until `ms` have
 * passed. Returns whether it holds. */
bool zk_wait_until(bool (*condition)(void *), void *context, uint64_t ms);

/* Prints the first lines of a log to stderr, because the first error is usually the
 * cause. */
void zk_print_log(const char *log, const char *whose);

#endif
