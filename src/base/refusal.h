/* SPDX-License-Identifier: Apache-2.0 */
/* Why a call was refused: a sentence per thread, kept until the next call on that thread
 * is refused. uvzk_refusal returns it to the user. */
#ifndef UVZK_REFUSAL_H
#define UVZK_REFUSAL_H

#include <stddef.h>

/* Stores the code and the sentence for this thread. Returns the code. sentence: static
 * text that names the argument or the field. */
int uvzk__refuse(int code, const char *sentence);

/* The same with a sentence that has numbers in it. It is copied, and cut if it is long. */
int uvzk__refuse_with(int code, const char *format, ...)
    __attribute__((format(printf, 2, 3)));

/* Like uvzk__refuse, but does nothing and returns 0 if sentence is NULL. */
static inline int uvzk__refuse_if(int code, const char *sentence)
{
    return sentence == NULL ? 0 : uvzk__refuse(code, sentence);
}

/* Copies a text as a sentence may show it, cut to size - 1 bytes: blanks and characters
 * that are not printable are '?'. */
void uvzk__refusal_show(char *shown, size_t size, const char *text, size_t length);

#endif
