/* SPDX-License-Identifier: Apache-2.0 */
/* The library and Apache Curator's GroupMember in one group: each lists the other, with its
 * data, for as long as it is a member. */
#include <string.h>

#include "other_side.h"

#define GROUP "/interop/group"

static struct world world;
static struct process us;
static struct peer curator;
static uvzk_group_member_t ours;
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

static void on_joined(uvzk_group_member_t *member, int status)
{
    (void)member;
    told++;
    status_told = status;
}

static void on_closed(uvzk_group_member_t *member, int status)
{
    (void)member;
    closed++;
    close_status = status;
}

static void we_join(const char *id, const char *data)
{
    assert_int_equal(uvzk_group_member_init(&us.client, &ours, GROUP, id, data,
                                            strlen(data), on_joined, NULL),
                     0);
}

static void we_are_told(int status)
{
    uint64_t since = world_now(&world);

    while (told == 0 || status_told != status) {
        assert_true(world_turn(&world, since));
    }
}

static bool we_list(const char *text)
{
    const uvzk_group_entry_t *members;
    size_t count, used = 0;
    char list[256] = "";

    assert_int_equal(uvzk_group_member_list(&ours, &members, &count), 0);
    for (size_t i = 0; i < count; i++) {
        used += (size_t)snprintf(list + used, sizeof(list) - used, " %s=%.*s",
                                 members[i].id, (int)members[i].length,
                                 members[i].data == NULL ? ""
                                                         : (const char *)members[i].data);
        assert_true(used < sizeof(list));
    }
    return strcmp(list, text) == 0;
}

static void we_come_to_list(const char *text)
{
    uint64_t since = world_now(&world);

    while (!we_list(text)) {
        assert_true(world_turn(&world, since));
    }
}

/* Curator's cache is told by watches too: it is asked until it lists the same. */
static void curator_comes_to_list(const char *text)
{
    assert_non_null(peer_ask(&curator, "lists G", "await_members G%s", text));
}

static void curator_joins(const char *id, const char *data)
{
    assert_non_null(peer_ask(&curator, "made G", "group G %s %s %s", GROUP, id, data));
}

static void curator_leaves(void)
{
    assert_non_null(peer_ask(&curator, "closed G", "close G"));
}

static void we_close(void)
{
    assert_int_equal(uvzk_group_member_close(&ours, on_closed), 0);
    assert_true(world_await(&world, &closed, PATIENCE_MS));
    assert_int_equal(close_status, 0);
}

/* ----------------------------------------------------------------------- tests */

static void test_each_lists_the_other(void **state)
{
    (void)state;
    begin();
    we_join("a", "ours");
    we_are_told(0);
    curator_joins("b", "theirs");
    we_come_to_list(" a=ours b=theirs");
    curator_comes_to_list(" a=ours b=theirs");
    assert_int_equal(uvzk_group_member_set_data(&ours, "newer", 5), 0);
    curator_comes_to_list(" a=newer b=theirs");
    assert_non_null(peer_ask(&curator, "set G", "set_data G changed"));
    we_come_to_list(" a=newer b=changed");
    we_close();
    curator_comes_to_list(" b=changed");
    curator_leaves();
    end();
}

static void test_curator_is_there_first(void **state)
{
    (void)state;
    begin();
    curator_joins("b", "theirs");
    we_join("a", "ours");
    we_come_to_list(" a=ours b=theirs");
    curator_comes_to_list(" a=ours b=theirs");
    curator_leaves();
    we_come_to_list(" a=ours");
    we_are_told(0);
    we_close();
    end();
}

/* Both make their znode again when it was deleted. */
static void test_both_join_again(void **state)
{
    (void)state;
    begin();
    we_join("a", "ours");
    curator_joins("b", "theirs");
    we_come_to_list(" a=ours b=theirs");
    curator_comes_to_list(" a=ours b=theirs");
    assert_int_equal(raw_delete(world.raw, GROUP "/a"), ZOK);
    assert_int_equal(raw_delete(world.raw, GROUP "/b"), ZOK);
    assert_non_null(peer_ask(&curator, "exists G", "await G %s/a", GROUP));
    assert_non_null(peer_ask(&curator, "exists G", "await G %s/b", GROUP));
    we_come_to_list(" a=ours b=theirs");
    curator_comes_to_list(" a=ours b=theirs");
    we_close();
    curator_leaves();
    end();
}

/* Curator's znode of our id is waited for, and we list ourselves meanwhile. */
static void test_we_wait_for_curators_id(void **state)
{
    (void)state;
    begin();
    curator_joins("a", "theirs");
    assert_non_null(peer_ask(&curator, "exists G", "await G %s/a", GROUP));
    we_join("a", "ours");
    we_are_told(UVZK_ENODEEXISTS);
    assert_true(we_list(" a=ours"));
    world_assert_data(&world, GROUP "/a", "theirs", 6);
    curator_leaves();
    we_are_told(0);
    world_assert_data(&world, GROUP "/a", "ours", 4);
    we_close();
    end();
}

int main(int argc, char **argv)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_each_lists_the_other),
        cmocka_unit_test(test_curator_is_there_first),
        cmocka_unit_test(test_both_join_again),
        cmocka_unit_test(test_we_wait_for_curators_id),
    };

    if (!other_side_commands(argc, argv, 1)) {
        return 2;
    }
    return cmocka_run_group_tests(tests, servers_start_one, servers_stop);
}
