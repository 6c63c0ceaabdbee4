/* SPDX-License-Identifier: Apache-2.0 */
/* CURATOR-329, CURATOR-688: a shared value that takes a value for new by its version
 * number ignores the version 0, and after 2147483647 sets, when the number turns
 * negative, everything; and it takes a znode that was made again for an old one. The
 * mzxid only grows. */
#include "cmocka_test.h"

#include <string.h>

#include "base/memory.h"
#include "value/node_cache.h"
#include "value_process.h"

static void version_zero_is_a_version(void **state)
{
    struct value_process *value_process = *state;
    struct sim *sim = value_process_sim(value_process);
    struct value_process_set set;

    uvzk_value_version_t version = value_process_version(value_process);
    assert_int_equal(version.version, 0);
    assert_int_equal(
        value_process_try_set(&set, value_process, &version, "over version 0"), 0);
    value_process_await_set(&set, 0);
    assert_true(value_process_znode_is(sim, "over version 0"));
}

static void a_lower_version_may_be_newer(void **state)
{
    struct value_process *value_process = *state;
    struct sim *sim = value_process_sim(value_process);

    for (int i = 0; i < 5; i++) {
        value_process_set_by_hand(sim, "high");
        value_process_await_current(value_process);
    }
    assert_int_equal(value_process_version(value_process).version, 5);
    value_process_delete_by_hand(sim);
    value_process_make_by_hand(sim);
    value_process_await_current(value_process);
    assert_int_equal(value_process_version(value_process).version, 0);
}

/* The servers' own arithmetic: nobody waits here for four thousand million sets. */
static void version_wraps_around(void **state)
{
    static const int32_t versions[] = {INT32_MAX - 1, INT32_MAX, INT32_MIN, -2, -1, 0, 1};
    struct value_process *value_process = *state;
    struct sim *sim = value_process_sim(value_process);
    struct value_process_set set;
    struct uvzk__stat stat = {.mzxid = 0};

    stat.mzxid = value_process_version(value_process).mzxid;
    for (size_t i = 0; i < sizeof(versions) / sizeof(versions[0]); i++) {
        char *text = uvzk__strdup("0");
        assert_non_null(text);
        text[0] = (char)('0' + i);
        stat.mzxid++;
        stat.version = versions[i];
        uvzk__node_cache_update(value_process_node_cache(value_process), &stat, text, 1);
        sim_run_for(sim, 1);
        assert_int_equal(value_process->told, 2 + (int)i);
        assert_int_equal(value_process_version(value_process).version, versions[i]);
        assert_true(value_process_knows(value_process, (char[]){(char)('0' + i), '\0'}));
        uvzk_value_version_t version = value_process_version(value_process);
        if (version.version == -1) { /* which would be any, to ZooKeeper */
            assert_int_equal(value_process_try_set(&set, value_process, &version, "x"),
                             UV_EINVAL);
        }
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        VALUE_PROCESS_CASE(version_zero_is_a_version, value_process_told),
        VALUE_PROCESS_CASE(a_lower_version_may_be_newer, value_process_told),
        VALUE_PROCESS_CASE(version_wraps_around, value_process_told),
    };

    return cmocka_run_group_tests_name("shared values are ordered by mzxid", tests, NULL,
                                       NULL);
}
