/* SPDX-License-Identifier: Apache-2.0 */
/* Reads the head of a request (http_request.h). metrics_listener.c passes in what has
 * arrived. */
#include "http_request.h"

#include <stdbool.h>
#include <string.h>

const char *http_status_text(enum http_status status)
{
    switch (status) {
    case HTTP_OK:
        return "OK";
    case HTTP_NOT_FOUND:
        return "Not Found";
    case HTTP_NOT_ALLOWED:
        return "Method Not Allowed";
    case HTTP_TIMEOUT:
        return "Request Timeout";
    case HTTP_TOO_LARGE:
        return "Request Header Fields Too Large";
    case HTTP_NO_MEMORY:
        return "Internal Server Error";
    default:
        return "Bad Request";
    }
}

/* Lines may end without the carriage return, as RFC 9112 allows a server to accept. */
static bool has_whole_head(const char *bytes, size_t length)
{
    for (size_t i = 0; i < length; i++) {
        size_t next = i + 1 < length && bytes[i + 1] == '\r' ? i + 2 : i + 1;
        if (bytes[i] == '\n' && next < length && bytes[next] == '\n') {
            return true;
        }
    }
    return false;
}

/* A part of the first line. */
struct part {
    const char *bytes;
    size_t length;
};

/* Takes what comes before the next blank, or, of the last part, before the end. Returns
 * false if there is nothing, or a byte that no part may have. */
static bool take_part(struct part *rest, struct part *part, bool last)
{
    const char *blank = memchr(rest->bytes, ' ', rest->length);

    if ((blank == NULL) != last) {
        return false;
    }
    part->bytes = rest->bytes;
    part->length = last ? rest->length : (size_t)(blank - rest->bytes);
    for (size_t i = 0; i < part->length; i++) {
        if (part->bytes[i] <= ' ' || part->bytes[i] > '~') {
            return false;
        }
    }
    if (!last) {
        rest->length -= part->length + 1;
        rest->bytes = blank + 1;
    }
    return part->length > 0;
}

static bool part_is(const struct part *part, const char *text)
{
    return part->length == strlen(text) && memcmp(part->bytes, text, part->length) == 0;
}

static bool is_version(const struct part *version)
{
    static const char first[] = "HTTP/1.";
    size_t length = strlen(first);

    return version->length == length + 1 && memcmp(version->bytes, first, length) == 0 &&
           version->bytes[length] >= '0' && version->bytes[length] <= '9';
}

enum http_status http_request_read(const char *bytes, size_t length, const char *page)
{
    struct part line = {.bytes = bytes}, method, target, version;

    if (!has_whole_head(bytes, length)) {
        return HTTP_UNFINISHED;
    }
    line.length = (size_t)((const char *)memchr(bytes, '\n', length) - bytes);
    if (line.length > 0 && bytes[line.length - 1] == '\r') {
        line.length--;
    }
    if (!take_part(&line, &method, false) || !take_part(&line, &target, false) ||
        !take_part(&line, &version, true) || !is_version(&version)) {
        return HTTP_BAD_REQUEST;
    }
    const char *question = memchr(target.bytes, '?', target.length);
    if (question != NULL) {
        target.length = (size_t)(question - target.bytes);
    }
    if (!part_is(&target, page)) {
        return HTTP_NOT_FOUND;
    }
    return part_is(&method, "GET") ? HTTP_OK : HTTP_NOT_ALLOWED;
}
