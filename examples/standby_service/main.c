/* SPDX-License-Identifier: Apache-2.0 */
/* standby_service ID [HOSTS [PORT]]: an HTTP service of which several instances run. One
 * leads and serves; the others are its standbys. README.md says what it answers.
 *
 * The election decides who serves: an instance asks uvzk_election_is_leader before each
 * answer that only the leader may give. Who else leads is information for people: it is
 * what changed_cb has told last. */
#include <inttypes.h>
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <uv.h>
#include <uvzk.h>

enum { PORT = 8080, BACKLOG = 128, IDLE_MS = 5000, REQUEST_MAX = 4096, ID_MAX = 64 };

struct service {
    uv_tcp_t listener;
    uv_signal_t signals[2];
    uvzk_client_t client;
    uvzk_election_t election;
    const char *id;
    char leader[ID_MAX + 1]; /* the last leader that is known; "": none */
    int64_t leader_token;
};

/* One connection: one request and one answer. */
struct visit {
    uv_tcp_t tcp;
    uv_timer_t idle; /* ends a connection on which nothing comes */
    uv_write_t write;
    struct service *service;
    int open_handles;
    size_t length; /* of request */
    char request[REQUEST_MAX + 1];
    char body[512], head[256];
};

/* ------------------------------------------------------------------- the election */

static void on_leader(uvzk_election_t *election, int64_t token, uint64_t valid_until)
{
    const struct service *service = election->data;

    (void)valid_until;
    printf("%s leads, token %" PRId64 "\n", service->id, token);
    fflush(stdout);
}

/* The work of a leader ends here: nothing of this service goes on by itself. */
static void on_deposed(uvzk_election_t *election, int reason)
{
    const struct service *service = election->data;

    printf("%s no longer leads: %s\n", service->id, uvzk_strerror(reason));
    fflush(stdout);
}

/* Any program may stand in the election, so the id may be any bytes: what needs quotes in
 * JSON is replaced. */
static void on_changed(uvzk_election_t *election,
                       const uvzk_election_participant_t *leader)
{
    struct service *service = election->data;
    size_t length = leader == NULL               ? 0
                    : leader->id_length < ID_MAX ? leader->id_length
                                                 : ID_MAX;

    for (size_t i = 0; i < length; i++) {
        char c = leader->id[i];
        service->leader[i] = c >= ' ' && c <= '~' && c != '"' && c != '\\' ? c : '?';
    }
    service->leader[length] = '\0';
    service->leader_token = leader == NULL ? 0 : leader->token;
}

static void on_refused(uvzk_election_t *election, int status)
{
    const struct service *service = election->data;

    fprintf(stderr, "%s is not in the election: %s\n", service->id,
            uvzk_strerror(status));
}

/* ------------------------------------------------------------------ the answers */

static void on_closed(uv_handle_t *handle)
{
    struct visit *visit = handle->data;

    if (--visit->open_handles == 0) {
        free(visit);
    }
}

static void end_visit(struct visit *visit)
{
    if (!uv_is_closing((uv_handle_t *)&visit->tcp)) {
        uv_close((uv_handle_t *)&visit->tcp, on_closed);
        uv_close((uv_handle_t *)&visit->idle, on_closed);
    }
}

static void on_idle(uv_timer_t *timer)
{
    end_visit(timer->data);
}

static void on_written(uv_write_t *write, int status)
{
    (void)status;
    end_visit(write->data);
}

/* Sends visit->body. */
static void answer(struct visit *visit, const char *status)
{
    snprintf(visit->head, sizeof(visit->head),
             "HTTP/1.1 %s\r\nContent-Type: application/json\r\nContent-Length: %zu\r\n"
             "Cache-Control: no-store\r\nConnection: close\r\n\r\n",
             status, strlen(visit->body));
    const uv_buf_t parts[] = {uv_buf_init(visit->head, (unsigned)strlen(visit->head)),
                              uv_buf_init(visit->body, (unsigned)strlen(visit->body))};
    visit->write.data = visit;
    if (uv_write(&visit->write, (uv_stream_t *)&visit->tcp, parts, 2, on_written) < 0) {
        end_visit(visit);
    }
}

/* Who leads, and whether it is this instance. */
static void answer_health(struct visit *visit)
{
    const struct service *service = visit->service;
    bool leads = uvzk_election_is_leader(&service->election);

    snprintf(visit->body, sizeof(visit->body),
             "{\"id\":\"%s\",\"role\":\"%s\",\"leader\":\"%s\",\"token\":%" PRId64 "}\n",
             service->id, leads ? "leader" : "standby",
             leads ? service->id : service->leader,
             leads ? uvzk_election_token(&service->election) : service->leader_token);
    answer(visit, leads ? "200 OK" : "503 Service Unavailable");
}

/* The work. A store that it writes to must get the token, too, and refuse smaller ones. */
static void answer_work(struct visit *visit)
{
    const struct service *service = visit->service;

    if (!uvzk_election_is_leader(&service->election)) {
        answer_health(visit);
        return;
    }
    snprintf(visit->body, sizeof(visit->body),
             "{\"served_by\":\"%s\",\"token\":%" PRId64 "}\n", service->id,
             uvzk_election_token(&service->election));
    answer(visit, "200 OK");
}

static void answer_request(struct visit *visit)
{
    if (strncmp(visit->request, "GET /healthz ", 13) == 0) {
        answer_health(visit);
    } else if (strncmp(visit->request, "GET /livez ", 11) == 0) {
        snprintf(visit->body, sizeof(visit->body), "{\"alive\":true}\n");
        answer(visit, "200 OK");
    } else if (strncmp(visit->request, "GET / ", 6) == 0) {
        answer_work(visit);
    } else {
        snprintf(visit->body, sizeof(visit->body), "{\"paths\":\"/ /healthz /livez\"}\n");
        answer(visit, "404 Not Found");
    }
}

/* ---------------------------------------------------------------- the requests */

static void on_room(uv_handle_t *handle, size_t suggested, uv_buf_t *room)
{
    struct visit *visit = handle->data;

    (void)suggested;
    *room = uv_buf_init(visit->request + visit->length,
                        (unsigned)(REQUEST_MAX - visit->length));
}

/* Only requests without a body are served, so a request ends with an empty line. */
static void on_bytes(uv_stream_t *tcp, ssize_t length, const uv_buf_t *room)
{
    struct visit *visit = tcp->data;

    (void)room;
    if (length < 0) { /* also UV_ENOBUFS: the request is too long */
        end_visit(visit);
        return;
    }
    visit->length += (size_t)length;
    visit->request[visit->length] = '\0';
    if (strstr(visit->request, "\r\n\r\n") != NULL) {
        uv_read_stop(tcp);
        answer_request(visit);
    }
}

static void on_connection(uv_stream_t *listener, int status)
{
    struct visit *visit = status < 0 ? NULL : calloc(1, sizeof(*visit));

    if (visit == NULL) {
        return;
    }
    visit->service = listener->data;
    visit->open_handles = 2;
    visit->tcp.data = visit->idle.data = visit;
    uv_tcp_init(listener->loop, &visit->tcp);
    uv_timer_init(listener->loop, &visit->idle);
    if (uv_accept(listener, (uv_stream_t *)&visit->tcp) < 0 ||
        uv_timer_start(&visit->idle, on_idle, IDLE_MS, 0) < 0 ||
        uv_read_start((uv_stream_t *)&visit->tcp, on_room, on_bytes) < 0) {
        end_visit(visit);
    }
}

/* ------------------------------------------------------------- begin and end */

/* Leaves the election, so that another instance leads at once, and closes everything. */
static void stop(struct service *service)
{
    uvzk_election_close(&service->election, UVZK_ELECTION_NOTIFY, NULL);
    uvzk_client_close(&service->client, NULL);
    uv_close((uv_handle_t *)&service->listener, NULL);
    for (size_t i = 0; i < 2; i++) {
        uv_close((uv_handle_t *)&service->signals[i], NULL);
    }
}

static void on_signal(uv_signal_t *signal, int number)
{
    (void)number;
    stop(signal->data);
}

static int stand(struct service *service, uv_loop_t *loop, const char *hosts)
{
    uvzk_client_options_t client;
    uvzk_election_options_t election;

    uvzk_client_options_init(&client);
    client.hosts = hosts;
    client.session_timeout_ms = 6000; /* so long a dead leader is not replaced */
    int status = uvzk_client_init(loop, &service->client, &client);
    if (status == 0) {
        status = uvzk_client_start(&service->client);
    }
    uvzk_election_options_init(&election);
    election.id = service->id;
    election.leader_cb = on_leader;
    election.deposed_cb = on_deposed;
    election.changed_cb = on_changed;
    election.error_cb = on_refused;
    service->election.data = service;
    return status < 0 ? status
                      : uvzk_election_init(&service->client, &service->election,
                                           "/services/standby", &election);
}

static int listen_at(struct service *service, int port)
{
    struct sockaddr_in where;
    int length = sizeof(where);
    int status = uv_ip4_addr("127.0.0.1", port, &where);

    if (status == 0) {
        status = uv_tcp_bind(&service->listener, (const struct sockaddr *)&where, 0);
    }
    if (status == 0) {
        status = uv_listen((uv_stream_t *)&service->listener, BACKLOG, on_connection);
    }
    if (status == 0 &&
        uv_tcp_getsockname(&service->listener, (struct sockaddr *)&where, &length) == 0) {
        printf("%s: http://127.0.0.1:%d/healthz\n", service->id, ntohs(where.sin_port));
        fflush(stdout);
    }
    return status;
}

static int begin(struct service *service, uv_loop_t *loop, const char *hosts, int port)
{
    const int numbers[2] = {SIGTERM, SIGINT};

    signal(SIGPIPE, SIG_IGN); /* a write to a closed connection returns an error */
    uv_tcp_init(loop, &service->listener);
    service->listener.data = service;
    for (size_t i = 0; i < 2; i++) {
        uv_signal_init(loop, &service->signals[i]);
        uv_signal_start(&service->signals[i], on_signal, numbers[i]);
        service->signals[i].data = service;
    }
    int status = listen_at(service, port);
    return status < 0 ? status : stand(service, loop, hosts);
}

int main(int argc, char **argv)
{
    static struct service service; /* all zeros */
    uv_loop_t *loop = uv_default_loop();

    if (argc < 2 || argc > 4 || argv[1][0] == '-' || strlen(argv[1]) > ID_MAX ||
        strpbrk(argv[1], "\"\\") != NULL) {
        fprintf(stderr, "usage: standby_service ID [HOSTS [PORT]]\n");
        return 2;
    }
    service.id = argv[1];
    int status = begin(&service, loop, argc > 2 ? argv[2] : "127.0.0.1:2181",
                       argc > 3 ? (int)strtol(argv[3], NULL, 10) : PORT);
    if (status < 0) {
        fprintf(stderr, "standby_service: %s\n", uvzk_strerror(status));
        stop(&service);
    }
    uv_run(loop, UV_RUN_DEFAULT);
    return uv_loop_close(loop) == 0 && status == 0 ? 0 : 1;
}
