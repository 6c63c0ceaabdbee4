/* SPDX-License-Identifier: Apache-2.0 */
/* Looks up all host names of a connect string and lists every address once
 * (server_list.h), for `uvzk status --each-server` and `uvzk doctor`. */
#include "server_list.h"

#include <netdb.h>
#include <poll.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <ares.h>
#include <uv.h>

#include "exit_code.h"
#include "output.h"

/* One call of server_list_make or server_list_look_up. */
struct making {
    struct server_list *list;
    server_list_cb cb; /* NULL: a name without an address is a failure */
    void *data;        /* the user's */
};

static int refuse(const char *entry, const char *why, int exit_code)
{
    output_report("%s: %s", entry, why);
    return exit_code;
}

/* Adds the address unless it is in the list already. */
static int keep(struct server_list *list, const char *address, const char *name)
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
    list->names[list->count] = strdup(name);
    bool kept = list->addresses[list->count] != NULL && list->names[list->count] != NULL;
    list->count++;
    return kept ? EX_OK : EX_OSERR;
}

/* As uv_ip_name, which libuv has since 1.43. */
static int name_address(const struct sockaddr *socket, char *name, size_t size)
{
    const void *address = socket;
    return socket->sa_family == AF_INET6  ? uv_ip6_name(address, name, size)
           : socket->sa_family == AF_INET ? uv_ip4_name(address, name, size)
                                          : UV_EAFNOSUPPORT;
}

static int keep_socket(struct server_list *list, const struct sockaddr *socket,
                       const char *name, const char *port)
{
    char host[64], address[128];

    if (name_address(socket, host, sizeof(host)) != 0) {
        return EX_OK;
    }
    snprintf(address, sizeof(address),
             socket->sa_family == AF_INET6 ? "[%s]:%s" : "%s:%s", host, port);
    return keep(list, address, name);
}

/* ----------------------------------------------------------------------- host names */

/* In ms, as the library's own look-ups. */
#define TRY_MS 2000
#define TRIES 3

struct look_up {
    struct server_list *list;
    const char *name, *port;
    char found[512]; /* for server_list_cb */
    bool answered;
    int status; /* of c-ares */
    int failed; /* an exit code */
};

static void tell_address(struct look_up *look_up, const struct sockaddr *socket)
{
    size_t length = strlen(look_up->found);
    char host[64];

    if (name_address(socket, host, sizeof(host)) == 0) {
        snprintf(look_up->found + length, sizeof(look_up->found) - length, "%s%s",
                 length == 0 ? "" : ", ", host);
    }
}

static void on_answer(void *context, int status, int timeouts, struct ares_addrinfo *info)
{
    struct look_up *look_up = context;
    (void)timeouts;

    look_up->answered = true;
    look_up->status = status;
    if (info == NULL) {
        return;
    }
    for (const struct ares_addrinfo_node *node = info->nodes;
         node != NULL && look_up->failed == EX_OK; node = node->ai_next) {
        tell_address(look_up, node->ai_addr);
        look_up->failed =
            keep_socket(look_up->list, node->ai_addr, look_up->name, look_up->port);
    }
    ares_freeaddrinfo(info);
}

/* Waits until a socket of c-ares is ready, or until c-ares has to ask again. */
static void take_step(ares_channel channel)
{
    ares_socket_t sockets[ARES_GETSOCK_MAXNUM];
    struct pollfd polled[ARES_GETSOCK_MAXNUM];
    struct timeval left = {.tv_sec = TRY_MS / 1000};
    int wanted = ares_getsock(channel, sockets, ARES_GETSOCK_MAXNUM);
    nfds_t count = 0;

    for (; count < ARES_GETSOCK_MAXNUM; count++) {
        bool reads = ARES_GETSOCK_READABLE(wanted, count);
        bool writes = ARES_GETSOCK_WRITABLE(wanted, count);
        if (!reads && !writes) {
            break;
        }
        polled[count] = (struct pollfd){
            .fd = sockets[count],
            .events = (short)((reads ? POLLIN : 0) | (writes ? POLLOUT : 0))};
    }
    (void)ares_timeout(channel, &left, &left);
    int ready = poll(polled, count, (int)(left.tv_sec * 1000 + left.tv_usec / 1000 + 1));
    for (nfds_t i = 0; ready > 0 && i < count; i++) {
        int events = polled[i].revents, other = events & ~(POLLIN | POLLOUT);
        ares_process_fd(channel,
                        (events & POLLIN) || other ? polled[i].fd : ARES_SOCKET_BAD,
                        (events & POLLOUT) || other ? polled[i].fd : ARES_SOCKET_BAD);
    }
    ares_process_fd(channel, ARES_SOCKET_BAD, ARES_SOCKET_BAD); /* what is due */
}

/* c-ares asks as the library does: first /etc/hosts, then the name servers. */
static int open_channel(ares_channel *channel)
{
    char lookups[] = "fb";
    struct ares_options options = {.timeout = TRY_MS, .tries = TRIES, .lookups = lookups};
    int status = ares_library_init(ARES_LIB_INIT_ALL);

    return status != ARES_SUCCESS
               ? status
               : ares_init_options(channel, &options,
                                   ARES_OPT_TIMEOUTMS | ARES_OPT_TRIES |
                                       ARES_OPT_LOOKUPS);
}

/* Adds all IPv4 and IPv6 addresses of the name. This blocks. */
static int look_up_name(const struct making *making, const char *name, const char *port)
{
    const struct ares_addrinfo_hints hints = {.ai_family = AF_UNSPEC,
                                              .ai_socktype = SOCK_STREAM};
    struct look_up look_up = {.list = making->list, .name = name, .port = port};
    uint64_t begun = uv_hrtime();
    ares_channel channel;

    look_up.status = open_channel(&channel);
    if (look_up.status == ARES_SUCCESS) {
        ares_getaddrinfo(channel, name, NULL, &hints, on_answer, &look_up);
        while (!look_up.answered) {
            take_step(channel);
        }
        ares_destroy(channel);
    }
    bool resolves = look_up.status == ARES_SUCCESS;
    if (making->cb != NULL && look_up.status != ARES_ENOMEM) {
        making->cb(making->data,
                   &(struct server_list_name){
                       .name = name,
                       .why = resolves ? NULL : ares_strerror(look_up.status),
                       .found = look_up.found,
                       .took_ms = (double)(uv_hrtime() - begun) / 1e6});
    } else if (!resolves) {
        return refuse(name, ares_strerror(look_up.status),
                      look_up.status == ARES_ENOMEM ? EX_OSERR : EX_UNAVAILABLE);
    }
    return look_up.failed;
}

/* ------------------------------------------------------------------------- entries */

/* Adds the address, or all addresses of the name. */
static int look_up(const struct making *making, const char *host, const char *port)
{
    const struct addrinfo hints = {
        .ai_family = AF_UNSPEC, .ai_socktype = SOCK_STREAM, .ai_flags = AI_NUMERICHOST};
    struct addrinfo *numeric;

    /* AI_NUMERICHOST: getaddrinfo reads no file and asks no name server. */
    if (getaddrinfo(host, NULL, &hints, &numeric) != 0) {
        return look_up_name(making, host, port);
    }
    int failed = keep_socket(making->list, numeric->ai_addr, host, port);
    freeaddrinfo(numeric);
    return failed;
}

/* Adds the servers of an entry: a host or an IPv6 address in brackets, and ":port", which
 * may be left out. Modifies the entry. */
static int take(const struct making *making, char *entry)
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
    return look_up(making, host, colon == NULL ? "2181" : colon + 1);
}

static int make(const struct making *making, const char *hosts)
{
    int failed = EX_OK;

    *making->list = (struct server_list){.chroot = hosts + strcspn(hosts, "/")};
    char *text = strndup(hosts, strcspn(hosts, "/"));
    char *rest = text;
    if (text == NULL) {
        return EX_OSERR;
    }
    while (rest != NULL && failed == EX_OK) {
        char *entry = strsep(&rest, ",");
        failed = take(making, entry);
    }
    free(text);
    return failed;
}

int server_list_make(struct server_list *list, const char *hosts)
{
    const struct making making = {.list = list};

    return make(&making, hosts);
}

int server_list_look_up(struct server_list *list, const char *hosts, server_list_cb cb,
                        void *data)
{
    const struct making making = {.list = list, .cb = cb, .data = data};

    return make(&making, hosts);
}

void server_list_free(struct server_list *list)
{
    for (size_t i = 0; i < list->count; i++) {
        free(list->addresses[i]);
        free(list->names[i]);
    }
}
