/* SPDX-License-Identifier: Apache-2.0 */
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

/* Room for the longer struct, of which the shorter one takes only the front. It is bytes, so
 * that a write behind the shorter struct is a defined one, which the compiler cannot leave
 * out of account. */
struct room {
    _Alignas(struct later) unsigned char bytes[sizeof(struct later)];
};

#define UNTOUCHED 0xa5

static void put_first(struct room *room, int one)
{
    const struct first first = {sizeof(first), one};

    memset(room->bytes, UNTOUCHED, sizeof(room->bytes));
    memcpy(room->bytes, &first, sizeof(first));
}

static void assert_first(const struct room *room, int one)
{
    struct first first;

    memcpy(&first, room->bytes, sizeof(first));
    assert_int_equal(first.size, sizeof(first));
    assert_int_equal(first.one, one);
    for (size_t i = sizeof(first); i < sizeof(room->bytes); i++) {
        assert_int_equal(room->bytes[i], UNTOUCHED);
    }
}

static void an_older_program_gets_what_it_has_room_for(void **state)
{
    const struct later now = {sizeof(now), 1, 2, 3};
    struct room program;
    (void)state;

    put_first(&program, 0);
    uvzk__answer_into(program.bytes, &now, sizeof(now));
    assert_first(&program, 1);
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
    struct room library;
    (void)state;

    put_first(&library, 0);
    uvzk__settings_from(library.bytes, &program, sizeof(struct first));
    assert_first(&library, 1);
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
