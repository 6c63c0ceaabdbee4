/* SPDX-License-Identifier: Apache-2.0 */
/* uvzk status --each-server, at three real servers one of which has lost its place in
 * history. argv: the command. */
#include <stdio.h>
#include <string.h>

#include "diverge.h"
#include "peer.h"
#include "scratch.h"
#include "world.h"

#define LOCK "/compared"
#define OTHER_LOCK "/not-concerned"
#define SESSION_MS 40000 /* outlives what is done to the server */

static const char *command;
static struct world world;
static struct process a;
static struct hold hold, other;
static uvzk_lock_t elsewhere;
static int odd;
static char hosts[64]; /* of the other two, as the command tells them */

/* -------------------------------------------------------------------- the command */

/* Whether it has said all of this, in its order, and ended so. */
static void compare_with(const char *option, const char *path, int exit_code,
                         const char *const *said, size_t count)
{
    const char *const words[] = {command, "status",  "--each-server",
                                 option,  "--hosts", ensemble_hosts(ensemble),
                                 path};
    char *arguments[sizeof(words) / sizeof(words[0]) + 1] = {NULL};
    struct peer peer;

    for (size_t i = 0; i < sizeof(words) / sizeof(words[0]); i++) {
        arguments[i] = (char *)(uintptr_t)words[i];
    }
    assert_int_equal(peer_start(world.loop, &peer, arguments), 0);
    for (size_t i = 0; i < count; i++) {
        assert_non_null(peer_expect(&peer, said[i]));
    }
    assert_true(peer_wait(&peer));
    assert_int_equal(peer.exit_status, exit_code);
    peer_close(&peer);
}

static void compare(const char *path, int exit_code, const char *const *said,
                    size_t count)
{
    compare_with("--tick=0.2", path, exit_code, said, count);
}

static void assert_the_same(const char *path)
{
    char said[200];
    snprintf(said, sizeof(said), "%s: the same through %s", path,
             ensemble_hosts(ensemble));
    const char *const lines[] = {said};
    compare(path, 0, lines, 1);
}

/* It shows the znode, or it lacks it. */
static void assert_odd(const char *znode, int64_t czxid, bool shows)
{
    char head[200], name[HOLD_PATH_MAX], made[128], shown[160], lacking[160];
    const char *alone = ensemble_hosts_of(ensemble, odd);
    snprintf(head, sizeof(head), LOCK ": %s differs from the others", alone);
    snprintf(name, sizeof(name), "%s", znode);
    snprintf(made, sizeof(made), "  czxid %lld, session 0x%llx", (long long)czxid,
             (unsigned long long)uvzk_client_session_id(&a.client));
    snprintf(shown, sizeof(shown), "  shown by %s", shows ? alone : hosts);
    snprintf(lacking, sizeof(lacking), "  not by   %s", shows ? hosts : alone);
    const char *const lines[] = {head, name, made, shown, lacking};
    compare(LOCK, 1, lines, 5);
}

/* "a:1,b:2" as "a:1","b:2". */
static void quote(const char *list, char *quoted)
{
    *quoted++ = '"';
    for (; *list != '\0'; list++) {
        if (*list == ',') {
            memcpy(quoted, "\",", 2);
            quoted += 2;
        }
        *quoted++ = *list == ',' ? '"' : *list;
    }
    memcpy(quoted, "\"", 2);
}

static void assert_odd_as_json(const char *znode, int64_t czxid)
{
    char line[1024], all[160], others[96];
    const char *alone = ensemble_hosts_of(ensemble, odd);
    quote(ensemble_hosts(ensemble), all);
    quote(hosts, others);
    snprintf(line, sizeof(line),
             "{\"path\":\"" LOCK "\",\"servers\":[%s],\"silent\":[],\"differs\":\"%s\","
             "\"differences\":[{\"node\":\"%s\",\"czxid\":%lld,\"session\":\"0x%llx\","
             "\"shown_by\":[\"%s\"],\"not_by\":[%s]}]}",
             all, alone, znode, (long long)czxid,
             (unsigned long long)uvzk_client_session_id(&a.client), alone, others);
    const char *const lines[] = {line};
    compare_with("--json", LOCK, 1, lines, 1);
}

/* ------------------------------------------------------------------------- scene */

/* A client at the two servers that keep their place, and holds a lock there that has
 * nothing to do with it. */
static void begin(void)
{
    world_begin(&world, LOCK);
    odd = ensemble_follower(ensemble);
    assert_true(odd >= 0);
    int one = odd == 0 ? 1 : 0;
    snprintf(hosts, sizeof(hosts), "%s,%s", ensemble_hosts_of(ensemble, one),
             ensemble_hosts_of(ensemble, ENSEMBLE_SIZE - one - odd));
    world_make_path(&world, LOCK);
    world.options.hosts = hosts;
    world.options.session_timeout_ms = SESSION_MS;
    process_begin(&a, &world, "a", NULL);
    assert_int_equal(uvzk_mutex_init(&a.client, &elsewhere, OTHER_LOCK), 0);
    hold_take_on(&other, &a, &elsewhere, 1);
    assert_the_same(LOCK);
}

/* What the client does meanwhile will be missing at that server. */
static void stop_following(void)
{
    assert_true(world_await_that(&world, ensemble_all_serve, ensemble));
    raw_close(raw_open(ensemble_hosts_of(ensemble, odd))); /* it has followed so far */
    ensemble_kill(ensemble, odd);
}

/* An operator empties its data directory: it comes to have what the others have. */
static void heal(void)
{
    ensemble_kill(ensemble, odd);
    scratch_remove_tree(ensemble_data_of(ensemble, odd));
    assert_true(ensemble_revive(ensemble, odd));
    assert_true(ensemble_wait_serving(ensemble));
    assert_the_same(LOCK);
}

static void end(void)
{
    hold_give_back(&other);
    process_end(&a);
    world_look_from(&world, ensemble_hosts(ensemble));
    world_end(&world);
}

/* ------------------------------------------------------------------------- tests */

static void test_server_that_shows_what_was_deleted(void **state)
{
    (void)state;
    begin();
    hold_take(&hold, &a);
    assert_the_same(LOCK);
    stop_following();
    hold_give_back(&hold);
    assert_true(diverge(ensemble, odd));
    assert_odd(hold.path, hold.token, true);
    assert_odd_as_json(hold.path, hold.token);
    assert_the_same(OTHER_LOCK);
    heal();
    end();
}

static void test_server_that_lacks_what_was_made(void **state)
{
    (void)state;
    begin();
    stop_following();
    hold_take(&hold, &a);
    assert_true(diverge(ensemble, odd));
    assert_odd(hold.path, hold.token, false);
    assert_the_same(OTHER_LOCK);
    hold_give_back(&hold);
    heal();
    end();
}

/* It is not known what it would show. */
static void test_silent_server_is_told(void **state)
{
    char said[200];
    (void)state;
    begin();
    stop_following();
    snprintf(said, sizeof(said), LOCK ": the same through %s", hosts);
    const char *const lines[] = {said};
    compare(LOCK, 69, lines, 1);
    assert_true(ensemble_revive(ensemble, odd));
    assert_true(ensemble_wait_serving(ensemble));
    end();
}

int main(int argc, char **argv)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_server_that_shows_what_was_deleted),
        cmocka_unit_test(test_server_that_lacks_what_was_made),
        cmocka_unit_test(test_silent_server_is_told),
    };
    if (argc != 2 || !diverge_is_possible()) {
        puts("skipped: no command, or no javac");
        return 77;
    }
    command = argv[1];
    return cmocka_run_group_tests(tests, servers_start_three, servers_stop);
}
