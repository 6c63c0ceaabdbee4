/* SPDX-License-Identifier: Apache-2.0 */
/* What a client makes a healthy server log: no error, whatever the server is asked. */
#include "world.h"

#define LOCK "/quiet/lock"

static struct world world;
static struct process a;
static struct hold first;

static void connect_with(uint32_t transport)
{
    world_begin(&world, LOCK);
    world.options.transport = transport;
    process_begin(&a, &world, "a", NULL);
    hold_take(&first, &a);
    hold_give_back(&first);
    process_end(&a);
    world_end(&world);
}

/* The kit has asked the server whether it serves while it was starting. */
static void test_a_first_connection_is_no_error(void **state)
{
    (void)state;
    unsigned errors = server_log_count(live_server, "ERROR");
    connect_with(UVZK_TRANSPORT_NATIVE);
    connect_with(UVZK_TRANSPORT_C_CLIENT);
    assert_int_equal(server_log_count(live_server, "ERROR"), errors);
    /* It logs at all: of the search, which asks whether there is a server. */
    assert_true(server_log_count(live_server, "Incorrect password") > 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_a_first_connection_is_no_error),
    };
    return cmocka_run_group_tests_name("quiet_server", tests, servers_start_one,
                                       servers_stop);
}
