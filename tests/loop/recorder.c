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
#define PATIENCE_MS 20000
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

static void relay(struct recorder *recorder, int client, int server,
                  struct recording *requests, struct recording *replies)
{
    while (!atomic_load(&recorder->stop) && !atomic_exchange(&recorder->cut, false)) {
        struct pollfd fds[] = {{client, POLLIN, 0}, {server, POLLIN, 0}};
        size_t passed;

        (void)poll(fds, 2, POLL_MS);
        if (fds[0].revents != 0) {
            if ((passed = pass_on(client, server, requests)) == 0) {
                break;
            }
            atomic_fetch_add(&recorder->sent, passed);
        }
        if (fds[1].revents != 0 && pass_on(server, client, replies) == 0) {
            break;
        }
    }
}

static void *run(void *argument)
{
    struct recorder *recorder = argument;

    while (!atomic_load(&recorder->stop) &&
           recorder->connections < RECORDED_CONNECTIONS) {
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

void recorder_cut(struct recorder *recorder)
{
    const struct timespec nap = {0, POLL_MS * 1000000};

    atomic_store(&recorder->cut, true);
    while (atomic_load(&recorder->cut)) {
        nanosleep(&nap, NULL);
    }
}

bool recorder_await_request(struct recorder *recorder)
{
    const struct timespec nap = {0, POLL_MS * 1000000};
    size_t before = atomic_load(&recorder->sent);

    for (int waited = 0; waited < PATIENCE_MS; waited += POLL_MS) {
        if (atomic_load(&recorder->sent) != before) {
            return true;
        }
        nanosleep(&nap, NULL);
    }
    return false;
}

void recorder_stop(struct recorder *recorder)
{
    atomic_store(&recorder->stop, true);
    pthread_join(recorder->thread, NULL);
    close(recorder->listener);
}

void recorder_free(struct recorder *recorder)
{
    for (size_t i = 0; i < RECORDED_CONNECTIONS; i++) {
        free(recorder->requests[i].bytes);
        free(recorder->replies[i].bytes);
    }
}
