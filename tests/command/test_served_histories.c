/* SPDX-License-Identifier: Apache-2.0 */
/* Random histories of the requests of `uvzk serve`, in virtual time: two daemons, whose
 * clients have all kinds of trouble, and programs that acquire one mutex or both, stand for
 * election, release, ask, use what is no lock, disconnect and are cut off, while the daemons
 * end and begin again. Requests and answers take any time. Nothing is left behind.
 *
 * Never do two programs believe in the same mutex, or that they lead the same election. A
 * program believes in a hold from the answer on until the last validity that it was told, or has
 * read in the hold's slot, by whichever clock ends later; it stops when it sends a release, closes its connection, or reads that the hold is lost.
 *
 * These are the real requests, holds and locks of the daemon, over the simulator. What
 * stands around them is here: connections without sockets, and the daemon's timer. */
#include <inttypes.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <utlist.h>
#include <uvzk_sim.h>

#include "cmocka_test.h"
#include "serve/daemon.h"
#include "serve/expiring_holds.h"
#include "serve/served_answer.h"
#include "serve/served_connection.h"
#include "serve/served_hold.h"
#include "serve/served_multilock.h"
#include "serve/served_object.h"
#include "serve/served_operations.h"
#include "serve/served_owner.h"
#include "serve/served_status.h"
#include "serve/served_validity.h"

#define HISTORIES 500
#define HISTORY_MS 60000U
#define DAEMONS 2U
#define PROGRAMS 6U
#define PATHS 3U
#define OBJECT_PATHS 3U
#define ELECTION 2U /* this path is not a mutex */
#define BOTH 3U     /* the paths of both mutexes */
#define DELAY_MAX_MS 40U
#define STEP_MAX_MS 20U
#define HOLDS_MAX 4U
#define LINES_MAX 32U
#define SESSION_MS 6000U
#define TICK_MS 500U
#define TROUBLE_PPM 4000U
#define NS_PER_MS 1000000U

/* A line on its way to the program. */
struct line {
    uint64_t at; /* when it is read */
    json_t *object;
};

/* What a program believes. */
struct belief {
    int64_t number; /* of the hold; 0: none */
    int64_t slot;
    unsigned paths; /* a bit for each */
    uint64_t until; /* virtual ms */
};

struct program {
    struct served_connection *connection; /* NULL: not connected */
    const struct daemon *daemon;          /* whose slots it reads, also when cut off */
    struct belief beliefs[HOLDS_MAX];
    /* The request under way: one at a time. */
    char request[256];
    uint64_t sent, arrives; /* arrives 0: it has arrived */
    int64_t id;             /* 0: none */
    int64_t object;         /* that was opened last; 0: none */
    unsigned paths;         /* of the acquire: a bit for each */
    struct line lines[LINES_MAX];
    size_t line_count;
};

static struct {
    struct daemon daemons[DAEMONS];
    bool ending[DAEMONS];
    struct daemon_options options;
    struct program programs[PROGRAMS];
    uint64_t random;
    uint64_t connections; /* that are not freed */
    /* That what is tested has happened. */
    uint64_t grants, losses, cuts, ends, objects, readings, overs;
} world;

static uint64_t any(uint64_t below)
{
    world.random = world.random * 6364136223846793005U + 1442695040888963407U;
    return (world.random >> 33) % below;
}

/* ------------------------------------------------------ in the place of the daemon's
 * files */

struct served_now __wrap_served_validity_now(void);
struct served_now __wrap_served_validity_now(void)
{
    return (struct served_now){uvzk_now() * NS_PER_MS, uvzk_now() * NS_PER_MS};
}

bool daemon_is_ending(const struct daemon *daemon)
{
    return world.ending[daemon - world.daemons];
}

void daemon_fail(struct daemon *daemon, int status)
{
    (void)daemon;
    fail_msg("the daemon fails: %s", uvzk_strerror(status));
}

void expiring_holds_add(struct expiring_holds *expiring, struct served_hold *hold)
{
    DL_APPEND(expiring->holds, hold);
}

void expiring_holds_remove(struct expiring_holds *expiring, struct served_hold *hold)
{
    if (hold->prev != NULL) {
        DL_DELETE(expiring->holds, hold);
        hold->prev = NULL;
    }
}

static void release_expired(struct expiring_holds *expiring)
{
    struct served_hold *hold, *next;

    DL_FOREACH_SAFE(expiring->holds, hold, next)
    {
        if (uvzk_now() >= hold->told_until) {
            expiring_holds_remove(expiring, hold);
            served_hold_expired(hold);
        }
    }
}

static struct program *program_of(const struct served_connection *connection)
{
    for (size_t i = 0; i < PROGRAMS; i++) {
        if (world.programs[i].connection == connection) {
            return &world.programs[i];
        }
    }
    return NULL;
}

static void drop_lines(struct program *program)
{
    for (size_t i = 0; i < program->line_count; i++) {
        json_decref(program->lines[i].object);
    }
    program->line_count = 0;
}

static void leave(struct served_connection *connection)
{
    if (--connection->users == 0) {
        served_owners_free(&connection->owners);
        free(connection);
        world.connections--;
    }
}

static void end_connection(struct served_connection *connection, bool believed)
{
    struct program *program = program_of(connection);

    connection->ended = true;
    DL_DELETE(connection->daemon->connections, connection);
    program->connection = NULL;
    program->arrives = 0;
    served_holds_end(connection, believed);
    served_objects_end(connection);
    served_atomics_end(connection);
    leave(connection);
}

/* The program does not notice it: it goes on with what it was told, and reads what is on
 * its way. */
void served_connection_cut(struct served_connection *connection, const char *error,
                           const char *message)
{
    (void)error;
    (void)message;
    if (!connection->ended) {
        world.cuts++;
        end_connection(connection, true);
    }
}

void served_connection_send(struct served_connection *connection, json_t *object)
{
    struct program *program = program_of(connection);
    uint64_t last;

    assert_non_null(object);
    if (connection->ended) {
        json_decref(object);
        return;
    }
    if (program->line_count == LINES_MAX) {
        json_decref(object);
        served_connection_cut(connection, NULL, NULL);
        return;
    }
    /* In the order of their sending. */
    last = program->line_count == 0 ? 0 : program->lines[program->line_count - 1].at;
    uint64_t at = uvzk_now() + any(DELAY_MAX_MS);
    program->lines[program->line_count++] =
        (struct line){.at = at > last ? at : last, .object = object};
}

bool served_connection_begin(struct served_connection *connection, int64_t id)
{
    (void)id;
    connection->pending++;
    connection->users++;
    return true;
}

void served_connection_done(struct served_connection *connection)
{
    connection->pending--;
    leave(connection);
}

/* ------------------------------------------------------------------------- programs */

static struct belief *belief_of(struct program *program, int64_t number)
{
    for (size_t i = 0; i < HOLDS_MAX; i++) {
        if (program->beliefs[i].number == number) {
            return &program->beliefs[i];
        }
    }
    return NULL;
}

static void connect_program(struct program *program)
{
    struct served_connection *connection = calloc(1, sizeof(*connection));

    drop_lines(program);
    program->id = program->object = 0;
    memset(program->beliefs, 0, sizeof(program->beliefs));
    world.connections++;
    connection->daemon = &world.daemons[any(DAEMONS)];
    program->daemon = connection->daemon;
    connection->users = 1;
    DL_APPEND(connection->daemon->connections, connection);
    program->connection = connection;
}

static void close_program(struct program *program)
{
    memset(program->beliefs, 0, sizeof(program->beliefs));
    drop_lines(program);
    end_connection(program->connection, false);
}

static void ask(struct program *program, const char *fields)
{
    static int64_t last_id;

    program->id = ++last_id;
    program->sent = uvzk_now();
    program->arrives = program->sent + 1 + any(DELAY_MAX_MS);
    snprintf(program->request, sizeof(program->request), "{\"id\":%" PRId64 ",%s}",
             program->id, fields);
}

static void ask_about(struct program *program, const char *op, int64_t number)
{
    char fields[128];

    snprintf(fields, sizeof(fields), "\"op\":\"%s\",\"hold\":%" PRId64, op, number);
    ask(program, fields);
}

static void ask_for_lock(struct program *program)
{
    unsigned path = (unsigned)any(PATHS + 1);
    char fields[200], what[100];

    if (path == BOTH) {
        program->paths = 3;
        snprintf(what, sizeof(what),
                 "\"op\":\"acquire_all\",\"members\":"
                 "[{\"path\":\"/path1\"},{\"path\":\"/path0\"}]");
    } else {
        program->paths = 1U << path;
        snprintf(what, sizeof(what), "\"op\":\"%s\",\"path\":\"/path%u\"",
                 path == ELECTION ? "elect" : "acquire", path);
    }
    snprintf(fields, sizeof(fields),
             "%s,\"max_hold_ms\":%" PRIu64 ",\"timeout_ms\":%" PRIu64, what,
             1 + any(40000), any(3) * any(8000));
    ask(program, fields);
}

/* A request about what is no lock. It may make no sense. */
static void ask_about_object(struct program *program)
{
    static const struct {
        const char *op, *more;
        bool has_path;
    } requests[] = {
        {"shared_value", ",\"data\":\"a\"", true},
        {"shared_count", ",\"count\":4", true},
        {"persistent_node", ",\"data\":\"a\"", true},
        {"persistent_node", ",\"persistent\":true", true},
        {"group_member", ",\"member\":\"a\"", true},
        {"group_member", ",\"member\":\"b\"", true},
        {"get", "", false},
        {"set", ",\"data\":\"b\"", false},
        {"set", ",\"count\":5", false},
        {"close", "", false},
        {"barrier_set", "", true},
        {"barrier_remove", "", true},
        {"barrier_wait", ",\"timeout_ms\":500", true},
        {"enter", ",\"member_quantity\":2,\"timeout_ms\":2000", true},
        {"leave", ",\"timeout_ms\":500", false},
        {"atomic_get", "", true},
        {"atomic_add", ",\"delta\":1", true},
    };
    uint64_t which = any(sizeof(requests) / sizeof(requests[0]));
    char fields[200], subject[40];

    if (requests[which].has_path) {
        snprintf(subject, sizeof(subject), "\"path\":\"/object%u\"",
                 (unsigned)any(OBJECT_PATHS));
    } else {
        snprintf(subject, sizeof(subject), "\"object\":%" PRId64, program->object);
    }
    snprintf(fields, sizeof(fields), "\"op\":\"%s\",%s%s", requests[which].op, subject,
             requests[which].more);
    ask(program, fields);
}

/* What a program does next. */
static void act(struct program *program)
{
    struct belief *belief = &program->beliefs[any(HOLDS_MAX)];
    uint64_t choice = any(200);

    if (program->connection == NULL) {
        /* At last it notices that it is not connected, and stops its work. */
        if (any(20) == 0) {
            connect_program(program);
        }
    } else if (choice < 1) {
        close_program(program);
    } else if (choice < 2) {
        served_connection_cut(program->connection, NULL, NULL);
    } else if (program->id != 0) {
        return; /* it waits for an answer */
    } else if (choice < 60) {
        ask_about_object(program);
    } else if (belief->number == 0) {
        ask_for_lock(program);
    } else if (choice < 140) {
        ask_about(program, any(2) == 0 ? "valid" : "verify", belief->number);
    } else {
        int64_t number = belief->number;
        belief->number = 0; /* it stops its work before it releases */
        ask_about(program, "release", number);
    }
}

static void believe(struct program *program, const json_t *answer)
{
    int64_t number = json_integer_value(json_object_get(answer, "hold"));
    uint64_t until =
        (uint64_t)json_integer_value(json_object_get(answer, "valid_until_ms"));
    uint64_t valid_for =
        (uint64_t)json_integer_value(json_object_get(answer, "valid_for_ms"));
    struct belief *belief = belief_of(program, number);

    assert_true(valid_for == 0 || program->sent + valid_for <= until);
    if (belief == NULL) {
        belief = belief_of(program, 0);
        assert_non_null(belief);
        const json_t *slot = json_object_get(answer, "slot");
        assert_true(json_is_integer(slot));
        *belief = (struct belief){
            .number = number, .slot = json_integer_value(slot), .paths = program->paths};
        world.grants++;
    }
    belief->until = until > belief->until ? until : belief->until;
}

/* It reads the slot of a hold, also if it is not connected. */
static void read_slot(struct program *program, struct belief *belief)
{
    const struct served_slot *slot = &program->daemon->slots.memory->slots[belief->slot];
    uint64_t until = slot->valid_until;

    assert_true(slot->monotonic_until <= until);
    if (slot->hold != (uint64_t)belief->number || until == 0) {
        belief->number = 0; /* the hold is over */
        world.overs++;
    } else {
        belief->until = until > belief->until ? until : belief->until;
        world.readings++;
    }
}

static void read_line(struct program *program, const json_t *object)
{
    int64_t id = json_integer_value(json_object_get(object, "id"));
    int64_t number = json_integer_value(json_object_get(object, "hold"));
    struct belief *belief = number == 0 ? NULL : belief_of(program, number);

    if (json_object_get(object, "event") != NULL) {
        world.losses++;
        if (belief != NULL) {
            belief->number = 0;
        }
        return;
    }
    assert_true(id == program->id);
    if (json_object_get(object, "valid_until_ms") != NULL) {
        believe(program, object);
    }
    number = json_integer_value(json_object_get(object, "object"));
    if (number > 0) {
        program->object = number;
        world.objects++;
    }
    program->id = 0;
}

static void move_bytes(struct program *program)
{
    uint64_t now = uvzk_now();

    if (program->arrives != 0 && program->arrives <= now) {
        program->arrives = 0;
        program->connection->received = now * NS_PER_MS;
        served_operations_run(program->connection, program->request,
                              strlen(program->request));
    }
    while (program->line_count > 0 && program->lines[0].at <= now) {
        json_t *object = program->lines[0].object;
        program->line_count--;
        memmove(program->lines, program->lines + 1,
                program->line_count * sizeof(program->lines[0]));
        read_line(program, object);
        json_decref(object);
    }
}

/* ------------------------------------------------------------------------- the world */

static void assert_exclusive(void)
{
    for (unsigned path = 0; path < PATHS; path++) {
        unsigned believers = 0;
        for (size_t i = 0; i < PROGRAMS * HOLDS_MAX; i++) {
            const struct belief *belief =
                &world.programs[i / HOLDS_MAX].beliefs[i % HOLDS_MAX];
            believers += belief->number != 0 && (belief->paths & 1U << path) != 0 &&
                         belief->until > uvzk_now();
        }
        if (believers > 1) {
            uvzk_sim_print(stderr);
            fail_msg("%u programs believe in path %u", believers, path);
        }
    }
}

static void end_or_begin_daemon(size_t which)
{
    struct served_connection *connection, *next;

    world.ending[which] = !world.ending[which];
    if (world.ending[which]) {
        world.ends++;
        DL_FOREACH_SAFE(world.daemons[which].connections, connection, next)
        {
            served_holds_expire(connection);
            served_objects_expire(connection);
        }
    }
}

static void begin_world(uint64_t seed)
{
    uvzk_sim_options_t sim;
    uvzk_client_options_t options;

    memset(&world, 0, sizeof(world));
    world.random = seed;
    world.options.max_pending = 100;
    uvzk_sim_options_init(&sim);
    sim.seed = seed;
    sim.servers = 3;
    sim.tick_ms = TICK_MS;
    assert_int_equal(uvzk_sim_begin(&sim), 0);
    uvzk_client_options_init(&options);
    options.hosts = "simulated:1";
    options.session_timeout_ms = SESSION_MS;
    options.tick_ms = TICK_MS;
    for (size_t i = 0; i < DAEMONS; i++) {
        struct daemon *daemon = &world.daemons[i];
        daemon->options = &world.options;
        served_slots_init(&daemon->slots, calloc(1, sizeof(struct served_slots_memory)));
        daemon->locks.client = &daemon->zookeeper.client;
        assert_int_equal(uvzk_client_init(NULL, &daemon->zookeeper.client, &options), 0);
        assert_int_equal(uvzk_client_start(&daemon->zookeeper.client), 0);
    }
    assert_int_equal(uvzk_sim_trouble(TROUBLE_PPM), 0);
}

static void end_world(void)
{
    for (size_t i = 0; i < PROGRAMS; i++) {
        if (world.programs[i].connection != NULL) {
            close_program(&world.programs[i]);
        }
        drop_lines(&world.programs[i]);
    }
    uvzk_sim_trouble(0);
    uvzk_sim_run_for(60000);
    for (size_t i = 0; i < DAEMONS; i++) {
        release_expired(&world.daemons[i].expiring);
        assert_null(world.daemons[i].expiring.holds);
        uvzk_sim_run_for(10000);
        assert_int_equal(world.daemons[i].hold_count, 0);
        assert_null(world.daemons[i].atomics.open);
        assert_int_equal(world.daemons[i].atomics.left_behind, 0);
        assert_null(world.daemons[i].locks.multilocks);
        uvzk_client_close(&world.daemons[i].zookeeper.client, NULL);
    }
    assert_int_equal(world.connections, 0);
    uvzk_sim_run_for(10000);
    for (size_t i = 0; i < DAEMONS; i++) {
        assert_false(served_slots_are_used(&world.daemons[i].slots));
        free(world.daemons[i].slots.memory);
        served_statuses_free(&world.daemons[i]);
        served_multilocks_free(&world.daemons[i].locks);
        served_locks_free(&world.daemons[i].locks);
    }
    assert_int_equal(uvzk_sim_end(), 0);
}

/* At any moment the daemon tells, and the program reads. */
static void tell_and_read(struct program *program)
{
    struct belief *belief = &program->beliefs[any(HOLDS_MAX)];

    if (program->connection != NULL && any(5) == 0) {
        served_holds_tell(program->connection);
    }
    if (belief->number != 0 && any(5) == 0) {
        read_slot(program, belief);
    }
}

static void run_history(uint64_t seed)
{
    begin_world(seed);
    for (uint64_t end = uvzk_now() + HISTORY_MS; uvzk_now() < end;) {
        uvzk_sim_run_for(1 + any(STEP_MAX_MS));
        for (size_t i = 0; i < DAEMONS; i++) {
            release_expired(&world.daemons[i].expiring);
        }
        for (size_t i = 0; i < PROGRAMS; i++) {
            move_bytes(&world.programs[i]);
            tell_and_read(&world.programs[i]);
            if (any(20) == 0) {
                act(&world.programs[i]);
            }
        }
        if (any(1000) == 0) {
            end_or_begin_daemon(any(DAEMONS));
        }
        assert_exclusive();
    }
}

static void never_two_believers(void **state)
{
    const char *text = getenv("UVZK_SEED"), *count = getenv("UVZK_HISTORIES");
    uint64_t seed = text == NULL ? 1 : strtoull(text, NULL, 10);
    uint64_t histories = count == NULL ? HISTORIES : strtoull(count, NULL, 10);
    uint64_t grants = 0, losses = 0, cuts = 0, ends = 0, objects = 0, readings = 0,
             overs = 0;
    (void)state;
    for (uint64_t i = 0; i < histories; i++) {
        printf("UVZK_SEED=%" PRIu64 " UVZK_HISTORIES=1\r", seed + i);
        fflush(stdout);
        run_history(seed + i);
        grants += world.grants;
        losses += world.losses;
        cuts += world.cuts;
        ends += world.ends;
        objects += world.objects;
        readings += world.readings;
        overs += world.overs;
        end_world();
    }
    printf("%" PRIu64 " histories: %" PRIu64 " grants, %" PRIu64 " losses, %" PRIu64
           " connections cut off, %" PRIu64 " daemons ended, %" PRIu64
           " objects, %" PRIu64 " readings, %" PRIu64 " of holds that were over\n",
           histories, grants, losses, cuts, ends, objects, readings, overs);
    assert_true(histories < HISTORIES ||
                (grants > histories && losses > histories && cuts > 0 && ends > 0 &&
                 objects > histories && readings > histories && overs > 0));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(never_two_believers),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
