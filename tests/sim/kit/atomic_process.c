/* SPDX-License-Identifier: Apache-2.0 */
#include "atomic_process.h"

#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

void atomic_process_fail(const struct atomic_process *process, const char *format, ...)
{
    char text[256];
    va_list arguments;

    va_start(arguments, format);
    (void)vsnprintf(text, sizeof(text), format, arguments);
    va_end(arguments);
    world_fail(process->process.world, "%s: %s", process->process.name, text);
}

/* --------------------------------------------------------------- begin and end */

void atomic_process_options(uvzk_atomic_long_options_t *options, uint32_t tries,
                            bool promoted)
{
    uvzk_atomic_long_options_init(options);
    options->retry.kind = UVZK_RETRY_N_TIMES;
    options->retry.base_ms = 0;
    options->retry.max_retries = tries - 1;
    options->mutex_retry = options->retry;
    options->mutex_path = promoted ? ATOMIC_PROCESS_MUTEX : NULL;
}

int atomic_process_init(struct atomic_process *process,
                        const uvzk_atomic_long_options_t *options)
{
    process->atomic.data = process;
    return uvzk_atomic_long_init(&process->process.client, &process->atomic,
                                 ATOMIC_PROCESS_PATH, options);
}

void atomic_process_begin(struct atomic_process *process, struct world *world,
                          const char *name, const uvzk_atomic_long_options_t *options)
{
    memset(process, 0, sizeof(*process));
    process_make(&process->process, world, name, NULL);
    assert_int_equal(atomic_process_init(process, options), 0);
}

void atomic_process_open(struct atomic_process *process, struct world *world,
                         const char *name, const uvzk_atomic_long_options_t *options)
{
    atomic_process_begin(process, world, name, options);
    process_start(&process->process);
    assert_true(process_await_connected(&process->process, PATIENCE_MS));
}

static void on_closed(uvzk_atomic_long_t *atomic)
{
    struct atomic_process *process = atomic->data;

    world_note(process->process.world, "%s: its atomic long is closed",
               process->process.name);
    if (atomic->impl != NULL || process->atomic_closed > 0) {
        atomic_process_fail(process, "a close callback out of order");
    }
    process->atomic_closed++;
}

void atomic_process_close(struct atomic_process *process)
{
    assert_int_equal(uvzk_atomic_long_close(&process->atomic, on_closed), 0);
}

static void await(const struct atomic_process *process, const int *counter)
{
    if (!world_await(process->process.world, counter, PATIENCE_MS)) {
        atomic_process_fail(process, "waited for a callback in vain");
    }
}

void atomic_process_end(struct atomic_process *process)
{
    if (process->atomic.impl != NULL && !process->process.closing) {
        /* Refused if it is closing already. */
        (void)uvzk_atomic_long_close(&process->atomic, on_closed);
        await(process, &process->atomic_closed);
    }
    if (!process->process.closing) {
        process_close(&process->process);
    }
    await(process, &process->process.closed);
    assert_null(process->atomic.impl);
}

/* -------------------------------------------------------------------- the calls */

static void on_call(uvzk_req_t *handle, int status)
{
    const uvzk_atomic_value_t *value = handle->result->value;
    struct atomic_process_call *call = handle->data;
    struct atomic_process *process = call->atomic_process;

    world_note(process->process.world, "%s: a call says %s, %" PRId64 " to %" PRId64,
               process->process.name, uvzk_err_name(status), value->pre_value,
               value->post_value);
    /* The library has given up the call before it calls back. */
    if (!call->accepted || call->told > 0 || handle->impl != NULL || status > 0 ||
        process->atomic_closed > 0) {
        atomic_process_fail(process, "the callback of a call out of order");
    }
    if (value->size != sizeof(*value) ||
        (status != 0 && value->post_value != value->pre_value)) {
        atomic_process_fail(process, "a call without effect that says otherwise");
    }
    call->told++;
    call->status = status;
    call->value = *value;
}

/* Zeroes a call before its request. `accepted` is true during the request, and false
 * afterwards if it was refused. */
static uvzk_req_t *prepare(struct atomic_process_call *call,
                           struct atomic_process *process)
{
    memset(call, 0, sizeof(*call));
    call->call.data = call;
    call->atomic_process = process;
    call->status = ATOMIC_PROCESS_NO_STATUS;
    call->accepted = true;
    return &call->call;
}

static int begun(struct atomic_process_call *call, int status)
{
    call->accepted = status == 0;
    return status;
}

int atomic_process_get(struct atomic_process_call *call, struct atomic_process *process)
{
    return begun(call,
                 uvzk_atomic_long_get(&process->atomic, prepare(call, process), on_call));
}

int atomic_process_add(struct atomic_process_call *call, struct atomic_process *process,
                       int64_t delta)
{
    return begun(call, uvzk_atomic_long_add(&process->atomic, prepare(call, process),
                                            delta, on_call));
}

int atomic_process_compare_and_set(struct atomic_process_call *call,
                                   struct atomic_process *process, int64_t expected,
                                   int64_t value)
{
    return begun(call, uvzk_atomic_long_compare_and_set(&process->atomic,
                                                        prepare(call, process), expected,
                                                        value, on_call));
}

int atomic_process_try_set(struct atomic_process_call *call,
                           struct atomic_process *process, int64_t value)
{
    return begun(call, uvzk_atomic_long_try_set(&process->atomic, prepare(call, process),
                                                value, on_call));
}

int atomic_process_force_set(struct atomic_process_call *call,
                             struct atomic_process *process, int64_t value)
{
    return begun(call, uvzk_atomic_long_force_set(
                           &process->atomic, prepare(call, process), value, on_call));
}

int atomic_process_create(struct atomic_process_call *call,
                          struct atomic_process *process, int64_t value)
{
    return begun(call, uvzk_atomic_long_create(&process->atomic, prepare(call, process),
                                               value, on_call));
}

bool atomic_process_call_over(const struct atomic_process_call *call)
{
    return !call->accepted || call->told == 1;
}

int atomic_process_await(struct atomic_process_call *call)
{
    assert_true(call->accepted);
    await(call->atomic_process, &call->told);
    return call->status;
}

/* -------------------------------------------------------------------- the znode */

int64_t atomic_process_number(const struct sim *sim)
{
    size_t length;
    int64_t number;
    const void *data = sim_data(sim, ATOMIC_PROCESS_PATH, &length);

    return data != NULL && length == UVZK__ATOMIC_BYTES &&
                   uvzk__atomic_number_read(data, length, &number)
               ? number
               : -999;
}

void atomic_process_set_bytes(struct sim *sim, const void *bytes, size_t length)
{
    (void)sim_create_by_hand(sim, "/app", UVZK__PERSISTENT);
    (void)sim_create_by_hand(sim, "/app/numbers", UVZK__PERSISTENT);
    (void)sim_create_by_hand(sim, ATOMIC_PROCESS_PATH, UVZK__PERSISTENT);
    assert_int_equal(sim_set_by_hand(sim, ATOMIC_PROCESS_PATH, bytes, length), 0);
}

void atomic_process_set_by_hand(struct sim *sim, int64_t number)
{
    unsigned char bytes[UVZK__ATOMIC_BYTES];

    uvzk__atomic_number_write(bytes, number);
    atomic_process_set_bytes(sim, bytes, sizeof(bytes));
}
