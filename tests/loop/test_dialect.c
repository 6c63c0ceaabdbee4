/* SPDX-License-Identifier: Apache-2.0 */
/* What servers know: every order in which questions are asked, answered and lost. */
#include "cmocka_test.h"

#include <string.h>

#include "machine_moves.h"
#include "port/dialect.h"

#define STATES 4 /* of a feature */
#define DEPTH 12 /* all features, one by one, each lost once before */
#define UNIMPLEMENTED (-6)
#define NO_NODE (-101)

static bool met[STATES][STATES];

static void broken(struct uvzk__port_user *user, const char *what)
{
    (void)user;
    fail_msg("%s", what);
}

static struct uvzk__port_user user = {.broken = broken};
static struct uvzk__port port = {.user = &user};

static void note_moves(const struct uvzk__dialect *before,
                       const struct uvzk__dialect *after)
{
    for (unsigned i = 0; i < UVZK__FEATURES; i++) {
        if (before->features[i].state != after->features[i].state) {
            met[before->features[i].state][after->features[i].state] = true;
        }
    }
}

static unsigned asked(const struct uvzk__dialect *dialect)
{
    unsigned count = 0;

    for (unsigned i = 0; i < UVZK__FEATURES; i++) {
        count += dialect->features[i].state == UVZK__FEATURE_ASKED;
    }
    return count;
}

static void walk(struct uvzk__dialect dialect, int depth);

static void walk_on(const struct uvzk__dialect *before, const struct uvzk__dialect *after,
                    int depth)
{
    note_moves(before, after);
    assert_true(!after->one_by_one || asked(after) <= 1);
    walk(*after, depth - 1);
}

static void walk_answers(const struct uvzk__dialect *dialect, int depth)
{
    for (unsigned i = 0; i < UVZK__FEATURES; i++) {
        enum uvzk__feature feature = (enum uvzk__feature)i;
        struct uvzk__dialect known = *dialect, missing = *dialect;

        if (uvzk__dialect_awaits(dialect, feature)) {
            assert_true(uvzk__dialect_answered(&known, feature, NO_NODE));
            assert_true(uvzk__dialect_has(&known, feature));
            walk_on(dialect, &known, depth);
            assert_false(uvzk__dialect_answered(&missing, feature, UNIMPLEMENTED));
            assert_false(uvzk__dialect_has(&missing, feature));
            uvzk__dialect_lost(&missing); /* by the server, as it does */
            walk_on(dialect, &missing, depth);
        }
    }
}

static void walk(struct uvzk__dialect dialect, int depth)
{
    struct uvzk__dialect asking = dialect, lost = dialect, begun = dialect;
    enum uvzk__feature feature;

    if (depth == 0 || uvzk__dialect_is_settled(&dialect)) {
        return;
    }
    uvzk__dialect_begin(&begun);
    assert_int_equal(asked(&begun), 0);
    note_moves(&dialect, &begun);
    uvzk__dialect_lost(&lost);
    assert_int_equal(asked(&lost), 0);
    walk_on(&dialect, &lost, depth);
    walk_answers(&dialect, depth);
    if (uvzk__dialect_next(&asking, &feature)) {
        assert_int_equal(asking.features[feature].state, UVZK__FEATURE_ASKED);
        walk_on(&dialect, &asking, depth);
    } else {
        assert_true(asked(&dialect) > 0); /* an answer is awaited */
    }
}

static struct uvzk__dialect new_dialect(void)
{
    struct uvzk__dialect dialect;

    memset(&dialect, 0, sizeof(dialect));
    uvzk__dialect_init(&dialect, &port);
    return dialect;
}

static void every_order_is_legal(void **state)
{
    struct uvzk__dialect fewer = new_dialect(), all = fewer;
    (void)state;

    uvzk__dialect_lacks(&fewer, UVZK__FEATURE_PERSISTENT);
    assert_false(uvzk__dialect_has(&fewer, UVZK__FEATURE_PERSISTENT));
    note_moves(&all, &fewer);
    walk(fewer, DEPTH);
    walk(all, DEPTH);
    assert_moves_met(&uvzk__feature_machine, &met[0][0]);
}

/* With everything asked at once, the answers are awaited in the order of the questions. */
static void answers_are_awaited_in_order(void **state)
{
    struct uvzk__dialect dialect = new_dialect();
    enum uvzk__feature feature;
    (void)state;

    while (uvzk__dialect_next(&dialect, &feature)) {
    }
    for (unsigned i = 0; i < UVZK__FEATURES; i++) {
        for (unsigned other = 0; other < UVZK__FEATURES; other++) {
            assert_int_equal(uvzk__dialect_awaits(&dialect, (enum uvzk__feature)other),
                             other == i);
        }
        assert_true(uvzk__dialect_answered(&dialect, (enum uvzk__feature)i, NO_NODE));
    }
    assert_true(uvzk__dialect_is_settled(&dialect));
}

/* A single lost connection says nothing about any feature. */
static void one_loss_blames_nobody(void **state)
{
    struct uvzk__dialect dialect = new_dialect();
    enum uvzk__feature feature;
    unsigned questions = 0;
    (void)state;

    while (uvzk__dialect_next(&dialect, &feature)) {
        questions++;
    }
    assert_int_equal(questions, UVZK__FEATURES);
    uvzk__dialect_lost(&dialect);
    uvzk__dialect_begin(&dialect);
    for (unsigned i = 0; i < UVZK__FEATURES; i++) {
        assert_true(uvzk__dialect_next(&dialect, &feature));
        assert_true(uvzk__dialect_answered(&dialect, feature, NO_NODE));
    }
    assert_true(uvzk__dialect_is_settled(&dialect));
    for (unsigned i = 0; i < UVZK__FEATURES; i++) {
        assert_true(uvzk__dialect_has(&dialect, (enum uvzk__feature)i));
    }
}

static void only_these_are_refused(void **state)
{
    struct uvzk__dialect dialect = new_dialect();
    struct uvzk__rpc container = {.kind = UVZK__RPC_CREATE, .mode = UVZK__CONTAINER};
    struct uvzk__rpc persistent = {.kind = UVZK__RPC_CREATE, .mode = UVZK__PERSISTENT};
    struct uvzk__rpc get = {.kind = UVZK__RPC_GET};
    struct uvzk__rpc add_watch = {.kind = UVZK__RPC_ADD_WATCH};
    enum uvzk__feature feature;
    (void)state;

    while (uvzk__dialect_next(&dialect, &feature)) {
        (void)uvzk__dialect_answered(&dialect, feature, UNIMPLEMENTED);
    }
    assert_false(uvzk__dialect_allows(&dialect, &container));
    assert_false(uvzk__dialect_allows(&dialect, &add_watch));
    assert_true(uvzk__dialect_allows(&dialect, &persistent));
    assert_true(uvzk__dialect_allows(&dialect, &get));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_order_is_legal),
        cmocka_unit_test(answers_are_awaited_in_order),
        cmocka_unit_test(one_loss_blames_nobody),
        cmocka_unit_test(only_these_are_refused),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
