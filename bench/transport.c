/* SPDX-License-Identifier: Apache-2.0 */
#include "transport.h"

#include <string.h>

#include "uvzk.h"

static const char *const names[] = {
    [UVZK_TRANSPORT_C_CLIENT] = "c-client", [UVZK_TRANSPORT_NATIVE] = "native"};

bool transport_named(const char *name, uint32_t *transport)
{
    for (uint32_t i = 0; i < sizeof(names) / sizeof(names[0]); i++) {
        if (strcmp(name, names[i]) == 0) {
            *transport = i;
            return true;
        }
    }
    return false;
}

const char *transport_name(uint32_t transport)
{
    return names[transport];
}

bool transport_option(uint32_t *transport, const char **tls, int letter, const char *text)
{
    if (letter == 'S') {
        *tls = text;
        *transport = UVZK_TRANSPORT_NATIVE;
        return true;
    }
    return letter == 'T' && transport_named(text, transport);
}
