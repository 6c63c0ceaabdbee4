/* SPDX-License-Identifier: Apache-2.0 */
/* What port.h promises, asked of a port that the program is linked with. */
#include "cases.h"

static int begin(void **state)
{
    (void)state;
    return world_begin();
}

static int end(void **state)
{
    (void)state;
    world_end();
    return 0;
}

static int make_probe(void **state)
{
    *state = probe_in_world();
    return 0;
}

static int make_direct_probe(void **state)
{
    world_stand_direct(true);
    *state = probe_in_world();
    world_stand_direct(false);
    return 0;
}

static int make_long_session_probe(void **state)
{
    world_have_long_sessions(true);
    *state = probe_in_world();
    world_have_long_sessions(false);
    return 0;
}

static int end_probe(void **state)
{
    probe_leave(*state);
    return 0;
}

struct probe *connected(void **state)
{
    struct probe *probe = *state;

    probe_connect(probe);
    return probe;
}

struct probe *connected_with(void **state, const char *const *paths)
{
    struct probe *probe = connected(state);

    for (; *paths != NULL; paths++) {
        world_create(probe->world, *paths);
    }
    return probe;
}

#define CASE(name) cmocka_unit_test_setup_teardown(name, make_probe, end_probe),
#define DIRECT_CASE(name) \
    cmocka_unit_test_setup_teardown(name, make_direct_probe, end_probe),

#define LONG_SESSION_CASE(name) \
    cmocka_unit_test_setup_teardown(name, make_long_session_probe, end_probe),

static const struct CMUnitTest tests[] = {CASES(CASE) DIRECT_CASES(DIRECT_CASE)
                                              LONG_SESSION_CASES(LONG_SESSION_CASE)};

int main(void)
{
    return cmocka_run_group_tests(tests, begin, end);
}
