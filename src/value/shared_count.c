/* SPDX-License-Identifier: Apache-2.0 */
/* SharedCount: a shared value that is a number, in four bytes as Java's ByteBuffer writes
 * an int: two's complement, the high byte first. It is a shared value (shared_value.c)
 * with a listener that parses each new value. */
#include "base/refusal.h"
#include "engine/handle_end.h"
#include "value/shared_value.h"

#define COUNT_BYTES 4U

struct shared_count {
    struct uvzk__value_listener listener; /* in value->listeners */
    /* The user's struct, which contains the struct of the value. */
    uvzk_shared_count_t *handle;
    uvzk_shared_count_change_cb cb;
    uvzk_shared_count_close_cb close_cb;
    /* Of the last value that was at least four bytes long. */
    uvzk_value_version_t version;
    /* 0 until `known`. */
    int32_t count;
    bool known; /* there has been such a value */
};

static void write_count(unsigned char bytes[COUNT_BYTES], int32_t count)
{
    uint32_t bits = (uint32_t)count;

    for (unsigned i = 0; i < COUNT_BYTES; i++) {
        bytes[i] = (unsigned char)(bits >> (8U * (COUNT_BYTES - 1U - i)));
    }
}

/* Curator reads the first four bytes too, whatever follows them. The arithmetic avoids a
 * conversion of an unsigned value that does not fit. */
static int32_t read_count(const unsigned char *bytes)
{
    uint32_t bits = 0;

    for (unsigned i = 0; i < COUNT_BYTES; i++) {
        bits = bits << 8U | bytes[i];
    }
    return bits <= INT32_MAX ? (int32_t)bits : -1 - (int32_t)(UINT32_MAX - bits);
}

/* Takes over the value if it is a count. Returns 0; UVZK_ENONODE: no value is known;
 * UVZK_EDATA: the known value has fewer than four bytes. */
static int shared_count_learn(struct shared_count *count)
{
    const void *bytes;
    size_t length;
    uvzk_value_version_t version;
    int status = uvzk_shared_value_get(&count->handle->value, &bytes, &length, &version);

    if (status == 0 && length < COUNT_BYTES) {
        return UVZK_EDATA;
    }
    if (status == 0) {
        count->count = read_count(bytes);
        count->version = version;
        count->known = true;
    }
    return status;
}

static void shared_count_changed(struct uvzk__value_listener *listener)
{
    (void)shared_count_learn(UVZK__CONTAINER_OF(listener, struct shared_count, listener));
}

static uvzk_shared_count_t *handle_of(uvzk_shared_value_t *value)
{
    return UVZK__CONTAINER_OF(value, uvzk_shared_count_t, value);
}

static void value_told(uvzk_shared_value_t *value, int status)
{
    uvzk_shared_count_t *handle = handle_of(value);
    struct shared_count *count = handle->impl;

    if (count->cb != NULL) {
        /* If the new value is no count, the last count is passed with UVZK_EDATA. */
        count->cb(handle, status == 0 ? shared_count_learn(count) : status, count->count);
    }
}

/* Also called when the client is freed before the count is closed. */
static void free_count(uvzk_shared_value_t *value)
{
    uvzk_shared_count_t *handle = handle_of(value);

    uvzk__free(handle->impl);
    handle->impl = NULL;
}

static void value_closed(uvzk_shared_value_t *value)
{
    uvzk_shared_count_t *handle = handle_of(value);
    const struct shared_count *count = handle->impl;
    uvzk_shared_count_close_cb close_cb = count->close_cb;

    free_count(value);
    struct uvzk__end_listener *listener = uvzk__end_take(&handle->end);

    if (close_cb != NULL) {
        close_cb(handle);
    }
    uvzk__end_tell(listener, 0);
}

void uvzk__shared_count_listen(uvzk_shared_count_t *handle,
                               struct uvzk__value_listener *listener)
{
    uvzk__shared_value_listen(handle->value.impl, listener);
}

int uvzk_shared_count_init(uvzk_client_t *client, uvzk_shared_count_t *handle,
                           const char *path, int32_t seed, uvzk_shared_count_change_cb cb)
{
    unsigned char bytes[COUNT_BYTES];

    if (handle == NULL) {
        return uvzk__refuse(UV_EINVAL, "count is NULL");
    }
    if (handle->impl != NULL) {
        return uvzk__refuse(UV_EBUSY, "count is initialised already, or not zeroed");
    }
    struct shared_count *count = uvzk__calloc(1, sizeof(*count));
    if (count == NULL) {
        return UV_ENOMEM;
    }
    write_count(bytes, seed);
    int status = uvzk__shared_value_open(client, &handle->value, path, bytes, COUNT_BYTES,
                                         UVZK__VALUE_IS_COUNT, value_told);
    if (status != 0) {
        uvzk__free(count);
        return status;
    }
    struct uvzk__shared_value *value = handle->value.impl;
    value->client_gone_cb = free_count;
    count->handle = handle;
    count->cb = cb;
    count->listener.changed = shared_count_changed;
    uvzk__shared_value_listen(value, &count->listener);
    handle->impl = count;
    /* Another value of this client on the path may have read it already. */
    (void)shared_count_learn(count);
    return 0;
}

int uvzk_shared_count_get(const uvzk_shared_count_t *handle, int32_t *count_out,
                          uvzk_value_version_t *version)
{
    if (handle == NULL) {
        return uvzk__refuse(UV_EINVAL, "count is NULL");
    }
    const struct shared_count *count = handle->impl;
    int status = uvzk_shared_value_get(&handle->value, NULL, NULL, NULL);
    if (status != 0) {
        return status;
    }
    if (!count->known) {
        return uvzk__refuse(UVZK_EDATA, "the znode's data are fewer than four bytes");
    }
    if (count_out != NULL) {
        *count_out = count->count;
    }
    if (version != NULL) {
        *version = count->version;
    }
    return 0;
}

int uvzk_shared_count_set(uvzk_shared_count_t *handle, uvzk_req_t *request, int32_t count,
                          uvzk_req_cb cb)
{
    unsigned char bytes[COUNT_BYTES];

    write_count(bytes, count);
    return uvzk_shared_value_set(handle == NULL ? NULL : &handle->value, request, bytes,
                                 COUNT_BYTES, cb);
}

int uvzk_shared_count_try_set(uvzk_shared_count_t *handle, uvzk_req_t *request,
                              const uvzk_value_version_t *version, int32_t count,
                              uvzk_req_cb cb)
{
    unsigned char bytes[COUNT_BYTES];

    write_count(bytes, count);
    return uvzk_shared_value_try_set(handle == NULL ? NULL : &handle->value, request,
                                     version, bytes, COUNT_BYTES, cb);
}

int uvzk_shared_count_close(uvzk_shared_count_t *handle,
                            uvzk_shared_count_close_cb close_cb)
{
    int status =
        uvzk_shared_value_close(handle == NULL ? NULL : &handle->value, value_closed);

    if (status == 0) {
        struct shared_count *count = handle->impl;
        count->close_cb = close_cb;
        uvzk__end_begin(&handle->end, uvzk__shared_value_session(&handle->value));
    }
    return status;
}
