/* SPDX-License-Identifier: Apache-2.0 */
/* Computes whether and after which pause a retry policy allows another try (retry.h). */
#include "base/retry.h"
#include "base/refusal.h"

#define DEFAULT_BASE_MS 1000
#define DEFAULT_MAX_RETRIES 3
#define DEFAULT_MAX_SLEEP_MS 2147483647 /* Java's Integer.MAX_VALUE */
#define MAX_RETRIES_LIMIT 29            /* keeps 1 << (count + 1) positive in Java */
#define ELAPSED_MAX_RETRIES 2147483647U /* RetryUntilElapsed counts in a Java int */

static bool is_all_zeros(const uvzk_retry_policy_t *policy)
{
    return policy->kind == 0 && policy->base_ms == 0 && policy->max_sleep_ms == 0 &&
           policy->max_retries == 0 && policy->max_elapsed_ms == 0;
}

int uvzk__retry_normalize(uvzk_retry_policy_t *policy)
{
    if (is_all_zeros(policy)) {
        policy->kind = UVZK_RETRY_EXPONENTIAL;
        policy->base_ms = DEFAULT_BASE_MS;
        policy->max_retries = DEFAULT_MAX_RETRIES;
    }
    if (policy->kind > UVZK_RETRY_FOREVER ||
        (policy->base_ms == 0 && policy->kind != UVZK_RETRY_N_TIMES)) {
        return uvzk__refuse(UV_EINVAL, policy->kind > UVZK_RETRY_FOREVER
                                           ? "options.retry.kind: unknown policy"
                                           : "options.retry.base_ms is 0");
    }
    if (policy->max_sleep_ms == 0) {
        policy->max_sleep_ms = DEFAULT_MAX_SLEEP_MS;
    }
    if (policy->kind == UVZK_RETRY_EXPONENTIAL &&
        policy->max_retries > MAX_RETRIES_LIMIT) {
        policy->max_retries = MAX_RETRIES_LIMIT;
    }
    return 0;
}

/* Returns base * max(1, r), where r is uniform in [0, 2^(count + 1) - 1], as Curator's
 * ExponentialBackoffRetry does. count is below 29 and the base has 32 bits, so the
 * product fits into 64 bits. */
static uint64_t exponential_sleep(const uvzk_retry_policy_t *policy, uint32_t count,
                                  uint64_t random)
{
    uint64_t r = random & ((UINT64_C(1) << (count + 1)) - 1);
    uint64_t sleep_ms = policy->base_ms * (r == 0 ? 1 : r);
    return sleep_ms < policy->max_sleep_ms ? sleep_ms : policy->max_sleep_ms;
}

bool uvzk__retry_allow(const uvzk_retry_policy_t *policy, uint32_t count,
                       uint64_t elapsed_ms, uint64_t random, uint64_t *sleep_ms)
{
    bool allowed = false;
    *sleep_ms = 0;
    switch ((uvzk_retry_kind_t)policy->kind) {
    case UVZK_RETRY_EXPONENTIAL:
        allowed = count < policy->max_retries && count < MAX_RETRIES_LIMIT;
        break;
    case UVZK_RETRY_N_TIMES:
        allowed = count < policy->max_retries;
        break;
    case UVZK_RETRY_UNTIL_ELAPSED:
        /* Curator measures the time before it sleeps, so the last retry may begin up to
         * base_ms after max_elapsed_ms. */
        allowed = count < ELAPSED_MAX_RETRIES && elapsed_ms < policy->max_elapsed_ms;
        break;
    case UVZK_RETRY_FOREVER:
        allowed = true;
        break;
    }
    if (allowed) {
        *sleep_ms = policy->kind == UVZK_RETRY_EXPONENTIAL
                        ? exponential_sleep(policy, count, random)
                        : policy->base_ms;
    }
    return allowed;
}
