/* SPDX-License-Identifier: Apache-2.0 */
/* The bytes of an atomic long, which are Java's: pure functions. */
#include "cmocka_test.h"

#include "atomic/atomic_number.h"

static const struct {
    int64_t number;
    unsigned char bytes[UVZK__ATOMIC_BYTES];
} numbers[] = {
    {0, {0, 0, 0, 0, 0, 0, 0, 0}},
    {1, {0, 0, 0, 0, 0, 0, 0, 1}},
    {-1, {255, 255, 255, 255, 255, 255, 255, 255}},
    {-2, {255, 255, 255, 255, 255, 255, 255, 254}},
    {0x0102030405060708, {1, 2, 3, 4, 5, 6, 7, 8}},
    {INT64_MAX, {127, 255, 255, 255, 255, 255, 255, 255}},
    {INT64_MIN, {128, 0, 0, 0, 0, 0, 0, 0}},
};

static void the_bytes_are_those_of_java(void **state)
{
    (void)state;
    for (size_t i = 0; i < sizeof(numbers) / sizeof(numbers[0]); i++) {
        unsigned char bytes[UVZK__ATOMIC_BYTES];
        int64_t number = 77;

        uvzk__atomic_number_write(bytes, numbers[i].number);
        assert_memory_equal(bytes, numbers[i].bytes, sizeof(bytes));
        assert_true(uvzk__atomic_number_read(bytes, sizeof(bytes), &number));
        assert_true(number == numbers[i].number);
    }
}

static void other_lengths(void **state)
{
    const unsigned char bytes[] = {0, 0, 0, 0, 0, 0, 1, 2, 9};
    int64_t number = 77;

    (void)state;
    assert_true(uvzk__atomic_number_read(NULL, 0, &number));
    assert_true(number == 0);
    for (size_t length = 1; length < UVZK__ATOMIC_BYTES; length++) {
        assert_false(uvzk__atomic_number_read(bytes, length, &number));
    }
    assert_true(uvzk__atomic_number_read(bytes, sizeof(bytes), &number));
    assert_true(number == 258);
}

static void sums_that_fit_and_sums_that_do_not(void **state)
{
    static const struct {
        int64_t number, delta;
        bool fits;
    } sums[] = {
        {INT64_MAX, 0, true},         {INT64_MAX, 1, false},
        {INT64_MAX - 1, 1, true},     {INT64_MAX, INT64_MAX, false},
        {INT64_MIN, 0, true},         {INT64_MIN, -1, false},
        {INT64_MIN + 1, -1, true},    {INT64_MIN, INT64_MIN, false},
        {INT64_MIN, INT64_MAX, true}, {INT64_MAX, INT64_MIN, true},
        {-1, INT64_MIN, false},       {0, INT64_MIN, true},
    };

    (void)state;
    for (size_t i = 0; i < sizeof(sums) / sizeof(sums[0]); i++) {
        int64_t sum = 77;

        assert_int_equal(uvzk__atomic_number_add(sums[i].number, sums[i].delta, &sum),
                         sums[i].fits);
        if (sums[i].fits) {
            assert_true(sum - sums[i].delta == sums[i].number ||
                        sums[i].delta == INT64_MIN);
        }
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_bytes_are_those_of_java),
        cmocka_unit_test(other_lengths),
        cmocka_unit_test(sums_that_fit_and_sums_that_do_not),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
