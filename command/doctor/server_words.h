/* SPDX-License-Identifier: Apache-2.0 */
/* Asks a server with a four-letter word, such as "srvr", over a TCP connection of its own.
 * The servers answer only the words of their 4lw.commands.whitelist; "srvr" is in it by
 * default. */
#ifndef SERVER_WORDS_H
#define SERVER_WORDS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <uv.h>

#include "doctor/server_exchange.h"

#define SERVER_WORDS_MOST 8191 /* of an answer; the rest is not read */

struct server_words {
    int status;        /* 0, or why there is no answer: an error code of libuv */
    bool connected;    /* the server has accepted the connection */
    double connect_ms; /* how long that took */
    char answer[SERVER_WORDS_MOST + 1];
    size_t length;

    /* Its own. */
    const char *word;
    uint64_t begun; /* uv_hrtime() */
    struct server_exchange exchange;
};

/* Takes an address of a server list apart, "10.0.0.1:2181" or "[fd00::1]:2181". Returns 0
 * or an error code of libuv. */
int server_words_address(const char *address, struct sockaddr_storage *parsed);

/* Connects to "10.0.0.1:2181" or "[fd00::1]:2181" and asks; word "": it only connects. The
 * question is over when the exchange is. The struct must be zeroed. */
void server_words_ask(struct server_words *, uv_loop_t *, const char *address,
                      const char *word);
/* Ends the question with UV_ETIMEDOUT, unless it is over. */
void server_words_give_up(struct server_words *);

/* Returns the number behind the name in a line of the answer, such as "Zxid: 0x1f" or
 * "tickTime=2000"; -1: there is no such line. */
int64_t server_words_number(const struct server_words *, const char *name);
/* Copies the text behind the name, up to one of `ends` or the end of the line. Returns false
 * if there is no such line. */
bool server_words_text(const struct server_words *, const char *name, const char *ends,
                       char *text, size_t size);

#endif
