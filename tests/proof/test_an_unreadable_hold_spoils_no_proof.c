/* SPDX-License-Identifier: Apache-2.0 */
/* A proof names all that the client holds and all that wait for it, and a multi fails as a
 * whole. A hold whose znode may not be read made every proof fail, for ever: whoever
 * waited for one was never answered, and no hold deleted by hand was noticed. */
#include "world.h"

#include <string.h>

#define PATH "/rw"
#define READERS 3U

static struct world world;
static struct process a, b;
static uvzk_mutex_t unreadable;
static struct hold hold, writing, readers[READERS];

/* Below /closed nobody may read a contender's znode. */
static const uvzk_acl_t *provide(const uvzk_client_t *client, const char *path,
                                 size_t *count)
{
    static const uvzk_acl_t open = {UVZK_PERM_ALL, "world", "anyone"};
    static const uvzk_acl_t closed = {UVZK_PERM_ALL & ~(uint32_t)UVZK_PERM_READ, "world",
                                      "anyone"};

    (void)client;
    *count = 1;
    return strncmp(path, "/closed/_c_", 11) == 0 ? &closed : &open;
}

/* A holds what may not be read, and waits to read while B writes; B lets go. */
static void begin(void *const *state)
{
    uvzk_client_options_t options;

    world_begin(&world, 1, state);
    process_begin(&b, &world, "b", NULL);
    process_options(&options);
    options.acl_cb = provide;
    process_begin(&a, &world, "a", &options);
    assert_int_equal(uvzk_mutex_init(&a.client, &unreadable, "/closed"), 0);
    process_make_rwlock(&a, PATH);
    process_make_rwlock(&b, PATH);
    hold_take_on(&hold, &a, &unreadable, 0);
    hold_begin_on_for(&writing, &b, &b.rwlock.write, NULL);
    hold_await(&writing, 1000);
    for (size_t i = 0; i < READERS; i++) {
        hold_begin_on_for(&readers[i], &a, &a.rwlock.read, NULL);
    }
    world_run_for(&world, 3000);
    hold_release(&writing);
}

static void all_readers_are_granted(void **state)
{
    begin(state);
    for (size_t i = 0; i < READERS; i++) {
        hold_await(&readers[i], 1000);
    }
    for (size_t i = 0; i < READERS; i++) {
        hold_give_back(&readers[i]);
    }
    assert_true(hold_holds(&hold));
    hold_give_back(&hold);
    world_end(&world);
}

static void a_deleted_hold_is_noticed(void **state)
{
    begin(state);
    hold_await(&readers[READERS - 1], 1000);
    assert_int_equal(sim_delete_by_hand(world.sim, readers[1].path), 0);
    hold_await_lost(&readers[1], WORLD_TIMEOUT_MS, UVZK_EDELETED);
    hold_give_back(&readers[0]);
    hold_give_back(&readers[2]);
    hold_give_back(&hold);
    world_end(&world);
}

/* Alone it is proved, too: the session is, and no more often than others. */
static void it_stays_valid(void **state)
{
    begin(state);
    for (size_t i = 0; i < READERS; i++) {
        hold_acquire_release(&readers[i], 1000);
    }
    uint64_t before = sim_submitted(a.port);
    world_run_for(&world, 3 * WORLD_TIMEOUT_MS);
    assert_true(hold_holds(&hold) && uvzk_hold_is_valid(&hold.request));
    assert_true(sim_submitted(a.port) - before < 100);
    hold_give_back(&hold);
    world_end(&world);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        WORLD_TEST(all_readers_are_granted),
        WORLD_TEST(a_deleted_hold_is_noticed),
        WORLD_TEST(it_stays_valid),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
