/* SPDX-License-Identifier: Apache-2.0 */
/* Curator's retry policies as pure functions (org.apache.curator.retry). */
#ifndef UVZK_RETRY_H
#define UVZK_RETRY_H

#include <stdbool.h>
#include <stdint.h>

#include "uvzk.h"

/* Checks a policy and fills in defaults. A policy of all zeros becomes the default
 * (exponential, base 1000 ms, 3 retries). In any policy, max_sleep_ms 0 becomes
 * 2147483647, and max_retries of an exponential policy is limited to 29. Returns 0, or
 * UV_EINVAL: the kind is unknown, or base_ms is 0 in a policy that is not
 * UVZK_RETRY_N_TIMES. */
int uvzk__retry_normalize(uvzk_retry_policy_t *policy);

/* Returns whether retry number `count` (from 0) is allowed, `elapsed_ms` after the first
 * attempt began. Sets *sleep_ms to the pause before the retry, or to 0 if the retry is
 * not allowed. `random`: any 64 random bits; the exponential policy uses them. The policy
 * must be normalized. */
bool uvzk__retry_allow(const uvzk_retry_policy_t *policy, uint32_t count,
                       uint64_t elapsed_ms, uint64_t random, uint64_t *sleep_ms);

#endif
