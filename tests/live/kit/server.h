/* SPDX-License-Identifier: Apache-2.0 */
/* A real standalone ZooKeeper server for one test: a child process with a free port and a
 * temporary directory. The functions block the caller. */
#ifndef SERVER_H
#define SERVER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Zero in any field means the default. */
struct server_options {
    uint32_t tick_ms;            /* tickTime; 200 */
    uint32_t min_session_ms;     /* 400 */
    uint32_t max_session_ms;     /* 60000 */
    uint32_t heap_mb;            /* 512 */
    uint32_t container_check_ms; /* how often empty containers are deleted; 300 */
    uint32_t jute_maxbuffer;     /* 1048575 */
    bool netty;                  /* the Netty connection factory instead of NIO */
    bool long_lived;             /* starts slower, then runs faster */
    const char *config;          /* a file with more lines of configuration; NULL: none */
};

struct server;

/* Starts a server and waits until it serves. Returns NULL, with the error and the
 * server's log on stderr, if it does not serve within 30 s. The server is killed when the
 * calling thread ends, for whatever reason. options may be NULL. */
struct server *server_start(const struct server_options *options);

/* Kills the server, removes its directory and frees s. s may be NULL. */
void server_stop(struct server *s);

/* "127.0.0.1:port"; valid until server_stop. */
const char *server_hosts(const struct server *s);
uint16_t server_port(const struct server *s);
uint32_t server_tick_ms(const struct server *s);

/* Sends SIGKILL and waits until the server is dead. Its data stays. */
void server_kill(struct server *s);
/* Removes the data of a killed server. After a restart it knows none of its old sessions
 * and znodes. */
void server_wipe(struct server *s);
/* Starts a killed server with its port and its data, and waits until it serves. Kills it
 * first if it runs. Returns false, with a message on stderr, if it does not come up. */
bool server_restart(struct server *s);

void server_pause(struct server *s);  /* SIGSTOP */
void server_resume(struct server *s); /* SIGCONT */

/* Sends a four-letter word. The answer is cut to size - 1 bytes and terminated with a
 * zero. Returns its length, or -1. */
long server_command(const struct server *s, const char *word, char *answer, size_t size);

/* The lines of the server's log, since its first start, that have this text. */
unsigned server_log_count(const struct server *s, const char *text);

/* The watches of all sessions; -1 if the server does not answer. */
long server_watch_count(const struct server *s);
/* The ephemeral znodes of all sessions; -1 if the server does not answer. */
long server_ephemeral_count(const struct server *s);

#endif
