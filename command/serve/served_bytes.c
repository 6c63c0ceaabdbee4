/* SPDX-License-Identifier: Apache-2.0 */
/* Base64, and which bytes need it (served_bytes.h). */
#include "served_bytes.h"

#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#define DIGITS 4U /* of a group, which stands for three bytes */
#define BYTES 3U
#define DIGIT_BITS 6U

static const char digits[] =
    "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";

/* Returns the value of a digit, or -1. */
static int value_of(char digit)
{
    return digit >= 'A' && digit <= 'Z'   ? digit - 'A'
           : digit >= 'a' && digit <= 'z' ? digit - 'a' + 26
           : digit >= '0' && digit <= '9' ? digit - '0' + 52
           : digit == '+'                 ? 62
           : digit == '/'                 ? 63
                                          : -1;
}

/* ---------------------------------------------------------------------- decoding */

/* How many `=` are at the end. */
static size_t padding_of(const char *text, size_t length)
{
    size_t padding = 0;

    while (padding < 2 && padding < length && text[length - 1 - padding] == '=') {
        padding++;
    }
    return padding;
}

bool served_bytes_are_base64(const char *text)
{
    size_t all = strlen(text), padding = padding_of(text, all);

    if (all % DIGITS != 0) {
        return false;
    }
    for (size_t i = 0; i < all - padding; i++) {
        if (value_of(text[i]) < 0) {
            return false;
        }
    }
    /* The bits of the last digit that stand for no byte are zero. */
    return padding == 0 ||
           value_of(text[all - padding - 1]) % (padding == 1 ? 4 : 16) == 0;
}

unsigned char *served_bytes_decode(const char *base64, unsigned char *bytes)
{
    uint32_t bits = 0;
    unsigned count = 0; /* of bits */

    for (; *base64 != '\0' && *base64 != '='; base64++) {
        bits = bits << DIGIT_BITS | (uint32_t)value_of(*base64);
        count += DIGIT_BITS;
        if (count >= 8) {
            count -= 8;
            *bytes++ = (unsigned char)(bits >> count & 0xFFU);
        }
    }
    return bytes;
}

/* ---------------------------------------------------------------------- encoding */

/* The digits of up to three bytes. */
static void encode_group(const unsigned char *bytes, size_t length, char *text)
{
    uint32_t bits = 0;

    for (size_t i = 0; i < BYTES; i++) {
        bits = bits << 8 | (i < length ? bytes[i] : 0U);
    }
    for (size_t i = 0; i < DIGITS; i++) {
        unsigned shift = DIGIT_BITS * (unsigned)(DIGITS - 1 - i);
        text[i] = '=';
        if (i <= length) {
            text[i] = digits[bits >> shift & 63U];
        }
    }
}

static json_t *base64_of(const unsigned char *bytes, size_t length)
{
    size_t groups = (length + BYTES - 1) / BYTES;
    char *text = malloc(groups * DIGITS + 1);
    json_t *value = NULL;

    if (text != NULL) {
        for (size_t i = 0; i < groups; i++) {
            size_t left = length - i * BYTES;
            encode_group(bytes + i * BYTES, left < BYTES ? left : BYTES,
                         text + i * DIGITS);
        }
        value = json_stringn(text, groups * DIGITS);
        free(text);
    }
    return value;
}

bool served_bytes_add(json_t *answer, const void *bytes, size_t length)
{
    bool has_nul = length > 0 && memchr(bytes, '\0', length) != NULL;
    json_t *value = has_nul ? NULL : json_stringn(length == 0 ? "" : bytes, length);

    /* json_stringn accepts UTF-8 only. */
    return value != NULL
               ? json_object_set_new(answer, "data", value) == 0
               : json_object_set_new(answer, "base64", base64_of(bytes, length)) == 0;
}
