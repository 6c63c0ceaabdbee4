#include "base/discipline.h"

#include <string.h>

void uvzk__discipline_parse(enum uvzk__discipline discipline, const char *name,
                            struct uvzk__node_name *out, bool *shared)
{
    *shared = false;
    switch (discipline) {
    case UVZK__EXCLUSIVE:
        uvzk__node_name_parse(out, name, UVZK__TOKEN_MUTEX);
        break;
    case UVZK__COUNTED:
        uvzk__node_name_parse(out, name, UVZK__TOKEN_LEASE);
        break;
    case UVZK__READ_WRITE:
        uvzk__node_name_parse(out, name, UVZK__TOKEN_WRITE);
        if (!out->is_contender) {
            uvzk__node_name_parse(out, name, UVZK__TOKEN_READ);
            *shared = out->is_contender;
        }
        break;
    case UVZK__DRIVEN:
        memset(out, 0, sizeof(*out)); /* no name says it by itself */
        break;
    }
}
