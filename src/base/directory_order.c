#include "base/directory_order.h"

#include <string.h>

void uvzk__parse_child_name(enum uvzk__directory_order directory_order, const char *name,
                            struct uvzk__node_name *out, bool *shared)
{
    *shared = false;
    switch (directory_order) {
    case UVZK__EXCLUSIVE:
        uvzk__node_name_parse(out, name, UVZK__NAME_PREFIX_MUTEX);
        break;
    case UVZK__COUNTED:
        uvzk__node_name_parse(out, name, UVZK__NAME_PREFIX_LEASE);
        break;
    case UVZK__READ_WRITE:
        uvzk__node_name_parse(out, name, UVZK__NAME_PREFIX_WRITE);
        if (!out->is_contender) {
            uvzk__node_name_parse(out, name, UVZK__NAME_PREFIX_READ);
            *shared = out->is_contender;
        }
        break;
    case UVZK__DRIVER_DEFINED:
        memset(out, 0, sizeof(*out)); /* is_contender: false */
        break;
    }
}
