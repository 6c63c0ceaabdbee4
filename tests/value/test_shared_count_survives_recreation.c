/* SPDX-License-Identifier: Apache-2.0 */
/* SharedCount freezes when its znode is deleted and made again: the read that follows
 * the deletion finds nothing, sets no watch and tells nobody; Curator goes on telling 5
 * while the count is 77, then 78, until the connection is lost one day.
 *
 *   5 ── deleted: told, the last count stays known
 *     └── made again, whenever, by whomever: told, and followed from there on */
#include "cmocka_test.h"

#include <string.h>

#include "value_process.h"

struct scene {
    struct world world;
    struct value_process value_process; /* its client */
    uvzk_shared_count_t count;
    int told, missing, closed;
    int32_t value;
};

static void on_count(uvzk_shared_count_t *count, int status, int32_t value)
{
    struct scene *scene = count->data;

    assert_true(status == 0 || status == UVZK_ENONODE);
    scene->told += status == 0;
    scene->missing += status == UVZK_ENONODE;
    scene->value = value;
}

static void on_closed(uvzk_shared_count_t *count)
{
    struct scene *scene = count->data;

    scene->closed++;
}

static void begin(struct scene *scene)
{
    memset(scene, 0, sizeof(*scene));
    world_begin_exact(&scene->world, UVZK__TUNE_ALL, 1);
    value_process_begin(&scene->value_process, &scene->world, "c", NULL);
    scene->count.data = scene;
    assert_int_equal(uvzk_shared_count_init(&scene->value_process.process.client,
                                            &scene->count, VALUE_PROCESS_PATH, 5,
                                            on_count),
                     0);
    process_start(&scene->value_process.process);
    value_process_await(&scene->value_process, &scene->told, 1);
    assert_int_equal(scene->value, 5);
}

static void end(struct scene *scene)
{
    assert_int_equal(uvzk_shared_count_close(&scene->count, on_closed), 0);
    value_process_await(&scene->value_process, &scene->closed, 1);
    value_process_end(&scene->value_process);
    world_end(&scene->world);
}

static void set_by_hand(struct scene *scene, char count)
{
    const char bytes[4] = {0, 0, 0, count};

    assert_int_equal(sim_set_by_hand(scene->world.sim, VALUE_PROCESS_PATH, bytes, 4), 0);
}

static void make_again(struct scene *scene, char count)
{
    value_process_make_by_hand(scene->world.sim);
    set_by_hand(scene, count);
}

static int32_t known(const struct scene *scene)
{
    int32_t value = -1;

    assert_int_equal(uvzk_shared_count_get(&scene->count, &value, NULL), 0);
    return value;
}

/* Within some messages, and no reconnection. */
static void assert_follows(struct scene *scene, char count)
{
    uint64_t until = sim_now(scene->world.sim) + 100;

    while (scene->value != count && sim_now(scene->world.sim) < until) {
        sim_run_for(scene->world.sim, 1);
    }
    assert_int_equal(scene->value, count);
    assert_int_equal(known(scene), count);
    assert_int_equal(uvzk_client_state(&scene->value_process.process.client),
                     UVZK_STATE_CONNECTED);
}

static void deleted_and_made_again_later(void **state)
{
    struct scene scene;

    (void)state;
    begin(&scene);
    value_process_delete_by_hand(scene.world.sim);
    value_process_await(&scene.value_process, &scene.missing, 1);
    assert_int_equal(known(&scene), 5);
    sim_run_for(scene.world.sim, 60000);
    assert_int_equal(scene.missing, 1);
    make_again(&scene, 77);
    assert_follows(&scene, 77);
    set_by_hand(&scene, 78);
    assert_follows(&scene, 78);
    end(&scene);
}

/* Made again at any moment after the deletion, while its tidings are under way, or
 * while somebody looks; and again, and deleted in between. */
static void deleted_and_made_again_at_any_moment(void **state)
{
    (void)state;
    for (uint64_t gone_ms = 0; gone_ms < 12; gone_ms++) {
        for (uint64_t back_ms = 0; back_ms < 12; back_ms++) {
            struct scene scene;
            begin(&scene);
            for (char i = 0; i < 5; i++) {
                value_process_delete_by_hand(scene.world.sim);
                sim_run_for(scene.world.sim, gone_ms);
                make_again(&scene, (char)(10 + i));
                sim_run_for(scene.world.sim, back_ms);
            }
            assert_follows(&scene, 14);
            set_by_hand(&scene, 78);
            assert_follows(&scene, 78);
            end(&scene);
        }
    }
}

static void made_again_while_cut_off(void **state)
{
    struct scene scene;

    (void)state;
    begin(&scene);
    sim_disconnect(scene.value_process.process.port, SIM_RESET, 3000);
    sim_run_for(scene.world.sim, 100);
    value_process_delete_by_hand(scene.world.sim);
    make_again(&scene, 77);
    value_process_await(&scene.value_process, &scene.told, 2);
    assert_int_equal(scene.value, 77);
    assert_int_equal(scene.missing, 0);
    end(&scene);
}

static void made_again_in_another_session(void **state)
{
    struct scene scene;

    (void)state;
    begin(&scene);
    value_process_delete_by_hand(scene.world.sim);
    value_process_await(&scene.value_process, &scene.missing, 1);
    assert_true(sim_expire(scene.value_process.process.port));
    sim_run_for(scene.world.sim, 5000);
    assert_int_equal(scene.missing, 1); /* which is no news */
    make_again(&scene, 77);
    value_process_await(&scene.value_process, &scene.told, 2);
    assert_int_equal(scene.value, 77);
    end(&scene);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(deleted_and_made_again_later),
        cmocka_unit_test(deleted_and_made_again_at_any_moment),
        cmocka_unit_test(made_again_while_cut_off),
        cmocka_unit_test(made_again_in_another_session),
    };

    return cmocka_run_group_tests_name("shared count survives re-creation", tests, NULL,
                                       NULL);
}
