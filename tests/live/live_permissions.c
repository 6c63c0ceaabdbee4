/* SPDX-License-Identifier: Apache-2.0 */
/* Which permissions a client needs to hold a lock, to wait for it, and to give it back: one
 * missing after the other, in the lock's directory and on the contenders' znodes. The table
 * of docs/operations.md says the same. */
#define THREADED /* the C client's blocking calls */
#include "world.h"

#include <stdio.h>

#define LENGTH(array) (sizeof(array) / sizeof((array)[0]))
/* Of the test itself, which may do everything: raw:raw. */
#define OPERATOR "raw:d6EnEzqYquczJZvSt1l9D5Iogac="

#define ALL UVZK_PERM_ALL
#define BUT(perm) (UVZK_PERM_ALL & ~UVZK_PERM_##perm)
#define LEAST (UVZK_PERM_CREATE | UVZK_PERM_DELETE | UVZK_PERM_READ)

/* What everybody may do in the directory, and with the znodes; and what becomes of the
 * first acquire, its release, and an acquire that waits behind it. */
static const struct row {
    const char *what;
    uint32_t directory, nodes;
    int held, released, waited;
} rows[] = {
    {"everything", ALL, ALL, 0, 0, 0},
    {"the least", LEAST, UVZK_PERM_READ, 0, 0, 0},
    {"no CREATE in the directory", BUT(CREATE), ALL, UVZK_ENOAUTH, 0, 0},
    /* The next one holds when the session of the first one has ended. */
    {"no DELETE in the directory", BUT(DELETE), ALL, 0, UVZK_ENOAUTH, 0},
    {"no READ of the directory", BUT(READ), ALL, UVZK_ENOAUTH, 0, 0},
    {"no WRITE of the directory", BUT(WRITE), ALL, 0, 0, 0},
    {"no ADMIN of the directory", BUT(ADMIN), ALL, 0, 0, 0},
    {"no CREATE below znodes", ALL, BUT(CREATE), 0, 0, 0},
    {"no DELETE below znodes", ALL, BUT(DELETE), 0, 0, 0},
    {"no READ of znodes", ALL, BUT(READ), 0, 0, UVZK_ENOAUTH},
    {"no WRITE of znodes", ALL, BUT(WRITE), 0, 0, 0},
    {"no ADMIN of znodes", ALL, BUT(ADMIN), 0, 0, 0},
};

static struct world world;
static struct process a, b;
static struct hold first, second;

/* The first contender that a directory ever had needs no listing, and so no READ. */
static void use_first_number(const char *path)
{
    char prefix[64], made[64];

    (void)snprintf(prefix, sizeof(prefix), "%s/first-", path);
    assert_int_equal(zoo_create(world.raw, prefix, "", 0, &ZOO_OPEN_ACL_UNSAFE,
                                ZOO_PERSISTENT_SEQUENTIAL, made, sizeof(made)),
                     ZOK);
    assert_int_equal(zoo_delete(world.raw, made, -1), ZOK);
}

static void make_directory(const char *path, uint32_t perms)
{
    struct ACL entries[] = {{(int32_t)perms, {"world", "anyone"}},
                            {ALL, {"digest", OPERATOR}}};
    struct ACL_vector acl = {LENGTH(entries), entries};

    assert_int_equal(zoo_add_auth(world.raw, "digest", "raw:raw", 7, NULL, NULL), ZOK);
    assert_int_equal(zoo_create(world.raw, path, "", 0, &acl, ZOO_PERSISTENT, NULL, 0),
                     ZOK);
    use_first_number(path);
}

static void begin(const struct row *row)
{
    const uvzk_acl_t acl[] = {{row->nodes, "world", "anyone"},
                              {UVZK_PERM_ALL, "digest", OPERATOR}};
    static char path[32];

    (void)snprintf(path, sizeof(path), "/permissions-%d", (int)(row - rows));
    world_begin(&world, path);
    world.options.acl = acl;
    world.options.acl_count = LENGTH(acl);
    make_directory(path, row->directory);
    process_begin(&a, &world, "a", NULL);
    process_begin(&b, &world, "b", NULL);
}

static void release(struct hold *hold, int status)
{
    hold_release(hold);
    hold_await_released(hold, PATIENCE_MS, status);
}

/* Behind a holder whose znode the second client may read. */
static void wait_and_hold(const struct row *row)
{
    hold_queue(&second, &b, NULL);
    release(&first, row->released);
    if (row->released != 0) {
        assert_false(second.answered);
        process_end(&a);
    }
    hold_await(&second, PATIENCE_MS);
    release(&second, row->released);
}

static void contend(const struct row *row)
{
    if (row->held != 0) {
        hold_try(&first, &a, NULL, UVZK_WAIT_FOREVER, row->held);
        return;
    }
    hold_take(&first, &a);
    if (row->waited == 0) {
        wait_and_hold(row);
        return;
    }
    hold_try(&second, &b, NULL, UVZK_WAIT_FOREVER, row->waited);
    assert_true(hold_holds(&first));
    release(&first, row->released);
}

static void one_is_missing(void **state)
{
    const struct row *row = *state;

    begin(row);
    contend(row);
    process_end(&b);
    if (row->released == 0) {
        process_end(&a);
    }
    world_end(&world);
}

int main(void)
{
    struct CMUnitTest tests[LENGTH(rows)];

    for (size_t i = 0; i < LENGTH(rows); i++) {
        tests[i] = (struct CMUnitTest){.name = rows[i].what,
                                       .test_func = one_is_missing,
                                       .initial_state = (void *)(uintptr_t)&rows[i]};
    }
    return cmocka_run_group_tests_name("permissions", tests, servers_start_one,
                                       servers_stop);
}
