/* SPDX-License-Identifier: Apache-2.0 */
/* Requests of `uvzk serve` and their answers, when something fails that no live test makes
 * fail at the right moment.
 *
 * Without memory: each allocation of the daemon's files for a request fails once, and those
 * of libjansson for its line and its answer. The request is answered all the same, with
 * UV_ENOMEM if it was not carried out; or its connection is cut off, which the daemon does
 * if it has no memory for the answer. An answer has all of its fields. Nothing is left
 * behind.
 *
 * With servers that lag behind: what is read under a hold is no older than the hold.
 *
 * The files are compiled with the allocator of this test. The library has its own, and the
 * simulator stands in the place of the servers. */
#undef malloc
#undef calloc
#undef realloc
#include <inttypes.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <uvzk_sim.h>

#include "cmocka_test.h"
#include "serve/daemon.h"
#include "serve/expiring_holds.h"
#include "serve/served_answer.h"
#include "serve/served_connection.h"
#include "serve/served_hold.h"
#include "serve/served_memory.h"
#include "serve/served_multilock.h"
#include "serve/served_object.h"
#include "serve/served_operations.h"
#include "serve/served_owner.h"
#include "serve/served_status.h"

#define NEVER UINT64_MAX
#define PATIENCE_MS 5000U
#define LINE_LONGEST 1000U

static struct {
    struct daemon daemon;
    struct daemon_options options;
    struct served_connection connection;
    uint64_t before_failure; /* so many allocations succeed, then one fails; NEVER */
    bool failed;             /* one has failed */
    bool cut;
    unsigned answers;
    bool ok;
    char error[32], node[300], data[32];
    int64_t hold, object;
    size_t values; /* in the answer, at whatever depth */
    json_t *slot;  /* of the answer, owned; NULL: it has none */
} world;

/* ------------------------------------------------------------------- the allocator */

static bool fails(void)
{
    bool now = world.before_failure == 0;

    world.failed |= now;
    world.before_failure -= world.before_failure != NEVER;
    if (now) {
        world.before_failure = NEVER;
    }
    return now;
}

void *served_malloc(size_t size);
void *served_malloc(size_t size)
{
    return fails() ? NULL : malloc(size);
}

void *served_calloc(size_t count, size_t size);
void *served_calloc(size_t count, size_t size)
{
    return fails() ? NULL : calloc(count, size);
}

void *served_realloc(void *memory, size_t size);
void *served_realloc(void *memory, size_t size)
{
    return fails() ? NULL : realloc(memory, size);
}

/* ------------------------------------------------- in the place of the daemon's files */

bool daemon_is_ending(const struct daemon *daemon)
{
    (void)daemon;
    return false;
}

void daemon_fail(struct daemon *daemon, int status)
{
    (void)daemon;
    fail_msg("the daemon fails: %s", uvzk_strerror(status));
}

void expiring_holds_add(struct expiring_holds *expiring, struct served_hold *hold)
{
    (void)expiring;
    (void)hold;
    fail_msg("nothing expires here");
}

void expiring_holds_remove(struct expiring_holds *expiring, struct served_hold *hold)
{
    (void)expiring;
    (void)hold;
}

bool served_connection_begin(struct served_connection *connection, int64_t id)
{
    (void)id;
    connection->pending++;
    return true;
}

void served_connection_done(struct served_connection *connection)
{
    connection->pending--;
}

void served_connection_cut(struct served_connection *connection, const char *error,
                           const char *message)
{
    (void)connection;
    (void)error;
    (void)message;
    world.cut = true;
}

static void keep_text(char *text, size_t size, const json_t *object, const char *name)
{
    const char *value = json_string_value(json_object_get(object, name));

    snprintf(text, size, "%s", value == NULL ? "" : value);
}

static size_t count_values(json_t *json)
{
    size_t count = 1;

    for (size_t i = 0; i < json_array_size(json); i++) {
        count += count_values(json_array_get(json, i));
    }
    for (void *at = json_object_iter(json); at != NULL;
         at = json_object_iter_next(json, at)) {
        count += count_values(json_object_iter_value(at));
    }
    return count;
}

void served_connection_send(struct served_connection *connection, json_t *object)
{
    size_t length;
    char *line = served_answer_line(object, &length);
    uint64_t before_failure = world.before_failure;
    world.before_failure = NEVER; /* this is no longer the daemon */
    json_t *read = line == NULL ? NULL : json_loadb(line, length, 0, NULL);

    if (read == NULL) {
        served_connection_cut(connection, "UV_ENOMEM", "no memory");
    } else if (json_object_get(read, "event") == NULL) {
        world.answers++;
        world.ok = json_is_true(json_object_get(read, "ok"));
        keep_text(world.error, sizeof(world.error), read, "error");
        keep_text(world.node, sizeof(world.node), read, "node");
        keep_text(world.data, sizeof(world.data), read, "data");
        world.hold = json_integer_value(json_object_get(read, "hold"));
        world.object = json_integer_value(json_object_get(read, "object"));
        world.values = count_values(read);
        json_decref(world.slot);
        world.slot = json_incref(json_object_get(read, "slot"));
    }
    json_decref(read);
    free(line);
    world.before_failure = before_failure;
}

/* ------------------------------------------------------------------------- the world */

static void ask(const char *line)
{
    world.answers = 0;
    world.failed = world.cut = false;
    served_operations_run(&world.connection, line, strlen(line));
    for (int ms = 0; world.answers == 0 && !world.cut && ms < 60000; ms += 100) {
        uvzk_sim_run_for(100);
    }
}

static void ask_about(const char *format, int64_t number)
{
    char line[300];

    snprintf(line, sizeof(line), format, number);
    ask(line);
}

static void begin(uint64_t seed, uint32_t servers, uint32_t sessions)
{
    uvzk_sim_options_t sim;
    uvzk_client_options_t options;

    memset(&world, 0, sizeof(world));
    world.before_failure = NEVER;
    world.options.max_pending = 100;
    world.options.max_unsent = 100000;
    uvzk_sim_options_init(&sim);
    sim.seed = seed;
    sim.servers = servers;
    assert_int_equal(uvzk_sim_begin(&sim), 0);
    uvzk_client_options_init(&options);
    options.hosts = "simulated:1";
    options.sessions = sessions;
    world.daemon.options = &world.options;
    world.daemon.locks.client = &world.daemon.zookeeper.client;
    world.connection.daemon = &world.daemon;
    assert_int_equal(uvzk_client_init(NULL, world.daemon.locks.client, &options), 0);
    assert_int_equal(uvzk_client_start(world.daemon.locks.client), 0);
    uvzk_sim_run_for(PATIENCE_MS);
}

static void release_all(void)
{
    served_holds_end(&world.connection, false);
    served_objects_end(&world.connection);
    uvzk_sim_run_for(PATIENCE_MS);
    assert_int_equal(world.connection.pending, 0);
    assert_null(world.connection.holds);
    assert_null(world.connection.owners);
    assert_null(world.connection.objects);
    assert_null(world.daemon.atomics.open);
    assert_null(world.daemon.locks.multilocks);
    assert_int_equal(world.daemon.locks.idle_count, HASH_COUNT(world.daemon.locks.locks));
    assert_null(world.daemon.statuses);
    assert_int_equal(world.daemon.hold_count, 0);
}

static void end(void)
{
    uvzk_client_close(world.daemon.locks.client, NULL);
    uvzk_sim_run_for(PATIENCE_MS);
    served_statuses_free(&world.daemon);
    served_multilocks_free(&world.daemon.locks);
    served_locks_free(&world.daemon.locks);
    assert_int_equal(uvzk_sim_end(), 0);
}

/* What of the program a request has in it. */
enum subject { HOLD, NODE, OBJECT };

/* A program that holds "/held", and may have a shared value, sends the request. Returns
 * whether an allocation failed. */
static bool ask_with_failure(const char *format, enum subject subject, uint64_t which)
{
    char line[600];

    ask("{\"id\":1,\"op\":\"acquire\",\"path\":\"/held\",\"owner\":\"me\"}");
    assert_true(world.ok);
    if (subject == OBJECT) {
        ask("{\"id\":1,\"op\":\"shared_value\",\"path\":\"/value\"}");
        assert_true(world.ok);
        uvzk_sim_run_for(PATIENCE_MS);
        snprintf(line, sizeof(line), format, world.object);
    } else if (subject == NODE) {
        snprintf(line, sizeof(line), format, world.node);
    } else {
        snprintf(line, sizeof(line), format, world.hold);
    }
    world.before_failure = which;
    ask(line);
    bool failed = world.failed;
    world.before_failure = NEVER;
    if (world.cut ? !failed : world.answers != 1) {
        fail_msg("%s: allocation %" PRIu64 ": %u answers, cut off: %d", line, which,
                 world.answers, world.cut);
    }
    if (!world.cut && !world.ok && (!failed || strcmp(world.error, "UV_ENOMEM") != 0)) {
        fail_msg("%s: allocation %" PRIu64 ": %s", line, which, world.error);
    }
    release_all();
    return failed;
}

static void each_allocation_fails(void **state)
{
    static const struct {
        const char *line;
        enum subject subject;
    } requests[] = {
        {"{\"id\":2,\"op\":\"acquire\",\"path\":\"/"
         "a\",\"owner\":\"me\",\"data\":\"%" PRId64 "\"}",
         HOLD},
        {"{\"id\":2,\"op\":\"acquire_all\",\"owner\":\"you\",\"data\":\"%" PRId64 "\","
         "\"members\":[{\"path\":\"/b\"},{\"path\":\"/a\",\"lock\":\"read\"}]}",
         HOLD},
        {"{\"id\":2,\"op\":\"verify\",\"hold\":%" PRId64 "}", HOLD},
        {"{\"id\":2,\"op\":\"release\",\"hold\":%" PRId64 "}", HOLD},
        {"{\"id\":2,\"op\":\"revoke\",\"node\":\"%s\"}", NODE},
        {"{\"id\":2,\"op\":\"write\",\"hold\":%" PRId64 ",\"writes\":["
         "{\"kind\":\"set\",\"path\":\"/held\",\"base64\":\"AP8=\"}]}",
         HOLD},
        {"{\"id\":2,\"op\":\"read\",\"hold\":%" PRId64 ",\"path\":\"/held\"}", HOLD},
        {"{\"id\":%" PRId64 ",\"op\":\"status\",\"path\":\"/held\"}", HOLD},
        {"{\"id\":%" PRId64 ",\"op\":\"leader\",\"path\":\"/held\",\"lock\":\"mutex\"}",
         HOLD},
        {"{\"id\":%" PRId64 ",\"op\":\"locks\"}", HOLD},
        {"{\"id\":%" PRId64 ",\"op\":\"metrics\"}", HOLD},
        {"{\"id\":%" PRId64 ",\"op\":\"hello\",\"version\":2}", HOLD},
        {"{\"id\":%" PRId64 ",\"op\":\"shared_value\",\"path\":\"/v\","
         "\"base64\":\"AP8=\"}",
         HOLD},
        {"{\"id\":%" PRId64 ",\"op\":\"shared_count\",\"path\":\"/c\"}", HOLD},
        {"{\"id\":%" PRId64 ",\"op\":\"group_member\",\"path\":\"/g\",\"member\":\"a\"}",
         HOLD},
        {"{\"id\":%" PRId64 ",\"op\":\"persistent_node\",\"path\":\"/n\"}", HOLD},
        {"{\"id\":2,\"op\":\"set\",\"object\":%" PRId64 ",\"base64\":\"AP8=\"}", OBJECT},
        {"{\"id\":2,\"op\":\"get\",\"object\":%" PRId64 "}", OBJECT},
        {"{\"id\":2,\"op\":\"close\",\"object\":%" PRId64 "}", OBJECT},
        {"{\"id\":%" PRId64 ",\"op\":\"barrier_set\",\"path\":\"/wall\"}", HOLD},
        {"{\"id\":%" PRId64 ",\"op\":\"enter\",\"path\":\"/d\",\"member_quantity\":1}",
         HOLD},
        {"{\"id\":%" PRId64 ",\"op\":\"atomic_add\",\"path\":\"/l\",\"delta\":1}", HOLD},
    };
    (void)state;
    begin(1, 1, 1);
    for (size_t i = 0; i < sizeof(requests) / sizeof(requests[0]); i++) {
        uint64_t which = 0;
        assert_false(ask_with_failure(requests[i].line, requests[i].subject, NEVER));
        size_t values = world.values;
        while (ask_with_failure(requests[i].line, requests[i].subject, which)) {
            if (world.answers > 0 && world.ok && world.values != values) {
                fail_msg("%s: allocation %" PRIu64 ": %zu values", requests[i].line,
                         which, world.values);
            }
            which++;
        }
        assert_true(world.ok);
        assert_true(which > 5);
    }
    end();
}

/* A hold that finds all slots taken has none, and its program is told so. */
static void more_holds_than_slots(void **state)
{
    static struct served_slots_memory memory;
    (void)state;
    begin(1, 1, 1);
    served_slots_init(&world.daemon.slots, &memory);
    for (int64_t hold = 1000; hold < 1000 + (int64_t)SERVED_SLOTS - 1; hold++) {
        (void)served_slots_take(&world.daemon.slots, hold);
    }
    ask("{\"id\":1,\"op\":\"acquire\",\"path\":\"/a\"}");
    assert_true(world.ok && json_is_integer(world.slot));
    assert_int_equal(memory.slots[json_integer_value(world.slot)].hold, world.hold);
    ask("{\"id\":1,\"op\":\"acquire\",\"path\":\"/b\"}");
    assert_true(world.ok && json_is_null(world.slot));
    ask_about("{\"id\":1,\"op\":\"valid\",\"hold\":%" PRId64 "}", world.hold);
    assert_true(world.ok);
    release_all();
    ask("{\"id\":1,\"op\":\"acquire\",\"path\":\"/b\"}");
    assert_true(world.ok && json_is_integer(world.slot));
    release_all();
    json_decref(world.slot);
    end();
}

/* A request with a path of this length is read, while an allocation fails. Returns whether
 * one has failed. */
static bool read_path(size_t length, uint64_t which)
{
    char line[200], path[100] = "/";
    struct served_request request;

    memset(path + 1, 'a', length - 1);
    snprintf(line, sizeof(line), "{\"id\":1,\"op\":\"acquire\",\"path\":\"%s\"}", path);
    served_memory_read_begin();
    world.before_failure = which;
    const char *wrong = served_request_read(&request, line, strlen(line));
    world.before_failure = NEVER;
    bool whole = served_memory_read_end();
    if (wrong == NULL) {
        assert_string_equal(request.path, path);
    }
    assert_int_equal(whole, !world.failed);
    served_request_free(&request);
    (void)served_memory_was_short();
    return !whole;
}

/* libjansson would leave out a byte, also the quote at the end. */
static void no_text_lacks_a_byte(void **state)
{
    (void)state;
    memset(&world, 0, sizeof(world));
    world.before_failure = NEVER;
    for (size_t length = 1; length < 70; length++) {
        for (uint64_t which = 0; read_path(length, which); which++) {
            world.failed = false;
        }
    }
}

/* The connection is cut off, and no lock was opened. */
static void what_was_read_without_memory_is_not_carried_out(void **state)
{
    uint64_t count = 0; /* of the allocations while it is read */
    (void)state;

    begin(1, 1, 1);
    while (read_path(strlen("/held"), count)) {
        world.failed = false;
        count++;
    }
    assert_true(count > 5);
    for (uint64_t which = 0; which < count; which++) {
        world.before_failure = which;
        ask("{\"id\":1,\"op\":\"acquire\",\"path\":\"/aaaa\"}");
        world.before_failure = NEVER;
        assert_true(world.cut && world.answers == 0);
        assert_null(world.daemon.locks.locks);
    }
    end();
}

/* ------------------------------------------------------------- servers that lag behind */

static void note_session(const uvzk_client_t *client, const uvzk_hold_entry_t *entry,
                         void *session)
{
    (void)client;
    *(uint32_t *)session = entry->session;
}

/* Acquires a lock whose hold is not in the first session. */
static int64_t acquire_in_another_session(void)
{
    for (int64_t i = 0;; i++) {
        uint32_t session = 0;
        ask_about("{\"id\":1,\"op\":\"acquire\",\"path\":\"/lock%" PRId64 "\"}", i);
        assert_true(world.ok);
        uvzk_client_each_hold(world.daemon.locks.client, note_session, &session);
        if (session > 0) {
            return world.hold;
        }
        release_all();
    }
}

/* The hold's znode is in one session, and the read goes through another one, whose server is
 * cut off from the others for some time. Returns whether an old version was found each
 * time. */
static bool read_from_a_server_that_lags(uint64_t seed, uint64_t ms)
{
    begin(seed, 3, 2);
    int64_t hold = acquire_in_another_session();
    ask_about("{\"id\":1,\"op\":\"write\",\"hold\":%" PRId64 ",\"writes\":["
              "{\"kind\":\"create\",\"path\":\"/data\",\"data\":\"old\"}]}",
              hold);
    assert_true(world.ok);
    uvzk_sim_run_for(PATIENCE_MS);
    uvzk_sim_lag(uvzk_sim_server_of(world.daemon.locks.client), ms);
    ask_about("{\"id\":1,\"op\":\"write\",\"hold\":%" PRId64 ",\"writes\":["
              "{\"kind\":\"set\",\"path\":\"/data\",\"data\":\"new\"}]}",
              hold);
    bool written = world.ok;
    ask_about("{\"id\":1,\"op\":\"read\",\"hold\":%" PRId64 ",\"path\":\"/data\"}", hold);
    if (written && world.ok) {
        assert_string_equal(world.data, "new");
    }
    bool stale = written && !world.ok && strcmp(world.error, "UVZK_EBADVERSION") == 0;
    release_all();
    end();
    return stale;
}

static void a_read_is_no_older_than_its_hold(void **state)
{
    unsigned stale = 0;
    (void)state;
    for (uint64_t seed = 1; seed <= 100; seed++) {
        stale += read_from_a_server_that_lags(seed, 1000);
        /* It catches up before the znode has been read as often as it may be. */
        assert_false(read_from_a_server_that_lags(seed, 250));
    }
    assert_true(stale > 0);
}

static int begin_memory(void **state)
{
    (void)state;
    world.before_failure = NEVER;
    return served_memory_begin(LINE_LONGEST) ? 0 : -1;
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(each_allocation_fails),
        cmocka_unit_test(more_holds_than_slots),
        cmocka_unit_test(no_text_lacks_a_byte),
        cmocka_unit_test(what_was_read_without_memory_is_not_carried_out),
        cmocka_unit_test(a_read_is_no_older_than_its_hold),
    };
    return cmocka_run_group_tests(tests, begin_memory, NULL);
}
