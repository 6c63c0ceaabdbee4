/* Curator's TestLockInternals. A step of the acquire fails after the znode was made: that
 * first error is reported, whatever the withdrawal meets (CURATOR-41), and nothing is
 * left. */
#include "scene.h"

#include <stdio.h>

#define SEEDS 6U

/* No retry is allowed: a contender whose znode is missing is refused. */
static void begin(struct scene *scene, struct process *process, uint64_t seed,
                  void *const *state)
{
    uvzk_client_options_t no_retries;

    process_options(&no_retries);
    no_retries.retry.max_retries = 0;
    scene_begin(scene, seed, state);
    process_begin(process, scene, "a", &no_retries);
    scene_make_directory(scene, process);
}

/* What becomes of the claim, and that nothing is in the way of the next one. */
static void check_failure(struct scene *scene, struct process *process,
                          struct claim *claim, int status)
{
    struct claim next;

    claim_await_status(claim, 2000, status);
    scene_run_for(scene, 1000);
    assert_int_equal(scene_queue_length(scene), 0);
    claim_take(&next, process);
    claim_give_back(&next);
    scene_end(scene);
}

/* As soon as it has been made, the znode goes, and its directory with it. */
static void remove_everything(struct scene *scene)
{
    const char *name;
    char path[256];

    while (sim_children(scene->sim, SCENE_PATH, &name, 1) == 0) {
        scene_steps(scene, 1);
    }
    (void)snprintf(path, sizeof(path), SCENE_PATH "/%s", name);
    assert_int_equal(sim_delete_by_hand(scene->sim, path), 0);
    assert_int_equal(sim_delete_by_hand(scene->sim, SCENE_PATH), 0);
}

/* The list step fails: there is nothing to be listed, or the servers refuse. */
static void test_node_deleted_cleanly_with_faults(void **state)
{
    static const int codes[] = {UVZK_EDELETED, UVZK_ENOAUTH, UVZK_EREJECTED,
                                UVZK_EZOOKEEPER, UVZK_EUNIMPLEMENTED};

    for (uint64_t seed = 1; seed <= SEEDS; seed++) {
        for (size_t i = 0; i < sizeof(codes) / sizeof(codes[0]); i++) {
            struct scene scene;
            struct process a;
            struct claim claim;

            begin(&scene, &a, seed, state);
            sim_note(scene.sim, "it fails with %s", uvzk_err_name(codes[i]));
            if (i > 0) {
                sim_refuse(scene.sim, UVZK__RPC_CHILDREN, codes[i], 1);
            }
            claim_begin(&claim, &a, UVZK_WAIT_FOREVER);
            if (i == 0) {
                remove_everything(&scene);
            }
            check_failure(&scene, &a, &claim, codes[i]);
        }
    }
}

/* The list step fails, and then the delete does: refused by the ACL, or without a
 * connection, or because the session is gone by then. */
static void test_attempt_lock_failed_exception(void **state)
{
    enum second { REFUSED, CUT_OFF, EXPIRED, SECOND_ERRORS };

    for (uint64_t seed = 1; seed <= SEEDS; seed++) {
        for (enum second second = 0; second < SECOND_ERRORS; second++) {
            struct scene scene;
            struct process a, b;
            struct claim claim, next;

            begin(&scene, &a, seed, state);
            process_begin(&b, &scene, "b", NULL);
            sim_refuse(scene.sim, UVZK__RPC_CHILDREN, UVZK_EREJECTED, 1);
            size_t from = scene.line_count;
            claim_begin(&claim, &a, UVZK_WAIT_FOREVER);
            assert_true(scene_await_line(&scene, from, "a",
                                         "server: children " SCENE_PATH, 1000));
            if (second == REFUSED) {
                sim_refuse(scene.sim, UVZK__RPC_DELETE, UVZK_ENOAUTH, 1);
            }
            assert_true(scene_await(&scene, &claim.acquired, 1000));
            if (second == CUT_OFF) {
                sim_disconnect(a.port, SIM_RESET, 500);
            } else if (second == EXPIRED) {
                process_expire(&a);
            }
            assert_int_equal(claim.status, UVZK_EREJECTED);
            scene_run_for(&scene, 2000);
            assert_int_equal(scene_queue_length(&scene), second == REFUSED);
            if (second == REFUSED) { /* its session's end frees the lock */
                process_close(&a);
            }
            claim_take(&next, &b);
            claim_give_back(&next);
            scene_end(&scene);
        }
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        SCENE_TEST(test_node_deleted_cleanly_with_faults),
        SCENE_TEST(test_attempt_lock_failed_exception),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
