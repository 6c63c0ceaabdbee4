/* SPDX-License-Identifier: Apache-2.0 */
/* The state machine of one znode (node.h draws it). contender_request.c sends the
 * requests that it needs and passes it their results.
 *
 * The idea: a create whose outcome is not known is not repeated, because its znode may
 * exist and would block others for as long as the session lives. The machine waits in
 * UNKNOWN until a listing that follows a barrier has shown whether the znode exists
 * (listing.h). In the same way a delete is repeated until the znode or its session is
 * known to be gone. */
#include "directory/node.h"

#include <string.h>

#include "base/outcome.h"

static const struct uvzk__state table[] = {
    UVZK__STATE(UVZK__NODE_, CREATING, STANDING, IDENTIFYING, PARENTS, UNKNOWN, DELETING,
                GONE),
    UVZK__STATE(UVZK__NODE_, PARENTS, CREATING, GONE),
    UVZK__STATE(UVZK__NODE_, UNKNOWN, CREATING, IDENTIFYING, DELETING, GONE),
    UVZK__STATE(UVZK__NODE_, IDENTIFYING, STANDING, CREATING, DELETING, GONE),
    UVZK__STATE(UVZK__NODE_, STANDING, DELETING, BACKING_OFF, GONE),
    UVZK__STATE(UVZK__NODE_, BACKING_OFF, CREATING, GONE),
    UVZK__STATE(UVZK__NODE_, DELETING, GONE),
    UVZK__FINAL(UVZK__NODE_, GONE),
};

static bool invariant_holds(const void *object)
{
    const struct uvzk__node *node = object;

    switch (node->state) {
    case UVZK__NODE_PARENTS:
    case UVZK__NODE_BACKING_OFF:
        return node->wanted && !node->in_flight;
    case UVZK__NODE_UNKNOWN:
        return !node->in_flight;
    case UVZK__NODE_STANDING:
        return node->wanted && !node->in_flight && node->place.czxid != 0;
    case UVZK__NODE_DELETING:
        return !node->wanted;
    case UVZK__NODE_GONE:
        return !node->in_flight;
    default:
        return true;
    }
}

/* Remembers the fault until the contender asks for it. Only the first one counts. */
static void node_expect(struct uvzk__node *node, bool holds, unsigned from)
{
    if (!holds && node->illegal == 0) {
        node->illegal = (uint8_t)((from + 1) & 15U);
    }
}

const struct uvzk__machine uvzk__node_machine =
    UVZK__MACHINE("znode", table, struct uvzk__node, state, invariant_holds);

/* A node knows no session to which uvzk__move could report. */
static void node_enter(struct uvzk__node *node, enum uvzk__node_state state)
{
    unsigned from = node->state;

    node_expect(node, uvzk__machine_enter(&uvzk__node_machine, node, state, NULL, NULL),
                from);
}

static void node_end(struct uvzk__node *node, int status)
{
    if (node->status == 0) {
        node->status = status;
    }
    node->wanted = false;
    node->in_flight = false;
    node_enter(node, UVZK__NODE_GONE);
}

void uvzk__node_init(struct uvzk__node *node)
{
    memset(node, 0, sizeof(*node));
    node->state = UVZK__NODE_CREATING;
    node->wanted = true;
}

enum uvzk__node_needs uvzk__node_needs(const struct uvzk__node *node)
{
    if (node->in_flight) {
        return UVZK__NEEDS_NOTHING;
    }
    switch (node->state) {
    case UVZK__NODE_CREATING:
        return UVZK__NEEDS_CREATE;
    case UVZK__NODE_PARENTS:
        return UVZK__NEEDS_PARENTS;
    case UVZK__NODE_UNKNOWN:
        return UVZK__NEEDS_SEARCH;
    case UVZK__NODE_IDENTIFYING:
        return UVZK__NEEDS_STAT;
    case UVZK__NODE_DELETING:
        return UVZK__NEEDS_DELETE;
    default:
        return UVZK__NEEDS_NOTHING;
    }
}

void uvzk__node_sent(struct uvzk__node *node)
{
    node_expect(node, uvzk__node_needs(node) != UVZK__NEEDS_NOTHING, node->state);
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
    node_enter(node, UVZK__NODE_DELETING);
}

/* The znode exists, and its number is known. A contender must not contend with a number
 * beyond the limit (ZOOKEEPER-4706), so the znode is deleted at once. */
static void node_stand(struct uvzk__node *node)
{
    if (uvzk__sequence_exhausted(node->place.sequence)) {
        node->status = UVZK_EEXHAUSTED;
        node->wanted = false;
    }
    if (!node->wanted) {
        start_delete(node);
    } else {
        node_enter(node,
                   node->place.czxid != 0 ? UVZK__NODE_STANDING : UVZK__NODE_IDENTIFYING);
    }
}

void uvzk__node_created(struct uvzk__node *node, int status, struct uvzk__place place)
{
    node_expect(node, node->state == UVZK__NODE_CREATING && node->in_flight, node->state);
    node->in_flight = node->not_shown = false;
    if (status == 0) {
        node->place = place;
        node_stand(node);
    } else if (!uvzk__create_certainly_failed(status)) {
        if (status != UVZK_ECONNLOSS) {
            /* The znode may exist, but the acquire fails: another create would fail
             * too. */
            node->status = status;
            node->wanted = false;
        }
        node_enter(node, UVZK__NODE_UNKNOWN);
    } else if (!node->wanted) {
        node_end(node, 0);
    } else if (status == UVZK_ENONODE) {
        node_enter(node, UVZK__NODE_PARENTS);
    } else if (status == UVZK_ENODEEXISTS) {
        /* Only a sequence counter that does not advance gives a name that exists. */
        node_end(node, UVZK_EEXHAUSTED);
    } else if (uvzk__outcome_of(status) != UVZK__OUTCOME_NOT_SENT) {
        node_end(node, status);
    } /* else the node is still CREATING, and sends the create again */
}

void uvzk__node_parents(struct uvzk__node *node, int status)
{
    if (node->state != UVZK__NODE_PARENTS) {
        return;
    }
    if (status == 0) {
        node_enter(node, UVZK__NODE_CREATING);
    } else {
        node_end(node, status);
    }
}

void uvzk__node_found(struct uvzk__node *node, int32_t sequence)
{
    node_expect(node, node->state == UVZK__NODE_UNKNOWN, node->state);
    node->place.sequence = sequence;
    node->place.czxid = 0;
    if (node->wanted) {
        node_enter(node, UVZK__NODE_IDENTIFYING);
    } else {
        start_delete(node);
    }
}

void uvzk__node_absent(struct uvzk__node *node)
{
    node_expect(node, node->state == UVZK__NODE_UNKNOWN, node->state);
    if (node->wanted) {
        node_enter(node, UVZK__NODE_CREATING);
    } else {
        node_end(node, 0);
    }
}

void uvzk__node_identified(struct uvzk__node *node, int status, int64_t czxid, bool ours)
{
    node->in_flight = false;
    if (node->state != UVZK__NODE_IDENTIFYING) {
        return; /* the node is no longer wanted: it is DELETING already */
    }
    if (status == 0 && ours) {
        node->place.czxid = czxid;
        node_stand(node);
    } else if (status == 0 || status == UVZK_ENONODE) {
        /* The znode has another owner, or was deleted after the listing that showed
         * it. */
        node_enter(node, UVZK__NODE_CREATING);
    } else if (status != UVZK_ECONNLOSS &&
               uvzk__outcome_of(status) != UVZK__OUTCOME_NOT_SENT) {
        node->status = status;
        start_delete(node);
    }
}

void uvzk__node_not_shown(struct uvzk__node *node)
{
    if (node->state == UVZK__NODE_IDENTIFYING) {
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
    case UVZK__NODE_CREATING:
        if (!node->in_flight) {
            node_end(node, 0);
        }
        break;
    case UVZK__NODE_PARENTS:
    case UVZK__NODE_BACKING_OFF:
        node_end(node, 0);
        break;
    case UVZK__NODE_IDENTIFYING:
    case UVZK__NODE_STANDING:
        start_delete(node);
        break;
    default:
        break; /* UNKNOWN: the znode is searched for first */
    }
}

void uvzk__node_delete_replied(struct uvzk__node *node, int status)
{
    node_expect(node, node->state == UVZK__NODE_DELETING && node->in_flight, node->state);
    node->in_flight = false;
    switch (status) {
    case 0:
        node->deleted = true;
        node_end(node, 0);
        break;
    case UVZK_ENONODE:
        node->deleted = node->delete_unknown;
        node_end(node, 0);
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
    node_expect(node, node->state == UVZK__NODE_STANDING, node->state);
    memset(&node->place, 0, sizeof(node->place));
    if (again) {
        node_enter(node, UVZK__NODE_BACKING_OFF);
    } else {
        node_end(node, UVZK_EDELETED);
    }
}

void uvzk__node_backoff_over(struct uvzk__node *node)
{
    node_expect(node, node->state == UVZK__NODE_BACKING_OFF, node->state);
    node_enter(node, UVZK__NODE_CREATING);
}

void uvzk__node_session_ended(struct uvzk__node *node, int status)
{
    node->in_flight = false;
    switch (node->state) {
    case UVZK__NODE_UNKNOWN:
    case UVZK__NODE_IDENTIFYING:
    case UVZK__NODE_STANDING:
    case UVZK__NODE_DELETING:
        node->deleted = true;
        node_end(node, node->wanted ? status : 0);
        break;
    case UVZK__NODE_BACKING_OFF:
        /* Its znode may have ended with the session: a watch can report that before the
         * end of the session is reported. An acquire that had a place does not move
         * on. */
        node_end(node, status);
        break;
    case UVZK__NODE_CREATING:
        if (!node->wanted) {
            node_end(node, 0);
        }
        break;
    default:
        break; /* PARENTS: no znode existed. GONE is final */
    }
}
