/* SPDX-License-Identifier: Apache-2.0 */
#include "other_side.h"

#include <stdio.h>
#include <string.h>

#include "base/node_name.h"
#include "participants_call.h"

#define SESSION_MS "10000"
#define COMMANDS_MAX 2
#define WORDS_MAX 16

static char *commands[COMMANDS_MAX][WORDS_MAX];

bool other_side_commands(int argc, char **argv, int count)
{
    int command = 0, words = 0;
    for (int i = 1; i < argc && command < COMMANDS_MAX; i++) {
        if (strcmp(argv[i], "--") == 0) {
            command++;
            words = 0;
        } else if (words < WORDS_MAX - 3) { /* the session, the hosts and a NULL */
            commands[command][words++] = argv[i];
        }
    }
    if (command != count - 1 || words == 0) {
        fprintf(stderr, "usage: %s %s\n", argv[0],
                count == 1 ? "PEER..." : "CURATOR_PEER... -- KAZOO_PEER...");
        return false;
    }
    return true;
}

/* The parents of the tests' directories are ordinary znodes, because the server deletes a
 * container without children. If it does so after Curator has seen the container and
 * before Curator creates a znode below it, that create fails (ZKPaths.mkdirs). Curator
 * 5.4 tells nobody of this failure of a create in the background (CreateBuilderImpl's
 * backgroundCreateParentsThenNode; CURATOR-665 and CURATOR-677 mend it). Then a
 * PersistentNode, a GroupMember or a LeaderLatch never creates its znode. */
static void make_parents(struct world *world)
{
    world_make_path(world, "/interop/barrier");
    world_make_path(world, "/elections");
}

void other_side_start(struct world *world, struct peer *peer, int command)
{
    char hosts[32], session[] = SESSION_MS;
    char *arguments[WORDS_MAX];
    int words = 0;
    make_parents(world);
    while (commands[command][words] != NULL) {
        arguments[words] = commands[command][words];
        words++;
    }
    snprintf(hosts, sizeof(hosts), "%s", server_hosts(live_server));
    arguments[words++] = hosts;
    arguments[words++] = session;
    arguments[words] = NULL;
    assert_int_equal(peer_start(world->loop, peer, arguments), 0);
    assert_non_null(peer_expect(peer, "ready"));
}

void other_side_end(struct peer *peer)
{
    const char *complaint = peer_heard(peer, "error");
    if (complaint != NULL) {
        fail_msg("%s", complaint);
    }
    assert_true(peer_wait(peer));
    assert_int_equal(peer->exit_status, 0);
    peer_close(peer);
}

void both_sides_begin(struct world *world, const char *path, struct process *ours,
                      struct peer *theirs)
{
    world_begin_one(world, path, ours);
    other_side_start(world, theirs, 0);
}

void both_sides_end(struct world *world, struct peer *theirs)
{
    assert_true(world_await_children(world, world->path, 0));
    other_side_end(theirs);
    world_end(world);
}

/* "wchp": every watched path, then its watchers, one a line after a tab. */
static bool is_watched(const struct process *ours, const char *node_path, bool by_us)
{
    static char answer[65536];
    char session[32], path[256];
    snprintf(session, sizeof(session), "\t0x%llx\n",
             (unsigned long long)uvzk_client_session_id(&ours->client));
    snprintf(path, sizeof(path), "%s\n", node_path);
    if (server_command(live_server, "wchp", answer, sizeof(answer)) < 0) {
        return false;
    }
    const char *watcher = strstr(answer, path);
    watcher = watcher == NULL ? "" : watcher + strlen(path);
    for (; *watcher == '\t'; watcher = strchr(watcher, '\n') + 1) {
        if ((strncmp(watcher, session, strlen(session)) == 0) == by_us) {
            return true;
        }
    }
    return false;
}

static bool wait_watched(struct process *ours, const char *node_path, bool by_us)
{
    uint64_t since = world_now(ours->world);
    while (!is_watched(ours, node_path, by_us)) {
        if (!world_turn(ours->world, since)) {
            return false;
        }
    }
    return true;
}

bool other_side_wait_watches(struct process *ours, const char *node_path)
{
    return wait_watched(ours, node_path, false);
}

bool our_side_wait_watches(struct process *ours, const char *node_path)
{
    return wait_watched(ours, node_path, true);
}

void assert_same_participants(struct world *world, uvzk_lock_t *lock, struct peer *peer,
                              const char *name, size_t count)
{
    static struct participants_call listing;
    char expected[2048];
    participants_call_run(&listing, world, lock);
    assert_int_equal(listing.count, count);
    size_t length =
        (size_t)snprintf(expected, sizeof(expected), "participants %zu", count);
    for (size_t i = 0; i < count && length < sizeof(expected); i++) {
        length += (size_t)snprintf(expected + length, sizeof(expected) - length, " %s",
                                   listing.paths[i]);
    }
    const char *theirs = peer_ask(peer, "participants ", "participants %s", name);
    assert_non_null(theirs);
    assert_string_equal(theirs, expected);
}

void assert_name_survives(const char *path, const char *token)
{
    const char *name = strrchr(path, '/') + 1;
    struct uvzk__node_name parsed;
    char rebuilt[UVZK__PROTECTED_NAME_SIZE + 16];
    uvzk__node_name_parse(&parsed, name, token);
    assert_true(parsed.is_contender);
    assert_true(parsed.has_uuid);
    size_t length = uvzk__protected_name(rebuilt, parsed.uuid, token);
    snprintf(rebuilt + length, sizeof(rebuilt) - length, "%010d", (int)parsed.sequence);
    assert_string_equal(rebuilt, name);
    /* Version 4, variant 1. */
    assert_int_equal(parsed.uuid[6] >> 4, 4);
    assert_int_equal(parsed.uuid[8] >> 6, 2);
}
