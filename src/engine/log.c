#include "engine/log.h"

#include "engine/client.h"

#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "base/memory.h"
#include "engine/turn.h"

#define LINE_SIZE 2048

struct line {
    struct uvzk__link link;
    int level;
    const char *module; /* static */
    size_t length;
    char text[];
};

/* escaped has room for four times the bytes of text, and the end. */
static size_t escape(char *escaped, const char *text)
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

static struct line *new_line(const struct uvzk__log *log, int level, const char *module,
                             const char *text)
{
    char escaped[4 * LINE_SIZE];
    size_t length = escape(escaped, text);

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

/* Which of several it is about, counted as in uvzk_client_each_session. */
static size_t write_session(const struct uvzk__client *client, char *text, size_t size)
{
    return uvzk__has_sessions(client)
               ? (size_t)snprintf(text, size, "session %" PRIu32 ": ", client->number)
               : 0;
}

void uvzk__log(struct uvzk__client *client, int level, const char *module,
               const char *format, ...)
{
    struct uvzk__log *log = &client->log;
    char text[LINE_SIZE];
    va_list arguments;

    if (client->log_cb == NULL && client->log_line_cb == NULL) {
        return;
    }
    size_t used = write_session(client, text, sizeof(text));
    va_start(arguments, format);
    (void)vsnprintf(text + used, sizeof(text) - used, format, arguments);
    va_end(arguments);
    struct line *line = new_line(log, level, module, text);
    if (line == NULL) {
        log->dropped++;
    } else {
        uvzk__list_append(&log->lines, &line->link);
        log->count++;
        log->bytes += line->length;
    }
    uvzk__tell_soon(client, &log->telling);
}

static void tell(struct uvzk__client *client, int level, const char *module,
                 const char *text)
{
    if (client->log_line_cb != NULL) {
        client->log_line_cb(client->shell, level, module, text);
    } else {
        client->log_cb(client->shell, level, text);
    }
}

static void tell_dropped(struct uvzk__client *client)
{
    char text[64];

    if (client->log.dropped > 0) {
        (void)snprintf(text, sizeof(text),
                       "lines of this log that were dropped: %" PRIu64,
                       client->log.dropped);
        client->log.dropped = 0;
        tell(client, UVZK_LOG_WARN, "log", text);
    }
}

/* What the callbacks add has its own telling. */
static void deliver(struct uvzk__telling *telling)
{
    struct uvzk__log *log = UVZK__CONTAINER_OF(telling, struct uvzk__log, telling);
    struct uvzk__client *client = UVZK__CONTAINER_OF(log, struct uvzk__client, log);
    struct uvzk__link lines, *link;

    uvzk__list_move(&log->lines, &lines);
    log->count = 0;
    log->bytes = 0;
    while ((link = uvzk__list_take(&lines)) != NULL) {
        struct line *line = UVZK__CONTAINER_OF(link, struct line, link);
        tell(client, line->level, line->module, line->text);
        uvzk__free(line);
    }
    tell_dropped(client);
}

void uvzk__log_init(struct uvzk__client *client)
{
    uvzk__list_init(&client->log.lines);
    uvzk__list_init(&client->log.telling.link);
    client->log.telling.deliver = deliver;
}
