#include "other_side.h"

#include <stdio.h>
#include <string.h>

#include "base/node_name.h"

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

void other_side_start(struct live *live, struct peer *peer, int command)
{
    char hosts[32], session[] = SESSION_MS;
    char *arguments[WORDS_MAX];
    int words = 0;
    while (commands[command][words] != NULL) {
        arguments[words] = commands[command][words];
        words++;
    }
    snprintf(hosts, sizeof(hosts), "%s", server_hosts(live_server));
    arguments[words++] = hosts;
    arguments[words++] = session;
    arguments[words] = NULL;
    assert_int_equal(peer_start(live->loop, peer, arguments), 0);
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

struct watch_wait {
    struct live *live;
    const char *node_path;
    bool ours;
};

/* "wchp": every watched path, then its watchers, one a line after a tab. */
static bool is_watched(void *context)
{
    const struct watch_wait *wait = context;
    static char answer[65536];
    char ours[32], path[256];
    snprintf(ours, sizeof(ours), "\t0x%llx\n",
             (unsigned long long)uvzk_client_session_id(&wait->live->client));
    snprintf(path, sizeof(path), "%s\n", wait->node_path);
    if (server_command(live_server, "wchp", answer, sizeof(answer)) < 0) {
        return false;
    }
    const char *watcher = strstr(answer, path);
    watcher = watcher == NULL ? "" : watcher + strlen(path);
    for (; *watcher == '\t'; watcher = strchr(watcher, '\n') + 1) {
        if ((strncmp(watcher, ours, strlen(ours)) == 0) == wait->ours) {
            return true;
        }
    }
    return false;
}

bool other_side_wait_watches(struct live *live, const char *node_path)
{
    struct watch_wait wait = {live, node_path, false};
    return run_until(live->loop, is_watched, &wait, PATIENCE_MS);
}

bool our_side_wait_watches(struct live *live, const char *node_path)
{
    struct watch_wait wait = {live, node_path, true};
    return run_until(live->loop, is_watched, &wait, PATIENCE_MS);
}

struct listing {
    uvzk_participants_t request;
    bool told;
    char text[512]; /* in the form of CuratorPeer's answer */
};

static void on_listed(uvzk_participants_t *request, int status, const char *const *paths,
                      size_t count)
{
    struct listing *listing = request->data;
    size_t size = sizeof(listing->text);
    assert_int_equal(status, 0);
    size_t length = (size_t)snprintf(listing->text, size, "participants %zu", count);
    for (size_t i = 0; i < count && length < size; i++) {
        length +=
            (size_t)snprintf(listing->text + length, size - length, " %s", paths[i]);
    }
    listing->told = true;
}

void assert_same_participants(struct live *live, uvzk_lock_t *lock, struct peer *peer,
                              const char *name, size_t count)
{
    struct listing listing;
    char answer[64];
    memset(&listing, 0, sizeof(listing));
    listing.request.data = &listing;
    assert_int_equal(uvzk_lock_participants(lock, &listing.request, on_listed), 0);
    assert_true(run_until_set(live->loop, &listing.told));
    snprintf(answer, sizeof(answer), "participants %zu ", count);
    const char *theirs = peer_ask(peer, answer, "participants %s", name);
    assert_non_null(theirs);
    assert_string_equal(listing.text, theirs);
}

void assert_name_survives(const char *name, const char *token)
{
    struct uvzk__node_name parsed;
    char rebuilt[UVZK__NAME_PREFIX_SIZE + 16];
    uvzk__node_name_parse(&parsed, name, token);
    assert_true(parsed.is_contender);
    assert_true(parsed.has_uuid);
    size_t length = uvzk__node_name_prefix(rebuilt, parsed.uuid, token);
    snprintf(rebuilt + length, sizeof(rebuilt) - length, "%010d", (int)parsed.sequence);
    assert_string_equal(rebuilt, name);
    /* Version 4, variant 1. */
    assert_int_equal(parsed.uuid[6] >> 4, 4);
    assert_int_equal(parsed.uuid[8] >> 6, 2);
}
