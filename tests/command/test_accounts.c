/* SPDX-License-Identifier: Apache-2.0 */
/* Users and groups of this system. Compiled once for each of accounts.c and
 * accounts_of_files.c, which know the same of what is in /etc/passwd and /etc/group. */
#include "cmocka_test.h"

#include <string.h>

#include "accounts.h"

static void root_is_known(void **state)
{
    uid_t uid = 1;
    gid_t gid = 1;
    (void)state;
    assert_true(accounts_find_user("root", &uid));
    assert_int_equal(uid, 0);
    assert_true(accounts_find_group("root", &gid));
    assert_int_equal(gid, 0);
    assert_string_equal(accounts_user_name(0), "root");
}

static void others_than_the_first_are_known(void **state)
{
    uid_t uid = 0;
    gid_t gid = 0;
    (void)state;
    assert_true(accounts_find_user("daemon", &uid));
    assert_int_not_equal(uid, 0);
    assert_string_equal(accounts_user_name(uid), "daemon");
    assert_true(accounts_find_group("daemon", &gid));
    assert_int_not_equal(gid, 0);
}

static void nobody_has_this_name(void **state)
{
    uid_t uid = 1;
    gid_t gid = 1;
    (void)state;
    assert_false(accounts_find_user("no such user", &uid));
    assert_false(accounts_find_user("", &uid));
    assert_false(accounts_find_group("roo", &gid));
    assert_int_equal(uid, 1);
    assert_int_equal(gid, 1);
    assert_null(accounts_user_name(4000000001U));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(root_is_known),
        cmocka_unit_test(others_than_the_first_are_known),
        cmocka_unit_test(nobody_has_this_name),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
