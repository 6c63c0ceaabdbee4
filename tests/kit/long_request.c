/* SPDX-License-Identifier: Apache-2.0 */
/* Long requests (long_request.h). test_requests_too_long and live_requests_too_long call
 * it. */
#include "long_request.h"

#include "cmocka_test.h"

#include <stdio.h>
#include <string.h>

#include "engine/request_size.h"
#include "world.h"

#define PARTS LONG_REQUEST_PARTS

static char data[1000000]; /* zeros */

void long_requests_make(struct long_requests *requests, struct process *process)
{
    uvzk_lock_t *members[PARTS];
    char path[32];

    memset(requests, 0, sizeof(*requests));
    requests->process = process;
    for (size_t i = 0; i < PARTS; i++) {
        members[i] = &requests->mutexes[i];
        (void)snprintf(path, sizeof(path), "/other/%zu", i);
        assert_int_equal(uvzk_mutex_init(&process->client, &requests->mutexes[i], path),
                         0);
    }
    assert_int_equal(
        uvzk_multilock_init(&process->client, &requests->all, members, PARTS, 0, NULL),
        0);
    process_make_semaphore(process, "/s", PARTS);
}

int long_request_ask(struct hold *hold, struct process *process, uvzk_lock_t *lock,
                     size_t bytes, uint32_t leases)
{
    uvzk_acquire_options_t options;

    uvzk_acquire_options_init(&options);
    options.node_data = data;
    options.node_data_length = bytes;
    options.leases = leases;
    return hold_ask(hold, process, lock, &options);
}

static size_t size_in_refusal(void)
{
    const char *sentence = uvzk_refusal(UV_EINVAL);
    size_t size = 0;

    assert_non_null(strstr(sentence, "1048575"));
    assert_non_null(strstr(sentence, "request of"));
    assert_int_equal(
        sscanf(strstr(sentence, "request of"), "request of %zu bytes", &size), 1);
    return size;
}

void long_request_is_refused_at_the_call(struct hold *hold, struct process *process,
                                         uvzk_lock_t *lock, uint32_t leases)
{
    size_t bytes = UVZK__REQUEST_MAX / PARTS;

    assert_int_equal(long_request_ask(hold, process, lock, bytes, leases), UV_EINVAL);
    size_t size = size_in_refusal();
    assert_in_range(size, UVZK__REQUEST_MAX + 1, UVZK__REQUEST_MAX + (1U << 20));
    bytes -= (size - UVZK__REQUEST_MAX + PARTS - 1) / PARTS;
    assert_int_equal(long_request_ask(hold, process, lock, bytes + 1, leases), UV_EINVAL);
    assert_int_equal(long_request_ask(hold, process, lock, bytes, leases), 0);
    hold_await(hold, 2 * WORLD_TIMEOUT_MS);
    hold_give_back(hold);
}

static void is_rejected(struct hold *hold, struct process *process, uvzk_lock_t *lock,
                        size_t bytes, uint32_t leases)
{
    assert_int_equal(long_request_ask(hold, process, lock, bytes / PARTS, leases), 0);
    hold_await_status(hold, 2 * WORLD_TIMEOUT_MS, UVZK_EREJECTED);
}

static void is_granted(struct hold *hold, struct process *process, uvzk_lock_t *lock,
                       size_t bytes, uint32_t leases)
{
    assert_int_equal(long_request_ask(hold, process, lock, bytes / PARTS, leases), 0);
    hold_await(hold, 2 * WORLD_TIMEOUT_MS);
    hold_give_back(hold);
}

void long_multilock_is_rejected(struct hold *hold, struct long_requests *requests,
                                size_t bytes)
{
    is_rejected(hold, requests->process, &requests->all, bytes, 0);
    is_granted(hold, requests->process, &requests->mutexes[0], bytes, 0);
}

void long_leases_are_rejected(struct hold *hold, struct long_requests *requests,
                              size_t bytes)
{
    uvzk_lock_t *semaphore = &requests->process->semaphore;

    is_rejected(hold, requests->process, semaphore, bytes, PARTS);
    is_granted(hold, requests->process, semaphore, bytes, PARTS / 2);
}
