/* SPDX-License-Identifier: Apache-2.0 */
/* How fast the clock may run. The kernel's answer and the findings are the test's. */
#include "doctor/clock_rate.h"

#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <sys/timex.h>
#include <unistd.h>

#include "cmocka_test.h"

static struct timex kernel;
static int error; /* of adjtimex; 0: none */
static enum grade grade;
static char sentence[256];

int __wrap_adjtimex(struct timex *clock);
int __wrap_adjtimex(struct timex *clock)
{
    assert_int_equal(clock->modes, 0); /* nothing is set */
    *clock = kernel;
    errno = error;
    return error == 0 ? 0 : -1;
}

void findings_add(struct findings *findings, enum grade given, const char *check,
                  const char *server, const struct figure *figures, const char *format,
                  ...)
{
    va_list arguments;

    (void)findings;
    (void)figures;
    assert_string_equal(check, "clock");
    assert_null(server);
    grade = given;
    va_start(arguments, format);
    vsnprintf(sentence, sizeof(sentence), format, arguments);
    va_end(arguments);
}

static long nominal(void)
{
    return 1000000 / sysconf(_SC_CLK_TCK);
}

static enum grade grade_at(double ppm)
{
    struct findings findings = {.json = false};

    kernel.tick = nominal();
    kernel.freq = (long)(ppm * 65536);
    clock_rate_check(&findings);
    return grade;
}

static void test_each_grade(void **state)
{
    (void)state;
    assert_int_equal(grade_at(0), GRADE_OK);
    assert_int_equal(grade_at(500), GRADE_OK);
    assert_int_equal(grade_at(-999), GRADE_OK);
    assert_int_equal(grade_at(1000), GRADE_WARNING);
    assert_int_equal(grade_at(-9999), GRADE_WARNING);
    assert_int_equal(grade_at(10000), GRADE_WRONG);
    assert_int_equal(grade_at(-10000), GRADE_WRONG);
}

/* The kernel corrects by the length of a tick, and by a frequency beside it. */
static void test_tick_counts_too(void **state)
{
    struct findings findings = {.json = false};

    (void)state;
    kernel.freq = 12 * 65536;
    kernel.tick = nominal() + nominal() / 100;
    clock_rate_check(&findings);
    assert_int_equal(grade, GRADE_WRONG);
    assert_non_null(strstr(sentence, " by 10012 ppm"));
}

static void test_time_server_is_told(void **state)
{
    (void)state;
    kernel.status = STA_UNSYNC;
    grade_at(0);
    assert_non_null(strstr(sentence, "no time server is in use"));
    kernel.status = 0;
    grade_at(0);
    assert_non_null(strstr(sentence, "it follows a time server"));
}

static void test_kernel_does_not_tell(void **state)
{
    (void)state;
    error = EPERM;
    assert_int_equal(grade_at(20000), GRADE_OK);
    assert_non_null(strstr(sentence, "its rate is not known"));
    error = 0;
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_each_grade),
        cmocka_unit_test(test_tick_counts_too),
        cmocka_unit_test(test_time_server_is_told),
        cmocka_unit_test(test_kernel_does_not_tell),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
