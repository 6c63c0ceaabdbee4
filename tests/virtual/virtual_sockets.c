/* SPDX-License-Identifier: Apache-2.0 */
#include "virtual_sockets.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "discovery/sockets.h"
#include "native/jute.h"
#include "native/message.h"
#include "tampering.h"

#define FIRST_FD 1000000 /* no descriptor of the kernel */
#define FULL_MAX_MS 50U  /* how long a kernel takes nothing, at most */
#define STEP_MS 1000U    /* after so long an alarm comes anyway (sockets.h) */

enum state { CONNECTING, OPEN, BROKEN };

struct bytes {
    unsigned char *at;
    size_t length, room;
};

struct virtual_socket {
    int fd;
    UT_hash_handle hh; /* by fd */
    struct virtual_process *process;
    enum state state;
    int error;     /* why it is BROKEN, of errno; forgotten when it is told */
    size_t server; /* its number */
    struct sim__event established, emptied;
    struct outside_client *client; /* the other end; NULL until it is OPEN */
    struct tampering tampering;    /* stands between them */
    struct bytes up, down; /* an incomplete frame; what has come and is not yet read */
    bool is_full;          /* the kernel takes nothing now */
    bool ended;            /* the server has closed its end, behind `down` */
    struct uvzk__sockets *sockets; /* NULL: it is not watched */
    bool watches_in, watches_out;
    bool goes_on; /* it was read or written since the last ready() */
    struct virtual_event ready;
};

/* Behind a struct uvzk__sockets: the data of its poll handle. */
struct set {
    struct uvzk__sockets *sockets;
    struct virtual_event alarm, closing;
};

static struct virtual_socket *by_fd;
static int next_fd = FIRST_FD;
static const struct outside_settings *settings;

void virtual_sockets_begin(const struct outside_settings *of_connections)
{
    settings = of_connections;
    next_fd = FIRST_FD;
}

static struct virtual_socket *socket_of(int fd)
{
    struct virtual_socket *socket = NULL;

    HASH_FIND_INT(by_fd, &fd, socket);
    return socket;
}

static bool is_one_in(uint64_t n)
{
    return sim_random(virtual_time_sim(), n) == 0;
}

/* ------------------------------------------------------------------------------- bytes */

static void append(struct bytes *bytes, const void *more, size_t length)
{
    if (bytes->length + length > bytes->room) {
        size_t room = 2 * (bytes->length + length);
        unsigned char *at = sim__alloc(room);
        if (bytes->length > 0) {
            memcpy(at, bytes->at, bytes->length);
        }
        free(bytes->at);
        bytes->at = at;
        bytes->room = room;
    }
    if (length > 0) {
        memcpy(bytes->at + bytes->length, more, length);
    }
    bytes->length += length;
}

static void take_front(struct bytes *bytes, size_t count)
{
    bytes->length -= count;
    if (bytes->length > 0) {
        memmove(bytes->at, bytes->at + count, bytes->length);
    }
}

/* --------------------------------------------------------------------------- readiness */

static bool is_readable(const struct virtual_socket *socket)
{
    return socket->down.length > 0 || socket->ended || socket->state == BROKEN;
}

static bool is_writable(const struct virtual_socket *socket)
{
    return socket->state == BROKEN || (socket->state == OPEN && !socket->is_full);
}

static void report_later(struct virtual_socket *socket, uint64_t at)
{
    bool ready = (socket->watches_in && is_readable(socket)) ||
                 (socket->watches_out && is_writable(socket)) || socket->state == BROKEN;

    if (socket->sockets != NULL && ready && !virtual_event_is_set(&socket->ready)) {
        virtual_event_set(&socket->ready, at);
    }
}

static void report(struct virtual_socket *socket)
{
    report_later(socket, virtual_time_sim()->now);
}

/* A socket that its owner leaves as it is would be ready for ever, and time must go on. */
static void is_ready(struct virtual_event *event)
{
    struct virtual_socket *socket =
        UVZK__CONTAINER_OF(event, struct virtual_socket, ready);
    struct uvzk__sockets *sockets = socket->sockets;
    bool broken = socket->state == BROKEN;
    bool readable = broken || (socket->watches_in && is_readable(socket));
    bool writable = broken || (socket->watches_out && is_writable(socket));
    int fd = socket->fd;

    if (sockets == NULL || sockets->closing || (!readable && !writable)) {
        return;
    }
    socket->goes_on = false;
    sockets->ready(sockets, fd, readable, writable);
    socket = socket_of(fd);
    if (socket != NULL) {
        report_later(socket, virtual_time_sim()->now + (socket->goes_on ? 0 : 1));
    }
}

/* ------------------------------------------------------------------------ the other end */

static void bytes_come(void *context, const void *bytes, size_t length)
{
    struct virtual_socket *socket = context;

    if (socket->state == OPEN && !socket->ended) {
        append(&socket->down, bytes, length);
        report(socket);
    }
}

static void server_sends(void *context, const void *bytes, size_t length)
{
    struct virtual_socket *socket = context;

    tampering_sent(&socket->tampering, bytes, length);
}

static void server_hangs_up(void *context)
{
    struct virtual_socket *socket = context;

    socket->ended = true;
    report(socket);
}

static const struct outside_client_user user = {.send = server_sends,
                                                .hang_up = server_hangs_up};
static const struct tampering_user tampering_user = {.pass = bytes_come,
                                                     .hang_up = server_hangs_up};

/* The socket has ended. What has come before it may still be read. */
static void break_socket(struct virtual_socket *socket, int error)
{
    socket->state = BROKEN;
    socket->error = error;
    sim__event_clear(virtual_time_sim(), &socket->established);
    report(socket);
}

/* The connection is reset: requests that are under way may be lost, and so may any part of
 * what has come and is not yet read. */
static void reset(struct virtual_socket *socket)
{
    if (socket->state == OPEN) {
        outside_client_break(socket->client);
        socket->down.length = sim_random(virtual_time_sim(), socket->down.length + 1);
        break_socket(socket, ECONNRESET);
    }
}

static void is_established(struct sim *sim, struct sim__event *event)
{
    struct virtual_socket *socket =
        UVZK__CONTAINER_OF(event, struct virtual_socket, established);
    const struct virtual_network *network = virtual_process_network(socket->process);

    if (sim->now < network->silent_until) {
        sim__event_set(sim, event, network->silent_until);
    } else if (sim->now < network->refused_until ||
               socket->server >= sim->server.member_count ||
               !sim__member_up(sim, &sim->server.members[socket->server])) {
        break_socket(socket, ECONNREFUSED);
    } else {
        socket->state = OPEN;
        socket->client =
            outside_client_new(sim, socket->server, settings,
                               virtual_process_name(socket->process), &user, socket);
        outside_client_set_latency(socket->client, network->latency_min_ms,
                                   network->latency_max_ms);
        report(socket);
    }
}

static void is_emptied(struct sim *sim, struct sim__event *event)
{
    struct virtual_socket *socket =
        UVZK__CONTAINER_OF(event, struct virtual_socket, emptied);

    (void)sim;
    socket->is_full = false;
    report(socket);
}

/* ----------------------------------------------------------------------- one socket */

int uvzk__socket_connect(const struct uvzk__address *address, int *fd)
{
    struct virtual_socket *socket = sim__alloc(sizeof(*socket));
    struct sim *sim = virtual_time_sim();

    *fd = socket->fd = next_fd++;
    socket->process = virtual_process_current();
    socket->server = ntohs(address->socket.in.sin_port) - VIRTUAL_PORT;
    socket->established.fire = is_established;
    socket->emptied.fire = is_emptied;
    tampering_begin(&socket->tampering, &tampering_user, socket,
                    virtual_process_name(socket->process));
    virtual_event_init(&socket->ready, socket->process, is_ready);
    HASH_ADD_INT(by_fd, fd, socket);
    const struct virtual_network *network = virtual_process_network(socket->process);
    sim__event_set(sim, &socket->established,
                   sim->now + 2 * sim__random_between(sim, network->latency_min_ms,
                                                      network->latency_max_ms));
    return 0;
}

int uvzk__socket_error(int fd)
{
    struct virtual_socket *socket = socket_of(fd);
    int error = socket->error;

    socket->goes_on = true;
    socket->error = 0;
    return error == 0 ? 0 : uv_translate_sys_error(error);
}

/* The kernel is full for a time, behind these bytes. */
static void fill(struct virtual_socket *socket)
{
    struct sim *sim = virtual_time_sim();

    socket->is_full = true;
    sim__event_set(sim, &socket->emptied, sim->now + 1 + sim_random(sim, FULL_MAX_MS));
}

/* How many of these bytes the kernel takes: mostly all. */
static size_t room_for(struct virtual_socket *socket, size_t length)
{
    if (is_one_in(8)) {
        fill(socket);
        return sim_random(virtual_time_sim(), length + 1);
    }
    return length;
}

/* The server receives what the kernel has taken. The latency is the simulated link's. */
static void deliver(struct virtual_socket *socket)
{
    struct uvzk__jute_bytes frame;

    while (uvzk__jute_frame(uvzk__jute_bytes(socket->up.at, socket->up.length),
                            UVZK__JUTE_MAXBUFFER, &frame) == 0) {
        tampering_asked(&socket->tampering, frame);
        outside_client_receive(socket->client, frame);
        take_front(&socket->up, frame.length + 4);
    }
}

ssize_t uvzk__socket_send(int fd, const void *bytes, size_t length)
{
    struct virtual_socket *socket = socket_of(fd);
    struct sim *sim = virtual_time_sim();

    socket->goes_on = true;
    if (socket->state != OPEN) {
        return uv_translate_sys_error(socket->state == BROKEN ? EPIPE : ENOTCONN);
    }
    if (socket->is_full) {
        return 0;
    }
    size_t taken = room_for(socket, length);
    bool ends = sim__random_hit(sim, sim->faults.lose_request);
    if (ends) {
        taken = sim_random(sim, taken + 1);
    }
    append(&socket->up, bytes, taken);
    deliver(socket);
    if (ends) {
        sim__trace(sim, virtual_process_name(socket->process),
                   "is reset behind %zu of %zu bytes that it sends", taken, length);
        reset(socket);
    }
    return (ssize_t)taken;
}

ssize_t uvzk__socket_receive(int fd, void *bytes, size_t room)
{
    struct virtual_socket *socket = socket_of(fd);
    struct sim *sim = virtual_time_sim();
    size_t length = socket->down.length;

    socket->goes_on = true;
    if (length > 0 && sim__random_hit(sim, sim->faults.lose_reply)) {
        sim__trace(sim, virtual_process_name(socket->process),
                   "is reset within %zu bytes that have come", length);
        reset(socket);
        length = socket->down.length;
    }
    if (length == 0) {
        return socket->state == BROKEN ? uv_translate_sys_error(ECONNRESET)
               : socket->ended         ? UV_EOF
                                       : 0;
    }
    length = length < room ? length : room;
    if (is_one_in(4)) {
        length = 1 + sim_random(sim, length);
    }
    memcpy(bytes, socket->down.at, length);
    take_front(&socket->down, length);
    return (ssize_t)length;
}

void uvzk__socket_shut_down(int fd)
{
    reset(socket_of(fd));
}

/* A connection that is closed over what has not been read is reset. */
void uvzk__socket_close(int fd)
{
    struct virtual_socket *socket = socket_of(fd);
    struct sim *sim = virtual_time_sim();

    if (socket->state == OPEN && socket->down.length > 0) {
        reset(socket);
    }
    if (socket->client != NULL) {
        outside_client_free(socket->client);
    }
    sim__event_clear(sim, &socket->established);
    sim__event_clear(sim, &socket->emptied);
    tampering_end(&socket->tampering);
    virtual_event_clear(&socket->ready);
    HASH_DEL(by_fd, socket);
    free(socket->up.at);
    free(socket->down.at);
    free(socket);
}

/* ---------------------------------------------------------------------- on the loop */

static void alarm_comes(struct virtual_event *event)
{
    struct set *set = UVZK__CONTAINER_OF(event, struct set, alarm);

    set->sockets->due(set->sockets);
}

static void set_closes(struct virtual_event *event)
{
    struct set *set = UVZK__CONTAINER_OF(event, struct set, closing);
    struct uvzk__sockets *sockets = set->sockets;

    free(set);
    sockets->closed(sockets);
}

static struct set *set_of(struct uvzk__sockets *sockets)
{
    return sockets->poll.data;
}

bool uvzk__sockets_are_inherited(const struct uvzk__sockets *sockets)
{
    (void)sockets;
    return false;
}

int uvzk__sockets_open(struct uvzk__sockets *sockets, uv_loop_t *loop)
{
    struct set *set = sim__alloc(sizeof(*set));

    set->sockets = sockets;
    virtual_event_init(&set->alarm, loop->data, alarm_comes);
    virtual_event_init(&set->closing, loop->data, set_closes);
    sockets->poll.data = set;
    sockets->closing = false;
    return 0;
}

void uvzk__sockets_close(struct uvzk__sockets *sockets)
{
    sockets->closing = true;
    virtual_event_clear(&set_of(sockets)->alarm);
    virtual_event_set(&set_of(sockets)->closing, virtual_time_sim()->now);
}

int uvzk__sockets_watch(struct uvzk__sockets *sockets, int fd, bool readable,
                        bool writable)
{
    struct virtual_socket *socket = socket_of(fd);

    socket->sockets = sockets;
    socket->watches_in = readable;
    socket->watches_out = writable;
    report(socket);
    return 0;
}

void uvzk__sockets_forget(struct uvzk__sockets *sockets, int fd)
{
    struct virtual_socket *socket = socket_of(fd);

    (void)sockets;
    socket->sockets = NULL;
    virtual_event_clear(&socket->ready);
}

void uvzk__sockets_alarm(struct uvzk__sockets *sockets, uint64_t at_ms)
{
    uint64_t latest = virtual_time_sim()->now + STEP_MS;

    if (sockets->closing) {
        return;
    }
    if (at_ms == UINT64_MAX) {
        virtual_event_clear(&set_of(sockets)->alarm);
    } else {
        virtual_event_set(&set_of(sockets)->alarm, at_ms < latest ? at_ms : latest);
    }
}

/* --------------------------------------------------------------------- faults of a process */

/* visit() closes no socket. */
static void each_open(const struct virtual_process *process,
                      void (*visit)(struct virtual_socket *, uint64_t), uint64_t value)
{
    for (struct virtual_socket *socket = by_fd; socket != NULL;
         socket = socket->hh.next) {
        if (socket->process == process && socket->state == OPEN) {
            visit(socket, value);
        }
    }
}

static void reset_one(struct virtual_socket *socket, uint64_t unused)
{
    (void)unused;
    reset(socket);
}

void virtual_sockets_reset(struct virtual_process *process, uint64_t ms)
{
    struct sim *sim = virtual_time_sim();

    sim__trace(sim, virtual_process_name(process), "is cut off for %llu ms, reset",
               (unsigned long long)ms);
    virtual_process_network(process)->refused_until = sim->now + ms;
    each_open(process, reset_one, 0);
}

static void leave_one(struct virtual_socket *socket, uint64_t late_ms)
{
    outside_client_delay(socket->client, late_ms);
    outside_client_end(socket->client);
    break_socket(socket, ECONNRESET);
}

void virtual_sockets_leave(struct virtual_process *process, uint64_t late_ms)
{
    sim__trace(virtual_time_sim(), virtual_process_name(process),
               "loses its connections, and what it has sent comes late");
    each_open(process, leave_one, late_ms);
}

static void silence_one(struct virtual_socket *socket, uint64_t ms)
{
    outside_client_silence(socket->client, ms);
}

void virtual_sockets_silence(struct virtual_process *process, uint64_t ms)
{
    struct sim *sim = virtual_time_sim();

    sim__trace(sim, virtual_process_name(process), "is cut off for %llu ms, silently",
               (unsigned long long)ms);
    virtual_process_network(process)->silent_until = sim->now + ms;
    each_open(process, silence_one, ms);
}

static void cut_one(struct virtual_socket *socket, uint64_t ms)
{
    outside_client_cut_follower(socket->client, ms);
}

void virtual_sockets_cut_followers(struct virtual_process *process, uint64_t ms)
{
    each_open(process, cut_one, ms);
}

void virtual_sockets_set_latency(struct virtual_process *process, uint32_t min_ms,
                                 uint32_t max_ms)
{
    virtual_process_network(process)->latency_min_ms = min_ms;
    virtual_process_network(process)->latency_max_ms = max_ms;
}
