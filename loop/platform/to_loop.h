/* SPDX-License-Identifier: Apache-2.0 */
/* The queue from any thread to the loop's thread, and the wake-up of the loop by its own
 * thread. Each entry brings its own link, so pushing needs no memory and cannot fail. */
#ifndef UVZK_TO_LOOP_H
#define UVZK_TO_LOOP_H

#include <pthread.h>
#include <stdbool.h>
#include <uv.h>

#include "base/list.h"

struct uvzk__to_loop_entry;

/* Called on the loop's thread. The entry is no longer on a list, so it may be pushed
 * again or freed. */
typedef void (*uvzk__arrive_cb)(struct uvzk__to_loop_entry *entry);

struct uvzk__to_loop_entry {
    struct uvzk__link link;
    uvzk__arrive_cb arrive;
};

struct uvzk__to_loop {
    pthread_mutex_t mutex;
    struct uvzk__link entries; /* protected by mutex, as async is */
    uv_async_t *async;         /* NULL until the queue is attached to a loop */
    /* Of the loop's thread alone. */
    uv_idle_t *idle;
    uv_idle_cb idle_cb;
    bool wake_wanted; /* idle_cb is to do something */
};

/* To be called on the loop's thread, which is the only writer of async. */
static inline bool uvzk__to_loop_is_attached(const struct uvzk__to_loop *to_loop)
{
    return to_loop->async != NULL;
}

/* Returns 0 or UV_ENOMEM. */
int uvzk__to_loop_init(struct uvzk__to_loop *to_loop);
/* Attaches the queue to a loop: from now on each push sends the async handle, and each
 * wake-up starts the idle handle, which idle_cb stops. The function sends the async handle
 * once itself, for the entries that already wait. */
void uvzk__to_loop_attach(struct uvzk__to_loop *to_loop, uv_async_t *async,
                          uv_idle_t *idle, uv_idle_cb idle_cb);
/* The handles are about to be closed: from now on nothing wakes the loop. */
void uvzk__to_loop_detach(struct uvzk__to_loop *to_loop);
/* In a forked child, where no other thread pushes: discards the entries, and resets the
 * mutex, which a thread of the parent may have locked. */
void uvzk__to_loop_renew(struct uvzk__to_loop *to_loop);
/* The queue must be empty, and no thread may push from now on. */
void uvzk__to_loop_destroy(struct uvzk__to_loop *to_loop);

/* Appends the entry; any thread may call this. The entry must not be on the queue.
 * `arrive` is called on the loop's thread. Entries that one thread pushes arrive in the
 * order in which they were pushed. */
void uvzk__to_loop_push(struct uvzk__to_loop *to_loop, struct uvzk__to_loop_entry *entry,
                        uvzk__arrive_cb arrive);

/* Removes an entry that was pushed, and for which `arrive` has not been called. To be called
 * on the loop's thread. */
void uvzk__to_loop_take_back(struct uvzk__to_loop *to_loop,
                             struct uvzk__to_loop_entry *entry);

/* Makes the loop run idle_cb before it sleeps again. Makes no system call, unlike
 * uv_async_send. Does nothing while the queue is not attached. To be called on the loop's
 * thread. */
void uvzk__to_loop_wake(struct uvzk__to_loop *to_loop);
/* Returns true if idle_cb has something to do. */
static inline bool uvzk__to_loop_is_woken(const struct uvzk__to_loop *to_loop)
{
    return to_loop->wake_wanted;
}
/* What the wake-ups were for is being done. */
void uvzk__to_loop_take_wake(struct uvzk__to_loop *to_loop);

/* Called on the loop's thread: calls `arrive` for every entry that was pushed before the
 * call. Entries that are pushed meanwhile wait for the next call. */
void uvzk__to_loop_drain(struct uvzk__to_loop *to_loop);

#endif
