/* SPDX-License-Identifier: Apache-2.0 */
/* The owners of a connection in a hash table by name, with a count of uses
 * (served_owner.h). */
#include "serve/served_owner.h"

#include <stdlib.h>
#include <string.h>

struct served_owner *served_owner_enter(struct served_owner **owners, const char *name)
{
    unsigned length = (unsigned)strlen(name);
    struct served_owner *owner;

    HASH_FIND(hh, *owners, name, length, owner);
    if (owner == NULL) {
        owner = calloc(1, sizeof(*owner) + length + 1);
        if (owner == NULL) {
            return NULL;
        }
        memcpy(owner->name, name, length);
        HASH_ADD_KEYPTR(hh, *owners, owner->name, length, owner);
        if (owner->hh.tbl == NULL) {
            free(owner);
            return NULL;
        }
    }
    owner->holds++;
    return owner;
}

void served_owner_leave(struct served_owner **owners, struct served_owner *owner)
{
    if (--owner->holds == 0) {
        HASH_DEL(*owners, owner);
        free(owner);
    }
}

void served_owners_free(struct served_owner **owners)
{
    struct served_owner *owner, *next;

    HASH_ITER(hh, *owners, owner, next)
    {
        HASH_DEL(*owners, owner);
        free(owner);
    }
}
