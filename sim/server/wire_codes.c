/* SPDX-License-Identifier: Apache-2.0 */
/* A table of ZooKeeper's error codes and their names (wire_codes.h). */
#include "wire_codes.h"

#include <stddef.h>
#include <string.h>

#include "uvzk.h"

#define BADARGUMENTS (-8)

static const struct {
    const char *name;
    int status;
    int32_t code;
} codes[] = {
    {"NONODE", UVZK_ENONODE, -101},
    {"NOAUTH", UVZK_ENOAUTH, -102},
    {"BADVERSION", UVZK_EBADVERSION, -103},
    {"NOCHILDREN", UVZK_ENOCHILDREN, -108},
    {"NODEEXISTS", UVZK_ENODEEXISTS, -110},
    {"NOTEMPTY", UVZK_ENOTEMPTY, -111},
    {"INVALIDACL", UVZK_EINVALIDACL, -114},
    {"THROTTLED", UVZK_ETHROTTLED, -127},
    {"UNIMPLEMENTED", UVZK_EUNIMPLEMENTED, -6},
};

#define COUNT (sizeof(codes) / sizeof(codes[0]))

int32_t wire_code(int status)
{
    for (size_t i = 0; i < COUNT; i++) {
        if (codes[i].status == status) {
            return codes[i].code;
        }
    }
    return status == 0 ? 0 : BADARGUMENTS;
}

bool wire_status_named(const char *name, int *status)
{
    for (size_t i = 0; i < COUNT; i++) {
        if (strcmp(codes[i].name, name) == 0) {
            *status = codes[i].status;
            return true;
        }
    }
    return false;
}
