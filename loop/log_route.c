#include "log_route.h"

#include <pthread.h>
#include <stdbool.h>
#include <string.h>

#include "hop.h"
#include "memory.h"
#include "zk_port.h"

#define ROUTES(XX) XX(0) XX(1) XX(2) XX(3) XX(4) XX(5) XX(6) XX(7)
#define ROUTE_COUNT 8

#define LINE_MAX_BYTES 1000 /* longer ones are cut */

struct line {
    struct uvzk__hop_entry entry;
    struct uvzk__zk_port *port;
    int level;
    char text[];
};

static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
static struct uvzk__zk_port *routes[ROUTE_COUNT];

static void arrive(struct uvzk__hop_entry *entry)
{
    struct line *line = UVZK__CONTAINER_OF(entry, struct line, entry);
    struct uvzk__zk_port *port = line->port;
    atomic_fetch_sub(&port->log_lines, 1U);
    if (!port->closing) {
        port->port.user->log(port->port.user, line->level, line->text);
    }
    uvzk__free(line);
}

/* text has room for four times the bytes of message. */
static void escape(char *text, const char *message, size_t length)
{
    static const char digits[] = "0123456789abcdef";
    for (size_t i = 0; i < length; i++) {
        unsigned char byte = (unsigned char)message[i];
        if (byte >= 0x20 && byte != 0x7f) {
            *text++ = message[i];
        } else {
            *text++ = '\\';
            *text++ = 'x';
            *text++ = digits[byte >> 4];
            *text++ = digits[byte & 15];
        }
    }
    *text = '\0';
}

static void push_line(struct uvzk__zk_port *port, const char *message)
{
    if (atomic_fetch_add(&port->log_lines, 1U) < UVZK__LOG_LINES_MAX) {
        size_t length = strnlen(message, LINE_MAX_BYTES);
        struct line *line = uvzk__malloc(sizeof(*line) + 4 * length + 1);
        if (line != NULL) {
            line->port = port;
            line->level =
                strstr(message, "ZOO_ERROR@") != NULL ? UVZK_LOG_ERROR : UVZK_LOG_WARN;
            escape(line->text, message, length);
            uvzk__hop_push(&port->hop, &line->entry, arrive);
            return;
        }
    }
    atomic_fetch_sub(&port->log_lines, 1U);
}

static void take_line(int route, const char *message)
{
    pthread_mutex_lock(&mutex);
    if (routes[route] != NULL) {
        push_line(routes[route], message);
    }
    pthread_mutex_unlock(&mutex);
}

#define XX(number)                                  \
    static void route_##number(const char *message) \
    {                                               \
        take_line(number, message);                 \
    }
ROUTES(XX)
#undef XX

static void swallow(const char *message)
{
    (void)message;
}

int uvzk__log_route_take(struct uvzk__zk_port *port)
{
    int taken = -1;
    pthread_mutex_lock(&mutex);
    for (int i = 0; i < ROUTE_COUNT && taken < 0; i++) {
        if (routes[i] == NULL) {
            routes[i] = port;
            taken = i;
        }
    }
    pthread_mutex_unlock(&mutex);
    return taken;
}

void uvzk__log_route_give_back(int route)
{
    if (route >= 0) {
        pthread_mutex_lock(&mutex);
        routes[route] = NULL;
        pthread_mutex_unlock(&mutex);
    }
}

log_callback_fn uvzk__log_route_callback(int route)
{
#define XX(number) route_##number,
    static const log_callback_fn callbacks[ROUTE_COUNT] = {ROUTES(XX)};
#undef XX
    return route >= 0 ? callbacks[route] : swallow;
}
