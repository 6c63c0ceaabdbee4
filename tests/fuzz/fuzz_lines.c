/* SPDX-License-Identifier: Apache-2.0 */
/* What a program sends to `uvzk serve`: bytes in pieces of any length. Each line is found
 * whole, whatever the pieces are; none is longer than allowed; and a request that is
 * accepted has fields within their limits. */
#include "fuzz.h"
#include "serve/line_buffer.h"
#include "serve/served_bytes.h"
#include "serve/served_request.h"

#define LINE_LEAST 16U

/* A NUL cannot stand in a text, so the library gets all of it. */
static void check_text(const char *text, const char *name,
                       const struct served_request *request)
{
    const json_t *value = json_object_get(request->json, name);

    PROMISE((text == NULL) == (value == NULL));
    PROMISE(text == NULL || strlen(text) == json_string_length(value));
}

static void check_write(const struct served_request *request, size_t which)
{
    struct served_request write;

    PROMISE(which < SERVED_LIST_MAX);
    PROMISE(served_request_read_write(request, which, &write) == NULL);
    PROMISE(write.path != NULL && write.write_kind <= SERVED_CHECK);
    PROMISE(write.version >= -1 && write.version <= INT32_MAX);
    PROMISE(write.data == NULL || write.base64 == NULL);
    if (write.base64 != NULL) {
        size_t length = strlen(write.base64);
        unsigned char *bytes = malloc(length + 1);
        PROMISE((size_t)(served_bytes_decode(write.base64, bytes) - bytes) <= length);
        free(bytes);
    }
}

/* What else names something by its number, its members or a znode's path, or nothing. */
static bool has_path(enum served_operation operation)
{
    switch (operation) {
    case SERVED_CANCEL:
    case SERVED_RELEASE:
    case SERVED_VALID:
    case SERVED_VERIFY:
    case SERVED_METRICS:
    case SERVED_GETTING:
    case SERVED_SETTING:
    case SERVED_CLOSING:
    case SERVED_LEAVE:
    case SERVED_UNWATCH:
    case SERVED_LOCKS:
    case SERVED_REVOKE:
    case SERVED_ACQUIRE_ALL:
    case SERVED_WRITING:
    case SERVED_HELLO:
    case SERVED_CONNECTED:
        return false;
    default:
        return true;
    }
}

static void check_accepted(const struct served_request *request)
{
    bool semaphore = request->kind == SERVED_SEMAPHORE;

    PROMISE(request->id >= 0 && request->id <= SERVED_NUMBER_MAX);
    PROMISE(request->number >= -1 && request->number <= SERVED_NUMBER_MAX);
    PROMISE(request->timeout_ms >= SERVED_WAIT_FOREVER &&
            request->timeout_ms <= SERVED_TIMEOUT_MAX_MS);
    PROMISE(request->interval_ms >= 0 && request->interval_ms <= SERVED_TIMEOUT_MAX_MS);
    PROMISE(semaphore ? request->max_leases >= 1 && request->max_leases <= 1000000
                      : request->max_leases == 0);
    PROMISE(request->leases >= 0 && request->leases <= request->max_leases);
    PROMISE(request->leases <= 100);
    PROMISE(request->warning_ms >= 0 && request->warning_ms <= request->max_hold_ms &&
            request->max_hold_ms <= SERVED_TIMEOUT_MAX_MS);
    PROMISE(!request->revocable || (!semaphore && request->data == NULL));
    PROMISE(request->operation < SERVED_OPERATIONS && request->kind <= SERVED_LATCH);
    PROMISE(request->kind != SERVED_LATCH || request->operation != SERVED_ACQUIRE);
    PROMISE(request->limit >= 1 && request->limit <= 100);
    PROMISE(has_path(request->operation) == (request->path != NULL));
    PROMISE((request->operation == SERVED_ACQUIRE_ALL) == (request->members != NULL));
    for (size_t i = 0; i < json_array_size(request->members); i++) {
        struct served_request member;
        PROMISE(i < SERVED_LIST_MAX);
        PROMISE(served_request_read_member(request, i, &member) == NULL);
        PROMISE(member.path != NULL && member.kind < SERVED_LATCH);
    }
    PROMISE((request->operation == SERVED_WRITING) == (request->writes != NULL));
    for (size_t i = 0; i < json_array_size(request->writes); i++) {
        check_write(request, i);
    }
    check_text(request->path, "path", request);
    check_text(request->owner, "owner", request);
    check_text(request->data, "data", request);
    check_text(request->base64, "base64", request);
    check_text(request->node, "node", request);
    check_text(request->member, "member", request);
}

static void read_one(const char *line, size_t length)
{
    struct served_request request;
    /* A copy of its own, so that reading beyond it is seen. */
    char *copy = malloc(length == 0 ? 1 : length);

    memcpy(copy, line, length);
    if (served_request_read(&request, copy, length) == NULL) {
        check_accepted(&request);
    } else {
        PROMISE(request.id >= -1 && request.id <= SERVED_NUMBER_MAX);
    }
    served_request_free(&request);
    free(copy);
}

/* The lines as they stand in the input: `at` is where the next one begins. */
static enum line_result take_lines(struct line_buffer *buffer, const uint8_t *data,
                                   size_t *at)
{
    enum line_result result;
    const char *line;
    size_t length;

    while ((result = line_buffer_next(buffer, &line, &length)) == LINE_FOUND) {
        PROMISE(length <= buffer->line_max);
        PROMISE(memcmp(line, data + *at, length) == 0 && data[*at + length] == '\n');
        *at += length + 1;
        read_one(line, length);
    }
    return result;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct input input = {data, size};
    struct line_buffer buffer;
    enum line_result result = LINE_NONE;

    line_buffer_init(&buffer, LINE_LEAST + take_byte(&input));
    size_t piece = 1U + take_byte(&input), at = 0, sent = 0;
    data = input.at;
    while (sent < input.left && result == LINE_NONE) {
        size_t room = 0, left = input.left - sent;
        char *bytes = line_buffer_room(&buffer, &room);
        room = room < piece ? room : piece;
        room = room < left ? room : left;
        PROMISE(bytes != NULL && room > 0);
        memcpy(bytes, data + sent, room);
        line_buffer_add(&buffer, room);
        sent += room;
        result = take_lines(&buffer, data, &at);
    }
    PROMISE(buffer.capacity <= buffer.line_max + 1);
    PROMISE((result == LINE_TOO_LONG) == (sent - at > buffer.line_max));
    line_buffer_free(&buffer);
    return 0;
}
