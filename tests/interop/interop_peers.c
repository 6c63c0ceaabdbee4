/* SPDX-License-Identifier: Apache-2.0 */
/* The other side alone: what its commands do, and what Curator puts on the wire. The
 * library is not there; the raw view is. */
#include <arpa/inet.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/node_name.h"
#include "mix.h"

enum { CURATOR, KAZOO };

static struct world world;
static struct peer curator, kazoo;

static void begin(void)
{
    world_begin(&world, NULL);
    other_side_start(&world, &curator, CURATOR);
}

static void end(void)
{
    other_side_end(&curator);
    world_end(&world);
}

/* What follows the first words of an answer. */
static const char *after(const char *answer, int words)
{
    assert_non_null(answer);
    for (; words > 0; words--) {
        answer = strchr(answer, ' ');
        assert_non_null(answer);
        answer++;
    }
    return answer;
}

/* The only child whose name has the token; its full path. */
static void find_node(const char *directory, const char *token, char *path, size_t size)
{
    struct raw_names names;
    int found = 0;
    assert_int_equal(raw_children(world.raw, directory, &names), ZOK);
    for (size_t i = 0; i < names.count; i++) {
        struct uvzk__node_name name;
        uvzk__node_name_parse(&name, names.names[i], token);
        if (name.is_contender) {
            assert_true(name.has_uuid);
            snprintf(path, size, "%s/%s", directory, names.names[i]);
            found++;
        }
    }
    raw_names_free(&names);
    assert_int_equal(found, 1);
}

/* ------------------------------------------------------------------ semaphores */

/* "leases ID 2 NODE=DATA NODE=DATA": znodes of P/leases with Curator's default
 * data, an address. */
static void assert_leases(const char *answer, const char *directory)
{
    struct uvzk__node_name name;
    struct in_addr address;
    char node[128], path[256], data[64], text[64];
    assert_int_equal(sscanf(answer, "%127[^=]=%63s", node, data), 2);
    uvzk__node_name_parse(&name, node, "lease-");
    assert_true(name.is_contender && name.has_uuid);
    snprintf(path, sizeof(path), "%s/%s", directory, node);
    assert_int_equal(raw_get(world.raw, path, text, sizeof(text)), ZOK);
    assert_string_equal(text, data);
    assert_int_equal(inet_pton(AF_INET, data, &address), 1);
}

static void test_semaphore_gives_leases(void **state)
{
    (void)state;
    begin();
    peer_ask(&curator, "made S", "semaphore S /s 3");
    assert_non_null(peer_ask(&curator, "granted a", "acquire a S 2"));
    assert_leases(after(peer_ask(&curator, "leases a 2 ", "leases a S"), 3), "/s/leases");
    assert_int_equal(world_children(&world, "/s/locks"), 0);
    assert_non_null(peer_ask(&curator, "participants 2 ", "participants S"));
    assert_non_null(peer_ask(&curator, "timeout b", "try b S 200 2"));
    peer_say(&curator, "acquire b S 2");
    assert_true(world_await_children(&world, "/s/locks", 1));
    assert_non_null(peer_ask(&curator, "released a", "release a S"));
    assert_non_null(peer_expect(&curator, "granted b"));
    assert_non_null(peer_ask(&curator, "leases a 1 ", "leases a S"));
    assert_non_null(peer_ask(&curator, "leases b 2 ", "leases b S"));
    assert_non_null(peer_ask(&curator, "released b", "release b S 2"));
    assert_non_null(peer_ask(&curator, "released a", "release a S"));
    assert_true(world_await_children(&world, "/s/leases", 0));
    assert_non_null(peer_ask(&curator, "error a", "release a S")); /* it has none */
    end();
}

static void test_counted_semaphore_grows(void **state)
{
    (void)state;
    begin();
    assert_non_null(peer_ask(&curator, "value N 1 ", "count N /n 1"));
    peer_ask(&curator, "made S", "counted S /grows N");
    assert_non_null(peer_ask(&curator, "granted a", "acquire a S"));
    peer_say(&curator, "acquire b S");
    assert_true(world_await_children(&world, "/grows/leases", 2));
    assert_non_null(peer_ask(&curator, "set N", "set N 2"));
    assert_non_null(peer_expect(&curator, "granted b"));
    assert_non_null(peer_ask(&curator, "set N", "set N 1"));
    assert_non_null(peer_ask(&curator, "timeout c", "try c S 200"));
    assert_int_equal(world_children(&world, "/grows/leases"), 2);
    assert_non_null(peer_ask(&curator, "released a", "release a S"));
    assert_non_null(peer_ask(&curator, "released b", "release b S"));
    end();
}

static void test_anyone_releases_a_semaphore_mutex(void **state)
{
    (void)state;
    begin();
    peer_ask(&curator, "made S", "semaphore_mutex S /sm");
    assert_non_null(peer_ask(&curator, "granted a", "acquire a S"));
    assert_non_null(peer_ask(&curator, "timeout a", "try a S 200")); /* nor reentrant */
    assert_int_equal(world_children(&world, "/sm/leases"), 1);
    assert_non_null(peer_ask(&curator, "released b", "release b S"));
    assert_true(world_await_children(&world, "/sm/leases", 0));
    end();
}

/* ----------------------------------------------------------- read-write, multi */

static void test_readers_share_and_writers_do_not(void **state)
{
    char node[256];
    (void)state;
    begin();
    peer_ask(&curator, "made L", "rw L /rw");
    assert_non_null(peer_ask(&curator, "granted a", "acquire a L.read"));
    assert_non_null(peer_ask(&curator, "granted b", "acquire b L.read"));
    assert_non_null(peer_ask(&curator, "timeout c", "try c L.write 200"));
    assert_non_null(peer_ask(&curator, "participants 2 ", "participants L.read"));
    assert_non_null(peer_ask(&curator, "released a", "release a L.read"));
    find_node("/rw", "__READ__", node, sizeof(node));
    assert_non_null(peer_ask(&curator, "released b", "release b L.read"));
    assert_non_null(peer_ask(&curator, "granted c", "acquire c L.write"));
    find_node("/rw", "__WRIT__", node, sizeof(node));
    assert_non_null(peer_ask(&curator, "timeout a", "try a L.read 200"));
    /* The writer's own thread reads as well. */
    assert_non_null(peer_ask(&curator, "granted c", "acquire c L.read"));
    assert_true(world_await_children(&world, "/rw", 2));
    assert_non_null(peer_ask(&curator, "released c", "release c L.write"));
    assert_non_null(peer_ask(&curator, "released c", "release c L.read"));
    assert_true(world_await_children(&world, "/rw", 0));
    end();
}

static void test_multi_lock_takes_all(void **state)
{
    (void)state;
    begin();
    peer_ask(&curator, "made A", "mutex A /many/a");
    peer_ask(&curator, "made B", "mutex B /many/b");
    peer_ask(&curator, "made M", "multi M A B");
    assert_non_null(peer_ask(&curator, "granted a", "acquire a M"));
    assert_non_null(peer_ask(&curator, "timeout b", "try b A 200"));
    assert_non_null(peer_ask(&curator, "timeout b", "try b B 200"));
    assert_non_null(peer_ask(&curator, "released a", "release a M"));
    assert_non_null(peer_ask(&curator, "granted b", "acquire b B"));
    assert_non_null(peer_ask(&curator, "timeout a", "try a M 200"));
    assert_int_equal(world_children(&world, "/many/a"), 0);
    assert_non_null(peer_ask(&curator, "released b", "release b B"));
    end();
}

/* ----------------------------------------------------------------- bytes */

static void test_revocation_is_ten_bytes(void **state)
{
    char node[256];
    (void)state;
    begin();
    peer_ask(&curator, "made L", "mutex L /revoked");
    peer_ask(&curator, "made L", "revocable L");
    assert_non_null(peer_ask(&curator, "granted a", "acquire a L"));
    find_node("/revoked", "lock-", node, sizeof(node));
    world_assert_data(&world, node, "", 0);
    world_set_data(&world, node, "other", 5);
    world_set_data(&world, node, "__REVOKE__", 10);
    assert_non_null(peer_expect(&curator, "revoked L"));
    world_set_data(&world, node, "", 0);
    assert_non_null(peer_ask(&curator, "asked ", "revoke %s", node));
    world_assert_data(&world, node, "__REVOKE__", 10);
    assert_non_null(peer_expect(&curator, "revoked L"));
    assert_non_null(peer_ask(&curator, "released a", "release a L"));
    assert_null(peer_heard(&curator, "revoked L")); /* for "other" there was none */
    /* Nobody is there: nothing is said of it. */
    assert_non_null(peer_ask(&curator, "asked ", "revoke %s", node));
    end();
}

static void test_shared_count_is_four_bytes(void **state)
{
    struct Stat stat;
    (void)state;
    begin();
    assert_non_null(peer_ask(&curator, "value N 5 0", "count N /five 5"));
    world_assert_data(&world, "/five", "\0\0\0\5", 4);
    assert_int_equal(raw_exists(world.raw, "/five", &stat), ZOK);
    assert_int_equal(stat.ephemeralOwner, 0);
    assert_non_null(peer_ask(&curator, "set N", "set N -2"));
    world_assert_data(&world, "/five", "\377\377\377\376", 4);
    assert_non_null(peer_expect(&curator, "changed N -2"));
    world_set_data(&world, "/five", "\0\1\2\3", 4);
    assert_non_null(peer_expect(&curator, "changed N 66051"));
    /* Over the value of the beginning, then over the one that stands. */
    assert_non_null(peer_ask(&curator, "try_set N false", "try_set N 9"));
    assert_non_null(peer_ask(&curator, "value N 66051 2", "get N"));
    assert_non_null(peer_ask(&curator, "try_set N true", "try_set N 9"));
    world_assert_data(&world, "/five", "\0\0\0\11", 4);
    end();
}

/* ---------------------------------------------------------------------- crowds */

static void send_permits(struct mix *mix, const unsigned permits[6], const char *locks[6])
{
    char who[8];
    for (int i = 0; i < 6; i++) {
        snprintf(who, sizeof(who), "j%d", i);
        mix_send_theirs(mix, &curator, who, locks[i], permits[i]);
    }
}

/* Curator takes leases one by one: two threads that want two each could wait for each
 * other for ever. */
static void test_crowd_at_a_semaphore(void **state)
{
    static struct mix mix;
    const unsigned permits[] = {1, 2, 1, 1, 1, 1};
    const char *locks[] = {"S", "S", "S", "S", "S", "S"};
    (void)state;
    begin();
    peer_ask(&curator, "made S", "semaphore S /crowd/s 3");
    mix_begin(&mix, &world, "/crowd/s/locks", "lock-", 20, 8);
    send_permits(&mix, permits, locks);
    mix_run(&mix, 3);
    assert_true(mix.result.peak >= 2);
    mix_end(&mix);
    end();
}

static void test_crowd_of_readers_and_writers(void **state)
{
    static struct mix mix;
    const unsigned permits[] = {1, 1, MIX_MAX, 1, 1, MIX_MAX};
    const char *locks[] = {"L.read", "L.read", "L.write", "L.read", "L.read", "L.write"};
    (void)state;
    begin();
    peer_ask(&curator, "made L", "rw L /crowd/rw");
    mix_begin(&mix, &world, "/crowd/rw", "__WRIT__", 20, 8);
    send_permits(&mix, permits, locks);
    mix_run(&mix, MIX_MAX);
    assert_true(mix.result.peak >= 2);
    mix_end(&mix);
    end();
}

/* Curator waits for kazoo only if kazoo's znodes are named for it. */
static void test_kazoo_and_curator(void **state)
{
    static struct mix mix;
    char entries[64];
    (void)state;
    begin();
    other_side_start(&world, &kazoo, KAZOO);
    peer_ask(&curator, "made L", "mutex L /kazoo");
    peer_ask(&kazoo, "made L", "named_mutex L /kazoo");
    peer_ask(&kazoo, "made K", "mutex K /kazoo");
    mix_begin(&mix, &world, "/kazoo", "lock-", 1, 1);
    mix_send_theirs(&mix, &curator, "j0", "L", 1);
    mix_send_theirs(&mix, &kazoo, "k0", "L", 1);
    mix_send_theirs(&mix, &curator, "j1", "L", 1);
    mix_send_theirs(&mix, &kazoo, "k1", "K", 1);
    mix_run(&mix, 1);
    mix_entries(&mix, entries, sizeof(entries));
    assert_string_equal(entries, "j0 k0 j1 k1");
    mix_end(&mix);
    assert_non_null(peer_ask(&kazoo, "granted k", "acquire k L"));
    assert_non_null(peer_ask(&kazoo, "participants 1 k", "participants L"));
    assert_non_null(peer_ask(&curator, "timeout j", "try j L 200"));
    assert_non_null(peer_ask(&kazoo, "timeout t", "try t K 200"));
    assert_non_null(peer_ask(&kazoo, "released k", "release k L"));
    other_side_end(&kazoo);
    end();
}

int main(int argc, char **argv)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_semaphore_gives_leases),
        cmocka_unit_test(test_counted_semaphore_grows),
        cmocka_unit_test(test_anyone_releases_a_semaphore_mutex),
        cmocka_unit_test(test_readers_share_and_writers_do_not),
        cmocka_unit_test(test_multi_lock_takes_all),
        cmocka_unit_test(test_revocation_is_ten_bytes),
        cmocka_unit_test(test_shared_count_is_four_bytes),
        cmocka_unit_test(test_crowd_at_a_semaphore),
        cmocka_unit_test(test_crowd_of_readers_and_writers),
        cmocka_unit_test(test_kazoo_and_curator),
    };
    if (!other_side_commands(argc, argv, 2)) {
        return 2;
    }
    return cmocka_run_group_tests(tests, servers_start_one, servers_stop);
}
