/* SPDX-License-Identifier: Apache-2.0 */
/* Answers of the C client that cannot be those to their requests. The C client passes on
 * whatever a server sends. */
#include "cmocka_test.h"

#include <stdio.h>

#include "log/log_route.h"
#include "requests/answer.h"
#include "requests/outstanding.h"
#include "requests/request.h"
#include "requests/send_window.h"

/* The request that the client was given last. */
static const void *given;
static zoo_op_result_t *results;
static unsigned removals;

static int take(const void *data)
{
    given = data;
    return ZOK;
}

/* Instead of the C client's. */
int zoo_acreate(zhandle_t *zh, const char *path, const char *value, int length,
                const struct ACL_vector *acl, int mode, string_completion_t completion,
                const void *data)
{
    (void)zh, (void)path, (void)value, (void)length, (void)acl, (void)mode;
    (void)completion;
    return take(data);
}

int zoo_async(zhandle_t *zh, const char *path, string_completion_t completion,
              const void *data)
{
    (void)zh, (void)path, (void)completion;
    return take(data);
}

int zoo_awget_children(zhandle_t *zh, const char *path, watcher_fn watcher, void *context,
                       strings_completion_t completion, const void *data)
{
    (void)zh, (void)path, (void)watcher, (void)context, (void)completion;
    return take(data);
}

int zoo_amulti(zhandle_t *zh, int count, const zoo_op_t *ops, zoo_op_result_t *into,
               void_completion_t completion, const void *data)
{
    (void)zh, (void)count, (void)ops, (void)completion;
    results = into;
    return take(data);
}

int zoo_aremove_all_watches(zhandle_t *zh, const char *path, ZooWatcherType type,
                            int local, void_completion_t *completion, const void *data)
{
    (void)zh, (void)path, (void)type, (void)local, (void)completion;
    removals++;
    return take(data);
}

int zoo_state(zhandle_t *zh)
{
    (void)zh;
    return ZOO_CONNECTED_STATE;
}

/* ------------------------------------------------------------------------- the window */

static struct uvzk__to_loop to_loop;
static struct uvzk__outstanding outstanding;
static const struct uvzk__log_route log_route;
static struct uvzk__dialect dialect;
static struct uvzk__send_window window;
static char zhandle; /* the client above does not look at it */
static struct uvzk__rpc rpc;
static struct uvzk__watch watch;
static int status;

static void on_returned(struct uvzk__send_window *its_window)
{
    (void)its_window;
}

static void on_reply(struct uvzk__rpc *its_rpc, const struct uvzk__reply *reply)
{
    (void)its_rpc;
    status = reply->status;
}

static int begin(void **state)
{
    (void)state;
    removals = 0;
    dialect.features[UVZK__FEATURE_REMOVAL].state = UVZK__FEATURE_KNOWN;
    window = (struct uvzk__send_window){.returned = on_returned};
    if (uvzk__to_loop_init(&to_loop) < 0 ||
        uvzk__send_window_init(&window, &outstanding, &to_loop, &log_route, &dialect,
                               false) < 0) {
        return -1;
    }
    uvzk__send_window_connect(&window, (zhandle_t *)(void *)&zhandle);
    return 0;
}

static int end(void **state)
{
    (void)state;
    uvzk__send_window_clear(&window);
    uvzk__send_window_destroy(&window);
    uvzk__to_loop_destroy(&to_loop);
    return 0;
}

static void submit(struct uvzk__rpc submitted)
{
    rpc = submitted;
    rpc.reply_cb = on_reply;
    status = 1;
    uvzk__outstanding_add(&outstanding, &rpc, NULL);
    assert_true(uvzk__send_window_add(&window, &rpc));
    uvzk__send_window_pump(&window);
}

static int replied(void)
{
    uvzk__to_loop_drain(&to_loop);
    return status;
}

/* ------------------------------------------------------------------------ single paths */

static int created(enum uvzk__mode mode, const char *path)
{
    const struct Stat stat = {.czxid = 1};

    submit((struct uvzk__rpc){
        .kind = UVZK__RPC_CREATE, .path = "/a/n-", .mode = (uint8_t)mode});
    uvzk__answer_created(ZOK, path, &stat, given);
    return replied();
}

static void another_path_is_no_created_one(void **state)
{
    (void)state;
    assert_int_equal(created(UVZK__EPHEMERAL, "/a/n-"), 0);
    assert_int_equal(created(UVZK__EPHEMERAL, NULL), UVZK_ECONNLOSS);
    assert_int_equal(created(UVZK__EPHEMERAL, "/a/n"), UVZK_ECONNLOSS);
    assert_int_equal(created(UVZK__EPHEMERAL, "/a/n-1"), UVZK_ECONNLOSS);
    assert_int_equal(created(UVZK__EPHEMERAL, "/b/n-"), UVZK_ECONNLOSS);
    assert_int_equal(created(UVZK__EPHEMERAL, ""), UVZK_ECONNLOSS);
}

static void a_sequence_number_has_its_digits(void **state)
{
    (void)state;
    const enum uvzk__mode mode = UVZK__EPHEMERAL_SEQUENTIAL;
    assert_int_equal(created(mode, "/a/n-0000000007"), 0);
    assert_int_equal(created(mode, "/a/n-2147483647"), 0);
    assert_int_equal(created(mode, "/a/n--000000001"), 0);
    assert_int_equal(created(mode, "/a/n--2147483648"), 0);
    assert_int_equal(created(mode, "/a/n-"), UVZK_ECONNLOSS);
    assert_int_equal(created(mode, "/a/n-7"), UVZK_ECONNLOSS);
    assert_int_equal(created(mode, "/a/n-000000000x"), UVZK_ECONNLOSS);
    assert_int_equal(created(mode, "/a/n-00000000007"), UVZK_ECONNLOSS);
    assert_int_equal(created(mode, "/a/n-0000000007/b"), UVZK_ECONNLOSS);
    assert_int_equal(created(mode, "/b/n-0000000007"), UVZK_ECONNLOSS);
    assert_int_equal(created(UVZK__PERSISTENT_SEQUENTIAL, "/a/n-"), UVZK_ECONNLOSS);
}

static int synced(const char *path)
{
    submit((struct uvzk__rpc){.kind = UVZK__RPC_SYNC, .path = "/a"});
    uvzk__answer_path(ZOK, path, given);
    return replied();
}

static void a_sync_is_of_its_path(void **state)
{
    (void)state;
    assert_int_equal(synced("/a"), 0);
    assert_int_equal(synced("/b"), UVZK_ECONNLOSS);
    assert_int_equal(synced("/a/b"), UVZK_ECONNLOSS);
    assert_int_equal(synced(NULL), UVZK_ECONNLOSS);
}

/* ------------------------------------------------------------------------------- names */

static int listed(struct uvzk__watch *armed, int32_t count, char **names)
{
    const struct String_vector vector = {count, names};

    submit((struct uvzk__rpc){.kind = UVZK__RPC_CHILDREN, .path = "/a", .watch = armed});
    uvzk__answer_names(ZOK, &vector, given);
    return replied();
}

static void names_are_names_of_children(void **state)
{
    char b[] = "b", deep[] = "b/c", empty[] = "";
    (void)state;
    assert_int_equal(listed(NULL, 2, (char *[]){b, b}), 0);
    assert_int_equal(listed(NULL, 0, NULL), 0);
    assert_int_equal(listed(NULL, -1, NULL), UVZK_ECONNLOSS);
    assert_int_equal(listed(NULL, 2, (char *[]){b, NULL}), UVZK_ECONNLOSS);
    assert_int_equal(listed(NULL, 2, (char *[]){deep, b}), UVZK_ECONNLOSS);
    assert_int_equal(listed(NULL, 2, (char *[]){b, empty}), UVZK_ECONNLOSS);
}

/* The C client has armed it, because the code is the one of a success. */
static void a_watch_of_a_wrong_answer_is_removed(void **state)
{
    (void)state;
    assert_int_equal(listed(&watch, -1, NULL), UVZK_ECONNLOSS);
    assert_null(watch.armed);
    assert_int_equal(removals, 1);
    uvzk__answer_void(ZOK, given);
    uvzk__to_loop_drain(&to_loop);
}

/* ------------------------------------------------------------------------------- multis */

/* A create and a delete. What the C client makes of an answer: the codes and, in the memory
 * of the result, the path. path: NULL: the server has sent null. */
static int executed(const char *path, int delete_err)
{
    static const struct uvzk__op ops[] = {
        {.kind = UVZK__OP_CREATE, .path = "/a/n-", .mode = UVZK__EPHEMERAL_SEQUENTIAL},
        {.kind = UVZK__OP_DELETE, .path = "/a/m", .version = -1}};
    char room[sizeof("/a/n-0000000007")];

    submit((struct uvzk__rpc){.kind = UVZK__RPC_MULTI, .ops = ops, .op_count = 2});
    if (path != NULL) {
        snprintf(room, sizeof(room), "%s", path);
    }
    results[0].value = path == NULL ? NULL : room;
    results[0].err = ZOK;
    if (delete_err <= 0) {
        results[1].err = delete_err;
    }
    uvzk__answer_multi(ZOK, given);
    return replied();
}

static void every_op_has_its_result(void **state)
{
    (void)state;
    assert_int_equal(executed("/a/n-0000000007", ZOK), 0);
    assert_int_equal(executed(NULL, ZOK), UVZK_ECONNLOSS);
    assert_int_equal(executed("", ZOK), UVZK_ECONNLOSS);
    assert_int_equal(executed("/a/n-", ZOK), UVZK_ECONNLOSS);
    assert_int_equal(executed("/b/n-0000000007", ZOK), UVZK_ECONNLOSS);
    /* The answer has ended before the last result. */
    assert_int_equal(executed("/a/n-0000000007", 1), UVZK_ECONNLOSS);
}

#define CASE(test) cmocka_unit_test_setup_teardown(test, begin, end)

int main(void)
{
    const struct CMUnitTest tests[] = {
        CASE(another_path_is_no_created_one),
        CASE(a_sequence_number_has_its_digits),
        CASE(a_sync_is_of_its_path),
        CASE(names_are_names_of_children),
        CASE(a_watch_of_a_wrong_answer_is_removed),
        CASE(every_op_has_its_result),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
