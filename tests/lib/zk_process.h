/* One ZooKeeper server as a child process, whatever it is a part of: started
 * with a configuration file, asked by four letter words, ended by its pid. */
#ifndef ZK_PROCESS_H
#define ZK_PROCESS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
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
};

/* A port of that loopback address that is free now; 0: told on stderr. It lies
 * below the range of the ports the kernel gives to outgoing connections: nobody
 * takes the port while the server is down, and no client that tries to connect
 * to it then can meet itself. */
uint16_t zk_free_port(const char *host);

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

#endif
