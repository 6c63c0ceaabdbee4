/* CURATOR-329, CURATOR-688: a shared value that takes a value for new by its version
 * number ignores the version 0, and after 2147483647 sets, when the number turns
 * negative, everything; and it takes a znode that was made again for an old one. The
 * mzxid only grows. */
#include "cmocka_test.h"

#include <string.h>

#include "base/memory.h"
#include "sharer.h"
#include "value/replica.h"

static void version_zero_is_a_version(void **state)
{
    struct sharer *sharer = *state;
    struct sim *sim = sharer_sim(sharer);
    struct sharer_set set;

    uvzk_value_version_t version = sharer_version(sharer);
    assert_int_equal(version.version, 0);
    assert_int_equal(sharer_try_set(&set, sharer, &version, "over version 0"), 0);
    sharer_await_set(&set, 0);
    assert_true(sharer_znode_is(sim, "over version 0"));
}

static void a_lower_version_may_be_newer(void **state)
{
    struct sharer *sharer = *state;
    struct sim *sim = sharer_sim(sharer);

    for (int i = 0; i < 5; i++) {
        sharer_set_by_hand(sim, "high");
        sharer_await_current(sharer);
    }
    assert_int_equal(sharer_version(sharer).version, 5);
    sharer_delete_by_hand(sim);
    sharer_make_by_hand(sim);
    sharer_await_current(sharer);
    assert_int_equal(sharer_version(sharer).version, 0);
}

/* The servers' own arithmetic: nobody waits here for four thousand million sets. */
static void version_wraps_around(void **state)
{
    static const int32_t versions[] = {INT32_MAX - 1, INT32_MAX, INT32_MIN, -2, -1, 0, 1};
    struct sharer *sharer = *state;
    struct sim *sim = sharer_sim(sharer);
    struct sharer_set set;
    struct uvzk__stat stat = {.mzxid = 0};

    stat.mzxid = sharer_version(sharer).mzxid;
    for (size_t i = 0; i < sizeof(versions) / sizeof(versions[0]); i++) {
        char *text = uvzk__strdup("0");
        assert_non_null(text);
        text[0] = (char)('0' + i);
        stat.mzxid++;
        stat.version = versions[i];
        uvzk__replica_learn(sharer_replica(sharer), &stat, text, 1);
        sim_run_for(sim, 1);
        assert_int_equal(sharer->told, 2 + (int)i);
        assert_int_equal(sharer_version(sharer).version, versions[i]);
        assert_true(sharer_knows(sharer, (char[]){(char)('0' + i), '\0'}));
        uvzk_value_version_t version = sharer_version(sharer);
        if (version.version == -1) { /* which would be any, to ZooKeeper */
            assert_int_equal(sharer_try_set(&set, sharer, &version, "x"), UV_EINVAL);
        }
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        SHARER_CASE(version_zero_is_a_version, sharer_told),
        SHARER_CASE(a_lower_version_may_be_newer, sharer_told),
        SHARER_CASE(version_wraps_around, sharer_told),
    };

    return cmocka_run_group_tests_name("shared values are ordered by mzxid", tests, NULL,
                                       NULL);
}
