/* SPDX-License-Identifier: Apache-2.0 */
/* When servers that show different znodes differ, and when a lock has changed hands. */
#include "comparison.h"

#include <string.h>

#include "cmocka_test.h"

#define SERVERS 3
#define ALL 7U /* of them */

static struct comparison comparison;

/* What each server shows at a look, a letter a znode; NULL: it does not answer. */
static void look(size_t at, const char *first, const char *second, const char *third)
{
    const char *const shown[SERVERS] = {first, second, third};

    for (size_t i = 0; i < SERVERS; i++) {
        struct reading *reading = &comparison.readings[at][i];
        if (shown[i] == NULL) {
            continue;
        }
        assert_true(reading_begin(reading, strlen(shown[i])));
        for (const char *letter = shown[i]; *letter != '\0'; letter++) {
            const char name[] = {*letter, '\0'};
            assert_true(reading_add(reading, name, *letter, 100));
        }
        reading_end(reading);
    }
}

static int begin(void **state)
{
    (void)state;
    memset(&comparison, 0, sizeof(comparison));
    comparison.servers = SERVERS;
    return 0;
}

static int end(void **state)
{
    (void)state;
    comparison_free(&comparison);
    return 0;
}

static void assert_difference(size_t which, char letter, uint64_t shown_by,
                              uint64_t not_by)
{
    const struct difference *difference = &comparison.differences[which];

    assert_true(which < comparison.count);
    assert_int_equal(difference->znode->node[0], letter);
    assert_int_equal(difference->znode->czxid, letter);
    assert_int_equal(difference->shown_by, shown_by);
    assert_int_equal(difference->not_by, not_by);
}

static void the_same_in_another_order_is_the_same(void **state)
{
    (void)state;
    look(0, "abc", "cba", "bac");
    assert_true(comparison_is_equal(&comparison));
}

static void told_twice_is_told_once(void **state)
{
    (void)state;
    look(0, "ab", "aba", "ba");
    assert_true(comparison_is_equal(&comparison));
}

static void of_one_name_another_znode_is_another(void **state)
{
    (void)state;
    look(0, "a", "a", "");
    assert_true(reading_add(&comparison.readings[0][2], "a", 99, 100));
    assert_false(comparison_is_equal(&comparison));
}

static void who_does_not_answer_is_not_compared(void **state)
{
    (void)state;
    look(0, "a", NULL, "a");
    assert_true(comparison_is_equal(&comparison));
    look(1, "a", NULL, "a");
    look(2, "a", "", "a"); /* it has not shown before that it has nothing */
    assert_true(comparison_find(&comparison));
    assert_int_equal(comparison.count, 0);
}

/* "a" goes and "b" comes, and one server hears of it later than the others. */
static void a_lock_that_changes_hands_is_no_difference(void **state)
{
    (void)state;
    look(0, "a", "", "a");
    assert_false(comparison_is_equal(&comparison));
    look(1, "ab", "b", "");
    look(2, "b", "b", "b");
    assert_true(comparison_find(&comparison));
    assert_int_equal(comparison.count, 0);
}

/* Between the second look and the third; nobody has seen it at the first. */
static void what_has_just_been_made_is_no_difference(void **state)
{
    (void)state;
    look(0, "a", "a", "");
    look(1, "b", "", "");
    look(2, "b", "b", "b");
    assert_true(comparison_find(&comparison));
    assert_int_equal(comparison.count, 0);
}

static void one_that_shows_what_was_deleted_differs(void **state)
{
    (void)state;
    look(0, "bc", "bc", "abc");
    look(1, "c", "bc", "abc");
    look(2, "cd", "cd", "acd");
    assert_true(comparison_find(&comparison));
    assert_int_equal(comparison.count, 1);
    assert_difference(0, 'a', 4, 3);
    assert_int_equal(comparison_outlier(&comparison), 2);
}

static void one_that_lacks_what_was_made_differs(void **state)
{
    (void)state;
    for (size_t i = 0; i < COMPARISON_LOOKS; i++) {
        look(i, "ab", "b", "ab");
    }
    assert_true(comparison_find(&comparison));
    assert_int_equal(comparison.count, 1);
    assert_difference(0, 'a', 5, 2);
    assert_int_equal(comparison_outlier(&comparison), 1);
}

static void one_that_does_both_is_told_by_both(void **state)
{
    (void)state;
    for (size_t i = 0; i < COMPARISON_LOOKS; i++) {
        look(i, "bc", "a", "bc");
    }
    assert_true(comparison_find(&comparison));
    assert_int_equal(comparison.count, 3);
    assert_int_equal(comparison_outlier(&comparison), 1);
}

static void none_is_blamed_where_two_differ(void **state)
{
    (void)state;
    for (size_t i = 0; i < COMPARISON_LOOKS; i++) {
        look(i, "a", NULL, "");
    }
    assert_true(comparison_find(&comparison));
    assert_difference(0, 'a', 1, 4);
    assert_int_equal(comparison_outlier(&comparison), -1);
}

static void none_is_blamed_where_two_are_odd(void **state)
{
    (void)state;
    for (size_t i = 0; i < COMPARISON_LOOKS; i++) {
        look(i, "a", "b", "");
    }
    assert_true(comparison_find(&comparison));
    assert_int_equal(comparison.count, 2);
    assert_difference(0, 'a', 1, ALL & ~1U);
    assert_int_equal(comparison_outlier(&comparison), -1);
}

#define COMPARES(name) cmocka_unit_test_setup_teardown(name, begin, end)

int main(void)
{
    const struct CMUnitTest tests[] = {
        COMPARES(the_same_in_another_order_is_the_same),
        COMPARES(told_twice_is_told_once),
        COMPARES(of_one_name_another_znode_is_another),
        COMPARES(who_does_not_answer_is_not_compared),
        COMPARES(a_lock_that_changes_hands_is_no_difference),
        COMPARES(what_has_just_been_made_is_no_difference),
        COMPARES(one_that_shows_what_was_deleted_differs),
        COMPARES(one_that_lacks_what_was_made_differs),
        COMPARES(one_that_does_both_is_told_by_both),
        COMPARES(none_is_blamed_where_two_differ),
        COMPARES(none_is_blamed_where_two_are_odd),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
