/* When CMD is asked and when it is killed, by the clock. */
#include "supervision.h"

#include <string.h>

#include "cmocka_test.h"

#define SESSION 12000U
#define VALID 100000U
#define DEAD_BEFORE 100U /* supervision.c's */
#define GRACE 2000U

static struct supervision begun(enum on_lost on_lost, bool waits_for_all)
{
    const struct supervision_rules rules = {
        .on_lost = on_lost, .grace_ms = GRACE, .waits_for_all = waits_for_all};
    struct supervision supervision;

    supervision_init(&supervision, &rules);
    supervision_started(&supervision, SESSION);
    return supervision;
}

static void asked_so_that_the_grace_ends_before_the_validity(void **state)
{
    struct supervision s = begun(ON_LOST_TERM, false);
    uint64_t dead_by = VALID - DEAD_BEFORE;

    (void)state;
    assert_int_equal(supervision_due(&s, VALID), dead_by - GRACE);
    assert_int_equal(supervision_look(&s, dead_by - GRACE - 1, VALID), WISH_NOTHING);
    assert_int_equal(supervision_look(&s, dead_by - GRACE, VALID), WISH_ASK);
    assert_int_equal(supervision_look(&s, dead_by - 1, VALID), WISH_NOTHING);
    assert_int_equal(supervision_due(&s, VALID), dead_by);
    assert_int_equal(supervision_look(&s, dead_by, VALID), WISH_KILL);
    assert_true(supervision_made_to_end(&s));
}

static void another_proof_in_time_changes_nothing(void **state)
{
    struct supervision s = begun(ON_LOST_TERM, false);

    (void)state;
    assert_int_equal(supervision_look(&s, VALID, VALID + 10000), WISH_NOTHING);
    /* ... and one that comes when CMD has been asked is too late. */
    assert_int_equal(supervision_look(&s, VALID + 9000, VALID + 10000), WISH_ASK);
    assert_int_equal(supervision_look(&s, VALID + 9900, VALID + 90000), WISH_KILL);
}

static void no_more_than_a_quarter_of_the_session_is_grace(void **state)
{
    const struct supervision_rules rules = {.on_lost = ON_LOST_TERM, .grace_ms = 3600000};
    struct supervision s;
    uint64_t ask = VALID - DEAD_BEFORE - SESSION / 4;

    (void)state;
    supervision_init(&s, &rules);
    supervision_started(&s, SESSION);
    assert_int_equal(supervision_due(&s, VALID), ask);
    assert_true(supervision_in_time(&rules, SESSION, ask - 1, VALID));
    assert_false(supervision_in_time(&rules, SESSION, ask, VALID));
}

static void seen_too_late_it_is_killed_at_once(void **state)
{
    struct supervision s = begun(ON_LOST_TERM, false);

    (void)state;
    assert_int_equal(supervision_look(&s, VALID + 1, VALID), WISH_KILL);
    /* again and again, until nobody is left */
    assert_int_equal(supervision_look(&s, VALID + 2, VALID), WISH_NOTHING);
    assert_int_equal(supervision_look(&s, supervision_due(&s, VALID), VALID), WISH_KILL);
    supervision_command_ended(&s);
    assert_int_equal(supervision_state(&s), SUPERVISION_KILLED);
    supervision_nobody_left(&s);
    assert_int_equal(supervision_state(&s), SUPERVISION_OVER);
}

static void lost_it_has_its_grace(void **state)
{
    struct supervision s = begun(ON_LOST_TERM, false);

    (void)state;
    assert_int_equal(supervision_lost(&s, 1000), WISH_ASK);
    assert_int_equal(supervision_lost(&s, 1001), WISH_NOTHING);
    assert_int_equal(supervision_look(&s, 1000 + GRACE - 1, VALID), WISH_NOTHING);
    assert_int_equal(supervision_look(&s, 1000 + GRACE, VALID), WISH_KILL);
}

static void lost_and_killed_or_left_alone(void **state)
{
    struct supervision killed = begun(ON_LOST_KILL, false);
    struct supervision left = begun(ON_LOST_IGNORE, false);

    (void)state;
    assert_int_equal(supervision_look(&killed, VALID - DEAD_BEFORE - 1, VALID),
                     WISH_NOTHING);
    assert_int_equal(supervision_lost(&killed, 1000), WISH_KILL);
    assert_int_equal(supervision_lost(&left, 1000), WISH_NOTHING);
    assert_int_equal(supervision_look(&left, VALID + 1, VALID), WISH_NOTHING);
    assert_true(supervision_due(&left, VALID) == UINT64_MAX);
    assert_false(supervision_made_to_end(&left));
}

static void the_holders_death_ends_it_whatever_the_rules(void **state)
{
    struct supervision left = begun(ON_LOST_IGNORE, false);
    struct supervision s = begun(ON_LOST_TERM, false);
    struct supervision late = begun(ON_LOST_TERM, false);

    (void)state;
    assert_int_equal(supervision_holder_gone(&left, 1000, VALID), WISH_ASK);
    assert_int_equal(supervision_due(&left, VALID), 1000 + GRACE);
    /* The grace ends with the validity. */
    assert_int_equal(supervision_holder_gone(&s, VALID - 500, VALID), WISH_ASK);
    assert_int_equal(supervision_due(&s, VALID), VALID - DEAD_BEFORE);
    assert_int_equal(supervision_holder_gone(&late, VALID - 50, VALID), WISH_KILL);
}

static void without_a_command_it_is_over_with_the_holder(void **state)
{
    const struct supervision_rules rules = {.grace_ms = GRACE};
    struct supervision s;

    (void)state;
    supervision_init(&s, &rules);
    supervision_nobody_left(&s); /* there never was anybody */
    assert_int_equal(supervision_state(&s), SUPERVISION_IDLE);
    assert_int_equal(supervision_holder_gone(&s, 1000, 0), WISH_NOTHING);
    assert_int_equal(supervision_state(&s), SUPERVISION_OVER);
}

static void over_with_the_command_or_with_all(void **state)
{
    struct supervision s = begun(ON_LOST_TERM, false);
    struct supervision all = begun(ON_LOST_TERM, true);

    (void)state;
    supervision_command_ended(&s);
    assert_int_equal(supervision_state(&s), SUPERVISION_OVER);
    supervision_command_ended(&all);
    assert_int_equal(supervision_state(&all), SUPERVISION_RUNNING);
    supervision_nobody_left(&all);
    assert_int_equal(supervision_state(&all), SUPERVISION_OVER);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(asked_so_that_the_grace_ends_before_the_validity),
        cmocka_unit_test(another_proof_in_time_changes_nothing),
        cmocka_unit_test(no_more_than_a_quarter_of_the_session_is_grace),
        cmocka_unit_test(seen_too_late_it_is_killed_at_once),
        cmocka_unit_test(lost_it_has_its_grace),
        cmocka_unit_test(lost_and_killed_or_left_alone),
        cmocka_unit_test(the_holders_death_ends_it_whatever_the_rules),
        cmocka_unit_test(without_a_command_it_is_over_with_the_holder),
        cmocka_unit_test(over_with_the_command_or_with_all),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
