/* The version, and the texts and names of the error codes. The texts and names come from
 * the X-macros of uvzk.h and of libuv's headers. uv_strerror and uv_err_name are not
 * used, because they allocate memory for a code that they do not know. */
#include "uvzk.h"

#define QUOTE(text) #text
#define VERSION_TEXT(major, minor, patch) QUOTE(major) "." QUOTE(minor) "." QUOTE(patch)

const char *uvzk_version(void)
{
    return VERSION_TEXT(UVZK_VERSION_MAJOR, UVZK_VERSION_MINOR, UVZK_VERSION_PATCH);
}

const char *uvzk_strerror(int code)
{
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
