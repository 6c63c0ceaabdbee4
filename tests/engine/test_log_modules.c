/* SPDX-License-Identifier: Apache-2.0 */
/* A line of log names the part of the client that wrote it. Without a callback there are
 * no lines. */
#include "world.h"

#include <string.h>

static struct world world;
static struct process a;
static struct hold first;
static struct {
    int lines;
    char modules[256]; /* " session zookeeper", each once */
} told;

static void on_line(uvzk_client_t *client, int level, const char *module,
                    const char *text)
{
    assert_ptr_equal(client, &a.client);
    assert_true(level >= UVZK_LOG_ERROR && level <= UVZK_LOG_DEBUG);
    assert_true(text[0] != '\0');
    told.lines++;
    if (strstr(told.modules, module) == NULL) {
        strcat(told.modules, " ");
        strcat(told.modules, module);
    }
}

static void begin(uvzk_client_log_cb log_cb)
{
    uvzk_client_options_t options;

    memset(&told, 0, sizeof(told));
    world_begin_exact(&world, UVZK__TUNE_ALL, 1);
    process_options(&options);
    options.log_cb = log_cb;
    process_begin(&a, &world, "a", &options);
    assert_true(process_await_connected(&a, 1000));
}

/* A holder's znode is deleted, and the connection lost. */
static void play(void)
{
    world.holder_deleted = true;
    hold_take(&first, &a);
    world_delete_child(&world, WORLD_PATH, 0);
    hold_await_lost(&first, WORLD_TIMEOUT_MS, UVZK_EDELETED);
    sim_disconnect(a.port, SIM_RESET, 6000);
    world_run_for(&world, 10000);
    world_release_and_end(&world);
}

static void test_of_each_its_module(void **state)
{
    (void)state;
    begin(on_line);
    play();
    assert_true(told.lines >= 3);
    assert_string_equal(told.modules, " directory zookeeper session");
}

static void test_or_not_at_all(void **state)
{
    (void)state;
    begin(NULL);
    play();
    assert_int_equal(told.lines, 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_of_each_its_module),
        cmocka_unit_test(test_or_not_at_all),
    };
    return cmocka_run_group_tests_name("log_modules", tests, NULL, NULL);
}
