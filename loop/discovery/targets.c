/* The addresses of a search: their probes, and which servers may be used (targets.h).
 * search.c calls it on the loop's thread.
 *
 * Each target has the time of its next step (`moment`): the end of its probe if one is
 * under way, otherwise the begin of the next one. The results count for one search.
 * Whether a server is distrusted or avoided is kept as long as its address is known. */
#include "discovery/targets.h"

#include <string.h>
#include <uv.h>

#include "base/memory.h"
#include "discovery/pause.h"
#include "uvzk.h"

/* The pause in ms before an address whose probe failed is probed again; doubled each
 * time. */
#define PAUSE_MIN_MS 100U
#define PAUSE_MAX_MS 2000U

/* The least time in ms that a probe waits for an answer, so that a busy machine does not
 * fail all probes. */
#define PATIENCE_MIN_MS 250U

/* How long in ms a server is avoided; doubled each time. */
#define AVOID_MIN_MS 10000U
#define AVOID_MAX_MS 600000U

const char *uvzk__target_reason(const struct uvzk__target *target, int *code)
{
    switch (target->result) {
    case UVZK__PROBE_UNREACHABLE:
        *code = uvzk__server_probe_error(&target->probe);
        return uv_strerror(*code);
    case UVZK__PROBE_TIMEOUT:
        *code = UV_ETIMEDOUT;
        return "no answer";
    case UVZK__PROBE_CLOSED:
        *code = UV_ECONNRESET;
        return "closes the connection without an answer: it has no quorum, wants TLS on "
               "this port, or is not a ZooKeeper server";
    default:
        *code = UV_EPROTO;
        return "not a ZooKeeper server";
    }
}

/* ------------------------------------------------------------------- probes */

/* The socket must be forgotten before it is closed. */
static void end_probe(struct uvzk__targets *targets, struct uvzk__target *target)
{
    if (target->probed) {
        uvzk__sockets_forget(targets->sockets, uvzk__server_probe_socket(&target->probe));
        uvzk__server_probe_end(&target->probe);
        target->probed = false;
    }
}

/* A probe has ended: records its result and sets the time of the next probe. */
static void targets_settle(struct uvzk__targets *targets, struct uvzk__target *target,
                           enum uvzk__probe_result result)
{
    uint64_t now = uvzk_now();
    end_probe(targets, target);
    target->result = result;
    if (result == UVZK__PROBE_SERVER) {
        target->moment = UINT64_MAX;
        target->pause_ms = PAUSE_MIN_MS;
    } else {
        target->moment = now + uvzk__pause_jittered(target->pause_ms);
        target->pause_ms = uvzk__pause_doubled(target->pause_ms, PAUSE_MAX_MS);
    }
    /* A slow server has more time in the next probe, up to four times the first time. */
    if (result == UVZK__PROBE_TIMEOUT) {
        target->patience_ms =
            uvzk__pause_doubled(target->patience_ms, 4 * targets->patience_ms);
    }
    bool news = result != UVZK__PROBE_SERVER && target->told != result;
    target->told = result;
    targets->settled(targets, target, now, news);
}

static void begin_probe(struct uvzk__targets *targets, struct uvzk__target *target)
{
    enum uvzk__probe_result result = uvzk__server_probe_begin(
        &target->probe, &target->address, targets->only_connects);
    target->probed = true;
    target->moment = uvzk_now() + target->patience_ms;
    if (result == UVZK__PROBE_PENDING &&
        uvzk__sockets_watch(targets->sockets, uvzk__server_probe_socket(&target->probe),
                            false, true) < 0) {
        target->probe.error = UV_ENOMEM;
        result = UVZK__PROBE_UNREACHABLE;
    }
    if (result != UVZK__PROBE_PENDING) {
        targets_settle(targets, target, result);
    }
}

static void step_probe(struct uvzk__targets *targets, struct uvzk__target *target)
{
    enum uvzk__probe_result result = uvzk__server_probe_step(&target->probe);
    if (result == UVZK__PROBE_PENDING) {
        /* If this fails, the probe ends without an answer when its time is over. */
        (void)uvzk__sockets_watch(targets->sockets,
                                  uvzk__server_probe_socket(&target->probe), true, false);
    } else {
        targets_settle(targets, target, result);
    }
}

void uvzk__targets_step(struct uvzk__targets *targets, uint64_t now)
{
    for (size_t i = 0; i < targets->count; i++) {
        struct uvzk__target *target = &targets->array[i];
        if (target->moment > now) {
            continue;
        }
        if (target->probed) {
            targets_settle(targets, target, UVZK__PROBE_TIMEOUT);
        } else if (targets->searching) { /* read each time: a callback may change it */
            begin_probe(targets, target);
        }
    }
}

bool uvzk__targets_ready(struct uvzk__targets *targets, int fd)
{
    for (size_t i = 0; i < targets->count; i++) {
        struct uvzk__target *target = &targets->array[i];
        if (target->probed && uvzk__server_probe_socket(&target->probe) == fd) {
            step_probe(targets, target);
            return true;
        }
    }
    return false;
}

void uvzk__targets_end_probes(struct uvzk__targets *targets)
{
    for (size_t i = 0; i < targets->count; i++) {
        end_probe(targets, &targets->array[i]);
    }
}

/* -------------------------------------------------------------- of one search */

void uvzk__targets_forget(struct uvzk__targets *targets)
{
    for (size_t i = 0; i < targets->count; i++) {
        targets->array[i].result = UVZK__PROBE_PENDING;
    }
}

void uvzk__targets_begin(struct uvzk__targets *targets, uint64_t now)
{
    for (size_t i = 0; i < targets->count; i++) {
        struct uvzk__target *target = &targets->array[i];
        target->pause_ms = PAUSE_MIN_MS;
        if (!target->probed) {
            target->result = UVZK__PROBE_PENDING;
            target->moment = now;
        }
    }
}

/* While resting, only probes under way need a step. */
uint64_t uvzk__targets_next(const struct uvzk__targets *targets)
{
    uint64_t next = UINT64_MAX;
    for (size_t i = 0; i < targets->count; i++) {
        const struct uvzk__target *target = &targets->array[i];
        if ((targets->searching || target->probed) && target->moment < next) {
            next = target->moment;
        }
    }
    return next;
}

bool uvzk__targets_are_settled(const struct uvzk__targets *targets)
{
    for (size_t i = 0; i < targets->count; i++) {
        if (targets->array[i].result == UVZK__PROBE_PENDING) {
            return false;
        }
    }
    return true;
}

const struct uvzk__target *uvzk__targets_probed(const struct uvzk__targets *targets)
{
    for (size_t i = 0; i < targets->count; i++) {
        if (targets->array[i].probed) {
            return &targets->array[i];
        }
    }
    return NULL;
}

/* --------------------------------------------------------------- the addresses */

static bool is_present(const struct uvzk__targets *targets, const struct uvzk__host *host,
                       const struct uvzk__address *address)
{
    for (size_t i = 0; i < targets->count; i++) {
        if (targets->array[i].host == host &&
            uvzk__address_equal(&targets->array[i].address, address)) {
            return true;
        }
    }
    return false;
}

int uvzk__targets_add(struct uvzk__targets *targets, const struct uvzk__host *host,
                      const struct uvzk__address *address)
{
    if (is_present(targets, host, address)) {
        return 0;
    }
    if (targets->count == targets->capacity) {
        size_t capacity = 2 * targets->capacity + 4;
        struct uvzk__target *array =
            uvzk__realloc(targets->array, capacity * sizeof(*array));
        if (array == NULL) {
            return UV_ENOMEM;
        }
        targets->array = array;
        targets->capacity = capacity;
    }
    targets->array[targets->count++] =
        (struct uvzk__target){.address = *address,
                              .host = host,
                              .probe = {.fd = -1},
                              .result = UVZK__PROBE_PENDING,
                              .told = UVZK__PROBE_SERVER,
                              .pause_ms = PAUSE_MIN_MS,
                              .patience_ms = targets->patience_ms};
    return 0;
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

void uvzk__targets_remove_old(struct uvzk__targets *targets,
                              const struct uvzk__host *host,
                              const struct uvzk__found *found)
{
    size_t kept = 0;
    for (size_t i = 0; i < targets->count; i++) {
        struct uvzk__target *target = &targets->array[i];
        if (target->host == host &&
            !is_known(found->addresses, found->count, &target->address)) {
            end_probe(targets, target);
        } else {
            targets->array[kept++] = *target;
        }
    }
    targets->count = kept;
}

/* ------------------------------------------------------------ which servers to use */

bool uvzk__target_is_trusted(const struct uvzk__target *target)
{
    return !target->distrusted && target->avoided_until <= uvzk_now();
}

static bool is_at(const struct uvzk__target *target, const char *server)
{
    char text[UVZK__SERVER_TEXT];
    uvzk__address_server_text(&target->address, text);
    return strcmp(text, server) == 0;
}

void uvzk__targets_distrust(struct uvzk__targets *targets, const char *server)
{
    for (size_t i = 0; i < targets->count; i++) {
        if (is_at(&targets->array[i], server)) {
            targets->array[i].distrusted = true;
        }
    }
}

void uvzk__targets_avoid(struct uvzk__targets *targets, const char *server)
{
    for (size_t i = 0; i < targets->count; i++) {
        struct uvzk__target *target = &targets->array[i];
        if (is_at(target, server)) {
            target->avoid_ms = target->avoid_ms == 0
                                   ? AVOID_MIN_MS
                                   : uvzk__pause_doubled(target->avoid_ms, AVOID_MAX_MS);
            target->avoided_until = uvzk_now() + target->avoid_ms;
        }
    }
}

static bool is_same_host(const char *a, const char *b)
{
    return a == b || (a != NULL && b != NULL && strcmp(a, b) == 0);
}

static bool is_chosen(const struct uvzk__targets *targets,
                      const struct uvzk__named_address *good, size_t count,
                      const struct uvzk__named_address *candidate)
{
    for (size_t i = 0; i < count; i++) {
        if (uvzk__address_equal(&good[i].address, &candidate->address) &&
            (!targets->only_connects || is_same_host(good[i].host, candidate->host))) {
            return true;
        }
    }
    return false;
}

/* Marks the targets that have answered and are trusted, or not trusted, as the servers in
 * use, and copies their addresses to `good`. Returns their number. */
static size_t targets_choose(struct uvzk__targets *targets, bool trusted,
                             struct uvzk__named_address *good)
{
    size_t count = 0;
    for (size_t i = 0; i < targets->count; i++) {
        struct uvzk__target *target = &targets->array[i];
        const struct uvzk__named_address candidate = {
            target->address, target->host == NULL ? NULL : target->host->name};
        target->in_use = target->result == UVZK__PROBE_SERVER &&
                         uvzk__target_is_trusted(target) == trusted;
        if (target->in_use && !is_chosen(targets, good, count, &candidate)) {
            good[count++] = candidate;
        }
    }
    return count;
}

size_t uvzk__targets_take_addresses(struct uvzk__targets *targets,
                                    struct uvzk__named_address **addresses,
                                    char local[UVZK__ADDRESS_TEXT])
{
    /* One byte more, so that the size is never 0. */
    struct uvzk__named_address *good = uvzk__malloc(targets->count * sizeof(*good) + 1);

    *addresses = NULL;
    if (good == NULL) {
        return 0;
    }
    size_t count = targets_choose(targets, true, good);
    /* No trusted server has answered. */
    if (count == 0) {
        count = targets_choose(targets, false, good);
    }
    if (count == 0) {
        uvzk__free(good);
        return 0;
    }
    uvzk__address_local(&good[0].address, local);
    uvzk__addresses_shuffle(good, count);
    *addresses = good;
    return count;
}

char *uvzk__targets_take(struct uvzk__targets *targets, const char *chroot,
                         char local[UVZK__ADDRESS_TEXT])
{
    struct uvzk__named_address *good;
    size_t count = uvzk__targets_take_addresses(targets, &good, local);
    char *text = count == 0 ? NULL : uvzk__addresses_join(good, count, chroot);

    uvzk__free(good);
    return text;
}

bool uvzk__targets_find_known(const struct uvzk__targets *targets)
{
    for (size_t i = 0; i < targets->count; i++) {
        const struct uvzk__target *target = &targets->array[i];
        if (target->in_use && target->result == UVZK__PROBE_SERVER &&
            uvzk__target_is_trusted(target)) {
            return true;
        }
    }
    return false;
}

/* ----------------------------------------------------------------- creation and end */

void uvzk__targets_init(struct uvzk__targets *targets, struct uvzk__sockets *sockets,
                        uint32_t timeout_ms)
{
    targets->sockets = sockets;
    targets->patience_ms =
        timeout_ms / 3 > PATIENCE_MIN_MS ? timeout_ms / 3 : PATIENCE_MIN_MS;
}

/* The sockets are no longer watched. */
void uvzk__targets_free(struct uvzk__targets *targets)
{
    for (size_t i = 0; i < targets->count; i++) {
        uvzk__server_probe_end(&targets->array[i].probe);
    }
    uvzk__free(targets->array);
}
