/* SPDX-License-Identifier: Apache-2.0 */
/* The machine of a contender, without a server: every sequence of events up to a certain
 * length, for a new contender of each kind and for an orphan. The session sends nothing,
 * so the test chooses the replies. Each row of a table is one event, the situations of the
 * znode in which it can happen, and the condition that must follow each condition: the
 * contender's state, and its list where the state allows two. After each event the test
 * compares the list, the counts of the directory and the callbacks with what that
 * condition requires. Each sequence ends with the session, and leaves
 * nothing behind. */
#include "cmocka_test.h"
#include "machine_moves.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/path.h"
#include "directory/acl_retry.h"
#include "directory/contender.h"
#include "directory/contender_request.h"
#include "directory/queue.h"
#include "directory/settle/in_order.h"
#include "directory/settle/settle.h"
#include "engine/session.h"
#include "locks/mutex.h"
#include "proof/prover.h"

#define LONGEST 8 /* events of a sequence, before its end */
#define CZXID 100
#define SEQUENCE 7

/* ----------------------------------------------------------------- the memory */

static int blocks; /* allocated, and not freed yet */

static void *counted_malloc(size_t size)
{
    blocks++;
    return malloc(size);
}

static void *counted_calloc(size_t number, size_t size)
{
    blocks++;
    return calloc(number, size);
}

static void *counted_realloc(void *memory, size_t size)
{
    blocks += memory == NULL;
    return realloc(memory, size);
}

static void counted_free(void *memory)
{
    blocks -= memory != NULL;
    free(memory);
}

/* ----------------------------------------------------------------- the session */

static struct {
    struct uvzk__session session;
    struct uvzk__prover prover;
    struct uvzk__directories directories;
    struct uvzk__port port;
    struct uvzk__queue *queue;
    struct uvzk__queue *admitted; /* where the grant of an admitting contender leads */
    uint64_t random;
    int blocks; /* of memory, without a contender */
} world;

static uint64_t now(struct uvzk__port *port)
{
    (void)port;
    return 1000;
}

static void wake(struct uvzk__port *port)
{
    (void)port;
}

static void set_alarm(struct uvzk__port *port, uint64_t at_ms)
{
    (void)port;
    (void)at_ms;
}

static int random_bytes(struct uvzk__port *port, void *bytes, size_t length)
{
    (void)port;
    memset(bytes, 0, length);
    world.random++;
    memcpy(bytes, &world.random, sizeof(world.random));
    return 0;
}

static void submit(struct uvzk__port *port, struct uvzk__rpc *rpc)
{
    (void)port;
    fail_msg("request %d is sent without a connection", rpc->kind);
}

/* ------------------------------------------------------------- what is expected */

enum request { NO_REQUEST, CREATE, READ, DELETE };

/* The contender's state and list, in the order of a contender's life. */
enum condition { UNPLACED, WAITS, EARLY, HOLDS, GIVEN_UP, DELETING, UNDELETABLE, ENDED };

/* How the contenders of the sequences differ. */
struct variant {
    const char *name;
    struct uvzk__contender_kind kind;
    bool persistent, wants_position, orphan;
};

static struct {
    const struct variant *variant;
    struct uvzk__contender *contender; /* NULL: it has ended, and is freed */
    enum condition condition;          /* the last one that was seen */
    enum uvzk__contender_state state;  /* the last one that was seen */
    enum request request;              /* in flight for its znode */
    bool checked;      /* a proof request that checks its znode is in flight */
    uint32_t attempts; /* how many other znodes it may still get */
    uint32_t orphans;  /* made of its znodes that were not shown */
    bool wants_position;
    int code; /* with which the present event ends the claim */
    /* What the callbacks have told the claim. is_ungranted: in the present event. */
    bool is_held, is_ungranted, has_ended, is_undeletable, is_over;
} model;

static const char *way[LONGEST + 8]; /* the events so far */
static size_t way_length;
static uint64_t sequences, steps;
static bool met[UVZK__CONTENDER_ENDED + 1][UVZK__CONTENDER_ENDED + 1];

static void expect(bool is_so, const char *what)
{
    if (!is_so) {
        print_error("%s\n", model.variant->name);
        for (size_t i = 0; i < way_length; i++) {
            print_error("   %s\n", way[i]);
        }
        fail_msg("%s (condition %d)", what, (int)model.condition);
    }
}

static enum condition condition_of(const struct uvzk__contender *contender)
{
    switch ((enum uvzk__contender_state)contender->state) {
    case UVZK__CONTENDER_WAITING:
        return contender->list == UVZK__ON_UNPLACED ? UNPLACED : WAITS;
    case UVZK__CONTENDER_GRANTED_EARLY:
        return EARLY;
    case UVZK__CONTENDER_HOLDING:
        return HOLDS;
    case UVZK__CONTENDER_GIVEN_UP:
        return contender->list == UVZK__ON_UNPLACED ? GIVEN_UP : DELETING;
    case UVZK__CONTENDER_UNDELETABLE:
        return UNDELETABLE;
    default:
        return ENDED;
    }
}

static void note(enum condition condition, enum uvzk__contender_state state)
{
    met[model.state][state] |= model.state != state;
    model.condition = condition;
    model.state = state;
}

static bool holds(enum condition condition)
{
    return condition == EARLY || condition == HOLDS;
}

/* -------------------------------------------------------- the contender's callbacks */

/* The orphans that uvzk__contender_not_shown makes are not the subject. */
static bool is_subject(const struct uvzk__contender *contender)
{
    bool yes = contender == model.contender;

    if (yes) {
        note(condition_of(contender), contender->state);
    }
    return yes;
}

static void granted(struct uvzk__contender *contender)
{
    expect(is_subject(contender) && holds(model.condition), "granted, and does not hold");
    expect(!model.is_held && !model.has_ended, "granted twice, or after its end");
    model.is_held = true;
    model.wants_position = false;
}

static void hold_ended(struct uvzk__contender *contender)
{
    expect(is_subject(contender) && !holds(model.condition),
           "hold_ended, and still holds");
    expect(model.is_held && !model.has_ended, "hold_ended without a hold");
    model.is_held = false;
}

static void ungranted(struct uvzk__contender *contender)
{
    expect(is_subject(contender) && model.condition == WAITS,
           "ungranted, and does not wait");
    expect(!model.is_held && !model.is_ungranted,
           "ungranted before hold_ended, or twice");
    model.is_ungranted = true;
}

static void ended(struct uvzk__contender *contender, int code)
{
    expect(is_subject(contender) && uvzk__contender_is_given_up(contender),
           "ended, and is still wanted");
    expect(!model.has_ended, "ended was called twice");
    expect(!model.is_held, "ended was called before hold_ended");
    expect(code == model.code, "ended was called with another code");
    model.has_ended = true;
    model.wants_position = false;
}

static void undeletable(struct uvzk__contender *contender)
{
    expect(is_subject(contender) && model.condition == UNDELETABLE,
           "undeletable is called in another state");
    expect(!model.is_undeletable, "undeletable was called twice");
    model.is_undeletable = true;
}

static void over(struct uvzk__contender *contender)
{
    if (contender->state == UVZK__CONTENDER_UNDELETABLE) {
        uvzk__undeletable_gone(contender);
    }
    contender->claim = NULL;
    if (is_subject(contender)) {
        expect(!model.is_over, "over was called twice");
        expect(model.has_ended != model.variant->orphan, "over without ended");
        model.is_over = true;
    }
}

static bool may_delete(struct uvzk__contender *contender)
{
    (void)is_subject(contender);
    return true;
}

static const struct uvzk__contender_user user = {
    .granted = granted,
    .hold_ended = hold_ended,
    .ungranted = ungranted,
    .ended = ended,
    .undeletable = undeletable,
    .over = over,
    .may_delete = may_delete,
};

/* ------------------------------------------------------------------------ the checks */

struct walked {
    struct uvzk__contender_counts counts;
    uint32_t early_readers, subjects;
};

static void count(struct walked *walked, const struct uvzk__contender *contender)
{
    enum uvzk__contender_state state = contender->state;
    enum uvzk__node_state node = contender->node.state;
    bool early = state == UVZK__CONTENDER_GRANTED_EARLY, shared = contender->kind->shared;

    walked->subjects += contender == model.contender;
    walked->counts.contenders++;
    walked->counts.early_grants += early;
    walked->early_readers += early && shared;
    walked->counts.writers_held += holds(condition_of(contender)) && !shared;
    walked->counts.positions_wanted += contender->wants_position;
    walked->counts.asking += node == UVZK__NODE_PARENTS || node == UVZK__NODE_UNKNOWN;
}

/* The states of the znodes on each list. */
static const unsigned nodes_on[] = {
    [UVZK__ON_UNPLACED] = UVZK__BIT(UVZK__NODE_CREATING) | UVZK__BIT(UVZK__NODE_PARENTS) |
                          UVZK__BIT(UVZK__NODE_UNKNOWN) |
                          UVZK__BIT(UVZK__NODE_BACKING_OFF),
    [UVZK__ON_WAITERS] =
        UVZK__BIT(UVZK__NODE_IDENTIFYING) | UVZK__BIT(UVZK__NODE_STANDING),
    [UVZK__ON_HOLDERS] = UVZK__BIT(UVZK__NODE_STANDING),
    [UVZK__ON_DELETING] = UVZK__BIT(UVZK__NODE_DELETING),
};

static void walk(struct walked *walked, const struct uvzk__ring *ring,
                 enum uvzk__contender_list list)
{
    struct uvzk__link *link = uvzk__ring_first(ring);

    for (int links = 0; link != NULL; link = uvzk__ring_next(ring, link)) {
        const struct uvzk__contender *contender =
            UVZK__CONTAINER_OF(link, struct uvzk__contender, in_queue);
        expect(links++ < LONGEST, "a list has no end");
        expect(contender->list == list, "on another list than it remembers");
        expect((UVZK__BIT(contender->node.state) & nodes_on[list]) != 0,
               "on the list of another state of its znode");
        expect(holds(condition_of(contender)) == (list == UVZK__ON_HOLDERS),
               "on another list than the holders, or the other way round");
        count(walked, contender);
    }
}

static void check_lists(void)
{
    const struct uvzk__queue *queue = world.queue;
    const struct uvzk__contender_counts *counts = &queue->counts;
    struct walked walked = {.subjects = 0};
    uint32_t subjects = model.contender != NULL && !model.is_over;

    walk(&walked, &queue->unplaced, UVZK__ON_UNPLACED);
    walk(&walked, &queue->waiters, UVZK__ON_WAITERS);
    walk(&walked, &queue->holders, UVZK__ON_HOLDERS);
    walk(&walked, &queue->deleting, UVZK__ON_DELETING);
    expect(walked.subjects == subjects, "it is not on one list");
    expect(walked.counts.contenders == subjects + model.orphans, "another contender");
    expect(counts->contenders == walked.counts.contenders, "counts.contenders");
    expect(counts->early_grants == walked.counts.early_grants, "counts.early_grants");
    expect(counts->writers_held == walked.counts.writers_held, "counts.writers_held");
    expect(counts->positions_wanted == walked.counts.positions_wanted,
           "counts.positions_wanted");
    expect(counts->asking == walked.counts.asking, "counts.asking");
    expect(world.directories.readers_granted_early == walked.early_readers,
           "readers_granted_early");
    expect(world.directories.contender_count == walked.counts.contenders,
           "contender_count");
    expect(world.directories.node_bytes ==
               walked.counts.contenders * uvzk__contender_path_size(queue),
           "node_bytes");
}

/* What is kept of the contender outside its directory and its claim. */
static void check_contender(const struct uvzk__contender *contender)
{
    bool in_flight = contender->node.in_flight;
    bool deletes = contender->node.state == UVZK__NODE_DELETING;

    expect(in_flight == (model.request != NO_REQUEST), "a request is forgotten");
    expect(contender->wants_position == model.wants_position, "wants_position");
    expect(!uvzk__list_empty(&contender->in_batch) ==
               ((deletes && !in_flight) || holds(model.condition)),
           "its delete does not wait to be sent");
}

static void check(enum condition condition)
{
    expect(model.condition == condition, "another condition than the expected one");
    expect(model.is_over == (condition == ENDED), "over is not told");
    expect(model.is_held == holds(condition), "granted or hold_ended is not told");
    expect(model.has_ended == (condition >= GIVEN_UP && !model.variant->orphan),
           "ended is not told");
    expect(uvzk__list_empty(&world.prover.held) != holds(condition),
           "the prover does not know who holds");
    expect(world.directories.undeletable_count == (condition == UNDELETABLE),
           "undeletable_count");
    expect(model.is_undeletable == (condition == UNDELETABLE) || model.is_over,
           "undeletable is not told");
    if (model.contender != NULL) {
        check_contender(model.contender);
    }
    check_lists();
}

/* ------------------------------------------------------------------------ the events */

/* Of the znode. It depends on this which events can happen. */
enum situation {
    TO_CREATE = 1,
    CREATE_SENT = 2,
    NO_PARENTS = 4,
    LOST = 8, /* the outcome of its create is not known */
    PAUSED = 16,
    TO_READ = 32,
    READ_SENT = 64,
    STANDS = 128,
    TO_DELETE = 256,
    DELETE_SENT = 512,
    GONE = 1024,
    ALL = 2047
};

static unsigned situation(void)
{
    static const unsigned of_states[] = {
        [UVZK__NODE_CREATING] = TO_CREATE, [UVZK__NODE_PARENTS] = NO_PARENTS,
        [UVZK__NODE_UNKNOWN] = LOST,       [UVZK__NODE_IDENTIFYING] = TO_READ,
        [UVZK__NODE_STANDING] = STANDS,    [UVZK__NODE_BACKING_OFF] = PAUSED,
        [UVZK__NODE_DELETING] = TO_DELETE, [UVZK__NODE_GONE] = GONE,
    };
    static const unsigned of_requests[] = {
        [CREATE] = CREATE_SENT, [READ] = READ_SENT, [DELETE] = DELETE_SENT};

    return model.request != NO_REQUEST ? of_requests[model.request]
                                       : of_states[model.contender->node.state];
}

static void send_create(struct uvzk__contender *contender)
{
    model.request = CREATE;
    uvzk__contender_create_sent(contender);
}

/* The path of the znode that its create has made. */
static const char *created_path(const struct uvzk__contender *contender, int sequence)
{
    static char path[200];

    (void)snprintf(path, sizeof(path), "%s%010d", contender->path, sequence);
    return path;
}

static void create_answered(struct uvzk__contender *contender, int status)
{
    model.request = NO_REQUEST;
    uvzk__contender_create_answered(contender, status, created_path(contender, SEQUENCE),
                                    CZXID);
}

static void create_worn_out(struct uvzk__contender *contender)
{
    model.request = NO_REQUEST;
    uvzk__contender_create_answered(
        contender, 0, created_path(contender, UVZK__SEQUENCE_LIMIT + 1), CZXID);
}

/* The batch reads a znode that is wanted. */
static void create_batch_answered(struct uvzk__contender *contender)
{
    model.request = contender->node.wanted ? READ : NO_REQUEST;
    uvzk__contender_create_batch_answered(contender, created_path(contender, SEQUENCE));
}

static void make_parents(struct uvzk__contender *contender)
{
    uvzk__node_parents(&contender->node, 0);
    uvzk__contender_update(contender);
}

static void find(struct uvzk__contender *contender)
{
    uvzk__contender_found(contender, SEQUENCE);
}

static void refuse_parents(struct uvzk__contender *contender, int status)
{
    uvzk__end_unplaced(contender->queue, UVZK__NODE_PARENTS, status);
}

static void refuse_search(struct uvzk__contender *contender, int status)
{
    uvzk__end_unplaced(contender->queue, UVZK__NODE_UNKNOWN, status);
}

static void end_waiters(struct uvzk__contender *contender, int status)
{
    uvzk__end_waiters(contender->queue, status);
}

static void send_read(struct uvzk__contender *contender)
{
    model.request = READ;
    uvzk__node_sent(&contender->node);
}

static void read_answered(struct uvzk__contender *contender, int status)
{
    model.request = NO_REQUEST;
    uvzk__contender_identified(contender, status, CZXID, true, 1);
}

static void read_anothers(struct uvzk__contender *contender)
{
    model.request = NO_REQUEST;
    uvzk__contender_identified(contender, 0, CZXID + 1, false, 1);
}

static void grant(struct uvzk__contender *contender)
{
    uvzk__contender_grant(contender, false);
}

static void grant_early(struct uvzk__contender *contender)
{
    uvzk__contender_grant(contender, true);
}

/* It does not hold, so no other timer is armed. While a proof request reads the old path,
 * the pause goes on. */
static void end_pause(struct uvzk__contender *contender)
{
    struct uvzk__deadline *deadline =
        uvzk__deadline_pop(&world.session.deadlines, UINT64_MAX);

    expect(deadline != NULL, "it pauses without a timer");
    struct uvzk__timer *timer =
        UVZK__CONTAINER_OF(deadline, struct uvzk__timer, deadline);
    timer->due(timer);
    expect(contender->node.state ==
               (model.checked ? UVZK__NODE_BACKING_OFF : UVZK__NODE_CREATING),
           "its pause is too long, or too short");
}

/* As delete_batch.c does it. */
static void send_delete(struct uvzk__contender *contender)
{
    model.request = DELETE;
    uvzk__list_remove(&contender->in_batch);
    uvzk__queue_delete_sent(contender, 1);
    uvzk__contender_ref(contender);
    uvzk__node_sent(&contender->node);
}

static void delete_answered(struct uvzk__contender *contender, int status)
{
    model.request = NO_REQUEST;
    if (status == UVZK_ENOAUTH) {
        uvzk__undeletable_add(contender);
    }
    uvzk__node_delete_replied(&contender->node, status);
    uvzk__contender_update(contender);
    uvzk__contender_unref(contender);
}

/* As a proof request does it, which keeps the contender until it is answered. */
static void send_check(struct uvzk__contender *contender)
{
    model.checked = true;
    uvzk__contender_ref(contender);
}

static void check_answered(struct uvzk__contender *contender)
{
    model.checked = false;
    uvzk__contender_unref(contender);
}

/* -------------------------------------------------- when they can happen, and to where */

static bool is_persistent(void)
{
    return model.variant->persistent;
}

static bool is_ephemeral(void)
{
    return !model.variant->persistent;
}

static bool is_checked(void)
{
    return model.checked;
}

static bool is_not_checked(void)
{
    return !model.checked;
}

/* Returns true if it may create another znode when this one is missing. */
static bool may_get_another(void)
{
    return model.attempts > 0 && !model.variant->kind.once &&
           (!holds(model.condition) || model.variant->kind.admits);
}

static bool may_get_no_other(void)
{
    return !may_get_another();
}

/* next: by the condition before, the condition that follows; '.': the event does not happen
 * in this one. UNPLACED, WAITS, EARLY, HOLDS, GIVEN_UP, DELETING, UNDELETABLE and ENDED are
 * U W E H G D N Z. */
static const char letters[] = "UWEHGDNZ";

static const struct row {
    const char *name;
    unsigned situations;
    const char *next;
    void (*act)(struct uvzk__contender *); /* or, with the status: */
    void (*answer)(struct uvzk__contender *, int status);
    int status;
    int code; /* with which the claim ends, if it does */
    bool (*may_happen)(void);
    bool ends; /* takes a contender towards its end, see finish */
} rows[] = {
    {"its create is sent", TO_CREATE, "U.......", .act = send_create},
    {"its create is lost", CREATE_SENT, "U...G...", .answer = create_answered,
     .status = UVZK_ECONNLOSS, .ends = true},
    {"its create is answered", CREATE_SENT, "W...D...", .answer = create_answered},
    {"its create is answered in a batch", CREATE_SENT, "W...D...",
     .act = create_batch_answered},
    {"its create gets a worn-out number", CREATE_SENT, "D...D...", .act = create_worn_out,
     .code = UVZK_EEXHAUSTED},
    {"its create gets EEXPIRED", CREATE_SENT, "G...G...", .answer = create_answered,
     .status = UVZK_EEXPIRED, .code = UVZK_EEXPIRED},
    {"its create gets ENOTSENT", CREATE_SENT, "U...Z...", .answer = create_answered,
     .status = UVZK_ENOTSENT},
    {"its create gets ENONODE", CREATE_SENT, "U...Z...", .answer = create_answered,
     .status = UVZK_ENONODE},
    {"its create gets ENOAUTH", CREATE_SENT, "Z...Z...", .answer = create_answered,
     .status = UVZK_ENOAUTH, .code = UVZK_ENOAUTH},
    {"the parents are created", NO_PARENTS, "U.......", .act = make_parents},
    {"the parents are refused", NO_PARENTS, "Z.......", .answer = refuse_parents,
     .status = UVZK_EINVALIDACL, .code = UVZK_EINVALIDACL},
    {"a listing shows it", LOST, "W...D...", .act = find},
    {"a listing does not show it", LOST, "U...Z...", .act = uvzk__contender_absent},
    {"the listing is refused", LOST, "G...G...", .answer = refuse_search,
     .status = UVZK_ENOAUTH, .code = UVZK_ENOAUTH},
    {"the waiters end", TO_READ | READ_SENT | STANDS, ".D......", .answer = end_waiters,
     .status = UVZK_ELIMIT, .code = UVZK_ELIMIT},
    {"its exists is sent", TO_READ, ".W......", .act = send_read},
    {"its exists is lost", READ_SENT, ".W...D..", .answer = read_answered,
     .status = UVZK_ECONNLOSS, .ends = true},
    {"its exists shows it", READ_SENT, ".W...D..", .answer = read_answered},
    {"its exists shows another client's", READ_SENT, ".U...D..", .act = read_anothers},
    {"its exists gets ENONODE", READ_SENT, ".U...D..", .answer = read_answered,
     .status = UVZK_ENONODE},
    {"its exists is refused", READ_SENT, ".D...D..", .answer = read_answered,
     .status = UVZK_EREJECTED, .code = UVZK_EREJECTED},
    {"it is granted", STANDS, ".H......", .act = grant},
    {"it is granted early", STANDS, ".E......", .act = grant_early},
    {"a delete has checked it", STANDS | TO_DELETE, ".WHH.D..",
     .act = uvzk__contender_checked},
    {"its grant is taken back", STANDS, "..WW....", .act = uvzk__contender_ungrant},
    {"it is missing", STANDS, ".UUU....", .act = uvzk__contender_missing,
     .may_happen = may_get_another},
    {"it is missing, and ends", STANDS, ".ZZZ....", .act = uvzk__contender_missing,
     .code = UVZK_EDELETED, .may_happen = may_get_no_other},
    {"it is not shown", STANDS, ".UUU....", .act = uvzk__contender_not_shown,
     .may_happen = may_get_another},
    {"it is not shown, and ends", STANDS, ".ZZZ....", .act = uvzk__contender_not_shown,
     .code = UVZK_EDELETED, .may_happen = may_get_no_other},
    {"it is missing too late", PAUSED | TO_DELETE, "U....D..",
     .act = uvzk__contender_missing},
    {"its pause is over", PAUSED, "U.......", .act = end_pause},
    {"it is withdrawn", TO_CREATE | NO_PARENTS | PAUSED, "Z.......",
     .act = uvzk__contender_withdraw},
    {"it is withdrawn", CREATE_SENT | LOST, "G.......", .act = uvzk__contender_withdraw},
    {"it is withdrawn", TO_READ | READ_SENT | STANDS, ".DDD....",
     .act = uvzk__contender_withdraw},
    {"it ends", TO_CREATE | NO_PARENTS | PAUSED, "Z.......",
     .answer = uvzk__contender_end, .status = UVZK_EPROOF, .code = UVZK_EPROOF,
     .ends = true},
    {"it ends", CREATE_SENT | LOST, "G...G...", .answer = uvzk__contender_end,
     .status = UVZK_EPROOF, .code = UVZK_EPROOF},
    {"it ends", TO_READ | READ_SENT | STANDS | TO_DELETE | DELETE_SENT, ".DDD.DN.",
     .answer = uvzk__contender_end, .status = UVZK_EPROOF, .code = UVZK_EPROOF},
    {"its delete is sent", TO_DELETE, ".....DN.", .act = send_delete},
    {"its delete is lost", DELETE_SENT, ".....DN.", .answer = delete_answered,
     .status = UVZK_ECONNLOSS, .ends = true},
    {"its delete is answered", DELETE_SENT, ".....ZZ.", .answer = delete_answered},
    {"its delete gets ENONODE", DELETE_SENT, ".....ZZ.", .answer = delete_answered,
     .status = UVZK_ENONODE},
    {"its delete gets ENOAUTH", DELETE_SENT, ".....NN.", .answer = delete_answered,
     .status = UVZK_ENOAUTH},
    {"a proof request checks it", STANDS, ".WEH....", .act = send_check,
     .may_happen = is_not_checked},
    {"the proof request is answered", ALL, "UWEHGDNZ", .act = check_answered,
     .may_happen = is_checked, .ends = true},
    {"the session expires", TO_CREATE | NO_PARENTS, "U.......",
     .answer = uvzk__contender_session_ended, .status = UVZK_EEXPIRED},
    {"the session expires", PAUSED | LOST | TO_READ | STANDS | TO_DELETE, "ZZZZZZZ.",
     .answer = uvzk__contender_session_ended, .status = UVZK_EEXPIRED,
     .code = UVZK_EEXPIRED, .may_happen = is_ephemeral},
    {"the session expires", PAUSED | LOST | TO_READ | STANDS | TO_DELETE, "UWEHGDN.",
     .answer = uvzk__contender_session_ended, .status = UVZK_EEXPIRED,
     .may_happen = is_persistent},
    {"the session is closed", TO_CREATE | NO_PARENTS, "U.......",
     .answer = uvzk__contender_session_ended, .status = UVZK_ECLOSED},
    {"the session is closed", PAUSED | LOST | TO_READ | STANDS | TO_DELETE, "ZZZZZZZ.",
     .answer = uvzk__contender_session_ended, .status = UVZK_ECLOSED,
     .code = UVZK_ECLOSED, .ends = true},
};
#define ROWS (sizeof(rows) / sizeof(rows[0]))

static bool may_happen(const struct row *row)
{
    return (row->situations & situation()) != 0 && row->next[model.condition] != '.' &&
           (row->may_happen == NULL || row->may_happen());
}

/* What an event does besides. before: the condition before it. A grant comes from the settling
 * of the directory, so it does not request another one. */
static void check_change(enum condition before)
{
    bool settles = model.condition != before && !holds(model.condition);
    bool given_up = model.condition > before && model.condition >= GIVEN_UP;

    expect(model.is_ungranted == (holds(before) && model.condition < before && settles),
           "ungranted is not told");
    expect(!settles || !uvzk__list_empty(&world.queue->in_to_settle),
           "its directory is not settled");
    expect(!given_up || !model.variant->kind.admits ||
               !uvzk__list_empty(&world.admitted->in_to_settle),
           "the directory that it admits to is not settled");
}

/* Lets the event happen. After the end the contender is freed if nothing refers to it. */
static void take(const struct row *row)
{
    struct uvzk__contender *contender = model.contender;
    enum condition before = model.condition;
    const char *next = strchr(letters, row->next[before]);

    way[way_length++] = row->name;
    model.code = row->code;
    model.attempts -= row->may_happen == may_get_another;
    model.orphans += row->act == uvzk__contender_not_shown;
    model.is_ungranted = false;
    uvzk__list_remove(&world.queue->in_to_settle);
    uvzk__list_remove(&world.admitted->in_to_settle);
    if (row->act != NULL) {
        row->act(contender);
    } else {
        row->answer(contender, row->status);
    }
    if (model.is_over && !model.checked) {
        model.contender = NULL;
    }
    note(model.is_over ? ENDED : condition_of(contender),
         model.is_over ? UVZK__CONTENDER_ENDED : contender->state);
    expect(model.contender == NULL || contender->state == model.state,
           "over, and not ENDED");
    check((enum condition)(next - letters));
    check_change(before);
    steps++;
}

/* ------------------------------------------------------------------ the sequences */

static const struct variant variants[] = {
    {.name = "a writer", .kind = {.name_prefix = "lock-"}, .wants_position = true},
    {.name = "a reader", .kind = {.name_prefix = "read-", .shared = true}},
    {.name = "a ticket", .kind = {.name_prefix = "lock-", .admits = true}},
    {.name = "one that gets no other znode",
     .kind = {.name_prefix = "lock-", .once = true}},
    {.name = "one with a persistent znode",
     .kind = {.name_prefix = "lock-"},
     .persistent = true},
    {.name = "an orphan", .orphan = true},
    {.name = "a reader's orphan", .kind = {.shared = true}, .orphan = true},
};

static void begin_orphan(const struct variant *variant)
{
    struct uvzk__place place = {SEQUENCE, CZXID};

    model.condition = DELETING;
    model.state = UVZK__CONTENDER_GIVEN_UP;
    model.contender = uvzk__contender_new_orphan(world.queue, "name", place,
                                                 variant->kind.shared, true);
    assert_non_null(model.contender);
}

static void begin(const struct variant *variant)
{
    static int claim; /* stands for the claim, which is not used */

    memset(&model, 0, sizeof(model));
    way_length = 0;
    model.variant = variant;
    model.attempts = world.session.retry.max_retries;
    if (variant->orphan) {
        begin_orphan(variant);
        return;
    }
    assert_int_equal(uvzk__contender_new(world.queue, &variant->kind, world.admitted,
                                         &model.contender),
                     0);
    model.contender->claim = (void *)&claim;
    model.contender->persistent = variant->persistent;
    if (variant->wants_position) {
        uvzk__contender_want_position(model.contender);
        model.wants_position = true;
    }
}

static void begin_with(const struct variant *variant, const uint8_t *taken, size_t length)
{
    begin(variant);
    check(model.condition);
    for (size_t i = 0; i < length; i++) {
        take(&rows[taken[i]]);
    }
}

/* The requests are lost, the claim ends, and the session is closed. What is left are
 * orphans of znodes that were not shown. */
static void finish(void)
{
    while (model.contender != NULL) {
        size_t i = 0;
        while (i < ROWS && !(rows[i].ends && may_happen(&rows[i]))) {
            i++;
        }
        expect(i < ROWS, "its end is not in the table");
        take(&rows[i]);
    }
    uvzk__for_each_contender(&world.session, uvzk__contender_session_ended, UVZK_ECLOSED);
    model.orphans = 0;
    check_lists();
    expect(uvzk__deadline_next(&world.session.deadlines) == UINT64_MAX,
           "a timer is left");
    uvzk__queue_trim_optional(world.queue);
    expect(blocks == world.blocks, "memory is left");
    sequences++;
}

/* Takes each event that can happen after these, and goes on from there. */
static void explore(const struct variant *variant, uint8_t *taken, size_t length)
{
    uint8_t possible[ROWS];
    size_t count = 0;

    for (size_t i = 0; length < LONGEST && model.contender != NULL && i < ROWS; i++) {
        if (may_happen(&rows[i])) {
            possible[count++] = (uint8_t)i;
        }
    }
    for (size_t i = 0; i < count; i++) {
        if (i > 0) {
            begin_with(variant, taken, length);
        }
        taken[length] = possible[i];
        take(&rows[possible[i]]);
        explore(variant, taken, length + 1);
    }
    if (count == 0) {
        finish();
    }
}

static void open_session(void)
{
    struct uvzk__session *session = &world.session;
    struct uvzk__shared_path *path = uvzk__shared_path_join("/", "lock");
    struct uvzk__shared_path *other = uvzk__shared_path_join("/", "leases");

    world.port.now = now;
    world.port.wake = wake;
    world.port.alarm = set_alarm;
    world.port.random = random_bytes;
    world.port.submit = submit;
    session->port = &world.port;
    session->prover = &world.prover;
    session->directories = &world.directories;
    session->retry = (uvzk_retry_policy_t){
        .kind = UVZK_RETRY_N_TIMES, .base_ms = 10, .max_retries = 1};
    uvzk__list_init(&session->notifications);
    uvzk__connection_init(&session->connection);
    uvzk__prover_init(session, NULL, UVZK_PROOF_QUORUM, 2000);
    uvzk__directories_init(session->directories, &user);
    world.queue = uvzk__queue_of(session, &uvzk__exclusive, path);
    world.admitted = uvzk__queue_of(session, &uvzk__exclusive, other);
    assert_true(world.queue != NULL && world.admitted != NULL);
    uvzk__shared_path_unref(path);
    uvzk__shared_path_unref(other);
    world.blocks = blocks;
}

static void every_sequence_agrees_with_the_table(void **state)
{
    uint8_t taken[LONGEST];

    (void)state;
    assert_int_equal(uvzk_replace_allocator(counted_malloc, counted_realloc,
                                            counted_calloc, counted_free),
                     0);
    open_session();
    for (size_t i = 0; i < sizeof(variants) / sizeof(variants[0]); i++) {
        begin_with(&variants[i], NULL, 0);
        explore(&variants[i], taken, 0);
    }
    printf("%" PRIu64 " sequences, %" PRIu64 " events\n", sequences, steps);
    uvzk__directories_free(&world.session);
    assert_int_equal(blocks, 0);
}

/* The machine's table allows what happens, or the machine would have stopped. It allows no
 * more. */
static void the_machine_allows_what_happens(void **state)
{
    (void)state;
    assert_moves_met(&uvzk__contender_machine, &met[0][0]);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_sequence_agrees_with_the_table),
        cmocka_unit_test(the_machine_allows_what_happens),
    };
    return cmocka_run_group_tests_name("contender machine", tests, NULL, NULL);
}
