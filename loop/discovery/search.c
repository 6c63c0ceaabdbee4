/* The search for the servers behind a connect string (search.h). reconnect.c begins and
 * ends it, on the loop's thread.
 *
 * The search has a list of names, two for each host (IPv4 and IPv6), and a list of
 * targets, one for each address. Each name and each target has the time of its next step.
 * `plan` sets the alarm of `sockets` to the earliest of these times, and is called after
 * every change. `due` runs when the alarm comes: it begins the search, looks up names,
 * begins probes and ends those that take too long. `ready` runs when a socket of a probe
 * or of the resolver is ready. A search in state RESTING begins no new probes or
 * look-ups; probes that are under way end as usual. */
#include "discovery/search.h"

#include <assert.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <sys/random.h>

#include "base/list.h"
#include "base/memory.h"
#include "discovery/hosts.h"
#include "discovery/resolver.h"
#include "discovery/server_probe.h"
#include "discovery/sockets.h"
#include "uvzk.h"

/* In ms. After the first server has answered, the other addresses have this time, and as
 * long again as the first answer took: all good servers are wanted, but the search must
 * not wait for silent ones. */
#define GRACE_MS 20U

/* The pause in ms before an address whose probe failed is probed again; doubled each
 * time. */
#define PAUSE_MIN_MS 100U
#define PAUSE_MAX_MS 2000U

/* The least time in ms that a probe waits for an answer, so that a busy machine does not
 * fail all probes. */
#define PATIENCE_MIN_MS 250U

/* In ms. TTLs of names are limited to this range. Look-ups that fail are repeated after
 * pauses in the same range, doubled each time. */
#define TTL_MIN_MS 500U
#define TTL_MAX_MS 30000U

/* How long in ms a server is avoided; doubled each time. */
#define AVOID_MIN_MS 10000U
#define AVOID_MAX_MS 600000U

/* If nothing has been found out for this time in ms, an entry that has not answered is
 * reported. */
#define SLOW_MS 2500U

/* Fits a host name, an address and a reason. */
#define LINE_BYTES (UVZK__HOST_MAX + 200)

#define RESTING UVZK__SEARCH_RESTING
#define PLANNED UVZK__SEARCH_PLANNED
#define SEARCHING UVZK__SEARCH_SEARCHING
#define ANSWERED UVZK__SEARCH_ANSWERED
#define CLOSING UVZK__SEARCH_CLOSING

static const struct uvzk__state table[] = {
    [RESTING] = {"RESTING", UVZK__BIT(PLANNED) | UVZK__BIT(CLOSING)},
    [PLANNED] = {"PLANNED",
                 UVZK__BIT(SEARCHING) | UVZK__BIT(RESTING) | UVZK__BIT(CLOSING)},
    [SEARCHING] = {"SEARCHING", UVZK__BIT(ANSWERED) | UVZK__BIT(RESTING) |
                                    UVZK__BIT(PLANNED) | UVZK__BIT(CLOSING)},
    [ANSWERED] = {"ANSWERED",
                  UVZK__BIT(RESTING) | UVZK__BIT(PLANNED) | UVZK__BIT(CLOSING)},
    [CLOSING] = {"CLOSING", 0},
};

const struct uvzk__machine uvzk__search_machine =
    UVZK__MACHINE("search for servers", table);

/* One host name in one address family. A numeric address has no name. */
struct name {
    struct uvzk__look_up look_up;
    struct uvzk__search *search;
    struct uvzk__host host;
    int family;
    uint64_t fresh_until; /* the name is looked up again after this time */
    uint32_t pause_ms;    /* before the next look-up, after a failure */
    bool asked;           /* a look-up has been answered since the search began */
    int status;           /* of the last answer */
    /* The status that was logged last; used only in the name of the IPv4 family, for
     * both. */
    int told;
};

/* One address to probe. If two names have the same address, there are two targets. */
struct target {
    struct uvzk__address address;
    const struct name *name; /* NULL: numeric in the connect string */
    struct uvzk__server_probe probe;
    /* Since the search began; PENDING: not known yet. */
    enum uvzk__probe_result result;
    enum uvzk__probe_result told; /* the result that was logged last */
    /* While it is being probed: the time at which the probe ends without an answer.
     * Otherwise: the time of the next probe; UINT64_MAX: none. */
    uint64_t moment;
    uint32_t pause_ms, patience_ms; /* before the next probe; for an answer */
    bool probed;                    /* a probe is under way */
    bool in_use;                    /* the handle was opened with this server */
    bool distrusted;                /* its answer to a probe was wrong once */
    /* Until this time it is used only if no other server answers. */
    uint64_t avoided_until;
    uint32_t avoid_ms; /* the length of that time in ms; 0: never avoided */
};

struct uvzk__search {
    struct uvzk__sockets sockets;
    struct uvzk__search_user *user;
    const char *hosts; /* the connect string, borrowed */
    uint32_t patience_ms;
    struct uvzk__resolver *resolver; /* NULL: no look-up under way */
    struct name *names;
    size_t name_count;
    struct target *targets; /* moved by add_target and remove_old */
    size_t target_count, target_capacity;
    uint8_t state;     /* enum uvzk__search_state */
    uint64_t begin_at; /* PLANNED: when it begins */
    /* When the search began, for the grace time. */
    uint64_t began_at;
    uint64_t grace_at; /* ANSWERED: when it ends */
    uint64_t still_at; /* SEARCHING: when a slow entry is reported */
};

static bool invariant_holds(const struct uvzk__search *search)
{
    switch (search->state) {
    case PLANNED:
        return search->begin_at > 0;
    case SEARCHING:
        return search->began_at > 0;
    case ANSWERED:
        return search->grace_at > search->began_at;
    default:
        return true;
    }
}

/* The only function that writes state. A move to the current state is allowed and does
 * nothing. */
static void move(struct uvzk__search *search, enum uvzk__search_state state)
{
    if (search->state != state) {
        search->state =
            (uint8_t)uvzk__machine_move(&uvzk__search_machine, search->state, state);
    }
    assert(invariant_holds(search));
}

static bool is_searching(const struct uvzk__search *search)
{
    return search->state == SEARCHING || search->state == ANSWERED;
}

/* ------------------------------------------------------------------ the log */

__attribute__((format(printf, 2, 3))) static void say(struct uvzk__search *search,
                                                      const char *format, ...)
{
    char line[LINE_BYTES];
    va_list arguments;
    /* No callback but closed() runs once the search is closed. */
    if (search->state == CLOSING) {
        return;
    }
    va_start(arguments, format);
    vsnprintf(line, sizeof(line), format, arguments);
    va_end(arguments);
    search->user->log(search->user, line);
}

/* The reason in words, for the log and for the user. */
static const char *reason(const struct target *target)
{
    switch (target->result) {
    case UVZK__PROBE_UNREACHABLE:
        return uv_strerror(uvzk__server_probe_error(&target->probe));
    case UVZK__PROBE_TIMEOUT:
        return "no answer";
    case UVZK__PROBE_CLOSED:
        return "hangs up without an answer: without a quorum, or no ZooKeeper server";
    default:
        return "what answers is no ZooKeeper server";
    }
}

static void report_connect_error(struct uvzk__search *search, int code,
                                 const char *address, const char *text)
{
    const struct uvzk__connect_error trouble = {code, address, text};
    /* Something has been reported, so the time of silence begins again. */
    search->still_at = uvzk_now() + SLOW_MS;
    if (search->state != CLOSING) {
        search->user->connect_error(search->user, &trouble);
    }
}

static int code_of(const struct target *target)
{
    switch (target->result) {
    case UVZK__PROBE_UNREACHABLE:
        return uvzk__server_probe_error(&target->probe);
    case UVZK__PROBE_TIMEOUT:
        return UV_ETIMEDOUT;
    case UVZK__PROBE_CLOSED:
        return UV_ECONNRESET;
    default:
        return UV_EPROTO;
    }
}

/* Reports a probe's result to the user each time, but logs it only when it has
 * changed. */
static void report_result(struct uvzk__search *search, struct target *target)
{
    char text[UVZK__SERVER_TEXT];
    if (target->result != UVZK__PROBE_SERVER) {
        uvzk__address_server_text(&target->address, text);
        report_connect_error(search, code_of(target), text, reason(target));
    }
    if (target->result != UVZK__PROBE_SERVER && target->told != target->result) {
        say(search, "%s%s%s: %s", target->name != NULL ? target->name->host.name : "",
            target->name != NULL ? ", " : "", text, reason(target));
    }
    target->told = target->result;
}

/* ------------------------------------------------------------------- probes */

/* Returns a random time from three quarters to five quarters of ms, so that clients do
 * not act at the same time. */
static uint64_t jittered(uint32_t ms)
{
    uint32_t random;
    if (getrandom(&random, sizeof(random), GRND_NONBLOCK) < 0) {
        /* Early in the boot, without random numbers, clients may act at the same time. */
        random = 0;
    }
    return ms - ms / 4 + random % (ms / 2 + 1);
}

static uint32_t doubled(uint32_t ms, uint32_t most)
{
    return ms < most / 2 ? 2 * ms : most;
}

/* The socket must be forgotten before it is closed. */
static void end_probe(struct uvzk__search *search, struct target *target)
{
    if (target->probed) {
        uvzk__sockets_forget(&search->sockets, uvzk__server_probe_socket(&target->probe));
        uvzk__server_probe_end(&target->probe);
        target->probed = false;
    }
}

/* A server that is not trusted is used only if no other server answers. */
static bool is_trusted(const struct target *target)
{
    return !target->distrusted && target->avoided_until <= uvzk_now();
}

/* A server has answered. The first answer sets the grace time, in which the other
 * addresses may answer: GRACE_MS plus the time that the answer took. If the server is not
 * trusted, the grace time is longer by half a probe's time, so that a trusted server can
 * still answer. A later answer of a trusted server can shorten the grace time. */
static void take_note(struct uvzk__search *search, const struct target *target,
                      uint64_t now)
{
    bool trusted = is_trusted(target);
    uint64_t grace_at = now + GRACE_MS + (now - search->began_at) +
                        (trusted ? 0 : search->patience_ms / 2);

    if (search->state == SEARCHING) {
        search->grace_at = grace_at;
        move(search, ANSWERED);
    } else if (search->state == ANSWERED && trusted && grace_at < search->grace_at) {
        search->grace_at = grace_at;
    }
}

/* A probe has ended: records its result and sets the time of the next probe. */
static void settle(struct uvzk__search *search, struct target *target,
                   enum uvzk__probe_result result)
{
    uint64_t now = uvzk_now();
    end_probe(search, target);
    target->result = result;
    if (result == UVZK__PROBE_SERVER) {
        target->moment = UINT64_MAX;
        target->pause_ms = PAUSE_MIN_MS;
        take_note(search, target, now);
    } else {
        target->moment = now + jittered(target->pause_ms);
        target->pause_ms = doubled(target->pause_ms, PAUSE_MAX_MS);
    }
    /* A slow server has more time in the next probe, up to four times the first time. */
    if (result == UVZK__PROBE_TIMEOUT) {
        target->patience_ms = doubled(target->patience_ms, 4 * search->patience_ms);
    }
    report_result(search, target);
}

static void begin_probe(struct uvzk__search *search, struct target *target)
{
    enum uvzk__probe_result result =
        uvzk__server_probe_begin(&target->probe, &target->address);
    target->probed = true;
    target->moment = uvzk_now() + target->patience_ms;
    if (result == UVZK__PROBE_PENDING &&
        uvzk__sockets_watch(&search->sockets, uvzk__server_probe_socket(&target->probe),
                            false, true) < 0) {
        uvzk__server_probe_failed(&target->probe, UV_ENOMEM);
        result = UVZK__PROBE_UNREACHABLE;
    }
    if (result != UVZK__PROBE_PENDING) {
        settle(search, target, result);
    }
}

static void step_probe(struct uvzk__search *search, struct target *target)
{
    enum uvzk__probe_result result = uvzk__server_probe_step(&target->probe);
    if (result == UVZK__PROBE_PENDING) {
        /* If this fails, the probe ends without an answer when its time is over. */
        (void)uvzk__sockets_watch(&search->sockets,
                                  uvzk__server_probe_socket(&target->probe), true, false);
    } else {
        settle(search, target, result);
    }
}

/* ------------------------------------------------------------------ targets */

static struct target *find_target(struct uvzk__search *search, const struct name *name,
                                  const struct uvzk__address *address)
{
    for (size_t i = 0; i < search->target_count; i++) {
        if (search->targets[i].name == name &&
            uvzk__address_equal(&search->targets[i].address, address)) {
            return &search->targets[i];
        }
    }
    return NULL;
}

/* Adds the address unless the name has it already. Returns 0 or UV_ENOMEM. May move the
 * array of targets. */
static int add_target(struct uvzk__search *search, const struct name *name,
                      const struct uvzk__address *address)
{
    if (find_target(search, name, address) != NULL) {
        return 0;
    }
    if (search->target_count == search->target_capacity) {
        size_t capacity = 2 * search->target_capacity + 4;
        struct target *targets =
            uvzk__realloc(search->targets, capacity * sizeof(*targets));
        if (targets == NULL) {
            return UV_ENOMEM;
        }
        search->targets = targets;
        search->target_capacity = capacity;
    }
    search->targets[search->target_count++] =
        (struct target){.address = *address,
                        .name = name,
                        .probe = {.fd = -1},
                        .result = UVZK__PROBE_PENDING,
                        .told = UVZK__PROBE_SERVER,
                        .pause_ms = PAUSE_MIN_MS,
                        .patience_ms = search->patience_ms};
    return 0;
}

static bool is_among(const struct uvzk__address *address, const struct uvzk__found *found)
{
    for (size_t i = 0; i < found->count; i++) {
        if (uvzk__address_equal(address, &found->addresses[i])) {
            return true;
        }
    }
    return false;
}

/* Removes the addresses that the name does not have any more. */
static void remove_old(struct uvzk__search *search, const struct name *name,
                       const struct uvzk__found *found)
{
    size_t kept = 0;
    for (size_t i = 0; i < search->target_count; i++) {
        struct target *target = &search->targets[i];
        if (target->name == name && !is_among(&target->address, found)) {
            end_probe(search, target);
        } else {
            search->targets[kept++] = *target;
        }
    }
    search->target_count = kept;
}

/* -------------------------------------------------------------------- names */

/* A host has two names, one for each family. It is reported only if both look-ups have
 * failed. The two follow each other in `names`, IPv4 first. */
static void tell_name(struct uvzk__search *search, const struct name *name)
{
    size_t index = (size_t)(name - search->names);
    struct name *four = &search->names[index - index % 2];
    const struct name *six = four + 1;
    bool bad = four->asked && six->asked && four->status < 0 && six->status < 0;

    if (bad) {
        report_connect_error(search, four->status, four->host.name,
                             uv_strerror(four->status));
    }
    if (bad && four->told != four->status) {
        say(search, "%s: %s", four->host.name, uv_strerror(four->status));
        four->told = four->status;
    } else if (four->status == 0 || six->status == 0) {
        four->told = 0;
    }
}

static void plan(struct uvzk__search *search);

/* The resolver calls this when a look-up is over. An allocation failure while adding an
 * address counts as a failed look-up. Addresses from before are kept after a failure. */
static void answered(struct uvzk__look_up *look_up, int status,
                     const struct uvzk__found *found)
{
    struct name *name = UVZK__CONTAINER_OF(look_up, struct name, look_up);
    struct uvzk__search *search = name->search;

    for (size_t i = 0; i < found->count && status == 0; i++) {
        status = add_target(search, name, &found->addresses[i]);
    }
    if (status == 0) {
        uint32_t ttl_ms =
            found->ttl_s < TTL_MAX_MS / 1000 ? found->ttl_s * 1000 : TTL_MAX_MS;
        remove_old(search, name, found);
        name->fresh_until =
            uvzk_now() + jittered(ttl_ms > TTL_MIN_MS ? ttl_ms : TTL_MIN_MS);
        name->pause_ms = TTL_MIN_MS;
    } else {
        name->fresh_until = uvzk_now() + jittered(name->pause_ms);
        name->pause_ms = doubled(name->pause_ms, TTL_MAX_MS);
    }
    name->asked = true;
    name->status = status;
    tell_name(search, name);
    plan(search);
}

static void look_up(struct uvzk__search *search, struct name *name)
{
    int status = 0;
    if (search->resolver == NULL) {
        search->resolver = uvzk__resolver_new(&search->sockets, &status);
    }
    /* No memory, or c-ares failed: as if the look-up had been answered so. */
    if (search->resolver == NULL) {
        static const struct uvzk__found none = {.count = 0};
        answered(&name->look_up, status, &none);
        return;
    }
    uvzk__resolver_look_up(search->resolver, &name->look_up, name->host.name,
                           name->family);
}

static bool looking_up(const struct uvzk__search *search)
{
    for (size_t i = 0; i < search->name_count; i++) {
        if (search->names[i].look_up.under_way) {
            return true;
        }
    }
    return false;
}

static void look_up_stale(struct uvzk__search *search, uint64_t now)
{
    for (size_t i = 0; i < search->name_count; i++) {
        if (!search->names[i].look_up.under_way && search->names[i].fresh_until <= now) {
            look_up(search, &search->names[i]);
        }
    }
}

/* ------------------------------------------------------------------- a step */

/* Reports one entry that has not answered yet. */
static void report_slow(struct uvzk__search *search)
{
    char text[UVZK__SERVER_TEXT];
    for (size_t i = 0; i < search->name_count; i++) {
        if (search->names[i].look_up.under_way) {
            report_connect_error(search, UV_EAI_AGAIN, search->names[i].host.name,
                                 "no answer of a name server yet");
            return;
        }
    }
    for (size_t i = 0; i < search->target_count; i++) {
        if (search->targets[i].probed) {
            uvzk__address_server_text(&search->targets[i].address, text);
            report_connect_error(search, UV_ETIMEDOUT, text, "no answer yet");
            return;
        }
    }
    search->still_at = uvzk_now() + SLOW_MS;
}

static void begin(struct uvzk__search *search, uint64_t now)
{
    search->began_at = now;
    search->still_at = now + SLOW_MS;
    move(search, SEARCHING);
    for (size_t i = 0; i < search->target_count; i++) {
        struct target *target = &search->targets[i];
        target->pause_ms = PAUSE_MIN_MS;
        /* A probe that is still under way from before counts for this search. */
        if (!target->probed) {
            target->result = UVZK__PROBE_PENDING;
            target->moment = now;
        }
    }
    /* Without any address all names are looked up at once. Otherwise names are looked up
     * when their TTL is over. */
    for (size_t i = 0; i < search->name_count && search->target_count == 0; i++) {
        search->names[i].asked = false;
        search->names[i].fresh_until = now;
    }
}

static void probe_all(struct uvzk__search *search, uint64_t now)
{
    for (size_t i = 0; i < search->target_count; i++) {
        struct target *target = &search->targets[i];
        if (target->moment > now) {
            continue;
        }
        if (target->probed) {
            settle(search, target, UVZK__PROBE_TIMEOUT);
        } else if (is_searching(search)) {
            begin_probe(search, target);
        }
    }
}

/* Returns whether every address has a result and no look-up is under way, so that waiting
 * longer is useless. */
static bool settled(const struct uvzk__search *search)
{
    for (size_t i = 0; i < search->target_count; i++) {
        if (search->targets[i].result == UVZK__PROBE_PENDING) {
            return false;
        }
    }
    return !looking_up(search);
}

/* Returns whether every name has been answered and there is no address at all. */
static bool nothing_resolves(const struct uvzk__search *search)
{
    for (size_t i = 0; i < search->name_count; i++) {
        if (!search->names[i].asked) {
            return false;
        }
    }
    return search->target_count == 0;
}

/* An address that fails does not end the search, because it is probed again. */
static bool over(const struct uvzk__search *search, uint64_t now)
{
    if (!is_searching(search)) {
        return false;
    }
    if (search->state == ANSWERED) {
        return now >= search->grace_at || settled(search);
    }
    return nothing_resolves(search);
}

/* If nothing was found, the reported status is that of the first name. */
static void finish(struct uvzk__search *search)
{
    bool found = search->state == ANSWERED;
    move(search, RESTING);
    search->user->done(search->user, found ? 0 : search->names[0].status);
}

/* Processes c-ares' time-outs, and frees the resolver after the last look-up of a round.
 * c-ares must not be destroyed in its own callbacks, so it is freed here and in
 * uvzk__search_close only. */
static void step_resolver(struct uvzk__search *search)
{
    if (search->resolver != NULL) {
        uvzk__resolver_process(search->resolver);
        if (!is_searching(search) || !looking_up(search)) {
            uvzk__resolver_free(search->resolver);
            search->resolver = NULL;
        }
    }
}

/* The alarm: does everything whose time has come. finish may close the search, so the
 * state is checked after it. */
static void due(struct uvzk__sockets *sockets)
{
    struct uvzk__search *search =
        UVZK__CONTAINER_OF(sockets, struct uvzk__search, sockets);
    uint64_t now = uvzk_now();

    if (search->state == PLANNED && search->begin_at <= now) {
        begin(search, now);
    }
    if (is_searching(search)) {
        look_up_stale(search, now);
    }
    probe_all(search, now);
    if (search->state == SEARCHING && search->still_at <= now) {
        report_slow(search);
    }
    if (over(search, now)) {
        finish(search);
    }
    if (search->state != CLOSING) {
        step_resolver(search);
        plan(search);
    }
}

static void ready(struct uvzk__sockets *sockets, int fd, bool readable, bool writable)
{
    struct uvzk__search *search =
        UVZK__CONTAINER_OF(sockets, struct uvzk__search, sockets);
    for (size_t i = 0; i < search->target_count; i++) {
        if (search->targets[i].probed &&
            uvzk__server_probe_socket(&search->targets[i].probe) == fd) {
            step_probe(search, &search->targets[i]);
            plan(search);
            return;
        }
    }
    if (search->resolver != NULL) {
        uvzk__resolver_ready(search->resolver, fd, readable, writable);
        plan(search);
    }
}

static uint64_t earlier(uint64_t a, uint64_t b)
{
    return a < b ? a : b;
}

static void plan(struct uvzk__search *search)
{
    uint64_t next = search->state == PLANNED ? search->begin_at : UINT64_MAX;
    /* `due` ends the search, or frees the resolver, in the next iteration of the loop:
     * plan may run inside a callback of c-ares or a call of the user. */
    if (over(search, uvzk_now()) || (search->resolver != NULL && !looking_up(search))) {
        next = 0;
    } else if (search->resolver != NULL) {
        next = earlier(next, uvzk__resolver_next(search->resolver));
    }
    if (search->state == SEARCHING) {
        next = earlier(next, search->still_at);
    }
    for (size_t i = 0; i < search->target_count; i++) {
        /* While resting, only probes under way need the alarm. */
        if (is_searching(search) || search->targets[i].probed) {
            next = earlier(next, search->targets[i].moment);
        }
    }
    for (size_t i = 0; i < search->name_count && is_searching(search); i++) {
        if (!search->names[i].look_up.under_way) {
            next = earlier(next, search->names[i].fresh_until);
        }
    }
    uvzk__sockets_alarm(&search->sockets, search->state == ANSWERED
                                              ? earlier(next, search->grace_at)
                                              : next);
}

/* ------------------------------------------------------------------------ the calls */

void uvzk__search_begin(struct uvzk__search *search, uint32_t delay_ms)
{
    search->begin_at = uvzk_now() + (delay_ms > 0 ? jittered(delay_ms) : 0);
    move(search, PLANNED);
    for (size_t i = 0; i < search->target_count; i++) {
        search->targets[i].result = UVZK__PROBE_PENDING;
    }
    plan(search);
}

bool uvzk__search_goes_on(const struct uvzk__search *search)
{
    return search->state == PLANNED || is_searching(search);
}

void uvzk__search_rest(struct uvzk__search *search)
{
    move(search, RESTING);
    plan(search);
}

static bool is_known(const struct uvzk__address *known, size_t count,
                     const struct uvzk__address *address)
{
    for (size_t i = 0; i < count; i++) {
        if (uvzk__address_equal(&known[i], address)) {
            return true;
        }
    }
    return false;
}

void uvzk__search_distrust(struct uvzk__search *search, const char *server)
{
    char text[UVZK__SERVER_TEXT];
    for (size_t i = 0; i < search->target_count; i++) {
        uvzk__address_server_text(&search->targets[i].address, text);
        if (strcmp(text, server) == 0) {
            search->targets[i].distrusted = true;
        }
    }
}

void uvzk__search_avoid(struct uvzk__search *search, const char *server)
{
    char text[UVZK__SERVER_TEXT];
    for (size_t i = 0; i < search->target_count; i++) {
        struct target *target = &search->targets[i];
        uvzk__address_server_text(&target->address, text);
        if (strcmp(text, server) == 0) {
            target->avoid_ms = target->avoid_ms == 0
                                   ? AVOID_MIN_MS
                                   : doubled(target->avoid_ms, AVOID_MAX_MS);
            target->avoided_until = uvzk_now() + target->avoid_ms;
        }
    }
}

/* Marks the targets that have answered and are trusted, or not trusted, as the servers in
 * use, and copies their addresses to `good`, each once. Returns their number. */
static size_t choose(struct uvzk__search *search, bool trusted,
                     struct uvzk__address *good)
{
    size_t count = 0;
    for (size_t i = 0; i < search->target_count; i++) {
        struct target *target = &search->targets[i];
        target->in_use =
            target->result == UVZK__PROBE_SERVER && is_trusted(target) == trusted;
        if (target->in_use && !is_known(good, count, &target->address)) {
            good[count++] = target->address;
        }
    }
    return count;
}

char *uvzk__search_take(struct uvzk__search *search, char local[UVZK__ADDRESS_TEXT])
{
    char *text = NULL;
    /* One byte more, so that the size is never 0. */
    struct uvzk__address *good = uvzk__malloc(search->target_count * sizeof(*good) + 1);
    if (good == NULL) {
        return NULL;
    }
    size_t count = choose(search, true, good);
    /* No trusted server has answered. */
    if (count == 0) {
        count = choose(search, false, good);
    }
    if (count > 0) {
        uvzk__address_local(&good[0], local);
        text = uvzk__addresses_join(good, count, uvzk__hosts_chroot(search->hosts));
    }
    uvzk__free(good);
    return text;
}

bool uvzk__search_finds_known(const struct uvzk__search *search)
{
    for (size_t i = 0; i < search->target_count; i++) {
        const struct target *target = &search->targets[i];
        if (target->in_use && target->result == UVZK__PROBE_SERVER &&
            is_trusted(target)) {
            return true;
        }
    }
    return false;
}

/* ----------------------------------------------------------------- creation and end */

static void free_search(struct uvzk__search *search)
{
    for (size_t i = 0; i < search->target_count; i++) {
        uvzk__server_probe_end(&search->targets[i].probe);
    }
    uvzk__free(search->targets);
    uvzk__free(search->names);
    uvzk__free(search);
}

static void closed(struct uvzk__sockets *sockets)
{
    struct uvzk__search *search =
        UVZK__CONTAINER_OF(sockets, struct uvzk__search, sockets);
    struct uvzk__search_user *user = search->user;
    free_search(search);
    user->closed(user);
}

void uvzk__search_close(struct uvzk__search *search)
{
    move(search, CLOSING);
    /* Cancels the look-ups without calling answered(). */
    uvzk__resolver_free(search->resolver);
    search->resolver = NULL;
    for (size_t i = 0; i < search->target_count; i++) {
        end_probe(search, &search->targets[i]);
    }
    uvzk__sockets_close(&search->sockets);
}

static void add_name(struct uvzk__search *search, const struct uvzk__host *host,
                     int family)
{
    search->names[search->name_count++] =
        (struct name){.look_up = {.port = host->port, .answered = answered},
                      .search = search,
                      .host = *host,
                      .family = family,
                      .pause_ms = TTL_MIN_MS};
}

/* Creates the names and the targets of numeric addresses. The number of names is fixed
 * from then on, because look-ups point to them. Returns 0 or UV_ENOMEM; the caller frees
 * the search then. */
static int read_hosts(struct uvzk__search *search)
{
    struct uvzk__host host;
    struct uvzk__address address;
    const char *cursor = search->hosts;
    size_t count = 0;
    int rc = 0;

    while (uvzk__hosts_next(&cursor, &host) > 0) {
        count += 2;
    }
    search->names = uvzk__calloc(count, sizeof(*search->names));
    if (search->names == NULL) {
        return UV_ENOMEM;
    }
    cursor = search->hosts;
    while (rc == 0 && uvzk__hosts_next(&cursor, &host) > 0) {
        if (uvzk__address_read(host.name, host.port, &address)) {
            rc = add_target(search, NULL, &address);
        } else {
            add_name(search, &host, AF_INET);
            add_name(search, &host, AF_INET6);
        }
    }
    return rc;
}

struct uvzk__search *uvzk__search_new(uv_loop_t *loop, const char *hosts,
                                      uint32_t timeout_ms, struct uvzk__search_user *user,
                                      int *status)
{
    struct uvzk__search *search = uvzk__calloc(1, sizeof(*search));
    if (search == NULL) {
        *status = UV_ENOMEM;
        return NULL;
    }
    search->user = user;
    search->hosts = hosts;
    search->patience_ms =
        timeout_ms / 3 > PATIENCE_MIN_MS ? timeout_ms / 3 : PATIENCE_MIN_MS;
    search->sockets.ready = ready;
    search->sockets.due = due;
    search->sockets.closed = closed;
    *status = read_hosts(search);
    if (*status == 0) {
        *status = uvzk__sockets_open(&search->sockets, loop);
    }
    if (*status < 0) {
        free_search(search);
        return NULL;
    }
    return search;
}
