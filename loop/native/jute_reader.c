/* Takes values from the front of a frame (jute_reader.h). All reads go through
 * jute_reader_take(), which checks the length, so no read leaves the frame. */
#include "native/jute_reader.h"

#include <uv.h>

void uvzk__jute_reader_init(struct uvzk__jute_reader *reader,
                            struct uvzk__jute_bytes bytes)
{
    *reader = (struct uvzk__jute_reader){bytes.at, bytes.length, false};
}

void uvzk__jute_refuse(struct uvzk__jute_reader *reader)
{
    reader->malformed = true;
}

/* Returns the next bytes. NULL: the frame does not have that many. */
static const unsigned char *jute_reader_take(struct uvzk__jute_reader *reader,
                                             size_t length)
{
    if (reader->malformed || length > reader->left) {
        uvzk__jute_refuse(reader);
        return NULL;
    }
    const unsigned char *taken = reader->at;
    reader->at += length;
    reader->left -= length;
    return taken;
}

static uint64_t jute_reader_get(struct uvzk__jute_reader *reader, size_t size)
{
    const unsigned char *bytes = jute_reader_take(reader, size);
    uint64_t value = 0;

    for (size_t i = 0; bytes != NULL && i < size; i++) {
        value = value << 8 | bytes[i];
    }
    return value;
}

int32_t uvzk__jute_get_int(struct uvzk__jute_reader *reader)
{
    return (int32_t)(uint32_t)jute_reader_get(reader, 4);
}

int64_t uvzk__jute_get_long(struct uvzk__jute_reader *reader)
{
    return (int64_t)jute_reader_get(reader, 8);
}

bool uvzk__jute_get_bool(struct uvzk__jute_reader *reader)
{
    uint64_t value = jute_reader_get(reader, 1);

    if (value > 1) {
        uvzk__jute_refuse(reader);
    }
    return value == 1;
}

struct uvzk__jute_bytes uvzk__jute_get_bytes(struct uvzk__jute_reader *reader)
{
    int32_t length = uvzk__jute_get_int(reader);

    if (length < -1) {
        uvzk__jute_refuse(reader);
    }
    if (length < 0) {
        return uvzk__jute_bytes(NULL, 0);
    }
    const unsigned char *at = jute_reader_take(reader, (size_t)length);
    return uvzk__jute_bytes(at, at == NULL ? 0 : (size_t)length);
}

int uvzk__jute_frame(struct uvzk__jute_bytes received, size_t limit,
                     struct uvzk__jute_bytes *frame)
{
    struct uvzk__jute_reader reader;

    uvzk__jute_reader_init(&reader, received);
    int32_t length = uvzk__jute_get_int(&reader);
    if (reader.malformed) {
        return UV_EAGAIN;
    }
    if (length < 0) {
        return UV_EPROTO;
    }
    if ((size_t)length > limit) {
        return UV_EMSGSIZE;
    }
    if ((size_t)length > reader.left) {
        return UV_EAGAIN;
    }
    *frame = uvzk__jute_bytes(reader.at, (size_t)length);
    return 0;
}
