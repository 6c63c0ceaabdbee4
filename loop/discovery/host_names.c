/* The look-ups of all host names of a search (host_names.h). search.c calls it on the
 * loop's thread.
 *
 * The resolver (c-ares) exists only while look-ups are under way, because it reads its
 * configuration when it is created. The addresses of a name are not kept here: `found`
 * passes them on. They stay valid after later look-ups that fail. */
#include "discovery/host_names.h"

#include "base/list.h"
#include "base/memory.h"
#include "discovery/pause.h"
#include "uvzk.h"

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
        names->resolver = uvzk__resolver_new(names->sockets, &status);
    }
    /* No memory, or c-ares failed: treated as the answer to the look-up. */
    if (names->resolver == NULL) {
        static const struct uvzk__found none = {.count = 0};
        host_names_answered(&name->look_up, status, &none);
        return;
    }
    uvzk__resolver_look_up(names->resolver, &name->look_up, name->host.name,
                           name->family);
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

/* ------------------------------------------------------------------- the resolver */

uint64_t uvzk__host_names_next_step(const struct uvzk__host_names *names)
{
    if (names->resolver == NULL) {
        return UINT64_MAX;
    }
    return uvzk__host_names_looked_up(names) == NULL
               ? 0
               : uvzk__resolver_next(names->resolver);
}

void uvzk__host_names_process(struct uvzk__host_names *names)
{
    if (names->resolver != NULL) {
        uvzk__resolver_process(names->resolver);
    }
}

bool uvzk__host_names_ready(struct uvzk__host_names *names, int fd, bool readable,
                            bool writable)
{
    if (names->resolver == NULL) {
        return false;
    }
    uvzk__resolver_ready(names->resolver, fd, readable, writable);
    return true;
}

void uvzk__host_names_cancel(struct uvzk__host_names *names)
{
    uvzk__resolver_free(names->resolver);
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
