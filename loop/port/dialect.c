/* SPDX-License-Identifier: Apache-2.0 */
/* Asks what servers know (dialect.h). The transports send the questions. */
#include "port/dialect.h"

#include "base/list.h"

/* ZooKeeper's KeeperException.Code.UNIMPLEMENTED. */
#define CODE_UNIMPLEMENTED (-6)

static const struct uvzk__state table[] = {
    UVZK__STATE(UVZK__FEATURE_, UNASKED, ASKED, MISSING),
    UVZK__STATE(UVZK__FEATURE_, ASKED, UNASKED, KNOWN, MISSING),
    UVZK__FINAL(UVZK__FEATURE_, KNOWN),
    UVZK__FINAL(UVZK__FEATURE_, MISSING),
};

static unsigned dialect_count(const struct uvzk__dialect *dialect,
                              enum uvzk__feature_state state)
{
    unsigned features = 0;

    for (unsigned i = 0; i < UVZK__FEATURES; i++) {
        features += dialect->features[i].state == state;
    }
    return features;
}

static bool invariant_holds(const void *object)
{
    const struct uvzk__dialect_feature *feature = object;
    const struct uvzk__dialect *dialect = UVZK__CONTAINER_OF(
        (uintptr_t)(feature - feature->number), struct uvzk__dialect, features);

    return !dialect->one_by_one || dialect_count(dialect, UVZK__FEATURE_ASKED) <= 1;
}

const struct uvzk__machine uvzk__feature_machine =
    UVZK__MACHINE("feature", table, struct uvzk__dialect_feature, state, invariant_holds);

static void move_asked(struct uvzk__dialect *dialect, enum uvzk__feature_state state)
{
    for (unsigned i = 0; i < UVZK__FEATURES; i++) {
        if (dialect->features[i].state == UVZK__FEATURE_ASKED) {
            uvzk__port_move(dialect->port, &uvzk__feature_machine, &dialect->features[i],
                            state);
        }
    }
}

void uvzk__dialect_init(struct uvzk__dialect *dialect, struct uvzk__port *port)
{
    dialect->port = port;
    for (uint8_t i = 0; i < UVZK__FEATURES; i++) {
        dialect->features[i].number = i;
    }
}

void uvzk__dialect_lacks(struct uvzk__dialect *dialect, enum uvzk__feature feature)
{
    uvzk__port_move(dialect->port, &uvzk__feature_machine, &dialect->features[feature],
                    UVZK__FEATURE_MISSING);
}

bool uvzk__dialect_is_settled(const struct uvzk__dialect *dialect)
{
    return dialect_count(dialect, UVZK__FEATURE_UNASKED) +
               dialect_count(dialect, UVZK__FEATURE_ASKED) ==
           0;
}

bool uvzk__dialect_has(const struct uvzk__dialect *dialect, enum uvzk__feature feature)
{
    return dialect->features[feature].state == UVZK__FEATURE_KNOWN;
}

bool uvzk__dialect_allows(const struct uvzk__dialect *dialect,
                          const struct uvzk__rpc *rpc)
{
    if (rpc->kind == UVZK__RPC_ADD_WATCH) {
        return uvzk__dialect_has(dialect, UVZK__FEATURE_PERSISTENT);
    }
    return rpc->kind != UVZK__RPC_CREATE || rpc->mode != UVZK__CONTAINER ||
           uvzk__dialect_has(dialect, UVZK__FEATURE_CONTAINERS);
}

void uvzk__dialect_begin(struct uvzk__dialect *dialect)
{
    move_asked(dialect, UVZK__FEATURE_UNASKED);
}

bool uvzk__dialect_awaits(const struct uvzk__dialect *dialect, enum uvzk__feature feature)
{
    unsigned first = 0;

    while (first < UVZK__FEATURES &&
           dialect->features[first].state != UVZK__FEATURE_ASKED) {
        first++;
    }
    return first == feature;
}

bool uvzk__dialect_next(struct uvzk__dialect *dialect, enum uvzk__feature *feature)
{
    if (dialect->one_by_one && dialect_count(dialect, UVZK__FEATURE_ASKED) > 0) {
        return false;
    }
    for (unsigned i = 0; i < UVZK__FEATURES; i++) {
        if (dialect->features[i].state == UVZK__FEATURE_UNASKED) {
            uvzk__port_move(dialect->port, &uvzk__feature_machine, &dialect->features[i],
                            UVZK__FEATURE_ASKED);
            *feature = (enum uvzk__feature)i;
            return true;
        }
    }
    return false;
}

bool uvzk__dialect_answered(struct uvzk__dialect *dialect, enum uvzk__feature feature,
                            int32_t code)
{
    uvzk__port_move(dialect->port, &uvzk__feature_machine, &dialect->features[feature],
                    code == CODE_UNIMPLEMENTED ? UVZK__FEATURE_MISSING
                                               : UVZK__FEATURE_KNOWN);
    return code != CODE_UNIMPLEMENTED;
}

void uvzk__dialect_lost(struct uvzk__dialect *dialect)
{
    move_asked(dialect,
               dialect->one_by_one ? UVZK__FEATURE_MISSING : UVZK__FEATURE_UNASKED);
    dialect->one_by_one = true;
}
