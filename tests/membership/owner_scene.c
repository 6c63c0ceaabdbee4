/* SPDX-License-Identifier: Apache-2.0 */
#include "owner_scene.h"

#include <stdlib.h>

int owner_scene_begin(void **state, uint32_t sessions, uint32_t mode)
{
    struct owner_scene *scene = calloc(1, sizeof(*scene));
    uvzk_client_options_t options;

    assert_non_null(scene);
    world_begin_exact(&scene->world, UVZK__TUNE_ALL, 1);
    process_options(&options);
    options.sessions = sessions;
    scene->c.mode = mode;
    process_begin(&scene->c.process, &scene->world, "c", &options);
    scene->second.data = scene->lock.data = scene->hold.data = scene;
    *state = scene;
    return 0;
}

int owner_scene_begin_one(void **state)
{
    return owner_scene_begin(state, 1, UVZK_PERSISTENT_NODE_EPHEMERAL);
}

int owner_scene_begin_sessions(void **state)
{
    return owner_scene_begin(state, 3, UVZK_PERSISTENT_NODE_EPHEMERAL);
}

int owner_scene_end(void **state)
{
    struct owner_scene *scene = *state;

    if (scene->c.node.impl == NULL && !scene->c.disturbed) {
        owner_scene_open_node(scene); /* nothing is left at its path */
    }
    persistent_process_end(&scene->c);
    world_end(&scene->world);
    free(scene);
    return 0;
}

/* ------------------------------------------------------------- the persistent nodes */

void owner_scene_open_node(struct owner_scene *scene)
{
    int present = scene->c.present;

    scene->c.node_closed = 0;
    assert_int_equal(persistent_process_init(&scene->c, "here"), 0);
    persistent_process_await(&scene->c, &scene->c.present, present + 1);
}

static void second_told(uvzk_persistent_node_t *node, int status)
{
    struct owner_scene *scene = node->data;

    scene->told++;
    scene->status = status;
}

int owner_scene_open_second(struct owner_scene *scene)
{
    return uvzk_persistent_node_init(&scene->c.process.client, &scene->second,
                                     PERSISTENT_PROCESS_PATH, scene->c.mode, "second", 6,
                                     second_told);
}

void owner_scene_await_second(struct owner_scene *scene)
{
    while (scene->told == 0 || scene->status != 0) {
        persistent_process_await(&scene->c, &scene->told, scene->told + 1);
    }
}

bool owner_scene_has(const struct owner_scene *scene, const char *data)
{
    size_t length;
    const void *found = sim_data(scene->world.sim, PERSISTENT_PROCESS_PATH, &length);

    return found != NULL && length == strlen(data) && memcmp(found, data, length) == 0;
}

/* -------------------------------------------------------------------------- the lock */

static void acquired(uvzk_hold_t *hold, int status)
{
    struct owner_scene *scene = hold->data;

    scene->acquired++;
    scene->lock_status = status;
}

static void lost(uvzk_hold_t *hold, int reason)
{
    struct owner_scene *scene = hold->data;

    scene->lost++;
    scene->lock_status = reason;
}

static void closed(uvzk_lock_t *lock)
{
    struct owner_scene *scene = lock->data;

    scene->closed++;
}

int owner_scene_init_lock(struct owner_scene *scene, uvzk_lock_t *lock)
{
    uvzk_lock_driver_t driver;

    uvzk_lock_driver_init(&driver);
    driver.name = "w";
    driver.mode = UVZK_NODE_EPHEMERAL;
    return uvzk_lock_init_with_driver(&scene->c.process.client, lock,
                                      OWNER_SCENE_DIRECTORY, &driver);
}

int owner_scene_open_lock(struct owner_scene *scene)
{
    return owner_scene_init_lock(scene, &scene->lock);
}

void owner_scene_acquire(struct owner_scene *scene)
{
    assert_int_equal(uvzk_lock_acquire(&scene->lock, &scene->hold, NULL, acquired, lost),
                     0);
    persistent_process_await(&scene->c, &scene->acquired, 1);
    assert_int_equal(scene->lock_status, 0);
}

void owner_scene_begin_close(struct owner_scene *scene)
{
    assert_int_equal(uvzk_lock_close(&scene->lock, closed), 0);
}

void owner_scene_close_lock(struct owner_scene *scene)
{
    owner_scene_begin_close(scene);
    persistent_process_await(&scene->c, &scene->closed, 1);
    world_run_for(&scene->world, 1000);
}
