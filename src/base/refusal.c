#include "base/refusal.h"

#include "uvzk.h"

/* The last refused call of this thread. It cannot be kept in an object, because there is
 * no object when an init function has failed. */
static _Thread_local struct {
    int code;
    const char *sentence;
} last;

int uvzk__refuse(int code, const char *sentence)
{
    last.code = code;
    last.sentence = sentence;
    return code;
}

/* The sentence is returned only for its own code: a later failure with another code may
 * not have stored a sentence. */
const char *uvzk_refusal(int code)
{
    return code != 0 && code == last.code ? last.sentence : uvzk_strerror(code);
}
