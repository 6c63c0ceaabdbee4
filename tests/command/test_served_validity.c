/* SPDX-License-Identifier: Apache-2.0 */
/* A program that adds valid_for_ms to the time before its request never believes in its
 * hold after valid_until, whatever the daemon and the kernel do in between. */
#include "serve/served_validity.h"

#include "cmocka_test.h"

#define MS 1000000U

/* The two clocks differ by how long the machine was suspended before. */
#define SUSPENDED_BEFORE_MS 5000U

static struct served_now at_ns(uint64_t monotonic_ns, uint64_t suspended_ms)
{
    return (struct served_now){.monotonic = monotonic_ns,
                               .boottime = monotonic_ns +
                                           (SUSPENDED_BEFORE_MS + suspended_ms) * MS};
}

static uint64_t until(uint64_t monotonic_ms)
{
    return monotonic_ms + SUSPENDED_BEFORE_MS;
}

static void at_once(void **state)
{
    struct served_now now = at_ns(1000 * MS, 0);
    (void)state;
    /* A ms is lost by rounding. */
    assert_int_equal(served_validity_for(until(3000), 1000 * MS, &now), 1999);
    now = at_ns(1000 * MS + 999999, 0);
    assert_int_equal(served_validity_for(until(3000), 1000 * MS, &now), 1999);
}

/* The grant comes an hour after the request. */
static void after_a_long_wait(void **state)
{
    struct served_now now = at_ns((1000 + 3600000) * (uint64_t)MS, 0);
    (void)state;
    assert_int_equal(served_validity_for(until(1000 + 3600000 + 2000), 1000 * MS, &now),
                     3600000 + 1999);
}

static void passed(void **state)
{
    struct served_now now = at_ns(3000 * (uint64_t)MS, 0);
    (void)state;
    assert_int_equal(served_validity_for(until(3000), 1000 * MS, &now), 0);
    assert_int_equal(served_validity_for(0, 1000 * MS, &now), 0);
    /* The last ms is not certain. */
    assert_int_equal(served_validity_for(until(3001), 1000 * MS, &now), 0);
}

/* The program's clock stood still, too. */
static void suspended_while_it_waited(void **state)
{
    struct served_now now = at_ns(1500 * MS, 60000);
    (void)state;
    assert_int_equal(served_validity_for(until(1500 + 60000 + 2000), 1000 * MS, &now),
                     500 + 1999);
}

/* Sent, received and answered at any fractions of a ms. */
static void never_later_than_valid_until(void **state)
{
    uint64_t end = until(90), steps = 0;
    (void)state;
    for (uint64_t sent = 10 * MS; sent < 100 * MS; sent += 1300001) {
        for (uint64_t received = sent; received < 100 * MS; received += 1700003) {
            for (uint64_t answered = received; answered < 100 * MS; answered += 1900007) {
                struct served_now now = at_ns(answered, 0);
                uint64_t valid_for = served_validity_for(end, received, &now);
                assert_true(valid_for == 0 ||
                            sent + valid_for * MS <= (end - SUSPENDED_BEFORE_MS) * MS);
                steps++;
            }
        }
    }
    assert_true(steps > 1000);
}

static void clocks_of_this_machine(void **state)
{
    struct served_now first = served_validity_now(), second = served_validity_now();
    (void)state;
    assert_true(second.monotonic >= first.monotonic);
    assert_true(second.boottime >= first.boottime);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(at_once),
        cmocka_unit_test(after_a_long_wait),
        cmocka_unit_test(passed),
        cmocka_unit_test(suspended_while_it_waited),
        cmocka_unit_test(never_later_than_valid_until),
        cmocka_unit_test(clocks_of_this_machine),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
