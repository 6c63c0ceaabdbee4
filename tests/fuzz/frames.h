/* SPDX-License-Identifier: Apache-2.0 */
/* What the fuzz targets of ZooKeeper's protocol share: whether what was read and written
 * again is the same. */
#ifndef UVZK_FUZZ_FRAMES_H
#define UVZK_FUZZ_FRAMES_H

#include "fuzz.h"
#include "native/jute.h"

/* The header that ends the entries of a multi. */
#define END_OF_MULTI 9U

/* The bytes that were written are the first of those that were read. In the header that
 * ends a multi, everything but "done" is ignored when it is read. */
static inline void check_same(struct uvzk__jute_bytes read, struct uvzk__jute_bytes again,
                              bool is_multi)
{
    PROMISE(again.length <= read.length);
    PROMISE(memcmp(read.at, again.at, again.length - (is_multi ? END_OF_MULTI : 0)) == 0);
}

static inline struct uvzk__jute_bytes contents(const struct uvzk__jute_writer *writer)
{
    struct uvzk__jute_bytes frame;

    PROMISE(uvzk__jute_frame(uvzk__jute_bytes(writer->bytes, writer->length),
                             UVZK__JUTE_MAXBUFFER, &frame) == 0);
    return frame;
}

static inline void write_strings(struct uvzk__jute_list left)
{
    struct uvzk__jute_list list = left;
    struct uvzk__jute_writer writer;
    struct uvzk__jute_bytes string;
    int32_t count = 0;

    uvzk__jute_writer_init(&writer);
    for (; uvzk__jute_strings_next(&left, &string); count++) {
        uvzk__jute_put_bytes(&writer, string);
    }
    PROMISE(list.count == count || (list.count == -1 && count == 0));
    PROMISE(writer.status == 0 && writer.length == list.length);
    PROMISE(list.length == 0 || memcmp(list.at, writer.bytes, list.length) == 0);
    uvzk__jute_writer_end(&writer);
}

#endif
