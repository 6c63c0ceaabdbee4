/* SPDX-License-Identifier: Apache-2.0 */
#include "recorder.h"

#include <arpa/inet.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>

#define POLL_MS 10
#define PATIENCE_S 20
#define CHUNK 4096

static struct sockaddr_in loopback(uint16_t port)
{
    struct sockaddr_in address = {.sin_family = AF_INET, .sin_port = htons(port)};

    address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    return address;
}

static int connect_to(uint16_t port)
{
    struct sockaddr_in address = loopback(port);
    int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);

    if (connect(fd, (struct sockaddr *)&address, sizeof(address)) < 0) {
        close(fd);
        return -1;
    }
    return fd;
}

static bool send_all(int fd, const unsigned char *bytes, size_t length)
{
    while (length > 0) {
        ssize_t sent = send(fd, bytes, length, MSG_NOSIGNAL);
        if (sent <= 0) {
            return false;
        }
        bytes += sent;
        length -= (size_t)sent;
    }
    return true;
}

/* Passes on what has come. Returns how much; 0: the connection has ended. */
static size_t pass_on(int from, int to, struct recording *recording)
{
    unsigned char chunk[CHUNK];
    ssize_t got = recv(from, chunk, sizeof(chunk), 0);

    if (got <= 0) {
        return 0;
    }
    recording->bytes = realloc(recording->bytes, recording->length + (size_t)got);
    memcpy(recording->bytes + recording->length, chunk, (size_t)got);
    recording->length += (size_t)got;
    return send_all(to, chunk, (size_t)got) ? (size_t)got : 0;
}

static bool is_stopped(struct recorder *recorder)
{
    pthread_mutex_lock(&recorder->mutex);
    bool stop = recorder->stop;
    pthread_mutex_unlock(&recorder->mutex);
    return stop;
}

/* Returns true if the connection is to be closed now, which is told to recorder_cut. */
static bool is_cut(struct recorder *recorder)
{
    pthread_mutex_lock(&recorder->mutex);
    bool ends = recorder->stop || recorder->cut;
    recorder->cut = false;
    pthread_cond_broadcast(&recorder->changed);
    pthread_mutex_unlock(&recorder->mutex);
    return ends;
}

static void count_sent(struct recorder *recorder, size_t bytes)
{
    pthread_mutex_lock(&recorder->mutex);
    recorder->sent += bytes;
    pthread_cond_broadcast(&recorder->changed);
    pthread_mutex_unlock(&recorder->mutex);
}

static void relay(struct recorder *recorder, int client, int server,
                  struct recording *requests, struct recording *replies)
{
    while (!is_cut(recorder)) {
        struct pollfd fds[] = {{client, POLLIN, 0}, {server, POLLIN, 0}};
        size_t passed;

        (void)poll(fds, 2, POLL_MS);
        if (fds[0].revents != 0) {
            if ((passed = pass_on(client, server, requests)) == 0) {
                break;
            }
            count_sent(recorder, passed);
        }
        if (fds[1].revents != 0 && pass_on(server, client, replies) == 0) {
            break;
        }
    }
}

static void *run(void *argument)
{
    struct recorder *recorder = argument;

    while (!is_stopped(recorder) && recorder->connections < RECORDED_CONNECTIONS) {
        struct pollfd listening = {recorder->listener, POLLIN, 0};
        if (poll(&listening, 1, POLL_MS) <= 0) {
            continue;
        }
        int client = accept(recorder->listener, NULL, NULL);
        int server = connect_to(recorder->server_port);
        size_t i = recorder->connections++;
        relay(recorder, client, server, &recorder->requests[i], &recorder->replies[i]);
        close(client);
        close(server);
    }
    return NULL;
}

bool recorder_start(struct recorder *recorder, uint16_t server_port)
{
    struct sockaddr_in address = loopback(0);
    socklen_t size = sizeof(address);

    memset(recorder, 0, sizeof(*recorder));
    recorder->server_port = server_port;
    pthread_mutex_init(&recorder->mutex, NULL);
    pthread_cond_init(&recorder->changed, NULL);
    recorder->listener = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    if (bind(recorder->listener, (struct sockaddr *)&address, size) < 0 ||
        listen(recorder->listener, 8) < 0 ||
        getsockname(recorder->listener, (struct sockaddr *)&address, &size) < 0) {
        return false;
    }
    (void)snprintf(recorder->hosts, sizeof(recorder->hosts), "127.0.0.1:%u",
                   ntohs(address.sin_port));
    return pthread_create(&recorder->thread, NULL, run, recorder) == 0;
}

/* With the mutex: waits for a change. False: the deadline has come. */
static bool await_change(struct recorder *recorder, const struct timespec *deadline)
{
    return pthread_cond_timedwait(&recorder->changed, &recorder->mutex, deadline) == 0;
}

static struct timespec deadline_from_now(void)
{
    struct timespec deadline;

    clock_gettime(CLOCK_REALTIME, &deadline);
    deadline.tv_sec += PATIENCE_S;
    return deadline;
}

bool recorder_cut(struct recorder *recorder)
{
    const struct timespec deadline = deadline_from_now();
    bool in_time = true;

    pthread_mutex_lock(&recorder->mutex);
    recorder->cut = true;
    while (recorder->cut && in_time) {
        in_time = await_change(recorder, &deadline);
    }
    pthread_mutex_unlock(&recorder->mutex);
    return in_time;
}

bool recorder_await_request(struct recorder *recorder)
{
    const struct timespec deadline = deadline_from_now();
    bool in_time = true;

    pthread_mutex_lock(&recorder->mutex);
    size_t before = recorder->sent;
    while (recorder->sent == before && in_time) {
        in_time = await_change(recorder, &deadline);
    }
    pthread_mutex_unlock(&recorder->mutex);
    return in_time;
}

void recorder_stop(struct recorder *recorder)
{
    pthread_mutex_lock(&recorder->mutex);
    recorder->stop = true;
    pthread_mutex_unlock(&recorder->mutex);
    pthread_join(recorder->thread, NULL);
    close(recorder->listener);
}

void recorder_free(struct recorder *recorder)
{
    pthread_cond_destroy(&recorder->changed);
    pthread_mutex_destroy(&recorder->mutex);
    for (size_t i = 0; i < RECORDED_CONNECTIONS; i++) {
        free(recorder->requests[i].bytes);
        free(recorder->replies[i].bytes);
    }
}
