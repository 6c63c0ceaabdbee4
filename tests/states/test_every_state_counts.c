/* What the machines count, counted again. */
#include "claim/claim.h"
#include "test_every_state.h"

struct counts {
    uint32_t contenders, positions, credits, writers;
};

static struct uvzk__contender *contender_at(struct uvzk__link *link)
{
    return UVZK__CONTAINER_OF(link, struct uvzk__contender, everyone);
}

static struct counts count_queue(struct uvzk__client *client,
                                 const struct uvzk__queue *queue)
{
    struct counts counts = {0, 0, 0, 0};

    for (struct uvzk__link *link = client->directories->contenders.next;
         link != &client->directories->contenders; link = link->next) {
        const struct uvzk__contender *contender = contender_at(link);
        if (contender->queue == queue) {
            counts.contenders++;
            counts.positions += contender->wants_position;
            counts.credits += contender->on_credit;
            counts.writers += contender->held && !contender->shared;
        }
    }
    return counts;
}

static bool claim_counts(const struct uvzk__claim *claim)
{
    uint32_t contenders = 0, held = 0;

    for (struct uvzk__link *link = claim->contenders.next; link != &claim->contenders;
         link = link->next) {
        contenders++;
        held += UVZK__CONTAINER_OF(link, struct uvzk__contender, in_claim)->held;
    }
    return claim->contender_count == contenders && claim->held_count == held;
}

const char *scene_miscount(const struct scene *scene)
{
    struct uvzk__client *client = scene_client(scene);
    struct uvzk__queue *queue, *next;

    if (client == NULL) {
        return NULL;
    }
    HASH_ITER(hh, client->directories->queues, queue, next)
    {
        struct counts counts = count_queue(client, queue);
        if (counts.contenders != queue->tallies.contenders ||
            counts.positions != queue->tallies.positions_wanted ||
            counts.credits != queue->tallies.credits ||
            counts.writers != queue->tallies.writers_held) {
            return queue->path;
        }
    }
    for (struct uvzk__link *link = client->directories->contenders.next;
         link != &client->directories->contenders; link = link->next) {
        if (!claim_counts(contender_at(link)->claim)) {
            return contender_at(link)->path;
        }
    }
    return NULL;
}
