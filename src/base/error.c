/* SPDX-License-Identifier: Apache-2.0 */
/* The version; the texts and names of the error codes, and what they mean for the caller.
 * The texts and names come from the X-macros of uvzk.h and of libuv's headers, but for
 * one text.
 * uv_strerror and uv_err_name are not used, because they allocate memory for a code that
 * they do not know. */
#include "base/outcome.h"
#include "uvzk.h"

#define QUOTE(text) #text
#define VERSION_TEXT(major, minor, patch) QUOTE(major) "." QUOTE(minor) "." QUOTE(patch)

const char *uvzk_version(void)
{
#if UVZK_VERSION_IS_RELEASE
    return VERSION_TEXT(UVZK_VERSION_MAJOR, UVZK_VERSION_MINOR, UVZK_VERSION_PATCH);
#else
    return VERSION_TEXT(UVZK_VERSION_MAJOR, UVZK_VERSION_MINOR,
                        UVZK_VERSION_PATCH) "-" UVZK_VERSION_SUFFIX;
#endif
}

const char *uvzk_strerror(int code)
{
    /* libuv's text, "connection timed out", would be wrong for a lock that is busy. */
    if (code == UV_ETIMEDOUT) {
        return "timed out; if it was for a lock, others hold it or are ahead";
    }
    switch (code) {
    case 0:
        return "success";
#define XX(name, value, text) \
    case UVZK_##name:         \
        return text;
        UVZK_ERRNO_MAP(XX)
#undef XX
#define XX(name, text) \
    case UV_##name:    \
        return text;
        UV_ERRNO_MAP(XX)
#undef XX
    default:
        return "unknown error";
    }
}

const char *uvzk_err_name(int code)
{
    switch (code) {
    case 0:
        return "OK";
#define XX(name, value, text) \
    case UVZK_##name:         \
        return "UVZK_" #name;
        UVZK_ERRNO_MAP(XX)
#undef XX
#define XX(name, text) \
    case UV_##name:    \
        return "UV_" #name;
        UV_ERRNO_MAP(XX)
#undef XX
    default:
        return "UNKNOWN";
    }
}

int uvzk_err_is_retriable(int code)
{
    switch (code) {
    case UVZK_ECONNLOSS:
    case UVZK_ENOTSENT:
    case UVZK_EEXPIRED:
    case UVZK_ETHROTTLED:
    case UVZK_ELOST:
    case UVZK_ELIMIT:
    case UVZK_EPROOF:
    case UVZK_EDELETED:
    case UVZK_EMAXHOLD:
    case UVZK_EUNREACHABLE:
    case UVZK_ENOTQUEUED:
    case UVZK_EDIVERGED:
    case UV_EAGAIN:
    case UV_ENOMEM:
    case UV_ETIMEDOUT:
        return 1;
    default:
        return 0;
    }
}

/* The codes with which a request ends although it may have been sent: the reply was lost,
 * or could not be stored; the session, the client or the future ended before it. All
 * other known codes are the server's answer, or say that nothing was sent. */
static int may_follow_a_sent_request(int code)
{
    return uvzk__outcome_of(code) == UVZK__OUTCOME_UNKNOWN || code == UVZK_EINTERNAL ||
           code == UV_ECANCELED || code == UV_ETIMEDOUT;
}

static int is_known(int code)
{
    switch (code) {
    case 0:
#define XX(name, value, text) case UVZK_##name:
        UVZK_ERRNO_MAP(XX)
#undef XX
    case UV_EAGAIN:
    case UV_EBUSY:
    case UV_ECANCELED:
    case UV_EINVAL:
    case UV_EIO:
    case UV_ENOENT:
    case UV_ENOMEM:
    case UV_ENOTSUP:
    case UV_ERANGE:
    case UV_ETIMEDOUT:
        return 1;
    default:
        return 0;
    }
}

int uvzk_err_outcome_is_unknown(int code)
{
    return may_follow_a_sent_request(code) || !is_known(code);
}

int uvzk_err_hold_is_gone(int code)
{
    switch (code) {
    case UVZK_EEXPIRED:
    case UVZK_EAUTH:
    case UVZK_ECLOSED:
    case UVZK_ELOST:
    case UVZK_ENOTHELD:
    case UVZK_EPROOF:
    case UVZK_EDELETED:
    case UVZK_EINTERNAL:
    case UVZK_EMAXHOLD:
        return 1;
    default:
        return 0;
    }
}
