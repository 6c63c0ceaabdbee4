/* SPDX-License-Identifier: Apache-2.0 */
/* A lease that is let go changes hands without a request, znode, data and all. So it goes
 * only to who asks for the same data: getParticipantNodes and uvzk_client_read would name
 * the holder before. */
#include "world.h"

#include <string.h>

#define PATH "/s"
#define LEASES_MAX 2U

static struct world world;
static struct process a;
static struct hold first, second;

static void ask(struct hold *hold, uint32_t leases, const char *data)
{
    uvzk_acquire_options_t options;

    uvzk_acquire_options_init(&options);
    options.leases = leases;
    options.node_data = data;
    options.node_data_length = data == NULL ? 0 : strlen(data);
    assert_int_equal(hold_ask(hold, &a, &a.semaphore, &options), 0);
}

static void assert_data(const struct hold *hold, const char *expected)
{
    size_t length;
    const void *data = sim_data(world.sim, hold->path, &length);

    assert_non_null(data);
    assert_int_equal(length, strlen(expected));
    assert_memory_equal(data, expected, length);
}

/* The first has two with data of its own and gives one back; the second, which waits,
 * asks for these data or for others. */
static void one_is_given_back(void **state, const char *data, const char *expected,
                              bool handed_over)
{
    char path[HOLD_PATH_MAX];

    world_begin_one(&world, 1, state, &a);
    process_make_semaphore(&a, PATH, LEASES_MAX);
    assert_true(process_await_connected(&a, 1000));
    ask(&first, 2, "X");
    hold_await(&first, 1000);
    assert_data(&first, "X");
    (void)strcpy(path, uvzk_hold_node_path(&first.request, 0));
    ask(&second, 1, data);
    world_run_for(&world, 500);
    assert_int_equal(second.answered, 0);
    assert_int_equal(uvzk_hold_return_leases(&first.request, 1), 0);
    hold_await(&second, 1000);
    assert_data(&second, expected);
    assert_true((strcmp(second.path, path) == 0) == handed_over);
    hold_give_back(&second);
    hold_give_back(&first);
    world_end(&world);
}

static void another_claim_has_the_clients_data(void **state)
{
    one_is_given_back(state, NULL, "a", false); /* its address, in the simulator */
}

static void another_claim_has_data_of_its_own(void **state)
{
    one_is_given_back(state, "Y", "Y", false);
}

static void the_same_data_may_stay(void **state)
{
    one_is_given_back(state, "X", "X", true);
}

/* Beside the plain algorithm, which hands nothing on. */
static unsigned world_handing_on = UVZK__TUNE_LEASE_HANDOVER;
#define BOTH(test) WORLD_CASE(test, handing_on), WORLD_CASE(test, tuned)

int main(void)
{
    const struct CMUnitTest tests[] = {
        WORLD_TEST(another_claim_has_the_clients_data),
        WORLD_TEST(another_claim_has_data_of_its_own),
        BOTH(the_same_data_may_stay),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
