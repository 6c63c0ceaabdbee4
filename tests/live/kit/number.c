/* SPDX-License-Identifier: Apache-2.0 */
#include "number.h"

#include <string.h>

/* One call, with the number of its callbacks and the status of the last. */
struct number_call {
    uvzk_req_t call;
    struct number *number;
    int told, status;
};

void number_begin(struct number *number, struct process *process, const char *path,
                  const uvzk_atomic_long_options_t *options)
{
    memset(number, 0, sizeof(*number));
    number->process = process;
    number->atomic.data = number;
    assert_int_equal(
        uvzk_atomic_long_init(&process->client, &number->atomic, path, options), 0);
}

static void on_closed(uvzk_atomic_long_t *atomic)
{
    struct number *number = atomic->data;

    number->closed++;
}

void number_close(struct number *number)
{
    assert_int_equal(uvzk_atomic_long_close(&number->atomic, on_closed), 0);
    assert_true(world_await(number->process->world, &number->closed, PATIENCE_MS));
}

static void on_call(uvzk_req_t *handle, int status)
{
    const uvzk_atomic_value_t *value = handle->result->value;
    struct number_call *call = handle->data;

    call->told++;
    call->status = status;
    call->number->value = *value;
}

static struct number_call *prepare(struct number_call *call, struct number *number)
{
    *call = (struct number_call){.call = {.data = call}, .number = number};
    return call;
}

static int await(struct number_call *call, int status)
{
    assert_int_equal(status, 0);
    assert_true(world_await(call->number->process->world, &call->told, PATIENCE_MS));
    return call->status;
}

int number_get(struct number *number)
{
    struct number_call call;

    return await(&call, uvzk_atomic_long_get(&number->atomic,
                                             &prepare(&call, number)->call, on_call));
}

int number_add(struct number *number, int64_t delta)
{
    struct number_call call;

    return await(&call,
                 uvzk_atomic_long_add(&number->atomic, &prepare(&call, number)->call,
                                      delta, on_call));
}

int number_compare_and_set(struct number *number, int64_t expected, int64_t value)
{
    struct number_call call;

    return await(&call, uvzk_atomic_long_compare_and_set(&number->atomic,
                                                         &prepare(&call, number)->call,
                                                         expected, value, on_call));
}

int number_try_set(struct number *number, int64_t value)
{
    struct number_call call;

    return await(&call,
                 uvzk_atomic_long_try_set(&number->atomic, &prepare(&call, number)->call,
                                          value, on_call));
}

int number_force_set(struct number *number, int64_t value)
{
    struct number_call call;

    return await(&call, uvzk_atomic_long_force_set(&number->atomic,
                                                   &prepare(&call, number)->call, value,
                                                   on_call));
}

int number_initialize(struct number *number, int64_t value)
{
    struct number_call call;

    return await(&call,
                 uvzk_atomic_long_create(&number->atomic, &prepare(&call, number)->call,
                                         value, on_call));
}
