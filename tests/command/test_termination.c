/* SPDX-License-Identifier: Apache-2.0 */
/* When CMD is asked and when it is killed, by the clock. */
#include "termination.h"

#include <string.h>

#include "cmocka_test.h"

#define SESSION 12000U
#define VALID 100000U
#define DEAD_BEFORE 100U /* termination.c's */
#define GRACE 2000U

static struct termination begun(enum on_lost on_lost, bool waits_for_all)
{
    const struct termination_rules rules = {
        .on_lost = on_lost, .grace_ms = GRACE, .waits_for_all = waits_for_all};
    struct termination termination;

    termination_init(&termination, &rules);
    termination_started(&termination, SESSION);
    return termination;
}

static void asked_so_that_the_grace_ends_before_the_validity(void **state)
{
    struct termination s = begun(ON_LOST_TERM, false);
    uint64_t dead_by = VALID - DEAD_BEFORE;

    (void)state;
    assert_int_equal(termination_next_check(&s, VALID), dead_by - GRACE);
    assert_int_equal(termination_check(&s, dead_by - GRACE - 1, VALID), ACTION_NONE);
    assert_int_equal(termination_check(&s, dead_by - GRACE, VALID), ACTION_TERM);
    assert_int_equal(termination_check(&s, dead_by - 1, VALID), ACTION_NONE);
    assert_int_equal(termination_next_check(&s, VALID), dead_by);
    assert_int_equal(termination_check(&s, dead_by, VALID), ACTION_KILL);
    assert_true(termination_made_to_end(&s));
}

static void another_proof_in_time_changes_nothing(void **state)
{
    struct termination s = begun(ON_LOST_TERM, false);

    (void)state;
    assert_int_equal(termination_check(&s, VALID, VALID + 10000), ACTION_NONE);
    /* ... and one that comes when CMD has been asked is too late. */
    assert_int_equal(termination_check(&s, VALID + 9000, VALID + 10000), ACTION_TERM);
    assert_int_equal(termination_check(&s, VALID + 9900, VALID + 90000), ACTION_KILL);
}

static void no_more_than_a_quarter_of_the_session_is_grace(void **state)
{
    const struct termination_rules rules = {.on_lost = ON_LOST_TERM, .grace_ms = 3600000};
    struct termination s;
    uint64_t ask = VALID - DEAD_BEFORE - SESSION / 4;

    (void)state;
    termination_init(&s, &rules);
    termination_started(&s, SESSION);
    assert_int_equal(termination_next_check(&s, VALID), ask);
    assert_true(termination_in_time(&rules, SESSION, ask - 1, VALID));
    assert_false(termination_in_time(&rules, SESSION, ask, VALID));
}

/* The validity ends with the longest hold, which may be short. */
static void no_more_than_a_quarter_of_the_longest_hold_is_grace(void **state)
{
    const struct termination_rules rules = {
        .on_lost = ON_LOST_TERM, .grace_ms = GRACE, .max_hold_ms = 1000};
    struct termination s;
    uint64_t ask = VALID - DEAD_BEFORE - 250;

    (void)state;
    termination_init(&s, &rules);
    termination_started(&s, SESSION);
    assert_int_equal(termination_next_check(&s, VALID), ask);
    assert_true(termination_in_time(&rules, SESSION, ask - 1, VALID));
    assert_false(termination_in_time(&rules, SESSION, ask, VALID));
}

static void seen_too_late_it_is_killed_at_once(void **state)
{
    struct termination s = begun(ON_LOST_TERM, false);

    (void)state;
    assert_int_equal(termination_check(&s, VALID + 1, VALID), ACTION_KILL);
    /* again and again, until nobody is left */
    assert_int_equal(termination_check(&s, VALID + 2, VALID), ACTION_NONE);
    assert_int_equal(termination_check(&s, termination_next_check(&s, VALID), VALID),
                     ACTION_KILL);
    termination_command_ended(&s);
    assert_int_equal(termination_state(&s), TERMINATION_KILLED);
    termination_nobody_left(&s);
    assert_int_equal(termination_state(&s), TERMINATION_OVER);
}

static void lost_it_has_its_grace(void **state)
{
    struct termination s = begun(ON_LOST_TERM, false);

    (void)state;
    assert_int_equal(termination_lost(&s, 1000), ACTION_TERM);
    assert_int_equal(termination_lost(&s, 1001), ACTION_NONE);
    assert_int_equal(termination_check(&s, 1000 + GRACE - 1, VALID), ACTION_NONE);
    assert_int_equal(termination_check(&s, 1000 + GRACE, VALID), ACTION_KILL);
}

static void lost_and_killed_or_left_alone(void **state)
{
    struct termination killed = begun(ON_LOST_KILL, false);
    struct termination left = begun(ON_LOST_IGNORE, false);

    (void)state;
    assert_int_equal(termination_check(&killed, VALID - DEAD_BEFORE - 1, VALID),
                     ACTION_NONE);
    assert_int_equal(termination_lost(&killed, 1000), ACTION_KILL);
    assert_int_equal(termination_lost(&left, 1000), ACTION_NONE);
    assert_int_equal(termination_check(&left, VALID + 1, VALID), ACTION_NONE);
    assert_true(termination_next_check(&left, VALID) == UINT64_MAX);
    assert_false(termination_made_to_end(&left));
}

static void the_holders_death_ends_it_whatever_the_rules(void **state)
{
    struct termination left = begun(ON_LOST_IGNORE, false);
    struct termination s = begun(ON_LOST_TERM, false);
    struct termination late = begun(ON_LOST_TERM, false);

    (void)state;
    assert_int_equal(termination_holder_gone(&left, 1000, VALID), ACTION_TERM);
    assert_int_equal(termination_next_check(&left, VALID), 1000 + GRACE);
    /* The grace ends with the validity. */
    assert_int_equal(termination_holder_gone(&s, VALID - 500, VALID), ACTION_TERM);
    assert_int_equal(termination_next_check(&s, VALID), VALID - DEAD_BEFORE);
    assert_int_equal(termination_holder_gone(&late, VALID - 50, VALID), ACTION_KILL);
}

static void without_a_command_it_is_over_with_the_holder(void **state)
{
    const struct termination_rules rules = {.grace_ms = GRACE};
    struct termination s;

    (void)state;
    termination_init(&s, &rules);
    termination_nobody_left(&s); /* there never was anybody */
    assert_int_equal(termination_state(&s), TERMINATION_IDLE);
    assert_int_equal(termination_holder_gone(&s, 1000, 0), ACTION_NONE);
    assert_int_equal(termination_state(&s), TERMINATION_OVER);
}

static void over_with_the_command_or_with_all(void **state)
{
    struct termination s = begun(ON_LOST_TERM, false);
    struct termination all = begun(ON_LOST_TERM, true);

    (void)state;
    termination_command_ended(&s);
    assert_int_equal(termination_state(&s), TERMINATION_OVER);
    termination_command_ended(&all);
    assert_int_equal(termination_state(&all), TERMINATION_RUNNING);
    termination_nobody_left(&all);
    assert_int_equal(termination_state(&all), TERMINATION_OVER);
}

static void given_up_it_has_its_grace_while_it_is_held(void **state)
{
    struct termination s = begun(ON_LOST_TERM, false);
    struct termination unproved = begun(ON_LOST_TERM, false);
    struct termination killed = begun(ON_LOST_KILL, false);

    (void)state;
    assert_int_equal(termination_given_up(&s, VALID), ACTION_TERM);
    assert_int_equal(termination_given_up(&s, VALID), ACTION_NONE);
    assert_true(termination_made_to_end(&s));
    /* Proofs go on ... */
    assert_true(termination_next_check(&s, VALID + 90000) == VALID + GRACE);
    assert_int_equal(termination_check(&s, VALID + GRACE - 1, VALID + 90000),
                     ACTION_NONE);
    assert_int_equal(termination_check(&s, VALID + GRACE, VALID + 90000), ACTION_KILL);
    /* ... or not, and then the grace ends with the validity. */
    assert_int_equal(termination_given_up(&unproved, VALID - 500), ACTION_TERM);
    assert_true(termination_next_check(&unproved, VALID) == VALID - DEAD_BEFORE);
    assert_int_equal(termination_check(&unproved, VALID - DEAD_BEFORE, VALID),
                     ACTION_KILL);
    assert_int_equal(termination_given_up(&killed, 1000), ACTION_KILL);
}

static void what_cmd_has_left_is_made_to_end(void **state)
{
    const struct termination_rules rules = {.grace_ms = GRACE, .ends_the_rest = true};
    struct termination s, alone, lost;

    (void)state;
    termination_init(&s, &rules);
    termination_started(&s, SESSION);
    alone = lost = s;
    assert_int_equal(termination_check(&s, 1000, VALID), ACTION_NONE);
    termination_command_ended(&s);
    assert_true(termination_rest_is_due(&s));
    assert_int_equal(termination_check(&s, 1000, VALID), ACTION_TERM);
    assert_int_equal(termination_check(&s, 1000 + GRACE - 1, VALID), ACTION_NONE);
    assert_int_equal(termination_check(&s, 1000 + GRACE, VALID), ACTION_KILL);
    assert_false(termination_made_to_end(&s)); /* CMD's end was its own */
    termination_nobody_left(&s);
    assert_int_equal(termination_state(&s), TERMINATION_OVER);

    termination_command_ended(&alone);
    termination_nobody_left(&alone);
    assert_int_equal(termination_state(&alone), TERMINATION_OVER);

    assert_int_equal(termination_lost(&lost, 1000), ACTION_TERM);
    termination_command_ended(&lost);
    assert_false(termination_rest_is_due(&lost));
    assert_int_equal(termination_state(&lost), TERMINATION_ASKED);
    assert_true(termination_made_to_end(&lost));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(asked_so_that_the_grace_ends_before_the_validity),
        cmocka_unit_test(another_proof_in_time_changes_nothing),
        cmocka_unit_test(no_more_than_a_quarter_of_the_longest_hold_is_grace),
        cmocka_unit_test(no_more_than_a_quarter_of_the_session_is_grace),
        cmocka_unit_test(seen_too_late_it_is_killed_at_once),
        cmocka_unit_test(lost_it_has_its_grace),
        cmocka_unit_test(lost_and_killed_or_left_alone),
        cmocka_unit_test(the_holders_death_ends_it_whatever_the_rules),
        cmocka_unit_test(without_a_command_it_is_over_with_the_holder),
        cmocka_unit_test(over_with_the_command_or_with_all),
        cmocka_unit_test(given_up_it_has_its_grace_while_it_is_held),
        cmocka_unit_test(what_cmd_has_left_is_made_to_end),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
