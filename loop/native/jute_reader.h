/* Reads the values of jute, the encoding of ZooKeeper's protocol: big-endian integers,
 * and bytes with their length before them. Nothing is copied: bytes and strings are views
 * into the frame, and valid as long as the frame is. No read goes beyond the frame.
 *
 * The first value that is malformed or that the frame does not have makes the reader
 * `malformed`. From then on every read returns 0 or null, so a caller may read a whole
 * record and check once. */
#ifndef UVZK_JUTE_READER_H
#define UVZK_JUTE_READER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

/* Longer frames are refused by a server whose jute.maxbuffer is the default. */
#define UVZK__JUTE_MAXBUFFER 0xfffffU

/* A buffer or a string of jute. A string has no NUL at its end, may contain NULs, and is
 * not known to be UTF-8. An empty one has length 0, and `at` is not NULL. */
struct uvzk__jute_bytes {
    const unsigned char *at; /* NULL: null, which is length -1 in a frame */
    size_t length;
};

static inline struct uvzk__jute_bytes uvzk__jute_bytes(const void *at, size_t length)
{
    return (struct uvzk__jute_bytes){at, length};
}

/* text: NULL makes a null string. */
static inline struct uvzk__jute_bytes uvzk__jute_text(const char *text)
{
    return uvzk__jute_bytes(text, text == NULL ? 0 : strlen(text));
}

struct uvzk__jute_reader {
    const unsigned char *at;
    size_t left;
    bool malformed;
};

void uvzk__jute_reader_init(struct uvzk__jute_reader *reader,
                            struct uvzk__jute_bytes bytes);
/* The caller has found what it read to be malformed. */
void uvzk__jute_refuse(struct uvzk__jute_reader *reader);
int32_t uvzk__jute_get_int(struct uvzk__jute_reader *reader);
int64_t uvzk__jute_get_long(struct uvzk__jute_reader *reader);
/* Only 0 and 1 are well formed. */
bool uvzk__jute_get_bool(struct uvzk__jute_reader *reader);
/* -1 is the only negative length that is well formed. */
struct uvzk__jute_bytes uvzk__jute_get_bytes(struct uvzk__jute_reader *reader);

/* Finds the frame at the front of what a connection has received. *frame: the frame's
 * contents, without the 4 bytes of its length; it is set only if 0 is returned.
 * UV_EAGAIN: the frame is not complete. UV_EMSGSIZE: its length is greater than limit
 * (for example UVZK__JUTE_MAXBUFFER), which is known as soon as its first 4 bytes are.
 * UV_EPROTO: its length is negative. */
int uvzk__jute_frame(struct uvzk__jute_bytes received, size_t limit,
                     struct uvzk__jute_bytes *frame);

#endif
