/* SPDX-License-Identifier: Apache-2.0 */
/* A TCP relay in front of a server, on a thread of its own, that keeps all bytes of both
 * directions. It has one connection at a time. */
#ifndef UVZK_TEST_RECORDER_H
#define UVZK_TEST_RECORDER_H

#include <pthread.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define RECORDED_CONNECTIONS 8

struct recording {
    unsigned char *bytes;
    size_t length;
};

struct recorder {
    pthread_t thread;
    int listener;
    char hosts[32]; /* "127.0.0.1:port" */
    uint16_t server_port;
    pthread_mutex_t mutex; /* of what follows, until the next comment */
    pthread_cond_t changed;
    bool cut, stop;
    size_t sent; /* bytes of requests so far */
    /* To be read after recorder_stop. */
    struct recording requests[RECORDED_CONNECTIONS], replies[RECORDED_CONNECTIONS];
    size_t connections;
};

/* Returns false if it cannot listen. */
bool recorder_start(struct recorder *recorder, uint16_t server_port);
/* Closes the connection, and returns when nothing is passed on any more; the client may
 * connect again. False: not within 20 s. */
bool recorder_cut(struct recorder *recorder);
/* Waits until the client has sent something more. False: not within 20 s. */
bool recorder_await_request(struct recorder *recorder);
void recorder_stop(struct recorder *recorder);
void recorder_free(struct recorder *recorder);

#endif
