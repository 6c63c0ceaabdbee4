/* SPDX-License-Identifier: Apache-2.0 */
/* An ACL that gives contenders no READ: the multi that makes leases checks the ticket, and
 * is refused for good. It was sent again at once, five thousand times a second, and the
 * acquire was never answered. */
#include "world.h"

#include <string.h>

#define PATH "/s"
#define MANY 5U

static struct world world;
static struct process a;
static struct hold requests[MANY];
static const char *unreadable; /* what the paths have of those without READ */

/* Contenders' znodes are anybody's, but for READ; directories are open. */
static const uvzk_acl_t *provide(const uvzk_client_t *client, const char *path,
                                 size_t *count)
{
    static const uvzk_acl_t open = {UVZK_PERM_ALL, "world", "anyone"};
    static const uvzk_acl_t closed = {UVZK_PERM_ALL & ~(uint32_t)UVZK_PERM_READ, "world",
                                      "anyone"};

    (void)client;
    *count = 1;
    return strstr(path, unreadable) != NULL ? &closed : &open;
}

static void begin(void *const *state)
{
    uvzk_client_options_t options;

    world_begin(&world, 1, state);
    process_options(&options);
    options.acl_cb = provide;
    process_begin(&a, &world, "a", &options);
    process_make_semaphore(&a, PATH, 3);
    assert_true(process_await_connected(&a, 1000));
}

static void each_is_told(void **state)
{
    unreadable = "/_c_";
    begin(state);
    for (unsigned i = 0; i < MANY; i++) {
        hold_begin_on(&requests[i], &a, &a.semaphore, 1 + i % 2, UVZK_WAIT_FOREVER);
    }
    world_run_for(&world, 5000);
    for (unsigned i = 0; i < MANY; i++) {
        hold_await_status(&requests[i], 0, UVZK_ENOAUTH);
    }
    assert_true(sim_submitted(a.port) < 100);
    assert_int_equal(world_children(&world, PATH "/locks"), 0);
    assert_int_equal(world_children(&world, PATH "/leases"), 0);
    world_end(&world);
}

/* Only the leases may not be read: the delete of a ticket that has a lease handed on checks
 * that in vain, and goes without the check while the lease is held. */
static void leases_are_not_checked_in_vain(void **state)
{
    struct hold *first = &requests[0], *next = &requests[1];

    unreadable = "-lease-";
    begin(state);
    hold_take_on(first, &a, &a.semaphore, 2);
    hold_begin_on(next, &a, &a.semaphore, 2, UVZK_WAIT_FOREVER);
    world_run_for(&world, 500);
    hold_release(first);
    hold_await(next, 1000);
    world_run_for(&world, 1000);
    assert_true(uvzk_hold_is_valid(&next->request));
    assert_int_equal(world_children(&world, PATH "/locks"), 0);
    assert_true(sim_submitted(a.port) < 40);
    hold_give_back(next);
    assert_int_equal(world_children(&world, PATH "/leases"), 0);
    world_end(&world);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        WORLD_TEST(each_is_told),
        WORLD_TEST(leases_are_not_checked_in_vain),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
