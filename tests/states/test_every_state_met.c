/* SPDX-License-Identifier: Apache-2.0 */
#include "test_every_state_met.h"

#include "cmocka_test.h"

#include <stdio.h>
#include <string.h>

#include "claim/acquisition.h"
#include "claim/claim.h"
#include "directory/own_watch.h"
#include "directory/queue.h"
#include "locks/semaphore/leases.h"

/* What is counted. Rows of one request's own come first: an ending of one request meets
 * only those of that request, any other ending meets all. */
#define ROWS(XX)                                                    \
    XX(CREATING, "node CREATING")                                   \
    XX(CREATING_SENT, "node CREATING, under way")                   \
    XX(PARENTS, "node PARENTS")                                     \
    XX(UNKNOWN, "node UNKNOWN")                                     \
    XX(IDENTIFYING, "node IDENTIFYING")                             \
    XX(STANDING, "node STANDING")                                   \
    XX(BACKING_OFF, "node BACKING_OFF")                             \
    XX(DELETING, "node DELETING")                                   \
    XX(DELETING_SENT, "node DELETING, under way")                   \
    XX(DELETING_UNKNOWN, "node DELETING, a delete lost")            \
    XX(ASKED, "told ASKED")                                         \
    XX(GRANTING, "told GRANTING")                                   \
    XX(GRANTED, "told GRANTED")                                     \
    XX(RELEASING, "told RELEASING")                                 \
    XX(LOSING, "told LOSING")                                       \
    XX(RELEASED, "told RELEASED")                                   \
    XX(REFUSED, "told REFUSED")                                     \
    XX(OWN_WATCH_NONE, "own watch NONE")                            \
    XX(OWN_WATCH_ARMING, "own watch ARMING")                        \
    XX(OWN_WATCH_ARMED, "own watch ARMED")                          \
    XX(NOT_PROVED, "first, not proved")                             \
    XX(GRANTED_EARLY, "granted early")                              \
    XX(LEASE_REQUEST_QUEUED, "lease request: ticket waits")         \
    XX(LEASE_REQUEST_TICKET_HOLDER, "lease request: holder waits")  \
    XX(LEASE_REQUEST_CREATING, "lease request: leases are created") \
    XX(LEASE_REQUEST_COUNTING, "lease request COUNTING")            \
    XX(LEASE_REQUEST_HANDED_OVER, "lease request: handed over")     \
    XX(LEASE_REQUEST_COMPLETE, "lease request: complete")           \
    XX(CLAIM_HELD, "claim held")                                    \
    XX(CLAIM_REFERENCED, "claim referenced")                        \
    /* of the client */                                             \
    XX(CLAIM_GIVEN_UP, "a claim given up")                          \
    XX(CLAIM_TO_WITHDRAW, "a claim unwinding")                      \
    XX(OFFERED, "leases offered")                                   \
    XX(CHILDREN_WATCH_WANTED, "children watch wanted")              \
    XX(QUEUE_IDLE, "queue IDLE")                                    \
    XX(QUEUE_CREATING_PARENTS, "queue CREATING_PARENTS")            \
    XX(QUEUE_LISTING, "queue LISTING")                              \
    XX(QUEUE_WATCHING, "queue WATCHING")                            \
    XX(QUEUE_PREPARING, "queue PREPARING")                          \
    XX(QUEUE_WATCH, "queue has its watch")                          \
    XX(QUEUE_BACKING_OFF, "queue backs off")                        \
    XX(MARK_ARMING, "watermark ARMING")                             \
    XX(MARK_ARMED, "watermark ARMED")                               \
    XX(HELD_BACK, "requests held back")                             \
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
        [UVZK__NODE_STANDING] = ROW_STANDING, [UVZK__NODE_BACKING_OFF] = ROW_BACKING_OFF,
        [UVZK__NODE_DELETING] = ROW_DELETING,
    };

    if (node->state == UVZK__NODE_DELETING && node->delete_unknown) {
        return ROW_DELETING_UNKNOWN;
    }
    if (node->state == UVZK__NODE_DELETING && node->in_flight) {
        return ROW_DELETING_SENT;
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
    const struct uvzk__session *session = uvzk__session_of(contender);

    met(row_of_node(&contender->node), ending);
    met(ROW_OWN_WATCH_NONE + uvzk__own_watch_state(contender), ending);
    met_if(is_on(&session->prover->candidates, &contender->proof_subject.link),
           ROW_NOT_PROVED, ending);
    met_if(contender->state == UVZK__CONTENDER_GRANTED_EARLY, ROW_GRANTED_EARLY, ending);
}

static const struct uvzk__lease_request *
lease_request_of_semaphore(const struct uvzk__claim *claim)
{
    if (uvzk__ring_empty(&claim->contenders)) {
        return NULL;
    }
    const struct uvzk__contender *first = uvzk__claim_first_contender(claim);
    bool semaphore = first->kind->admits || first->queue->kind->counted;

    return semaphore ? claim->extra : NULL;
}

static void count_lease_request(const struct uvzk__lease_request *request, size_t ending)
{
    bool is_ticket_holder = uvzk__leases(request->leases)->ticket.holder == request;
    bool complete = uvzk__lease_request_complete(request);

    met_if(request->ticket != NULL && !is_ticket_holder, ROW_LEASE_REQUEST_QUEUED,
           ending);
    met_if(is_ticket_holder && uvzk__lease_request_none_in_flight(request) && !complete,
           ROW_LEASE_REQUEST_TICKET_HOLDER, ending);
    met_if(!uvzk__lease_request_none_in_flight(request), ROW_LEASE_REQUEST_CREATING,
           ending);
    met_if(complete && request->state == UVZK__LEASE_REQUEST_UNCOUNTED,
           ROW_LEASE_REQUEST_COUNTING, ending);
    met_if(request->handed_over, ROW_LEASE_REQUEST_HANDED_OVER, ending);
    met_if(complete, ROW_LEASE_REQUEST_COMPLETE, ending);
}

static void count_claim(const struct uvzk__claim *claim, size_t ending)
{
    const struct uvzk__lease_request *request = lease_request_of_semaphore(claim);

    for (struct uvzk__link *link = uvzk__ring_first(&claim->contenders); link != NULL;
         link = uvzk__ring_next(&claim->contenders, link)) {
        count_contender(UVZK__CONTAINER_OF(link, struct uvzk__contender, in_claim),
                        ending);
    }
    if (request != NULL) {
        count_lease_request(request, ending);
    }
    met_if(uvzk__claim_is_held(claim), ROW_CLAIM_HELD, ending);
    met_if(claim->refs > 0, ROW_CLAIM_REFERENCED, ending);
}

static void count_part(const struct scene *scene, int part, size_t ending)
{
    const struct uvzk__acquisition *acquisition = scene_acquisition(scene, part);

    if (acquisition != NULL) {
        met(ROW_ASKED + acquisition->state, ending);
    }
}

/* Those of the members of a multi lock, and of others, are claims like any. */
static void count_claims(struct uvzk__session *session, size_t ending)
{
    for (struct uvzk__link *link = session->directories->contenders.next;
         link != &session->directories->contenders; link = link->next) {
        const struct uvzk__contender *contender =
            UVZK__CONTAINER_OF(link, struct uvzk__contender, in_session);
        const struct uvzk__claim *claim = contender->claim;
        if (claim != NULL && uvzk__claim_first_contender(claim) == contender) {
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
    bool is_set = mark != NULL && uvzk__watcher_is_set(&mark->watcher);

    met_if(is_set && !uvzk__watermark_is_armed(mark), ROW_MARK_ARMING, ending);
    met_if(uvzk__watermark_is_armed(mark), ROW_MARK_ARMED, ending);
}

static void count_around(struct uvzk__session *session, size_t ending)
{
    const struct uvzk__catalogue *catalogue = &session->directories->catalogue;

    for (struct uvzk__link *link = session->directories->contenders.next;
         link != &session->directories->contenders; link = link->next) {
        const struct uvzk__contender *contender =
            UVZK__CONTAINER_OF(link, struct uvzk__contender, in_session);
        met_if(!contender->kind->orphan && uvzk__claim_is_given_up(contender->claim),
               ROW_CLAIM_GIVEN_UP, ending);
    }
    met_if(!uvzk__list_empty(&session->claims->to_withdraw), ROW_CLAIM_TO_WITHDRAW,
           ending);
    met_if(session->submissions.backing_off, ROW_HELD_BACK, ending);
    met_if(!session->connection.connected, ROW_DISCONNECTED, ending);
    for (struct uvzk__queue *queue = uvzk__catalogue_first(catalogue); queue != NULL;
         queue = uvzk__catalogue_next(catalogue, queue)) {
        met(ROW_QUEUE_IDLE + queue->state, ending);
        met_if(uvzk__queue_optional(queue)->predecessor.path != NULL, ROW_QUEUE_WATCH,
               ending);
        met_if(uvzk__queue_is_backing_off(queue), ROW_QUEUE_BACKING_OFF, ending);
        count_mark(uvzk__queue_optional(queue)->watermark.mark, ending);
        met_if(queue->wants_children_watch, ROW_CHILDREN_WATCH_WANTED, ending);
        met_if(queue->kind->counted && !uvzk__list_empty(&uvzk__leases(queue)->offers),
               ROW_OFFERED, ending);
    }
}

void met_count(const struct scene *scene, size_t ending)
{
    struct uvzk__session *session = scene_session(scene);
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
        count_claims(session, ending);
        count_outer_claims(scene, ending);
    }
    count_around(session, ending);
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

/* The endings of one request: the first three, and the last one. */
#define WAITS (BIT(0) | BIT(1))
#define HOLDS (BIT(2) | BIT(9))

/* What no ending can meet, and why. The states GONE of a node and FINAL of an acquisition
 * are no rows at all: what comes there is freed before the call is over. */
static const struct {
    enum row first, last;
    unsigned endings;
    const char *reason;
} unreachable[] = {
    {ROW_CREATING, ROW_IDENTIFYING, HOLDS, "who holds has a znode"},
    {ROW_BACKING_OFF, ROW_BACKING_OFF, HOLDS, "who holds has a znode"},
    {ROW_DELETING, ROW_DELETING, WAITS,
     "a ticket of no more use is deleted before it is told"},
    {ROW_DELETING_UNKNOWN, ROW_DELETING_UNKNOWN, WAITS, "by then the grant is told"},
    {ROW_ASKED, ROW_GRANTING, HOLDS,
     "uvzk_hold_release says UVZK_ENOTHELD, asserted always"},
    {ROW_GRANTED, ROW_RELEASED, WAITS,
     "uvzk_hold_cancel says UVZK_ESTATE, asserted always"},
    {ROW_RELEASING, ROW_RELEASING, HOLDS, "released before"},
    {ROW_RELEASED, ROW_REFUSED, HOLDS, "uvzk_hold_release says UVZK_ENOTHELD"},
    {ROW_NOT_PROVED, ROW_NOT_PROVED, HOLDS, "what is held is proved"},
    {ROW_LEASE_REQUEST_QUEUED, ROW_LEASE_REQUEST_COUNTING, HOLDS,
     "who holds has all leases"},
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
