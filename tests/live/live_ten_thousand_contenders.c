/* SPDX-License-Identifier: Apache-2.0 */
/* One loop, one lock, ten thousand contenders: granted one after the other, in
 * the order in which they asked. */
#include "world.h"

#include <stdlib.h>
#include <string.h>

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

static void allocate(void)
{
    contenders = calloc(CONTENDERS, sizeof(*contenders));
    assert_non_null(contenders);
}

static void begin_queue(void)
{
    uv_timer_init(world.loop, &linger);
    queue_all();
}

static void await_all(void)
{
    assert_true(world_await_count(&world, &world.ends, CONTENDERS, PATIENCE_MS));
    assert_int_equal(world.grants, CONTENDERS);
    for (int i = 0; i < CONTENDERS; i++) {
        assert_int_equal(contenders[i].released, 1);
        assert_true(i == 0 || contenders[i].token > contenders[i - 1].token);
    }
}

static void end(void)
{
    assert_int_equal(world_children(&world, LOCK), 0);
    uv_close((uv_handle_t *)&linger, NULL);
    world_end(&world);
    free(contenders);
}

static void test_ten_thousand_contenders(void **state)
{
    (void)state;
    allocate();
    world_begin_one(&world, LOCK, &a);
    begin_queue();
    await_all();
    end();
}

/* Each was granted by the znode that it had. names: of another client's, then of theirs. */
static void assert_places_were_kept(const struct raw_names *names)
{
    assert_int_equal(names->count, CONTENDERS + 1);
    for (int i = 0; i < CONTENDERS; i++) {
        assert_string_equal(strrchr(contenders[i].path, '/') + 1, names->names[i + 1]);
    }
}

static void lose_connection(void)
{
    int before = a.reconnected;

    proxy_cut(&world.proxy);
    assert_true(world_await_count(&world, &a.reconnected, before + 1, PATIENCE_MS));
    assert_true(world.proxy.resumptions > 0);
}

/* The connection is lost while all of them wait behind another client, and the session
 * goes on: each has kept its znode, and none has another one. */
static void test_all_places_survive_a_resumed_session(void **state)
{
    struct raw_names names;
    struct world_path front;
    (void)state;

    allocate();
    world_begin(&world, LOCK);
    world_make_path(&world, LOCK);
    front = world_foreign_node(&world, LOCK, "lock-");
    world_use_proxy(&world);
    process_begin(&a, &world, "a", NULL);
    begin_queue();
    assert_true(world_await_children(&world, LOCK, CONTENDERS + 1));
    assert_int_equal(raw_children(world.raw, LOCK, &names), ZOK);
    lose_connection();
    assert_int_equal(world.grants, 0);
    world_delete(&world, &front);
    await_all();
    assert_places_were_kept(&names);
    raw_names_free(&names);
    end();
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_ten_thousand_contenders),
        cmocka_unit_test(test_all_places_survive_a_resumed_session),
    };
    return cmocka_run_group_tests(tests, servers_start_one, servers_stop);
}
