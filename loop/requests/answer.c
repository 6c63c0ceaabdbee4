/* SPDX-License-Identifier: Apache-2.0 */
/* The completions of the C client. They run on the C client's thread. The reply that they
 * receive is valid only until they return, so they copy it into the request and push the
 * request onto the queue to the loop. An allocation failure while copying becomes the
 * reply's status.
 *
 * The C client passes on whatever a server has sent: a path that is null, a list with a
 * count of -1, names that are null. What cannot be copied makes the reply's status
 * UVZK_ECONNLOSS; what was copied is compared with the request on the loop
 * (send_window.c), because the rpc must not be read on this thread. */
#include "requests/answer.h"

#include <string.h>

#include "base/memory.h"
#include "platform/error_map.h"
#include "requests/request.h"
#include "requests/send_window.h"

static struct uvzk__request *request_of(const void *data)
{
    return (struct uvzk__request *)(uintptr_t)data;
}

static void to_loop(struct uvzk__request *request, int code)
{
    request->code = code;
    uvzk__to_loop_push(request->window->to_loop, &request->to_loop_entry,
                       request->arrive);
}

static void copy_stat(struct uvzk__request *request, const struct Stat *stat)
{
    request->reply.stat.czxid = stat->czxid;
    request->reply.stat.mzxid = stat->mzxid;
    request->reply.stat.ephemeral_owner = stat->ephemeralOwner;
    request->reply.stat.created_ms = stat->ctime;
    request->reply.stat.version = stat->version;
    request->reply.stat.child_count = stat->numChildren;
}

/* Returns the index of the first operation that failed. The operations after it have the
 * code ZRUNTIMEINCONSISTENCY, which means "not tried". */
static size_t failed_op(const struct uvzk__request *request)
{
    for (size_t i = 0; i < request->op_count; i++) {
        int error = request->results[i].err;
        if (error != ZOK && error != ZRUNTIMEINCONSISTENCY) {
            return i;
        }
    }
    return SIZE_MAX;
}

void uvzk__answer_void(int rc, const void *data)
{
    to_loop(request_of(data), rc);
}

/* The C client has written the created paths into the request's own memory (request.c), so
 * nothing is copied. Of an answer with fewer results than operations, the others still
 * have the code that request.c has set. */
static void take_made(struct uvzk__request *request)
{
    const char **made = request->made;
    for (size_t i = 0; i < request->op_count; i++) {
        made[i] = request->results[i].value;
        if (request->results[i].err != ZOK) {
            request->reply.status = UVZK_ECONNLOSS;
        }
    }
    request->reply.made = made;
}

void uvzk__answer_multi(int rc, const void *data)
{
    struct uvzk__request *request = request_of(data);
    if (rc == ZOK) {
        take_made(request);
    } else if (uvzk__error_of_reply(rc) != UVZK_ECONNLOSS) {
        request->reply.failed_op = failed_op(request);
    }
    to_loop(request, rc);
}

void uvzk__answer_stat(int rc, const struct Stat *stat, const void *data)
{
    struct uvzk__request *request = request_of(data);
    if (rc == ZOK) {
        copy_stat(request, stat);
    }
    to_loop(request, rc);
}

/* The length of a znode that was created without data is -1. */
void uvzk__answer_data(int rc, const char *value, int length, const struct Stat *stat,
                       const void *data)
{
    struct uvzk__request *request = request_of(data);
    if (rc == ZOK) {
        size_t size = length > 0 ? (size_t)length : 0;
        copy_stat(request, stat);
        const void *copy =
            uvzk__request_set_memory(request, uvzk__memdup(size > 0 ? value : "", size));
        if (copy == NULL) {
            request->reply.status = UV_ENOMEM;
        } else {
            request->reply.data = copy;
            request->reply.data_length = size;
        }
    }
    to_loop(request, rc);
}

/* Uses one allocation: the pointers, then the texts. */
static int copy_names(struct uvzk__request *request, const struct String_vector *names)
{
    if (names->count < 0) {
        return UVZK_ECONNLOSS;
    }
    size_t count = (size_t)names->count;
    size_t size = count * sizeof(char *) + 1;
    for (size_t i = 0; i < count; i++) {
        if (names->data[i] == NULL) {
            return UVZK_ECONNLOSS;
        }
        size += strlen(names->data[i]) + 1;
    }
    const char **pointers = uvzk__request_set_memory(request, uvzk__malloc(size));
    if (pointers == NULL) {
        return UV_ENOMEM;
    }
    char *text = (char *)(pointers + count);
    for (size_t i = 0; i < count; i++) {
        size_t length = strlen(names->data[i]) + 1;
        memcpy(text, names->data[i], length);
        pointers[i] = text;
        text += length;
    }
    request->reply.names = pointers;
    request->reply.name_count = count;
    return 0;
}

void uvzk__answer_names(int rc, const struct String_vector *names, const void *data)
{
    struct uvzk__request *request = request_of(data);
    if (rc == ZOK) {
        request->reply.status = copy_names(request, names);
    }
    to_loop(request, rc);
}

/* The buffer fits the longest path that a server answers. */
static void copy_path(struct uvzk__request *request, const char *path)
{
    if (path == NULL || strlen(path) >= request->name_size) {
        request->reply.status = UVZK_ECONNLOSS;
    } else {
        memcpy(request->name, path, strlen(path) + 1);
        request->reply.name = request->name;
    }
}

void uvzk__answer_path(int rc, const char *path, const void *data)
{
    struct uvzk__request *request = request_of(data);
    if (rc == ZOK) {
        copy_path(request, path);
    }
    to_loop(request, rc);
}

void uvzk__answer_created(int rc, const char *path, const struct Stat *stat,
                          const void *data)
{
    struct uvzk__request *request = request_of(data);
    if (rc == ZOK) {
        copy_path(request, path);
        copy_stat(request, stat);
    }
    to_loop(request, rc);
}

void uvzk__answer_created_path(int rc, const char *path, const void *data)
{
    struct uvzk__request *request = request_of(data);
    if (rc == ZOK) {
        copy_path(request, path);
    }
    to_loop(request, rc);
}

void uvzk__answer_question(int rc, const char *path, const struct Stat *stat,
                           const void *data)
{
    (void)path;
    (void)stat;
    to_loop(request_of(data), rc);
}
