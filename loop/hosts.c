#include "hosts.h"

#include <errno.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <sys/random.h>
#include <sys/socket.h>
#include <unistd.h>

#include "error_map.h"
#include "memory.h"
#include "path.h"
#include "uvzk.h"

#define HOST_MAX 255 /* bytes of a host name, RFC 1035 */
#define ENTRY_TEXT (UVZK__ADDRESS_TEXT + 8)

struct entry {
    char host[HOST_MAX + 1];
    char port[6];
};

struct addresses {
    char (*texts)[ENTRY_TEXT]; /* "address:port" */
    size_t count, capacity;
};

/* ----------------------------------------------------------------- parsing */

static int parse_port(const char *text, size_t length, char port[6])
{
    unsigned value = 0;
    if (length == 0 || length > 5) {
        return UV_EINVAL;
    }
    for (size_t i = 0; i < length; i++) {
        if (text[i] < '0' || text[i] > '9') {
            return UV_EINVAL;
        }
        value = value * 10 + (unsigned)(text[i] - '0');
    }
    if (value == 0 || value > 65535) {
        return UV_EINVAL;
    }
    snprintf(port, 6, "%u", value);
    return 0;
}

static int parse_entry(const char *text, size_t length, struct entry *entry)
{
    while (length > 0 && text[0] == ' ') {
        text++;
        length--;
    }
    while (length > 0 && text[length - 1] == ' ') {
        length--;
    }
    const char *colon = memrchr(text, ':', length);
    if (colon == NULL) {
        return UV_EINVAL;
    }
    size_t host_length = (size_t)(colon - text);
    const char *host = text;
    if (host_length >= 2 && host[0] == '[' && host[host_length - 1] == ']') {
        host++;
        host_length -= 2;
    } else if (memchr(host, ':', host_length) != NULL) {
        return UV_EINVAL; /* an address without brackets: where is its port? */
    }
    if (host_length == 0 || host_length > HOST_MAX) {
        return UV_EINVAL;
    }
    for (size_t i = 0; i < host_length; i++) {
        if ((unsigned char)host[i] <= ' ' || host[i] == '[' || host[i] == ']') {
            return UV_EINVAL;
        }
    }
    memcpy(entry->host, host, host_length);
    entry->host[host_length] = '\0';
    return parse_port(colon + 1, length - (size_t)(colon + 1 - text), entry->port);
}

/* Length of the part before the chroot. */
static size_t list_length(const char *hosts)
{
    return strcspn(hosts, "/");
}

/* Takes the entry at *cursor. 1: there it is. 0: the list has ended. < 0. */
static int next_entry(const char **cursor, const char *end, struct entry *entry)
{
    if (*cursor > end) {
        return 0;
    }
    const char *comma = memchr(*cursor, ',', (size_t)(end - *cursor));
    const char *stop = comma != NULL ? comma : end;
    int rc = parse_entry(*cursor, (size_t)(stop - *cursor), entry);
    *cursor = stop + 1;
    return rc < 0 ? rc : 1;
}

int uvzk__hosts_validate(const char *hosts)
{
    if (hosts == NULL) {
        return UV_EINVAL;
    }
    const char *cursor = hosts;
    const char *end = hosts + list_length(hosts);
    struct entry entry;
    int rc;
    while ((rc = next_entry(&cursor, end, &entry)) > 0) {
    }
    if (rc < 0) {
        return rc;
    }
    return *end == '\0' ? 0 : uvzk__path_validate(end);
}

/* --------------------------------------------------------------- resolving */

static int add_address(struct addresses *addresses, const char *text)
{
    for (size_t i = 0; i < addresses->count; i++) {
        if (strcmp(addresses->texts[i], text) == 0) {
            return 0;
        }
    }
    if (addresses->count == addresses->capacity) {
        size_t capacity = addresses->capacity * 2 + 4;
        char(*texts)[ENTRY_TEXT] =
            uvzk__realloc(addresses->texts, capacity * sizeof(*texts));
        if (texts == NULL) {
            return UV_ENOMEM;
        }
        addresses->texts = texts;
        addresses->capacity = capacity;
    }
    snprintf(addresses->texts[addresses->count++], ENTRY_TEXT, "%s", text);
    return 0;
}

static bool numeric(const struct addrinfo *info, char text[UVZK__ADDRESS_TEXT])
{
    return getnameinfo(info->ai_addr, info->ai_addrlen, text, UVZK__ADDRESS_TEXT, NULL, 0,
                       NI_NUMERICHOST) == 0;
}

/* The client cuts at the last colon and hands the rest to getaddrinfo, so an
 * IPv6 address must come to it without brackets. */
static int add_resolved(struct addresses *addresses, const struct entry *entry,
                        const struct addrinfo *list)
{
    for (const struct addrinfo *info = list; info != NULL; info = info->ai_next) {
        char text[UVZK__ADDRESS_TEXT];
        char both[ENTRY_TEXT];
        if ((info->ai_family != AF_INET && info->ai_family != AF_INET6) ||
            !numeric(info, text)) {
            continue;
        }
        snprintf(both, sizeof(both), "%s:%s", text, entry->port);
        int rc = add_address(addresses, both);
        if (rc < 0) {
            return rc;
        }
    }
    return 0;
}

static int resolve_entry(struct addresses *addresses, const struct entry *entry)
{
    const struct addrinfo hints = {.ai_family = AF_UNSPEC, .ai_socktype = SOCK_STREAM};
    struct addrinfo *list = NULL;
    int rc = getaddrinfo(entry->host, NULL, &hints, &list);
    if (rc != 0) {
        return uvzk__error_of_resolver(rc, errno);
    }
    rc = add_resolved(addresses, entry, list);
    freeaddrinfo(list);
    return rc;
}

static void shuffle(struct addresses *addresses)
{
    for (size_t i = addresses->count; i > 1; i--) {
        uint32_t random = 0;
        if (getrandom(&random, sizeof(random), GRND_NONBLOCK) < 0) {
            return; /* the order does not matter much */
        }
        char swap[ENTRY_TEXT];
        size_t j = random % i;
        memcpy(swap, addresses->texts[i - 1], ENTRY_TEXT);
        memmove(addresses->texts[i - 1], addresses->texts[j], ENTRY_TEXT);
        memcpy(addresses->texts[j], swap, ENTRY_TEXT);
    }
}

/* After a failure the client steps two servers on (ZOOKEEPER-2466): of an even
 * number of them it would try only every other one again. */
static char *join_odd(const struct addresses *addresses, const char *chroot)
{
    size_t count = addresses->count | 1;
    size_t size = count * (ENTRY_TEXT + 1) + strlen(chroot) + 1;
    char *text = uvzk__malloc(size);
    if (text == NULL) {
        return NULL;
    }
    size_t length = 0;
    for (size_t i = 0; i < count; i++) {
        int n = snprintf(text + length, size - length, "%s%s", i == 0 ? "" : ",",
                         addresses->texts[i % addresses->count]);
        length += (size_t)n;
    }
    snprintf(text + length, size - length, "%s", strcmp(chroot, "/") == 0 ? "" : chroot);
    return text;
}

char *uvzk__hosts_resolve(const char *hosts, int *status)
{
    struct addresses addresses = {NULL, 0, 0};
    const char *cursor = hosts;
    const char *end = hosts + list_length(hosts);
    struct entry entry;
    char *text = NULL;

    *status = UV_EAI_NONAME;
    while (*status != UV_ENOMEM && next_entry(&cursor, end, &entry) > 0) {
        int rc = resolve_entry(&addresses, &entry);
        *status = rc < 0 ? rc : *status;
    }
    if (*status != UV_ENOMEM && addresses.count > 0) {
        shuffle(&addresses);
        text = join_odd(&addresses, end);
        *status = text != NULL ? 0 : UV_ENOMEM;
    }
    uvzk__free(addresses.texts);
    return text;
}

void uvzk__hosts_local_address(char text[UVZK__ADDRESS_TEXT])
{
    char name[HOST_MAX + 1] = "";
    const struct addrinfo hints = {.ai_family = AF_UNSPEC, .ai_socktype = SOCK_STREAM};
    struct addrinfo *list = NULL;

    text[0] = '\0';
    if (gethostname(name, sizeof(name) - 1) != 0 ||
        getaddrinfo(name, NULL, &hints, &list) != 0) {
        return;
    }
    /* Java prefers IPv4 unless told otherwise. */
    const struct addrinfo *chosen = list;
    while (chosen != NULL && chosen->ai_family != AF_INET) {
        chosen = chosen->ai_next;
    }
    if (!numeric(chosen != NULL ? chosen : list, text)) {
        text[0] = '\0';
    }
    freeaddrinfo(list);
}
