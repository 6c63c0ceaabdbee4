/* SPDX-License-Identifier: Apache-2.0 */
/* What the benchmarks look at when a lock is granted: each way to break it is counted. */
#include "exclusion.h"

#include "cmocka_test.h"

struct counted {
    uint64_t overlaps, out_of_order;
};

static struct exclusion lock_for(struct counted *counted, size_t together)
{
    *counted = (struct counted){0, 0};
    return (struct exclusion){.together = together,
                              .overlaps = &counted->overlaps,
                              .out_of_order = &counted->out_of_order};
}

static void one_after_the_other(void **state)
{
    struct counted counted;
    struct exclusion lock = lock_for(&counted, SIZE_MAX);

    (void)state;
    for (int64_t token = 1; token <= 3; token++) {
        exclusion_enter(&lock, true, token);
        exclusion_leave(&lock);
    }
    assert_int_equal(counted.overlaps, 0);
    assert_int_equal(counted.out_of_order, 0);
}

static void two_alone_overlap(void **state)
{
    struct counted counted;
    struct exclusion lock = lock_for(&counted, SIZE_MAX);

    (void)state;
    exclusion_enter(&lock, true, 1);
    exclusion_enter(&lock, true, 2);
    assert_int_equal(counted.overlaps, 1);
}

static void a_reader_and_a_writer_overlap(void **state)
{
    struct counted counted;
    struct exclusion lock = lock_for(&counted, SIZE_MAX);

    (void)state;
    exclusion_enter(&lock, false, 1);
    exclusion_enter(&lock, false, 2);
    assert_int_equal(counted.overlaps, 0);
    exclusion_leave(&lock);
    exclusion_enter(&lock, true, 3);
    assert_int_equal(counted.overlaps, 1);
    exclusion_enter(&lock, false, 4);
    assert_int_equal(counted.overlaps, 2);
}

static void one_lease_too_many_overlaps(void **state)
{
    struct counted counted;
    struct exclusion lock = lock_for(&counted, 3);

    (void)state;
    for (int64_t token = 1; token <= 3; token++) {
        exclusion_enter(&lock, false, token);
    }
    assert_int_equal(counted.overlaps, 0);
    exclusion_enter(&lock, false, 4);
    assert_int_equal(counted.overlaps, 1);
}

static void tokens_rise_between_those_who_exclude(void **state)
{
    struct counted counted;
    struct exclusion lock = lock_for(&counted, SIZE_MAX);

    (void)state;
    exclusion_enter(&lock, true, 5);
    exclusion_leave(&lock);
    exclusion_enter(&lock, false, 7);
    exclusion_enter(&lock, false, 6); /* readers exclude no readers */
    exclusion_leave(&lock);
    exclusion_leave(&lock);
    assert_int_equal(counted.out_of_order, 0);
    exclusion_enter(&lock, true, 7); /* not above the reader's */
    exclusion_leave(&lock);
    assert_int_equal(counted.out_of_order, 1);
    exclusion_enter(&lock, true, 7); /* the same again */
    exclusion_leave(&lock);
    exclusion_enter(&lock, false, 7); /* a reader's as the writer's */
    assert_int_equal(counted.out_of_order, 3);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(one_after_the_other),
        cmocka_unit_test(two_alone_overlap),
        cmocka_unit_test(a_reader_and_a_writer_overlap),
        cmocka_unit_test(one_lease_too_many_overlaps),
        cmocka_unit_test(tokens_rise_between_those_who_exclude),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
