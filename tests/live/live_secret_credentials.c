/* SPDX-License-Identifier: Apache-2.0 */
/* A client's credentials are for the server alone: no line of log says them, ours or the
 * ZooKeeper client's, no step that is traced, no error, no metrics; nothing goes to stderr;
 * and our own copy is wiped before its memory goes back. */
#define THREADED /* the C client's blocking calls */
#include "world.h"

#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define SECRET "open-sesame"
#define CREDENTIALS "me:" SECRET

static struct world world;
static struct process a;
static struct hold first;
static int lines, client_lines, steps;
static atomic_int spilled; /* blocks that went back with the secret in them */
static atomic_int freed;

/* ------------------------------------------------------------- memory that is watched */

/* Before each block, which is not filled with what others left there. */
union size {
    size_t bytes;
    max_align_t aligned;
};

static void *allocate(size_t size)
{
    union size *block = calloc(1, sizeof(*block) + size);
    if (block == NULL) {
        return NULL;
    }
    block->bytes = size;
    return block + 1;
}

static void give_back(void *memory)
{
    if (memory != NULL) {
        union size *block = (union size *)memory - 1;
        freed++;
        spilled += memmem(memory, block->bytes, SECRET, strlen(SECRET)) != NULL;
        free(block);
    }
}

static void *resize(void *memory, size_t size)
{
    size_t before = memory == NULL ? 0 : ((union size *)memory - 1)->bytes;
    void *resized = allocate(size);
    if (resized != NULL && memory != NULL) {
        memcpy(resized, memory, before < size ? before : size);
        give_back(memory);
    }
    return resized;
}

static void *allocate_zeroed(size_t count, size_t size)
{
    return allocate(count * size);
}

/* ------------------------------------------------------------------ what can be heard */

static void hear(const char *text)
{
    if (text != NULL) {
        assert_null(strstr(text, SECRET));
    }
}

static void on_line(uvzk_client_t *client, int level, const char *module,
                    const char *text)
{
    (void)client;
    (void)level;
    lines++;
    client_lines += strcmp(module, "zookeeper") == 0;
    hear(text);
}

static void on_step(const uvzk_client_t *client, const uvzk_trace_t *event)
{
    (void)client;
    steps++;
    hear(event->path);
    hear(event->request);
}

static void on_entry(const uvzk_client_t *client, const uvzk_hold_entry_t *entry,
                     void *context)
{
    (void)client;
    ++*(int *)context;
    hear(entry->lock_path);
    hear(entry->path);
}

static void hear_all_that_can_be_asked(int holds)
{
    char metrics[32768];
    uvzk_client_error_t error;
    int seen = 0;

    assert_true(uvzk_client_write_metrics(&a.client, "a", metrics, sizeof(metrics)) > 0);
    hear(metrics);
    uvzk_client_error_init(&error);
    assert_int_equal(uvzk_client_last_error(&a.client, &error), 0);
    hear(error.text);
    hear(error.address);
    assert_int_equal(uvzk_client_each_hold(&a.client, on_entry, &seen), 0);
    assert_int_equal(seen, holds);
}

/* ------------------------------------------------------------------------- the stories */

static int stderr_before;
static FILE *stderr_now;

static void begin(const char *scheme, const uvzk_acl_t *acl)
{
    lines = client_lines = steps = 0;
    freed = spilled = 0;
    stderr_now = tmpfile();
    assert_non_null(stderr_now);
    fflush(stderr);
    stderr_before = dup(STDERR_FILENO);
    assert_true(dup2(fileno(stderr_now), STDERR_FILENO) >= 0);
    world_begin(&world, NULL);
    world.options.auth_scheme = scheme;
    world.options.auth = CREDENTIALS;
    world.options.auth_length = strlen(CREDENTIALS);
    world.options.acl = acl;
    world.options.acl_count = acl == NULL ? 0 : 1;
    world.options.log_cb = on_line;
    world.options.trace_cb = on_step;
    process_begin(&a, &world, "a", NULL);
}

static void end(void)
{
    char said[4096];

    world_end(&world);
    fflush(stderr);
    assert_true(dup2(stderr_before, STDERR_FILENO) >= 0);
    close(stderr_before);
    rewind(stderr_now);
    while (fgets(said, sizeof(said), stderr_now) != NULL) {
        hear(said);
    }
    fclose(stderr_now);
    assert_true(freed > 0);
    assert_int_equal(spilled, 0);
}

/* The server goes and comes, so that there is much to be said. */
static void test_accepted(void **state)
{
    static const uvzk_acl_t ours = UVZK_ACL_OURS;
    (void)state;

    begin("digest", &ours);
    assert_int_equal(
        zoo_add_auth(world.raw, "digest", CREDENTIALS, strlen(CREDENTIALS), NULL, NULL),
        ZOK);
    hold_take(&first, &a);
    hear_all_that_can_be_asked(1);
    server_kill(live_server);
    assert_true(world_await(&world, &a.suspended, PATIENCE_MS));
    assert_true(world_await_count(&world, &client_lines, 1, PATIENCE_MS));
    assert_true(server_restart(live_server));
    assert_true(world_await(&world, &a.reconnected, PATIENCE_MS));
    world_look_again(&world);
    assert_int_equal(
        zoo_add_auth(world.raw, "digest", CREDENTIALS, strlen(CREDENTIALS), NULL, NULL),
        ZOK);
    hear_all_that_can_be_asked(1);
    hold_give_back(&first);
    assert_true(steps > 0);
    end();
}

static void test_refused(void **state)
{
    (void)state;
    begin("no-such-scheme", NULL);
    hold_try(&first, &a, NULL, UVZK_WAIT_FOREVER, UVZK_EAUTH);
    hear_all_that_can_be_asked(0);
    assert_true(lines > 0);
    end();
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_accepted),
        cmocka_unit_test(test_refused),
    };

    if (uvzk_replace_allocator(allocate, resize, allocate_zeroed, give_back) != 0) {
        return 1;
    }
    return cmocka_run_group_tests_name("secret_credentials", tests, servers_start_one,
                                       servers_stop);
}
