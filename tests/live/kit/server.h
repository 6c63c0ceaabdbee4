/* A real ZooKeeper server of the test's own: a child process with a free port
 * and a directory that goes away with it. Its functions block the caller. */
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
    uint32_t container_check_ms; /* how often empty containers go; 300 */
    bool netty;                  /* the Netty connection factory, not NIO */
    bool long_lived;             /* starts slower and then runs faster */
    const char *config;          /* a file with more lines of configuration; NULL: none */
};

struct server;

/* Starts it and waits until it serves. NULL after 30 s or on an error, which
 * is told on stderr together with the server's log. The server dies with the
 * calling thread, however that ends. options may be NULL. */
struct server *server_start(const struct server_options *options);

/* Ends the process, removes the directory, frees s. NULL is fine. */
void server_stop(struct server *s);

/* "127.0.0.1:port"; valid until server_stop. */
const char *server_hosts(const struct server *s);
uint16_t server_port(const struct server *s);
uint32_t server_tick_ms(const struct server *s);

/* SIGKILL, and waits until it is dead. The data stays. */
void server_kill(struct server *s);
/* Removes the data of a killed server: its sessions and znodes never were. */
void server_wipe(struct server *s);
/* Starts a killed server again on its port and its data, and waits until it
 * serves. Kills it first if it runs. false: did not come up, told on stderr. */
bool server_restart(struct server *s);

void server_pause(struct server *s);  /* SIGSTOP */
void server_resume(struct server *s); /* SIGCONT */

/* Asks a four letter word. Bytes of the answer, which is cut to size - 1 and
 * terminated, or -1. */
long server_command(const struct server *s, const char *word, char *answer, size_t size);

/* Watches the server keeps, of all sessions; -1 if it does not answer. */
long server_watch_count(const struct server *s);
/* Ephemeral znodes it keeps, of all sessions; -1 if it does not answer. */
long server_ephemeral_count(const struct server *s);

#endif
