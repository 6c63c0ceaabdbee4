/* SPDX-License-Identifier: Apache-2.0 */
/* Parses the connect string entry by entry, without copying it (hosts.h).
 * uvzk__hosts_validate runs the same parser as the search, so a string that was accepted
 * can be searched. */
#include "discovery/hosts.h"

#include <string.h>
#include <uv.h>

#include "base/path.h"
#include "base/refusal.h"
#include "uvzk.h"

/* As in the ZooKeeper clients for Java and C. */
#define DEFAULT_PORT 2181

#define SHOWN 64 /* bytes of an entry that a refusal shows, with its NUL */

static int parse_port(const char *text, size_t length, uint16_t *port)
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
    *port = (uint16_t)value;
    return 0;
}

/* What an entry of the list consists of. */
struct entry {
    const char *name, *port; /* port: NULL if it is left out */
    size_t name_length, port_length;
};

static void hosts_trim(const char **text, size_t *length)
{
    while (*length > 0 && (*text)[0] == ' ') {
        (*text)++;
        (*length)--;
    }
    while (*length > 0 && (*text)[*length - 1] == ' ') {
        (*length)--;
    }
}

/* After the name comes nothing, or a colon and the port. */
static int split_behind(const char *end_of_name, const char *end, struct entry *entry)
{
    entry->port = NULL;
    if (end_of_name == end) {
        return 0;
    }
    entry->port = end_of_name + 1;
    entry->port_length = (size_t)(end - entry->port);
    return *end_of_name == ':' ? 0 : UV_EINVAL;
}

/* An IPv6 address without brackets is refused: its port cannot be distinguished. */
static int hosts_split(const char *text, size_t length, struct entry *entry)
{
    const char *end = text + length;
    const char *colon = memchr(text, ':', length);
    const char *bracket = length > 0 && text[0] == '[' ? memchr(text, ']', length) : NULL;

    entry->name = text;
    if (bracket != NULL) {
        entry->name = text + 1;
        entry->name_length = (size_t)(bracket - entry->name);
        return split_behind(bracket + 1, end, entry);
    }
    if (colon != NULL && memchr(colon + 1, ':', (size_t)(end - colon - 1)) != NULL) {
        return UV_EINVAL;
    }
    entry->name_length = colon == NULL ? length : (size_t)(colon - text);
    return split_behind(colon == NULL ? end : colon, end, entry);
}

static bool name_is_sound(const struct entry *entry)
{
    bool sound = entry->name_length > 0 && entry->name_length <= UVZK__HOST_MAX;

    for (size_t i = 0; sound && i < entry->name_length; i++) {
        char each = entry->name[i];
        sound = (unsigned char)each > ' ' && each != '[' && each != ']';
    }
    return sound;
}

static int parse_entry(const char *text, size_t length, struct uvzk__host *host)
{
    struct entry entry;

    hosts_trim(&text, &length);
    if (hosts_split(text, length, &entry) < 0 || !name_is_sound(&entry)) {
        return UV_EINVAL;
    }
    memcpy(host->name, entry.name, entry.name_length);
    host->name[entry.name_length] = '\0';
    host->port = DEFAULT_PORT;
    return entry.port == NULL ? 0
                              : parse_port(entry.port, entry.port_length, &host->port);
}

const char *uvzk__hosts_chroot(const char *hosts)
{
    return hosts + strcspn(hosts, "/");
}

int uvzk__hosts_next(const char **cursor, struct uvzk__host *host)
{
    const char *text = *cursor;
    if (text == NULL) {
        return 0;
    }
    /* The chroot begins at the first "/", so an entry ends there too. */
    size_t length = strcspn(text, ",/");
    *cursor = text[length] == ',' ? text + length + 1 : NULL;
    int rc = parse_entry(text, length, host);
    return rc < 0 ? rc : 1;
}

/* It ends at a '?', because credentials may follow. */
static void show_entry(const char *entry, char shown[SHOWN])
{
    size_t length = strcspn(entry, ",/?");

    hosts_trim(&entry, &length);
    uvzk__refusal_show(shown, SHOWN, entry, length);
}

/* Returns true if only the port of this entry is wrong, and is a number. */
static bool has_port_out_of_range(const char *text)
{
    size_t length = strcspn(text, ",/");
    struct entry entry;

    hosts_trim(&text, &length);
    return hosts_split(text, length, &entry) == 0 && name_is_sound(&entry) &&
           entry.port_length > 0 && strspn(entry.port, "0123456789") >= entry.port_length;
}

static int refuse_entry(const char *entry, unsigned number)
{
    char shown[SHOWN];

    show_entry(entry, shown);
    if (shown[0] == '\0') {
        return uvzk__refuse_with(UV_EINVAL, "options.hosts: entry %u names no server",
                                 number);
    }
    return has_port_out_of_range(entry)
               ? uvzk__refuse_with(UV_EINVAL,
                                   "options.hosts: entry %u, \"%s\": the port is not 1 "
                                   "to 65535",
                                   number, shown)
               : uvzk__refuse_with(UV_EINVAL,
                                   "options.hosts: entry %u, \"%s\", is neither host nor "
                                   "host:port, or an IPv6 address without brackets",
                                   number, shown);
}

/* ZooKeeper's clients treat everything after the first '/' as the chroot, so the servers
 * after it would never be tried. */
static int validate_chroot(const char *chroot)
{
    if (strchr(chroot, ',') != NULL) {
        return uvzk__refuse(UVZK_EPATH,
                            "options.hosts: a chroot with a comma: put one chroot "
                            "after the last server");
    }
    int rc = *chroot == '\0' ? 0 : uvzk__path_validate(chroot);
    return uvzk__refuse_if(rc, rc == 0 ? NULL : "options.hosts: the chroot is malformed");
}

int uvzk__hosts_validate(const char *hosts)
{
    if (hosts == NULL || hosts[0] == '\0') {
        return uvzk__refuse(UV_EINVAL, "options.hosts: no server is named");
    }
    const char *cursor = hosts, *entry = hosts;
    struct uvzk__host host;
    unsigned number = 1;
    int rc;
    while ((rc = uvzk__hosts_next(&cursor, &host)) > 0) {
        entry = cursor;
        number++;
    }
    return rc < 0 ? refuse_entry(entry, number)
                  : validate_chroot(uvzk__hosts_chroot(hosts));
}
