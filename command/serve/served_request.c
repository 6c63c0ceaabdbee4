/* SPDX-License-Identifier: Apache-2.0 */
/* Parses and checks one line (served_request.h). A table says which fields each operation
 * has and where each value goes; what is not in the table is refused, with the nearest
 * name that is. */
#include "served_request.h"

#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "served_bytes.h"

#define INTERVAL_DEFAULT_MS 100
#define LEASES_MAX 100 /* the limit of uvzk.h for one hold */
#define MAX_LEASES_MAX 1000000
#define MEMBERS_MAX 1000000
/* An answer with this many locks fits into --max-unsent. */
#define LIMIT_MAX 100

/* Which fields an operation has. */
#define OF_LOCK 1U /* path, lock, max_leases */
/* timeout_ms, leases, owner, data, revocable, queued, max_hold_ms, warning_ms */
#define OF_ACQUIRE 2U
#define OF_HOLD 4U  /* hold */
#define OF_WATCH 8U /* interval_ms */
#define OF_UNWATCH 16U
#define OF_NONE 0U
#define OF_CANCEL 32U
#define OF_ELECT 64U /* path, lock, and those of OF_ACQUIRE but leases and owner */
#define OF_LOCKS 128U
#define OF_REVOKE 256U
/* members, in_turn, timeout_ms, owner, data, max_hold_ms, warning_ms */
#define OF_ACQUIRE_ALL 512U
#define OF_MEMBER 1024U  /* of an object in `members`: path, lock, max_leases */
#define OF_WRITING 2048U /* writes */
#define OF_WRITE 4096U   /* of an object in `writes`: kind, path, version, data, base64 */
#define OF_READING 8192U /* path */
#define OF_STATUS 16384U /* path, limit */
#define OF_LEADER 32768U /* path, lock */
#define OF_HELLO (1U << 16) /* version */
#define OF_CONNECTED (1U << 17)
#define OF_AT (1U << 20) /* path, of what is no lock */
#define OF_COUNT (1U << 22)
#define OF_DATA (1U << 23)  /* data, base64 */
#define OF_NODE (1U << 24)  /* persistent */
#define OF_GROUP (1U << 25) /* member */
#define OF_OBJECT (1U << 26)
#define OF_SET (1U << 27)   /* count, mzxid, version */
#define OF_WAIT (1U << 28)  /* timeout_ms */
#define OF_ENTER (1U << 29) /* member_quantity */
#define OF_NEW (1U << 30)   /* value */
#define OF_COMPARE (1U << 31)
#define OF_ADD (1U << 19) /* delta */

static const struct {
    const char *name;
    unsigned fields;
} operations[] = {
    [SERVED_ACQUIRE] = {"acquire", OF_LOCK | OF_ACQUIRE},
    [SERVED_ELECT] = {"elect", OF_ELECT},
    [SERVED_CANCEL] = {"cancel", OF_CANCEL},
    [SERVED_RELEASE] = {"release", OF_HOLD},
    [SERVED_VALID] = {"valid", OF_HOLD},
    [SERVED_VERIFY] = {"verify", OF_HOLD},
    [SERVED_PARTICIPANTS] = {"participants", OF_LOCK},
    [SERVED_WATCH] = {"watch", OF_LOCK | OF_WATCH},
    [SERVED_UNWATCH] = {"unwatch", OF_UNWATCH},
    [SERVED_METRICS] = {"metrics", OF_NONE},
    [SERVED_SHARED_VALUE] = {"shared_value", OF_AT | OF_DATA},
    [SERVED_SHARED_COUNT] = {"shared_count", OF_AT | OF_COUNT},
    [SERVED_PERSISTENT_NODE] = {"persistent_node", OF_AT | OF_DATA | OF_NODE},
    [SERVED_GROUP_MEMBER] = {"group_member", OF_AT | OF_DATA | OF_GROUP},
    [SERVED_GETTING] = {"get", OF_OBJECT},
    [SERVED_SETTING] = {"set", OF_OBJECT | OF_DATA | OF_SET},
    [SERVED_CLOSING] = {"close", OF_OBJECT},
    [SERVED_BARRIER_SET] = {"barrier_set", OF_AT},
    [SERVED_BARRIER_REMOVE] = {"barrier_remove", OF_AT},
    [SERVED_BARRIER_WAIT] = {"barrier_wait", OF_AT | OF_WAIT},
    [SERVED_ENTER] = {"enter", OF_AT | OF_ENTER | OF_WAIT},
    [SERVED_LEAVE] = {"leave", OF_OBJECT | OF_WAIT},
    [SERVED_ATOMIC_GET] = {"atomic_get", OF_AT},
    [SERVED_ATOMIC_ADD] = {"atomic_add", OF_AT | OF_ADD},
    [SERVED_ATOMIC_COMPARE_AND_SET] = {"atomic_compare_and_set",
                                       OF_AT | OF_NEW | OF_COMPARE},
    [SERVED_ATOMIC_SET] = {"atomic_set", OF_AT | OF_NEW},
    [SERVED_ATOMIC_FORCE_SET] = {"atomic_force_set", OF_AT | OF_NEW},
    [SERVED_ATOMIC_CREATE] = {"atomic_create", OF_AT | OF_NEW},
    [SERVED_LOCKS] = {"locks", OF_LOCKS},
    [SERVED_REVOKE] = {"revoke", OF_REVOKE},
    [SERVED_ACQUIRE_ALL] = {"acquire_all", OF_ACQUIRE_ALL},
    [SERVED_WRITING] = {"write", OF_HOLD | OF_WRITING},
    [SERVED_STATUS] = {"status", OF_STATUS},
    [SERVED_LEADER] = {"leader", OF_LEADER},
    [SERVED_READING] = {"read", OF_HOLD | OF_READING},
    [SERVED_HELLO] = {"hello", OF_HELLO},
    [SERVED_CONNECTED] = {"connected", OF_CONNECTED},
};

#define OPERATIONS (sizeof(operations) / sizeof(operations[0]))

static const char *const kinds[] = {[SERVED_MUTEX] = "mutex",
                                    [SERVED_READ] = "read",
                                    [SERVED_WRITE] = "write",
                                    [SERVED_SEMAPHORE] = "semaphore",
                                    [SERVED_LATCH] = "latch"};

static const char *const write_kinds[] = {[SERVED_CREATE] = "create",
                                          [SERVED_SET] = "set",
                                          [SERVED_DELETE] = "delete",
                                          [SERVED_CHECK] = "check"};

const char *served_operation_name(enum served_operation operation)
{
    return operations[operation].name;
}

const char *served_kind_name(enum served_kind kind)
{
    return kinds[kind];
}

/* ------------------------------------------------------------ what is wrong with it */

/* Of a text of the program, a sentence has so many bytes at most. */
#define SHOWN_MAX 40
/* Names of the protocol are shorter. */
#define NAME_MAX_LENGTH 22

__attribute__((format(printf, 2, 3))) static const char *
wrong(struct served_request *request, const char *format, ...)
{
    va_list values;

    va_start(values, format);
    vsnprintf(request->wrong, sizeof(request->wrong), format, values);
    va_end(values);
    return request->wrong;
}

/* How many bytes of a text are shown: whole characters of UTF-8. */
static int shown(const char *text)
{
    size_t length = strlen(text);

    if (length > SHOWN_MAX) {
        length = SHOWN_MAX;
        while (length > 0 && ((unsigned char)text[length] & 0xC0U) == 0x80U) {
            length--;
        }
    }
    return (int)length;
}

/* How many bytes have to be inserted, deleted or replaced to make one name from the other
 * one (Levenshtein). Both have at most NAME_MAX_LENGTH bytes. */
static size_t distance(const char *from, const char *to)
{
    size_t row[NAME_MAX_LENGTH + 1], length = strlen(to);

    for (size_t j = 0; j <= length; j++) {
        row[j] = j;
    }
    for (size_t i = 0; from[i] != '\0'; i++) {
        size_t diagonal = row[0];
        row[0] = i + 1;
        for (size_t j = 0; j < length; j++) {
            size_t replaced = diagonal + (from[i] != to[j]);
            size_t other = (row[j] < row[j + 1] ? row[j] : row[j + 1]) + 1;
            diagonal = row[j + 1];
            row[j + 1] = replaced < other ? replaced : other;
        }
    }
    return row[length];
}

/* The nearest of the names offered so far to what the program has sent. */
struct nearest {
    const char *sent, *name; /* name NULL: none is near */
    size_t distance;
};

/* A name is near if at least two of three bytes are the same. */
static void offer(struct nearest *nearest, const char *name)
{
    size_t sent = strlen(nearest->sent), length = strlen(name);

    if (sent > NAME_MAX_LENGTH) {
        return;
    }
    size_t far = distance(nearest->sent, name);
    if (far * 3 <= (sent > length ? sent : length) &&
        (nearest->name == NULL || far < nearest->distance)) {
        nearest->name = name;
        nearest->distance = far;
    }
}

/* "FIELD: what; did you mean `NAME`?", or without the question. */
static const char *wrong_name(struct served_request *request, const char *what,
                              const struct nearest *nearest)
{
    const char *sent = nearest->sent;

    return nearest->name == NULL ? wrong(request, "`%.*s`: %s", shown(sent), sent, what)
                                 : wrong(request, "`%.*s`: %s; did you mean `%s`?",
                                         shown(sent), sent, what, nearest->name);
}

/* ------------------------------------------------------------------- all fields */

/* A field of the operations in `of`, and the member of the request that receives it. */
struct field {
    const char *name;
    unsigned of;
    enum { TEXT, FLAG, NUMBER, KIND, WRITE_KIND, LIST } type;
    size_t member; /* offsetof */
    int64_t low, high;
    bool required;
};

#define MEMBER(name) offsetof(struct served_request, name)

static const struct field fields[] = {
    {"path",
     OF_AT | OF_LOCK | OF_ELECT | OF_MEMBER | OF_WRITE | OF_READING | OF_STATUS |
         OF_LEADER,
     TEXT, MEMBER(path), 0, 0, true},
    {"lock", OF_LOCK | OF_ELECT | OF_MEMBER | OF_LEADER, KIND, MEMBER(kind), 0, 0, false},
    {"max_leases", OF_LOCK | OF_MEMBER, NUMBER, MEMBER(max_leases), 1, MAX_LEASES_MAX,
     false},
    {"leases", OF_ACQUIRE, NUMBER, MEMBER(leases), 1, LEASES_MAX, false},
    {"members", OF_ACQUIRE_ALL, LIST, MEMBER(members), 1, SERVED_LIST_MAX, true},
    {"writes", OF_WRITING, LIST, MEMBER(writes), 1, SERVED_LIST_MAX, true},
    {"kind", OF_WRITE, WRITE_KIND, MEMBER(write_kind), 0, 0, true},
    {"version", OF_WRITE, NUMBER, MEMBER(version), 0, INT32_MAX, false},
    {"base64", OF_DATA | OF_WRITE, TEXT, MEMBER(base64), 0, 0, false},
    {"in_turn", OF_ACQUIRE_ALL, FLAG, MEMBER(in_turn), 0, 0, false},
    {"owner", OF_ACQUIRE | OF_ACQUIRE_ALL, TEXT, MEMBER(owner), 0, 0, false},
    {"data", OF_ACQUIRE | OF_ACQUIRE_ALL | OF_ELECT | OF_WRITE | OF_DATA, TEXT,
     MEMBER(data), 0, 0, false},
    {"timeout_ms", OF_ACQUIRE | OF_ACQUIRE_ALL | OF_ELECT | OF_WAIT, NUMBER,
     MEMBER(timeout_ms), 0, SERVED_TIMEOUT_MAX_MS, false},
    {"timeout_ms", OF_CONNECTED, NUMBER, MEMBER(timeout_ms), 1, SERVED_TIMEOUT_MAX_MS,
     true},
    {"max_hold_ms", OF_ACQUIRE | OF_ACQUIRE_ALL | OF_ELECT, NUMBER, MEMBER(max_hold_ms),
     1, SERVED_TIMEOUT_MAX_MS, false},
    {"warning_ms", OF_ACQUIRE | OF_ACQUIRE_ALL | OF_ELECT, NUMBER, MEMBER(warning_ms), 1,
     SERVED_TIMEOUT_MAX_MS, false},
    {"revocable", OF_ACQUIRE | OF_ELECT, FLAG, MEMBER(revocable), 0, 0, false},
    {"queued", OF_ACQUIRE | OF_ELECT, FLAG, MEMBER(queued), 0, 0, false},
    {"hold", OF_HOLD, NUMBER, MEMBER(number), 1, SERVED_NUMBER_MAX, true},
    {"interval_ms", OF_WATCH, NUMBER, MEMBER(interval_ms), 0, SERVED_TIMEOUT_MAX_MS,
     false},
    {"watch", OF_UNWATCH, NUMBER, MEMBER(number), 1, SERVED_NUMBER_MAX, true},
    {"limit", OF_LOCKS | OF_STATUS, NUMBER, MEMBER(limit), 1, LIMIT_MAX, false},
    {"node", OF_REVOKE, TEXT, MEMBER(node), 0, 0, true},
    {"object", OF_OBJECT, NUMBER, MEMBER(number), 1, SERVED_NUMBER_MAX, true},
    {"count", OF_COUNT | OF_SET, NUMBER, MEMBER(count), INT32_MIN, INT32_MAX, false},
    {"mzxid", OF_SET, NUMBER, MEMBER(mzxid), 0, SERVED_NUMBER_MAX, false},
    {"version", OF_SET, NUMBER, MEMBER(version), INT32_MIN, INT32_MAX, false},
    {"version", OF_HELLO, NUMBER, MEMBER(protocol_version), 1, INT32_MAX, false},
    {"persistent", OF_NODE, FLAG, MEMBER(persistent), 0, 0, false},
    {"member", OF_GROUP, TEXT, MEMBER(member), 0, 0, true},
    {"member_quantity", OF_ENTER, NUMBER, MEMBER(member_quantity), 1, MEMBERS_MAX, true},
    {"delta", OF_ADD, NUMBER, MEMBER(value), INT64_MIN, INT64_MAX, true},
    {"value", OF_NEW, NUMBER, MEMBER(value), INT64_MIN, INT64_MAX, true},
    {"expected", OF_COMPARE, NUMBER, MEMBER(expected), INT64_MIN, INT64_MAX, true},
    {"acquire", OF_CANCEL, NUMBER, MEMBER(number), 0, SERVED_NUMBER_MAX, true},
};

#define FIELDS (sizeof(fields) / sizeof(fields[0]))

static bool take_number(int64_t *number, const json_t *value, int64_t low, int64_t high)
{
    *number = json_integer_value(value);
    return json_is_integer(value) && *number >= low && *number <= high;
}

static bool take_list(const json_t *value, int64_t low, int64_t high)
{
    int64_t size = (int64_t)json_array_size(value); /* 0: or it is no list */

    return size >= low && size <= high;
}

/* Returns the place of a text in a list of names, or -1. */
static int place_of(const json_t *value, const char *const *names, size_t count)
{
    const char *sent = json_string_value(value);

    for (size_t i = 0; sent != NULL && i < count; i++) {
        if (strcmp(sent, names[i]) == 0) {
            return (int)i;
        }
    }
    return -1;
}

static const char *take_kind(struct served_request *request, const struct field *field,
                             const json_t *value)
{
    int place = place_of(value, kinds, sizeof(kinds) / sizeof(kinds[0]));

    if (place < 0) {
        return wrong(request, "`%s`: not mutex, read, write, semaphore or latch",
                     field->name);
    }
    request->kind = (enum served_kind)place;
    return NULL;
}

static const char *take_write_kind(struct served_request *request,
                                   const struct field *field, const json_t *value)
{
    int place =
        place_of(value, write_kinds, sizeof(write_kinds) / sizeof(write_kinds[0]));

    if (place < 0) {
        return wrong(request, "`%s`: not create, set, delete or check", field->name);
    }
    request->write_kind = (enum served_write_kind)place;
    return NULL;
}

static const char *take(struct served_request *request, const struct field *field,
                        const json_t *value)
{
    void *member = (char *)request + field->member;

    switch (field->type) {
    case TEXT:
        *(const char **)member = json_string_value(value);
        return json_is_string(value) ? NULL
                                     : wrong(request, "`%s`: not a text", field->name);
    case FLAG:
        *(bool *)member = json_is_true(value);
        return json_is_boolean(value)
                   ? NULL
                   : wrong(request, "`%s`: not true or false", field->name);
    case NUMBER:
        return take_number(member, value, field->low, field->high)
                   ? NULL
                   : wrong(request,
                           "`%s`: not a whole number from %" PRId64 " to %" PRId64,
                           field->name, field->low, field->high);
    case LIST:
        *(const json_t **)member = value;
        return take_list(value, field->low, field->high)
                   ? NULL
                   : wrong(request, "`%s`: not a list of %" PRId64 " to %" PRId64,
                           field->name, field->low, field->high);
    case WRITE_KIND:
        return take_write_kind(request, field, value);
    default:
        return take_kind(request, field, value);
    }
}

/* Returns the field of an operation, or NULL: then *nearest is the name that it may mean. */
static const struct field *field_named(unsigned of, struct nearest *nearest)
{
    for (size_t i = 0; i < FIELDS; i++) {
        if ((fields[i].of & of) != 0 && strcmp(fields[i].name, nearest->sent) == 0) {
            return &fields[i];
        }
    }
    for (size_t i = 0; i < FIELDS; i++) {
        if ((fields[i].of & of) != 0) {
            offer(nearest, fields[i].name);
        }
    }
    return NULL;
}

/* All that is left in `json` are the fields in `of`. */
static const char *read_fields(struct served_request *request, unsigned of)
{
    const char *name, *refused = NULL;
    json_t *value;

    json_object_foreach(request->json, name, value)
    {
        struct nearest nearest = {.sent = name};
        const struct field *field = field_named(of, &nearest);
        refused = field == NULL ? wrong_name(request, "no such field", &nearest)
                                : take(request, field, value);
        if (refused != NULL) {
            return refused;
        }
    }
    for (size_t i = 0; i < FIELDS; i++) {
        if (fields[i].required && (fields[i].of & of) != 0 &&
            json_object_get(request->json, fields[i].name) == NULL) {
            return wrong(request, "`%s`: missing", fields[i].name);
        }
    }
    return NULL;
}

static bool is_of_election(const struct served_request *request)
{
    return request->operation == SERVED_ELECT || request->operation == SERVED_LEADER;
}

static const char *check_data(struct served_request *request)
{
    if (request->data != NULL && request->base64 != NULL) {
        return wrong(request, "`base64`: not with `data`");
    }
    if (request->base64 != NULL && !served_bytes_are_base64(request->base64)) {
        return wrong(request, "`base64`: not base64");
    }
    return NULL;
}

/* Checks rules about the fields of what is no lock. */
static const char *check_object(struct served_request *request)
{
    bool has_wait = (operations[request->operation].fields & OF_WAIT) != 0;
    bool has_mzxid = request->mzxid != SERVED_NOT_GIVEN;
    const char *wrong_data = check_data(request);

    if (wrong_data != NULL) {
        return wrong_data;
    }
    if (has_wait && request->timeout_ms == 0) {
        return wrong(request, "`timeout_ms`: at least 1 of `%s`",
                     operations[request->operation].name);
    }
    if (has_mzxid != (request->version != SERVED_NOT_GIVEN)) {
        return wrong(request, "`%s`: missing, and `%s` needs it",
                     has_mzxid ? "version" : "mzxid", has_mzxid ? "mzxid" : "version");
    }
    return NULL;
}

/* Checks rules about several fields together. */
static const char *check(struct served_request *request)
{
    bool semaphore = request->kind == SERVED_SEMAPHORE;

    if (is_of_election(request) && request->kind != SERVED_LATCH &&
        request->kind != SERVED_MUTEX) {
        return wrong(request, "`lock`: of `%s` it is latch or mutex",
                     operations[request->operation].name);
    }
    if (request->operation == SERVED_ACQUIRE && request->kind == SERVED_LATCH) {
        return wrong(request, "`lock`: a latch is for `elect`");
    }
    if (semaphore && request->max_leases == 0) {
        return wrong(request, "`max_leases`: missing, and a semaphore needs it");
    }
    if (!semaphore && (request->max_leases > 0 || request->leases > 0)) {
        return wrong(request, "`%s`: only of a semaphore",
                     request->max_leases > 0 ? "max_leases" : "leases");
    }
    if (request->leases > request->max_leases) {
        return wrong(request, "`leases`: more than `max_leases`");
    }
    if (request->warning_ms > request->max_hold_ms) {
        return wrong(request, "`warning_ms`: %s",
                     request->max_hold_ms == 0 ? "only with `max_hold_ms`"
                                               : "more than `max_hold_ms`");
    }
    if (request->revocable && (semaphore || request->data != NULL)) {
        return wrong(request, "`revocable`: not with %s",
                     semaphore ? "a semaphore" : "`data`");
    }
    return NULL;
}

/* ------------------------------------------------------------- objects in a list */

static const char *read_element(struct served_request *element, const json_t *list,
                                size_t which, unsigned of)
{
    *element = (struct served_request){
        .version = -1, .operation = SERVED_ACQUIRE, .json = json_array_get(list, which)};
    return json_is_object(element->json) ? read_fields(element, of)
                                         : wrong(element, "not an object");
}

const char *served_request_read_member(const struct served_request *request, size_t which,
                                       struct served_request *member)
{
    const char *refused = read_element(member, request->members, which, OF_MEMBER);

    return refused != NULL ? refused : check(member);
}

static const char *check_write(struct served_request *write)
{
    bool has_data = write->write_kind == SERVED_CREATE || write->write_kind == SERVED_SET;

    if (!has_data && (write->data != NULL || write->base64 != NULL)) {
        return wrong(write, "`%s`: only of create and set",
                     write->data != NULL ? "data" : "base64");
    }
    if (write->write_kind == SERVED_CREATE && write->version >= 0) {
        return wrong(write, "`version`: not of create");
    }
    return check_data(write);
}

const char *served_request_read_write(const struct served_request *request, size_t which,
                                      struct served_request *write)
{
    const char *refused = read_element(write, request->writes, which, OF_WRITE);

    return refused != NULL ? refused : check_write(write);
}

static const char *check_writes(struct served_request *request)
{
    struct served_request write;

    for (size_t i = 0; i < json_array_size(request->writes); i++) {
        const char *refused = served_request_read_write(request, i, &write);
        if (refused != NULL) {
            return wrong(request, "`writes`, number %zu, %s", i + 1, refused);
        }
    }
    return NULL;
}

/* No path may occur twice: the second acquire of it would wait for the first one. */
static const char *check_members(struct served_request *request)
{
    struct served_request member;

    for (size_t i = 0; i < json_array_size(request->members); i++) {
        const char *refused = served_request_read_member(request, i, &member);
        if (refused != NULL) {
            return wrong(request, "`members`, number %zu, %s", i + 1, refused);
        }
        for (size_t j = 0; j < i; j++) {
            const json_t *other = json_array_get(request->members, j);
            if (json_equal(json_object_get(other, "path"),
                           json_object_get(member.json, "path"))) {
                return wrong(request, "`members`, number %zu, `path`: as of number %zu",
                             i + 1, j + 1);
            }
        }
    }
    return NULL;
}

/* ---------------------------------------------------------------------- a line */

static const char *read_operation(struct served_request *request)
{
    const char *name = json_string_value(json_object_get(request->json, "op"));
    struct nearest nearest = {.sent = name};

    if (name == NULL) {
        return wrong(request, "`op`: missing, or not a text");
    }
    for (size_t i = 0; i < OPERATIONS; i++) {
        if (strcmp(name, operations[i].name) == 0) {
            request->operation = (enum served_operation)i;
            return NULL;
        }
    }
    for (size_t i = 0; i < OPERATIONS; i++) {
        offer(&nearest, operations[i].name);
    }
    return wrong_name(request, "no such `op`", &nearest);
}

const char *served_request_read(struct served_request *request, const char *line,
                                size_t length)
{
    *request = (struct served_request){.id = -1,
                                       .number = -1,
                                       .timeout_ms = SERVED_WAIT_FOREVER,
                                       .interval_ms = INTERVAL_DEFAULT_MS,
                                       .limit = LIMIT_MAX,
                                       .protocol_version = 1,
                                       .count = SERVED_NOT_GIVEN,
                                       .mzxid = SERVED_NOT_GIVEN,
                                       .version = SERVED_NOT_GIVEN};
    request->json = json_loadb(line, length, JSON_REJECT_DUPLICATES, NULL);
    if (!json_is_object(request->json)) {
        return wrong(request, "the line is not a JSON object");
    }
    const json_t *id = json_object_get(request->json, "id");
    if (!take_number(&request->id, id, 0, SERVED_NUMBER_MAX)) {
        request->id = -1;
        return wrong(request, "`id`: missing, or not a whole number from 0 to %" PRId64,
                     SERVED_NUMBER_MAX);
    }
    const char *refused = read_operation(request);
    if (refused == NULL) {
        request->kind = is_of_election(request) ? SERVED_LATCH : SERVED_MUTEX;
        json_object_del(request->json, "id");
        json_object_del(request->json, "op");
        refused = read_fields(request, operations[request->operation].fields);
    }
    if (refused == NULL) {
        refused = check(request);
    }
    if (refused == NULL) {
        refused = check_object(request);
    }
    if (refused == NULL && request->members != NULL) {
        refused = check_members(request);
    }
    return refused == NULL && request->writes != NULL ? check_writes(request) : refused;
}

void served_request_free(struct served_request *request)
{
    json_decref(request->json);
    request->json = NULL;
}
