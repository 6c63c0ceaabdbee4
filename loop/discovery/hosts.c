#include "discovery/hosts.h"

#include <string.h>
#include <uv.h>

#include "base/path.h"
#include "base/refusal.h"
#include "uvzk.h"

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

static int parse_entry(const char *text, size_t length, struct uvzk__host *entry)
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
        /* An IPv6 address without brackets: its port cannot be told apart. */
        return UV_EINVAL;
    }
    if (host_length == 0 || host_length > UVZK__HOST_MAX) {
        return UV_EINVAL;
    }
    for (size_t i = 0; i < host_length; i++) {
        if ((unsigned char)host[i] <= ' ' || host[i] == '[' || host[i] == ']') {
            return UV_EINVAL;
        }
    }
    memcpy(entry->name, host, host_length);
    entry->name[host_length] = '\0';
    return parse_port(colon + 1, length - (size_t)(colon + 1 - text), &entry->port);
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

int uvzk__hosts_validate(const char *hosts)
{
    if (hosts == NULL) {
        return uvzk__refuse(UV_EINVAL, "options.hosts: no server is named");
    }
    const char *cursor = hosts;
    struct uvzk__host host;
    int rc;
    while ((rc = uvzk__hosts_next(&cursor, &host)) > 0) {
    }
    if (rc < 0) {
        return uvzk__refuse(rc, hosts[0] == '\0'
                                    ? "options.hosts: no server is named"
                                    : "options.hosts: an entry is not "
                                      "host:port, or an IPv6 address without "
                                      "brackets");
    }
    const char *chroot = uvzk__hosts_chroot(hosts);
    rc = *chroot == '\0' ? 0 : uvzk__path_validate(chroot);
    return uvzk__refuse_if(rc, rc == 0 ? NULL : "options.hosts: the chroot is malformed");
}
