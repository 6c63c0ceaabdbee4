/* Look-ups of host names by c-ares (resolver.h). search.c calls it on the loop's thread.
 * c-ares opens its own sockets; `sockets` watches them, and c-ares runs only inside calls
 * of this file. */
#include "discovery/resolver.h"

#include <ares.h>
#include <pthread.h>

#include "base/memory.h"
#include "platform/error_map.h"
#include "uvzk.h"

/* In ms: a name server that does not answer is asked again after 2 s and after 4 s more,
 * and the look-up ends 8 s later. An answer to the first try still counts while the third
 * is under way. */
#define TRY_MS 2000
#define TRIES 3

struct uvzk__resolver {
    struct uvzk__sockets *sockets;
    ares_channel channel;
};

/* Set by uvzk__resolver_ask; NULL: the name servers of resolv.conf. */
static const char *servers_of_tests;

void uvzk__resolver_ask(const char *servers)
{
    servers_of_tests = servers;
}

static void begin_library(void)
{
    (void)ares_library_init(ARES_LIB_INIT_ALL);
}

/* c-ares wants to watch a socket or has finished with it. A socket that cannot be watched
 * is treated as one that never becomes ready: its look-up ends with a time-out. */
static void on_socket(void *context, ares_socket_t fd, int readable, int writable)
{
    struct uvzk__resolver *resolver = context;
    if (readable || writable) {
        (void)uvzk__sockets_watch(resolver->sockets, fd, readable != 0, writable != 0);
    } else {
        uvzk__sockets_forget(resolver->sockets, fd);
    }
}

static int open_channel(struct uvzk__resolver *resolver)
{
    char lookups[] = "fb"; /* first /etc/hosts, then the name servers */
    struct ares_options options = {.timeout = TRY_MS,
                                   .tries = TRIES,
                                   .lookups = lookups,
                                   .sock_state_cb = on_socket,
                                   .sock_state_cb_data = resolver};
    int status = ares_init_options(&resolver->channel, &options,
                                   ARES_OPT_TIMEOUTMS | ARES_OPT_TRIES |
                                       ARES_OPT_LOOKUPS | ARES_OPT_SOCK_STATE_CB);
    if (status == ARES_SUCCESS && servers_of_tests != NULL) {
        status = ares_set_servers_ports_csv(resolver->channel, servers_of_tests);
        if (status != ARES_SUCCESS) {
            ares_destroy(resolver->channel);
        }
    }
    return status;
}

struct uvzk__resolver *uvzk__resolver_new(struct uvzk__sockets *sockets, int *status)
{
    static pthread_once_t once = PTHREAD_ONCE_INIT;
    struct uvzk__resolver *resolver = uvzk__calloc(1, sizeof(*resolver));
    if (resolver == NULL) {
        *status = UV_ENOMEM;
        return NULL;
    }
    pthread_once(&once, begin_library);
    resolver->sockets = sockets;
    int rc = open_channel(resolver);
    if (rc != ARES_SUCCESS) {
        *status = uvzk__error_of_resolver(rc);
        uvzk__free(resolver);
        return NULL;
    }
    return resolver;
}

void uvzk__resolver_free(struct uvzk__resolver *resolver)
{
    if (resolver != NULL) {
        ares_destroy(resolver->channel);
        uvzk__free(resolver);
    }
}

static void resolver_gather(const struct ares_addrinfo *info, uint16_t port,
                            struct uvzk__found *found)
{
    int ttl = INT32_MAX;
    for (const struct ares_addrinfo_cname *name = info->cnames; name != NULL;
         name = name->next) {
        ttl = name->ttl < ttl ? name->ttl : ttl;
    }
    for (const struct ares_addrinfo_node *node = info->nodes;
         node != NULL && found->count < UVZK__FOUND_MAX; node = node->ai_next) {
        ttl = node->ai_ttl < ttl ? node->ai_ttl : ttl;
        if (uvzk__address_of(node->ai_addr, port, &found->addresses[found->count])) {
            found->count++;
        }
    }
    found->ttl_s = ttl > 0 ? (uint32_t)ttl : 0;
}

static void on_answer(void *context, int status, int timeouts, struct ares_addrinfo *info)
{
    struct uvzk__look_up *look_up = context;
    struct uvzk__found found = {.count = 0};
    (void)timeouts;

    look_up->under_way = false;
    /* Cancelled by uvzk__resolver_free. */
    if (status == ARES_EDESTRUCTION || status == ARES_ECANCELLED) {
        return;
    }
    if (info != NULL) {
        resolver_gather(info, look_up->port, &found);
        ares_freeaddrinfo(info);
    }
    if (status == ARES_SUCCESS && found.count == 0) {
        status = ARES_ENODATA;
    }
    look_up->answered(look_up, uvzk__error_of_resolver(status), &found);
}

void uvzk__resolver_look_up(struct uvzk__resolver *resolver,
                            struct uvzk__look_up *look_up, const char *name, int family)
{
    /* The order of the addresses does not matter, because each of them is probed. */
    const struct ares_addrinfo_hints hints = {
        .ai_flags = ARES_AI_NOSORT, .ai_family = family, .ai_socktype = SOCK_STREAM};
    look_up->under_way = true;
    ares_getaddrinfo(resolver->channel, name, NULL, &hints, on_answer, look_up);
}

void uvzk__resolver_ready(struct uvzk__resolver *resolver, int fd, bool readable,
                          bool writable)
{
    ares_process_fd(resolver->channel, readable ? fd : ARES_SOCKET_BAD,
                    writable ? fd : ARES_SOCKET_BAD);
}

void uvzk__resolver_process(struct uvzk__resolver *resolver)
{
    ares_process_fd(resolver->channel, ARES_SOCKET_BAD, ARES_SOCKET_BAD);
}

uint64_t uvzk__resolver_next(struct uvzk__resolver *resolver)
{
    struct timeval left;
    if (ares_timeout(resolver->channel, NULL, &left) == NULL) {
        return UINT64_MAX;
    }
    /* Rounded up, or c-ares would be called before its time-out. */
    return uvzk_now() + (uint64_t)left.tv_sec * 1000 + (uint64_t)left.tv_usec / 1000 + 1;
}
