#include "base/refusal.h"

#include "uvzk.h"

/* Of the last refused call: nothing else can keep it when an init has failed. */
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

const char *uvzk_refusal(int code)
{
    return code != 0 && code == last.code ? last.sentence : uvzk_strerror(code);
}
