/* SPDX-License-Identifier: Apache-2.0 */
/* Which lines are requests of `uvzk serve`, and what they ask for. */
#include "serve/served_request.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cmocka_test.h"

static struct served_request request;

/* Reads the line as it stands, without a NUL at its end. */
static const char *read_line(const char *line)
{
    size_t length = strlen(line);
    char *copy = malloc(length);

    served_request_free(&request);
    memcpy(copy, line, length);
    const char *wrong = served_request_read(&request, copy, length);
    free(copy);
    return wrong;
}

static int end(void **state)
{
    (void)state;
    served_request_free(&request);
    return 0;
}

static void assert_refused(const char *line, const char *part)
{
    const char *wrong = read_line(line);

    if (wrong == NULL || strstr(wrong, part) == NULL) {
        fail_msg("%s: %s", line, wrong == NULL ? "accepted" : wrong);
    }
}

static void assert_accepted(const char *line)
{
    const char *wrong = read_line(line);

    if (wrong != NULL) {
        fail_msg("%s: %s", line, wrong);
    }
}

static void defaults_of_an_acquire(void **state)
{
    (void)state;
    assert_accepted("{\"id\":0,\"op\":\"acquire\",\"path\":\"/a\"}");
    assert_int_equal(request.operation, SERVED_ACQUIRE);
    assert_int_equal(request.id, 0);
    assert_int_equal(request.kind, SERVED_MUTEX);
    assert_int_equal(request.timeout_ms, SERVED_WAIT_FOREVER);
    assert_int_equal(request.leases, 0);
    assert_string_equal(request.path, "/a");
    assert_null(request.owner);
    assert_null(request.data);
    assert_int_equal(request.max_hold_ms, 0);
    assert_int_equal(request.warning_ms, 0);
    assert_false(request.revocable || request.queued);
}

static void all_fields_of_an_acquire(void **state)
{
    (void)state;
    assert_accepted(" { \"op\" : \"acquire\", \"path\":\"/\\u00e4\", \"owner\":\"me\", "
                    "\"data\":\"\", \"timeout_ms\":0, \"queued\":true, "
                    "\"lock\":\"semaphore\", \"leases\":2, \"max_leases\":3, "
                    "\"max_hold_ms\":5, \"warning_ms\":5, "
                    "\"revocable\":false, \"id\":9007199254740992 }\r");
    assert_true(request.id == SERVED_NUMBER_MAX);
    assert_int_equal(request.kind, SERVED_SEMAPHORE);
    assert_int_equal(request.leases, 2);
    assert_int_equal(request.max_leases, 3);
    assert_int_equal(request.timeout_ms, 0);
    assert_int_equal(request.max_hold_ms, 5);
    assert_int_equal(request.warning_ms, 5);
    assert_string_equal(request.path, "/\303\244");
    assert_string_equal(request.owner, "me");
    assert_string_equal(request.data, "");
    assert_true(request.queued);
}

static void other_operations(void **state)
{
    (void)state;
    assert_accepted("{\"id\":1,\"op\":\"release\",\"hold\":5}");
    assert_int_equal(request.number, 5);
    assert_accepted("{\"id\":1,\"op\":\"valid\",\"hold\":5}");
    assert_accepted("{\"id\":1,\"op\":\"verify\",\"hold\":5}");
    assert_accepted("{\"id\":1,\"op\":\"cancel\",\"acquire\":0}");
    assert_int_equal(request.number, 0);
    assert_accepted("{\"id\":1,\"op\":\"elect\",\"path\":\"/a\",\"data\":\"me\"}");
    assert_int_equal(request.operation, SERVED_ELECT);
    assert_int_equal(request.kind, SERVED_LATCH);
    assert_accepted("{\"id\":1,\"op\":\"elect\",\"path\":\"/a\",\"lock\":\"mutex\"}");
    assert_int_equal(request.kind, SERVED_MUTEX);
    assert_accepted("{\"id\":1,\"op\":\"watch\",\"path\":\"/a\",\"lock\":\"latch\"}");
    assert_int_equal(request.kind, SERVED_LATCH);
    assert_accepted("{\"id\":1,\"op\":\"hello\"}");
    assert_int_equal(request.protocol_version, 1);
    assert_accepted("{\"id\":1,\"op\":\"hello\",\"version\":7}");
    assert_int_equal(request.protocol_version, 7);
    assert_accepted("{\"id\":1,\"op\":\"locks\"}");
    assert_int_equal(request.limit, 100);
    assert_accepted("{\"id\":1,\"op\":\"locks\",\"limit\":3}");
    assert_int_equal(request.limit, 3);
    assert_accepted(
        "{\"id\":1,\"op\":\"participants\",\"path\":\"/a\",\"lock\":\"read\"}");
    assert_int_equal(request.kind, SERVED_READ);
    assert_accepted("{\"id\":1,\"op\":\"watch\",\"path\":\"/a\",\"lock\":\"write\"}");
    assert_int_equal(request.interval_ms, 100);
    assert_accepted("{\"id\":1,\"op\":\"unwatch\",\"watch\":6}");
    assert_int_equal(request.number, 6);
    assert_accepted("{\"id\":1,\"op\":\"acquire_all\",\"members\":[{\"path\":\"/a\"}]}");
    assert_int_equal(json_array_size(request.members), 1);
    assert_false(request.in_turn);
    assert_accepted("{\"id\":1,\"op\":\"read\",\"hold\":5,\"path\":\"/a\"}");
    assert_int_equal(request.number, 5);
    assert_string_equal(request.path, "/a");
    assert_accepted("{\"id\":1,\"op\":\"status\",\"path\":\"/a\"}");
    assert_int_equal(request.limit, 100);
    assert_accepted("{\"id\":1,\"op\":\"leader\",\"path\":\"/a\"}");
    assert_int_equal(request.kind, SERVED_LATCH);
    assert_accepted("{\"id\":1,\"op\":\"leader\",\"path\":\"/a\",\"lock\":\"mutex\"}");
    assert_int_equal(request.kind, SERVED_MUTEX);
    assert_accepted("{\"id\":1,\"op\":\"revoke\",\"node\":\"/a/b\"}");
    assert_string_equal(request.node, "/a/b");
}

static struct served_request read_write(const char *write)
{
    struct served_request element;
    char line[256];

    snprintf(line, sizeof(line), "{\"id\":1,\"op\":\"write\",\"hold\":5,\"writes\":[%s]}",
             write);
    assert_accepted(line);
    assert_int_equal(request.number, 5);
    assert_null(served_request_read_write(&request, 0, &element));
    assert_string_equal(element.path, "/a");
    return element;
}

static void writes(void **state)
{
    struct served_request write = read_write("{\"kind\":\"create\",\"path\":\"/a\"}");
    (void)state;
    assert_int_equal(write.write_kind, SERVED_CREATE);
    assert_true(write.data == NULL && write.base64 == NULL);
    assert_int_equal(write.version, -1);
    write = read_write("{\"kind\":\"set\",\"path\":\"/a\",\"data\":\"x\",\"version\":0}");
    assert_int_equal(write.write_kind, SERVED_SET);
    assert_string_equal(write.data, "x");
    assert_int_equal(write.version, 0);
    write = read_write("{\"kind\":\"set\",\"path\":\"/a\",\"base64\":\"AA==\"}");
    assert_string_equal(write.base64, "AA==");
    write = read_write("{\"kind\":\"delete\",\"path\":\"/a\",\"version\":2147483647}");
    assert_int_equal(write.write_kind, SERVED_DELETE);
    assert_int_equal(write.version, 2147483647);
    write = read_write("{\"kind\":\"check\",\"path\":\"/a\"}");
    assert_int_equal(write.write_kind, SERVED_CHECK);
}

static void no_json(void **state)
{
    static const char *const lines[] = {"",
                                        "x",
                                        "[]",
                                        "1",
                                        "{\"id\":1",
                                        "{\"id\":1}{}",
                                        "{\"id\":1,\"id\":2,\"op\":\"valid\"}",
                                        "{\"id\":1,\"op\":\"a\\u0000b\"}",
                                        "{\"id\":1,\"op\":\"\\ud800\"}",
                                        "{\"id\":1,\"op\":\"\377\"}",
                                        "{'id':1}"};
    (void)state;
    for (size_t i = 0; i < sizeof(lines) / sizeof(lines[0]); i++) {
        assert_refused(lines[i], "not a JSON object");
        assert_int_equal(request.id, -1);
    }
    assert_int_equal(0, served_request_read(&request, "{}\0", 3) == NULL);
}

static void wrong_id(void **state)
{
    static const char *const lines[] = {
        "{}", "{\"id\":-1,\"op\":\"valid\",\"hold\":1}",
        "{\"id\":1.0,\"op\":\"valid\",\"hold\":1}",
        "{\"id\":\"1\",\"op\":\"valid\",\"hold\":1}",
        "{\"id\":9007199254740993,\"op\":\"valid\",\"hold\":1}"};
    (void)state;
    for (size_t i = 0; i < sizeof(lines) / sizeof(lines[0]); i++) {
        assert_refused(lines[i], "`id`: missing");
        assert_int_equal(request.id, -1);
    }
    assert_refused("{\"id\":99999999999999999999,\"op\":\"valid\",\"hold\":1}",
                   "not a JSON");
}

static void wrong_fields(void **state)
{
    (void)state;
    assert_refused("{\"id\":1}", "`op`: missing");
    assert_int_equal(request.id, 1);
    assert_refused("{\"id\":1,\"op\":7}", "`op`: missing");
    assert_refused("{\"id\":1,\"op\":\"Acquire\"}",
                   "`Acquire`: no such `op`; did you mean `acquire`?");
    assert_refused("{\"id\":1,\"op\":\"acquire\"}", "`path`: missing");
    assert_refused("{\"id\":1,\"op\":\"acquire\",\"path\":null}", "`path`: not a text");
    assert_refused("{\"id\":1,\"op\":\"acquire\",\"path\":{}}", "`path`: not a text");
    assert_refused("{\"id\":1,\"op\":\"acquire\",\"path\":\"/a\",\"timeout\":5}",
                   "`timeout`: no such field; did you mean `timeout_ms`?");
    assert_refused("{\"id\":1,\"op\":\"acquire\",\"path\":\"/a\",\"timeout_ms\":-1}",
                   "not a whole number from");
    assert_refused("{\"id\":1,\"op\":\"acquire\",\"path\":\"/a\",\"timeout_ms\":0.5}",
                   "`timeout_ms`: not a whole number from 0 to 86400000");
    assert_refused("{\"id\":1,\"op\":\"acquire\",\"path\":\"/a\",\"queued\":1}",
                   "`queued`: not true or false");
    assert_refused("{\"id\":1,\"op\":\"acquire\",\"path\":\"/a\",\"lock\":\"rw\"}",
                   "`lock`: not mutex, read");
    assert_refused("{\"id\":1,\"op\":\"release\",\"hold\":1,\"path\":\"/a\"}",
                   "no such field");
    assert_refused("{\"id\":1,\"op\":\"release\"}", "`hold`: missing");
    assert_refused("{\"id\":1,\"op\":\"release\",\"hold\":0}", "not a whole number from");
    assert_refused("{\"id\":1,\"op\":\"cancel\"}", "`acquire`: missing");
    assert_refused("{\"id\":1,\"op\":\"elect\",\"path\":\"/a\",\"owner\":\"me\"}",
                   "no such field");
    assert_refused("{\"id\":1,\"op\":\"locks\",\"path\":\"/a\"}", "no such field");
    assert_refused("{\"id\":1,\"op\":\"hello\",\"version\":0}",
                   "not a whole number from");
    assert_refused("{\"id\":1,\"op\":\"locks\",\"limit\":101}",
                   "not a whole number from");
    assert_refused("{\"id\":1,\"op\":\"watch\",\"path\":\"/a\",\"interval_ms\":-1}",
                   "not a whole number from");
}

static void fields_that_do_not_go_together(void **state)
{
    (void)state;
    assert_refused("{\"id\":1,\"op\":\"elect\",\"path\":\"/a\",\"lock\":\"read\"}",
                   "latch or mutex");
    assert_refused("{\"id\":1,\"op\":\"leader\",\"path\":\"/a\",\"lock\":\"write\"}",
                   "`lock`: of `leader` it is latch or mutex");
    assert_refused("{\"id\":1,\"op\":\"acquire\",\"path\":\"/a\",\"lock\":\"latch\"}",
                   "`lock`: a latch is for `elect`");
    assert_refused("{\"id\":1,\"op\":\"acquire\",\"path\":\"/a\",\"leases\":1}",
                   "`leases`: only of a semaphore");
    assert_refused("{\"id\":1,\"op\":\"acquire\",\"path\":\"/a\",\"lock\":\"semaphore\"}",
                   "`max_leases`: missing");
    assert_refused("{\"id\":1,\"op\":\"acquire\",\"path\":\"/a\",\"lock\":\"semaphore\","
                   "\"max_leases\":2,\"leases\":3}",
                   "`leases`: more than `max_leases`");
    assert_refused("{\"id\":1,\"op\":\"acquire\",\"path\":\"/a\",\"lock\":\"semaphore\","
                   "\"max_leases\":2,\"revocable\":true}",
                   "revocable");
    assert_refused("{\"id\":1,\"op\":\"acquire\",\"path\":\"/a\",\"data\":\"x\","
                   "\"revocable\":true}",
                   "revocable");
    assert_refused("{\"id\":1,\"op\":\"elect\",\"path\":\"/a\",\"warning_ms\":1}",
                   "`warning_ms`: only with `max_hold_ms`");
    assert_refused("{\"id\":1,\"op\":\"acquire\",\"path\":\"/a\",\"warning_ms\":3,"
                   "\"max_hold_ms\":2}",
                   "`warning_ms`: more than `max_hold_ms`");
}

/* Refusals name the nearest name that there is, if one is near. */
static void nearest_names(void **state)
{
    static const char *const lines[][2] = {
        {"{\"id\":1,\"op\":\"aquire\"}",
         "`aquire`: no such `op`; did you mean `acquire`?"},
        {"{\"id\":1,\"op\":\"\"}", "``: no such `op`"},
        {"{\"id\":1,\"op\":\"lock\"}", "`lock`: no such `op`; did you mean `locks`?"},
        {"{\"id\":1,\"op\":\"fly\"}", "`fly`: no such `op`"},
        {"{\"id\":1,\"op\":\"acquire\",\"pth\":\"/a\"}",
         "`pth`: no such field; did you mean `path`?"},
        {"{\"id\":1,\"op\":\"acquire\",\"leaes\":1}",
         "`leaes`: no such field; did you mean `leases`?"},
        {"{\"id\":1,\"op\":\"acquire\",\"max-leases\":1}",
         "`max-leases`: no such field; did you mean `max_leases`?"},
        /* A field of another operation only. */
        {"{\"id\":1,\"op\":\"valid\",\"timeout\":1}", "`timeout`: no such field"},
        {"{\"id\":1,\"op\":\"acquire\",\"wait_forever_for_it\":1}",
         "`wait_forever_for_it`: no such field"},
        {"{\"id\":1,\"op\":\"acquire\","
         "\"\u00e4\u00e4\u00e4\u00e4\u00e4\u00e4\u00e4\u00e4\u00e4\u00e4"
         "x\u00e4\u00e4\u00e4\u00e4\u00e4\u00e4\u00e4\u00e4\u00e4\u00e4\":1}",
         "`\303\244\303\244\303\244\303\244\303\244\303\244\303\244\303\244\303\244\303"
         "\244"
         "x\303\244\303\244\303\244\303\244\303\244\303\244\303\244\303\244\303\244`: no "
         "such field"},
    };
    (void)state;
    for (size_t i = 0; i < sizeof(lines) / sizeof(lines[0]); i++) {
        assert_string_equal(read_line(lines[i][0]), lines[i][1]);
    }
}

static void requests_about_objects(void **state)
{
    (void)state;
    assert_accepted("{\"id\":1,\"op\":\"shared_count\",\"path\":\"/a\"}");
    assert_int_equal(request.operation, SERVED_SHARED_COUNT);
    assert_true(request.count == SERVED_NOT_GIVEN);
    assert_accepted("{\"id\":1,\"op\":\"set\",\"object\":7,\"count\":-2147483648,"
                    "\"mzxid\":4294967301,\"version\":-3}");
    assert_int_equal(request.operation, SERVED_SETTING);
    assert_int_equal(request.number, 7);
    assert_int_equal(request.count, INT32_MIN);
    assert_int_equal(request.mzxid, 4294967301);
    assert_int_equal(request.version, -3);
    assert_accepted("{\"id\":1,\"op\":\"set\",\"object\":7,\"base64\":\"AA==\"}");
    assert_true(request.mzxid == SERVED_NOT_GIVEN);
    assert_accepted(
        "{\"id\":1,\"op\":\"group_member\",\"path\":\"/a\",\"member\":\"b\"}");
    assert_string_equal(request.member, "b");
    assert_accepted("{\"id\":1,\"op\":\"enter\",\"path\":\"/a\",\"member_quantity\":5}");
    assert_int_equal(request.member_quantity, 5);
    assert_int_equal(request.timeout_ms, SERVED_WAIT_FOREVER);
    assert_accepted("{\"id\":1,\"op\":\"atomic_add\",\"path\":\"/a\","
                    "\"delta\":-9223372036854775808}");
    assert_true(request.value == INT64_MIN);
    assert_accepted("{\"id\":1,\"op\":\"atomic_compare_and_set\",\"path\":\"/a\","
                    "\"expected\":9223372036854775807,\"value\":-1}");
    assert_true(request.expected == INT64_MAX && request.value == -1);
}

static void wrong_requests_about_objects(void **state)
{
    static const char *const lines[][2] = {
        {"{\"id\":1,\"op\":\"set\",\"object\":7,\"data\":\"a\",\"base64\":\"AA==\"}",
         "`base64`: not with `data`"},
        {"{\"id\":1,\"op\":\"set\",\"object\":7,\"base64\":\"A\"}",
         "`base64`: not base64"},
        {"{\"id\":1,\"op\":\"set\",\"object\":7,\"count\":1,\"version\":1}",
         "`mzxid`: missing, and `version` needs it"},
        {"{\"id\":1,\"op\":\"set\",\"object\":7,\"count\":1,\"mzxid\":1}",
         "`version`: missing, and `mzxid` needs it"},
        {"{\"id\":1,\"op\":\"set\",\"object\":7,\"count\":2147483648}",
         "`count`: not a whole number from -2147483648 to 2147483647"},
        {"{\"id\":1,\"op\":\"barrier_wait\",\"path\":\"/a\",\"timeout_ms\":0}",
         "`timeout_ms`: at least 1 of `barrier_wait`"},
        {"{\"id\":1,\"op\":\"leave\",\"object\":1,\"timeout_ms\":0}",
         "`timeout_ms`: at least 1 of `leave`"},
        {"{\"id\":1,\"op\":\"atomic_add\",\"path\":\"/a\"}", "`delta`: missing"},
        {"{\"id\":1,\"op\":\"atomic_add\",\"path\":\"/a\",\"value\":1}",
         "`value`: no such field"},
        {"{\"id\":1,\"op\":\"atomic_compare_and_sets\"}",
         "`atomic_compare_and_sets`: no such `op`"},
        {"{\"id\":1,\"op\":\"atomic_compare-and-set\"}",
         "`atomic_compare-and-set`: no such `op`; did you mean "
         "`atomic_compare_and_set`?"},
        {"{\"id\":1,\"op\":\"metrics\",\"path\":\"/a\"}", "`path`: no such field"},
    };
    (void)state;

    for (size_t i = 0; i < sizeof(lines) / sizeof(lines[0]); i++) {
        assert_string_equal(read_line(lines[i][0]), lines[i][1]);
    }
}

static void deeply_nested_values_are_refused(void **state)
{
    static char line[16384];
    (void)state;
    memset(line, '[', sizeof(line) - 1);
    memcpy(line, "{\"id\":", 6);
    assert_refused(line, "not a JSON object");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_teardown(defaults_of_an_acquire, end),
        cmocka_unit_test_teardown(all_fields_of_an_acquire, end),
        cmocka_unit_test_teardown(other_operations, end),
        cmocka_unit_test_teardown(writes, end),
        cmocka_unit_test_teardown(requests_about_objects, end),
        cmocka_unit_test_teardown(wrong_requests_about_objects, end),
        cmocka_unit_test_teardown(no_json, end),
        cmocka_unit_test_teardown(wrong_id, end),
        cmocka_unit_test_teardown(wrong_fields, end),
        cmocka_unit_test_teardown(fields_that_do_not_go_together, end),
        cmocka_unit_test_teardown(nearest_names, end),
        cmocka_unit_test_teardown(deeply_nested_values_are_refused, end),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
