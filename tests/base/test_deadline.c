/* SPDX-License-Identifier: Apache-2.0 */
#include "cmocka_test.h"

#include <stdlib.h>
#include <string.h>

#include "base/deadline.h"
#include "seeded.h"

static void nothing_armed_is_never_due(void **state)
{
    (void)state;
    struct uvzk__deadlines deadlines = {0};
    struct uvzk__deadline never = {0};
    assert_int_equal(uvzk__deadline_next(&deadlines), UINT64_MAX);
    assert_null(uvzk__deadline_pop(&deadlines, UINT64_MAX));
    uvzk__deadline_clear(&deadlines, &never);
    assert_int_equal(uvzk__deadline_next(&deadlines), UINT64_MAX);
}

static void it_is_due_at_its_moment(void **state)
{
    (void)state;
    struct uvzk__deadlines deadlines = {0};
    struct uvzk__deadline one = {0};
    uvzk__deadline_set(&deadlines, &one, 100);
    assert_true(uvzk__deadline_is_armed(&one));
    assert_int_equal(uvzk__deadline_next(&deadlines), 100);
    assert_null(uvzk__deadline_pop(&deadlines, 99));
    assert_true(uvzk__deadline_is_armed(&one));
    assert_ptr_equal(uvzk__deadline_pop(&deadlines, 100), &one);
    assert_false(uvzk__deadline_is_armed(&one));
    assert_null(uvzk__deadline_pop(&deadlines, UINT64_MAX));
}

static void setting_again_moves(void **state)
{
    (void)state;
    struct uvzk__deadlines deadlines = {0};
    struct uvzk__deadline one = {0}, two = {0};
    uvzk__deadline_set(&deadlines, &one, 100);
    uvzk__deadline_set(&deadlines, &two, 200);
    uvzk__deadline_set(&deadlines, &one, 300);
    assert_int_equal(uvzk__deadline_next(&deadlines), 200);
    uvzk__deadline_set(&deadlines, &one, 50);
    assert_int_equal(uvzk__deadline_next(&deadlines), 50);
    assert_ptr_equal(uvzk__deadline_pop(&deadlines, UINT64_MAX), &one);
    assert_ptr_equal(uvzk__deadline_pop(&deadlines, UINT64_MAX), &two);
    assert_null(uvzk__deadline_pop(&deadlines, UINT64_MAX));
}

static void a_moment_at_the_end_of_time_can_be_popped(void **state)
{
    (void)state;
    struct uvzk__deadlines deadlines = {0};
    struct uvzk__deadline one = {0}, zero = {0};
    uvzk__deadline_set(&deadlines, &one, UINT64_MAX);
    uvzk__deadline_set(&deadlines, &zero, 0);
    assert_ptr_equal(uvzk__deadline_pop(&deadlines, 0), &zero);
    assert_null(uvzk__deadline_pop(&deadlines, UINT64_MAX - 1));
    assert_ptr_equal(uvzk__deadline_pop(&deadlines, UINT64_MAX), &one);
}

/* Wide and deep heaps, without a stack to overflow. */
static void a_hundred_thousand_come_in_order(void **state)
{
    (void)state;
    enum { COUNT = 100000 };
    struct uvzk__deadline *many = calloc(COUNT, sizeof(*many));
    assert_non_null(many);
    for (int descending = 0; descending <= 1; descending++) {
        struct uvzk__deadlines deadlines = {0};
        for (uint64_t i = 0; i < COUNT; i++) {
            uvzk__deadline_set(&deadlines, &many[i], descending ? COUNT - 1 - i : i);
        }
        for (uint64_t i = 0; i < COUNT; i++) {
            struct uvzk__deadline *due = uvzk__deadline_pop(&deadlines, i);
            assert_ptr_equal(due, &many[descending ? COUNT - 1 - i : i]);
        }
        assert_null(deadlines.first);
    }
    free(many);
}

/* ------------------------------------------------- against a naive model */

#define DEADLINES 64

struct model {
    struct uvzk__deadlines heap;
    struct uvzk__deadline deadlines[DEADLINES];
    bool armed[DEADLINES];
    uint64_t at_ms[DEADLINES];
};

static uint64_t earliest(const struct model *model)
{
    uint64_t at_ms = UINT64_MAX;
    for (size_t i = 0; i < DEADLINES; i++) {
        if (model->armed[i] && model->at_ms[i] < at_ms) {
            at_ms = model->at_ms[i];
        }
    }
    return at_ms;
}

/* Links and order are right everywhere; returns the number of nodes. */
static size_t check_tree(const struct uvzk__deadline *first)
{
    const struct uvzk__deadline *open[DEADLINES];
    size_t open_count = 0, seen = 0;
    if (first != NULL) {
        assert_ptr_equal(first->prev, first);
        assert_null(first->next);
        open[open_count++] = first;
    }
    while (open_count > 0) {
        const struct uvzk__deadline *parent = open[--open_count];
        const struct uvzk__deadline *prev = parent;
        assert_true(uvzk__deadline_is_armed(parent));
        seen++;
        for (const struct uvzk__deadline *c = parent->child; c != NULL; c = c->next) {
            assert_ptr_equal(c->prev, prev);
            assert_true(c->at_ms >= parent->at_ms);
            assert_true(open_count < DEADLINES);
            open[open_count++] = c;
            prev = c;
        }
    }
    return seen;
}

static void check(const struct model *model)
{
    size_t armed = 0;
    for (size_t i = 0; i < DEADLINES; i++) {
        assert_int_equal(uvzk__deadline_is_armed(&model->deadlines[i]), model->armed[i]);
        armed += model->armed[i];
    }
    assert_int_equal(check_tree(model->heap.first), armed);
    assert_int_equal(uvzk__deadline_next(&model->heap), earliest(model));
}

static void pop(struct model *model, uint64_t now_ms)
{
    uint64_t at_ms = earliest(model);
    struct uvzk__deadline *due = uvzk__deadline_pop(&model->heap, now_ms);
    if (at_ms > now_ms) {
        assert_null(due);
        return;
    }
    assert_non_null(due);
    size_t i = (size_t)(due - model->deadlines);
    assert_true(model->armed[i]);
    assert_int_equal(model->at_ms[i], at_ms);
    model->armed[i] = false;
}

static void the_heap_agrees_with_a_naive_model(void **state)
{
    (void)state;
    struct seeded random = seeded_begin();
    struct model model;
    memset(&model, 0, sizeof(model));
    for (int step = 0; step < 10000; step++) {
        size_t i = seeded_below(&random, DEADLINES);
        uint64_t at_ms = seeded_below(&random, 200); /* ties are frequent */
        switch (seeded_below(&random, 8)) {
        case 0:
            uvzk__deadline_clear(&model.heap, &model.deadlines[i]);
            model.armed[i] = false;
            break;
        case 1:
        case 2:
            pop(&model, at_ms);
            break;
        default: /* arms it, or moves it either way */
            uvzk__deadline_set(&model.heap, &model.deadlines[i], at_ms);
            model.armed[i] = true;
            model.at_ms[i] = at_ms;
            break;
        }
        check(&model);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(nothing_armed_is_never_due),
        cmocka_unit_test(it_is_due_at_its_moment),
        cmocka_unit_test(setting_again_moves),
        cmocka_unit_test(a_moment_at_the_end_of_time_can_be_popped),
        cmocka_unit_test(a_hundred_thousand_come_in_order),
        cmocka_unit_test(the_heap_agrees_with_a_naive_model),
    };
    return cmocka_run_group_tests_name("deadline", tests, NULL, NULL);
}
