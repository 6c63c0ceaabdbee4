/* SPDX-License-Identifier: Apache-2.0 */
/* The look-ups of all host names of a search (host_names.h). search.c calls it on the
 * loop's thread.
 *
 * The resolver (c-ares) exists only while look-ups are under way, because it reads its
 * configuration when it is created. It opens its own sockets; `sockets` watches them, and
 * c-ares runs only inside calls of this file. The addresses of a name are not kept here:
 * `found` passes them on. They stay valid after later look-ups that fail. */
#include "discovery/host_names.h"

#include <ares.h>
#include <pthread.h>

#include "base/list.h"
#include "base/memory.h"
#include "discovery/pause.h"
#include "platform/error_map.h"
#include "uvzk.h"

/* --------------------------------------------------------------------- the resolver */

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

/* Creates a resolver. The owner of `sockets` must pass readiness of sockets that are not
 * its own to resolver_ready. Returns NULL and sets *status: UV_ENOMEM, UV_EAI_FAIL. */
static struct uvzk__resolver *resolver_new(struct uvzk__sockets *sockets, int *status)
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

/* Frees the resolver and cancels its look-ups. Must not be called inside answered(). */
static void resolver_free(struct uvzk__resolver *resolver)
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
    /* Cancelled by resolver_free. */
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

/* Looks up the addresses of one family, AF_INET or AF_INET6. The caller owns `look_up`,
 * which must stay valid until it is answered or cancelled. */
static void resolver_look_up(struct uvzk__resolver *resolver,
                             struct uvzk__look_up *look_up, const char *name, int family)
{
    /* The order of the addresses does not matter, because each of them is probed. */
    const struct ares_addrinfo_hints hints = {
        .ai_flags = ARES_AI_NOSORT, .ai_family = family, .ai_socktype = SOCK_STREAM};
    look_up->under_way = true;
    ares_getaddrinfo(resolver->channel, name, NULL, &hints, on_answer, look_up);
}

static void resolver_ready(struct uvzk__resolver *resolver, int fd, bool readable,
                           bool writable)
{
    ares_process_fd(resolver->channel, readable ? fd : ARES_SOCKET_BAD,
                    writable ? fd : ARES_SOCKET_BAD);
}

/* Ends the look-ups whose time is over; to be called when the time of resolver_next has
 * come. */
static void resolver_process(struct uvzk__resolver *resolver)
{
    ares_process_fd(resolver->channel, ARES_SOCKET_BAD, ARES_SOCKET_BAD);
}

/* Returns when to call resolver_process, in the time of uvzk_now(). UINT64_MAX: no look-up
 * is under way. */
static uint64_t resolver_next(struct uvzk__resolver *resolver)
{
    struct timeval left;
    if (ares_timeout(resolver->channel, NULL, &left) == NULL) {
        return UINT64_MAX;
    }
    /* Rounded up, or c-ares would be called before its time-out. */
    return uvzk_now() + (uint64_t)left.tv_sec * 1000 + (uint64_t)left.tv_usec / 1000 + 1;
}

/* In ms. TTLs of names are limited to this range. Look-ups that fail are repeated after
 * pauses in the same range, doubled each time. */
#define TTL_MIN_MS 500U
#define TTL_MAX_MS 30000U

/* ---------------------------------------------------------------------- an answer */

/* A host has two names, one for each family. It is reported only if both look-ups have
 * failed. The two follow each other in the array, IPv4 first. */
static void host_names_report(struct uvzk__host_names *names,
                              const struct uvzk__host_name *name)
{
    size_t index = (size_t)(name - names->array);
    struct uvzk__host_name *four = &names->array[index - index % 2];
    const struct uvzk__host_name *six = four + 1;
    bool bad = four->asked && six->asked && four->status < 0 && six->status < 0;
    bool news = bad && four->told != four->status;

    if (news) {
        four->told = four->status;
    } else if (four->status == 0 || six->status == 0) {
        four->told = 0;
    }
    names->answered(names, bad ? four : NULL, news);
}

/* The resolver calls this when a look-up is over. */
static void host_names_answered(struct uvzk__look_up *look_up, int status,
                                const struct uvzk__found *found)
{
    struct uvzk__host_name *name =
        UVZK__CONTAINER_OF(look_up, struct uvzk__host_name, look_up);

    if (status == 0) {
        status = name->names->found(name->names, &name->host, found);
    }
    if (status == 0) {
        uint32_t ttl_ms =
            found->ttl_s < TTL_MAX_MS / 1000 ? found->ttl_s * 1000 : TTL_MAX_MS;
        name->fresh_until =
            uvzk_now() + uvzk__pause_jittered(ttl_ms > TTL_MIN_MS ? ttl_ms : TTL_MIN_MS);
        name->pause_ms = TTL_MIN_MS;
    } else {
        name->fresh_until = uvzk_now() + uvzk__pause_jittered(name->pause_ms);
        name->pause_ms = uvzk__pause_doubled(name->pause_ms, TTL_MAX_MS);
    }
    name->asked = true;
    name->status = status;
    host_names_report(name->names, name);
}

/* ---------------------------------------------------------------------- look-ups */

static void look_up(struct uvzk__host_names *names, struct uvzk__host_name *name)
{
    int status = 0;
    if (names->resolver == NULL) {
        names->resolver = resolver_new(names->sockets, &status);
    }
    /* No memory, or c-ares failed: treated as the answer to the look-up. */
    if (names->resolver == NULL) {
        static const struct uvzk__found none = {.count = 0};
        host_names_answered(&name->look_up, status, &none);
        return;
    }
    resolver_look_up(names->resolver, &name->look_up, name->host.name, name->family);
}

void uvzk__host_names_look_up(struct uvzk__host_names *names, uint64_t now)
{
    for (size_t i = 0; i < names->count; i++) {
        struct uvzk__host_name *name = &names->array[i];
        if (!name->look_up.under_way && name->fresh_until <= now) {
            look_up(names, name);
        }
    }
}

void uvzk__host_names_expire(struct uvzk__host_names *names, uint64_t now)
{
    for (size_t i = 0; i < names->count; i++) {
        names->array[i].asked = false;
        names->array[i].fresh_until = now;
    }
}

const struct uvzk__host_name *
uvzk__host_names_looked_up(const struct uvzk__host_names *names)
{
    for (size_t i = 0; i < names->count; i++) {
        if (names->array[i].look_up.under_way) {
            return &names->array[i];
        }
    }
    return NULL;
}

bool uvzk__host_names_all_asked(const struct uvzk__host_names *names)
{
    for (size_t i = 0; i < names->count; i++) {
        if (!names->array[i].asked) {
            return false;
        }
    }
    return true;
}

uint64_t uvzk__host_names_next_look_up(const struct uvzk__host_names *names)
{
    uint64_t next = UINT64_MAX;
    for (size_t i = 0; i < names->count; i++) {
        const struct uvzk__host_name *name = &names->array[i];
        if (!name->look_up.under_way && name->fresh_until < next) {
            next = name->fresh_until;
        }
    }
    return next;
}

/* -------------------------------------------------------- the steps of the resolver */

uint64_t uvzk__host_names_next_step(const struct uvzk__host_names *names)
{
    if (names->resolver == NULL) {
        return UINT64_MAX;
    }
    return uvzk__host_names_looked_up(names) == NULL ? 0 : resolver_next(names->resolver);
}

void uvzk__host_names_process(struct uvzk__host_names *names)
{
    if (names->resolver != NULL) {
        resolver_process(names->resolver);
    }
}

bool uvzk__host_names_ready(struct uvzk__host_names *names, int fd, bool readable,
                            bool writable)
{
    if (names->resolver == NULL) {
        return false;
    }
    resolver_ready(names->resolver, fd, readable, writable);
    return true;
}

void uvzk__host_names_cancel(struct uvzk__host_names *names)
{
    resolver_free(names->resolver);
    names->resolver = NULL;
}

/* ----------------------------------------------------------------- creation and end */

int uvzk__host_names_init(struct uvzk__host_names *names, struct uvzk__sockets *sockets,
                          size_t hosts)
{
    names->sockets = sockets;
    names->array = uvzk__calloc(2 * hosts, sizeof(*names->array));
    return names->array == NULL ? UV_ENOMEM : 0;
}

static void add_name(struct uvzk__host_names *names, const struct uvzk__host *host,
                     int family)
{
    names->array[names->count++] = (struct uvzk__host_name){
        .look_up = {.port = host->port, .answered = host_names_answered},
        .names = names,
        .host = *host,
        .family = family,
        .pause_ms = TTL_MIN_MS};
}

void uvzk__host_names_add(struct uvzk__host_names *names, const struct uvzk__host *host)
{
    add_name(names, host, AF_INET);
    add_name(names, host, AF_INET6);
}

void uvzk__host_names_free(struct uvzk__host_names *names)
{
    uvzk__free(names->array);
}
