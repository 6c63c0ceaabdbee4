/* SPDX-License-Identifier: Apache-2.0 */
#include "counter.h"

#include <string.h>

static void on_count(uvzk_shared_count_t *count, int status, int32_t value)
{
    struct counter *counter = count->data;

    if (status != 0) {
        counter->troubles++;
        return;
    }
    if (counter->told < COUNTER_SEEN) {
        counter->seen[counter->told] = value;
    }
    counter->told++;
    counter->value = value;
}

void counter_begin(struct counter *counter, struct process *process, const char *path,
                   int32_t seed)
{
    memset(counter, 0, sizeof(*counter));
    counter->process = process;
    counter->count.data = counter;
    assert_int_equal(
        uvzk_shared_count_init(&process->client, &counter->count, path, seed, on_count),
        0);
}

void counter_await(struct counter *counter, int told)
{
    assert_true(
        world_await_count(counter->process->world, &counter->told, told, PATIENCE_MS));
}

static void on_closed(uvzk_shared_count_t *count)
{
    struct counter *counter = count->data;

    counter->closed++;
}

void counter_close(struct counter *counter)
{
    assert_int_equal(uvzk_shared_count_close(&counter->count, on_closed), 0);
    assert_true(world_await(counter->process->world, &counter->closed, PATIENCE_MS));
}

int32_t counter_value(const struct counter *counter)
{
    int32_t value = -1;

    assert_int_equal(uvzk_shared_count_get(&counter->count, &value, NULL), 0);
    return value;
}

uvzk_value_version_t counter_version(const struct counter *counter)
{
    uvzk_value_version_t version = {0, 0};

    assert_int_equal(uvzk_shared_count_get(&counter->count, NULL, &version), 0);
    return version;
}

static void on_set(uvzk_req_t *request, int status)
{
    struct counter_set *set = request->data;

    set->told++;
    set->status = status;
}

void counter_begin_set(struct counter *counter, struct counter_set *set, int32_t value)
{
    *set = (struct counter_set){.request = {.data = set}};
    assert_int_equal(uvzk_shared_count_set(&counter->count, &set->request, value, on_set),
                     0);
}

int counter_end_set(struct counter *counter, struct counter_set *set)
{
    assert_int_equal(set->told, 0);
    assert_true(world_await(counter->process->world, &set->told, PATIENCE_MS));
    return set->status;
}

int counter_set(struct counter *counter, int32_t value)
{
    struct counter_set set;

    counter_begin_set(counter, &set, value);
    return counter_end_set(counter, &set);
}

int counter_try_set(struct counter *counter, uvzk_value_version_t version, int32_t value)
{
    struct counter_set set = {.request = {.data = &set}};

    assert_int_equal(
        uvzk_shared_count_try_set(&counter->count, &set.request, &version, value, on_set),
        0);
    return counter_end_set(counter, &set);
}
