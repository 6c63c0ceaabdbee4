#include "sharer.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "value/replica.h"

#define PATIENCE_MS 60000U

void sharer_fail(const struct sharer *sharer, const char *format, ...)
{
    char text[256];
    va_list arguments;

    va_start(arguments, format);
    (void)vsnprintf(text, sizeof(text), format, arguments);
    va_end(arguments);
    world_fail(sharer->process.world, "%s: %s", sharer->process.name, text);
}

struct sim *sharer_sim(const struct sharer *sharer)
{
    return sharer->process.world->sim;
}

/* ------------------------------------------------------------------ the process */

void sharer_begin(struct sharer *sharer, struct world *world, const char *name,
                  const uvzk_client_options_t *options)
{
    memset(sharer, 0, sizeof(*sharer));
    process_make(&sharer->process, world, name, options);
    sharer->status = SHARER_UNTOLD;
}

static void on_value(uvzk_shared_value_t *value, int status)
{
    struct sharer *sharer = value->data;
    int64_t mzxid = sharer_version(sharer).mzxid;

    world_note(sharer->process.world, "%s is told %s, mzxid %" PRId64,
               sharer->process.name, uvzk_err_name(status), mzxid);
    if (sharer->value_closed > 0 || sharer->process.closed > 0) {
        sharer_fail(sharer, "told after the end");
    }
    if (status > 0 || (status == 0 && mzxid == 0)) {
        sharer_fail(sharer, "told %d without a value", status);
    }
    if (mzxid < sharer->mzxid) {
        sharer_fail(sharer, "the value goes back");
    }
    if (status == sharer->status && (status != 0 || mzxid == sharer->mzxid)) {
        sharer_fail(sharer, "told twice");
    }
    sharer->told++;
    sharer->troubles += status != 0;
    sharer->status = status;
    sharer->mzxid = mzxid;
    if (sharer->hook != NULL) {
        sharer->hook(sharer);
    }
}

int sharer_share(struct sharer *sharer, const char *seed)
{
    sharer->value.data = sharer;
    return uvzk_shared_value_init(&sharer->process.client, &sharer->value, SHARER_PATH,
                                  seed, strlen(seed), on_value);
}

void sharer_start(struct sharer *sharer, const char *seed)
{
    assert_int_equal(sharer_share(sharer, seed), 0);
    process_start(&sharer->process);
}

void sharer_open(struct sharer *sharer, struct world *world, const char *name,
                 const char *seed)
{
    sharer_begin(sharer, world, name, NULL);
    sharer_start(sharer, seed);
    sharer_await(sharer, &sharer->told, 1);
}

struct uvzk__replica *sharer_replica(const struct sharer *sharer)
{
    struct uvzk__shared_value *value = sharer->value.impl;

    return value == NULL ? NULL : value->replica;
}

/* ---------------------------------------------------------------------- the sets */

static void on_set(uvzk_set_t *request, int status)
{
    struct sharer_set *set = request->data;

    world_note(set->sharer->process.world, "%s: a set says %s", set->sharer->process.name,
               uvzk_err_name(status));
    if (!set->accepted || set->told > 0 || request->impl != NULL || status > 0) {
        sharer_fail(set->sharer, "the callback of a set out of order");
    }
    if (set->sharer->value_closed > 0) {
        sharer_fail(set->sharer, "a set is told after the value's end");
    }
    set->told++;
    set->status = status;
    set->told_ms = world_now(set->sharer->process.world);
    set->known = sharer_version(set->sharer).mzxid;
    if (set->hook != NULL) {
        set->hook(set);
    }
}

static void prepare(struct sharer_set *set, struct sharer *sharer)
{
    memset(set, 0, sizeof(*set));
    set->request.data = set;
    set->sharer = sharer;
    set->status = SHARER_UNTOLD;
    set->accepted = true;
}

int sharer_set(struct sharer_set *set, struct sharer *sharer, const char *text)
{
    prepare(set, sharer);
    int status =
        uvzk_shared_value_set(&sharer->value, &set->request, text, strlen(text), on_set);
    set->accepted = status == 0;
    return status;
}

int sharer_try_set(struct sharer_set *set, struct sharer *sharer,
                   const uvzk_value_version_t *version, const char *text)
{
    prepare(set, sharer);
    int status = uvzk_shared_value_try_set(&sharer->value, &set->request, version, text,
                                           strlen(text), on_set);
    set->accepted = status == 0;
    return status;
}

bool sharer_set_over(const struct sharer_set *set)
{
    return !set->accepted || set->told == 1;
}

/* ------------------------------------------------------------------ what is known */

uvzk_value_version_t sharer_version(const struct sharer *sharer)
{
    uvzk_value_version_t version = {0, 0};

    (void)uvzk_shared_value_get(&sharer->value, NULL, NULL, &version);
    return version;
}

bool sharer_knows(const struct sharer *sharer, const char *text)
{
    const void *data;
    size_t length;

    return uvzk_shared_value_get(&sharer->value, &data, &length, NULL) == 0 &&
           length == strlen(text) && memcmp(data, text, length) == 0;
}

bool sharer_znode_is(const struct sim *sim, const char *text)
{
    size_t length;
    const void *data = sim_data(sim, SHARER_PATH, &length);

    return data != NULL && length == strlen(text) && memcmp(data, text, length) == 0;
}

bool sharer_is_current(const struct sharer *sharer)
{
    struct uvzk__stat stat;
    uvzk_value_version_t version = sharer_version(sharer);
    const void *known;
    size_t length, known_length;
    const void *data = sim_data(sharer_sim(sharer), SHARER_PATH, &length);

    return data != NULL && sim_stat(sharer_sim(sharer), SHARER_PATH, &stat) &&
           uvzk_shared_value_get(&sharer->value, &known, &known_length, NULL) == 0 &&
           known_length == length && memcmp(known, data, length) == 0 &&
           version.mzxid == stat.mzxid && version.version == stat.version &&
           sharer->status == 0 && sharer->mzxid == stat.mzxid;
}

/* -------------------------------------------------------------- another one's hand */

void sharer_set_by_hand(struct sim *sim, const char *text)
{
    assert_int_equal(sim_set_by_hand(sim, SHARER_PATH, text, strlen(text)), 0);
}

void sharer_make_by_hand(struct sim *sim)
{
    (void)sim_create_by_hand(sim, "/app", UVZK__PERSISTENT);
    (void)sim_create_by_hand(sim, "/app/values", UVZK__PERSISTENT);
    (void)sim_create_by_hand(sim, SHARER_PATH, UVZK__PERSISTENT);
    assert_true(sim_exists(sim, SHARER_PATH));
}

void sharer_delete_by_hand(struct sim *sim)
{
    assert_int_equal(sim_delete_by_hand(sim, SHARER_PATH), 0);
}

/* --------------------------------------------------------------------- waiting */

void sharer_await(const struct sharer *sharer, const int *counter, int value)
{
    if (!world_await_count(sharer->process.world, counter, value, PATIENCE_MS)) {
        sharer_fail(sharer, "%d instead of %d", *counter, value);
    }
}

void sharer_await_set(const struct sharer_set *set, int status)
{
    sharer_await(set->sharer, &set->told, 1);
    assert_int_equal(set->status, status);
}

void sharer_await_current(struct sharer *sharer)
{
    struct world *world = sharer->process.world;
    uint64_t until = world_now(world) + PATIENCE_MS;

    while (!sharer_is_current(sharer) && world_now(world) < until) {
        world_run_for(world, 1);
    }
    if (!sharer_is_current(sharer)) {
        sharer_fail(sharer, "what it knows is never current");
    }
}

/* ----------------------------------------------------------------------- the end */

static void on_value_closed(uvzk_shared_value_t *value)
{
    struct sharer *sharer = value->data;

    if (value->impl != NULL || sharer->value_closed > 0) {
        sharer_fail(sharer, "the callback of the value's close out of order");
    }
    sharer->value_closed++;
}

void sharer_close_value(struct sharer *sharer)
{
    assert_int_equal(uvzk_shared_value_close(&sharer->value, on_value_closed), 0);
}

static void assert_nothing_left(struct sharer *sharer)
{
    const struct uvzk__port *port = sharer->process.port;
    uint64_t watches;

    world_run_for(sharer->process.world, 2ULL * WORLD_TIMEOUT_MS);
    for (int i = 0; i < 10 && sim_outstanding(port) != 0; i++) {
        world_run_for(sharer->process.world, 1); /* the session is touched at times */
    }
    watches = process_watches(&sharer->process);
    if (watches != 0 || sim_armed(port) != 0 || sim_outstanding(port) != 0) {
        sharer_fail(sharer, "%" PRIu64 " watches, %zu armed, %zu requests left", watches,
                    sim_armed(port), sim_outstanding(port));
    }
}

void sharer_end(struct sharer *sharer)
{
    if (sharer->value.impl != NULL && !sharer->process.closing) {
        if (sharer->value_closed == 0) {
            (void)uvzk_shared_value_close(&sharer->value, on_value_closed);
        }
        sharer_await(sharer, &sharer->value_closed, 1);
    }
    if (!sharer->process.closing) {
        assert_nothing_left(sharer);
        process_close(&sharer->process);
    }
    sharer_await(sharer, &sharer->process.closed, 1);
    assert_null(sharer->value.impl);
}

/* -------------------------------------------------------------------- fixtures */

struct sharers {
    struct sharer all[SHARERS];
    struct world world;
};

int sharer_made(void **state)
{
    struct sharers *sharers = calloc(1, sizeof(*sharers));

    assert_non_null(sharers);
    world_begin_exact(&sharers->world, UVZK__TUNE_ALL, 1);
    sharer_begin(&sharers->all[0], &sharers->world, "c", NULL);
    *state = sharers->all;
    return 0;
}

int sharer_told(void **state)
{
    (void)sharer_made(state);
    sharer_start(*state, "seed");
    sharer_await(*state, &((struct sharer *)*state)->told, 1);
    return 0;
}

int sharers_end(void **state)
{
    struct sharers *sharers = *state;

    for (size_t i = 0; i < SHARERS; i++) {
        if (sharers->all[i].process.world != NULL) {
            sharer_end(&sharers->all[i]);
        }
    }
    world_end(&sharers->world);
    free(sharers);
    return 0;
}
