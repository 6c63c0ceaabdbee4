#include "directory/view.h"

#include <stdlib.h>
#include <string.h>

#include "base/node_name.h"
#include "directory/contender.h"
#include "directory/divergence.h"
#include "directory/foreigners.h"
#include "directory/orphans.h"
#include "directory/queue.h"
#include "directory/vouching.h"

/* So many leases of others at most, each time. */
#define ASKED_FOR 128U
#define STRAYS_ASKED_FOR 8U

/* A listing's name that is a contender's. */
struct sighting {
    struct uvzk__node_name parsed;
    bool shared;
    const char *name;                  /* the listing's own */
    struct uvzk__contender *contender; /* NULL: a foreigner */
};

/* What an update works on, until it is all there and nothing can fail. */
struct scan {
    struct sighting *sightings; /* by sequence */
    size_t sighting_count;
    uint64_t foreign_children;
    struct uvzk__contender **placed;  /* by sequence */
    struct uvzk__contender **unknown; /* by UUID */
    size_t placed_count, unknown_count;
    struct uvzk__foreigner *foreigners;
    size_t foreigner_count;
    size_t strays; /* names of our session's that are not those of our contenders here */
    int32_t last;  /* the greatest number of ours; -1: there is none */
    bool behind;   /* others stand behind that one */
};

static int by_sequence(const void *left, const void *right)
{
    int32_t a = ((const struct sighting *)left)->parsed.sequence;
    int32_t b = ((const struct sighting *)right)->parsed.sequence;

    return (a > b) - (a < b);
}

static int contenders_by_place(const void *left, const void *right)
{
    const struct uvzk__contender *a = *(struct uvzk__contender *const *)left;
    const struct uvzk__contender *b = *(struct uvzk__contender *const *)right;

    return uvzk__place_compare(uvzk__node_place(&a->node), uvzk__node_place(&b->node));
}

static int contenders_by_uuid(const void *left, const void *right)
{
    const struct uvzk__contender *a = *(struct uvzk__contender *const *)left;
    const struct uvzk__contender *b = *(struct uvzk__contender *const *)right;

    return memcmp(uvzk__contender_uuid(a), uvzk__contender_uuid(b), UVZK__UUID_TEXT);
}

static size_t gather(const struct uvzk__ring *ring, bool unknown_only,
                     struct uvzk__contender **into)
{
    size_t count = 0;

    for (struct uvzk__link *link = uvzk__ring_first(ring); link != NULL;
         link = uvzk__ring_next(ring, link)) {
        struct uvzk__contender *contender =
            UVZK__CONTAINER_OF(link, struct uvzk__contender, in_queue);
        if (unknown_only && uvzk__node_state(&contender->node) != UVZK__NODE_UNKNOWN) {
            continue;
        }
        if (into != NULL) {
            into[count] = contender;
        }
        count++;
    }
    return count;
}

static void *room_for(size_t count, size_t size)
{
    return uvzk__calloc(count == 0 ? 1 : count, size);
}

static int gather_locals(struct uvzk__queue *queue, struct scan *scan)
{
    struct uvzk__contender **into;

    scan->placed_count = gather(&queue->holders, false, NULL) +
                         gather(&queue->members, false, NULL) +
                         gather(&queue->leaving, false, NULL);
    scan->unknown_count = gather(&queue->strangers, true, NULL);
    scan->placed = room_for(scan->placed_count, sizeof(struct uvzk__contender *));
    scan->unknown = room_for(scan->unknown_count, sizeof(struct uvzk__contender *));
    if (scan->placed == NULL || scan->unknown == NULL) {
        return UV_ENOMEM;
    }
    into = scan->placed;
    into += gather(&queue->holders, false, into);
    into += gather(&queue->members, false, into);
    (void)gather(&queue->leaving, false, into);
    (void)gather(&queue->strangers, true, scan->unknown);
    qsort(scan->placed, scan->placed_count, sizeof(struct uvzk__contender *),
          contenders_by_place);
    qsort(scan->unknown, scan->unknown_count, sizeof(struct uvzk__contender *),
          contenders_by_uuid);
    return 0;
}

static struct uvzk__contender *
placed_at(const struct scan *scan, const struct uvzk__node_name *parsed, const char *uuid)
{
    size_t low = 0, high = scan->placed_count;

    while (low < high) {
        size_t middle = low + (high - low) / 2;
        if (uvzk__node_place(&scan->placed[middle]->node).sequence < parsed->sequence) {
            low = middle + 1;
        } else {
            high = middle;
        }
    }
    for (; low < scan->placed_count &&
           uvzk__node_place(&scan->placed[low]->node).sequence == parsed->sequence;
         low++) {
        if (memcmp(uvzk__contender_uuid(scan->placed[low]), uuid, UVZK__UUID_TEXT) == 0) {
            return scan->placed[low];
        }
    }
    return NULL;
}

static struct uvzk__contender *unknown_of(const struct scan *scan, const char *uuid)
{
    size_t low = 0, high = scan->unknown_count;

    while (low < high) {
        size_t middle = low + (high - low) / 2;
        int order =
            memcmp(uvzk__contender_uuid(scan->unknown[middle]), uuid, UVZK__UUID_TEXT);
        if (order == 0) {
            return scan->unknown[middle];
        }
        if (order < 0) {
            low = middle + 1;
        } else {
            high = middle;
        }
    }
    return NULL;
}

/* Ours, whatever its number, or NULL. Servers tell the names as we have sent them. */
static struct uvzk__contender *local_of(const struct scan *scan,
                                        const struct sighting *sighting)
{
    const struct uvzk__node_name *parsed = &sighting->parsed;
    struct uvzk__contender *contender = NULL;

    if (parsed->is_contender && parsed->has_uuid) {
        const char *uuid = sighting->name + UVZK__UUID_AT;
        contender = placed_at(scan, parsed, uuid);
        if (contender == NULL) {
            contender = unknown_of(scan, uuid);
        }
    }
    return contender;
}

/* A worn-out sequence orders nobody: its owner must not contend. */
static bool contends(const struct uvzk__queue *queue,
                     const struct uvzk__node_name *parsed)
{
    return parsed->is_contender && (queue->kind->discipline == UVZK__COUNTED ||
                                    !uvzk__sequence_worn_out(parsed->sequence));
}

/* By its name one of this session's, and by its contenders none. */
static bool is_stray(const struct uvzk__queue *queue, const struct sighting *sighting)
{
    return sighting->contender == NULL && sighting->parsed.has_uuid &&
           uvzk__directories_marked(queue->client->directories,
                                    sighting->name + UVZK__UUID_AT);
}

static int sight(struct uvzk__queue *queue, struct scan *scan, const char *const *names,
                 size_t count)
{
    scan->sightings = room_for(count, sizeof(struct sighting));
    if (scan->sightings == NULL) {
        return UV_ENOMEM;
    }
    for (size_t i = 0; i < count; i++) {
        struct sighting *sighting = &scan->sightings[scan->sighting_count];
        uvzk__discipline_parse(queue->kind->discipline, names[i], &sighting->parsed,
                               &sighting->shared);
        sighting->name = names[i];
        sighting->contender = local_of(scan, sighting);
        if (sighting->contender != NULL || contends(queue, &sighting->parsed)) {
            scan->sighting_count++;
        } else {
            scan->foreign_children++;
            continue;
        }
        scan->strays += is_stray(queue, sighting);
    }
    qsort(scan->sightings, scan->sighting_count, sizeof(struct sighting), by_sequence);
    return 0;
}

/* Who stands after the last of ours can never come before one of us. */
static int keep_foreigners(struct scan *scan)
{
    size_t end = scan->sighting_count;

    while (end > 0 && scan->sightings[end - 1].contender == NULL) {
        end--;
    }
    scan->last = end > 0 ? scan->sightings[end - 1].parsed.sequence : -1;
    while (end > 0 && end < scan->sighting_count &&
           scan->sightings[end].parsed.sequence ==
               scan->sightings[end - 1].parsed.sequence) {
        end++; /* a tie with the last of ours: it may have been there first */
    }
    scan->behind = end < scan->sighting_count;
    scan->foreigners = room_for(end, sizeof(struct uvzk__foreigner));
    if (scan->foreigners == NULL) {
        return UV_ENOMEM;
    }
    for (size_t i = 0; i < end; i++) {
        if (scan->sightings[i].contender != NULL) {
            continue;
        }
        struct uvzk__foreigner *foreigner = &scan->foreigners[scan->foreigner_count];
        foreigner->sequence = scan->sightings[i].parsed.sequence;
        foreigner->shared = scan->sightings[i].shared;
        foreigner->name = uvzk__strdup(scan->sightings[i].name);
        if (foreigner->name == NULL) {
            return UV_ENOMEM;
        }
        scan->foreigner_count++;
    }
    return 0;
}

static void free_scan(struct scan *scan)
{
    uvzk__free(scan->sightings);
    uvzk__free(scan->placed);
    uvzk__free(scan->unknown);
    if (scan->foreigners != NULL) {
        uvzk__foreigners_free(scan->foreigners, scan->foreigner_count);
    }
}

/* Of others; in this discipline a worn-out number is as good as any. */
static uint64_t count_leases(const struct uvzk__queue *queue, const struct scan *scan)
{
    uint64_t count = 0;

    for (size_t i = 0; i < scan->sighting_count; i++) {
        count += scan->sightings[i].contender == NULL;
    }
    return queue->kind->discipline == UVZK__COUNTED ? count : 0;
}

/* Of others there is something to be kept. */
static int have_room(struct uvzk__queue *queue, const struct scan *scan)
{
    bool any = scan->foreigner_count > 0 || scan->behind || scan->foreign_children > 0;

    return !any || uvzk__aside_needed(queue) ? 0 : UV_ENOMEM;
}

static void take_over(struct uvzk__queue *queue, struct scan *scan)
{
    uvzk__foreigners_seen(queue, scan->foreigners, scan->foreigner_count,
                          count_leases(queue, scan));
    scan->foreigners = NULL;
    uvzk__foreigners_behind(queue, scan->behind);
    uvzk__foreign_children(queue, scan->foreign_children);
    uvzk__freshness_taken(queue, scan->sighting_count + scan->foreign_children);
    uvzk__watermark_listed(queue, scan->last, scan->behind);
    for (size_t i = 0; i < scan->sighting_count; i++) {
        struct uvzk__contender *contender = scan->sightings[i].contender;
        if (contender != NULL) {
            uvzk__contender_seen(contender, uvzk__asked_at(&queue->freshness));
            if (contender->clear_stamp == 0 && uvzk__node_has_place(&contender->node) &&
                uvzk__blocker(queue, contender) == NULL) {
                uvzk__contender_clear(contender, uvzk__asked_at(&queue->freshness));
            }
        }
    }
}

/* When others have been in the way for long: their leases, the oldest first; in order, who is
 * the first of all. */
static void ask_for_those_in_the_way(struct uvzk__queue *queue, const struct scan *scan)
{
    size_t most = queue->kind->in_order ? 1 : ASKED_FOR;

    for (size_t i = 0; queue->waits_long && most > 0 && i < scan->sighting_count; i++) {
        if (scan->sightings[i].contender == NULL) {
            uvzk__divergence_ask(queue, scan->sightings[i].name);
            most--;
        }
    }
    uvzk__queue_waits_long(queue, false);
}

/* Those that stand anywhere, be it behind others. */
static void ask_for_strays(struct uvzk__queue *queue, const struct scan *scan)
{
    size_t most = scan->strays < STRAYS_ASKED_FOR ? scan->strays : STRAYS_ASKED_FOR;

    for (size_t i = 0; most > 0 && i < scan->sighting_count; i++) {
        if (is_stray(queue, &scan->sightings[i])) {
            most--;
            if (!uvzk__orphan_is_known(queue, scan->sightings[i].name)) {
                uvzk__divergence_ask(queue, scan->sightings[i].name);
            }
        }
    }
}

/* It vouches for all that it shows, whoever it shows to have gone. */
static void vouch(struct uvzk__queue *queue, const struct scan *scan)
{
    for (size_t i = 0; i < scan->sighting_count; i++) {
        struct uvzk__contender *contender = scan->sightings[i].contender;
        if (contender != NULL) {
            uvzk__vouch(contender, uvzk__asked_at(&queue->freshness));
        }
    }
}

/* The unknown ones that are in it have a place now; those that are not were never made
 * (listing.h). A found one may have been doomed by an earlier step. */
static void resolve_unknown(struct uvzk__queue *queue, const struct scan *scan)
{
    for (size_t i = 0; i < scan->sighting_count; i++) {
        struct uvzk__contender *contender = scan->sightings[i].contender;
        if (contender != NULL &&
            uvzk__node_state(&contender->node) == UVZK__NODE_UNKNOWN) {
            uvzk__contender_found(contender, scan->sightings[i].parsed.sequence);
        }
    }
    for (size_t i = 0; i < scan->unknown_count; i++) {
        if (scan->unknown[i]->seen_stamp != uvzk__asked_at(&queue->freshness) &&
            scan->unknown[i]->create_stamp < uvzk__asked_at(&queue->freshness)) {
            uvzk__contender_absent(scan->unknown[i]);
        }
    }
}

static void resolve_missing(struct uvzk__queue *queue, const struct scan *scan)
{
    for (size_t i = 0; i < scan->placed_count; i++) {
        struct uvzk__contender *contender = scan->placed[i];
        if (uvzk__node_state(&contender->node) == UVZK__NODE_STANDING &&
            contender->create_stamp < uvzk__asked_at(&queue->freshness) &&
            contender->seen_stamp != uvzk__asked_at(&queue->freshness)) {
            uvzk__contender_not_shown(contender);
        }
    }
}

static void tell_position(struct uvzk__contender *contender, uint64_t ahead)
{
    uvzk__contender_want_no_position(contender);
    if (ahead > 0) {
        uvzk__client_of(contender)->directories->contender_user->queued(contender, ahead);
    }
}

/* A reader that has nobody but readers before it does not wait. */
static void tell_positions(struct uvzk__queue *queue)
{
    uint64_t members = 0;
    bool writer = uvzk__writers_held(&queue->tallies) > 0;

    for (struct uvzk__link *link = uvzk__ring_first(&queue->holders); link != NULL;
         link = uvzk__ring_next(&queue->holders, link)) {
        members++;
    }
    for (struct uvzk__link *link = uvzk__ring_first(&queue->members);
         uvzk__positions_wanted(&queue->tallies) > 0 && link != NULL;
         link = uvzk__ring_next(&queue->members, link)) {
        struct uvzk__contender *contender =
            UVZK__CONTAINER_OF(link, struct uvzk__contender, in_queue);
        if (contender->wants_position && contender->covered) {
            bool waits =
                !contender->shared || writer || uvzk__blocker(queue, contender) != NULL;
            tell_position(contender,
                          waits ? members + uvzk__foreigners_before(queue, contender)
                                : 0);
        }
        writer = writer || !contender->shared;
        members++;
    }
}

int uvzk__view_update(struct uvzk__queue *queue, const char *const *names, size_t count)
{
    struct scan scan;
    int status;

    memset(&scan, 0, sizeof(scan));
    status = gather_locals(queue, &scan);
    if (status == 0) {
        status = sight(queue, &scan, names, count);
    }
    if (status == 0) {
        status = keep_foreigners(&scan);
    }
    if (status == 0) {
        status = have_room(queue, &scan);
    }
    if (status == 0) {
        take_over(queue, &scan);
        ask_for_those_in_the_way(queue, &scan);
        ask_for_strays(queue, &scan);
        resolve_missing(queue, &scan);
        vouch(queue, &scan);
        resolve_unknown(queue, &scan);
        tell_positions(queue);
    }
    free_scan(&scan);
    return status;
}
