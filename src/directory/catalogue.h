/* The directories of a client, by discipline and path; and in the order in which they
 * came. A chain a bucket: each of them has two links and its hash for this, and no
 * memory else. */
#ifndef UVZK_CATALOGUE_H
#define UVZK_CATALOGUE_H

#include <stdint.h>

#include "base/directory_order.h"
#include "base/list.h"

struct uvzk__queue;

/* Of a client. */
struct uvzk__catalogue {
    struct uvzk__link all;        /* in the order in which they came */
    struct uvzk__queue **buckets; /* NULL: none yet */
    uint32_t bucket_count;        /* a power of two */
    uint32_t count;
};

/* Of a directory. */
struct uvzk__catalogue_entry {
    struct uvzk__link in_all; /* on catalogue->all */
    struct uvzk__queue *next; /* in its bucket */
    uint32_t hash;
};

static inline uint32_t uvzk__catalogue_hash(const struct uvzk__catalogue_entry *entry)
{
    return entry->hash;
}

void uvzk__catalogue_init(struct uvzk__catalogue *);
void uvzk__catalogue_free(struct uvzk__catalogue *);

/* NULL: there is none. */
struct uvzk__queue *uvzk__catalogue_find(const struct uvzk__catalogue *,
                                         enum uvzk__directory_order, const char *path);

/* One that is not there yet; 0 or UV_ENOMEM, which changes nothing. */
int uvzk__catalogue_add(struct uvzk__catalogue *, struct uvzk__queue *);
void uvzk__catalogue_remove(struct uvzk__catalogue *, struct uvzk__queue *);

/* The first that came, and the next one; NULL: there is none. */
struct uvzk__queue *uvzk__catalogue_first(const struct uvzk__catalogue *);
struct uvzk__queue *uvzk__catalogue_next(const struct uvzk__catalogue *,
                                         const struct uvzk__queue *);

#endif
