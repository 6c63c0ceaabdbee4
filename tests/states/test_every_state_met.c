#include "test_every_state_met.h"

#include "cmocka_test.h"

#include <stdio.h>
#include <string.h>

#include "claim/acquisition.h"
#include "claim/claim.h"
#include "directory/guard.h"
#include "directory/queue.h"
#include "recipes/leases.h"

/* What is counted. Rows of one request's own come first: an ending of one request meets
 * only those of that request, any other ending meets all. */
#define ROWS(XX)                                     \
    XX(CREATING, "node CREATING")                    \
    XX(CREATING_SENT, "node CREATING, under way")    \
    XX(PARENTS, "node PARENTS")                      \
    XX(UNKNOWN, "node UNKNOWN")                      \
    XX(IDENTIFYING, "node IDENTIFYING")              \
    XX(STANDING, "node STANDING")                    \
    XX(RESTING, "node RESTING")                      \
    XX(DOOMED, "node DOOMED")                        \
    XX(DOOMED_SENT, "node DOOMED, under way")        \
    XX(DOOMED_UNKNOWN, "node DOOMED, a delete lost") \
    XX(ASKED, "told ASKED")                          \
    XX(GRANTING, "told GRANTING")                    \
    XX(GRANTED, "told GRANTED")                      \
    XX(RELEASING, "told RELEASING")                  \
    XX(LOSING, "told LOSING")                        \
    XX(RELEASED, "told RELEASED")                    \
    XX(REFUSED, "told REFUSED")                      \
    XX(GUARD_NONE, "guard NONE")                     \
    XX(GUARD_ARMING, "guard ARMING")                 \
    XX(GUARD_ARMED, "guard ARMED")                   \
    XX(NOT_PROVED, "first, not proved")              \
    XX(ON_CREDIT, "held on credit")                  \
    XX(BID_QUEUED, "bid: ticket waits")              \
    XX(BID_TAKER, "bid: taker waits")                \
    XX(BID_CREATING, "bid: leases being made")       \
    XX(BID_COUNTING, "bid COUNTING")                 \
    XX(BID_HANDED_ON, "bid: leases handed on")       \
    XX(BID_COMPLETE, "bid: complete")                \
    XX(CLAIM_HELD, "claim held")                     \
    XX(CLAIM_PINNED, "claim pinned")                 \
    /* of the client */                              \
    XX(CLAIM_GIVEN_UP, "a claim given up")           \
    XX(CLAIM_UNWINDING, "a claim unwinding")         \
    XX(OFFERED, "leases offered")                    \
    XX(CROWDED, "leases crowded")                    \
    XX(QUEUE_IDLE, "queue IDLE")                     \
    XX(QUEUE_MAKING_PARENTS, "queue MAKING_PARENTS") \
    XX(QUEUE_LISTING, "queue LISTING")               \
    XX(QUEUE_WATCHING, "queue WATCHING")             \
    XX(QUEUE_WATCH, "queue has its watch")           \
    XX(QUEUE_RESTING, "queue rests")                 \
    XX(MARK_ARMING, "watermark ARMING")              \
    XX(MARK_ARMED, "watermark ARMED")                \
    XX(HELD_BACK, "requests held back")              \
    XX(DISCONNECTED, "no connection")

enum row {
#define XX(name, text) ROW_##name,
    ROWS(XX)
#undef XX
        ROW_COUNT
};

static const char *const row_names[] = {
#define XX(name, text) text,
    ROWS(XX)
#undef XX
};

typedef unsigned table[ROW_COUNT][ENDINGS];

static table of_recipe, of_all;

void met_begin(const struct recipe *recipe)
{
    (void)recipe;
    memset(of_recipe, 0, sizeof(of_recipe));
}

static void met(enum row row, size_t ending)
{
    of_recipe[row][ending]++;
    of_all[row][ending]++;
}

static void met_if(bool condition, enum row row, size_t ending)
{
    if (condition) {
        met(row, ending);
    }
}

/* --------------------------------------------------------------------- counting */

static enum row row_of_node(const struct uvzk__node *node)
{
    static const enum row rows[] = {
        [UVZK__NODE_CREATING] = ROW_CREATING, [UVZK__NODE_PARENTS] = ROW_PARENTS,
        [UVZK__NODE_UNKNOWN] = ROW_UNKNOWN,   [UVZK__NODE_IDENTIFYING] = ROW_IDENTIFYING,
        [UVZK__NODE_STANDING] = ROW_STANDING, [UVZK__NODE_RESTING] = ROW_RESTING,
        [UVZK__NODE_DOOMED] = ROW_DOOMED,
    };

    if (node->state == UVZK__NODE_DOOMED && node->delete_unknown) {
        return ROW_DOOMED_UNKNOWN;
    }
    if (node->state == UVZK__NODE_DOOMED && node->in_flight) {
        return ROW_DOOMED_SENT;
    }
    return node->state == UVZK__NODE_CREATING && node->in_flight ? ROW_CREATING_SENT
                                                                 : rows[node->state];
}

static bool is_on(const struct uvzk__link *head, const struct uvzk__link *link)
{
    for (const struct uvzk__link *at = head->next; at != head; at = at->next) {
        if (at == link) {
            return true;
        }
    }
    return false;
}

static void count_contender(struct uvzk__contender *contender, size_t ending)
{
    const struct uvzk__client *client = uvzk__client_of(contender);

    met(row_of_node(&contender->node), ending);
    met(ROW_GUARD_NONE + uvzk__guarding(contender), ending);
    met_if(is_on(&client->prover->candidates, &contender->witness.link), ROW_NOT_PROVED,
           ending);
    met_if(contender->on_credit, ROW_ON_CREDIT, ending);
}

static const struct uvzk__bid *semaphore_bid(const struct uvzk__claim *claim)
{
    if (uvzk__ring_empty(&claim->contenders)) {
        return NULL;
    }
    const struct uvzk__contender *first = uvzk__claim_first(claim);
    bool semaphore = first->ticket || first->queue->kind->discipline == UVZK__COUNTED;

    return semaphore ? claim->extra : NULL;
}

static void count_bid(const struct uvzk__bid *bid, size_t ending)
{
    bool taker = uvzk__leases(bid->leases)->taker == bid;
    bool complete = uvzk__bid_complete(bid);

    met_if(bid->ticket != NULL && !taker, ROW_BID_QUEUED, ending);
    met_if(taker && uvzk__bid_settled(bid) && !complete, ROW_BID_TAKER, ending);
    met_if(!uvzk__bid_settled(bid), ROW_BID_CREATING, ending);
    met_if(complete && !uvzk__bid_is_counted(bid), ROW_BID_COUNTING, ending);
    met_if(bid->handed_on, ROW_BID_HANDED_ON, ending);
    met_if(complete, ROW_BID_COMPLETE, ending);
}

static void count_claim(const struct uvzk__claim *claim, size_t ending)
{
    const struct uvzk__bid *bid = semaphore_bid(claim);

    for (struct uvzk__link *link = uvzk__ring_first(&claim->contenders); link != NULL;
         link = uvzk__ring_next(&claim->contenders, link)) {
        count_contender(UVZK__CONTAINER_OF(link, struct uvzk__contender, in_claim),
                        ending);
    }
    if (bid != NULL) {
        count_bid(bid, ending);
    }
    met_if(uvzk__claim_is_held(claim), ROW_CLAIM_HELD, ending);
    met_if(claim->pins > 0, ROW_CLAIM_PINNED, ending);
}

static void count_part(const struct scene *scene, int part, size_t ending)
{
    const struct uvzk__acquisition *acquisition = scene_acquisition(scene, part);

    if (acquisition != NULL) {
        met(ROW_ASKED + acquisition->told, ending);
    }
}

/* Those of the members of a multi lock, and of others, are claims like any. */
static void count_claims(struct uvzk__client *client, size_t ending)
{
    for (struct uvzk__link *link = client->directories->contenders.next;
         link != &client->directories->contenders; link = link->next) {
        const struct uvzk__contender *contender =
            UVZK__CONTAINER_OF(link, struct uvzk__contender, everyone);
        const struct uvzk__claim *claim = contender->claim;
        if (claim != NULL && uvzk__claim_first(claim) == contender) {
            count_claim(claim, ending);
        }
    }
}

/* A multi lock's in turn has no contenders. */
static void count_outer_claims(const struct scene *scene, size_t ending)
{
    for (int i = 0; i < SCENE_PARTS; i++) {
        const struct uvzk__acquisition *acquisition = scene_acquisition(scene, i);
        if (acquisition != NULL && acquisition->claim != NULL &&
            uvzk__ring_empty(&acquisition->claim->contenders)) {
            count_claim(acquisition->claim, ending);
        }
    }
}

static void count_mark(const struct uvzk__mark *mark, size_t ending)
{
    met_if(mark != NULL && mark->state == UVZK__WATERMARK_ARMING, ROW_MARK_ARMING,
           ending);
    met_if(mark != NULL && mark->state == UVZK__WATERMARK_ARMED, ROW_MARK_ARMED, ending);
}

static void count_around(struct uvzk__client *client, size_t ending)
{
    const struct uvzk__catalogue *catalogue = &client->directories->catalogue;

    for (struct uvzk__link *link = client->directories->contenders.next;
         link != &client->directories->contenders; link = link->next) {
        const struct uvzk__contender *contender =
            UVZK__CONTAINER_OF(link, struct uvzk__contender, everyone);
        met_if(!uvzk__contender_is_adopted(contender) &&
                   uvzk__claim_is_given_up(contender->claim),
               ROW_CLAIM_GIVEN_UP, ending);
    }
    met_if(!uvzk__list_empty(&client->claims->unwinding), ROW_CLAIM_UNWINDING, ending);
    met_if(client->submissions.holding_back, ROW_HELD_BACK, ending);
    met_if(!client->session.connected, ROW_DISCONNECTED, ending);
    for (struct uvzk__queue *queue = uvzk__catalogue_first(catalogue); queue != NULL;
         queue = uvzk__catalogue_next(catalogue, queue)) {
        met(ROW_QUEUE_IDLE + queue->doing, ending);
        met_if(uvzk__aside(queue)->predecessor.path != NULL, ROW_QUEUE_WATCH, ending);
        met_if(uvzk__queue_is_resting(queue), ROW_QUEUE_RESTING, ending);
        count_mark(uvzk__aside(queue)->watermark.mark, ending);
        met_if(queue->crowded, ROW_CROWDED, ending);
        met_if(queue->kind->discipline == UVZK__COUNTED &&
                   !uvzk__list_empty(&uvzk__leases(queue)->offers),
               ROW_OFFERED, ending);
    }
}

void met_count(const struct scene *scene, size_t ending)
{
    struct uvzk__client *client = scene_client(scene);
    enum scope scope = endings[ending].scope;

    if (scope == OF_PENDING || scope == OF_HELD) {
        const struct uvzk__acquisition *acquisition =
            scene_acquisition(scene, scene->target);
        count_part(scene, scene->target, ending);
        if (acquisition->claim != NULL) {
            count_claim(acquisition->claim, ending);
        }
    } else {
        for (int i = 0; i < SCENE_PARTS; i++) {
            count_part(scene, i, ending);
        }
        count_claims(client, ending);
        count_outer_claims(scene, ending);
    }
    count_around(client, ending);
}

/* --------------------------------------------------------------------- printing */

static void print(table counts)
{
    (void)printf("%-28s", "");
    for (size_t j = 0; j < ENDINGS; j++) {
        (void)printf(" %-9.9s", endings[j].name);
    }
    (void)printf("\n");
    for (size_t i = 0; i < ROW_COUNT; i++) {
        (void)printf("%-28s", row_names[i]);
        for (size_t j = 0; j < ENDINGS; j++) {
            (void)printf(" %-9u", counts[i][j]);
        }
        (void)printf("\n");
    }
}

void met_print_recipe(void)
{
    print(of_recipe);
}

/* --------------------------------------------------------------------- checking */

#define BIT(ending) (1U << (ending))

/* The first endings: of one request. */
#define WAITS (BIT(0) | BIT(1))
#define HOLDS BIT(2)

/* What no ending can meet, and why. The states GONE of a node and FINAL of an acquisition
 * are no rows at all: what comes there is freed before the call is over. */
static const struct {
    enum row first, last;
    unsigned endings;
    const char *reason;
} unreachable[] = {
    {ROW_CREATING, ROW_IDENTIFYING, HOLDS, "who holds has a znode"},
    {ROW_RESTING, ROW_RESTING, HOLDS, "who holds has a znode"},
    {ROW_DOOMED, ROW_DOOMED, WAITS, "a ticket of no more use is swept before it is told"},
    {ROW_DOOMED_UNKNOWN, ROW_DOOMED_UNKNOWN, WAITS, "by then the grant is told"},
    {ROW_ASKED, ROW_GRANTING, HOLDS,
     "uvzk_hold_release says UVZK_ENOTHELD, asserted always"},
    {ROW_GRANTED, ROW_RELEASED, WAITS,
     "uvzk_hold_cancel says UVZK_ESTATE, asserted always"},
    {ROW_RELEASING, ROW_RELEASING, HOLDS, "released before"},
    {ROW_RELEASED, ROW_REFUSED, HOLDS, "uvzk_hold_release says UVZK_ENOTHELD"},
    {ROW_NOT_PROVED, ROW_NOT_PROVED, HOLDS, "what is held is proved"},
    {ROW_BID_QUEUED, ROW_BID_COUNTING, HOLDS, "who holds has all leases"},
};

static bool can_be_met(enum row row, size_t ending)
{
    for (size_t i = 0; i < sizeof(unreachable) / sizeof(unreachable[0]); i++) {
        if (row >= unreachable[i].first && row <= unreachable[i].last &&
            unreachable[i].endings & BIT(ending)) {
            return false;
        }
    }
    return true;
}

static void print_unreachable(void)
{
    for (size_t i = 0; i < sizeof(unreachable) / sizeof(unreachable[0]); i++) {
        for (size_t row = unreachable[i].first; row <= (size_t)unreachable[i].last;
             row++) {
            (void)printf("cannot meet %s, %s: %s\n",
                         unreachable[i].endings & HOLDS ? "a release" : "a cancel",
                         row_names[row], unreachable[i].reason);
        }
    }
}

void met_print(void)
{
    print(of_all);
    print_unreachable();
}

void met_check(void)
{
    unsigned wrong = 0;

    for (size_t i = 0; i < ROW_COUNT; i++) {
        for (size_t j = 0; j < ENDINGS; j++) {
            if ((of_all[i][j] > 0) != can_be_met((enum row)i, j)) {
                (void)fprintf(stderr, "%s, %s: met %u times\n", row_names[i],
                              endings[j].name, of_all[i][j]);
                wrong++;
            }
        }
    }
    assert_int_equal(wrong, 0);
}
