/* Looks up all host names of a connect string and lists every address once
 * (server_list.h), for `uvzk status --each-server`. */
#include "server_list.h"

#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "exit_code.h"
#include "output.h"

static int refuse(const char *entry, const char *why, int exit_code)
{
    output_report("%s: %s", entry, why);
    return exit_code;
}

/* Adds the address unless it is in the list already. */
static int keep(struct server_list *list, const char *address)
{
    for (size_t i = 0; i < list->count; i++) {
        if (strcmp(list->addresses[i], address) == 0) {
            return EX_OK;
        }
    }
    if (list->count == SERVER_LIST_MAX) {
        return refuse(address, "too many servers", EX_USAGE);
    }
    list->addresses[list->count] = strdup(address);
    return list->addresses[list->count++] == NULL ? EX_OSERR : EX_OK;
}

static int keep_all(struct server_list *list, const struct addrinfo *found,
                    const char *port)
{
    int failed = EX_OK;

    for (; found != NULL && failed == EX_OK; found = found->ai_next) {
        char host[64], address[128];
        bool six = found->ai_family == AF_INET6;
        if (uv_ip_name(found->ai_addr, host, sizeof(host)) == 0) {
            snprintf(address, sizeof(address), six ? "[%s]:%s" : "%s:%s", host, port);
            failed = keep(list, address);
        }
    }
    return failed;
}

/* Adds all IPv4 and IPv6 addresses of the host. Without a callback uv_getaddrinfo
 * blocks. */
static int look_up(struct server_list *list, uv_loop_t *loop, const char *host,
                   const char *port)
{
    const struct addrinfo hints = {.ai_family = AF_UNSPEC, .ai_socktype = SOCK_STREAM};
    uv_getaddrinfo_t request;
    int status = uv_getaddrinfo(loop, &request, NULL, host, port, &hints);

    if (status < 0) {
        return refuse(host, uv_strerror(status),
                      exit_code_is_shortage(status) ? EX_OSERR : EX_UNAVAILABLE);
    }
    int failed = keep_all(list, request.addrinfo, port);
    uv_freeaddrinfo(request.addrinfo);
    return failed;
}

/* Adds the servers of an entry: a host or an IPv6 address in brackets, and ":port", which
 * may be left out. Modifies the entry. */
static int take(struct server_list *list, uv_loop_t *loop, char *entry)
{
    char *host = entry + strspn(entry, " ");
    host[strcspn(host, " ")] = '\0';
    char *end = host[0] == '[' ? strchr(host, ']') : NULL;
    char *colon = end == NULL ? strrchr(host, ':') : end[1] == ':' ? end + 1 : NULL;

    if (host[0] == '\0' || colon == host || (colon != NULL && colon[1] == '\0') ||
        (colon == NULL && end != NULL && end[1] != '\0')) {
        return refuse(entry, "neither host nor host:port", EX_USAGE);
    }
    if (colon != NULL) {
        *colon = '\0';
    }
    if (end != NULL) {
        host++;
        *end = '\0';
    }
    return look_up(list, loop, host, colon == NULL ? "2181" : colon + 1);
}

int server_list_make(struct server_list *list, uv_loop_t *loop, const char *hosts)
{
    int failed = EX_OK;

    *list = (struct server_list){.chroot = hosts + strcspn(hosts, "/")};
    char *text = strndup(hosts, strcspn(hosts, "/"));
    char *rest = text;
    if (text == NULL) {
        return EX_OSERR;
    }
    while (rest != NULL && failed == EX_OK) {
        char *entry = strsep(&rest, ",");
        failed = take(list, loop, entry);
    }
    free(text);
    return failed;
}

void server_list_free(struct server_list *list)
{
    for (size_t i = 0; i < list->count; i++) {
        free(list->addresses[i]);
    }
}
