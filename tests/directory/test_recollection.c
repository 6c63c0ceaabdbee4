/* What a client remembers of the numbers it was given, in a fixed room. */
#include "cmocka_test.h"

#include "base/memory.h"
#include "directory/recollection.h"

#define DIRECTORY 0x12345678U

static void a_number_of_a_directory_is_remembered(void **state)
{
    struct uvzk__recollection recollection = {0};

    (void)state;
    assert_false(uvzk__remembers(&recollection, DIRECTORY, 7));
    uvzk__remember(&recollection, DIRECTORY, 7);
    assert_true(uvzk__remembers(&recollection, DIRECTORY, 7));
    assert_false(uvzk__remembers(&recollection, DIRECTORY, 8));
    assert_false(uvzk__remembers(&recollection, DIRECTORY + 1, 7));
    uvzk__recollection_free(&recollection);
    assert_false(uvzk__remembers(&recollection, DIRECTORY, 7));
}

static uint32_t hash_of(uint32_t i)
{
    return i * 2654435761U;
}

static uint32_t remembered(const struct uvzk__recollection *recollection, uint32_t from,
                           uint32_t count)
{
    uint32_t found = 0;

    for (uint32_t i = from; i < from + count; i++) {
        found += uvzk__remembers(recollection, hash_of(i), 1);
    }
    return found;
}

/* So many of the last ones always, and few that never were. */
static void the_last_ones_are_remembered_for_long(void **state)
{
    struct uvzk__recollection recollection = {0};
    uint32_t many = 5 * UVZK__RECOLLECTIONS + 17;

    (void)state;
    for (uint32_t i = 0; i < many; i++) {
        uvzk__remember(&recollection, hash_of(i), 1);
    }
    assert_int_equal(
        remembered(&recollection, many - UVZK__RECOLLECTIONS, UVZK__RECOLLECTIONS),
        UVZK__RECOLLECTIONS);
    assert_in_range(remembered(&recollection, 0, UVZK__RECOLLECTIONS), 0,
                    UVZK__RECOLLECTIONS / 4);
    assert_in_range(remembered(&recollection, many, UVZK__RECOLLECTIONS), 0,
                    UVZK__RECOLLECTIONS / 4);
    uvzk__recollection_free(&recollection);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_number_of_a_directory_is_remembered),
        cmocka_unit_test(the_last_ones_are_remembered_for_long),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
