#include "directory/vouching.h"

#include "engine/turn.h"

void uvzk__vouch(struct uvzk__contender *contender, uint64_t stamp)
{
    contender->vouched = contender->client->directories->settlings + 1;
    contender->vouched_stamp = stamp;
    contender->departures = contender->queue->departures;
    uvzk__wake(contender->client); /* what is seen counts in one settling only */
}

void uvzk__deletes_matter(struct uvzk__contender *contender, uint64_t last,
                          uint64_t last_exclusive)
{
    if (contender->delete_stamp < last) {
        contender->delete_stamp = last;
    }
    if (contender->exclusive_delete_stamp < last_exclusive) {
        contender->exclusive_delete_stamp = last_exclusive;
    }
}

bool uvzk__is_vouched_for(const struct uvzk__contender *front)
{
    const struct uvzk__queue *queue = front->queue;

    return front->vouched == queue->client->directories->settlings &&
           front->departures == queue->departures &&
           front->vouched_stamp >=
               (front->shared ? front->exclusive_delete_stamp : front->delete_stamp);
}
