/* SPDX-License-Identifier: Apache-2.0 */
/* What a benchmark run has left on the server: watches, by the four-letter word wchs over
 * a socket of its own, and znodes, by getChildren of a bare C client. many_locks_ending.c
 * calls this in a thread of libuv's thread pool, because all functions block. */
#include "leftovers.h"

#include <netdb.h>
#include <semaphore.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/time.h>
#include <time.h>
#include <unistd.h>

#include <zookeeper/zookeeper.h>

enum {
    WINDOW = 512,        /* listings under way at once */
    ANSWER_SECONDS = 15, /* the longest wait for one reply */
    SETTLE_TURNS = 100,  /* pauses of SETTLE_MS each */
    SETTLE_MS = 50
};

void leftovers_lock_path(char *path, size_t size, const char *base, size_t n)
{
    snprintf(path, size, "%s/lock-%05zu", base, n);
}

/* ------------------------------------------------------------------ watches */

/* Copies the host and the port of the first server of `hosts`, a connect string like
 * "host:port,other:port/chroot". The brackets of an IPv6 address are left out. Returns 0,
 * or -1 if there is no port or if the text does not fit. */
static int first_server(const char *hosts, char *host, char *port, size_t size)
{
    size_t length = strcspn(hosts, ",/");
    size_t colon = length;

    while (colon > 0 && hosts[colon - 1] != ':') {
        colon--;
    }
    if (colon < 2 || colon >= size || length - colon >= size) {
        return -1;
    }
    size_t from = hosts[0] == '[' ? 1 : 0;
    size_t to = colon - 1 - from;
    snprintf(host, size, "%.*s", (int)(to - from), hosts + from);
    snprintf(port, size, "%.*s", (int)(length - colon), hosts + colon);
    return 0;
}

static int connect_to(const char *host, const char *port)
{
    struct addrinfo hints = {.ai_socktype = SOCK_STREAM};
    struct addrinfo *addresses = NULL;
    struct timeval patience = {.tv_sec = 3};
    int fd = -1;

    if (getaddrinfo(host, port, &hints, &addresses) != 0) {
        return -1;
    }
    for (struct addrinfo *at = addresses; at != NULL && fd < 0; at = at->ai_next) {
        fd = socket(at->ai_family, at->ai_socktype | SOCK_CLOEXEC, at->ai_protocol);
        if (fd < 0) {
            continue;
        }
        setsockopt(fd, SOL_SOCKET, SO_RCVTIMEO, &patience, sizeof(patience));
        setsockopt(fd, SOL_SOCKET, SO_SNDTIMEO, &patience, sizeof(patience));
        if (connect(fd, at->ai_addr, at->ai_addrlen) != 0) {
            close(fd);
            fd = -1;
        }
    }
    freeaddrinfo(addresses);
    return fd;
}

long leftovers_watches(const char *hosts)
{
    static const char label[] = "Total watches:";
    char host[256], port[256], answer[512];
    size_t length = 0;
    ssize_t got = 0;

    if (first_server(hosts, host, port, sizeof(host)) != 0) {
        return LEFTOVERS_UNKNOWN;
    }
    int fd = connect_to(host, port);
    if (fd < 0) {
        return LEFTOVERS_UNKNOWN;
    }
    if (send(fd, "wchs", 4, MSG_NOSIGNAL) == 4) {
        while (length < sizeof(answer) - 1 &&
               (got = recv(fd, answer + length, sizeof(answer) - 1 - length, 0)) > 0) {
            length += (size_t)got;
        }
    }
    close(fd);
    answer[length] = '\0';
    const char *found = strstr(answer, label);
    return found == NULL ? LEFTOVERS_UNKNOWN
                         : strtol(found + sizeof(label) - 1, NULL, 10);
}

long leftovers_watches_settled(const char *hosts, long expected)
{
    struct timespec pause = {.tv_nsec = SETTLE_MS * 1000000L};
    long watches = leftovers_watches(hosts);

    for (int turn = 0; turn < SETTLE_TURNS && watches > expected; turn++) {
        nanosleep(&pause, NULL);
        watches = leftovers_watches(hosts);
    }
    return watches;
}

/* -------------------------------------------------------------------- nodes */

struct leftovers_query {
    struct leftovers_query *self; /* completions get a pointer to const */
    sem_t connected;
    sem_t window; /* its value: listings that may still be sent */
    atomic_long children;
    atomic_int failed;
};

static void ignore_log(const char *line)
{
    (void)line;
}

static void on_session(zhandle_t *zh, int type, int state, const char *path,
                       void *context)
{
    struct leftovers_query *query = context;
    (void)zh;
    (void)path;
    if (type == ZOO_SESSION_EVENT && state == ZOO_CONNECTED_STATE) {
        sem_post(&query->connected);
    }
}

static void on_children(int rc, const struct String_vector *names, const void *data)
{
    struct leftovers_query *query = ((const struct leftovers_query *)data)->self;
    if (rc == ZOK) {
        atomic_fetch_add(&query->children, (long)names->count);
    } else if (rc != ZNONODE) {
        atomic_store(&query->failed, rc);
    }
    sem_post(&query->window);
}

static int wait_for(sem_t *semaphore)
{
    struct timespec until;
    clock_gettime(CLOCK_REALTIME, &until);
    until.tv_sec += ANSWER_SECONDS;
    return sem_timedwait(semaphore, &until);
}

/* Lists all directories, at most WINDOW at a time. Returns the number of their children,
 * or LEFTOVERS_UNKNOWN. */
static long list_all(zhandle_t *zh, struct leftovers_query *query, const char *base,
                     size_t count)
{
    char path[512];

    for (size_t n = 0; n < count; n++) {
        leftovers_lock_path(path, sizeof(path), base, n);
        if (wait_for(&query->window) != 0 ||
            zoo_awget_children(zh, path, NULL, NULL, on_children, query) != ZOK) {
            return LEFTOVERS_UNKNOWN;
        }
    }
    /* Each outstanding listing has taken one from the semaphore. When all are back, all
     * replies have been counted. */
    for (int slot = 0; slot < WINDOW; slot++) {
        if (wait_for(&query->window) != 0) {
            return LEFTOVERS_UNKNOWN;
        }
    }
    return atomic_load(&query->failed) == 0 ? atomic_load(&query->children)
                                            : LEFTOVERS_UNKNOWN;
}

long leftovers_nodes(const char *hosts, const char *base, size_t count,
                     const char **error)
{
    struct leftovers_query query = {.self = &query};
    long children = LEFTOVERS_UNKNOWN;

    *error = NULL;
    sem_init(&query.connected, 0, 0);
    sem_init(&query.window, 0, WINDOW);
    zhandle_t *zh = zookeeper_init2(hosts, on_session, 30000, NULL, &query,
                                    ZOO_NO_LOG_CLIENTENV, ignore_log);
    if (zh == NULL || wait_for(&query.connected) != 0) {
        *error = "the checking client could not connect";
    } else {
        children = list_all(zh, &query, base, count);
        if (children == LEFTOVERS_UNKNOWN) {
            *error = "the lock directories could not be listed";
        }
    }
    if (zh != NULL) {
        zookeeper_close(zh);
    }
    sem_destroy(&query.connected);
    sem_destroy(&query.window);
    return children;
}
