/* SPDX-License-Identifier: Apache-2.0 */
/* One function for each way to change a reply within (tampered_reply.h). Each reads the
 * reply with the codec of loop/native, changes a field, and writes it again. */
#include "tampered_reply.h"

#include <stdlib.h>
#include <string.h>

#include "native/native_session.h"
#include "native/wire_reply.h"
#include "sim.h"

#define FRAME_MAX (64U << 20)
#define ANYTHING 512U
#define RESULTS_MAX 256U
#define LENGTH_BYTES 4U

static struct sim *of_sim;

static size_t one_of(size_t n)
{
    return (size_t)sim_random(of_sim, n);
}

static int32_t any_int(void)
{
    return (int32_t)(uint32_t)sim_random(of_sim, UINT64_C(1) << 32);
}

/* --------------------------------------------------------------------------- the header */

static bool write_with(struct uvzk__wire_reply reply, struct uvzk__jute_writer *out)
{
    return uvzk__wire_reply_write(out, FRAME_MAX, &reply) == 0;
}

static bool read_reply(const struct tampered_reply *reply, struct uvzk__wire_reply *wire)
{
    return reply->opcode != 0 &&
           uvzk__wire_reply_read(reply->frame, reply->opcode, wire) == 0;
}

/* The frame with other bytes from `at` on. */
static bool write_over(const struct tampered_reply *reply, size_t at, const void *bytes,
                       size_t length, struct uvzk__jute_writer *out)
{
    struct uvzk__jute_bytes frame = reply->frame;
    unsigned char *changed = malloc(frame.length + length);

    memcpy(changed, frame.at, frame.length);
    memcpy(changed + at, bytes, length);
    uvzk__jute_put_bytes(out, uvzk__jute_bytes(changed, frame.length));
    free(changed);
    return true;
}

static bool write_int_over(const struct tampered_reply *reply, size_t at, int64_t value,
                           size_t size, struct uvzk__jute_writer *out)
{
    unsigned char bytes[8];

    for (size_t i = 0; i < size; i++) {
        bytes[i] = (unsigned char)((uint64_t)value >> (8 * (size - 1 - i)));
    }
    return write_over(reply, at, bytes, size, out);
}

#define XID_AT 0U
#define ZXID_AT 4U
#define ERR_AT 12U
#define BODY_AT 16U

/* Not one of the fixed xids, which are of other messages. */
static bool another_xid(const struct tampered_reply *reply, struct uvzk__jute_writer *out)
{
    const int32_t xids[] = {reply->xid + 1, reply->xid - 1, 0, INT32_MAX, INT32_MIN, -3,
                            any_int()};
    int32_t xid = xids[one_of(sizeof(xids) / sizeof(xids[0]))];

    return reply->is_answer && xid != reply->xid && (xid >= 0 || xid < -8 || xid == -3) &&
           write_int_over(reply, XID_AT, xid, 4, out);
}

/* Behind it comes a reply to nothing. */
static bool an_unasked_one(const struct tampered_reply *reply,
                           struct uvzk__jute_writer *out)
{
    struct uvzk__wire_reply unasked = {.opcode = UVZK__OPCODE_EXISTS,
                                       .xid = reply->xid + 1 + (int32_t)one_of(1000) +
                                              1000000};

    uvzk__jute_put_bytes(out, reply->frame);
    return write_with(unasked, out);
}

/* The server has not heard of it. */
static bool an_unasked_event(const struct tampered_reply *reply,
                             struct uvzk__jute_writer *out)
{
    static const char *const paths[] = {"/", "", "//", "nowhere", "/nobody/is/here"};
    static const int32_t kinds[] = {-1, 0, 5, 99, INT32_MAX};
    struct uvzk__wire_reply event = {
        .xid = UVZK__XID_EVENT,
        .zxid = -1,
        .opcode = UVZK__OPCODE_EVENT,
        .event = kinds[one_of(sizeof(kinds) / sizeof(kinds[0]))],
        .state = (int32_t)one_of(9) - 1,
        .path = uvzk__jute_text(paths[one_of(sizeof(paths) / sizeof(paths[0]))])};

    uvzk__jute_put_bytes(out, reply->frame);
    return write_with(event, out);
}

/* Codes that say nothing of the outcome. Not of a request that may arm a watch: the server
 * would keep a watch of which the client does not know. */
static bool an_unknown_outcome(const struct tampered_reply *reply,
                               struct uvzk__jute_writer *out)
{
    static const int32_t errs[] = {-1, -2, -4, -5, -7, -9, -118, -122};
    bool may_watch = reply->opcode == UVZK__OPCODE_EXISTS ||
                     reply->opcode == UVZK__OPCODE_GET_DATA ||
                     reply->opcode == UVZK__OPCODE_GET_CHILDREN ||
                     reply->opcode == UVZK__OPCODE_ADD_WATCH;

    return reply->is_answer && !may_watch &&
           write_int_over(reply, ERR_AT, errs[one_of(sizeof(errs) / sizeof(errs[0]))], 4,
                          out);
}

/* Of long ago, or of a future that no server has seen. */
static bool another_zxid(const struct tampered_reply *reply,
                         struct uvzk__jute_writer *out)
{
    static const int64_t zxids[] = {0, -1, 1, INT64_MIN, INT64_MAX, INT64_MAX / 2};

    return reply->is_answer &&
           write_int_over(reply, ZXID_AT, zxids[one_of(sizeof(zxids) / sizeof(zxids[0]))],
                          8, out);
}

/* ----------------------------------------------------------------------------- the body */

/* Not the path of any znode that a create with this answer may have made. */
static struct uvzk__jute_bytes wrong_path(struct uvzk__jute_bytes path,
                                          char room[ANYTHING])
{
    size_t length = path.length < ANYTHING - 16 ? path.length : ANYTHING - 16;

    memcpy(room, path.at, length);
    switch (one_of(9)) {
    case 0:
        return uvzk__jute_bytes(NULL, 0);
    case 1:
        return uvzk__jute_text("");
    case 2:
        return uvzk__jute_text("/");
    case 3:
        return uvzk__jute_text("relative");
    case 4:
        return uvzk__jute_text("/elsewhere/n-0000000001");
    case 5:
        room[length] = 'x';
        return uvzk__jute_bytes(room, length + 1);
    case 6:
        memset(room + length, '0', 12);
        return uvzk__jute_bytes(room, length + 12);
    case 7:
        room[length] = '\0';
        return uvzk__jute_bytes(room, length + 1);
    default: /* also of a number with a sign too little is left */
        return uvzk__jute_bytes(room, length > 3 ? length - 2 : 0);
    }
}

static bool another_path(const struct tampered_reply *reply,
                         struct uvzk__jute_writer *out)
{
    struct uvzk__wire_reply wire;
    char room[ANYTHING];

    if (!read_reply(reply, &wire) || wire.err != 0 || wire.path.at == NULL) {
        return false;
    }
    wire.path = wrong_path(wire.path, room);
    return write_with(wire, out);
}

/* More than there are, or none that may be. */
static bool another_count(const struct tampered_reply *reply,
                          struct uvzk__jute_writer *out)
{
    struct uvzk__wire_reply wire;
    const int32_t counts[] = {-1, -2, INT32_MIN, INT32_MAX};
    size_t which = one_of(5);
    bool has_count = reply->opcode == UVZK__OPCODE_GET_CHILDREN ||
                     reply->opcode == UVZK__OPCODE_GET_DATA;

    if (!has_count || !read_reply(reply, &wire) || wire.err != 0) {
        return false;
    }
    if (reply->opcode == UVZK__OPCODE_GET_DATA) {
        which = 1 + which % 3; /* -1 is a znode without data */
    }
    int32_t more = wire.children.count + 1 + (int32_t)one_of(1000);
    return write_int_over(reply, BODY_AT, which < 4 ? counts[which] : more, 4, out);
}

static bool another_name(const struct tampered_reply *reply,
                         struct uvzk__jute_writer *out)
{
    const struct uvzk__jute_bytes names[] = {
        uvzk__jute_bytes(NULL, 0), uvzk__jute_text(""), uvzk__jute_text("a/b"),
        uvzk__jute_text("/"), uvzk__jute_bytes("n\0-0000000001", 13)};
    struct uvzk__wire_reply wire;
    struct uvzk__jute_writer list;
    struct uvzk__jute_bytes name;

    if (reply->opcode != UVZK__OPCODE_GET_CHILDREN || !read_reply(reply, &wire) ||
        wire.err != 0 || wire.children.count <= 0) {
        return false;
    }
    struct uvzk__jute_list left = wire.children;
    size_t i = one_of((size_t)left.count);
    uvzk__jute_writer_init(&list);
    for (size_t at = 0; uvzk__jute_strings_next(&left, &name); at++) {
        uvzk__jute_put_bytes(&list, at == i ? names[one_of(5)] : name);
    }
    (void)uvzk__jute_list_of(&list, (size_t)wire.children.count, &wire.children);
    bool written = write_with(wire, out);
    uvzk__jute_writer_end(&list);
    return written;
}

/* ------------------------------------------------------------------ the results of a multi */

struct results {
    struct uvzk__wire_reply of[RESULTS_MAX];
    size_t count;
};

static bool read_results(const struct tampered_reply *reply,
                         struct uvzk__wire_reply *wire, struct results *results)
{
    if (reply->opcode != UVZK__OPCODE_MULTI || !read_reply(reply, wire) ||
        wire->err != 0 || wire->results.count >= (int32_t)RESULTS_MAX) {
        return false;
    }
    struct uvzk__jute_list left = wire->results;
    results->count = 0;
    while (
        uvzk__wire_result_next(&left, UVZK__OPCODE_MULTI, &results->of[results->count])) {
        results->count++;
    }
    return true;
}

static bool write_results(struct uvzk__wire_reply wire, const struct results *results,
                          struct uvzk__jute_writer *out)
{
    struct uvzk__jute_writer list;

    uvzk__jute_writer_init(&list);
    for (size_t i = 0; i < results->count; i++) {
        uvzk__wire_result_add(&list, UVZK__OPCODE_MULTI, &results->of[i]);
    }
    bool written = uvzk__jute_list_of(&list, results->count, &wire.results) == 0 &&
                   write_with(wire, out);
    uvzk__jute_writer_end(&list);
    return written;
}

static bool another_number_of_results(const struct tampered_reply *reply,
                                      struct uvzk__jute_writer *out)
{
    static struct results results;
    struct uvzk__wire_reply wire;

    if (!read_results(reply, &wire, &results)) {
        return false;
    }
    if (results.count > 0 && one_of(2) == 0) {
        results.count = one_of(results.count);
    } else {
        results.of[results.count++] =
            (struct uvzk__wire_reply){.opcode = UVZK__OPCODE_DELETE};
    }
    return write_results(wire, &results, out);
}

/* An error is told of an operation that has failed, and no other result stays a result. */
static bool another_result(const struct tampered_reply *reply,
                           struct uvzk__jute_writer *out)
{
    static struct results results;
    struct uvzk__wire_reply wire;
    char room[ANYTHING];

    if (!read_results(reply, &wire, &results) || results.count == 0) {
        return false;
    }
    struct uvzk__wire_reply *result = &results.of[one_of(results.count)];
    if (result->opcode == UVZK__OPCODE_ERROR) {
        return false;
    }
    if (result->opcode == UVZK__OPCODE_CREATE && one_of(2) == 0) {
        result->path = wrong_path(result->path, room);
    } else if (one_of(2) == 0) {
        *result = (struct uvzk__wire_reply){.opcode = UVZK__OPCODE_ERROR};
    } else {
        result->opcode = result->opcode == UVZK__OPCODE_DELETE ? UVZK__OPCODE_CHECK
                                                               : UVZK__OPCODE_DELETE;
    }
    return write_results(wire, &results, out);
}

/* ----------------------------------------------------------------- the session's beginning */

static bool another_session(const struct tampered_reply *reply,
                            struct uvzk__jute_writer *out)
{
    unsigned char password[100];
    struct uvzk__connect_response response;

    if (uvzk__connect_response_read(reply->frame, &response) != 0) {
        return false;
    }
    static const int32_t timeouts[] = {0, -1, INT32_MIN};
    int32_t timeout = timeouts[one_of(sizeof(timeouts) / sizeof(timeouts[0]))];
    switch (one_of(5)) {
    case 0:
        response.timeout_ms = timeout;
        break;
    case 1:
        response.session_id = reply->resumes ? response.session_id + any_int() : 0;
        break;
    case 2:
        memset(password, 'x', sizeof(password));
        response.password =
            uvzk__jute_bytes(password, UVZK__PASSWORD_MAX + 1 +
                                           one_of(sizeof(password) - UVZK__PASSWORD_MAX));
        break;
    case 3:
        response.protocol_version = any_int();
        break;
    default:
        response.read_only = response.has_read_only;
    }
    return uvzk__connect_response_write(out, FRAME_MAX, &response) == 0;
}

/* ------------------------------------------------------------------------- all of them */

bool tampered_reply_write(const struct tampered_reply *reply, struct sim *sim,
                          struct uvzk__jute_writer *out)
{
    static bool (*const ways[])(const struct tampered_reply *,
                                struct uvzk__jute_writer *) = {
        another_xid,
        an_unasked_one,
        an_unasked_event,
        an_unknown_outcome,
        another_zxid,
        another_path,
        another_count,
        another_name,
        another_path,
        another_name,
        another_number_of_results,
        another_result,
        another_result,
    };

    of_sim = sim;
    if (reply->is_greeting) {
        return another_session(reply, out);
    }
    return ways[one_of(sizeof(ways) / sizeof(ways[0]))](reply, out);
}
