/* SPDX-License-Identifier: Apache-2.0 */
/* The addresses of a search: their probes, and which servers may be used (targets.h).
 * search.c calls it on the loop's thread.
 *
 * Each target has the time of its next step (`moment`): the end of its probe if one is
 * under way, otherwise the begin of the next one. The results count for one search.
 * Whether a server is distrusted or avoided is kept as long as its address is known. */
#include "discovery/targets.h"

#include <string.h>
#include <uv.h>

#include "base/deadline.h"
#include "base/memory.h"
#include "discovery/pause.h"
#include "platform/entropy.h"
#include "uvzk.h"

/* ------------------------------------------------------------------------ one probe */

/* The first step sends a connect request of ZooKeeper's protocol, the next steps read the
 * answer. */

/* The request: its length, protocol version 0, last zxid 0, the timeout in ms, the
 * session id, the length of the password, 16 bytes of password, read-only: 0. */
#define REQUEST_BYTES 49
#define TIMEOUT_AT 16
#define SESSION_AT 20
#define PASSWORD_LENGTH_AT 28
#define PASSWORD_AT 32

/* The answer: its length, protocol version 0, the timeout, the session id, and a password
 * of 16 bytes. The timeout and the id are 0 if the session is refused. A last byte says
 * whether the server is read-only; old servers do not send it. */
#define ANSWER_BYTES 41
#define OLD_ANSWER_BYTES 40
#define ANSWER_TIMEOUT_AT 8
#define ANSWER_SESSION_AT 12
#define ANSWER_PASSWORD_AT 20

#define PASSWORD_BYTES 16
#define ASKED_TIMEOUT_MS 10000U

static void write_u32(unsigned char *at, uint32_t value)
{
    for (int i = 0; i < 4; i++) {
        at[i] = (unsigned char)(value >> (24 - 8 * i));
    }
}

static uint32_t read_u32(const unsigned char *at)
{
    return (uint32_t)at[0] << 24 | (uint32_t)at[1] << 16 | (uint32_t)at[2] << 8 | at[3];
}

/* Whatever the bytes are, no session has this id and password (write_request). */
static void write_random(unsigned char *at, size_t length)
{
    if (uvzk__entropy(at, length) < 0) {
        memset(at, 0x5a, length);
    }
}

/* A server puts its own number, 1 to 254, into the first byte of the session ids that it
 * creates. The byte 0xff makes an id that no server has created. */
static void write_request(unsigned char request[REQUEST_BYTES])
{
    memset(request, 0, REQUEST_BYTES);
    write_u32(request, REQUEST_BYTES - 4);
    write_u32(request + TIMEOUT_AT, ASKED_TIMEOUT_MS);
    write_random(request + SESSION_AT, 8);
    request[SESSION_AT] = 0xff;
    write_u32(request + PASSWORD_LENGTH_AT, PASSWORD_BYTES);
    write_random(request + PASSWORD_AT, PASSWORD_BYTES);
}

static enum uvzk__probe_result out_of_reach(struct uvzk__server_probe *probe, int error)
{
    probe->error = error;
    return UVZK__PROBE_UNREACHABLE;
}

/* Begins to connect. connects: an address that accepts a connection counts as a server,
 * because the port speaks TLS, and the probe does not. UVZK__PROBE_PENDING: the socket
 * must be watched for writing. In every case the probe must be ended with
 * server_probe_end. */
static enum uvzk__probe_result server_probe_begin(struct uvzk__server_probe *probe,
                                                  const struct uvzk__address *address,
                                                  bool connects)
{
    memset(probe, 0, sizeof(*probe));
    probe->connects = connects;
    int error = uvzk__socket_connect(address, &probe->fd);
    return error < 0 ? out_of_reach(probe, error) : UVZK__PROBE_PENDING;
}

/* The request fits into the send buffer of a new connection, so a partial send is a
 * failure. */
static enum uvzk__probe_result server_probe_ask(struct uvzk__server_probe *probe)
{
    unsigned char request[REQUEST_BYTES];
    int error = uvzk__socket_error(probe->fd);

    if (error < 0) {
        return out_of_reach(probe, error);
    }
    if (probe->connects) {
        return UVZK__PROBE_SERVER;
    }
    write_request(request);
    probe->asked = true;
    if (uvzk__socket_send(probe->fd, request, sizeof(request)) != sizeof(request)) {
        return UVZK__PROBE_CLOSED;
    }
    return UVZK__PROBE_PENDING;
}

static bool is_zero(const unsigned char *bytes, size_t length)
{
    static const unsigned char zeros[ANSWER_PASSWORD_AT];

    return memcmp(bytes, zeros, length) == 0;
}

/* Asks the server to end the session that it has granted: the length, xid 0, the opcode
 * -11. If that is lost, the session ends by its timeout. */
static enum uvzk__probe_result end_granted_session(struct uvzk__server_probe *probe)
{
    static const unsigned char request[] = {0, 0, 0,    8,    0,    0,
                                            0, 0, 0xff, 0xff, 0xff, 0xf5};

    probe->ending = true;
    probe->received = 0;
    return uvzk__socket_send(probe->fd, request, sizeof(request)) == sizeof(request)
               ? UVZK__PROBE_PENDING
               : UVZK__PROBE_CLOSED;
}

static enum uvzk__probe_result read_answer(struct uvzk__server_probe *probe)
{
    const unsigned char *answer = probe->answer;

    /* The first 4 bytes are the length of the rest. */
    if (probe->received < 4) {
        return UVZK__PROBE_PENDING;
    }
    uint32_t whole = read_u32(answer) + 4;
    if (whole != ANSWER_BYTES && whole != OLD_ANSWER_BYTES) {
        return UVZK__PROBE_NOT_ZOOKEEPER;
    }
    if (probe->received < whole) {
        return UVZK__PROBE_PENDING;
    }
    bool no_timeout = is_zero(answer + ANSWER_TIMEOUT_AT, 4);
    bool no_session = is_zero(answer + ANSWER_SESSION_AT, 8);
    if (!is_zero(answer + 4, 4) || no_timeout != no_session ||
        read_u32(answer + ANSWER_PASSWORD_AT) != PASSWORD_BYTES) {
        return UVZK__PROBE_NOT_ZOOKEEPER;
    }
    return no_session ? UVZK__PROBE_SERVER : end_granted_session(probe);
}

static enum uvzk__probe_result server_probe_receive(struct uvzk__server_probe *probe)
{
    ssize_t got = uvzk__socket_receive(probe->fd, probe->answer + probe->received,
                                       sizeof(probe->answer) - probe->received);
    if (got == 0) {
        return UVZK__PROBE_PENDING;
    }
    if (probe->ending) { /* with any content: a reply, or the end of the connection */
        return UVZK__PROBE_SERVER;
    }
    if (got < 0) {
        /* A server without a quorum closes the connection without an answer, and so does
         * one that wants TLS. */
        return probe->received > 0 ? UVZK__PROBE_NOT_ZOOKEEPER : UVZK__PROBE_CLOSED;
    }
    probe->received += (size_t)got;
    return read_answer(probe);
}

/* The socket is ready. UVZK__PROBE_PENDING: the socket must be watched for reading. */
static enum uvzk__probe_result server_probe_step(struct uvzk__server_probe *probe)
{
    return probe->asked ? server_probe_receive(probe) : server_probe_ask(probe);
}

/* Closes the socket. The socket must no longer be watched. */
static void server_probe_end(struct uvzk__server_probe *probe)
{
    if (probe->fd >= 0) {
        uvzk__socket_close(probe->fd);
        probe->fd = -1;
    }
}

/* -------------------------------------------------------------------- what is known */

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
        *code = target->probe.error;
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
        uvzk__sockets_forget(targets->sockets, target->probe.fd);
        server_probe_end(&target->probe);
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

static void connect_probe(struct uvzk__targets *targets, struct uvzk__target *target)
{
    enum uvzk__probe_result result =
        server_probe_begin(&target->probe, &target->address, targets->only_connects);
    target->probed = true;
    if (result == UVZK__PROBE_PENDING &&
        uvzk__sockets_watch(targets->sockets, target->probe.fd, false, true) < 0) {
        target->probe.error = UV_ENOMEM;
        result = UVZK__PROBE_UNREACHABLE;
    }
    if (result != UVZK__PROBE_PENDING) {
        targets_settle(targets, target, result);
    }
}

static void begin_probe(struct uvzk__targets *targets, struct uvzk__target *target)
{
    uint64_t now = uvzk_now();

    target->moment = now + target->patience_ms;
    uvzk__connect_tries_begin(&target->tries, now);
    connect_probe(targets, target);
}

/* The time of the probe goes on. */
static void connect_probe_again(struct uvzk__targets *targets,
                                struct uvzk__target *target, uint64_t now)
{
    end_probe(targets, target);
    uvzk__connect_tries_next(&target->tries, now);
    connect_probe(targets, target);
}

static void step_probe(struct uvzk__targets *targets, struct uvzk__target *target)
{
    enum uvzk__probe_result result = server_probe_step(&target->probe);

    uvzk__connect_tries_end(&target->tries);
    if (result == UVZK__PROBE_PENDING) {
        /* If this fails, the probe ends without an answer when its time is over. */
        (void)uvzk__sockets_watch(targets->sockets, target->probe.fd, true, false);
    } else {
        targets_settle(targets, target, result);
    }
}

void uvzk__targets_step(struct uvzk__targets *targets, uint64_t now)
{
    for (size_t i = 0; i < targets->count; i++) {
        struct uvzk__target *target = &targets->array[i];
        bool is_due = target->moment <= now;

        if (target->probed && is_due) {
            targets_settle(targets, target, UVZK__PROBE_TIMEOUT);
        } else if (target->probed && target->tries.again_at <= now) {
            connect_probe_again(targets, target, now);
        } else if (!target->probed && is_due && targets->searching) {
            begin_probe(targets, target); /* a callback may change `searching` */
        }
    }
}

bool uvzk__targets_ready(struct uvzk__targets *targets, int fd)
{
    for (size_t i = 0; i < targets->count; i++) {
        struct uvzk__target *target = &targets->array[i];
        if (target->probed && target->probe.fd == fd) {
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
        if (target->probed) {
            next = uvzk__deadline_earlier(next, target->tries.again_at);
        }
        if (targets->searching || target->probed) {
            next = uvzk__deadline_earlier(next, target->moment);
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
        server_probe_end(&targets->array[i].probe);
    }
    uvzk__free(targets->array);
}
