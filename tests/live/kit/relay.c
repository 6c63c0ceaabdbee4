/* SPDX-License-Identifier: Apache-2.0 */
/* Forwards TCP connections between two members of an ensemble, and can hold the bytes of
 * each direction back. ensemble.c calls it, with one relay for each ordered pair of
 * members.
 *
 * The one idea: a thread of its own polls all sockets of the relay, so it also works
 * while the test blocks. `mutex` protects the state, and the thread releases it while it
 * polls. Each change by the test wakes the thread through an eventfd, after which the
 * thread collects the sockets anew. A direction that is held is neither read nor written,
 * so the kernel's buffers fill up, and both ends stay connected. */
#include "relay.h"

#include <arpa/inet.h>
#include <assert.h>
#include <errno.h>
#include <netinet/in.h>
#include <poll.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>
#include <sys/socket.h>
#include <unistd.h>

#include "zk_process.h"

#define LINKS_MAX 80
#define LANE_BYTES 65536
#define PORT_ATTEMPTS 20
#define CONNECT_ATTEMPTS 100
#define CONNECT_PAUSE_MS 10

enum { TO_TARGET, FROM_TARGET, DIRECTIONS };

/* One direction of a link: what is read from one socket is written to the other. */
struct lane {
    /* Sockets; -1: none. */
    int from, to;
    bool ended; /* the end of the input or an error was read */
    size_t length;
    char bytes[LANE_BYTES]; /* read, and not written yet */
};

struct link {
    struct lane lanes[DIRECTIONS];
    int attempts; /* failed connects to the target */
};

struct relay {
    struct sockaddr_in address; /* its port is the one that the relay listens on */
    uint16_t target_port;
    /* The listening socket and the eventfd. */
    int listener, wake;
    pthread_t thread;
    pthread_mutex_t mutex; /* protects all fields below; not held during poll() */
    bool held[DIRECTIONS];
    bool hung_up; /* connections are accepted and closed at once */
    bool closing;
    struct link *links[LINKS_MAX];
    int link_count;
};

/* ------------------------------------------------------------------- links */

/* Closes the connecting end. The target's end is closed when the bytes for it have been
 * sent. */
static void link_close_near(struct link *link)
{
    close(link->lanes[TO_TARGET].from);
    link->lanes[TO_TARGET].from = link->lanes[FROM_TARGET].to = -1;
    link->lanes[TO_TARGET].ended = true;
}

static void link_close(struct link *link)
{
    if (link->lanes[TO_TARGET].from >= 0) {
        close(link->lanes[TO_TARGET].from);
    }
    if (link->lanes[TO_TARGET].to >= 0) {
        close(link->lanes[TO_TARGET].to);
    }
    free(link);
}

static void lane_read(struct lane *lane)
{
    ssize_t got = recv(lane->from, lane->bytes + lane->length, LANE_BYTES - lane->length,
                       MSG_DONTWAIT);
    if (got > 0) {
        lane->length += (size_t)got;
    } else if (got == 0 || (errno != EAGAIN && errno != EINTR)) {
        lane->ended = true;
    }
}

/* If the receiver is gone, the bytes are dropped. That it is gone is reported by the
 * other direction, which may be held. */
static void lane_write(struct lane *lane)
{
    ssize_t sent = send(lane->to, lane->bytes, lane->length, MSG_NOSIGNAL | MSG_DONTWAIT);
    if (sent > 0) {
        lane->length -= (size_t)sent;
        memmove(lane->bytes, lane->bytes + sent, lane->length);
    } else if (errno != EAGAIN && errno != EINTR) {
        lane->length = 0;
    }
}

/* Passes on what is available. Returns false if the link has ended. */
static bool link_pass(const struct relay *relay, struct link *link)
{
    for (int i = 0; i < DIRECTIONS; i++) {
        struct lane *lane = &link->lanes[i];
        if (relay->held[i]) {
            continue;
        }
        if (!lane->ended && lane->length < LANE_BYTES) {
            lane_read(lane);
        }
        if (lane->length > 0) {
            lane_write(lane);
        }
        if (lane->ended && lane->length == 0) {
            return false;
        }
    }
    return true;
}

static bool is_connected(const struct link *link)
{
    return link->lanes[TO_TARGET].to >= 0;
}

/* Tries to connect to the target. Returns false if that has failed too often. A new
 * leader does not listen yet when its followers connect. If the relay accepted a
 * connection and closed it, a follower would take that for a leader that has failed. */
static bool link_connect(const struct relay *relay, struct link *link)
{
    struct sockaddr_in address = relay->address;
    int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    address.sin_port = htons(relay->target_port);
    if (connect(fd, (const struct sockaddr *)&address, sizeof(address)) != 0) {
        close(fd);
        return ++link->attempts < CONNECT_ATTEMPTS;
    }
    link->lanes[TO_TARGET].to = link->lanes[FROM_TARGET].from = fd;
    return true;
}

static void accept_link(struct relay *relay)
{
    int fd = accept4(relay->listener, NULL, NULL, SOCK_CLOEXEC);
    if (fd < 0) {
        return;
    }
    /* Beyond LINKS_MAX a connection is closed. */
    bool welcome = !relay->hung_up && relay->link_count < LINKS_MAX;
    struct link *link = welcome ? calloc(1, sizeof(*link)) : NULL;
    if (link == NULL) {
        close(fd);
        return;
    }
    link->lanes[TO_TARGET].from = link->lanes[FROM_TARGET].to = fd;
    link->lanes[TO_TARGET].to = link->lanes[FROM_TARGET].from = -1;
    relay->links[relay->link_count++] = link;
}

/* ------------------------------------------------------------------ thread */

/* Which events to poll for: space to write if there are bytes, otherwise more bytes. */
static void lane_wishes(const struct lane *lane, bool held, struct pollfd *from,
                        struct pollfd *to)
{
    if (held) {
        return;
    }
    if (lane->length > 0) {
        to->events |= POLLOUT;
    } else {
        from->events |= POLLIN;
    }
}

/* While bytes to the target are held, new connections wait in the listen queue. After a
 * hang-up they are accepted in order to be closed. */
static bool accepts(const struct relay *relay)
{
    return relay->hung_up || !relay->held[TO_TARGET];
}

/* A socket without events is left out: poll() would report its hang-up and return at once
 * every time. */
static nfds_t collect(const struct relay *relay, struct pollfd *fds)
{
    nfds_t count = 0;
    fds[count++] = (struct pollfd){relay->wake, POLLIN, 0};
    fds[count++] = (struct pollfd){accepts(relay) ? relay->listener : -1, POLLIN, 0};
    for (int i = 0; i < relay->link_count; i++) {
        const struct lane *lanes = relay->links[i]->lanes;
        if (!is_connected(relay->links[i])) {
            continue;
        }
        struct pollfd *from = &fds[count++], *to = &fds[count++];
        *from = (struct pollfd){lanes[TO_TARGET].from, 0, 0};
        *to = (struct pollfd){lanes[TO_TARGET].to, 0, 0};
        lane_wishes(&lanes[TO_TARGET], relay->held[TO_TARGET], from, to);
        lane_wishes(&lanes[FROM_TARGET], relay->held[FROM_TARGET], to, from);
        from->fd = from->events == 0 ? -1 : from->fd;
        to->fd = to->events == 0 ? -1 : to->fd;
    }
    return count;
}

/* What one return of poll() leads to. A link that has ended is freed and taken out of the
 * array. */
static void turn(struct relay *relay, const struct pollfd *fds)
{
    uint64_t woken;
    int kept = 0;
    if (fds[0].revents != 0 && read(relay->wake, &woken, sizeof(woken)) < 0) {
        perror("relay");
    }
    for (int i = 0; i < relay->link_count; i++) {
        struct link *link = relay->links[i];
        bool alive =
            is_connected(link) ? link_pass(relay, link) : link_connect(relay, link);
        if (alive) {
            relay->links[kept++] = link;
        } else {
            link_close(link);
        }
    }
    relay->link_count = kept;
    if (fds[1].revents != 0 && accepts(relay)) {
        accept_link(relay);
    }
}

/* A link without a connection to its target tries again after CONNECT_PAUSE_MS. */
static int poll_timeout(const struct relay *relay)
{
    for (int i = 0; i < relay->link_count; i++) {
        if (!is_connected(relay->links[i])) {
            return CONNECT_PAUSE_MS;
        }
    }
    return -1;
}

static void *run(void *context)
{
    struct relay *relay = context;
    struct pollfd fds[2 + 2 * LINKS_MAX];
    pthread_mutex_lock(&relay->mutex);
    while (!relay->closing) {
        nfds_t count = collect(relay, fds);
        int timeout = poll_timeout(relay);
        pthread_mutex_unlock(&relay->mutex);
        int ready = poll(fds, count, timeout);
        pthread_mutex_lock(&relay->mutex);
        if (ready >= 0) {
            turn(relay, fds);
        }
    }
    pthread_mutex_unlock(&relay->mutex);
    return NULL;
}

/* -------------------------------------------------------------- open, close */

static bool listen_somewhere(struct relay *relay, const char *host)
{
    relay->address.sin_family = AF_INET;
    inet_pton(AF_INET, host, &relay->address.sin_addr);
    for (int attempt = 0; attempt < PORT_ATTEMPTS; attempt++) {
        relay->address.sin_port = htons(zk_free_port(host));
        relay->listener = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
        if (bind(relay->listener, (const struct sockaddr *)&relay->address,
                 sizeof(relay->address)) == 0 &&
            listen(relay->listener, 16) == 0) {
            return true;
        }
        close(relay->listener);
    }
    fprintf(stderr, "relay: cannot listen on %s\n", host);
    return false;
}

/* Blocks all signals in the thread, so that the test's own thread receives them. */
static bool start_thread(struct relay *relay)
{
    sigset_t all, before;
    sigfillset(&all);
    pthread_sigmask(SIG_SETMASK, &all, &before);
    int status = pthread_create(&relay->thread, NULL, run, relay);
    pthread_sigmask(SIG_SETMASK, &before, NULL);
    return status == 0;
}

struct relay *relay_open(const char *host, uint16_t target_port)
{
    struct relay *relay = calloc(1, sizeof(*relay));
    if (relay == NULL) {
        return NULL;
    }
    relay->target_port = target_port;
    relay->wake = eventfd(0, EFD_CLOEXEC);
    pthread_mutex_init(&relay->mutex, NULL);
    if (!listen_somewhere(relay, host)) {
        close(relay->wake);
        free(relay);
        return NULL;
    }
    if (!start_thread(relay)) {
        fprintf(stderr, "relay: no thread\n");
        abort();
    }
    return relay;
}

static void wake_thread(const struct relay *relay)
{
    const uint64_t one = 1;
    if (write(relay->wake, &one, sizeof(one)) < 0) {
        perror("relay");
    }
}

void relay_close(struct relay *relay)
{
    if (relay == NULL) {
        return;
    }
    pthread_mutex_lock(&relay->mutex);
    relay->closing = true;
    pthread_mutex_unlock(&relay->mutex);
    wake_thread(relay);
    pthread_join(relay->thread, NULL);
    for (int i = 0; i < relay->link_count; i++) {
        link_close(relay->links[i]);
    }
    close(relay->listener);
    close(relay->wake);
    pthread_mutex_destroy(&relay->mutex);
    free(relay);
}

uint16_t relay_port(const struct relay *relay)
{
    return ntohs(relay->address.sin_port);
}

void relay_hold(struct relay *relay, bool to_target, bool from_target)
{
    pthread_mutex_lock(&relay->mutex);
    relay->held[TO_TARGET] = to_target;
    relay->held[FROM_TARGET] = from_target;
    /* The end of all holds also ends a hang-up. */
    relay->hung_up = relay->hung_up && (to_target || from_target);
    pthread_mutex_unlock(&relay->mutex);
    wake_thread(relay);
}

void relay_hang_up(struct relay *relay)
{
    pthread_mutex_lock(&relay->mutex);
    assert(relay->held[TO_TARGET] && relay->held[FROM_TARGET]);
    relay->hung_up = true;
    for (int i = 0; i < relay->link_count; i++) {
        if (relay->links[i]->lanes[TO_TARGET].from >= 0) {
            link_close_near(relay->links[i]);
        }
    }
    pthread_mutex_unlock(&relay->mutex);
    wake_thread(relay);
}
