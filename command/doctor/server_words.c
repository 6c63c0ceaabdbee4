/* One connection, one word, and what the server sends until it closes the connection
 * (server_words.h). */
#include "doctor/server_words.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static void end(struct server_words *words, int status)
{
    if (!uv_is_closing((uv_handle_t *)&words->socket)) {
        words->status = status;
        uv_close((uv_handle_t *)&words->socket, NULL);
    }
}

static void on_room(uv_handle_t *handle, size_t suggested, uv_buf_t *buffer)
{
    struct server_words *words = handle->data;

    (void)suggested;
    *buffer = uv_buf_init(words->answer + words->length,
                          (unsigned)(SERVER_WORDS_MOST - words->length));
}

static void on_read(uv_stream_t *stream, ssize_t length, const uv_buf_t *buffer)
{
    struct server_words *words = stream->data;

    (void)buffer;
    if (length >= 0) {
        words->length += (size_t)length;
    } else {
        /* Without room the length is UV_ENOBUFS: there is enough. */
        end(words, length == UV_EOF || length == UV_ENOBUFS ? 0 : (int)length);
    }
}

static void on_written(uv_write_t *write, int status)
{
    if (status < 0) {
        end(write->data, status);
    }
}

static void on_connected(uv_connect_t *connect, int status)
{
    struct server_words *words = connect->data;
    uv_stream_t *stream = (uv_stream_t *)&words->socket;

    if (status < 0) {
        end(words, status);
        return;
    }
    words->connected = true;
    words->connect_ms = (double)(uv_hrtime() - words->begun) / 1e6;
    if (words->word[0] == '\0') {
        end(words, 0);
        return;
    }
    uv_buf_t word =
        uv_buf_init((char *)(uintptr_t)words->word, (unsigned)strlen(words->word));
    status = uv_write(&words->write, stream, &word, 1, on_written);
    if (status == 0) {
        status = uv_read_start(stream, on_room, on_read);
    }
    if (status < 0) {
        end(words, status);
    }
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
    struct sockaddr_storage parsed;
    int status = server_words_address(address, &parsed);

    words->word = word;
    words->begun = uv_hrtime();
    words->socket.data = words;
    words->connect.data = words;
    words->write.data = words;
    uv_tcp_init(loop, &words->socket);
    if (status == 0) {
        status = uv_tcp_connect(&words->connect, &words->socket,
                                (struct sockaddr *)&parsed, on_connected);
    }
    if (status < 0) {
        end(words, status);
    }
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
