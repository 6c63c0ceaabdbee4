/* Asks what servers know (dialect.h). The transports send the questions. */
#include "port/dialect.h"

#define UNASKED UVZK__FEATURE_UNASKED
#define ASKED UVZK__FEATURE_ASKED
#define KNOWN UVZK__FEATURE_KNOWN
#define MISSING UVZK__FEATURE_MISSING

/* ZooKeeper's KeeperException.Code.UNIMPLEMENTED. */
#define CODE_UNIMPLEMENTED (-6)

static const struct uvzk__state table[] = {
    [UNASKED] = {"UNASKED", UVZK__BIT(ASKED) | UVZK__BIT(MISSING)},
    [ASKED] = {"ASKED", UVZK__BIT(UNASKED) | UVZK__BIT(KNOWN) | UVZK__BIT(MISSING)},
    [KNOWN] = {"KNOWN", 0},
    [MISSING] = {"MISSING", 0},
};

const struct uvzk__machine uvzk__feature_machine = UVZK__OLD_MACHINE("feature", table);

static unsigned count(const struct uvzk__dialect *dialect, enum uvzk__feature_state state)
{
    unsigned features = 0;

    for (unsigned i = 0; i < UVZK__FEATURES; i++) {
        features += dialect->states[i] == state;
    }
    return features;
}

/* The only writer of states. */
static void move(struct uvzk__dialect *dialect, unsigned feature,
                 enum uvzk__feature_state state)
{
    unsigned from = dialect->states[feature];

    dialect->states[feature] =
        (uint8_t)uvzk__machine_after(&uvzk__feature_machine, from, state);
    uvzk__port_check_move(dialect->port, &uvzk__feature_machine, from, state,
                          !dialect->one_by_one || count(dialect, ASKED) <= 1);
}

static void move_asked(struct uvzk__dialect *dialect, enum uvzk__feature_state state)
{
    for (unsigned i = 0; i < UVZK__FEATURES; i++) {
        if (dialect->states[i] == ASKED) {
            move(dialect, i, state);
        }
    }
}

void uvzk__dialect_init(struct uvzk__dialect *dialect, struct uvzk__port *port)
{
    dialect->port = port;
}

void uvzk__dialect_lacks(struct uvzk__dialect *dialect, enum uvzk__feature feature)
{
    move(dialect, feature, MISSING);
}

bool uvzk__dialect_is_settled(const struct uvzk__dialect *dialect)
{
    return count(dialect, UNASKED) + count(dialect, ASKED) == 0;
}

bool uvzk__dialect_has(const struct uvzk__dialect *dialect, enum uvzk__feature feature)
{
    return dialect->states[feature] == KNOWN;
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
    move_asked(dialect, UNASKED);
}

bool uvzk__dialect_awaits(const struct uvzk__dialect *dialect, enum uvzk__feature feature)
{
    unsigned first = 0;

    while (first < UVZK__FEATURES && dialect->states[first] != ASKED) {
        first++;
    }
    return first == feature;
}

bool uvzk__dialect_next(struct uvzk__dialect *dialect, enum uvzk__feature *feature)
{
    if (dialect->one_by_one && count(dialect, ASKED) > 0) {
        return false;
    }
    for (unsigned i = 0; i < UVZK__FEATURES; i++) {
        if (dialect->states[i] == UNASKED) {
            move(dialect, i, ASKED);
            *feature = (enum uvzk__feature)i;
            return true;
        }
    }
    return false;
}

bool uvzk__dialect_answered(struct uvzk__dialect *dialect, enum uvzk__feature feature,
                            int32_t code)
{
    move(dialect, feature, code == CODE_UNIMPLEMENTED ? MISSING : KNOWN);
    return code != CODE_UNIMPLEMENTED;
}

void uvzk__dialect_lost(struct uvzk__dialect *dialect)
{
    move_asked(dialect, dialect->one_by_one ? MISSING : UNASKED);
    dialect->one_by_one = true;
}
