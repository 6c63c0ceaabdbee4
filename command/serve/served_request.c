/* Parses and checks one line (served_request.h). A table says which fields each operation
 * has and where each value goes; what is not in the table is refused. */
#include "served_request.h"

#include <string.h>

#define INTERVAL_DEFAULT_MS 1000
#define INTERVAL_LEAST_MS 100
#define LEASES_MAX 100 /* the limit of uvzk.h for one hold */
#define MAX_LEASES_MAX 1000000
/* An answer with this many locks fits into --max-unsent. */
#define LIMIT_MAX 100

/* Which fields an operation has. */
#define OF_LOCK 1U    /* path, lock, max_leases */
#define OF_ACQUIRE 2U /* timeout_ms, leases, owner, data, revocable, queued */
#define OF_HOLD 4U    /* hold */
#define OF_WATCH 8U   /* interval_ms */
#define OF_UNWATCH 16U
#define OF_CANCEL 32U
#define OF_ELECT 64U /* path, lock, data, timeout_ms, revocable, queued */
#define OF_LOCKS 128U

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
    [SERVED_LOCKS] = {"locks", OF_LOCKS},
};

static const char *const kinds[] = {[SERVED_MUTEX] = "mutex",
                                    [SERVED_READ] = "read",
                                    [SERVED_WRITE] = "write",
                                    [SERVED_SEMAPHORE] = "semaphore",
                                    [SERVED_LATCH] = "latch"};

const char *served_kind_name(enum served_kind kind)
{
    return kinds[kind];
}

/* ---------------------------------------------------------------- values of fields */

static const char *take_text(const char **text, const json_t *value)
{
    *text = json_string_value(value);
    return *text == NULL ? "a field must be a string" : NULL;
}

static const char *take_flag(bool *flag, const json_t *value)
{
    *flag = json_is_true(value);
    return json_is_boolean(value) ? NULL : "a field must be true or false";
}

static const char *take_number(int64_t *number, const json_t *value, int64_t low,
                               int64_t high)
{
    *number = json_integer_value(value);
    return json_is_integer(value) && *number >= low && *number <= high
               ? NULL
               : "a number is not whole or out of range";
}

static const char *take_kind(enum served_kind *kind, const json_t *value)
{
    const char *name = json_string_value(value);

    for (size_t i = 0; name != NULL && i < sizeof(kinds) / sizeof(kinds[0]); i++) {
        if (strcmp(name, kinds[i]) == 0) {
            *kind = (enum served_kind)i;
            return NULL;
        }
    }
    return "lock is not mutex, read, write, semaphore or latch";
}

/* ------------------------------------------------------------------- all fields */

/* A field of the operations in `of`, and the member of the request that receives it. */
struct field {
    const char *name;
    unsigned of;
    enum { TEXT, FLAG, NUMBER, KIND } type;
    size_t member; /* offsetof */
    int64_t low, high;
};

#define MEMBER(name) offsetof(struct served_request, name)

static const struct field fields[] = {
    {"path", OF_LOCK | OF_ELECT, TEXT, MEMBER(path), 0, 0},
    {"lock", OF_LOCK | OF_ELECT, KIND, MEMBER(kind), 0, 0},
    {"max_leases", OF_LOCK, NUMBER, MEMBER(max_leases), 1, MAX_LEASES_MAX},
    {"leases", OF_ACQUIRE, NUMBER, MEMBER(leases), 1, LEASES_MAX},
    {"owner", OF_ACQUIRE, TEXT, MEMBER(owner), 0, 0},
    {"data", OF_ACQUIRE | OF_ELECT, TEXT, MEMBER(data), 0, 0},
    {"timeout_ms", OF_ACQUIRE | OF_ELECT, NUMBER, MEMBER(timeout_ms), 0,
     SERVED_TIMEOUT_MAX_MS},
    {"revocable", OF_ACQUIRE | OF_ELECT, FLAG, MEMBER(revocable), 0, 0},
    {"queued", OF_ACQUIRE | OF_ELECT, FLAG, MEMBER(queued), 0, 0},
    {"hold", OF_HOLD, NUMBER, MEMBER(number), 1, SERVED_NUMBER_MAX},
    {"interval_ms", OF_WATCH, NUMBER, MEMBER(interval_ms), INTERVAL_LEAST_MS,
     SERVED_TIMEOUT_MAX_MS},
    {"watch", OF_UNWATCH, NUMBER, MEMBER(number), 1, SERVED_NUMBER_MAX},
    {"limit", OF_LOCKS, NUMBER, MEMBER(limit), 1, LIMIT_MAX},
    {"acquire", OF_CANCEL, NUMBER, MEMBER(number), 0, SERVED_NUMBER_MAX},
};

static const char *take(struct served_request *request, const struct field *field,
                        const json_t *value)
{
    void *member = (char *)request + field->member;

    switch (field->type) {
    case TEXT:
        return take_text(member, value);
    case FLAG:
        return take_flag(member, value);
    case NUMBER:
        return take_number(member, value, field->low, field->high);
    default:
        return take_kind(member, value);
    }
}

static const struct field *field_named(const char *name)
{
    for (size_t i = 0; i < sizeof(fields) / sizeof(fields[0]); i++) {
        if (strcmp(fields[i].name, name) == 0) {
            return &fields[i];
        }
    }
    return NULL;
}

static const char *read_fields(struct served_request *request)
{
    unsigned of = operations[request->operation].fields;
    const char *name, *wrong = NULL;
    json_t *value;

    json_object_foreach(request->json, name, value)
    {
        const struct field *field = field_named(name);
        if (strcmp(name, "id") == 0 || strcmp(name, "op") == 0) {
            continue;
        }
        wrong = field == NULL || (field->of & of) == 0 ? "op has no such field"
                                                       : take(request, field, value);
        if (wrong != NULL) {
            return wrong;
        }
    }
    return NULL;
}

/* Checks rules about several fields together. */
static const char *check(const struct served_request *request)
{
    unsigned of = operations[request->operation].fields;
    bool semaphore = request->kind == SERVED_SEMAPHORE;

    if ((of & (OF_LOCK | OF_ELECT)) != 0 && request->path == NULL) {
        return "path is missing";
    }
    if ((of & (OF_HOLD | OF_UNWATCH | OF_CANCEL)) != 0 && request->number < 0) {
        return "hold, watch or acquire is missing";
    }
    if (request->operation == SERVED_ELECT && request->kind != SERVED_LATCH &&
        request->kind != SERVED_MUTEX) {
        return "the lock of elect is latch or mutex";
    }
    if (request->operation == SERVED_ACQUIRE && request->kind == SERVED_LATCH) {
        return "a latch is for elect";
    }
    if (semaphore != (request->max_leases > 0) || (!semaphore && request->leases > 0)) {
        return "max_leases belongs to a semaphore, and only to it";
    }
    if (request->leases > request->max_leases) {
        return "leases is more than max_leases";
    }
    if (request->revocable && (semaphore || request->data != NULL)) {
        return "revocable goes neither with a semaphore nor with data";
    }
    return NULL;
}

static const char *read_operation(struct served_request *request)
{
    const char *name = json_string_value(json_object_get(request->json, "op"));

    for (size_t i = 0; name != NULL && i < sizeof(operations) / sizeof(operations[0]);
         i++) {
        if (strcmp(name, operations[i].name) == 0) {
            request->operation = (enum served_operation)i;
            return NULL;
        }
    }
    return "op is missing or unknown";
}

/* ---------------------------------------------------------------------- a line */

const char *served_request_read(struct served_request *request, const char *line,
                                size_t length)
{
    *request = (struct served_request){.id = -1,
                                       .number = -1,
                                       .timeout_ms = SERVED_WAIT_FOREVER,
                                       .interval_ms = INTERVAL_DEFAULT_MS,
                                       .limit = LIMIT_MAX};
    request->json = json_loadb(line, length, JSON_REJECT_DUPLICATES, NULL);
    if (!json_is_object(request->json)) {
        return "the line is not a JSON object";
    }
    const json_t *id = json_object_get(request->json, "id");
    if (take_number(&request->id, id, 0, SERVED_NUMBER_MAX) != NULL) {
        request->id = -1;
        return "id is missing, not a whole number, or out of range";
    }
    const char *wrong = read_operation(request);
    if (wrong == NULL) {
        request->kind = request->operation == SERVED_ELECT ? SERVED_LATCH : SERVED_MUTEX;
        wrong = read_fields(request);
    }
    return wrong != NULL ? wrong : check(request);
}

void served_request_free(struct served_request *request)
{
    json_decref(request->json);
    request->json = NULL;
}
