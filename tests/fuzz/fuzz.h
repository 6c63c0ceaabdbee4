/* SPDX-License-Identifier: Apache-2.0 */
/* What the fuzz targets share: the input, taken apart from its front. Every target is a
 * program of libFuzzer's; what must not be aborts. */
#ifndef UVZK_FUZZ_H
#define UVZK_FUZZ_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* libFuzzer calls it for each input; always 0. */
int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

struct input {
    const uint8_t *at;
    size_t left;
};

/* Says which promise was broken, and aborts. */
#define PROMISE(condition)                                                          \
    do {                                                                            \
        if (!(condition)) {                                                         \
            fprintf(stderr, "%s:%d: broken: %s\n", __FILE__, __LINE__, #condition); \
            abort();                                                                \
        }                                                                           \
    } while (0)

/* 0 when there is nothing left. */
static inline uint8_t take_byte(struct input *input)
{
    if (input->left == 0) {
        return 0;
    }
    input->left--;
    return *input->at++;
}

static inline uint32_t take_number(struct input *input)
{
    uint32_t number = 0;

    for (int i = 0; i < 4; i++) {
        number = number << 8 | take_byte(input);
    }
    return number;
}

/* The bytes up to the next line's end, or all; a string, without NULs in it, to be
 * freed. */
static inline char *take_line(struct input *input)
{
    size_t length = 0;

    while (length < input->left && input->at[length] != '\n' &&
           input->at[length] != '\0') {
        length++;
    }
    char *line = malloc(length + 1);
    memcpy(line, input->at, length);
    line[length] = '\0';
    input->at += length;
    input->left -= length;
    (void)take_byte(input); /* the line's end */
    return line;
}

#endif
