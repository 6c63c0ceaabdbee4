/* One loop, one lock, ten thousand contenders: granted one after the other, in
 * the order in which they asked. */
#include "world.h"

#include <stdlib.h>

#define LOCK "/crowd/lock"
#define CONTENDERS 10000
/* One in so many keeps the lock over some turns of the loop, so that the queue
 * also stands still now and then. */
#define LINGERS_EVERY 500
#define LINGER_MS 5

static struct world world;
static struct process a;
static struct hold *contenders, *holder;
static uv_timer_t linger;

static void release_holder(void)
{
    struct hold *hold = holder;
    holder = NULL;
    hold_release(hold);
}

static void on_linger_end(uv_timer_t *timer)
{
    (void)timer;
    release_holder();
}

static void on_told(struct hold *hold)
{
    assert_int_equal(hold->status + hold->lost, 0);
    if (hold->released > 0) {
        assert_int_equal(hold->release_status, 0);
        return;
    }
    assert_null(holder);
    assert_ptr_equal(hold, &contenders[hold->granted_turn - 1]);
    holder = hold;
    if ((hold->granted_turn - 1) % LINGERS_EVERY == 0) {
        uv_timer_start(&linger, on_linger_end, LINGER_MS, 0);
    } else {
        release_holder();
    }
}

/* Every other one has an owner of its own, the rest none. */
static void queue_all(void)
{
    for (int i = 0; i < CONTENDERS; i++) {
        struct hold *hold = &contenders[i];
        hold_begin_for(hold, &a, i % 2 == 0 ? hold : NULL, UVZK_WAIT_FOREVER);
        hold->hook = on_told;
    }
}

static void test_ten_thousand_contenders(void **state)
{
    (void)state;
    contenders = calloc(CONTENDERS, sizeof(*contenders));
    assert_non_null(contenders);
    world_begin_one(&world, LOCK, &a);
    uv_timer_init(world.loop, &linger);
    queue_all();
    assert_true(world_await_count(&world, &world.ends, CONTENDERS, PATIENCE_MS));
    assert_int_equal(world.grants, CONTENDERS);
    for (int i = 0; i < CONTENDERS; i++) {
        assert_int_equal(contenders[i].released, 1);
        assert_true(i == 0 || contenders[i].token > contenders[i - 1].token);
    }
    assert_int_equal(world_children(&world, LOCK), 0);
    uv_close((uv_handle_t *)&linger, NULL);
    world_end(&world);
    free(contenders);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_ten_thousand_contenders),
    };
    return cmocka_run_group_tests(tests, servers_start_one, servers_stop);
}
