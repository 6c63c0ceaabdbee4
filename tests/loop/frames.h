/* SPDX-License-Identifier: Apache-2.0 */
/* Frames for the tests of loop/native: written as hexadecimal digits, compared, cut off. */
#ifndef UVZK_TEST_FRAMES_H
#define UVZK_TEST_FRAMES_H

#include "cmocka_test.h"

#include <stdlib.h>
#include <string.h>

#include "native/jute.h"

struct frame {
    size_t length;
    unsigned char *bytes;
};

static inline unsigned digit_of(char digit)
{
    return (unsigned)(digit <= '9' ? digit - '0' : digit - 'a' + 10);
}

/* From digits; spaces between them are only for the reader. To be freed. */
static inline struct frame frame_of(const char *digits)
{
    struct frame frame = {0, malloc(strlen(digits) / 2 + 1)};

    while (digits[0] != '\0') {
        if (digits[0] == ' ') {
            digits++;
        } else {
            frame.bytes[frame.length++] =
                (unsigned char)(digit_of(digits[0]) << 4 | digit_of(digits[1]));
            digits += 2;
        }
    }
    return frame;
}

/* The first `length` bytes of what `bytes` has, in memory of exactly this size, so that
 * AddressSanitizer sees a read beyond it. To be freed. */
static inline struct uvzk__jute_bytes cut_off(const unsigned char *bytes, size_t length)
{
    unsigned char *copy = malloc(length > 0 ? length : 1);

    memcpy(copy, bytes, length);
    return uvzk__jute_bytes(copy, length);
}

static inline void free_bytes(struct uvzk__jute_bytes bytes)
{
    free((void *)(uintptr_t)bytes.at);
}

static inline void assert_bytes(struct uvzk__jute_bytes bytes, const char *text)
{
    assert_int_equal(bytes.length, strlen(text));
    assert_memory_equal(bytes.at, text, bytes.length);
}

static inline void assert_written(const struct uvzk__jute_writer *writer,
                                  const char *digits)
{
    struct frame frame = frame_of(digits);

    assert_int_equal(writer->length, frame.length);
    assert_memory_equal(writer->bytes, frame.bytes, frame.length);
    free(frame.bytes);
}

/* The contents of the only frame that the writer has. */
static inline struct uvzk__jute_bytes contents(const struct uvzk__jute_writer *writer)
{
    struct uvzk__jute_bytes frame = {NULL, 0};

    assert_int_equal(uvzk__jute_frame(uvzk__jute_bytes(writer->bytes, writer->length),
                                      writer->length, &frame),
                     0);
    assert_int_equal(frame.length + 4, writer->length);
    return frame;
}

static inline bool is_zero(const void *memory, size_t size)
{
    const unsigned char *bytes = memory;

    for (size_t i = 0; i < size; i++) {
        if (bytes[i] != 0) {
            return false;
        }
    }
    return true;
}

#endif
