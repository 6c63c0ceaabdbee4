/* Curator's retry policies as pure functions (org.apache.curator.retry). */
#ifndef UVZK_RETRY_H
#define UVZK_RETRY_H

#include <stdbool.h>
#include <stdint.h>

#include "uvzk.h"

/* 0, or UV_EINVAL: unknown kind, or base_ms 0 where it must not be. A policy of
 * all zeros is replaced by the default (exponential, 1000 ms, 3 retries); other
 * zero fields by theirs; max_retries of the exponential one is capped at 29. */
int uvzk__retry_normalize(uvzk_retry_policy_t *policy);

/* Whether retry number `count` (from 0) is allowed, `elapsed_ms` after the
 * first attempt began, and after what sleep. `random` is any 64 random bits. */
bool uvzk__retry_allow(const uvzk_retry_policy_t *policy, uint32_t count,
                       uint64_t elapsed_ms, uint64_t random, uint64_t *sleep_ms);

#endif
