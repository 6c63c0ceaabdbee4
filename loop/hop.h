/* The hop from any thread onto the loop's. What hops brings its own link, so
 * that nothing that has happened on another thread can fail to be told. */
#ifndef UVZK_HOP_H
#define UVZK_HOP_H

#include <pthread.h>
#include <stdbool.h>
#include <uv.h>

#include "base/list.h"

struct uvzk__hop_entry;

/* Runs on the loop's thread, off every list: the entry may be pushed again or
 * freed in it. */
typedef void (*uvzk__arrive_cb)(struct uvzk__hop_entry *entry);

struct uvzk__hop_entry {
    struct uvzk__link link;
    uvzk__arrive_cb arrive;
};

struct uvzk__hop {
    pthread_mutex_t mutex;
    struct uvzk__link entries;
    uv_async_t *async; /* NULL until the hop is attached to a loop */
};

static inline bool uvzk__hop_is_attached(const struct uvzk__hop *hop)
{
    return hop->async != NULL;
}

/* 0 or UV_ENOMEM. */
int uvzk__hop_init(struct uvzk__hop *hop);
/* From now on pushes wake this handle, and all that waits already does. */
void uvzk__hop_attach(struct uvzk__hop *hop, uv_async_t *async);
/* No entry may be on its way any more. */
void uvzk__hop_destroy(struct uvzk__hop *hop);

/* Any thread. The entry must not be on its way already. Entries of one thread
 * arrive in the order in which they were pushed. */
void uvzk__hop_push(struct uvzk__hop *hop, struct uvzk__hop_entry *entry,
                    uvzk__arrive_cb arrive);

/* The loop's thread: lets everything arrive that was pushed before the call. */
void uvzk__hop_drain(struct uvzk__hop *hop);

#endif
