/* SPDX-License-Identifier: Apache-2.0 */
/* The owners of one connection: names under which a program re-enters a lock that it
 * holds already. A name means one owner within its connection, and has nothing to do with
 * the same name in another one. */
#ifndef SERVED_OWNER_H
#define SERVED_OWNER_H

#include <stddef.h>

#include "serve/table.h"

struct served_owner {
    UT_hash_handle hh;
    size_t holds; /* pending acquires and holds of this owner */
    char name[];
};

/* Returns the owner with this name, which exists until served_owner_leave was called as
 * often as this function; NULL if there is no memory. */
struct served_owner *served_owner_enter(struct served_owner **owners, const char *name);
void served_owner_leave(struct served_owner **owners, struct served_owner *);
void served_owners_free(struct served_owner **owners);

#endif
