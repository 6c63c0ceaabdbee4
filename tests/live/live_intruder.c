/* SPDX-License-Identifier: Apache-2.0 */
/* What an intruder can do to a lock, by the ACL presets: without credentials, or with
 * others than those that the lock is for. */
#define THREADED /* the C client's blocking calls */
#include "world.h"

#define DIGEST_OF_ME "me:/br2p6Mn+YzXGijafPFyXILw3lc="       /* me:pass */
#define DIGEST_OF_OTHER "other:HbdzpvtqauOGVndG5nB+RVZkokE=" /* other:pass */

static struct world world;
static struct process a, b;
static struct hold first, second;
static zhandle_t *intruder;

/* The directory is made with the ACL, and outlives the test. */
static void begin(const char *path, const uvzk_acl_t *acl, size_t count)
{
    world_begin(&world, path);
    world.options.auth_scheme = "digest";
    world.options.auth = "me:pass";
    world.options.auth_length = 7;
    world.options.acl = acl;
    world.options.acl_count = count;
    assert_int_equal(zoo_add_auth(world.raw, "digest", "me:pass", 7, NULL, NULL), ZOK);
    intruder = raw_open(world.options.hosts);
    assert_non_null(intruder);
    process_begin(&a, &world, "a", NULL);
    hold_take(&first, &a);
}

/* What it may see; what is there it may not touch, nor come in. */
static void break_in(int may_see)
{
    struct String_vector names = {0, NULL};
    char data[64];
    int length = sizeof(data);
    char made[256];

    assert_int_equal(zoo_get_children(intruder, world.path, 0, &names), may_see);
    deallocate_String_vector(&names);
    assert_int_equal(zoo_get(intruder, first.path, 0, data, &length, NULL), may_see);
    assert_int_equal(raw_delete(intruder, first.path), ZNOAUTH);
    assert_int_equal(raw_set(intruder, first.path, "__REVOKE__"), ZNOAUTH);
    assert_int_not_equal(raw_contend(intruder, world.path, made, sizeof(made)), ZOK);
    assert_int_equal(raw_delete(intruder, world.path), ZNOTEMPTY); /* by right of "/" */
    assert_true(hold_holds(&first));
}

static void end(void)
{
    hold_give_back(&first);
    raw_close(intruder);
    world_end(&world);
}

static void test_ours_alone(void **state)
{
    static const uvzk_acl_t acl[] = {UVZK_ACL_OURS};
    (void)state;

    begin("/ours", acl, 1);
    break_in(ZNOAUTH);
    assert_int_equal(zoo_add_auth(intruder, "digest", "me:wrong", 8, NULL, NULL), ZOK);
    break_in(ZNOAUTH);
    end();
}

static void test_anyone_looks(void **state)
{
    static const uvzk_acl_t acl[] = {UVZK_ACL_OURS, UVZK_ACL_ANYONE_READS};
    (void)state;

    begin("/looks", acl, 2);
    break_in(ZOK);
    end();
}

/* Two identities that take turns; a third one is an intruder. */
static void test_members(void **state)
{
    static const uvzk_acl_t acl[] = {UVZK_ACL_OURS,
                                     UVZK_ACL_MEMBER("digest", DIGEST_OF_OTHER)};
    static const uvzk_acl_t acl_of_b[] = {UVZK_ACL_OURS,
                                          UVZK_ACL_MEMBER("digest", DIGEST_OF_ME)};
    (void)state;

    begin("/members", acl, 2);
    world.options.auth = "other:pass";
    world.options.auth_length = 10;
    world.options.acl = acl_of_b;
    process_begin(&b, &world, "b", NULL);
    hold_queue(&second, &b, NULL);
    assert_int_equal(zoo_add_auth(intruder, "digest", "third:pass", 10, NULL, NULL), ZOK);
    break_in(ZNOAUTH);
    hold_give_back(&first);
    hold_await(&second, PATIENCE_MS);
    hold_give_back(&second);
    hold_take(&first, &a);
    end();
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_ours_alone),
        cmocka_unit_test(test_anyone_looks),
        cmocka_unit_test(test_members),
    };

    return cmocka_run_group_tests_name("intruder", tests, servers_start_one,
                                       servers_stop);
}
