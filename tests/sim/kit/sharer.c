#include "sharer.h"

#include "cmocka_test.h"

#include <inttypes.h>
#include <stdio.h>
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
    sim_trace_print(sharer->sim, stderr);
    fail_msg("%s: %s", sharer->name, text);
}

struct sim *sharer_sim(uint64_t seed)
{
    struct sim_options options;

    sim_options_init(&options);
    options.latency_min_ms = options.latency_max_ms = 1;
    options.alarm_late_max_ms = 0;
    options.trace_lines = 300;
    return sim_new(seed, &options);
}

/* ------------------------------------------------------------------ the process */

void sharer_options(uvzk_client_options_t *options)
{
    uvzk_client_options_init(options);
    options->hosts = "simulated:1";
    options->session_timeout_ms = SHARER_TIMEOUT_MS;
    options->retry.kind = UVZK_RETRY_N_TIMES;
    options->retry.base_ms = 50;
    options->retry.max_retries = 3;
}

void sharer_begin(struct sharer *sharer, struct sim *sim, const char *name,
                  const uvzk_client_options_t *options)
{
    uvzk_client_options_t usual;

    sharer_options(&usual);
    memset(sharer, 0, sizeof(*sharer));
    sharer->sim = sim;
    sharer->name = name;
    sharer->status = SHARER_UNTOLD;
    sharer->port = sim_port_new(sim, name);
    sharer->client.data = sharer;
    sim_set_timeout(sharer->port, SHARER_TIMEOUT_MS);
    assert_int_equal(uvzk__client_create(&sharer->client, sharer->port,
                                         options == NULL ? &usual : options,
                                         UVZK__TUNE_ALL),
                     0);
}

void sharer_start(struct sharer *sharer)
{
    assert_int_equal(uvzk_client_start(&sharer->client), 0);
}

static void on_value(uvzk_shared_value_t *value, int status)
{
    struct sharer *sharer = value->data;
    int64_t mzxid = sharer_version(sharer).mzxid;

    sim_note(sharer->sim, "%s is told %s, mzxid %" PRId64, sharer->name,
             uvzk_err_name(status), mzxid);
    if (sharer->value_closed > 0 || sharer->client_closed > 0) {
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
    return uvzk_shared_value_init(&sharer->client, &sharer->value, SHARER_PATH, seed,
                                  strlen(seed), on_value);
}

void sharer_open(struct sharer *sharer, struct sim *sim, const char *name,
                 const char *seed)
{
    sharer_begin(sharer, sim, name, NULL);
    assert_int_equal(sharer_share(sharer, seed), 0);
    sharer_start(sharer);
}

struct sim *sharer_sim_told(struct sharer *sharer)
{
    struct sim *sim = sharer_sim(1);

    sharer_open(sharer, sim, "c", "seed");
    sharer_await(sim, &sharer->told, 1);
    return sim;
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

    sim_note(set->sharer->sim, "%s: a set says %s", set->sharer->name,
             uvzk_err_name(status));
    if (!set->accepted || set->told > 0 || request->impl != NULL || status > 0) {
        sharer_fail(set->sharer, "the callback of a set out of order");
    }
    if (set->sharer->value_closed > 0) {
        sharer_fail(set->sharer, "a set is told after the value's end");
    }
    set->told++;
    set->status = status;
    set->told_ms = sim_now(set->sharer->sim);
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
    const void *data = sim_data(sharer->sim, SHARER_PATH, &length);

    return data != NULL && sim_stat(sharer->sim, SHARER_PATH, &stat) &&
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

void sharer_await(struct sim *sim, const int *counter, int value)
{
    uint64_t until = sim_now(sim) + PATIENCE_MS;

    while (*counter < value && sim_now(sim) < until) {
        sim_run_for(sim, 1);
    }
    if (*counter < value) {
        sim_trace_print(sim, stderr);
        fail_msg("%d instead of %d", *counter, value);
    }
}

void sharer_await_current(struct sharer *sharer)
{
    uint64_t until = sim_now(sharer->sim) + PATIENCE_MS;

    while (!sharer_is_current(sharer) && sim_now(sharer->sim) < until) {
        sim_run_for(sharer->sim, 1);
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

static void on_client_closed(uvzk_client_t *client)
{
    struct sharer *sharer = client->data;

    if (sharer->value.impl != NULL) {
        sharer_fail(sharer, "the value is still there");
    }
    sharer->client_closed++;
    sharer->port = NULL;
}

void sharer_close_value(struct sharer *sharer)
{
    assert_int_equal(uvzk_shared_value_close(&sharer->value, on_value_closed), 0);
}

void sharer_close_client(struct sharer *sharer)
{
    assert_int_equal(uvzk_client_close(&sharer->client, on_client_closed), 0);
}

static void assert_nothing_left(struct sharer *sharer)
{
    uvzk_client_stats_t stats;

    sim_run_for(sharer->sim, 2 * SHARER_TIMEOUT_MS);
    for (int i = 0; i < 10 && sim_outstanding(sharer->port) != 0; i++) {
        sim_run_for(sharer->sim, 1); /* the session is touched at times */
    }
    uvzk_client_stats(&sharer->client, &stats);
    if (stats.watches != 0 || sim_armed(sharer->port) != 0 ||
        sim_outstanding(sharer->port) != 0) {
        sharer_fail(sharer, "%" PRIu64 " watches, %zu armed, %zu requests left",
                    stats.watches, sim_armed(sharer->port),
                    sim_outstanding(sharer->port));
    }
}

void sharer_end(struct sharer *sharer)
{
    if (sharer->value.impl != NULL &&
        uvzk_client_state(&sharer->client) != UVZK_STATE_CLOSED) {
        if (sharer->value_closed == 0) {
            (void)uvzk_shared_value_close(&sharer->value, on_value_closed);
        }
        sharer_await(sharer->sim, &sharer->value_closed, 1);
    }
    if (uvzk_client_state(&sharer->client) != UVZK_STATE_CLOSED) {
        assert_nothing_left(sharer);
        sharer_close_client(sharer);
    }
    sharer_await(sharer->sim, &sharer->client_closed, 1);
}
