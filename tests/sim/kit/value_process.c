/* SPDX-License-Identifier: Apache-2.0 */
/* A simulated process with a client and a shared value. Tests of src/value call it.
 *
 * The one idea: the callbacks check themselves. on_value and on_set compare each callback
 * with those before it, and fail the test at the first one that is out of order. So every
 * test checks the order, whatever it is about. */
#include "value_process.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "value/node_cache.h"

#define PATIENCE_MS 60000U

void value_process_fail(const struct value_process *value_process, const char *format,
                        ...)
{
    char text[256];
    va_list arguments;

    va_start(arguments, format);
    (void)vsnprintf(text, sizeof(text), format, arguments);
    va_end(arguments);
    world_fail(value_process->process.world, "%s: %s", value_process->process.name, text);
}

struct sim *value_process_sim(const struct value_process *value_process)
{
    return value_process->process.world->sim;
}

/* ------------------------------------------------------------------ the process */

void value_process_begin(struct value_process *value_process, struct world *world,
                         const char *name, const uvzk_client_options_t *options)
{
    memset(value_process, 0, sizeof(*value_process));
    process_make(&value_process->process, world, name, options);
    value_process->status = VALUE_PROCESS_NO_STATUS;
}

static void on_value(uvzk_shared_value_t *value, int status)
{
    struct value_process *value_process = value->data;
    int64_t mzxid = value_process_version(value_process).mzxid;

    world_note(value_process->process.world, "%s is told %s, mzxid %" PRId64,
               value_process->process.name, uvzk_err_name(status), mzxid);
    if (value_process->value_closed > 0 || value_process->process.closed > 0) {
        value_process_fail(value_process, "told after the end");
    }
    /* Status 0 means that the client has a value, so the value has an mzxid. */
    if (status > 0 || (status == 0 && mzxid == 0)) {
        value_process_fail(value_process, "told %d without a value", status);
    }
    if (mzxid < value_process->mzxid) {
        value_process_fail(value_process, "the value goes back");
    }
    /* The same error again, or the same version of the value again. */
    if (status == value_process->status &&
        (status != 0 || mzxid == value_process->mzxid)) {
        value_process_fail(value_process, "told twice");
    }
    value_process->told++;
    value_process->troubles += status != 0;
    value_process->status = status;
    value_process->mzxid = mzxid;
    if (value_process->hook != NULL) {
        value_process->hook(value_process);
    }
}

int value_process_share(struct value_process *value_process, const char *seed)
{
    value_process->value.data = value_process;
    return uvzk_shared_value_init(&value_process->process.client, &value_process->value,
                                  VALUE_PROCESS_PATH, seed, strlen(seed), on_value);
}

void value_process_start(struct value_process *value_process, const char *seed)
{
    assert_int_equal(value_process_share(value_process, seed), 0);
    process_start(&value_process->process);
}

void value_process_open(struct value_process *value_process, struct world *world,
                        const char *name, const char *seed)
{
    value_process_begin(value_process, world, name, NULL);
    value_process_start(value_process, seed);
    value_process_await(value_process, &value_process->told, 1);
}

struct uvzk__node_cache *
value_process_node_cache(const struct value_process *value_process)
{
    struct uvzk__shared_value *value = value_process->value.impl;

    return value == NULL ? NULL : value->node_cache;
}

/* ---------------------------------------------------------------------- the sets */

static void on_set(uvzk_req_t *request, int status)
{
    struct value_process_set *set = request->data;

    world_note(set->value_process->process.world, "%s: a set says %s",
               set->value_process->process.name, uvzk_err_name(status));
    /* The library has given up the request before it calls back, so request->impl is
     * NULL. */
    if (!set->accepted || set->told > 0 || request->impl != NULL || status > 0) {
        value_process_fail(set->value_process, "the callback of a set out of order");
    }
    if (set->value_process->value_closed > 0) {
        value_process_fail(set->value_process, "a set is told after the value's end");
    }
    set->told++;
    set->status = status;
    set->told_ms = world_now(set->value_process->process.world);
    set->known = value_process_version(set->value_process).mzxid;
    if (set->hook != NULL) {
        set->hook(set);
    }
}

/* Zeroes a set before its call to the library. `accepted` is true during the call, and
 * false afterwards if the call was refused. */
static void prepare(struct value_process_set *set, struct value_process *value_process)
{
    memset(set, 0, sizeof(*set));
    set->request.data = set;
    set->value_process = value_process;
    set->status = VALUE_PROCESS_NO_STATUS;
    set->accepted = true;
}

int value_process_set(struct value_process_set *set, struct value_process *value_process,
                      const char *text)
{
    prepare(set, value_process);
    int status = uvzk_shared_value_set(&value_process->value, &set->request, text,
                                       strlen(text), on_set);
    set->accepted = status == 0;
    return status;
}

int value_process_try_set(struct value_process_set *set,
                          struct value_process *value_process,
                          const uvzk_value_version_t *version, const char *text)
{
    prepare(set, value_process);
    int status = uvzk_shared_value_try_set(&value_process->value, &set->request, version,
                                           text, strlen(text), on_set);
    set->accepted = status == 0;
    return status;
}

bool value_process_set_over(const struct value_process_set *set)
{
    return !set->accepted || set->told == 1;
}

/* ------------------------------------------------------------------ what is known */

uvzk_value_version_t value_process_version(const struct value_process *value_process)
{
    uvzk_value_version_t version = {0, 0};

    (void)uvzk_shared_value_get(&value_process->value, NULL, NULL, &version);
    return version;
}

bool value_process_knows(const struct value_process *value_process, const char *text)
{
    const void *data;
    size_t length;

    return uvzk_shared_value_get(&value_process->value, &data, &length, NULL) == 0 &&
           length == strlen(text) && memcmp(data, text, length) == 0;
}

bool value_process_znode_is(const struct sim *sim, const char *text)
{
    size_t length;
    const void *data = sim_data(sim, VALUE_PROCESS_PATH, &length);

    return data != NULL && length == strlen(text) && memcmp(data, text, length) == 0;
}

bool value_process_is_current(const struct value_process *value_process)
{
    struct uvzk__stat stat;
    uvzk_value_version_t version = value_process_version(value_process);
    const void *known;
    size_t length, known_length;
    const void *data =
        sim_data(value_process_sim(value_process), VALUE_PROCESS_PATH, &length);

    return data != NULL &&
           sim_stat(value_process_sim(value_process), VALUE_PROCESS_PATH, &stat) &&
           uvzk_shared_value_get(&value_process->value, &known, &known_length, NULL) ==
               0 &&
           known_length == length && memcmp(known, data, length) == 0 &&
           version.mzxid == stat.mzxid && version.version == stat.version &&
           value_process->status == 0 && value_process->mzxid == stat.mzxid;
}

/* ---------------------------------------------------------- changes by an operator */

void value_process_set_by_hand(struct sim *sim, const char *text)
{
    assert_int_equal(sim_set_by_hand(sim, VALUE_PROCESS_PATH, text, strlen(text)), 0);
}

void value_process_make_by_hand(struct sim *sim)
{
    (void)sim_create_by_hand(sim, "/app", UVZK__PERSISTENT);
    (void)sim_create_by_hand(sim, "/app/values", UVZK__PERSISTENT);
    (void)sim_create_by_hand(sim, VALUE_PROCESS_PATH, UVZK__PERSISTENT);
    assert_true(sim_exists(sim, VALUE_PROCESS_PATH));
}

void value_process_delete_by_hand(struct sim *sim)
{
    assert_int_equal(sim_delete_by_hand(sim, VALUE_PROCESS_PATH), 0);
}

/* --------------------------------------------------------------------- waiting */

void value_process_await(const struct value_process *value_process, const int *counter,
                         int value)
{
    if (!world_await_count(value_process->process.world, counter, value, PATIENCE_MS)) {
        value_process_fail(value_process, "%d instead of %d", *counter, value);
    }
}

void value_process_await_set(const struct value_process_set *set, int status)
{
    value_process_await(set->value_process, &set->told, 1);
    assert_int_equal(set->status, status);
}

void value_process_await_current(struct value_process *value_process)
{
    struct world *world = value_process->process.world;
    uint64_t until = world_now(world) + PATIENCE_MS;

    while (!value_process_is_current(value_process) && world_now(world) < until) {
        world_run_for(world, 1);
    }
    if (!value_process_is_current(value_process)) {
        value_process_fail(value_process, "what it knows is never current");
    }
}

/* ----------------------------------------------------------------------- the end */

static void on_value_closed(uvzk_shared_value_t *value)
{
    struct value_process *value_process = value->data;

    if (value->impl != NULL || value_process->value_closed > 0) {
        value_process_fail(value_process,
                           "the callback of the value's close out of order");
    }
    value_process->value_closed++;
}

void value_process_close_value(struct value_process *value_process)
{
    assert_int_equal(uvzk_shared_value_close(&value_process->value, on_value_closed), 0);
}

/* After the value is closed, the client has no watch and no request any more. */
static void assert_nothing_left(struct value_process *value_process)
{
    const struct uvzk__port *port = value_process->process.port;
    uint64_t watches;

    world_run_for(value_process->process.world, 2ULL * WORLD_TIMEOUT_MS);
    /* The session sends requests of its own at times. Their replies come within a few
     * ms. */
    for (int i = 0; i < 10 && sim_outstanding(port) != 0; i++) {
        world_run_for(value_process->process.world, 1);
    }
    watches = process_watches(&value_process->process);
    if (watches != 0 || sim_armed(port) != 0 || sim_outstanding(port) != 0) {
        value_process_fail(value_process,
                           "%" PRIu64 " watches, %zu armed, %zu requests left", watches,
                           sim_armed(port), sim_outstanding(port));
    }
}

void value_process_end(struct value_process *value_process)
{
    if (value_process->value.impl != NULL && !value_process->process.closing) {
        if (value_process->value_closed == 0) {
            (void)uvzk_shared_value_close(&value_process->value, on_value_closed);
        }
        value_process_await(value_process, &value_process->value_closed, 1);
    }
    if (!value_process->process.closing) {
        assert_nothing_left(value_process);
        process_close(&value_process->process);
    }
    value_process_await(value_process, &value_process->process.closed, 1);
    assert_null(value_process->value.impl);
}

/* -------------------------------------------------------------------- fixtures */

/* The memory of a fixture. The state of a test points to all[0], which is its first
 * member. */
struct value_processes {
    struct value_process all[VALUE_PROCESSES];
    struct world world;
};

int value_process_made(void **state)
{
    struct value_processes *value_processes = calloc(1, sizeof(*value_processes));

    assert_non_null(value_processes);
    world_begin_exact(&value_processes->world, UVZK__TUNE_ALL, 1);
    value_process_begin(&value_processes->all[0], &value_processes->world, "c", NULL);
    *state = value_processes->all;
    return 0;
}

int value_process_told(void **state)
{
    (void)value_process_made(state);
    value_process_start(*state, "seed");
    value_process_await(*state, &((struct value_process *)*state)->told, 1);
    return 0;
}

int value_processes_end(void **state)
{
    struct value_processes *value_processes = *state;

    for (size_t i = 0; i < VALUE_PROCESSES; i++) {
        if (value_processes->all[i].process.world != NULL) {
            value_process_end(&value_processes->all[i]);
        }
    }
    world_end(&value_processes->world);
    free(value_processes);
    return 0;
}
