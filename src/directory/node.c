/* The state machine of one znode (node.h draws it). contender_request.c sends the
 * requests that it needs and passes it their results.
 *
 * The idea: a create whose outcome is not known is not repeated, because its znode may
 * exist and would block others for as long as the session lives. The machine waits in
 * UNKNOWN until a listing behind a barrier has shown whether the znode exists
 * (listing.h). In the same way a delete is repeated until the znode or its session is
 * known to be gone. */
#include "directory/node.h"

#include <string.h>

#include "base/outcome.h"

#define CREATING UVZK__NODE_CREATING
#define PARENTS UVZK__NODE_PARENTS
#define UNKNOWN UVZK__NODE_UNKNOWN
#define IDENTIFYING UVZK__NODE_IDENTIFYING
#define STANDING UVZK__NODE_STANDING
#define BACKING_OFF UVZK__NODE_BACKING_OFF
#define DELETING UVZK__NODE_DELETING
#define GONE UVZK__NODE_GONE

static const struct uvzk__state table[] = {
    [CREATING] = {"CREATING", UVZK__BIT(STANDING) | UVZK__BIT(IDENTIFYING) |
                                  UVZK__BIT(PARENTS) | UVZK__BIT(UNKNOWN) |
                                  UVZK__BIT(DELETING) | UVZK__BIT(GONE)},
    [PARENTS] = {"PARENTS", UVZK__BIT(CREATING) | UVZK__BIT(GONE)},
    [UNKNOWN] = {"UNKNOWN", UVZK__BIT(CREATING) | UVZK__BIT(IDENTIFYING) |
                                UVZK__BIT(DELETING) | UVZK__BIT(GONE)},
    [IDENTIFYING] = {"IDENTIFYING", UVZK__BIT(STANDING) | UVZK__BIT(CREATING) |
                                        UVZK__BIT(DELETING) | UVZK__BIT(GONE)},
    [STANDING] = {"STANDING",
                  UVZK__BIT(DELETING) | UVZK__BIT(BACKING_OFF) | UVZK__BIT(GONE)},
    [BACKING_OFF] = {"BACKING_OFF", UVZK__BIT(CREATING) | UVZK__BIT(GONE)},
    [DELETING] = {"DELETING", UVZK__BIT(GONE)},
    [GONE] = {"GONE", 0},
};

const struct uvzk__machine uvzk__node_machine = UVZK__OLD_MACHINE("znode", table);

static bool invariant_holds(const struct uvzk__node *node)
{
    switch (node->state) {
    case PARENTS:
    case BACKING_OFF:
        return node->wanted && !node->in_flight;
    case UNKNOWN:
        return !node->in_flight;
    case STANDING:
        return node->wanted && !node->in_flight && node->place.czxid != 0;
    case DELETING:
        return !node->wanted;
    case GONE:
        return !node->in_flight;
    default:
        return true;
    }
}

/* Remembers the fault until the contender asks for it. Only the first one counts. */
static void expect(struct uvzk__node *node, bool holds, unsigned from)
{
    if (!holds && node->illegal == 0) {
        node->illegal = (uint8_t)((from + 1) & 15U);
    }
}

/* The only writer of state. */
static void move(struct uvzk__node *node, enum uvzk__node_state state)
{
    unsigned from = node->state;
    bool allowed = uvzk__machine_allows(&uvzk__node_machine, from, state);

    node->state = (uint8_t)uvzk__machine_after(&uvzk__node_machine, from, state);
    expect(node, allowed && invariant_holds(node), from);
}

static void end(struct uvzk__node *node, int status)
{
    if (node->status == 0) {
        node->status = status;
    }
    node->wanted = false;
    node->in_flight = false;
    move(node, GONE);
}

void uvzk__node_init(struct uvzk__node *node)
{
    memset(node, 0, sizeof(*node));
    node->state = CREATING;
    node->wanted = true;
}

enum uvzk__node_needs uvzk__node_needs(const struct uvzk__node *node)
{
    if (node->in_flight) {
        return UVZK__NEEDS_NOTHING;
    }
    switch (node->state) {
    case CREATING:
        return UVZK__NEEDS_CREATE;
    case PARENTS:
        return UVZK__NEEDS_PARENTS;
    case UNKNOWN:
        return UVZK__NEEDS_SEARCH;
    case IDENTIFYING:
        return UVZK__NEEDS_STAT;
    case DELETING:
        return UVZK__NEEDS_DELETE;
    default:
        return UVZK__NEEDS_NOTHING;
    }
}

void uvzk__node_sent(struct uvzk__node *node)
{
    expect(node, uvzk__node_needs(node) != UVZK__NEEDS_NOTHING, node->state);
    node->in_flight = true;
}

/* UVZK_ECONNLOSS, an expired session and any status that is not listed here leave the
 * outcome open. */
bool uvzk__create_certainly_failed(int status)
{
    if (uvzk__outcome_of(status) == UVZK__OUTCOME_NOT_SENT) {
        return true;
    }
    switch (status) {
    case UVZK_ENONODE:
    case UVZK_ENODEEXISTS:
    case UVZK_ENOAUTH:
    case UVZK_EINVALIDACL:
    case UVZK_ENOCHILDREN:
    case UVZK_EUNIMPLEMENTED:
    case UVZK_EREJECTED:
        return true;
    default:
        return false;
    }
}

/* The znode exists, or may exist, and its name is known, but it is no longer wanted. */
static void start_delete(struct uvzk__node *node)
{
    node->wanted = false;
    move(node, DELETING);
}

/* The znode exists, and its number is known. A contender with a worn-out number must not
 * contend with it (ZOOKEEPER-4706), so the znode is deleted at once. */
static void stand(struct uvzk__node *node)
{
    if (uvzk__sequence_exhausted(node->place.sequence)) {
        node->status = UVZK_EEXHAUSTED;
        node->wanted = false;
    }
    if (!node->wanted) {
        start_delete(node);
    } else {
        move(node, node->place.czxid != 0 ? STANDING : IDENTIFYING);
    }
}

void uvzk__node_created(struct uvzk__node *node, int status, struct uvzk__place place)
{
    expect(node, node->state == CREATING && node->in_flight, node->state);
    node->in_flight = node->not_shown = false;
    if (status == 0) {
        node->place = place;
        stand(node);
    } else if (!uvzk__create_certainly_failed(status)) {
        if (status != UVZK_ECONNLOSS) {
            /* The znode may exist, but the acquire fails: another create would fail
             * too. */
            node->status = status;
            node->wanted = false;
        }
        move(node, UNKNOWN);
    } else if (!node->wanted) {
        end(node, 0);
    } else if (status == UVZK_ENONODE) {
        move(node, PARENTS);
    } else if (status == UVZK_ENODEEXISTS) {
        /* Only a sequence counter that does not advance gives a name that exists. */
        end(node, UVZK_EEXHAUSTED);
    } else if (uvzk__outcome_of(status) != UVZK__OUTCOME_NOT_SENT) {
        end(node, status);
    } /* else the node is still CREATING, and sends the create again */
}

void uvzk__node_parents(struct uvzk__node *node, int status)
{
    if (node->state != PARENTS) {
        return;
    }
    if (status == 0) {
        move(node, CREATING);
    } else {
        end(node, status);
    }
}

void uvzk__node_found(struct uvzk__node *node, int32_t sequence)
{
    expect(node, node->state == UNKNOWN, node->state);
    node->place.sequence = sequence;
    node->place.czxid = 0;
    if (node->wanted) {
        move(node, IDENTIFYING);
    } else {
        start_delete(node);
    }
}

void uvzk__node_absent(struct uvzk__node *node)
{
    expect(node, node->state == UNKNOWN, node->state);
    if (node->wanted) {
        move(node, CREATING);
    } else {
        end(node, 0);
    }
}

void uvzk__node_identified(struct uvzk__node *node, int status, int64_t czxid, bool ours)
{
    node->in_flight = false;
    if (node->state != IDENTIFYING) {
        return; /* the node is no longer wanted: it is DELETING already */
    }
    if (status == 0 && ours) {
        node->place.czxid = czxid;
        stand(node);
    } else if (status == 0 || status == UVZK_ENONODE) {
        /* The znode has another owner, or was deleted after the listing that showed
         * it. */
        move(node, CREATING);
    } else if (status != UVZK_ECONNLOSS &&
               uvzk__outcome_of(status) != UVZK__OUTCOME_NOT_SENT) {
        node->status = status;
        start_delete(node);
    }
}

void uvzk__node_not_shown(struct uvzk__node *node)
{
    if (node->state == IDENTIFYING) {
        node->not_shown = true;
    }
}

void uvzk__node_unwanted(struct uvzk__node *node)
{
    if (!node->wanted) {
        return;
    }
    node->wanted = false;
    switch (node->state) {
    case CREATING:
        if (!node->in_flight) {
            end(node, 0);
        }
        break;
    case PARENTS:
    case BACKING_OFF:
        end(node, 0);
        break;
    case IDENTIFYING:
    case STANDING:
        start_delete(node);
        break;
    default:
        break; /* UNKNOWN: the znode is searched for first */
    }
}

void uvzk__node_delete_replied(struct uvzk__node *node, int status)
{
    expect(node, node->state == DELETING && node->in_flight, node->state);
    node->in_flight = false;
    switch (status) {
    case 0:
        node->deleted = true;
        end(node, 0);
        break;
    case UVZK_ENONODE:
        node->deleted = node->delete_unknown;
        end(node, 0);
        break;
    case UVZK_ENOAUTH: /* for the moment: it is tried again, acl_retry.h */
        break;
    default:
        node->delete_unknown |= uvzk__outcome_of(status) != UVZK__OUTCOME_NOT_SENT;
        break;
    }
}

void uvzk__node_missing(struct uvzk__node *node, bool again)
{
    expect(node, node->state == STANDING, node->state);
    memset(&node->place, 0, sizeof(node->place));
    if (again) {
        move(node, BACKING_OFF);
    } else {
        end(node, UVZK_EDELETED);
    }
}

void uvzk__node_backoff_over(struct uvzk__node *node)
{
    expect(node, node->state == BACKING_OFF, node->state);
    move(node, CREATING);
}

void uvzk__node_session_ended(struct uvzk__node *node, int status)
{
    node->in_flight = false;
    switch (node->state) {
    case UNKNOWN:
    case IDENTIFYING:
    case STANDING:
    case DELETING:
        node->deleted = true;
        end(node, node->wanted ? status : 0);
        break;
    case BACKING_OFF:
        /* Its znode may have gone with the session: a watch can report that before the
         * session's end is. An acquire that had a place does not move on. */
        end(node, status);
        break;
    case CREATING:
        if (!node->wanted) {
            end(node, 0);
        }
        break;
    default:
        break; /* PARENTS: no znode existed. GONE is final */
    }
}
