/* SPDX-License-Identifier: Apache-2.0 */
/* Lines that come again and again: which of them are told, and when. */
#include "cmocka_test.h"

#include <stdio.h>
#include <string.h>

#include "log/log_repeats.h"

#define SECOND 1000U
#define FROM 1000000U

static struct uvzk__log_repeats repeats;
static uint32_t untold;
static uint64_t told_ms;

static bool tell(const char *line, uint64_t at_ms)
{
    return uvzk__log_repeats_check(&repeats, line, at_ms, &untold, &told_ms);
}

static int begin(void **state)
{
    (void)state;
    memset(&repeats, 0, sizeof(repeats));
    return 0;
}

/* Thirty times a second for half an hour, two in turn. */
static void with_growing_pauses(void **state)
{
    static const unsigned at_s[] = {0, 5, 15, 35, 75, 155, 315, 615, 915, 1215, 1515};
    size_t times = 0;
    (void)state;

    for (uint64_t ms = 0; ms < 1800 * SECOND; ms += 50) {
        bool one = tell("1:ZOO_ERROR@a: refused", FROM + ms);
        if (one) {
            assert_true(times < sizeof(at_s) / sizeof(at_s[0]));
            assert_int_equal(ms, at_s[times] * SECOND);
            if (times > 0) {
                assert_int_equal(untold, (at_s[times] - at_s[times - 1]) * 20 - 1);
                assert_int_equal(told_ms, FROM + at_s[times - 1] * SECOND);
            } else {
                assert_int_equal(untold, 0);
            }
            times++;
        }
        assert_int_equal(tell("1:ZOO_WARN@b: delayed", FROM + ms), one);
    }
    assert_int_equal(times, sizeof(at_s) / sizeof(at_s[0]));
}

/* After a silence it is new, and begins anew. */
static void a_silence_ends_it(void **state)
{
    (void)state;
    assert_true(tell("a", FROM));
    assert_false(tell("a", FROM + 4999));
    assert_false(tell("a", FROM + 4999));
    assert_true(tell("a", FROM + 9999)); /* 5 s of silence */
    assert_int_equal(untold, 2);
    assert_false(tell("a", FROM + 14998));
    assert_true(tell("a", FROM + 15000)); /* now its pause is 10 s */
    assert_int_equal(untold, 1);
    assert_false(tell("a", FROM + 24999));
    assert_true(tell("a", FROM + 25000));
}

static void what_makes_another_text(void **state)
{
    (void)state;
    assert_true(tell("04:11:29,667:1(0x1):ZOO_WARN@a: exceeded by 12ms", FROM));
    assert_false(tell("04:11:30,833:1(0x2):ZOO_WARN@a: exceeded by 7ms", FROM));
    assert_true(tell("04:11:30,833:1(0x2):ZOO_WARN@a: errno=12", FROM));
    assert_true(tell("04:11:30,833:1(0x2):ZOO_WARN@a: errno=13", FROM));
    assert_true(tell("04:11:30,833:1(0x2):ZOO_ERROR@a: errno=13", FROM));
    assert_true(tell("without a mark", FROM));
    assert_true(tell("", FROM));
    assert_false(tell("", FROM));
}

/* Who was heard longest ago makes room. */
static void so_many_are_remembered(void **state)
{
    char text[16];
    (void)state;
    for (unsigned i = 0; i <= UVZK__LOG_REPEATS_MAX; i++) {
        (void)snprintf(text, sizeof(text), "text %u", i);
        assert_true(tell(text, FROM + i));
    }
    for (unsigned i = 1; i <= UVZK__LOG_REPEATS_MAX; i++) {
        (void)snprintf(text, sizeof(text), "text %u", i);
        assert_false(tell(text, FROM + 100 + i));
    }
    assert_true(tell("text 0", FROM + 200));
    assert_int_equal(untold, 0);
    assert_true(tell("text 1", FROM + 201)); /* which made room */
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup(with_growing_pauses, begin),
        cmocka_unit_test_setup(a_silence_ends_it, begin),
        cmocka_unit_test_setup(what_makes_another_text, begin),
        cmocka_unit_test_setup(so_many_are_remembered, begin),
    };
    return cmocka_run_group_tests_name("repeats", tests, NULL, NULL);
}
