/* SPDX-License-Identifier: Apache-2.0 */
/* The search for the servers behind a connect string (search.h). reconnect.c begins and
 * ends it, on the loop's thread.
 *
 * The search has host names (host_names.h), whose look-ups yield addresses, and one
 * target for each address (targets.h), which is probed. Each name and each target has the
 * time of its next step. search_plan sets the alarm of `sockets` to the earliest of these
 * times, and is called after every change. search_due runs when the alarm comes: it begins
 * the search, looks up names, begins probes and ends those that take too long.
 * search_ready runs when a socket of a probe or of the resolver is ready. A search in
 * state RESTING begins no new probes or look-ups; probes that are under way end as
 * usual. */
#include "discovery/search.h"

#include <stdarg.h>
#include <stdio.h>

#include "base/deadline.h"
#include "base/list.h"
#include "base/memory.h"
#include "discovery/host_names.h"
#include "discovery/hosts.h"
#include "discovery/pause.h"
#include "discovery/sockets.h"
#include "discovery/targets.h"
#include "uvzk.h"

/* In ms. After the first server has answered, the other addresses have this time, and as
 * long again as the first answer took: all good servers are wanted, but the search must
 * not wait for silent ones. */
#define GRACE_MS 20U

/* After this time in ms without a result, an entry that has not answered is reported. */
#define SLOW_MS 2500U

/* Fits a host name, an address and a reason. */
#define LINE_BYTES (UVZK__HOST_MAX + 200)

static const struct uvzk__state table[] = {
    UVZK__STATE(UVZK__SEARCH_, RESTING, PLANNED, CLOSING),
    UVZK__STATE(UVZK__SEARCH_, PLANNED, SEARCHING, RESTING, CLOSING),
    UVZK__STATE(UVZK__SEARCH_, SEARCHING, ANSWERED, RESTING, PLANNED, CLOSING),
    UVZK__STATE(UVZK__SEARCH_, ANSWERED, RESTING, PLANNED, CLOSING),
    UVZK__FINAL(UVZK__SEARCH_, CLOSING),
};

struct uvzk__search {
    struct uvzk__sockets sockets;
    struct uvzk__search_user *user;
    const char *hosts; /* the connect string, borrowed */
    struct uvzk__host_names names;
    struct uvzk__targets targets;
    uint8_t state;     /* enum uvzk__search_state */
    uint64_t begin_at; /* PLANNED: when it begins */
    /* When the search began, for the grace time. */
    uint64_t began_at;
    uint64_t grace_at; /* ANSWERED: when it ends */
    uint64_t still_at; /* SEARCHING: when a slow entry is reported */
};

static bool invariant_holds(const void *object)
{
    const struct uvzk__search *search = object;

    switch (search->state) {
    case UVZK__SEARCH_PLANNED:
        return search->begin_at > 0;
    case UVZK__SEARCH_SEARCHING:
        return search->began_at > 0;
    case UVZK__SEARCH_ANSWERED:
        return search->grace_at > search->began_at;
    default:
        return true;
    }
}

static bool is_searching(const struct uvzk__search *search)
{
    return search->state == UVZK__SEARCH_SEARCHING ||
           search->state == UVZK__SEARCH_ANSWERED;
}

const struct uvzk__machine uvzk__search_machine = UVZK__MACHINE(
    "search for servers", table, struct uvzk__search, state, invariant_holds);

static void search_report(void *reporter, const char *text)
{
    struct uvzk__search *search = reporter;

    search->user->broken(search->user, text);
}

/* The search may be in this state already. */
static void search_enter(struct uvzk__search *search, enum uvzk__search_state state)
{
    (void)uvzk__machine_enter_or_stay(&uvzk__search_machine, search, state, search_report,
                                      search);
    search->targets.searching = is_searching(search);
}

/* ------------------------------------------------------------------ the log */

__attribute__((format(printf, 2, 3))) static void say(struct uvzk__search *search,
                                                      const char *format, ...)
{
    char line[LINE_BYTES];
    va_list arguments;
    /* No callback but closed() of the user runs once the search is closed. */
    if (search->state == UVZK__SEARCH_CLOSING) {
        return;
    }
    va_start(arguments, format);
    vsnprintf(line, sizeof(line), format, arguments);
    va_end(arguments);
    search->user->log(search->user, line);
}

static void report_connect_error(struct uvzk__search *search, int code,
                                 const char *address, const char *text)
{
    const struct uvzk__connect_error trouble = {code, address, text};
    /* Something has been reported, so the time of silence begins again. */
    search->still_at = uvzk_now() + SLOW_MS;
    if (search->state != UVZK__SEARCH_CLOSING) {
        search->user->connect_error(search->user, &trouble);
    }
}

/* A server has answered. The first answer sets the grace time, in which the other
 * addresses may answer: GRACE_MS plus the time that the answer took. If the server is not
 * trusted, the grace time is longer by half a probe's time, so that a trusted server can
 * still answer. A later answer of a trusted server can shorten the grace time. */
static void take_note(struct uvzk__search *search, const struct uvzk__target *target,
                      uint64_t now)
{
    bool trusted = uvzk__target_is_trusted(target);
    uint64_t grace_at = now + GRACE_MS + (now - search->began_at) +
                        (trusted ? 0 : search->targets.patience_ms / 2);

    if (search->state == UVZK__SEARCH_SEARCHING) {
        search->grace_at = grace_at;
        search_enter(search, UVZK__SEARCH_ANSWERED);
    } else if (search->state == UVZK__SEARCH_ANSWERED && trusted &&
               grace_at < search->grace_at) {
        search->grace_at = grace_at;
    }
}

/* ------------------------------------------------------------------- a step */

static void search_plan(struct uvzk__search *search);

/* Reports a probe's result to the user each time, but logs it only when it has
 * changed. */
static void probe_settled(struct uvzk__targets *targets,
                          const struct uvzk__target *target, uint64_t now, bool news)
{
    struct uvzk__search *search =
        UVZK__CONTAINER_OF(targets, struct uvzk__search, targets);
    char text[UVZK__SERVER_TEXT];
    int code;

    if (target->result == UVZK__PROBE_SERVER) {
        take_note(search, target, now);
        return;
    }
    const char *reason = uvzk__target_reason(target, &code);
    uvzk__address_server_text(&target->address, text);
    report_connect_error(search, code, text, reason);
    if (news) {
        say(search, "%s%s%s: %s", target->host != NULL ? target->host->name : "",
            target->host != NULL ? ", " : "", text, reason);
    }
}

/* Addresses from before are kept after a failure. */
static int addresses_found(struct uvzk__host_names *names, const struct uvzk__host *host,
                           const struct uvzk__found *found)
{
    struct uvzk__targets *targets =
        &UVZK__CONTAINER_OF(names, struct uvzk__search, names)->targets;
    int status = 0;

    for (size_t i = 0; i < found->count && status == 0; i++) {
        status = uvzk__targets_add(targets, host, &found->addresses[i]);
    }
    if (status == 0) {
        uvzk__targets_remove_old(targets, host, found);
    }
    return status;
}

/* The user learns of each failure; the log only of a new one. */
static void name_answered(struct uvzk__host_names *names,
                          const struct uvzk__host_name *failed, bool news)
{
    struct uvzk__search *search = UVZK__CONTAINER_OF(names, struct uvzk__search, names);

    if (failed != NULL) {
        const char *text = uv_strerror(failed->status);
        report_connect_error(search, failed->status, failed->host.name, text);
        if (news) {
            say(search, "%s: %s", failed->host.name, text);
        }
    }
    search_plan(search);
}

/* ------------------------------------------------------------------- a step */

/* Reports one entry that has not answered yet. */
static void report_slow(struct uvzk__search *search)
{
    const struct uvzk__host_name *name = uvzk__host_names_looked_up(&search->names);
    const struct uvzk__target *target = uvzk__targets_probed(&search->targets);
    char text[UVZK__SERVER_TEXT];

    if (name != NULL) {
        report_connect_error(search, UV_EAI_AGAIN, name->host.name,
                             "no answer from a name server yet");
    } else if (target != NULL) {
        uvzk__address_server_text(&target->address, text);
        report_connect_error(search, UV_ETIMEDOUT, text, "no answer yet");
    } else {
        search->still_at = uvzk_now() + SLOW_MS;
    }
}

static void search_begin(struct uvzk__search *search, uint64_t now)
{
    search->began_at = now;
    search->still_at = now + SLOW_MS;
    search_enter(search, UVZK__SEARCH_SEARCHING);
    uvzk__targets_begin(&search->targets, now);
    /* Without any address all names are looked up at once. Otherwise names are looked up
     * when their TTL is over. */
    if (search->targets.count == 0) {
        uvzk__host_names_expire(&search->names, now);
    }
}

/* Returns whether every address has a result and no look-up is under way, so that waiting
 * longer is useless. */
static bool search_settled(const struct uvzk__search *search)
{
    return uvzk__targets_are_settled(&search->targets) &&
           uvzk__host_names_looked_up(&search->names) == NULL;
}

/* Returns whether every name has been answered and there is no address at all. */
static bool nothing_resolves(const struct uvzk__search *search)
{
    return search->targets.count == 0 && uvzk__host_names_all_asked(&search->names);
}

/* An address that fails does not end the search, because it is probed again. */
static bool search_over(const struct uvzk__search *search, uint64_t now)
{
    if (!is_searching(search)) {
        return false;
    }
    if (search->state == UVZK__SEARCH_ANSWERED) {
        return now >= search->grace_at || search_settled(search);
    }
    return nothing_resolves(search);
}

/* If nothing was found, the reported status is that of the first name. */
static void search_finish(struct uvzk__search *search)
{
    bool found = search->state == UVZK__SEARCH_ANSWERED;
    search_enter(search, UVZK__SEARCH_RESTING);
    search->user->done(search->user, found ? 0 : search->names.array[0].status);
}

/* Processes c-ares' time-outs, and frees the resolver after the last look-up of a round.
 * c-ares must not be destroyed in its own callbacks, so it is freed here and in
 * uvzk__search_close only. */
static void step_resolver(struct uvzk__search *search)
{
    uvzk__host_names_process(&search->names);
    if (!is_searching(search) || uvzk__host_names_looked_up(&search->names) == NULL) {
        uvzk__host_names_cancel(&search->names);
    }
}

/* The alarm: does everything that is due. search_finish may close the search, so the state
 * is checked after it. */
static void search_due(struct uvzk__sockets *sockets)
{
    struct uvzk__search *search =
        UVZK__CONTAINER_OF(sockets, struct uvzk__search, sockets);
    uint64_t now = uvzk_now();

    if (search->state == UVZK__SEARCH_PLANNED && search->begin_at <= now) {
        search_begin(search, now);
    }
    if (is_searching(search)) {
        uvzk__host_names_look_up(&search->names, now);
    }
    uvzk__targets_step(&search->targets, now);
    if (search->state == UVZK__SEARCH_SEARCHING && search->still_at <= now) {
        report_slow(search);
    }
    if (search_over(search, now)) {
        search_finish(search);
    }
    if (search->state != UVZK__SEARCH_CLOSING) {
        step_resolver(search);
        search_plan(search);
    }
}

static void search_ready(struct uvzk__sockets *sockets, int fd, bool readable,
                         bool writable)
{
    struct uvzk__search *search =
        UVZK__CONTAINER_OF(sockets, struct uvzk__search, sockets);
    if (uvzk__targets_ready(&search->targets, fd) ||
        uvzk__host_names_ready(&search->names, fd, readable, writable)) {
        search_plan(search);
    }
}

static void search_plan(struct uvzk__search *search)
{
    /* search_due ends the search, or frees the resolver, in the next iteration of the
     * loop: search_plan may run inside a callback of c-ares or a call of the user. */
    uint64_t next = search_over(search, uvzk_now()) ? 0 : UINT64_MAX;

    next = uvzk__deadline_earlier(next, uvzk__host_names_next_step(&search->names));
    next = uvzk__deadline_earlier(next, uvzk__targets_next(&search->targets));
    if (is_searching(search)) {
        next =
            uvzk__deadline_earlier(next, uvzk__host_names_next_look_up(&search->names));
    }
    if (search->state == UVZK__SEARCH_PLANNED) {
        next = uvzk__deadline_earlier(next, search->begin_at);
    } else if (search->state == UVZK__SEARCH_SEARCHING) {
        next = uvzk__deadline_earlier(next, search->still_at);
    } else if (search->state == UVZK__SEARCH_ANSWERED) {
        next = uvzk__deadline_earlier(next, search->grace_at);
    }
    uvzk__sockets_alarm(&search->sockets, next);
}

/* ------------------------------------------------------------------------ the calls */

void uvzk__search_begin(struct uvzk__search *search, uint32_t delay_ms)
{
    search->begin_at = uvzk_now() + (delay_ms > 0 ? uvzk__pause_jittered(delay_ms) : 0);
    search_enter(search, UVZK__SEARCH_PLANNED);
    uvzk__targets_forget(&search->targets);
    search_plan(search);
}

bool uvzk__search_goes_on(const struct uvzk__search *search)
{
    return search->state == UVZK__SEARCH_PLANNED || is_searching(search);
}

void uvzk__search_rest(struct uvzk__search *search)
{
    search_enter(search, UVZK__SEARCH_RESTING);
    search_plan(search);
}

char *uvzk__search_take(struct uvzk__search *search, char local[UVZK__ADDRESS_TEXT])
{
    return uvzk__targets_take(&search->targets, uvzk__hosts_chroot(search->hosts), local);
}

size_t uvzk__search_take_addresses(struct uvzk__search *search,
                                   struct uvzk__named_address **addresses,
                                   char local[UVZK__ADDRESS_TEXT])
{
    return uvzk__targets_take_addresses(&search->targets, addresses, local);
}

void uvzk__search_only_connect(struct uvzk__search *search)
{
    search->targets.only_connects = true;
}

void uvzk__search_distrust(struct uvzk__search *search, const char *server)
{
    uvzk__targets_distrust(&search->targets, server);
}

void uvzk__search_avoid(struct uvzk__search *search, const char *server)
{
    uvzk__targets_avoid(&search->targets, server);
}

bool uvzk__search_finds_known(const struct uvzk__search *search)
{
    return uvzk__targets_find_known(&search->targets);
}

/* ----------------------------------------------------------------- creation and end */

static void free_search(struct uvzk__search *search)
{
    uvzk__targets_free(&search->targets);
    uvzk__host_names_free(&search->names);
    uvzk__free(search);
}

static void search_closed(struct uvzk__sockets *sockets)
{
    struct uvzk__search *search =
        UVZK__CONTAINER_OF(sockets, struct uvzk__search, sockets);
    struct uvzk__search_user *user = search->user;
    free_search(search);
    user->closed(user);
}

void uvzk__search_close(struct uvzk__search *search)
{
    search_enter(search, UVZK__SEARCH_CLOSING);
    uvzk__host_names_cancel(&search->names);
    uvzk__targets_end_probes(&search->targets);
    uvzk__sockets_close(&search->sockets);
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

    while (uvzk__hosts_next(&cursor, &host) > 0) {
        count++;
    }
    int rc = uvzk__host_names_init(&search->names, &search->sockets, count);
    cursor = search->hosts;
    while (rc == 0 && uvzk__hosts_next(&cursor, &host) > 0) {
        if (uvzk__address_read(host.name, host.port, &address)) {
            rc = uvzk__targets_add(&search->targets, NULL, &address);
        } else {
            uvzk__host_names_add(&search->names, &host);
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
    search->sockets.ready = search_ready;
    search->sockets.due = search_due;
    search->sockets.closed = search_closed;
    search->names.found = addresses_found;
    search->names.answered = name_answered;
    search->targets.settled = probe_settled;
    uvzk__targets_init(&search->targets, &search->sockets, timeout_ms);
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
