/* SPDX-License-Identifier: Apache-2.0 */
/* What follows from the keys of runs that are kept: run, done, or too old; their order, the
 * list as text, and the keys of slots. And the record of a run as text. */
#include "cmocka_test.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "run_key.h"
#include "run_record.h"

#define HOUR_MS INT64_C(3600000)
#define DAY_MS (24 * HOUR_MS)
#define AT_MS INT64_C(1764382500000) /* 2025-11-29T02:15:00Z */

/* -------------------------------------------------------------------------- keys */

static void some_texts_are_keys(void **state)
{
    char longest[RUN_KEY_SIZE + 1];

    (void)state;
    memset(longest, 'k', sizeof(longest));
    longest[RUN_KEY_SIZE] = '\0';
    assert_false(run_key_is_valid(longest));
    longest[RUN_KEY_SIZE - 1] = '\0';
    assert_true(run_key_is_valid(longest));
    assert_true(run_key_is_valid("2026-11-29T02:15:00Z"));
    assert_true(run_key_is_valid("..."));
    assert_true(run_key_is_valid("~!"));
    for (size_t i = 0; i < 7; i++) {
        static const char *const wrong[] = {"",    ".",   "..",      "a/b",
                                            "a b", "a\n", "\xc3\xa4"};
        assert_false(run_key_is_valid(wrong[i]));
    }
}

static void keys_have_an_order(void **state)
{
    static const char *const rising[] = {
        "-",   "0",    "00",    "01",         "1",          "9",        "10",
        "10-", "10-9", "10-10", "2026-11-29", "2026-12-01", "2027-1-1", "a",
        "a1",  "a1b",  "a2",    "a10",        "a10b",       "b"};
    size_t count = sizeof(rising) / sizeof(rising[0]);

    (void)state;
    for (size_t i = 0; i < count; i++) {
        for (size_t j = 0; j < count; j++) {
            int order = run_key_compare(rising[i], rising[j]);
            if ((order > 0) - (order < 0) != (i > j) - (i < j)) {
                fail_msg("%s and %s: %d", rising[i], rising[j], order);
            }
        }
    }
}

/* ------------------------------------------------------------------------- slots */

static const char *key_at(int64_t begun_ms, int64_t period_ms, int64_t offset_ms,
                          int64_t slack_ms)
{
    static char key[RUN_KEY_SIZE];

    run_key_of_time(&(struct run_slots){period_ms, offset_ms, slack_ms}, begun_ms, key);
    return key;
}

static void a_slot_begins_early_by_the_slack(void **state)
{
    const int64_t at = 2 * HOUR_MS + HOUR_MS / 4, slack = 30000;

    (void)state;
    assert_string_equal(key_at(AT_MS, DAY_MS, at, slack), "2025-11-29T02:15:00Z");
    assert_string_equal(key_at(AT_MS - slack, DAY_MS, at, slack), "2025-11-29T02:15:00Z");
    assert_string_equal(key_at(AT_MS - slack - 1, DAY_MS, at, slack),
                        "2025-11-28T02:15:00Z");
    assert_string_equal(key_at(AT_MS + DAY_MS - slack - 1, DAY_MS, at, slack),
                        "2025-11-29T02:15:00Z");
    assert_string_equal(key_at(AT_MS + DAY_MS - slack, DAY_MS, at, slack),
                        "2025-11-30T02:15:00Z");
}

static void slots_of_any_length(void **state)
{
    (void)state;
    assert_string_equal(key_at(AT_MS, HOUR_MS, 0, 0), "2025-11-29T02:00:00Z");
    assert_string_equal(key_at(AT_MS + 1999, 1000, 0, 0), "2025-11-29T02:15:01Z");
    assert_string_equal(key_at(999, 1000, 0, 0), "1970-01-01T00:00:00Z");
    /* Before the first slot, too. */
    assert_string_equal(key_at(0, DAY_MS, HOUR_MS, 0), "1969-12-31T01:00:00Z");
    assert_string_equal(key_at(-1, 1000, 0, 0), "1969-12-31T23:59:59Z");
}

/* A period that is changed makes keys that are as old as their times. */
static void keys_of_slots_are_in_the_order_of_time(void **state)
{
    char last[RUN_KEY_SIZE] = "";

    (void)state;
    for (int64_t i = 0; i < 2000; i++) {
        const char *key = key_at(AT_MS + i * 3 * DAY_MS, HOUR_MS * (1 + i % 3), 0, 0);
        assert_true(run_key_is_valid(key));
        assert_true(last[0] == '\0' || run_key_compare(last, key) < 0);
        snprintf(last, sizeof(last), "%s", key);
    }
}

/* ---------------------------------------------------------------------- the list */

static struct run_keys keys;
static char dropped[RUN_KEY_SIZE];

static void add(int number)
{
    char key[RUN_KEY_SIZE];

    snprintf(key, sizeof(key), "%d", number);
    assert_int_equal(run_decide(&keys, key, false), RUN_NOW);
    run_keys_add(&keys, key, dropped);
}

/* The keys 2, 4, ... 200. */
static void fill(void)
{
    keys.count = 0;
    for (int i = 1; i <= (int)RUN_KEYS_KEPT; i++) {
        add(2 * i);
        assert_string_equal(dropped, "");
    }
    assert_int_equal(keys.count, RUN_KEYS_KEPT);
}

static void the_list_is_in_order(void)
{
    for (size_t i = 1; i < keys.count; i++) {
        assert_true(run_key_compare(keys.keys[i - 1], keys.keys[i]) < 0);
    }
}

static void a_record_decides(void **state)
{
    (void)state;
    keys.count = 0;
    assert_int_equal(run_decide(&keys, "7", false), RUN_NOW);
    assert_int_equal(run_decide(&keys, "7", true), RUN_DONE);
    fill();
    /* Its record was deleted by hand, so that it runs again. */
    assert_int_equal(run_decide(&keys, "6", false), RUN_NOW);
    assert_int_equal(run_decide(&keys, "2", false), RUN_NOW);
    /* The list was deleted by hand, and made again. */
    assert_int_equal(run_decide(&keys, "7", true), RUN_DONE);
    assert_int_equal(run_decide(&keys, "1", true), RUN_DONE);
}

static void what_is_older_than_those_kept_is_refused(void **state)
{
    (void)state;
    fill();
    assert_int_equal(run_decide(&keys, "1", false), RUN_TOO_OLD);
    assert_int_equal(run_decide(&keys, "3", false), RUN_NOW); /* a late run */
    assert_int_equal(run_decide(&keys, "201", false), RUN_NOW);
    add(201);
    assert_string_equal(dropped, "2");
    assert_int_equal(run_decide(&keys, "2", false), RUN_TOO_OLD);
    assert_int_equal(run_decide(&keys, "3", false), RUN_TOO_OLD);
    add(5);
    assert_string_equal(dropped, "4");
    assert_string_equal(keys.keys[0], "5");
    assert_string_equal(run_keys_newest(&keys), "201");
    the_list_is_in_order();
    /* While there is room, nothing has been dropped. */
    keys.count = 0;
    add(9);
    assert_int_equal(run_decide(&keys, "1", false), RUN_NOW);
}

static void a_key_is_in_the_list_once(void **state)
{
    (void)state;
    fill();
    add(6);
    assert_string_equal(dropped, "");
    add(2);
    assert_string_equal(dropped, "");
    assert_int_equal(keys.count, RUN_KEYS_KEPT);
    the_list_is_in_order();
}

static void the_list_is_read_as_it_was_written(void **state)
{
    static char text[RUN_KEYS_SIZE], longest[RUN_KEY_SIZE];
    struct run_keys read;

    (void)state;
    keys.count = 0;
    assert_null(run_keys_newest(&keys));
    for (int i = 0; i < (int)RUN_KEYS_KEPT; i++) {
        memset(longest, 'k', sizeof(longest));
        snprintf(longest + RUN_KEY_SIZE - 4, 4, "%03d", i);
        assert_true(run_key_is_valid(longest));
        run_keys_add(&keys, longest, dropped);
    }
    for (;; keys.count /= 3) {
        size_t length = run_keys_write(&keys, text);
        assert_int_equal(length, strlen(text));
        assert_true(run_keys_read(&read, text, length));
        assert_int_equal(read.count, keys.count);
        for (size_t i = 0; i < read.count; i++) {
            assert_string_equal(read.keys[i], keys.keys[i]);
        }
        if (keys.count == 0) {
            return;
        }
    }
}

static void other_data_is_no_list(void **state)
{
    static const char *const wrong[] = {
        "x",      "uvzk run",          "uvzk runs\n1",     "uvzk runs\n2\n1\n",
        "2\n1\n", "uvzk runs\n1\n1\n", "uvzk runs\na b\n", "uvzk runs\n\n"};
    static char long_list[2 * RUN_KEYS_SIZE];
    size_t length;

    (void)state;
    for (size_t i = 0; i < sizeof(wrong) / sizeof(wrong[0]); i++) {
        assert_false(run_keys_read(&keys, wrong[i], strlen(wrong[i])));
        assert_int_equal(keys.count, 0);
    }
    assert_true(run_keys_read(&keys, "", 0)); /* made by hand */
    assert_true(run_keys_read(&keys, NULL, 0));
    assert_true(run_keys_read(&keys, "uvzk runs\n1\n2\n", 14));
    assert_int_equal(keys.count, 2);
    length = (size_t)snprintf(long_list, sizeof(long_list), "uvzk runs\n");
    for (int i = 0; i <= (int)RUN_KEYS_KEPT; i++) {
        length +=
            (size_t)snprintf(long_list + length, sizeof(long_list) - length, "%d\n", i);
    }
    assert_false(run_keys_read(&keys, long_list, length));
}

/* ---------------------------------------------------------------------- a record */

static void a_record_is_read_as_it_was_written(void **state)
{
    struct run_record records[] = {{.by = "ann@web1 pid 4711: nightly",
                                    .token = INT64_C(1) << 60,
                                    .began_ms = AT_MS,
                                    .has_ended = true,
                                    .took_ms = 61250,
                                    .status = 143},
                                   {.by = "\"\\\n\t{}", .token = 1}};

    (void)state;
    for (size_t i = 0; i < 2; i++) {
        struct run_record read;
        size_t length;
        char *text = run_record_write(&records[i], &length);
        assert_non_null(text);
        assert_int_equal(text[length - 1], '\n');
        assert_true(run_record_read(&read, text, length));
        free(text);
        assert_string_equal(read.by, records[i].by);
        assert_int_equal(read.token, records[i].token);
        assert_int_equal(read.began_ms, records[i].began_ms);
        assert_int_equal(read.has_ended, records[i].has_ended);
        assert_int_equal(read.took_ms, records[i].took_ms);
        assert_int_equal(read.status, records[i].status);
    }
}

static void other_data_is_no_record(void **state)
{
    static const char *const wrong[] = {"",
                                        "{}",
                                        "[]",
                                        "{\"by\":1,\"token\":1}",
                                        "{\"by\":\"ann\"}",
                                        "{\"by\":\"ann\",\"token\":1"};
    struct run_record read;

    (void)state;
    for (size_t i = 0; i < sizeof(wrong) / sizeof(wrong[0]); i++) {
        assert_false(run_record_read(&read, wrong[i], strlen(wrong[i])));
        assert_int_equal(read.token, 0);
    }
    assert_false(run_record_read(&read, NULL, 0));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(some_texts_are_keys),
        cmocka_unit_test(keys_have_an_order),
        cmocka_unit_test(a_slot_begins_early_by_the_slack),
        cmocka_unit_test(slots_of_any_length),
        cmocka_unit_test(keys_of_slots_are_in_the_order_of_time),
        cmocka_unit_test(a_record_decides),
        cmocka_unit_test(what_is_older_than_those_kept_is_refused),
        cmocka_unit_test(a_key_is_in_the_list_once),
        cmocka_unit_test(the_list_is_read_as_it_was_written),
        cmocka_unit_test(other_data_is_no_list),
        cmocka_unit_test(a_record_is_read_as_it_was_written),
        cmocka_unit_test(other_data_is_no_record),
    };
    return cmocka_run_group_tests_name("run_key", tests, NULL, NULL);
}
