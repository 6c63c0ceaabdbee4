/* SPDX-License-Identifier: Apache-2.0 */
/* A list under a mutex, the async handle by which other threads wake the loop, and the idle
 * handle by which its own does (to_loop.h). The loop takes the whole list at once, and calls
 * the entries without the mutex. */
#include "platform/to_loop.h"

int uvzk__to_loop_init(struct uvzk__to_loop *to_loop)
{
    uvzk__list_init(&to_loop->entries);
    to_loop->async = NULL;
    to_loop->wake_wanted = false;
    return pthread_mutex_init(&to_loop->mutex, NULL) == 0 ? 0 : UV_ENOMEM;
}

void uvzk__to_loop_renew(struct uvzk__to_loop *to_loop)
{
    uvzk__list_init(&to_loop->entries);
    (void)pthread_mutex_init(&to_loop->mutex, NULL);
}

void uvzk__to_loop_attach(struct uvzk__to_loop *to_loop, uv_async_t *async,
                          uv_idle_t *idle, uv_idle_cb idle_cb)
{
    to_loop->idle = idle;
    to_loop->idle_cb = idle_cb;
    pthread_mutex_lock(&to_loop->mutex);
    to_loop->async = async;
    /* Entries that were pushed before must arrive too. */
    uv_async_send(async);
    pthread_mutex_unlock(&to_loop->mutex);
}

void uvzk__to_loop_detach(struct uvzk__to_loop *to_loop)
{
    pthread_mutex_lock(&to_loop->mutex);
    to_loop->async = NULL;
    pthread_mutex_unlock(&to_loop->mutex);
}

void uvzk__to_loop_destroy(struct uvzk__to_loop *to_loop)
{
    pthread_mutex_destroy(&to_loop->mutex);
}

/* The async handle is signaled under the mutex. So when the loop has seen the entry, this
 * thread has finished with the async handle, and the loop may close it. */
void uvzk__to_loop_push(struct uvzk__to_loop *to_loop, struct uvzk__to_loop_entry *entry,
                        uvzk__arrive_cb arrive)
{
    entry->arrive = arrive;
    pthread_mutex_lock(&to_loop->mutex);
    uvzk__list_append(&to_loop->entries, &entry->link);
    if (to_loop->async != NULL) {
        uv_async_send(to_loop->async);
    }
    pthread_mutex_unlock(&to_loop->mutex);
}

/* The entry may be on the list that uvzk__to_loop_drain goes through: then that has called the
 * caller. */
void uvzk__to_loop_take_back(struct uvzk__to_loop *to_loop,
                             struct uvzk__to_loop_entry *entry)
{
    pthread_mutex_lock(&to_loop->mutex);
    uvzk__list_remove(&entry->link);
    pthread_mutex_unlock(&to_loop->mutex);
}

/* A program may have closed the idle handle. */
void uvzk__to_loop_wake(struct uvzk__to_loop *to_loop)
{
    /* Attaching the queue wakes the loop anyway. */
    if (uvzk__to_loop_is_attached(to_loop) &&
        !uv_is_closing((const uv_handle_t *)to_loop->idle)) {
        to_loop->wake_wanted = true;
        uv_idle_start(to_loop->idle, to_loop->idle_cb);
    }
}

void uvzk__to_loop_take_wake(struct uvzk__to_loop *to_loop)
{
    to_loop->wake_wanted = false;
}

void uvzk__to_loop_drain(struct uvzk__to_loop *to_loop)
{
    struct uvzk__link arrived;
    pthread_mutex_lock(&to_loop->mutex);
    /* The mutex is not held while `arrive` runs, because `arrive` may call the user. */
    uvzk__list_move(&to_loop->entries, &arrived);
    pthread_mutex_unlock(&to_loop->mutex);

    struct uvzk__link *link;
    while ((link = uvzk__list_take(&arrived)) != NULL) {
        struct uvzk__to_loop_entry *entry =
            UVZK__CONTAINER_OF(link, struct uvzk__to_loop_entry, link);
        entry->arrive(entry);
    }
}
