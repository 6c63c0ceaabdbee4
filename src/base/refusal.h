/* Why a call was refused: a sentence, kept for each thread until the next one is. */
#ifndef UVZK_REFUSAL_H
#define UVZK_REFUSAL_H

#include <stddef.h>

/* The call on this thread is refused with this code, for this reason; returns the code.
 * sentence: static text that names the argument or the field. */
int uvzk__refuse(int code, const char *sentence);

/* The same, unless there is no reason (NULL), which is 0. */
static inline int uvzk__refuse_if(int code, const char *sentence)
{
    return sentence == NULL ? 0 : uvzk__refuse(code, sentence);
}

#endif
