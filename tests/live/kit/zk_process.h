/* One ZooKeeper server as a child process, whatever it is a part of: started
 * with a configuration file, asked by four letter words, ended by its pid. */
#ifndef ZK_PROCESS_H
#define ZK_PROCESS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <sys/types.h>

struct zk_process {
    pid_t pid;        /* 0: not running */
    const char *host; /* where it serves clients: a numeric loopback address */
    uint16_t port;
};

struct zk_settings {
    uint32_t heap_mb;
    uint32_t container_check_ms; /* how often empty containers go */
    bool netty;                  /* the Netty connection factory, not NIO */
    bool long_lived;             /* worth Java's second compiler, and G1 */
};

/* A port of that loopback address that is free now; 0: told on stderr. It lies
 * below the range of the ports the kernel gives to outgoing connections: nobody
 * takes the port while the server is down, and no client that tries to connect
 * to it then can meet itself. */
uint16_t zk_free_port(const char *host);

struct zk_limits {
    uint32_t tick_ms, min_session_ms, max_session_ms;
};

/* A configuration file of a server that keeps its data there, with room for lines
 * of the caller's, who closes it. NULL: told on stderr. */
FILE *zk_config_open(const char *path, const struct zk_process *process, const char *data,
                     const struct zk_limits *limits);

/* The servers' jars, as java's -cp has it. */
const char *zk_process_class_path(void);

/* Starts it, not waiting for anything; its output is appended to the log. It
 * dies with the calling thread, however that ends. false: told on stderr. */
bool zk_process_start(struct zk_process *process, const struct zk_settings *settings,
                      const char *config, const char *log);
/* Whether it has ended by itself, or was never started. */
bool zk_process_is_dead(struct zk_process *process);
/* SIGKILL, and waits until it is dead. Nothing if it does not run. */
void zk_process_kill(struct zk_process *process);
/* Nothing if it does not run. */
void zk_process_signal(const struct zk_process *process, int signal);

/* Asks a four letter word, waiting so long for each piece of the answer. Bytes
 * of the answer, which is cut to size - 1 and terminated, or -1. */
long zk_process_ask(const struct zk_process *process, const char *word, char *answer,
                    size_t size, long patience_ms);
/* The number behind a label in an answer; -1 if it is not there. */
long zk_number_after(const char *answer, const char *label);
/* Whether it serves as this: "Mode: standalone", "Mode: leader", or "Mode: " for any.
 * Waits for no more than 300 ms. */
bool zk_process_has_mode(const struct zk_process *process, const char *mode);

/* Blocks until the condition holds, which is asked every 20 ms, or until so long
 * have passed. Whether it holds. */
bool zk_wait_until(bool (*condition)(void *), void *context, uint64_t ms);

/* The beginning of a log, where what went wrong first is told, to stderr. */
void zk_print_log(const char *log, const char *whose);

#endif
