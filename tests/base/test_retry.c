/* SPDX-License-Identifier: Apache-2.0 */
#include "cmocka_test.h"

#include "base/retry.h"
#include "seeded.h"

static uvzk_retry_policy_t normalized(uvzk_retry_policy_t policy)
{
    assert_int_equal(uvzk__retry_normalize(&policy), 0);
    return policy;
}

static void assert_allowed(const uvzk_retry_policy_t *policy, uint32_t count,
                           uint64_t elapsed_ms, uint64_t random, uint64_t expected_ms)
{
    uint64_t sleep_ms = 12345;
    assert_true(uvzk__retry_allow(policy, count, elapsed_ms, random, &sleep_ms));
    assert_int_equal(sleep_ms, expected_ms);
}

static void assert_refused(const uvzk_retry_policy_t *policy, uint32_t count,
                           uint64_t elapsed_ms)
{
    uint64_t sleep_ms = 12345;
    assert_false(uvzk__retry_allow(policy, count, elapsed_ms, UINT64_MAX, &sleep_ms));
}

static void all_zeros_is_the_default(void **state)
{
    (void)state;
    uvzk_retry_policy_t policy = normalized((uvzk_retry_policy_t){0});
    assert_int_equal(policy.kind, UVZK_RETRY_EXPONENTIAL);
    assert_int_equal(policy.base_ms, 1000);
    assert_int_equal(policy.max_retries, 3);
    assert_int_equal(policy.max_sleep_ms, 2147483647);
}

static void normalize_keeps_what_is_set(void **state)
{
    (void)state;
    uvzk_retry_policy_t policy =
        normalized((uvzk_retry_policy_t){.kind = UVZK_RETRY_EXPONENTIAL,
                                         .base_ms = 7,
                                         .max_sleep_ms = 9,
                                         .max_retries = 29});
    assert_int_equal(policy.base_ms, 7);
    assert_int_equal(policy.max_sleep_ms, 9);
    assert_int_equal(policy.max_retries, 29);

    policy = normalized((uvzk_retry_policy_t){.base_ms = 7, .max_retries = 30});
    assert_int_equal(policy.max_retries, 29);
    assert_int_equal(policy.max_sleep_ms, 2147483647);

    policy = normalized((uvzk_retry_policy_t){.base_ms = 7});
    assert_int_equal(policy.max_retries, 0);

    policy =
        normalized((uvzk_retry_policy_t){.kind = UVZK_RETRY_N_TIMES, .max_retries = 30});
    assert_int_equal(policy.max_retries, 30);
    assert_int_equal(policy.base_ms, 0);
}

static void normalize_refuses_nonsense(void **state)
{
    (void)state;
    static const uvzk_retry_policy_t refused[] = {
        {.kind = UVZK_RETRY_FOREVER + 1, .base_ms = 1},
        {.kind = UINT32_MAX, .base_ms = 1},
        {.kind = UVZK_RETRY_EXPONENTIAL, .max_retries = 1},
        {.kind = UVZK_RETRY_EXPONENTIAL, .max_sleep_ms = 1},
        {.kind = UVZK_RETRY_EXPONENTIAL, .max_elapsed_ms = 1},
        {.kind = UVZK_RETRY_UNTIL_ELAPSED, .max_elapsed_ms = 5},
        {.kind = UVZK_RETRY_FOREVER},
    };
    for (size_t i = 0; i < sizeof(refused) / sizeof(refused[0]); i++) {
        uvzk_retry_policy_t policy = refused[i];
        assert_int_equal(uvzk__retry_normalize(&policy), UV_EINVAL);
    }
}

static void exponential_grows_with_the_count(void **state)
{
    (void)state;
    uvzk_retry_policy_t policy =
        normalized((uvzk_retry_policy_t){.base_ms = 100, .max_retries = 29});
    assert_allowed(&policy, 0, 0, 0, 100);          /* the first sleep is the base, */
    assert_allowed(&policy, 0, 0, UINT64_MAX, 100); /* whatever the random */
    assert_allowed(&policy, 1, 0, 0, 100);
    assert_allowed(&policy, 1, 0, 2, 200);
    assert_allowed(&policy, 1, 0, UINT64_MAX, 300);
    assert_allowed(&policy, 9, 0, UINT64_MAX, 102300);
    assert_allowed(&policy, 9, UINT64_MAX, UINT64_MAX, 102300);
    assert_allowed(&policy, 28, 0, UINT64_MAX, 2147483647); /* capped */
    assert_refused(&policy, 29, 0);
    assert_refused(&policy, UINT32_MAX, 0);
}

static void exponential_does_not_overflow(void **state)
{
    (void)state;
    uvzk_retry_policy_t policy = normalized((uvzk_retry_policy_t){
        .base_ms = UINT32_MAX, .max_sleep_ms = UINT32_MAX, .max_retries = UINT32_MAX});
    for (uint32_t count = 0; count < 29; count++) {
        assert_allowed(&policy, count, 0, UINT64_MAX, UINT32_MAX);
    }
    assert_refused(&policy, 29, 0);

    /* 4 * (2^29 - 1): within 32 bits, and beyond a signed int. */
    policy = normalized((uvzk_retry_policy_t){
        .base_ms = 4, .max_sleep_ms = UINT32_MAX, .max_retries = 29});
    assert_allowed(&policy, 28, 0, UINT64_MAX, 2147483644);
    policy.base_ms = 8;
    assert_allowed(&policy, 28, 0, UINT64_MAX, 4294967288);
    policy.base_ms = 9;
    assert_allowed(&policy, 28, 0, UINT64_MAX, UINT32_MAX);
}

static void exponential_is_bounded_by_max_sleep(void **state)
{
    (void)state;
    uvzk_retry_policy_t policy = normalized(
        (uvzk_retry_policy_t){.base_ms = 100, .max_sleep_ms = 250, .max_retries = 5});
    assert_allowed(&policy, 1, 0, 2, 200);
    assert_allowed(&policy, 1, 0, 3, 250);
    policy.max_sleep_ms = 50;
    assert_allowed(&policy, 0, 0, 0, 50);
}

static void exponential_stops_after_its_retries(void **state)
{
    (void)state;
    uvzk_retry_policy_t policy = normalized((uvzk_retry_policy_t){0});
    assert_allowed(&policy, 2, UINT64_MAX, UINT64_MAX, 7000);
    assert_refused(&policy, 3, 0);
    policy.max_retries = 0;
    assert_refused(&policy, 0, 0);
}

static void exponential_is_uniform_below_its_bound(void **state)
{
    (void)state;
    struct seeded random = seeded_begin();
    uvzk_retry_policy_t policy =
        normalized((uvzk_retry_policy_t){.base_ms = 10, .max_retries = 29});
    uint32_t seen[8] = {0};
    for (int i = 0; i < 8000; i++) {
        uint64_t sleep_ms;
        assert_true(uvzk__retry_allow(&policy, 2, 0, seeded_next(&random), &sleep_ms));
        assert_int_equal(sleep_ms % 10, 0);
        assert_in_range(sleep_ms, 10, 70);
        seen[sleep_ms / 10]++;
    }
    assert_in_range(seen[1], 1800, 2200); /* both r = 0 and r = 1 */
    for (int r = 2; r < 8; r++) {
        assert_in_range(seen[r], 850, 1150);
    }
}

static void n_times_sleeps_the_same(void **state)
{
    (void)state;
    uvzk_retry_policy_t policy =
        normalized((uvzk_retry_policy_t){.kind = UVZK_RETRY_N_TIMES,
                                         .base_ms = 40,
                                         .max_sleep_ms = 5,
                                         .max_retries = 100});
    assert_allowed(&policy, 0, 0, UINT64_MAX, 40);
    assert_allowed(&policy, 99, UINT64_MAX, UINT64_MAX, 40);
    assert_refused(&policy, 100, 0);

    policy =
        normalized((uvzk_retry_policy_t){.kind = UVZK_RETRY_N_TIMES, .max_retries = 1});
    assert_allowed(&policy, 0, 0, UINT64_MAX, 0);
    assert_refused(&policy, 1, 0);

    policy = normalized((uvzk_retry_policy_t){.kind = UVZK_RETRY_N_TIMES});
    assert_refused(&policy, 0, 0);
}

static void until_elapsed_looks_at_the_time_before_the_sleep(void **state)
{
    (void)state;
    uvzk_retry_policy_t policy = normalized((uvzk_retry_policy_t){
        .kind = UVZK_RETRY_UNTIL_ELAPSED, .base_ms = 30, .max_elapsed_ms = 100});
    assert_allowed(&policy, 0, 0, UINT64_MAX, 30);
    assert_allowed(&policy, 7, 99, UINT64_MAX, 30);
    assert_refused(&policy, 0, 100);
    assert_refused(&policy, 0, UINT64_MAX);
    assert_allowed(&policy, 2147483646, 0, 0, 30);
    assert_refused(&policy, 2147483647, 0);

    policy.max_elapsed_ms = UINT64_MAX;
    assert_allowed(&policy, 0, UINT64_MAX - 1, 0, 30);
    policy.max_elapsed_ms = 0;
    assert_refused(&policy, 0, 0);
}

static void forever_has_no_end(void **state)
{
    (void)state;
    uvzk_retry_policy_t policy =
        normalized((uvzk_retry_policy_t){.kind = UVZK_RETRY_FOREVER, .base_ms = 1});
    assert_allowed(&policy, 0, 0, UINT64_MAX, 1);
    assert_allowed(&policy, UINT32_MAX, UINT64_MAX, UINT64_MAX, 1);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(all_zeros_is_the_default),
        cmocka_unit_test(normalize_keeps_what_is_set),
        cmocka_unit_test(normalize_refuses_nonsense),
        cmocka_unit_test(exponential_grows_with_the_count),
        cmocka_unit_test(exponential_does_not_overflow),
        cmocka_unit_test(exponential_is_bounded_by_max_sleep),
        cmocka_unit_test(exponential_stops_after_its_retries),
        cmocka_unit_test(exponential_is_uniform_below_its_bound),
        cmocka_unit_test(n_times_sleeps_the_same),
        cmocka_unit_test(until_elapsed_looks_at_the_time_before_the_sleep),
        cmocka_unit_test(forever_has_no_end),
    };
    return cmocka_run_group_tests_name("retry", tests, NULL, NULL);
}
