/* SPDX-License-Identifier: Apache-2.0 */
/* Public structs that may grow at their end: each begins with its size, as the program
 * knows it. A program that was built with an older or a newer header has a shorter or a
 * longer struct than this library, so only the part that both know may be copied. */
#ifndef UVZK_STRUCT_SIZE_H
#define UVZK_STRUCT_SIZE_H

#include <stddef.h>
#include <string.h>

/* The size of a struct up to the end of a field. The last field of the first version of
 * the interface gives the smallest size that a program may pass, which does not
 * change when fields are appended. */
#define UVZK__SIZE_UP_TO(type, field) (offsetof(type, field) + sizeof(((type *)0)->field))

static inline size_t uvzk__size_known_to_both(size_t of_program, size_t of_library)
{
    return of_program < of_library ? of_program : of_library;
}

/* Copies an answer of this library into the program's struct, which keeps its size. */
static inline void uvzk__answer_into(void *to, const void *from, size_t of_library)
{
    size_t of_program = *(size_t *)to;

    memcpy(to, from, uvzk__size_known_to_both(of_program, of_library));
    *(size_t *)to = of_program;
}

/* Copies the program's struct over this library's defaults, which keep their size. */
static inline void uvzk__settings_from(void *to, const void *from, size_t of_library)
{
    memcpy(to, from, uvzk__size_known_to_both(*(const size_t *)from, of_library));
    *(size_t *)to = of_library;
}

#endif
