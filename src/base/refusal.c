/* SPDX-License-Identifier: Apache-2.0 */
/* One buffer for each thread with the reason of its last refused call (refusal.h). */
#include "base/refusal.h"

#include <stdarg.h>
#include <stdio.h>

#include "uvzk.h"

/* The last refused call of this thread. It cannot be kept in an object, because there is
 * no object when an init function has failed. */
static _Thread_local struct {
    int code;
    const char *sentence;
    char text[200]; /* of a sentence that has numbers in it */
} last;

int uvzk__refuse(int code, const char *sentence)
{
    last.code = code;
    last.sentence = sentence;
    return code;
}

int uvzk__refuse_with(int code, const char *format, ...)
{
    va_list arguments;

    va_start(arguments, format);
    (void)vsnprintf(last.text, sizeof(last.text), format, arguments);
    va_end(arguments);
    return uvzk__refuse(code, last.text);
}

/* The sentence is returned only for its own code: a later failure with another code may
 * not have stored a sentence. */
const char *uvzk_refusal(int code)
{
    return code != 0 && code == last.code ? last.sentence : uvzk_strerror(code);
}

void uvzk__refusal_show(char *shown, size_t size, const char *text, size_t length)
{
    length = length < size ? length : size - 1;
    for (size_t i = 0; i < length; i++) {
        shown[i] = (char)(text[i] > ' ' && text[i] < 127 ? text[i] : '?');
    }
    shown[length] = '\0';
}
