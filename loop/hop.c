#include "hop.h"

int uvzk__hop_init(struct uvzk__hop *hop)
{
    uvzk__list_init(&hop->entries);
    hop->async = NULL;
    return pthread_mutex_init(&hop->mutex, NULL) == 0 ? 0 : UV_ENOMEM;
}

void uvzk__hop_attach(struct uvzk__hop *hop, uv_async_t *async)
{
    pthread_mutex_lock(&hop->mutex);
    hop->async = async;
    uv_async_send(async);
    pthread_mutex_unlock(&hop->mutex);
}

void uvzk__hop_destroy(struct uvzk__hop *hop)
{
    pthread_mutex_destroy(&hop->mutex);
}

/* The wake-up is sent under the lock: once the loop has seen the entry, this
 * thread has done with the async handle, and the loop may close it. */
void uvzk__hop_push(struct uvzk__hop *hop, struct uvzk__hop_entry *entry,
                    uvzk__arrive_cb arrive)
{
    entry->arrive = arrive;
    pthread_mutex_lock(&hop->mutex);
    uvzk__list_append(&hop->entries, &entry->link);
    if (hop->async != NULL) {
        uv_async_send(hop->async);
    }
    pthread_mutex_unlock(&hop->mutex);
}

void uvzk__hop_drain(struct uvzk__hop *hop)
{
    struct uvzk__link arrived;
    pthread_mutex_lock(&hop->mutex);
    uvzk__list_move(&hop->entries, &arrived);
    pthread_mutex_unlock(&hop->mutex);

    struct uvzk__link *link;
    while ((link = uvzk__list_take(&arrived)) != NULL) {
        struct uvzk__hop_entry *entry =
            UVZK__CONTAINER_OF(link, struct uvzk__hop_entry, link);
        entry->arrive(entry);
    }
}
