/* SPDX-License-Identifier: Apache-2.0 */
/* What a client remembers of the numbers it was given, in a fixed room. */
#include "cmocka_test.h"

#include "base/expected_sequences.h"
#include "base/memory.h"

#define DIRECTORY 0x12345678U

static void a_number_of_a_directory_is_remembered(void **state)
{
    struct uvzk__expected_sequences expected = {0};

    (void)state;
    assert_false(uvzk__expected_sequences_has(&expected, DIRECTORY, 7));
    uvzk__expected_sequences_add(&expected, DIRECTORY, 7);
    assert_true(uvzk__expected_sequences_has(&expected, DIRECTORY, 7));
    assert_false(uvzk__expected_sequences_has(&expected, DIRECTORY, 8));
    assert_false(uvzk__expected_sequences_has(&expected, DIRECTORY + 1, 7));
    uvzk__expected_sequences_free(&expected);
    assert_false(uvzk__expected_sequences_has(&expected, DIRECTORY, 7));
}

static uint32_t hash_of(uint32_t i)
{
    return i * 2654435761U;
}

static uint32_t remembered(const struct uvzk__expected_sequences *expected, uint32_t from,
                           uint32_t count)
{
    uint32_t found = 0;

    for (uint32_t i = from; i < from + count; i++) {
        found += uvzk__expected_sequences_has(expected, hash_of(i), 1);
    }
    return found;
}

/* So many of the last ones always, and few that never were. */
static void the_last_ones_are_remembered_for_long(void **state)
{
    struct uvzk__expected_sequences expected = {0};
    uint32_t many = 5 * UVZK__EXPECTED_SEQUENCES_MIN + 17;

    (void)state;
    for (uint32_t i = 0; i < many; i++) {
        uvzk__expected_sequences_add(&expected, hash_of(i), 1);
    }
    assert_int_equal(remembered(&expected, many - UVZK__EXPECTED_SEQUENCES_MIN,
                                UVZK__EXPECTED_SEQUENCES_MIN),
                     UVZK__EXPECTED_SEQUENCES_MIN);
    assert_in_range(remembered(&expected, 0, UVZK__EXPECTED_SEQUENCES_MIN), 0,
                    UVZK__EXPECTED_SEQUENCES_MIN / 4);
    assert_in_range(remembered(&expected, many, UVZK__EXPECTED_SEQUENCES_MIN), 0,
                    UVZK__EXPECTED_SEQUENCES_MIN / 4);
    uvzk__expected_sequences_free(&expected);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_number_of_a_directory_is_remembered),
        cmocka_unit_test(the_last_ones_are_remembered_for_long),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
