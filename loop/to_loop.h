/* The queue from any thread to the loop's. What is pushed brings its own link, so
 * that nothing that has happened on another thread can fail to be told. */
#ifndef UVZK_TO_LOOP_H
#define UVZK_TO_LOOP_H

#include <pthread.h>
#include <stdbool.h>
#include <uv.h>

#include "base/list.h"

struct uvzk__to_loop_entry;

/* Runs on the loop's thread, off every list: the entry may be pushed again or
 * freed in it. */
typedef void (*uvzk__arrive_cb)(struct uvzk__to_loop_entry *entry);

struct uvzk__to_loop_entry {
    struct uvzk__link link;
    uvzk__arrive_cb arrive;
};

struct uvzk__to_loop {
    pthread_mutex_t mutex;
    struct uvzk__link entries;
    uv_async_t *async; /* NULL until the queue to the loop is attached to a loop */
};

static inline bool uvzk__to_loop_is_attached(const struct uvzk__to_loop *to_loop)
{
    return to_loop->async != NULL;
}

/* 0 or UV_ENOMEM. */
int uvzk__to_loop_init(struct uvzk__to_loop *to_loop);
/* From now on pushes wake this handle, and all that waits already does. */
void uvzk__to_loop_attach(struct uvzk__to_loop *to_loop, uv_async_t *async);
/* No entry may be on its way any more. */
void uvzk__to_loop_destroy(struct uvzk__to_loop *to_loop);

/* Any thread. The entry must not be on its way already. Entries of one thread
 * arrive in the order in which they were pushed. */
void uvzk__to_loop_push(struct uvzk__to_loop *to_loop, struct uvzk__to_loop_entry *entry,
                        uvzk__arrive_cb arrive);

/* The loop's thread: lets everything arrive that was pushed before the call. */
void uvzk__to_loop_drain(struct uvzk__to_loop *to_loop);

#endif
