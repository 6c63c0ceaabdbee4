/* SPDX-License-Identifier: Apache-2.0 */
/* Is the simulated world true? The same script of requests goes to a real server and to
 * simulated ones, request by request. What both say must be the same: every reply, every
 * event, in the same order, but for times and ids (wire_peer.h). The script is random: the
 * same seed, the same script (UVZK_SEED; UVZK_STEPS: its length). */
#include "cmocka_test.h"

#include <netinet/in.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "peer.h"
#include "seeded.h"
#include "servers.h"
#include "wire_peer.h"

#define PEERS 3
#define PATH_ROOM 64
#define STEPS 3000
#define ROOT_ROOM 32
/* Empty containers are not deleted: servers do that when they like. */
#define NEVER_MS 2000000000

static struct wire_side real = {.name = "the real server"};
static struct wire_side simulated = {.name = "the simulated server"};
static struct wire_peer peers[2][PEERS]; /* at the real one, at the simulated one */
static struct seeded random_numbers;
/* Of all paths: a new one after each STEPS steps, or the directories would grow. */
static char root[ROOT_ROOM];
static uv_loop_t loop;
static struct peer sim_server;
static struct uvzk__jute_writer acls, ops, lists[UVZK__WATCH_LISTS];
static struct uvzk__jute_list open_acl;

/* ------------------------------------------------------------------------ both at a time */

static void assert_same_text(const char *what)
{
    if (getenv("UVZK_VERBOSE") != NULL) {
        fprintf(stderr, "%s\n%s", what, real.text);
    }
    if (strcmp(real.text, simulated.text) != 0) {
        fail_msg("%s\n--- %s says\n%s--- %s says\n%s", what, real.name, real.text,
                 simulated.name, simulated.text);
    }
    wire_side_clear(&real);
    wire_side_clear(&simulated);
}

/* Every peer hears what the request has caused. */
static void hear_all(void)
{
    for (size_t side = 0; side < 2; side++) {
        for (size_t i = 0; i < PEERS; i++) {
            if (peers[side][i].fd >= 0) {
                wire_peer_hear(&peers[side][i]);
            }
        }
    }
}

static void call(size_t peer, const struct uvzk__wire_request *request)
{
    char what[256];

    snprintf(what, sizeof(what), "peer %zu: request %d %.*s mode %d version %d%s", peer,
             request->opcode, (int)request->path.length,
             request->path.at == NULL ? "" : (const char *)request->path.at,
             request->mode, request->version, request->watch ? " watched" : "");
    for (size_t side = 0; side < 2; side++) {
        (void)wire_peer_call(&peers[side][peer], *request);
    }
    hear_all();
    assert_same_text(what);
}

static void connect_both(size_t peer, bool resumes)
{
    for (size_t side = 0; side < 2; side++) {
        (void)wire_peer_connect(&peers[side][peer], resumes);
    }
    hear_all();
    assert_same_text(resumes ? "a session is continued" : "a session begins");
}

/* ----------------------------------------------------------------------------- the script */

static uint32_t below(uint32_t bound)
{
    return seeded_below(&random_numbers, bound);
}

/* Few paths, so that requests meet. */
static const char *any_path(char path[PATH_ROOM])
{
    static const char *const names[] = {"a", "b", "c-", "d0000000001", "e"};
    uint32_t depth = 1 + below(3);
    size_t at = (size_t)snprintf(path, PATH_ROOM, "%s", root);

    for (uint32_t i = 0; i < depth && below(8) != 0; i++) {
        at += (size_t)snprintf(path + at, PATH_ROOM - at, "/%s", names[below(5)]);
    }
    return path;
}

/* The directory of the persistent watches, which are recursive. The other requests do not
 * name it: on servers before 3.9.0 a one-shot watch on the same path ends a persistent one
 * (ZOOKEEPER-4466). */
static const char *persistent_directory(char path[PATH_ROOM])
{
    snprintf(path, PATH_ROOM, "%s/watched", root);
    return path;
}

/* It, or a child. The simulated persistent watches hear of nothing below. */
static const char *any_path_there(char path[PATH_ROOM])
{
    static const char *const names[] = {"", "/a", "/b", "/c-", "/d"};
    size_t at = strlen(persistent_directory(path));

    snprintf(path + at, PATH_ROOM - at, "%s", names[below(5)]);
    return path;
}

static int32_t any_version(void)
{
    return below(3) != 0 ? -1 : (int32_t)below(4);
}

static struct uvzk__jute_bytes any_data(void)
{
    static const char *const data[] = {NULL, "", "x", "some more data"};

    return uvzk__jute_text(data[below(4)]);
}

/* A request that writes, alone or in a multi. */
static struct uvzk__wire_request any_write(char path[PATH_ROOM], bool in_multi)
{
    static const int32_t opcodes[] = {
        UVZK__OPCODE_CREATE, UVZK__OPCODE_CREATE2,  UVZK__OPCODE_CREATE2,
        UVZK__OPCODE_DELETE, UVZK__OPCODE_SET_DATA, UVZK__OPCODE_CHECK,
    };
    bool there = below(3) == 0;
    struct uvzk__wire_request request = {
        .opcode = opcodes[below(in_multi ? 6 : 5)],
        .path = uvzk__jute_text(there ? any_path_there(path) : any_path(path))};

    request.version = any_version();
    if (request.opcode == UVZK__OPCODE_CREATE || request.opcode == UVZK__OPCODE_CREATE2) {
        request.version = 0;
        request.mode = (int32_t)below(4);
        request.acl = below(20) == 0 ? (struct uvzk__jute_list){0} : open_acl;
        request.data = any_data();
        if (!in_multi && below(8) == 0) {
            request.opcode = UVZK__OPCODE_CREATE_CONTAINER;
            request.mode = 4;
        }
    } else if (request.opcode == UVZK__OPCODE_SET_DATA) {
        request.data = any_data();
    }
    return request;
}

static void write_something(size_t peer)
{
    char path[PATH_ROOM];
    struct uvzk__wire_request request = any_write(path, false);

    call(peer, &request);
}

static void write_together(size_t peer)
{
    char paths[6][PATH_ROOM];
    uint32_t count = below(6);
    struct uvzk__wire_request multi = {.opcode = UVZK__OPCODE_MULTI};

    uvzk__jute_writer_clear(&ops);
    for (uint32_t i = 0; i < count; i++) {
        struct uvzk__wire_request op = any_write(paths[i], true);
        uvzk__wire_op_add(&ops, UVZK__OPCODE_MULTI, &op);
    }
    assert_int_equal(uvzk__jute_list_of(&ops, count, &multi.ops), 0);
    call(peer, &multi);
}

static void read_something(size_t peer)
{
    static const int32_t opcodes[] = {UVZK__OPCODE_EXISTS, UVZK__OPCODE_GET_DATA,
                                      UVZK__OPCODE_GET_CHILDREN,
                                      UVZK__OPCODE_GET_CHILDREN2};
    char path[PATH_ROOM];
    const struct uvzk__wire_request request = {.opcode = opcodes[below(4)],
                                               .path = uvzk__jute_text(any_path(path)),
                                               .watch = below(2) == 0};

    call(peer, &request);
}

/* Not compared: CHECK_WATCHES, to which ZooKeeper 3.8.0 answers 0 whether there is a watch
 * or not. */
static void stop_watching(size_t peer)
{
    char path[PATH_ROOM];
    const struct uvzk__wire_request request = {.opcode = UVZK__OPCODE_REMOVE_WATCHES,
                                               .path = uvzk__jute_text(any_path(path)),
                                               .mode = 1 + (int32_t)below(3)};

    call(peer, &request);
}

/* Removed as servers before 3.9.0 know it (ZOOKEEPER-4472). */
static void watch_persistently(size_t peer)
{
    bool ends = below(3) == 0;
    char path[PATH_ROOM];
    const struct uvzk__wire_request request = {
        .opcode = ends ? UVZK__OPCODE_REMOVE_WATCHES : UVZK__OPCODE_ADD_WATCH,
        .path = uvzk__jute_text(persistent_directory(path)),
        .mode = ends ? 3 : 1};

    call(peer, &request);
}

/* A one-shot watch on a child of the directory of the persistent ones. */
static void watch_child_there(size_t peer)
{
    char path[PATH_ROOM];
    size_t length = strlen(persistent_directory(path));
    const struct uvzk__wire_request request = {
        .opcode = below(2) == 0 ? UVZK__OPCODE_EXISTS : UVZK__OPCODE_GET_DATA,
        .path = uvzk__jute_text(any_path_there(path)),
        .watch = path[length] != '\0'};

    call(peer, &request);
}

static void sync_path(size_t peer)
{
    char path[PATH_ROOM];
    const struct uvzk__wire_request request = {.opcode = UVZK__OPCODE_SYNC,
                                               .path = uvzk__jute_text(any_path(path))};

    call(peer, &request);
}

/* The session ends, and the peer begins another one. A real server deletes the ephemerals
 * of a session in the order of a hash table, the simulated one in that of their creates;
 * it is one transaction either way. So the order of their events is not compared. */
static void close_session(size_t peer)
{
    const struct uvzk__wire_request request = {.opcode = UVZK__OPCODE_CLOSE_SESSION};

    for (size_t side = 0; side < 2; side++) {
        (void)wire_peer_call(&peers[side][peer], request);
        wire_peer_drop(&peers[side][peer]);
    }
    hear_all();
    wire_side_sort(&real);
    wire_side_sort(&simulated);
    assert_same_text("a session is closed");
    connect_both(peer, false);
}

/* Paths to watch, each once, as a client has them. Returns how many. */
static size_t fill_list(struct uvzk__jute_writer *list)
{
    char path[PATH_ROOM], before[PATH_ROOM] = "";
    size_t count = 0;

    uvzk__jute_writer_clear(list);
    for (uint32_t wanted = below(3); wanted > 0; wanted--) {
        if (strcmp(any_path(path), before) != 0) {
            uvzk__jute_put_bytes(list, uvzk__jute_text(path));
            strcpy(before, path);
            count++;
        }
    }
    return count;
}

/* The connection is lost, something happens meanwhile, and the session goes on. Both sides
 * are asked about what has changed since the zxid that each has shown. */
static void lose_connection(size_t peer)
{
    for (size_t side = 0; side < 2; side++) {
        wire_peer_drop(&peers[side][peer]);
    }
    write_something((peer + 1) % PEERS);
    write_something((peer + 2) % PEERS);
    connect_both(peer, true);
    for (size_t side = 0; side < 2; side++) {
        assert_true(peers[side][peer].fd >= 0);
    }
    char path[PATH_ROOM];
    bool knows_persistent = below(2) == 0;
    size_t counts[UVZK__WATCH_LISTS] = {0};
    for (size_t i = 0; i < UVZK__WATCHES_PERSISTENT; i++) {
        counts[i] = fill_list(&lists[i]);
    }
    if (knows_persistent) {
        uvzk__jute_writer_clear(&lists[UVZK__WATCHES_PERSISTENT_RECURSIVE]);
        uvzk__jute_put_bytes(&lists[UVZK__WATCHES_PERSISTENT_RECURSIVE],
                             uvzk__jute_text(persistent_directory(path)));
        counts[UVZK__WATCHES_PERSISTENT_RECURSIVE] = 1;
    }
    for (size_t side = 0; side < 2; side++) {
        struct uvzk__wire_request rearm = {.xid = UVZK__XID_SET_WATCHES,
                                           .opcode = knows_persistent
                                                         ? UVZK__OPCODE_SET_WATCHES2
                                                         : UVZK__OPCODE_SET_WATCHES,
                                           .zxid = peers[side][peer].last_zxid};
        for (size_t i = 0; i < UVZK__WATCH_LISTS; i++) {
            assert_int_equal(uvzk__jute_list_of(&lists[i], counts[i], &rearm.watches[i]),
                             0);
        }
        (void)wire_peer_call(&peers[side][peer], rearm);
    }
    hear_all();
    assert_same_text("watches are armed again");
}

static void step(void)
{
    size_t peer = below(PEERS);
    uint32_t kind = below(100);

    if (kind < 35) {
        write_something(peer);
    } else if (kind < 50) {
        write_together(peer);
    } else if (kind < 77) {
        read_something(peer);
    } else if (kind < 81) {
        watch_persistently(peer);
    } else if (kind < 85) {
        watch_child_there(peer);
    } else if (kind < 91) {
        stop_watching(peer);
    } else if (kind < 94) {
        sync_path(peer);
    } else if (kind < 97) {
        close_session(peer);
    } else {
        lose_connection(peer);
    }
}

/* ------------------------------------------------------------------------- begin and end */

static struct uvzk__wire_request make_root(unsigned long number)
{
    snprintf(root, sizeof(root), "/truth%lu", number);
    return (struct uvzk__wire_request){
        .opcode = UVZK__OPCODE_CREATE2, .path = uvzk__jute_text(root), .acl = open_acl};
}

static void begin_at_new_root(unsigned long number)
{
    const struct uvzk__wire_request request = make_root(number);

    call(0, &request);
}

static void note_first_zxid(size_t side, struct wire_side *about)
{
    about->first_zxid = 0;
    assert_true(wire_peer_call(&peers[side][0], make_root(0)));
    about->first_zxid = peers[side][0].last_zxid;
    wire_side_clear(about);
}

static uint16_t port_of(const char *address)
{
    return (uint16_t)strtoul(strrchr(address, ':') + 1, NULL, 10);
}

/* Sends a line and reads once. */
static void say(uint16_t port, const char *line, char *answer, size_t room)
{
    struct sockaddr_in name = {.sin_family = AF_INET,
                               .sin_port = htons(port),
                               .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
    int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);

    assert_int_equal(connect(fd, (struct sockaddr *)&name, sizeof(name)), 0);
    assert_int_equal(send(fd, line, strlen(line), MSG_NOSIGNAL), strlen(line));
    ssize_t length = recv(fd, answer, room - 1, 0);
    assert_true(length > 0);
    answer[length] = '\0';
    close(fd);
}

/* The simulated server is as the real one's version. */
static void choose_dialect(uint16_t control)
{
    char answer[256];

    say(real.port, "srvr", answer, sizeof(answer));
    if (strstr(answer, "version: 3.9.") != NULL) {
        say(control, "dialect zookeeper-3.9\n", answer, sizeof(answer));
        assert_string_equal(answer, "ok\n");
    }
}

static void begin(void)
{
    char tick[16], check[16], program[] = UVZK_SIM_SERVER;
    char tick_option[] = "--tick", check_option[] = "--container-check";
    char *arguments[] = {program, tick_option, tick, check_option, check, NULL};

    uv_loop_init(&loop);
    snprintf(tick, sizeof(tick), "%u", servers_tick_ms());
    snprintf(check, sizeof(check), "%d", NEVER_MS);
    assert_int_equal(peer_start(&loop, &sim_server, arguments), 0);
    const char *line = peer_expect(&sim_server, "servers ");
    assert_non_null(line);
    simulated.port = port_of(line);
    real.port = server_port(live_server);
    line = peer_expect(&sim_server, "control ");
    assert_non_null(line);
    choose_dialect(port_of(line));
    for (size_t i = 0; i < PEERS; i++) {
        peers[0][i] = (struct wire_peer){.side = &real, .number = (int)i, .fd = -1};
        peers[1][i] = (struct wire_peer){.side = &simulated, .number = (int)i, .fd = -1};
    }
    for (size_t i = 0; i < PEERS; i++) {
        connect_both(i, false);
    }
    note_first_zxid(0, &real);
    note_first_zxid(1, &simulated);
}

static void end(void)
{
    for (size_t side = 0; side < 2; side++) {
        for (size_t i = 0; i < PEERS; i++) {
            wire_peer_drop(&peers[side][i]);
        }
    }
    peer_signal(&sim_server, SIGTERM);
    assert_true(peer_wait(&sim_server));
    assert_int_equal(sim_server.exit_status, 0);
}

/* Also after a failure: the simulated server must not outlive the test. */
static int kill_sim_server(void **state)
{
    (void)state;
    peer_close(&sim_server);
    uv_run(&loop, UV_RUN_DEFAULT);
    return uv_loop_close(&loop);
}

static void make_acl(void)
{
    const struct uvzk__wire_acl anyone = {.permissions = 31,
                                          .scheme = uvzk__jute_text("world"),
                                          .id = uvzk__jute_text("anyone")};

    uvzk__jute_writer_init(&acls);
    uvzk__jute_writer_init(&ops);
    for (size_t i = 0; i < UVZK__WATCH_LISTS; i++) {
        uvzk__jute_writer_init(&lists[i]);
    }
    uvzk__wire_acl_add(&acls, &anyone);
    assert_int_equal(uvzk__jute_list_of(&acls, 1, &open_acl), 0);
}

static void free_lists(void)
{
    uvzk__jute_writer_end(&acls);
    uvzk__jute_writer_end(&ops);
    for (size_t i = 0; i < UVZK__WATCH_LISTS; i++) {
        uvzk__jute_writer_end(&lists[i]);
    }
}

static void test_a_random_script(void **state)
{
    const char *text = getenv("UVZK_STEPS");
    unsigned long steps = text == NULL ? STEPS : strtoul(text, NULL, 0);
    (void)state;

    random_numbers = seeded_begin();
    make_acl();
    begin();
    for (unsigned long i = 0; i < steps; i++) {
        if (i > 0 && i % STEPS == 0) {
            begin_at_new_root(i / STEPS);
        }
        step();
    }
    end();
    free_lists();
}

static int start_server(void **state)
{
    const struct server_options options = {.container_check_ms = NEVER_MS};
    (void)state;

    return servers_start_one_with(&options);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_teardown(test_a_random_script, kill_sim_server)};

    return cmocka_run_group_tests(tests, start_server, servers_stop);
}
