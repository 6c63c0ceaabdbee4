/* SPDX-License-Identifier: Apache-2.0 */
/* A move is checked by the table and by the invariant, and a fault is reported once
 * (base/machine.h). An illegal move is made all the same, except out of a final state. */
#include "cmocka_test.h"

#include <string.h>

#include "base/machine.h"

enum lamp_state { LAMP_OFF, LAMP_ON, LAMP_BROKEN };

struct lamp {
    int before;
    uint8_t state;
    uint8_t after;
    bool sound;
};

static const struct uvzk__state table[] = {
    UVZK__STATE(LAMP_, OFF, ON, BROKEN),
    UVZK__STATE(LAMP_, ON, OFF),
    UVZK__FINAL(LAMP_, BROKEN),
};

static bool invariant_holds(const void *object)
{
    const struct lamp *lamp = object;

    return lamp->sound;
}

static const struct uvzk__machine lamp_machine =
    UVZK__MACHINE("lamp", table, struct lamp, state, invariant_holds);

static char told[UVZK__MACHINE_TEXT];
static int times;

static void report(void *reporter, const char *text)
{
    assert_ptr_equal(reporter, &times);
    times++;
    strcpy(told, text);
}

/* Moves a lamp from one state to another. Returns whether that was legal and sound. */
static bool enter(struct lamp *lamp, unsigned from, unsigned to, bool stay)
{
    lamp->state = (uint8_t)from;
    told[0] = '\0';
    times = 0;
    bool good = (stay ? uvzk__machine_enter_or_stay
                      : uvzk__machine_enter)(&lamp_machine, lamp, to, report, &times);
    assert_int_equal(times, good ? 0 : 1);
    return good;
}

static void rows_are_read(void **state)
{
    (void)state;
    assert_int_equal(lamp_machine.count, 3);
    assert_string_equal(lamp_machine.states[LAMP_ON].name, "ON");
    assert_int_equal(table[LAMP_OFF].moves, UVZK__BIT(LAMP_ON) | UVZK__BIT(LAMP_BROKEN));
    assert_int_equal(table[LAMP_ON].moves, UVZK__BIT(LAMP_OFF));
    assert_int_equal(table[LAMP_BROKEN].moves, 0);
}

static void legal_moves_are_made(void **state)
{
    struct lamp lamp = {.before = -1, .after = 255, .sound = true};

    (void)state;
    assert_true(enter(&lamp, LAMP_OFF, LAMP_ON, false));
    assert_int_equal(lamp.state, LAMP_ON);
    assert_true(enter(&lamp, LAMP_ON, LAMP_OFF, true));
    assert_int_equal(lamp.state, LAMP_OFF);
    assert_int_equal(lamp.before, -1);
    assert_int_equal(lamp.after, 255);
}

static void illegal_moves_are_made_and_told(void **state)
{
    struct lamp lamp = {.sound = true};

    (void)state;
    assert_false(enter(&lamp, LAMP_ON, LAMP_BROKEN, false));
    assert_string_equal(told, "lamp: illegal move from ON to BROKEN");
    assert_int_equal(lamp.state, LAMP_BROKEN);
    assert_false(enter(&lamp, LAMP_ON, LAMP_ON, false));
    assert_string_equal(told, "lamp: illegal move from ON to ON");
    assert_false(enter(&lamp, 7, LAMP_ON, false));
    assert_string_equal(told, "lamp: illegal move from ? to ON");
    assert_int_equal(lamp.state, LAMP_ON);
}

static void what_has_ended_stays_there(void **state)
{
    struct lamp lamp = {.sound = true};

    (void)state;
    assert_false(enter(&lamp, LAMP_BROKEN, LAMP_ON, false));
    assert_string_equal(told, "lamp: illegal move from BROKEN to ON");
    assert_int_equal(lamp.state, LAMP_BROKEN);
}

static void unsound_moves_are_made_and_told(void **state)
{
    struct lamp lamp = {.sound = false};

    (void)state;
    assert_false(enter(&lamp, LAMP_OFF, LAMP_ON, false));
    assert_string_equal(
        told, "lamp: moved from OFF to ON, but what must hold then does not hold");
    assert_int_equal(lamp.state, LAMP_ON);
}

static void who_stays_is_checked_too(void **state)
{
    struct lamp lamp = {.sound = true};

    (void)state;
    assert_true(enter(&lamp, LAMP_ON, LAMP_ON, true));
    lamp.sound = false;
    assert_false(enter(&lamp, LAMP_ON, LAMP_ON, true));
    lamp.sound = true;
    assert_false(enter(&lamp, LAMP_ON, LAMP_BROKEN, true));
    assert_string_equal(told, "lamp: illegal move from ON to BROKEN");
}

static void nobody_need_be_told(void **state)
{
    struct lamp lamp = {.sound = true};

    (void)state;
    assert_false(uvzk__machine_enter(&lamp_machine, &lamp, LAMP_OFF, NULL, NULL));
    lamp.sound = false;
    assert_false(uvzk__machine_enter(&lamp_machine, &lamp, LAMP_ON, NULL, NULL));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(rows_are_read),
        cmocka_unit_test(legal_moves_are_made),
        cmocka_unit_test(illegal_moves_are_made_and_told),
        cmocka_unit_test(what_has_ended_stays_there),
        cmocka_unit_test(unsound_moves_are_made_and_told),
        cmocka_unit_test(who_stays_is_checked_too),
        cmocka_unit_test(nobody_need_be_told),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
