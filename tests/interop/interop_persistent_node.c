/* SPDX-License-Identifier: Apache-2.0 */
/* The library and Apache Curator's PersistentNode at the same path: each finds the other's
 * znode, and makes its own when that is gone. */
#include <string.h>

#include "other_side.h"

#define PATH "/interop/persistent/node"

static struct world world;
static struct process us;
static struct peer curator;
static uvzk_persistent_node_t ours;
static int told, status_told, closed, close_status;

static void begin(void)
{
    both_sides_begin(&world, NULL, &us, &curator);
    told = closed = 0;
}

static void end(void)
{
    both_sides_end(&world, &curator);
}

static void on_change(uvzk_persistent_node_t *node, int status)
{
    (void)node;
    told++;
    status_told = status;
}

static void on_closed(uvzk_persistent_node_t *node, int status)
{
    (void)node;
    closed++;
    close_status = status;
}

static void we_open(uint32_t mode, const char *data)
{
    assert_int_equal(uvzk_persistent_node_init(&us.client, &ours, PATH, mode, data,
                                               strlen(data), on_change),
                     0);
}

static void we_are_told(int status)
{
    uint64_t since = world_now(&world);

    while (told == 0 || status_told != status) {
        assert_true(world_turn(&world, since));
    }
}

static void we_close(void)
{
    assert_int_equal(uvzk_persistent_node_close(&ours, on_closed), 0);
    assert_true(world_await(&world, &closed, PATIENCE_MS));
    assert_int_equal(close_status, 0);
}

/* ----------------------------------------------------------------------- tests */

/* An ephemeral znode of Curator's is waited for. */
static void test_we_wait_for_curators_znode(void **state)
{
    (void)state;
    begin();
    assert_non_null(
        peer_ask(&curator, "made P", "persistent P %s EPHEMERAL theirs", PATH));
    we_open(UVZK_PERSISTENT_NODE_EPHEMERAL, "ours");
    we_are_told(UVZK_ENODEEXISTS);
    world_assert_data(&world, PATH, "theirs", 6);
    assert_non_null(peer_ask(&curator, "closed P", "close P"));
    we_are_told(0);
    world_assert_data(&world, PATH, "ours", 4);
    we_close();
    assert_int_equal(raw_exists(world.raw, PATH, NULL), ZNONODE);
    end();
}

/* Curator takes our ephemeral znode over, and sets its own data, which are set back; and it
 * makes its own when we have deleted ours. */
static void test_curator_makes_its_own_when_ours_is_gone(void **state)
{
    (void)state;
    begin();
    we_open(UVZK_PERSISTENT_NODE_EPHEMERAL, "ours");
    we_are_told(0);
    assert_non_null(
        peer_ask(&curator, "made P", "persistent P %s EPHEMERAL theirs", PATH));
    we_close();
    assert_non_null(peer_ask(&curator, "exists P", "await P %s", PATH));
    world_assert_data(&world, PATH, "theirs", 6);
    assert_non_null(peer_ask(&curator, "closed P", "close P"));
    assert_int_equal(raw_exists(world.raw, PATH, NULL), ZNONODE);
    end();
}

/* Both keep the same persistent znode, and make it again when it is deleted. */
static void test_both_keep_a_persistent_znode(void **state)
{
    (void)state;
    begin();
    assert_non_null(
        peer_ask(&curator, "made P", "persistent P %s PERSISTENT same", PATH));
    we_open(UVZK_PERSISTENT_NODE_PERSISTENT, "same");
    we_are_told(0);
    assert_int_equal(raw_delete(world.raw, PATH), ZOK);
    assert_non_null(peer_ask(&curator, "exists P", "await P %s", PATH));
    world_assert_data(&world, PATH, "same", 4);
    we_close();
    assert_non_null(peer_ask(&curator, "exists P", "await P %s", PATH));
    assert_non_null(peer_ask(&curator, "closed P", "close P"));
    assert_int_equal(raw_exists(world.raw, PATH, NULL), ZNONODE);
    end();
}

int main(int argc, char **argv)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_we_wait_for_curators_znode),
        cmocka_unit_test(test_curator_makes_its_own_when_ours_is_gone),
        cmocka_unit_test(test_both_keep_a_persistent_znode),
    };

    if (!other_side_commands(argc, argv, 1)) {
        return 2;
    }
    return cmocka_run_group_tests(tests, servers_start_one, servers_stop);
}
