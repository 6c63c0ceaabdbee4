/* SPDX-License-Identifier: Apache-2.0 */
/* Curator's TestInterProcessMutex. */
#include "participants_call.h"

#define LOCK "/revoked"

static struct world world;
static struct process a, b;
static struct hold first, second;
static int revocations;

static void on_revoked(uvzk_hold_t *hold)
{
    assert_ptr_equal(hold, &first.request);
    revocations++;
    hold_release(&first);
}

/* Of the only participant, found by a listing, by another client. */
static void ask_for_it(void)
{
    static struct participants_call participants;
    participants_call_run(&participants, &world, &b.mutex);
    assert_int_equal(participants.count, 1);
    assert_string_equal(participants.paths[0], first.path);
    assert_int_equal(process_revoke(&b, participants.paths[0]), 0);
}

/* Each acquisition anew, as often as one likes: nothing has to be set again. */
static void test_revoking(void **state)
{
    uvzk_acquire_options_t options;
    (void)state;
    world_begin_two(&world, LOCK, &a, &b);
    /* A question does not wait for a connection, as an acquire does. */
    assert_true(world_await(&world, &b.connected, PATIENCE_MS));
    uvzk_acquire_options_init(&options);
    options.revoke_cb = on_revoked;
    for (int i = 1; i <= 3; i++) {
        revocations = 0;
        assert_int_equal(hold_ask(&first, &a, NULL, &options), 0);
        hold_await(&first, PATIENCE_MS);
        ask_for_it();
        hold_take(&second, &b);
        assert_int_equal(revocations, 1);
        hold_await_released(&first, WORLD_TIMEOUT_MS, 0);
        hold_give_back(&second);
    }
    world_end(&world);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_revoking),
    };
    return cmocka_run_group_tests(tests, servers_start_one, servers_stop);
}
