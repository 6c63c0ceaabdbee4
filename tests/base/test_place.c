/* SPDX-License-Identifier: Apache-2.0 */
#include "cmocka_test.h"

#include "base/place.h"
#include "seeded.h"

static void suffixes_wear_out_before_the_counter_sticks(void **state)
{
    (void)state;
    assert_int_equal(UVZK__SEQUENCE_LIMIT, 2146435071); /* 2^31 - 2^20 - 1 */
    assert_false(uvzk__sequence_exhausted(0));
    assert_false(uvzk__sequence_exhausted(1));
    assert_false(uvzk__sequence_exhausted(2146435071));
    assert_true(uvzk__sequence_exhausted(2146435072)); /* 2^31 - 2^20 */
    assert_true(uvzk__sequence_exhausted(INT32_MAX));
    assert_true(uvzk__sequence_exhausted(-1));
    assert_true(uvzk__sequence_exhausted(INT32_MIN));
}

static void places_compare_by_sequence_then_czxid(void **state)
{
    (void)state;
    static const struct uvzk__place in_order[] = {{INT32_MIN, INT64_MAX},
                                                  {INT32_MIN + 1, 0},
                                                  {-1, 900},
                                                  {0, 0},
                                                  {0, 1},
                                                  {1, INT64_MIN},
                                                  {1, 0},
                                                  {1, 5},
                                                  {1, INT64_MAX},
                                                  {2, 0},
                                                  {INT32_MAX, 0},
                                                  {INT32_MAX, 7}};
    const size_t count = sizeof(in_order) / sizeof(in_order[0]);
    for (size_t i = 0; i < count; i++) {
        for (size_t j = 0; j < count; j++) {
            int order = uvzk__place_compare(in_order[i], in_order[j]);
            assert_int_equal(order < 0, i < j);
            assert_int_equal(order > 0, i > j);
        }
    }
}

/* A place among few, so that equal parts are frequent; at both ends of the
 * ranges, so that a subtraction would overflow. */
static struct uvzk__place random_place(struct seeded *random)
{
    static const int32_t sequences[] = {INT32_MIN, -1, 0, 1, INT32_MAX};
    static const int64_t czxids[] = {INT64_MIN, -1, 0, 1, INT64_MAX};
    struct uvzk__place place = {sequences[seeded_below(random, 5)],
                                czxids[seeded_below(random, 5)]};
    return place;
}

static void the_order_is_total(void **state)
{
    (void)state;
    struct seeded random = seeded_begin();
    for (int i = 0; i < 20000; i++) {
        struct uvzk__place a = random_place(&random);
        struct uvzk__place b = random_place(&random);
        struct uvzk__place c = random_place(&random);
        int ab = uvzk__place_compare(a, b);
        int bc = uvzk__place_compare(b, c);
        int ac = uvzk__place_compare(a, c);
        assert_int_equal(ab<0, uvzk__place_compare(b, a)> 0);
        assert_int_equal(ab == 0, a.sequence == b.sequence && a.czxid == b.czxid);
        if (ab <= 0 && bc <= 0) {
            assert_true(ac <= 0);
        }
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(suffixes_wear_out_before_the_counter_sticks),
        cmocka_unit_test(places_compare_by_sequence_then_czxid),
        cmocka_unit_test(the_order_is_total),
    };
    return cmocka_run_group_tests_name("order", tests, NULL, NULL);
}
