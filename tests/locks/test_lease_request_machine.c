/* SPDX-License-Identifier: Apache-2.0 */
/* Two lease requests of one lease directory: every state that they can reach together is
 * visited, breadth first. A step is what the other files of locks/semaphore/ may do to
 * one of them at that moment. A model of the lists, which is too simple to be wrong, takes
 * the same steps, and the two are compared after each. Kind steps are those by which a
 * lease request gets on; from every state they alone must lead to a grant. */
#include "cmocka_test.h"
#include "machine_moves.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <uthash.h>

#include "claim/claim.h"
#include "locks/semaphore/leases.h"

#define REQUESTS 2 /* of three there are 754,037 states, visited in 5 s and 700 MB */

/* -------------------------------------------------------------------- the world */

/* What the model knows of one lease request. */
struct model {
    bool ticket, shares, direct, has_leases, ended;
    int64_t token; /* of its ticket, or of its direct lease; 0: it has none */
};

struct lists {
    struct model models[REQUESTS];
    int sharers[REQUESTS]; /* numbers, in the order of the list; -1 behind the last */
    int sharer_count;
    int last_ticket; /* -1: none */
    int64_t tokens;  /* the greatest one */
};

static struct {
    struct uvzk__queue queue;
    struct uvzk__lease_directory directory; /* its extra */
} leases;
static struct uvzk__claim claims[REQUESTS];
static struct lists world;
static int tickets[REQUESTS]; /* stand for contenders */

static uint64_t max_of(const struct uvzk__claim *claim)
{
    (void)claim;
    return 1;
}

static struct uvzk__lease_request *request_of(int i)
{
    return claims[i].extra;
}

static int number_of(const struct uvzk__lease_request *request)
{
    return request == NULL ? -1 : (int)(request->claim - claims);
}

static enum uvzk__lease_request_state state_of(int i)
{
    return (enum uvzk__lease_request_state)request_of(i)->state;
}

static void begin(void)
{
    memset(&leases, 0, sizeof(leases));
    memset(&world, 0, sizeof(world));
    memset(world.sharers, -1, sizeof(world.sharers));
    world.last_ticket = -1;
    uvzk__lease_requests_init(&leases.directory.requests);
    for (int i = 0; i < REQUESTS; i++) {
        assert_int_equal(uvzk__lease_request_new(&claims[i], &leases.queue, 1, max_of),
                         0);
    }
}

/* ------------------------------------------------------------------ the model's lists */

static void leave_sharers(int i)
{
    int at = 0;

    for (int k = 0; k < world.sharer_count; k++) {
        if (world.sharers[k] != i) {
            world.sharers[at++] = world.sharers[k];
        }
    }
    world.sharer_count = at;
    while (at < REQUESTS) {
        world.sharers[at++] = -1;
    }
    world.models[i].shares = false;
}

static void join_sharers(int i, bool first)
{
    int at = first ? 0 : world.sharer_count;

    memmove(&world.sharers[at + 1], &world.sharers[at],
            (size_t)(world.sharer_count - at) * sizeof(int));
    world.sharers[at] = i;
    world.sharer_count++;
    world.models[i].shares = true;
}

static void model_lose_ticket(int i)
{
    world.models[i].ticket = false;
    world.models[i].token = 0;
    world.last_ticket = world.last_ticket == i ? -1 : world.last_ticket;
}

/* The token of the ticket under which it gets leases; 0: there is none. The first one
 * with a ticket stands for the ticket holder. */
static int64_t token_for(int i)
{
    if (world.models[i].ticket) {
        return world.models[i].token;
    }
    for (int k = 0; k < REQUESTS && world.models[i].shares; k++) {
        if (world.models[k].ticket) {
            return world.models[k].token;
        }
    }
    return 0;
}

/* ------------------------------------------------------------------------ the steps */

static bool share(int i)
{
    if (state_of(i) != UVZK__LEASE_REQUEST_NEW) {
        return false;
    }
    join_sharers(i, false);
    uvzk__lease_request_share(request_of(i));
    return true;
}

/* A new one, or a ticket sharer, with leases or without. */
static bool get_ticket(int i)
{
    if (state_of(i) != UVZK__LEASE_REQUEST_NEW && !world.models[i].shares) {
        return false;
    }
    leave_sharers(i);
    world.models[i].ticket = true;
    world.models[i].token = ++world.tokens;
    world.last_ticket = i;
    uvzk__lease_request_get_ticket(request_of(i), (void *)&tickets[i]);
    return true;
}

/* The ticket may not serve its owner, of whose leases none has been sent. */
static bool release_ticket(int i)
{
    if (!world.models[i].ticket || world.models[i].ended ||
        (state_of(i) != UVZK__LEASE_REQUEST_TICKETED &&
         state_of(i) != UVZK__LEASE_REQUEST_UNCOUNTED)) {
        return false;
    }
    model_lose_ticket(i);
    join_sharers(i, true);
    world.models[i].has_leases = false;
    uvzk__lease_request_lose_ticket(request_of(i));
    uvzk__lease_request_share_first(request_of(i));
    return true;
}

/* The owner holds, or has ended. */
static bool lose_ticket(int i)
{
    if (!world.models[i].ticket ||
        (!world.models[i].ended && state_of(i) != UVZK__LEASE_REQUEST_HELD)) {
        return false;
    }
    model_lose_ticket(i);
    uvzk__lease_request_lose_ticket(request_of(i));
    return true;
}

static bool pass_ticket(int i)
{
    if (!world.models[i].ticket || world.sharer_count == 0 ||
        (!world.models[i].ended && state_of(i) != UVZK__LEASE_REQUEST_HELD)) {
        return false;
    }
    int to = world.sharers[0];
    bool was_last = world.last_ticket == i;
    leave_sharers(to);
    world.models[to].ticket = true;
    world.models[to].token = world.models[i].token;
    model_lose_ticket(i);
    world.last_ticket = was_last ? to : world.last_ticket;
    uvzk__lease_request_pass_ticket(request_of(i), request_of(to));
    return true;
}

static bool go_direct(int i)
{
    if (state_of(i) != UVZK__LEASE_REQUEST_NEW ||
        leases.directory.requests.direct != NULL) {
        return false;
    }
    world.models[i].direct = true;
    uvzk__lease_request_go_direct(request_of(i));
    return true;
}

/* The create has been sent; it has been answered. */
static bool create_directly(int i)
{
    bool sent = world.models[i].has_leases;

    if (!world.models[i].direct || world.models[i].ended || world.models[i].token != 0) {
        return false;
    }
    world.models[i].token = sent ? ++world.tokens : 0;
    world.models[i].has_leases = true;
    uvzk__lease_request_create_leases(request_of(i), world.models[i].token);
    return true;
}

/* It may not create its lease directly, or has to delete it; even after it was counted. */
static bool leave_direct(int i)
{
    if (!request_of(i)->direct || world.models[i].ended ||
        state_of(i) == UVZK__LEASE_REQUEST_HELD) {
        return false;
    }
    world.models[i].direct = false;
    world.models[i].has_leases = false;
    world.models[i].token = 0;
    join_sharers(i, true);
    uvzk__lease_request_leave_direct(request_of(i));
    return true;
}

static bool create(int i)
{
    if (world.models[i].ended || token_for(i) == 0 ||
        state_of(i) == UVZK__LEASE_REQUEST_HELD) {
        return false;
    }
    world.models[i].has_leases = true;
    uvzk__lease_request_create_leases(request_of(i), token_for(i));
    return true;
}

static bool take_over(int i)
{
    if (world.models[i].ended || token_for(i) == 0 ||
        state_of(i) == UVZK__LEASE_REQUEST_UNCOUNTED ||
        state_of(i) == UVZK__LEASE_REQUEST_HELD) {
        return false;
    }
    world.models[i].has_leases = true;
    uvzk__lease_request_take_over(request_of(i), token_for(i));
    return true;
}

/* For the first time, or by a lower maximum. */
static bool count(int i)
{
    if (world.models[i].ended || !world.models[i].has_leases) {
        return false;
    }
    world.models[i].direct = false;
    uvzk__lease_request_counted(request_of(i));
    return true;
}

static bool withdraw(int i)
{
    if (world.models[i].ended || !world.models[i].has_leases || request_of(i)->direct ||
        !(world.models[i].ticket || world.models[i].shares)) {
        return false;
    }
    world.models[i].has_leases = false;
    uvzk__lease_request_withdrawn(request_of(i));
    return true;
}

static bool grant(int i)
{
    if (state_of(i) != UVZK__LEASE_REQUEST_COUNTED) {
        return false;
    }
    leave_sharers(i);
    world.models[i].has_leases = false;
    uvzk__lease_request_granted(request_of(i));
    return true;
}

/* The ticket has been passed on or released before that. */
static bool take_back(int i)
{
    if (state_of(i) != UVZK__LEASE_REQUEST_HELD || world.models[i].ticket) {
        return false;
    }
    world.models[i].has_leases = true;
    uvzk__lease_request_ungranted(request_of(i));
    return true;
}

static bool end(int i)
{
    if (world.models[i].ended) {
        return false;
    }
    leave_sharers(i);
    world.models[i].ended = true;
    uvzk__lease_request_end(request_of(i));
    return true;
}

static const struct {
    const char *name;
    bool (*take)(int i);
    bool kind;
} steps[] = {
    {"shares", share, true},
    {"gets a ticket", get_ticket, true},
    {"releases its ticket", release_ticket, false},
    {"loses its ticket", lose_ticket, true},
    {"passes its ticket on", pass_ticket, true},
    {"goes without a ticket", go_direct, true},
    {"creates its lease directly", create_directly, true},
    {"needs a ticket after all", leave_direct, true},
    {"creates leases", create, true},
    {"takes leases over", take_over, true},
    {"is counted", count, true},
    {"is withdrawn", withdraw, false},
    {"is granted", grant, true},
    {"loses the grant", take_back, false},
    {"ends", end, false},
};
#define STEPS ((int)(sizeof(steps) / sizeof(steps[0])))

/* ------------------------------------------------------------------------ the checks */

static void check_request(int i)
{
    const struct uvzk__lease_request *request = request_of(i);
    const struct model *model = &world.models[i];
    bool in_line = !uvzk__list_empty(&request->in_with_leases);

    assert_int_equal(request->ticket != NULL, model->ticket);
    assert_int_equal(uvzk__lease_request_is_sharer(request), model->shares);
    assert_int_equal(request->state == UVZK__LEASE_REQUEST_ENDED, model->ended);
    assert_int_equal(in_line, model->has_leases);
    if (!model->ended) {
        assert_int_equal(leases.directory.requests.direct == request, model->direct);
        assert_int_equal(request->state == UVZK__LEASE_REQUEST_UNCOUNTED ||
                             request->state == UVZK__LEASE_REQUEST_COUNTED,
                         model->has_leases);
    }
}

static void check_line(void)
{
    struct uvzk__link *head = &leases.directory.requests.with_leases;
    const struct uvzk__lease_request *before = NULL;

    for (struct uvzk__link *link = head->next; link != head; link = link->next) {
        const struct uvzk__lease_request *request =
            UVZK__CONTAINER_OF(link, struct uvzk__lease_request, in_with_leases);
        assert_true(before == NULL || before->fencing_token < request->fencing_token ||
                    (before->fencing_token == request->fencing_token &&
                     before->arrival < request->arrival));
        before = request;
    }
}

static void check(void)
{
    const struct uvzk__lease_requests *requests = &leases.directory.requests;
    const struct uvzk__lease_request *sharer = uvzk__first_sharer(&leases.queue);
    uint32_t ticket_count = 0;

    for (int i = 0; i < REQUESTS; i++) {
        check_request(i);
        ticket_count += world.models[i].ticket;
    }
    check_line();
    for (int k = 0; k < world.sharer_count; k++) {
        assert_non_null(sharer);
        assert_int_equal(number_of(sharer), world.sharers[k]);
        sharer = uvzk__next_sharer(sharer);
    }
    assert_null(sharer);
    assert_int_equal(requests->tickets, ticket_count);
    assert_int_equal(number_of(requests->last_ticket), world.last_ticket);
}

/* -------------------------------------------------------------- the exploration */

struct snapshot {
    struct lists world;
    struct uvzk__lease_requests requests;
    struct uvzk__lease_request request[REQUESTS];
};

struct visit {
    struct snapshot snapshot;
    uint32_t number;
    bool ends; /* kind steps lead to where all that have not ended hold */
    uint32_t next[STEPS * REQUESTS], count;
    UT_hash_handle hh;
};

static struct {
    struct visit *by_snapshot;
    struct visit **visits;
    uint32_t count, room;
} space;
static bool met[UVZK__LEASE_REQUEST_ENDED + 1][UVZK__LEASE_REQUEST_ENDED + 1];

/* The links point into memory that stays where it is, so a copy of it is a copy of the
 * lists. */
static struct snapshot snapshot(void)
{
    struct snapshot now;

    memset(&now, 0, sizeof(now));
    memcpy(&now.world, &world, sizeof(world));
    memcpy(&now.requests, &leases.directory.requests, sizeof(now.requests));
    for (int i = 0; i < REQUESTS; i++) {
        memcpy(&now.request[i], request_of(i), sizeof(now.request[i]));
    }
    return now;
}

static void restore(const struct snapshot *then)
{
    memcpy(&world, &then->world, sizeof(world));
    memcpy(&leases.directory.requests, &then->requests, sizeof(then->requests));
    for (int i = 0; i < REQUESTS; i++) {
        memcpy(request_of(i), &then->request[i], sizeof(then->request[i]));
    }
}

/* Only the order of the tokens matters, and of those that matter at all: they are numbered
 * anew, so that the space is finite. */
static void renumber_tokens(void)
{
    int64_t *tokens[2 * REQUESTS], token = 0, next = 0;

    for (int i = 0; i < REQUESTS; i++) {
        if (!world.models[i].has_leases && state_of(i) != UVZK__LEASE_REQUEST_HELD) {
            request_of(i)->fencing_token = 0;
        }
        request_of(i)->handed_over = false;
        tokens[2 * i] = &world.models[i].token;
        tokens[2 * i + 1] = &request_of(i)->fencing_token;
    }
    while (token < INT64_MAX) {
        int64_t least = INT64_MAX;
        for (int k = 0; k < 2 * REQUESTS; k++) {
            least = *tokens[k] > token && *tokens[k] < least ? *tokens[k] : least;
        }
        for (int k = 0; k < 2 * REQUESTS && least < INT64_MAX; k++) {
            *tokens[k] = *tokens[k] == least ? next + 1 : *tokens[k];
        }
        next += least < INT64_MAX;
        token = least < INT64_MAX ? next : INT64_MAX;
    }
    world.tokens = next;
}

static uint32_t visit_now(void)
{
    struct snapshot now = snapshot();
    struct visit *visit;

    HASH_FIND(hh, space.by_snapshot, &now, sizeof(now), visit);
    if (visit != NULL) {
        return visit->number;
    }
    if (space.count == space.room) {
        space.room = space.room == 0 ? 1024 : 2 * space.room;
        space.visits = realloc(space.visits, space.room * sizeof(struct visit *));
    }
    visit = calloc(1, sizeof(*visit));
    memcpy(&visit->snapshot, &now, sizeof(now));
    visit->number = space.count;
    space.visits[space.count++] = visit;
    HASH_ADD(hh, space.by_snapshot, snapshot, sizeof(visit->snapshot), visit);
    return visit->number;
}

static void note_moves(const struct snapshot *before)
{
    for (int i = 0; i < REQUESTS; i++) {
        met[before->request[i].state][state_of(i)] |=
            before->request[i].state != state_of(i);
    }
}

static void expand(struct visit *from)
{
    for (int k = 0; k < STEPS * REQUESTS; k++) {
        restore(&from->snapshot);
        if (steps[k / REQUESTS].take(k % REQUESTS)) {
            note_moves(&from->snapshot);
            check();
            renumber_tokens();
            uint32_t number = visit_now();
            if (steps[k / REQUESTS].kind) {
                from->next[from->count++] = number;
            }
        }
    }
}

static bool is_end(const struct visit *visit)
{
    for (int i = 0; i < REQUESTS; i++) {
        if (visit->snapshot.request[i].state != UVZK__LEASE_REQUEST_HELD &&
            visit->snapshot.request[i].state != UVZK__LEASE_REQUEST_ENDED) {
            return false;
        }
    }
    return true;
}

static bool leads_to_an_end(const struct visit *visit)
{
    for (uint32_t k = 0; k < visit->count; k++) {
        if (space.visits[visit->next[k]]->ends) {
            return true;
        }
    }
    return false;
}

static void check_ends(void)
{
    bool changed = true;

    while (changed) {
        changed = false;
        for (uint32_t i = space.count; i > 0; i--) {
            struct visit *visit = space.visits[i - 1];
            if (!visit->ends && (is_end(visit) || leads_to_an_end(visit))) {
                visit->ends = true;
                changed = true;
            }
        }
    }
    for (uint32_t i = 0; i < space.count; i++) {
        assert_true(space.visits[i]->ends);
    }
}

static void forget(void)
{
    struct visit *visit, *next;

    HASH_ITER(hh, space.by_snapshot, visit, next)
    {
        HASH_DEL(space.by_snapshot, visit);
        free(visit);
    }
    free(space.visits);
    for (int i = 0; i < REQUESTS; i++) {
        uvzk__free(claims[i].extra);
    }
}

static void every_state_agrees_with_the_model(void **state)
{
    (void)state;
    begin();
    (void)visit_now();
    for (uint32_t i = 0; i < space.count; i++) {
        expand(space.visits[i]);
    }
    printf("%u states\n", space.count);
    check_ends();
    forget();
}

/* The table allows what happens, or the machine would have stopped. It allows no more,
 * except for leases that are returned: their request is NEW and HELD at once. */
static void the_table_allows_what_happens(void **state)
{
    (void)state;
    met[UVZK__LEASE_REQUEST_NEW][UVZK__LEASE_REQUEST_HELD] = true;
    assert_moves_met(&uvzk__lease_request_machine, &met[0][0]);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_state_agrees_with_the_model),
        cmocka_unit_test(the_table_allows_what_happens),
    };
    return cmocka_run_group_tests_name("lease request machine", tests, NULL, NULL);
}
