/* SPDX-License-Identifier: Apache-2.0 */
/* Rendezvous hashing: keys are spread evenly, and one more moves none but to itself. */
#include "cmocka_test.h"

#include <stdio.h>

#include "base/rendezvous.h"

#define KEYS 32000U

static uint32_t home_of(const char *text, uint32_t count)
{
    uint64_t key = uvzk__rendezvous_key(text);
    uint32_t home = 0;

    for (uint32_t i = 1; i < count; i++) {
        if (uvzk__rendezvous_weight(key, i) > uvzk__rendezvous_weight(key, home)) {
            home = i;
        }
    }
    return home;
}

static void keys_are_spread(void **state)
{
    uint32_t counts[32] = {0};
    (void)state;

    for (uint32_t i = 0; i < KEYS; i++) {
        char key[32];
        (void)snprintf(key, sizeof(key), "/locks/account-%u", i);
        counts[home_of(key, 32)]++;
    }
    for (uint32_t i = 0; i < 32; i++) {
        assert_in_range(counts[i], 850, 1150); /* 31 is one deviation */
    }
}

static void one_more_moves_none_but_to_itself(void **state)
{
    uint32_t moved = 0;
    (void)state;

    for (uint32_t i = 0; i < KEYS; i++) {
        char key[32];
        (void)snprintf(key, sizeof(key), "/locks/account-%u", i);
        uint32_t before = home_of(key, 7), after = home_of(key, 8);
        assert_true(after == before || after == 7);
        moved += after != before;
    }
    assert_in_range(moved, KEYS / 9, KEYS / 7);
}

/* Processes of different versions have the same homes. */
static void it_is_always_the_same(void **state)
{
    (void)state;

    assert_true(uvzk__rendezvous_key("/locks/a") != uvzk__rendezvous_key("/locks/b"));
    assert_int_equal(uvzk__rendezvous_key(""), UINT64_C(0xcbf29ce484222325));
    assert_int_equal(uvzk__rendezvous_key("a"), UINT64_C(0xaf63dc4c8601ec8c));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(keys_are_spread),
        cmocka_unit_test(one_more_moves_none_but_to_itself),
        cmocka_unit_test(it_is_always_the_same),
    };
    return cmocka_run_group_tests_name("rendezvous", tests, NULL, NULL);
}
