/* The directories of a session: a hash table by directory order and path, and a list
 * in the order in which the directories were added. Each bucket is a chain. The links
 * and the hash are members of the directory, so adding one allocates nothing except
 * buckets. */
#ifndef UVZK_CATALOGUE_H
#define UVZK_CATALOGUE_H

#include <stdint.h>

#include "base/directory_order.h"
#include "base/list.h"

struct uvzk__queue;

/* The hash table of one session. */
struct uvzk__catalogue {
    struct uvzk__link all;        /* all directories, the oldest first */
    struct uvzk__queue **buckets; /* owned; NULL: no directory was added yet */
    uint32_t bucket_count;        /* a power of two */
    uint32_t count;               /* directories in the table */
};

/* The part of a directory that catalogue.c keeps. */
struct uvzk__catalogue_entry {
    struct uvzk__link in_all; /* on catalogue->all */
    struct uvzk__queue *next; /* in its bucket; NULL: the last one */
    uint32_t hash;            /* of the directory order and the path */
};

/* The hash of the directory's order and path. */
static inline uint32_t uvzk__catalogue_hash(const struct uvzk__catalogue_entry *entry)
{
    return entry->hash;
}

/* The struct must be all zeros. */
void uvzk__catalogue_init(struct uvzk__catalogue *);
/* Frees the buckets, but not the directories. Call it when the table is empty. */
void uvzk__catalogue_free(struct uvzk__catalogue *);

/* The directory of this order and path, or NULL. */
struct uvzk__queue *uvzk__catalogue_find(const struct uvzk__catalogue *,
                                         enum uvzk__directory_order, const char *path);

/* Adds a directory whose order and path are not in the table yet. The table does not own
 * it. Returns 0, or UV_ENOMEM, which changes nothing. */
int uvzk__catalogue_add(struct uvzk__catalogue *, struct uvzk__queue *);
/* Removes a directory that is in the table. Does not free it. */
void uvzk__catalogue_remove(struct uvzk__catalogue *, struct uvzk__queue *);

/* The directory that was added first, and the one that was added after this one. NULL:
 * there is none. */
struct uvzk__queue *uvzk__catalogue_first(const struct uvzk__catalogue *);
struct uvzk__queue *uvzk__catalogue_next(const struct uvzk__catalogue *,
                                         const struct uvzk__queue *);

#endif
