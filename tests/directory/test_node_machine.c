/* SPDX-License-Identifier: Apache-2.0 */
/* The node machine together with the smallest server that can hurt it: every
 * state the two can reach is visited, breadth first.
 *
 *   machine ── needs() ── request ──> SENT ──> ANSWERED ──> machine
 *                                      │          │
 *                        connection lost          connection lost
 *                        it may still be carried  it was carried out;
 *                        out, later: limbo        the machine hears ECONNLOSS
 *
 * Anything may happen at any moment: the wish is withdrawn, the session ends,
 * somebody else deletes the node or the directory, the server refuses, a reply is
 * lost before or after the deed, or spoiled. Kind steps are those in which
 * nothing goes wrong; from every state they alone must lead to an end. */
#include "cmocka_test.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <uthash.h>

#include "directory/node.h"

/* ------------------------------------------------------------------ the world */

/* Our nodes take the first two sequences in turn, so that one is not taken for the
 * next, and the third when the counter is worn out. The fourth is that of a node of
 * our name in another session. A node's czxid follows from its sequence. */
enum slot { FIRST, SECOND, WORN, STRANGE, SLOTS, NO_SLOT = SLOTS };
static const int32_t sequences[SLOTS] = {4, 5, UVZK__SEQUENCE_LIMIT + 1, 3};

enum kind { NOTHING, CREATE, STAT, DELETE };
enum channel { IDLE, SENT, ANSWERED };

struct world {
    struct uvzk__node node;
    bool stands[SLOTS]; /* the nodes of this machine's name */
    bool directory;
    bool connected;
    uint8_t next;    /* enum slot of the next node */
    uint8_t kind;    /* enum kind: what is under way */
    uint8_t channel; /* enum channel */
    uint8_t target;  /* enum slot: of the delete or stat */
    int status;      /* of the answer */
    uint8_t answer;  /* enum slot: the node created */
    bool answer_ours;
    uint8_t limbo;        /* enum kind: lost on its way, perhaps carried out yet */
    uint8_t limbo_target; /* enum slot */
    bool deleted_by_us, deleted_by_hand; /* the latest node */
    bool session_ended;
    bool excused; /* more has happened than a connection lost or a server too busy */
};

static int64_t czxid_of(enum slot slot)
{
    return 100 * ((int64_t)slot + 1);
}

static enum slot slot_of(int32_t sequence)
{
    for (int slot = 0; slot < SLOTS; slot++) {
        if (sequences[slot] == sequence) {
            return (enum slot)slot;
        }
    }
    return NO_SLOT;
}

/* The node of ours that stands. */
static enum slot standing(const struct world *world)
{
    for (int slot = 0; slot < STRANGE; slot++) {
        if (world->stands[slot]) {
            return (enum slot)slot;
        }
    }
    return NO_SLOT;
}

/* -------------------------------------------------------------- the exploration */

/* The world without padding: what tells two of them apart. */
struct key {
    int32_t fields[32];
};

struct visit {
    struct key key;
    struct world world;
    uint32_t number, parent;
    const char *step; /* that led here from the parent */
    uint32_t *next;   /* numbers of the successors */
    bool *kind;
    uint32_t count;
    bool ends; /* kind steps alone lead to an end, whatever they decide */
    UT_hash_handle hh;
};

static struct {
    struct visit *by_key;
    struct visit **visits;
    uint32_t count, room, steps;
} space;

static struct key key_of(const struct world *w)
{
    const struct uvzk__node *n = &w->node;
    const int32_t fields[] = {
        n->state,           n->wanted,        n->in_flight,      n->delete_unknown,
        n->deleted,         n->status,        n->place.sequence, (int32_t)n->place.czxid,
        w->stands[0],       w->stands[1],     w->stands[2],      w->stands[3],
        w->directory,       w->connected,     w->next,           w->kind,
        w->channel,         w->target,        w->status,         w->answer,
        w->answer_ours,     w->limbo,         w->limbo_target,   w->deleted_by_us,
        w->deleted_by_hand, w->session_ended, w->excused};
    struct key key;

    _Static_assert(sizeof(fields) <= sizeof(key.fields), "a key has room for all");
    memset(&key, 0, sizeof(key));
    memcpy(key.fields, fields, sizeof(fields));
    return key;
}

static void print_world(const struct world *w)
{
    static const char *const states[] = {"CREATING",    "PARENTS",  "UNKNOWN",
                                         "IDENTIFYING", "STANDING", "BACKING_OFF",
                                         "DELETING",    "GONE"};
    static const char *const kinds[] = {"nothing", "create", "stat", "delete"};

    print_error("      %s%s%s, status %s, node %d/%d; server: %d%d%d%d; under way: %s%s; "
                "limbo: %s\n",
                states[w->node.state], w->node.wanted ? " wanted" : "",
                w->node.in_flight ? " in flight" : "", uvzk_err_name(w->node.status),
                w->node.place.sequence, (int)w->node.place.czxid, w->stands[0],
                w->stands[1], w->stands[2], w->stands[3], kinds[w->kind],
                w->channel == ANSWERED ? ", answered" : "", kinds[w->limbo]);
}

static void print_way(uint32_t number)
{
    const struct visit *visit = space.visits[number];

    if (visit->parent != number) {
        print_way(visit->parent);
    }
    print_error("   %s\n", visit->step);
    print_world(&visit->world);
}

static uint32_t expanding; /* the visit whose successors are being made */

static void broken(const struct world *world, const char *step, const char *what)
{
    print_way(expanding);
    print_error("   %s\n", step);
    print_world(world);
    fail_msg("%s", what);
}

static void expect(const struct world *world, const char *step, bool is_so,
                   const char *what)
{
    if (!is_so) {
        broken(world, step, what);
    }
}

static struct visit *visit_of(const struct world *world, const char *step)
{
    struct key key = key_of(world);
    struct visit *visit;

    HASH_FIND(hh, space.by_key, &key, sizeof(key), visit);
    if (visit != NULL) {
        return visit;
    }
    if (space.count == space.room) {
        space.room = space.room == 0 ? 1024 : 2 * space.room;
        space.visits = realloc(space.visits, space.room * sizeof(struct visit *));
    }
    visit = calloc(1, sizeof(*visit));
    visit->key = key;
    visit->world = *world;
    visit->number = space.count;
    visit->parent = space.count == 0 ? 0 : expanding;
    visit->step = step;
    space.visits[space.count++] = visit;
    HASH_ADD(hh, space.by_key, key, sizeof(visit->key), visit);
    return visit;
}

/* ------------------------------------------------------------- what always holds */

static void check_end(const struct world *w, const char *step)
{
    const struct uvzk__node *node = &w->node;

    expect(w, step, standing(w) == NO_SLOT && w->limbo != CREATE,
           "GONE, and a node stands or may come");
    expect(w, step, !node->in_flight && !node->wanted && w->channel == IDLE,
           "GONE, and something is under way");
    expect(w, step, !w->deleted_by_us || node->deleted,
           "our own delete is not known as such");
    expect(w, step,
           !node->deleted || w->deleted_by_us || w->session_ended || node->delete_unknown,
           "somebody else's delete is taken for our own");
}

static void check(const struct world *w, const char *step)
{
    const struct uvzk__node *node = &w->node;
    enum slot slot = slot_of(node->place.sequence);

    expect(w, step, node->illegal == 0, "an illegal move");
    expect(w, step, w->stands[0] + w->stands[1] + w->stands[2] <= 1,
           "two nodes of one machine");
    expect(w, step, node->in_flight == (w->channel != IDLE),
           "in_flight is not what is under way");
    expect(w, step, !node->in_flight || uvzk__node_needs(node) == UVZK__NEEDS_NOTHING,
           "something is needed while something is under way");
    if (node->state == UVZK__NODE_STANDING) {
        expect(w, step,
               slot != NO_SLOT && slot != STRANGE && slot != WORN &&
                   node->place.czxid == czxid_of(slot),
               "STANDING at a wrong place");
        expect(w, step, w->stands[slot] || w->deleted_by_hand,
               "STANDING, and there is no node");
    }
    expect(w, step, node->wanted || w->excused, "given up for nothing");
    expect(w, step, !uvzk__node_has_place(node) || slot != NO_SLOT,
           "a place that was never given");
    if (node->state == UVZK__NODE_GONE) {
        check_end(w, step);
    }
}

static void arrive(const struct world *world, const char *step, bool kind)
{
    struct visit *from = space.visits[expanding];

    check(world, step);
    uint32_t number = visit_of(world, step)->number;
    from->next = realloc(from->next, (from->count + 1) * sizeof(from->next[0]));
    from->kind = realloc(from->kind, (from->count + 1) * sizeof(from->kind[0]));
    from->next[from->count] = number;
    from->kind[from->count++] = kind;
    space.steps++;
}

/* ------------------------------------------------------------------- the server */

static void remove_node(struct world *w, enum slot slot, bool by_us)
{
    if (slot != NO_SLOT && w->stands[slot]) {
        w->stands[slot] = false;
        w->deleted_by_us = by_us;
        w->deleted_by_hand = !by_us;
    }
}

static void make_node(struct world *w, enum slot slot)
{
    w->stands[slot] = true;
    w->answer = (uint8_t)slot;
    w->deleted_by_us = false;
    w->deleted_by_hand = false;
    w->next = slot == WORN ? WORN : slot == FIRST ? SECOND : FIRST;
}

/* The request's status, and its effect. */
static int carry_out(struct world *w, enum kind kind, enum slot target, bool wear_out)
{
    switch (kind) {
    case CREATE:
        if (!w->directory) {
            return UVZK_ENONODE;
        }
        make_node(w, wear_out ? WORN : (enum slot)w->next);
        return 0;
    case DELETE:
        if (!w->stands[target]) {
            return UVZK_ENONODE;
        }
        remove_node(w, target, true);
        return 0;
    case STAT:
        w->answer_ours = target != STRANGE && w->stands[target];
        return w->stands[target] ? 0 : UVZK_ENONODE;
    default:
        return 0;
    }
}

static void clear_channel(struct world *w)
{
    w->channel = IDLE;
    w->kind = NOTHING;
    w->status = 0;
    w->target = NO_SLOT;
    w->answer = NO_SLOT;
    w->answer_ours = false;
}

/* The machine hears of its request. */
static void reply(struct world *w, int status)
{
    enum kind kind = (enum kind)w->kind;
    enum slot slot = kind == CREATE ? (enum slot)w->answer : (enum slot)w->target;
    struct uvzk__place place = {0, 0};
    bool ours = w->answer_ours;

    if (kind == CREATE && status == 0) {
        place.sequence = sequences[slot];
        place.czxid = czxid_of(slot);
    }
    clear_channel(w);
    if (kind == CREATE) {
        uvzk__node_created(&w->node, status, place);
    } else if (kind == STAT) {
        uvzk__node_identified(&w->node, status, status == 0 ? czxid_of(slot) : 0, ours);
        if (w->node.state == UVZK__NODE_CREATING) {
            w->stands[STRANGE] = false; /* the driver has chosen another name */
        }
    } else {
        uvzk__node_delete_replied(&w->node, status);
    }
}

/* -------------------------------------------------------------------- the steps */

static void send_needed(const struct world *from)
{
    struct world w = *from;
    enum uvzk__node_needs needs = uvzk__node_needs(&w.node);

    if (!w.connected || (needs != UVZK__NEEDS_CREATE && needs != UVZK__NEEDS_STAT &&
                         needs != UVZK__NEEDS_DELETE)) {
        return;
    }
    expect(&w, "send", needs == UVZK__NEEDS_DELETE || w.node.wanted,
           "asked for something nobody wants");
    w.kind = needs == UVZK__NEEDS_CREATE ? CREATE
             : needs == UVZK__NEEDS_STAT ? STAT
                                         : DELETE;
    w.target = (uint8_t)(w.kind == CREATE ? NO_SLOT : slot_of(w.node.place.sequence));
    expect(&w, "send", w.kind != DELETE || !w.deleted_by_us || w.node.delete_unknown,
           "deleted twice");
    uvzk__node_sent(&w.node);
    w.channel = SENT;
    arrive(&w, "it sends what it needs", true);
}

static void answer(const struct world *from, const char *step, int status, bool kind)
{
    struct world w = *from;

    w.status = status;
    w.channel = ANSWERED;
    w.excused |= !kind && status != UVZK_ETHROTTLED;
    arrive(&w, step, kind);
}

/* A request of a new connection comes behind all of the old one. */
static void serve(const struct world *from)
{
    struct world w = *from;

    if (from->channel != SENT || from->limbo != NOTHING) {
        return;
    }
    w.status = carry_out(&w, (enum kind)w.kind, (enum slot)w.target, false);
    answer(&w, "the server does it", w.status, true);
    if (w.status == 0) {
        answer(&w, "... and the reply is spoiled", UV_ENOMEM, false);
        answer(&w, "... and the server speaks of another trouble", UVZK_EZOOKEEPER,
               false);
    }
    if (from->kind == CREATE && from->directory) {
        w = *from;
        answer(&w, "the counter sticks", UVZK_ENODEEXISTS, false);
        w.status = carry_out(&w, CREATE, NO_SLOT, true);
        answer(&w, "the server does it, the counter is worn out", w.status, false);
    }
}

static void refuse(const struct world *from)
{
    static const int refusals[] = {
        UVZK_ENOAUTH,    UVZK_EINVALIDACL, UVZK_ENOCHILDREN, UVZK_EUNIMPLEMENTED,
        UVZK_ETHROTTLED, UVZK_EREJECTED,   UVZK_EZOOKEEPER,  UV_ENOMEM};
    struct world w = *from;

    if (from->channel != SENT) {
        return;
    }
    for (size_t i = 0; i < sizeof(refusals) / sizeof(refusals[0]); i++) {
        answer(from, uvzk_err_name(refusals[i]), refusals[i], false);
    }
    w.connected = false;
    reply(&w, UVZK_ENOTSENT);
    arrive(&w, "it was not sent at all", false);
}

static void deliver(const struct world *from)
{
    struct world w = *from;

    if (w.channel == ANSWERED) {
        reply(&w, w.status);
        arrive(&w, "the reply arrives", true);
    }
}

static void connection(const struct world *from)
{
    struct world w = *from;

    if (!w.connected) {
        w.connected = true;
        arrive(&w, "connected again", true);
        return;
    }
    w.connected = false;
    if (w.channel == IDLE) {
        arrive(&w, "the connection is lost", false);
        return;
    }
    enum kind lost = w.channel == SENT ? (enum kind)w.kind : NOTHING;
    uint8_t target = w.target;
    reply(&w, UVZK_ECONNLOSS);
    arrive(&w, "the connection is lost, and what was under way", false);
    if (lost == CREATE || lost == DELETE) {
        w.limbo = (uint8_t)lost;
        w.limbo_target = target;
        arrive(&w, "the connection is lost, but not what was under way", false);
    }
}

static void limbo(const struct world *from)
{
    struct world w = *from;

    if (w.limbo == NOTHING) {
        return;
    }
    w.limbo = NOTHING;
    w.limbo_target = NO_SLOT;
    arrive(&w, "what was lost is refused", true);
    (void)carry_out(&w, (enum kind)from->limbo, (enum slot)from->limbo_target, false);
    arrive(&w, "what was lost is done yet", true);
}

/* A listing, after a sync or not, as the queue makes it for an UNKNOWN node. */
static void search(const struct world *from)
{
    struct world w = *from;
    enum slot slot = standing(from);

    if (!w.connected || uvzk__node_needs(&w.node) != UVZK__NEEDS_SEARCH) {
        return;
    }
    if (slot != NO_SLOT) {
        uvzk__node_found(&w.node, sequences[slot]);
        arrive(&w, "a listing shows it", true);
    } else if (w.limbo == NOTHING && w.stands[STRANGE]) {
        uvzk__node_found(&w.node, sequences[STRANGE]);
        arrive(&w, "a listing after a sync shows the foreign znode", true);
    } else if (w.limbo == NOTHING) {
        uvzk__node_absent(&w.node);
        arrive(&w, "a listing after a sync does not show it", true);
    }
}

static void parents(const struct world *from)
{
    struct world w = *from;

    if (!w.connected || uvzk__node_needs(&w.node) != UVZK__NEEDS_PARENTS) {
        return;
    }
    w.excused = true;
    uvzk__node_parents(&w.node, UVZK_EINVALIDACL);
    arrive(&w, "the parents are refused", false);
    w = *from;
    w.directory = true;
    uvzk__node_parents(&w.node, 0);
    arrive(&w, "the parents are made", true);
}

static void others(const struct world *from)
{
    struct world w = *from;

    if (standing(&w) != NO_SLOT) {
        remove_node(&w, standing(&w), false);
        arrive(&w, "somebody deletes it", false);
    } else if (w.directory && !w.stands[STRANGE]) {
        w.directory = false;
        arrive(&w, "somebody removes the directory", false);
    }
}

static void noticed(const struct world *from)
{
    struct world w = *from;

    if (w.node.state == UVZK__NODE_STANDING && standing(&w) == NO_SLOT) {
        uvzk__node_missing(&w.node, true);
        arrive(&w, "it is missed, another one is allowed", true);
        w = *from;
        w.excused = true;
        uvzk__node_missing(&w.node, false);
        arrive(&w, "it is missed, and that is the end", true);
    } else if (w.node.state == UVZK__NODE_BACKING_OFF) {
        uvzk__node_backoff_over(&w.node);
        arrive(&w, "it has rested", true);
    }
}

static void unwanted(const struct world *from)
{
    struct world w = *from;

    w.excused = true;
    uvzk__node_unwanted(&w.node);
    arrive(&w, "it is no longer wanted", false);
}

/* What is under way is replied first. The session takes its nodes along. */
static void session_end(const struct world *from, int status, const char *step)
{
    struct world w = *from;

    w.session_ended = true;
    w.excused = true;
    w.connected = false;
    w.limbo = NOTHING;
    w.limbo_target = NO_SLOT;
    memset(w.stands, 0, STRANGE * sizeof(w.stands[0]));
    if (w.channel != IDLE) {
        reply(&w, status);
    }
    uvzk__node_session_ended(&w.node, status);
    expect(&w, step, !w.node.in_flight, "in flight in a session that is gone");
    if (w.node.state != UVZK__NODE_GONE) {
        w.session_ended = false; /* it goes on in the next one */
        w.deleted_by_us = false;
        w.deleted_by_hand = false;
    }
    arrive(&w, step, false);
}

static void expand(const struct world *w)
{
    if (w->node.state == UVZK__NODE_GONE) {
        return;
    }
    send_needed(w);
    serve(w);
    refuse(w);
    deliver(w);
    connection(w);
    limbo(w);
    search(w);
    parents(w);
    others(w);
    noticed(w);
    unwanted(w);
    session_end(w, UVZK_EEXPIRED, "the session expires");
    session_end(w, UVZK_EAUTH, "the session is refused");
}

static void begin(bool foreign)
{
    struct world world;

    memset(&world, 0, sizeof(world));
    uvzk__node_init(&world.node);
    world.directory = foreign;
    world.stands[STRANGE] = foreign;
    world.limbo_target = NO_SLOT;
    clear_channel(&world);
    (void)visit_of(&world, "at the beginning");
}

static void explore(void)
{
    for (expanding = 0; expanding < space.count; expanding++) {
        struct world world = space.visits[expanding]->world;
        expand(&world);
    }
}

static void forget(void)
{
    struct visit *visit, *next;

    HASH_ITER(hh, space.by_key, visit, next)
    {
        HASH_DEL(space.by_key, visit);
        free(visit->next);
        free(visit->kind);
        free(visit);
    }
    free(space.visits);
    memset(&space, 0, sizeof(space));
}

/* ------------------------------------------------------------------- the checks */

/* An unwanted one has come to its end when it is GONE, a wanted one also when it
 * stands. */
static bool is_end(const struct world *w)
{
    return w->node.state == UVZK__NODE_GONE ||
           (w->node.state == UVZK__NODE_STANDING && standing(w) != NO_SLOT);
}

/* Returns true if every kind step leads to where the end is certain. */
static bool leads_to_an_end(const struct visit *visit)
{
    bool any = false;

    for (uint32_t i = 0; i < visit->count; i++) {
        if (!visit->kind[i]) {
            continue;
        }
        if (!space.visits[visit->next[i]]->ends) {
            return false;
        }
        any = true;
    }
    return any;
}

static void check_ends(void)
{
    bool changed = true;

    while (changed) {
        changed = false;
        for (uint32_t i = space.count; i > 0; i--) {
            struct visit *visit = space.visits[i - 1];
            if (!visit->ends && (is_end(&visit->world) || leads_to_an_end(visit))) {
                visit->ends = true;
                changed = true;
            }
        }
    }
    for (uint32_t i = 0; i < space.count; i++) {
        if (!space.visits[i]->ends) {
            print_way(i);
            fail_msg("no end, although nothing goes wrong any more");
        }
    }
}

static uint32_t count_of(enum uvzk__node_state state)
{
    uint32_t count = 0;

    for (uint32_t i = 0; i < space.count; i++) {
        count += space.visits[i]->world.node.state == state;
    }
    return count;
}

static void explore_from_the_beginning(bool foreign)
{
    begin(foreign);
    explore();
    check_ends();
    printf("%u states, %u steps between them\n", space.count, space.steps);
    for (int state = UVZK__NODE_CREATING; state <= UVZK__NODE_GONE; state++) {
        assert_int_not_equal(count_of((enum uvzk__node_state)state), 0);
    }
    assert_true(space.count > 300);
    forget();
}

static void whatever_happens_no_node_is_left_and_an_end_is_reached(void **state)
{
    (void)state;
    explore_from_the_beginning(false);
}

/* A node of our name in another session: the machine must neither take it for its
 * own nor make a second one under its name. */
static void a_node_of_another_session_is_not_ours(void **state)
{
    (void)state;
    explore_from_the_beginning(true);
}

/* ------------------------------------------------------- what the user is told */

static struct uvzk__node sent_node(void)
{
    struct uvzk__node node;

    uvzk__node_init(&node);
    uvzk__node_sent(&node);
    return node;
}

static void refused_creates_end_with_their_code(void **state)
{
    static const struct {
        int status, told;
    } rows[] = {
        {UVZK_ENOAUTH, UVZK_ENOAUTH},
        {UVZK_EINVALIDACL, UVZK_EINVALIDACL},
        {UVZK_ENOCHILDREN, UVZK_ENOCHILDREN},
        {UVZK_EREJECTED, UVZK_EREJECTED},
        {UVZK_EUNIMPLEMENTED, UVZK_EUNIMPLEMENTED},
        {UVZK_ENODEEXISTS, UVZK_EEXHAUSTED}, /* only a counter that sticks says so */
    };

    (void)state;
    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
        struct uvzk__node node = sent_node();
        uvzk__node_created(&node, rows[i].status, (struct uvzk__place){0, 0});
        assert_int_equal(node.state, UVZK__NODE_GONE);
        assert_int_equal(node.status, rows[i].told);
        assert_false(node.deleted);
    }
}

static void creates_that_may_pass_are_sent_again(void **state)
{
    static const int passing[] = {UVZK_ENOTSENT, UVZK_ETHROTTLED};

    (void)state;
    for (size_t i = 0; i < 2; i++) {
        struct uvzk__node node = sent_node();
        uvzk__node_created(&node, passing[i], (struct uvzk__place){0, 0});
        assert_int_equal(node.state, UVZK__NODE_CREATING);
        assert_int_equal(uvzk__node_needs(&node), UVZK__NEEDS_CREATE);
        assert_int_equal(node.status, 0);
    }
}

static void a_worn_out_sequence_is_refused_and_deleted(void **state)
{
    struct uvzk__node node = sent_node();

    (void)state;
    uvzk__node_created(&node, 0, (struct uvzk__place){UVZK__SEQUENCE_LIMIT + 1, 9});
    assert_int_equal(node.state, UVZK__NODE_DELETING);
    assert_int_equal(node.status, UVZK_EEXHAUSTED);
    assert_false(node.wanted);
    assert_int_equal(uvzk__node_needs(&node), UVZK__NEEDS_DELETE);
}

static struct uvzk__node deleting_node(void)
{
    struct uvzk__node node = sent_node();

    uvzk__node_created(&node, 0, (struct uvzk__place){7, 9});
    assert_int_equal(node.state, UVZK__NODE_STANDING);
    uvzk__node_unwanted(&node);
    uvzk__node_sent(&node);
    return node;
}

/* Its create was lost, and a listing shows it. */
static struct uvzk__node found_node(void)
{
    struct uvzk__node node = sent_node();

    uvzk__node_created(&node, UVZK_ECONNLOSS, (struct uvzk__place){0, 0});
    assert_int_equal(uvzk__node_needs(&node), UVZK__NEEDS_SEARCH);
    uvzk__node_found(&node, 7);
    assert_int_equal(uvzk__node_needs(&node), UVZK__NEEDS_STAT);
    uvzk__node_sent(&node);
    return node;
}

static void a_found_node_is_identified(void **state)
{
    static const int passing[] = {UVZK_ECONNLOSS, UVZK_ENOTSENT, UVZK_ETHROTTLED};
    struct uvzk__node node = found_node();

    (void)state;
    uvzk__node_identified(&node, 0, 9, true);
    assert_int_equal(node.state, UVZK__NODE_STANDING);
    assert_int_equal(node.place.sequence, 7);
    assert_int_equal(node.place.czxid, 9);

    node = found_node(); /* of a former session */
    uvzk__node_identified(&node, 0, 9, false);
    assert_int_equal(uvzk__node_needs(&node), UVZK__NEEDS_CREATE);

    node = found_node(); /* gone meanwhile */
    uvzk__node_identified(&node, UVZK_ENONODE, 0, false);
    assert_int_equal(uvzk__node_needs(&node), UVZK__NEEDS_CREATE);

    node = found_node();
    uvzk__node_identified(&node, UVZK_EREJECTED, 0, false);
    assert_int_equal(node.status, UVZK_EREJECTED);
    assert_int_equal(uvzk__node_needs(&node), UVZK__NEEDS_DELETE);

    for (size_t i = 0; i < sizeof(passing) / sizeof(passing[0]); i++) {
        node = found_node();
        uvzk__node_identified(&node, passing[i], 0, false);
        assert_int_equal(uvzk__node_needs(&node), UVZK__NEEDS_STAT);
        assert_true(node.wanted);
    }
}

static void a_missed_node_has_no_place(void **state)
{
    struct uvzk__node node = sent_node();

    (void)state;
    uvzk__node_created(&node, 0, (struct uvzk__place){7, 9});
    assert_true(uvzk__node_has_place(&node));
    uvzk__node_missing(&node, true);
    assert_false(uvzk__node_has_place(&node));
    assert_int_equal(node.place.czxid, 0); /* no token of a node that is gone */
    assert_int_equal(uvzk__node_needs(&node), UVZK__NEEDS_NOTHING);
    uvzk__node_backoff_over(&node);
    assert_int_equal(uvzk__node_needs(&node), UVZK__NEEDS_CREATE);
}

static void a_delete_tells_who_deleted(void **state)
{
    struct uvzk__node node = deleting_node();

    (void)state;
    uvzk__node_delete_replied(&node, 0);
    assert_int_equal(node.state, UVZK__NODE_GONE);
    assert_true(node.deleted);

    node = deleting_node(); /* somebody else was first: the hold had been lost */
    uvzk__node_delete_replied(&node, UVZK_ENONODE);
    assert_int_equal(node.state, UVZK__NODE_GONE);
    assert_false(node.deleted);

    node = deleting_node(); /* it was perhaps our own, whose reply was lost */
    uvzk__node_delete_replied(&node, UVZK_ECONNLOSS);
    assert_int_equal(uvzk__node_needs(&node), UVZK__NEEDS_DELETE);
    uvzk__node_sent(&node);
    uvzk__node_delete_replied(&node, UVZK_ENONODE);
    assert_true(node.deleted);

    node = deleting_node(); /* but not one that was never carried out */
    uvzk__node_delete_replied(&node, UVZK_ENOTSENT);
    uvzk__node_sent(&node);
    uvzk__node_delete_replied(&node, UVZK_ETHROTTLED);
    uvzk__node_sent(&node);
    uvzk__node_delete_replied(&node, UVZK_ENONODE);
    assert_false(node.deleted);

    node = deleting_node();
    uvzk__node_delete_replied(&node, UVZK_ENOAUTH);
    assert_int_equal(uvzk__node_needs(&node), UVZK__NEEDS_DELETE);
    uvzk__node_sent(&node);
    uvzk__node_delete_replied(&node, UVZK_ENONODE);
    assert_false(node.deleted); /* it was refused, not lost */
    assert_int_equal(node.state, UVZK__NODE_GONE);
}

static void the_session_ends_with_its_reason_for_who_waits(void **state)
{
    struct uvzk__node node = sent_node();

    (void)state;
    uvzk__node_created(&node, 0, (struct uvzk__place){7, 9});
    uvzk__node_session_ended(&node, UVZK_EEXPIRED);
    assert_int_equal(node.state, UVZK__NODE_GONE);
    assert_int_equal(node.status, UVZK_EEXPIRED);

    node = deleting_node(); /* given back: it is gone, as was wished */
    uvzk__node_session_ended(&node, UVZK_EEXPIRED);
    assert_int_equal(node.state, UVZK__NODE_GONE);
    assert_int_equal(node.status, 0);
    assert_true(node.deleted);

    uvzk__node_init(&node); /* never asked for: it is, in the next session */
    uvzk__node_session_ended(&node, UVZK_EEXPIRED);
    assert_int_equal(node.state, UVZK__NODE_CREATING);
    assert_int_equal(uvzk__node_needs(&node), UVZK__NEEDS_CREATE);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(whatever_happens_no_node_is_left_and_an_end_is_reached),
        cmocka_unit_test(a_node_of_another_session_is_not_ours),
        cmocka_unit_test(refused_creates_end_with_their_code),
        cmocka_unit_test(creates_that_may_pass_are_sent_again),
        cmocka_unit_test(a_worn_out_sequence_is_refused_and_deleted),
        cmocka_unit_test(a_found_node_is_identified),
        cmocka_unit_test(a_missed_node_has_no_place),
        cmocka_unit_test(a_delete_tells_who_deleted),
        cmocka_unit_test(the_session_ends_with_its_reason_for_who_waits),
    };
    return cmocka_run_group_tests_name("node machine", tests, NULL, NULL);
}
