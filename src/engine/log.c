/* SPDX-License-Identifier: Apache-2.0 */
/* Escapes log lines and queues them until the end of the turn (log.h). The queue is
 * bounded; lines that do not fit are counted. */
#include "engine/log.h"

#include "engine/session.h"

#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "base/memory.h"
#include "engine/turn.h"

#define LINE_SIZE 2048 /* in bytes, with the NUL; a longer text is cut */

struct line {
    struct uvzk__link link;
    int level;
    const char *module; /* static text */
    size_t length;
    char text[];
};

/* Replaces control characters by \xHH and returns the length of the result. escaped: room
 * for four times the bytes of text, and a NUL. */
static size_t log_escape(char *escaped, const char *text)
{
    static const char digits[] = "0123456789abcdef";
    size_t used = 0;

    for (const char *at = text; *at != '\0'; at++) {
        unsigned char byte = (unsigned char)*at;
        if (byte >= 0x20 && byte != 0x7f) {
            escaped[used++] = *at;
        } else {
            escaped[used++] = '\\';
            escaped[used++] = 'x';
            escaped[used++] = digits[byte >> 4];
            escaped[used++] = digits[byte & 15];
        }
    }
    escaped[used] = '\0';
    return used;
}

/* Returns a line for the list; NULL: it is dropped, because the list is full or there is
 * no memory. */
static struct line *new_line(const struct uvzk__log *log, int level, const char *module,
                             const char *text)
{
    char escaped[4 * LINE_SIZE];
    size_t length = log_escape(escaped, text);

    if (log->count >= UVZK__LOG_LINES || log->bytes + length > UVZK__LOG_BYTES) {
        return NULL;
    }
    struct line *line = uvzk__malloc(sizeof(*line) + length + 1);
    if (line != NULL) {
        uvzk__list_init(&line->link);
        line->level = level;
        line->module = module;
        line->length = length;
        memcpy(line->text, escaped, length + 1);
    }
    return line;
}

/* Writes which session the line is about, if the client has several. The numbers are
 * those of uvzk_client_each_session. Returns the length. */
static size_t write_session(const struct uvzk__session *session, char *text, size_t size)
{
    return uvzk__has_sessions(session)
               ? (size_t)snprintf(text, size, "session %" PRIu32 ": ", session->number)
               : 0;
}

void uvzk__log(struct uvzk__session *session, int level, const char *module,
               const char *format, ...)
{
    struct uvzk__log *log = &session->log;
    char text[LINE_SIZE];
    va_list arguments;

    if (session->log_cb == NULL) {
        return;
    }
    size_t used = write_session(session, text, sizeof(text));
    va_start(arguments, format);
    (void)vsnprintf(text + used, sizeof(text) - used, format, arguments);
    va_end(arguments);
    struct line *line = new_line(log, level, module, text);
    if (line == NULL) {
        log->dropped++; /* reported by tell_dropped */
    } else {
        uvzk__list_append(&log->lines, &line->link);
        log->count++;
        log->bytes += line->length;
    }
    uvzk__notify_later(session, &log->notification);
}

static void tell_dropped(struct uvzk__session *session)
{
    char text[64];

    if (session->log.dropped > 0) {
        (void)snprintf(text, sizeof(text),
                       "lines of this log that were dropped: %" PRIu64,
                       session->log.dropped);
        session->log.dropped = 0;
        session->log_cb(session->handle, UVZK_LOG_WARN, "log", text);
    }
}

/* Lines that the callbacks add are delivered by the next notification, so the list and
 * the counts are taken over before the first callback. */
static void log_deliver(struct uvzk__notification *notification)
{
    struct uvzk__log *log =
        UVZK__CONTAINER_OF(notification, struct uvzk__log, notification);
    struct uvzk__session *session = UVZK__CONTAINER_OF(log, struct uvzk__session, log);
    struct uvzk__link lines, *link;

    uvzk__list_move(&log->lines, &lines);
    log->count = 0;
    log->bytes = 0;
    while ((link = uvzk__list_take(&lines)) != NULL) {
        struct line *line = UVZK__CONTAINER_OF(link, struct line, link);
        session->log_cb(session->handle, line->level, line->module, line->text);
        uvzk__free(line);
    }
    tell_dropped(session);
}

void uvzk__log_init(struct uvzk__session *session)
{
    uvzk__list_init(&session->log.lines);
    uvzk__list_init(&session->log.notification.link);
    session->log.notification.notify_cb = log_deliver;
}
