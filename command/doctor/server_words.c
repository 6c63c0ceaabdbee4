/* SPDX-License-Identifier: Apache-2.0 */
/* One connection, one word, and what the server sends until it closes the connection
 * (server_words.h). */
#include "doctor/server_words.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static void end(struct server_words *words, int status)
{
    if (server_exchange_end(&words->exchange)) {
        words->status = status;
    }
}

static void on_connected(void *asker)
{
    struct server_words *words = asker;

    words->connected = true;
    words->connect_ms = (double)(uv_hrtime() - words->begun) / 1e6;
    if (words->word[0] == '\0') {
        end(words, 0);
    } else {
        server_exchange_send(&words->exchange, words->word, strlen(words->word));
    }
}

static void on_received(void *asker, const char *bytes, size_t length)
{
    struct server_words *words = asker;
    size_t room = SERVER_WORDS_MOST - words->length;
    size_t kept = length < room ? length : room;

    memcpy(words->answer + words->length, bytes, kept);
    words->length += kept;
    if (kept == room) {
        end(words, 0); /* there is enough */
    }
}

static void on_failed(void *asker, int status)
{
    end(asker, status == UV_EOF ? 0 : status);
}

int server_words_address(const char *address, struct sockaddr_storage *parsed)
{
    char host[128];
    const char *colon = strrchr(address, ':');
    bool six = address[0] == '[';
    int port = atoi(colon + 1);

    snprintf(host, sizeof(host), "%.*s", (int)(colon - address) - (six ? 2 : 0),
             address + (six ? 1 : 0));
    return six ? uv_ip6_addr(host, port, (struct sockaddr_in6 *)parsed)
               : uv_ip4_addr(host, port, (struct sockaddr_in *)parsed);
}

void server_words_ask(struct server_words *words, uv_loop_t *loop, const char *address,
                      const char *word)
{
    static const struct server_exchange_calls calls = {
        .connected = on_connected, .received = on_received, .failed = on_failed};
    struct sockaddr_storage parsed = {0}; /* libuv refuses this one */

    (void)server_words_address(address, &parsed);
    words->word = word;
    words->begun = uv_hrtime();
    server_exchange_begin(&words->exchange, loop, (struct sockaddr *)&parsed, &calls,
                          words);
}

void server_words_give_up(struct server_words *words)
{
    end(words, UV_ETIMEDOUT);
}

/* Returns what is behind the name at the beginning of a line. */
static const char *find_line(const struct server_words *words, const char *name)
{
    const char *line = words->answer;

    while (strncmp(line, name, strlen(name)) != 0) {
        line = strchr(line, '\n');
        if (line == NULL) {
            return NULL;
        }
        line++;
    }
    return line + strlen(name);
}

int64_t server_words_number(const struct server_words *words, const char *name)
{
    const char *text = find_line(words, name);
    char *end_of_number;

    if (text == NULL) {
        return -1;
    }
    long long number = strtoll(text, &end_of_number, 0);
    return end_of_number == text || number < 0 ? -1 : number;
}

bool server_words_text(const struct server_words *words, const char *name,
                       const char *ends, char *text, size_t size)
{
    const char *found = find_line(words, name);

    if (found == NULL) {
        return false;
    }
    size_t line = strcspn(found, "\r\n"), length = strcspn(found, ends);
    snprintf(text, size, "%.*s", (int)(length < line ? length : line), found);
    return true;
}
