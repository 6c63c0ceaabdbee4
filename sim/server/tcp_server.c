/* SPDX-License-Identifier: Apache-2.0 */
/* Accepts connections, cuts what they send into frames, and runs the simulation
 * (tcp_server.h). After each frame the simulation runs until now, so what the frame asks
 * for is done before the next one. */
#include "tcp_server.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "four_letter_words.h"
#include "sim_internal.h"

/* The greatest frame that a server reads; jute.maxbuffer. */
#define FRAME_MAX UVZK__JUTE_MAXBUFFER
#define NAME_ROOM 64

struct tcp_connection {
    uv_tcp_t socket;
    struct tcp_server *server;
    struct uvzk__link link;        /* in server->connections */
    struct outside_client *client; /* NULL: it is being closed */
    size_t number;                 /* of its server */
    bool greeted;                  /* a frame has come */
    uv_shutdown_t shutdown;
    char name[NAME_ROOM];
    unsigned char *in;
    size_t in_length, in_capacity;
};

struct outgoing {
    uv_write_t write;
    unsigned char bytes[];
};

static struct tcp_connection *connection_at(struct uvzk__link *link)
{
    return UVZK__CONTAINER_OF(link, struct tcp_connection, link);
}

/* ------------------------------------------------------------------------------- closing */

static void leave_simulation(struct tcp_connection *connection)
{
    if (connection->client != NULL) {
        outside_client_free(connection->client);
        connection->client = NULL;
    }
}

static void connection_freed(uv_handle_t *handle)
{
    struct tcp_connection *connection = handle->data;

    leave_simulation(connection);
    free(connection->in);
    free(connection);
}

static void close_socket(struct tcp_connection *connection)
{
    uv_handle_t *handle = (uv_handle_t *)&connection->socket;

    if (!uv_is_closing(handle)) {
        uvzk__list_remove(&connection->link);
        leave_simulation(connection);
        uv_close(handle, connection_freed);
    }
}

void tcp_connection_cut(struct tcp_connection *connection)
{
    if (!uv_is_closing((uv_handle_t *)&connection->socket)) {
        uvzk__list_remove(&connection->link);
        leave_simulation(connection);
        if (uv_tcp_close_reset(&connection->socket, connection_freed) != 0) {
            uv_close((uv_handle_t *)&connection->socket, connection_freed);
        }
    }
}

static void shut_down(uv_shutdown_t *shutdown, int status)
{
    (void)status;
    close_socket(shutdown->data);
}

/* ------------------------------------------------------------------------------- sending */

static void written(uv_write_t *write, int status)
{
    (void)status;
    free(write); /* the first member of struct outgoing */
}

static void send_bytes(void *context, const void *bytes, size_t length)
{
    struct tcp_connection *connection = context;
    struct outgoing *outgoing = sim__alloc(sizeof(*outgoing) + length);
    uv_buf_t buffer = uv_buf_init((char *)outgoing->bytes, (unsigned)length);

    memcpy(outgoing->bytes, bytes, length);
    if (uv_is_closing((uv_handle_t *)&connection->socket) ||
        uv_write(&outgoing->write, (uv_stream_t *)&connection->socket, &buffer, 1,
                 written) != 0) {
        free(outgoing);
    }
}

/* What has been written is sent first. The client is in use now, so it is freed with the
 * connection. */
static void hang_up(void *context)
{
    struct tcp_connection *connection = context;
    uv_handle_t *handle = (uv_handle_t *)&connection->socket;

    connection->shutdown.data = connection;
    if (!uv_is_closing(handle) &&
        uv_shutdown(&connection->shutdown, (uv_stream_t *)&connection->socket,
                    shut_down) != 0) {
        uvzk__list_remove(&connection->link);
        uv_close(handle, connection_freed);
    }
}

static const struct outside_client_user user = {.send = send_bytes, .hang_up = hang_up};

/* ---------------------------------------------------------------------------------- time */

static uint64_t virtual_now(const struct tcp_server *server)
{
    return server->start_ms + (uv_hrtime() - server->began) / 1000000U;
}

static void timer_due(uv_timer_t *timer)
{
    tcp_server_run(timer->data);
}

void tcp_server_run(struct tcp_server *server)
{
    struct sim *sim = server->sim;
    uint64_t now = virtual_now(server);

    sim_run_until(sim, now > sim->now ? now : sim->now);
    if (sim->heap_count > 0 && !uv_is_closing((uv_handle_t *)&server->timer)) {
        uint64_t next = sim->heap[1]->at;
        uv_update_time(server->loop);
        uv_timer_start(&server->timer, timer_due, next > now ? next - now : 1, 0);
    }
}

/* ----------------------------------------------------------------------------- receiving */

/* What a frame causes may close the connection. */
static bool receive_frame(struct tcp_connection *connection,
                          struct uvzk__jute_bytes frame)
{
    struct tcp_server *server = connection->server;

    connection->greeted = true;
    outside_client_receive(connection->client, frame);
    tcp_server_run(server);
    return connection->client != NULL;
}

static void answer_word(struct tcp_connection *connection)
{
    char *bytes = NULL;
    size_t length = 0;
    FILE *answer = open_memstream(&bytes, &length);

    if (answer != NULL) {
        four_letter_answer(connection->server, connection->number, connection->in,
                           answer);
        (void)fclose(answer);
        send_bytes(connection, bytes, length);
        free(bytes);
    }
    uv_read_stop((uv_stream_t *)&connection->socket);
    hang_up(connection);
}

static void receive_frames(struct tcp_connection *connection)
{
    struct uvzk__jute_bytes frame;
    size_t at = 0;
    int status = 0;

    while ((status = uvzk__jute_frame(
                uvzk__jute_bytes(connection->in + at, connection->in_length - at),
                FRAME_MAX, &frame)) == 0) {
        at += 4 + frame.length;
        if (!receive_frame(connection, frame)) {
            return;
        }
    }
    connection->in_length -= at;
    memmove(connection->in, connection->in + at, connection->in_length);
    if (status != UV_EAGAIN) {
        close_socket(connection);
    }
}

static void allocate(uv_handle_t *handle, size_t suggested, uv_buf_t *buffer)
{
    struct tcp_connection *connection = handle->data;

    if (connection->in_capacity < connection->in_length + suggested) {
        unsigned char *more = sim__alloc(2 * (connection->in_length + suggested));
        if (connection->in_length > 0) {
            memcpy(more, connection->in, connection->in_length);
        }
        free(connection->in);
        connection->in = more;
        connection->in_capacity = 2 * (connection->in_length + suggested);
    }
    *buffer =
        uv_buf_init((char *)connection->in + connection->in_length, (unsigned)suggested);
}

static void received(uv_stream_t *stream, ssize_t count, const uv_buf_t *buffer)
{
    struct tcp_connection *connection = stream->data;
    struct tcp_server *server = connection->server;

    (void)buffer;
    if (count < 0) {
        close_socket(connection);
        tcp_server_run(server);
        return;
    }
    connection->in_length += (size_t)count;
    if (!connection->greeted && connection->in_length >= FOUR_LETTERS &&
        four_letter_word(connection->in)) {
        answer_word(connection);
    } else {
        receive_frames(connection);
    }
}

/* ----------------------------------------------------------------------------- accepting */

static void name_connection(struct tcp_connection *connection)
{
    struct sockaddr_storage address;
    int length = sizeof(address);
    char host[NAME_ROOM - 8] = "?";
    uint16_t port = 0;

    if (uv_tcp_getpeername(&connection->socket, (struct sockaddr *)&address, &length) ==
        0) {
        const struct sockaddr_in *ipv4 =
            (const struct sockaddr_in *)(const void *)&address;
        uv_ip4_name(ipv4, host, sizeof(host));
        port = ntohs(ipv4->sin_port);
    }
    snprintf(connection->name, sizeof(connection->name), "%s:%u", host, port);
}

static void accepted(uv_stream_t *listener, int status)
{
    struct tcp_server *server = listener->data;
    struct tcp_connection *connection = sim__alloc(sizeof(*connection));

    connection->server = server;
    connection->number = (size_t)((uv_tcp_t *)listener - server->listeners);
    uvzk__list_prepend(&server->connections, &connection->link);
    uv_tcp_init(server->loop, &connection->socket);
    connection->socket.data = connection;
    if (status != 0 || uv_accept(listener, (uv_stream_t *)&connection->socket) != 0) {
        close_socket(connection);
        return;
    }
    server->accepted++;
    tcp_server_run(server);
    if (server->sim->now < server->refuses_until) {
        tcp_connection_cut(connection);
        return;
    }
    uv_tcp_nodelay(&connection->socket, 1);
    name_connection(connection);
    connection->client =
        outside_client_new(server->sim, connection->number, &server->settings,
                           connection->name, &user, connection);
    uv_read_start((uv_stream_t *)&connection->socket, allocate, received);
}

static int listen_on(struct tcp_server *server, size_t i, uint16_t port)
{
    struct sockaddr_in address;
    int length = sizeof(address);
    uv_tcp_t *listener = &server->listeners[i];

    uv_tcp_init(server->loop, listener);
    listener->data = server;
    server->servers = i + 1;
    uv_ip4_addr("127.0.0.1", port, &address);
    int status = uv_tcp_bind(listener, (const struct sockaddr *)&address, 0);
    if (status == 0) {
        status = uv_listen((uv_stream_t *)listener, 1024, accepted);
    }
    if (status == 0) {
        uv_tcp_getsockname(listener, (struct sockaddr *)&address, &length);
        server->ports[i] = ntohs(address.sin_port);
    }
    return status;
}

/* ------------------------------------------------------------------------- open and close */

int tcp_server_open(uv_loop_t *loop, struct tcp_server *server, struct sim *sim,
                    uint16_t port)
{
    size_t servers = sim->server.member_count;
    int status = servers > TCP_SERVERS_MAX ? UV_EINVAL : 0;

    memset(server, 0, sizeof(*server));
    server->loop = loop;
    server->sim = sim;
    uvzk__list_init(&server->connections);
    server->began = uv_hrtime();
    server->start_ms = sim->now;
    uv_timer_init(loop, &server->timer);
    server->timer.data = server;
    for (size_t i = 0; i < servers && status == 0; i++) {
        status = listen_on(server, i, port == 0 ? 0 : (uint16_t)(port + i));
    }
    if (status != 0) {
        tcp_server_close(server);
    }
    return status;
}

void tcp_server_close(struct tcp_server *server)
{
    while (!uvzk__list_empty(&server->connections)) {
        close_socket(connection_at(server->connections.next));
    }
    for (size_t i = 0; i < server->servers; i++) {
        uv_close((uv_handle_t *)&server->listeners[i], NULL);
    }
    uv_close((uv_handle_t *)&server->timer, NULL);
}

void tcp_server_each(struct tcp_server *server,
                     void (*visit)(struct tcp_connection *, void *context), void *context)
{
    for (struct uvzk__link *at = server->connections.next, *next;
         at != &server->connections; at = next) {
        next = at->next;
        visit(connection_at(at), context);
    }
}

struct outside_client *tcp_connection_client(struct tcp_connection *connection)
{
    return connection->client;
}

const char *tcp_connection_name(const struct tcp_connection *connection)
{
    return connection->name;
}
