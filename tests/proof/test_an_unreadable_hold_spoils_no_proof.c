/* A proof names all that the client holds and all that wait for it, and a multi fails as a
 * whole. A hold whose znode may not be read made every proof fail, for ever: whoever
 * waited for one was never answered, and no hold deleted by hand was noticed. */
#include "world.h"

#include <string.h>

#define PATH "/rw"
#define READERS 3U

struct crowd {
    struct world world;
    struct process a, b;
    uvzk_mutex_t closed;
    uvzk_rwlock_t of_a, of_b;
    struct hold hold, writing, readers[READERS];
};

/* Below /closed nobody may read a contender's znode. */
static const uvzk_acl_t *provide(uvzk_client_t *client, const char *path, size_t *count)
{
    static const uvzk_acl_t open = {UVZK_PERM_ALL, "world", "anyone"};
    static const uvzk_acl_t closed = {UVZK_PERM_ALL & ~(uint32_t)UVZK_PERM_READ, "world",
                                      "anyone"};

    (void)client;
    *count = 1;
    return strncmp(path, "/closed/_c_", 11) == 0 ? &closed : &open;
}

static void begin(struct crowd *crowd, void *const *state)
{
    uvzk_client_options_t options;

    memset(crowd, 0, sizeof(*crowd));
    world_begin(&crowd->world, 1, state);
    process_options(&options);
    process_begin(&crowd->b, &crowd->world, "b", &options);
    options.acl_cb = provide;
    process_begin(&crowd->a, &crowd->world, "a", &options);
    assert_int_equal(uvzk_mutex_init(&crowd->a.client, &crowd->closed, "/closed"), 0);
    assert_int_equal(uvzk_rwlock_init(&crowd->a.client, &crowd->of_a, PATH), 0);
    assert_int_equal(uvzk_rwlock_init(&crowd->b.client, &crowd->of_b, PATH), 0);
    hold_take_on(&crowd->hold, &crowd->a, &crowd->closed, 0);
    hold_begin_on_for(&crowd->writing, &crowd->b, &crowd->of_b.write, NULL);
    hold_await(&crowd->writing, 1000);
    for (size_t i = 0; i < READERS; i++) {
        hold_begin_on_for(&crowd->readers[i], &crowd->a, &crowd->of_a.read, NULL);
    }
    world_run_for(&crowd->world, 3000);
}

static void all_readers_are_granted(void **state)
{
    static struct crowd crowd;

    begin(&crowd, state);
    hold_release(&crowd.writing);
    for (size_t i = 0; i < READERS; i++) {
        hold_await(&crowd.readers[i], 1000);
    }
    for (size_t i = 0; i < READERS; i++) {
        hold_give_back(&crowd.readers[i]);
    }
    assert_true(hold_holds(&crowd.hold));
    hold_give_back(&crowd.hold);
    world_end(&crowd.world);
}

static void a_deleted_hold_is_noticed(void **state)
{
    static struct crowd crowd;

    begin(&crowd, state);
    hold_release(&crowd.writing);
    hold_await(&crowd.readers[READERS - 1], 1000);
    assert_int_equal(sim_delete_by_hand(crowd.world.sim, crowd.readers[1].path), 0);
    assert_true(world_await(&crowd.world, &crowd.readers[1].lost, WORLD_TIMEOUT_MS));
    assert_int_equal(crowd.readers[1].reason, UVZK_EDELETED);
    hold_give_back(&crowd.readers[0]);
    hold_give_back(&crowd.readers[2]);
    hold_give_back(&crowd.hold);
    world_end(&crowd.world);
}

/* Alone it is proved, too: the session is, and no more often than others. */
static void it_stays_valid(void **state)
{
    static struct crowd crowd;

    begin(&crowd, state);
    hold_release(&crowd.writing);
    for (size_t i = 0; i < READERS; i++) {
        hold_await(&crowd.readers[i], 1000);
        hold_give_back(&crowd.readers[i]);
    }
    uint64_t before = sim_submitted(crowd.a.port);
    world_run_for(&crowd.world, 3 * WORLD_TIMEOUT_MS);
    assert_true(hold_holds(&crowd.hold) && uvzk_hold_is_valid(&crowd.hold.request));
    assert_true(sim_submitted(crowd.a.port) - before < 100);
    hold_give_back(&crowd.hold);
    world_end(&crowd.world);
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
