/* Structs of the public header in programs that were built with another version of it. */
#include "cmocka_test.h"

#include <stdint.h>

#include "base/struct_size.h"

struct first {
    size_t size;
    int one;
};

struct later {
    size_t size;
    int one;
    uint64_t two, three;
};

#define GUARD UINT64_C(0x1122334455667788)

static void an_older_program_gets_what_it_has_room_for(void **state)
{
    struct {
        struct first answer;
        uint64_t guard;
    } program = {{sizeof(struct first), 0}, GUARD};
    const struct later now = {sizeof(now), 1, 2, 3};
    (void)state;

    uvzk__answer_into(&program.answer, &now, sizeof(now));
    assert_int_equal(program.answer.size, sizeof(struct first));
    assert_int_equal(program.answer.one, 1);
    assert_true(program.guard == GUARD);
}

static void a_newer_program_gets_what_is_known(void **state)
{
    struct later program = {sizeof(program), 0, 7, 8};
    const struct first now = {sizeof(now), 1};
    (void)state;

    uvzk__answer_into(&program, &now, sizeof(now));
    assert_int_equal(program.size, sizeof(program));
    assert_int_equal(program.one, 1);
    assert_int_equal(program.two, 7);
    assert_int_equal(program.three, 8);
}

static void what_an_older_program_does_not_set_keeps_its_default(void **state)
{
    const struct first program = {sizeof(program), 1};
    struct later known = {sizeof(known), 0, 7, 8};
    (void)state;

    uvzk__settings_from(&known, &program, sizeof(known));
    assert_int_equal(known.size, sizeof(known));
    assert_int_equal(known.one, 1);
    assert_int_equal(known.two, 7);
    assert_int_equal(known.three, 8);
}

static void what_a_newer_program_sets_beyond_is_not_read(void **state)
{
    const struct later program = {sizeof(program), 1, 2, 3};
    struct {
        struct first known;
        uint64_t guard;
    } library = {{sizeof(struct first), 0}, GUARD};
    (void)state;

    uvzk__settings_from(&library.known, &program, sizeof(library.known));
    assert_int_equal(library.known.size, sizeof(struct first));
    assert_int_equal(library.known.one, 1);
    assert_true(library.guard == GUARD);
}

static void a_first_version_stays_long_enough(void **state)
{
    (void)state;
    assert_int_equal(UVZK__SIZE_UP_TO(struct later, one),
                     offsetof(struct later, one) + 4);
    assert_true(UVZK__SIZE_UP_TO(struct later, one) <= sizeof(struct first));
    assert_int_equal(UVZK__SIZE_UP_TO(struct later, three), sizeof(struct later));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(an_older_program_gets_what_it_has_room_for),
        cmocka_unit_test(a_newer_program_gets_what_is_known),
        cmocka_unit_test(what_an_older_program_does_not_set_keeps_its_default),
        cmocka_unit_test(what_a_newer_program_sets_beyond_is_not_read),
        cmocka_unit_test(a_first_version_stays_long_enough),
    };
    return cmocka_run_group_tests_name("struct_size", tests, NULL, NULL);
}
