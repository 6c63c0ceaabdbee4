/* SPDX-License-Identifier: Apache-2.0 */
/* The watches that a client outside has at its server (outside_client.h).
 *
 * A server has at most one watch of a kind on a path for a connection. So each watch here
 * has its path and kind as key, and keeps its number in the simulation. A watch on data
 * that a client has armed again as one for a znode that does not exist (SET_WATCHES) has a
 * kind of its own: the same request may have it in both lists, and one of them fires. */
#ifndef UVZK_OUTSIDE_WATCHES_H
#define UVZK_OUTSIDE_WATCHES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "sim_internal.h"

/* The first character of a key. */
enum {
    OUTSIDE_CHILD = 'c',
    OUTSIDE_DATA = 'd',
    OUTSIDE_EXIST = 'e',
    OUTSIDE_PERSISTENT = 'p' /* on the znode and on its children; it stays */
};

struct outside_watch {
    uint64_t id;
    bool told;     /* another event has told of this change already */
    bool rearming; /* it is in a SET_WATCHES that has not been answered */
    size_t key_length;
    UT_hash_handle hh_key, hh_id;
    char key[]; /* the kind, then the path */
};

struct outside_watches {
    struct outside_watch *by_key, *by_id;
};

static inline char outside_watch_kind(const struct outside_watch *watch)
{
    return watch->key[0];
}
static inline const char *outside_watch_path(const struct outside_watch *watch)
{
    return watch->key + 1;
}

/* NULL: there is none. */
struct outside_watch *outside_watch_find(const struct outside_watches *watches, char kind,
                                         const char *path);
/* The same, but a watch on data may also be one for a znode that did not exist. */
struct outside_watch *outside_watch_armed(const struct outside_watches *watches,
                                          char kind, const char *path);
struct outside_watch *outside_watch_of(const struct outside_watches *watches,
                                       uint64_t id);
struct outside_watch *outside_watch_add(struct outside_watches *watches, uint64_t id,
                                        char kind, const char *path);
void outside_watch_remove(struct outside_watches *watches, struct outside_watch *watch);
void outside_watches_free(struct outside_watches *watches);
/* The SET_WATCHES have been answered. */
void outside_watches_rearmed(struct outside_watches *watches);

/* Returns true if a removal, or a check, of watches of this number is about watches of
 * this kind: 1 (on children), 2 (on data) or 3 (any). */
bool outside_watch_is_of(char kind, int32_t number);
/* Returns true if a persistent watch reports each change of this znode. */
bool outside_watches_cover(const struct outside_watches *watches, const char *path);

#endif
