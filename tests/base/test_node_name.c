/* SPDX-License-Identifier: Apache-2.0 */
#include "cmocka_test.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "base/node_name.h"
#include "seeded.h"

#define UUID "64fc66ae-773f-4d77-9695-eba698b095f7"
#define DIGITS32 "64fc66ae773f4d779695eba698b095f7"

static const uint8_t uuid_bytes[UVZK__UUID_BYTES] = {0x64, 0xfc, 0x66, 0xae, 0x77, 0x3f,
                                                     0x4d, 0x77, 0x96, 0x95, 0xeb, 0xa6,
                                                     0x98, 0xb0, 0x95, 0xf7};

static struct uvzk__node_name parse(const char *name, const char *token)
{
    struct uvzk__node_name parsed;
    memset(&parsed, 0xa5, sizeof(parsed)); /* all of it must be written */
    uvzk__node_name_parse(&parsed, name, token);
    return parsed;
}

static void a_random_uuid_is_version_4_variant_1(void **state)
{
    (void)state;
    uint8_t uuid[UVZK__UUID_BYTES];
    memset(uuid, 0xff, sizeof(uuid));
    uvzk__uuid_from_random(uuid);
    char name[UVZK__PROTECTED_NAME_SIZE];
    uvzk__protected_name(name, uuid, "");
    assert_string_equal(name, "_c_ffffffff-ffff-4fff-bfff-ffffffffffff-");

    memset(uuid, 0, sizeof(uuid));
    uvzk__uuid_from_random(uuid);
    uvzk__protected_name(name, uuid, "");
    assert_string_equal(name, "_c_00000000-0000-4000-8000-000000000000-");
}

static void a_prefix_is_written_as_curator_does(void **state)
{
    (void)state;
    char name[UVZK__PROTECTED_NAME_SIZE];
    size_t length = uvzk__protected_name(name, uuid_bytes, "lock-");
    assert_string_equal(name, "_c_" UUID "-lock-");
    assert_int_equal(length, strlen(name));
    assert_int_equal(UVZK__PROTECTION_LENGTH, strlen("_c_" UUID "-"));
    assert_int_equal(UVZK__UUID_TEXT, strlen(UUID));
}

static void the_longest_token_fits(void **state)
{
    (void)state;
    char name[UVZK__PROTECTED_NAME_SIZE];
    size_t length = uvzk__protected_name(name, uuid_bytes, "0123456789abcde-");
    assert_string_equal(name, "_c_" UUID "-0123456789abcde-");
    assert_int_equal(length, UVZK__PROTECTED_NAME_SIZE - 1);
}

static void contenders_are_recognised(void **state)
{
    (void)state;
    static const struct {
        const char *name, *token;
        bool has_uuid;
        int32_t sequence;
    } rows[] = {
        {"_c_" UUID "-lock-0000000000", "lock-", true, 0},
        {"_c_" UUID "-lock-0000000001", "lock-", true, 1},
        {"_c_" UUID "-lock-2147483647", "lock-", true, INT32_MAX},
        {"_c_64FC66AE-773F-4D77-9695-EBA698B095F7-lock-0000000012", "lock-", true, 12},
        {"_c_64Fc66aE-773f-4d77-9695-eBa698b095F7-lock-0000000012", "lock-", true, 12},
        {"_c_" UUID "-__READ__0000000003", "__READ__", true, 3},
        {"_c_" UUID "-__WRIT__0000000003", "__WRIT__", true, 3},
        {"_c_" UUID "-lease-0000000003", "lease-", true, 3},
        {"_c_" UUID "-0000000003", "", true, 3},
        {"_c_" DIGITS32 "-lock-0000000001", "lock-", false, 1},
        {"_c_64FC66AE773F4D779695EBA698B095F7-lock-0000000001", "lock-", false, 1},
        {"_c_" DIGITS32 "-lock--2147483648", "lock-", false, INT32_MIN},
        /* What %010d makes of negative numbers: the width counts the sign. */
        {"_c_" UUID "-lock--2147483648", "lock-", true, INT32_MIN},
        {"_c_" UUID "-lock--1000000000", "lock-", true, -1000000000},
        {"_c_" UUID "-lock--999999999", "lock-", true, -999999999},
        {"_c_" UUID "-lock--000000001", "lock-", true, -1},
    };
    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
        struct uvzk__node_name parsed = parse(rows[i].name, rows[i].token);
        if (!parsed.is_contender) {
            fail_msg("not recognised: %s", rows[i].name);
        }
        assert_int_equal(parsed.has_uuid, rows[i].has_uuid);
        assert_int_equal(parsed.sequence, rows[i].sequence);
        static const uint8_t no_uuid[UVZK__UUID_BYTES];
        assert_memory_equal(parsed.uuid, rows[i].has_uuid ? uuid_bytes : no_uuid,
                            sizeof(parsed.uuid));
    }
}

/* As printf does, whose format the server uses. */
static void numbers_are_written_as_the_server_does(void **state)
{
    static const int32_t numbers[] = {0,  1,          9,           10,        2147483647,
                                      -1, -999999999, -1000000000, INT32_MIN, 1000000000};
    char text[UVZK__SEQUENCE_SIZE], expected[UVZK__SEQUENCE_SIZE];

    (void)state;
    for (size_t i = 0; i < sizeof(numbers) / sizeof(numbers[0]); i++) {
        uvzk__sequence_write(text, numbers[i]);
        snprintf(expected, sizeof(expected), "%010" PRId32, numbers[i]);
        assert_string_equal(text, expected);
    }
}

static void foreign_names_are_not_contenders(void **state)
{
    (void)state;
    static const char *const names[] = {
        "", "0", "-1", "zzz", "lock-", "x-lock-0000000000", "lock-0000000000",
        "0000000000", "_c_", "_c_-lock-0000000000", "_c_" UUID, "_c_" UUID "-",
        "_c_" UUID "-lock-", "_c_" UUID "-lock", "_c_" UUID "-0000000000",
        "_c_" UUID "lock-0000000000", "_c_" UUID "--lock-0000000000",
        /* the protection prefix */
        UUID "-lock-0000000000", DIGITS32 "-lock-0000000000",
        "_C_" UUID "-lock-0000000000", "c_" UUID "-lock-0000000000",
        "_c" UUID "-lock-0000000000", "x_c_" UUID "-lock-0000000000",
        /* the UUID: short, long, misplaced hyphens, no hex */
        "_c_64fc66ae-773f-4d77-9695-eba698b095f-lock-0000000000",
        "_c_64fc66ae-773f-4d77-9695-eba698b095f70-lock-0000000000",
        "_c_64fc66a-e773f-4d77-9695-eba698b095f7-lock-0000000000",
        "_c_64fc66ae0773f-4d77-9695-eba698b095f7-lock-0000000000",
        "_c_64fc66ae-773f-4d77-9695eba698b095f7-lock-0000000000",
        "_c_64fc66ag-773f-4d77-9695-eba698b095f7-lock-0000000000",
        "_c_64FC66AG-773F-4D77-9695-EBA698B095F7-lock-0000000000",
        "_c_:4fc66ae-773f-4d77-9695-eba698b095f7-lock-0000000000",
        "_c_64fc66a`-773f-4d77-9695-eba698b095f7-lock-0000000000",
        "_c_64fc66a@-773f-4d77-9695-eba698b095f7-lock-0000000000",
        "_c_64fc66ae-773f-4d77-9695-eba698b095f -lock-0000000000",
        "_c_+4fc66ae-773f-4d77-9695-eba698b095f7-lock-0000000000",
        "_c_64fc66ae773f4d779695eba698b095f-lock-0000000000",
        "_c_64fc66ae773f4d779695eba698b095f70-lock-0000000000",
        "_c_64fc66ae773f4d779695eba698b095fx-lock-0000000000",
        "_c_64fc66ae-773f4d779695eba698b095f7-lock-0000000000",
        /* the token */
        "_c_" UUID "-LOCK-0000000000", "_c_" UUID "-loc-0000000000",
        "_c_" UUID "-lease-0000000000", "_c_" UUID "-__READ__0000000000",
        "_c_" UUID "-lock-lock-0000000000", "_c_" UUID "-xlock-0000000000",
        /* the sequence */
        "_c_" UUID "-lock-000000000", "_c_" UUID "-lock-00000000000",
        "_c_" UUID "-lock-000000000x", "_c_" UUID "-lock-0000000000x",
        "_c_" UUID "-lock-x0000000000", "_c_" UUID "-lock-+000000000",
        "_c_" UUID "-lock-+0000000000", "_c_" UUID "-lock- 000000000",
        "_c_" UUID "-lock-0000000000 ", "_c_" UUID "-lock-00000000-1",
        "_c_" UUID "-lock-0x00000001", "_c_" UUID "-lock--", "_c_" UUID "-lock--00000001",
        "_c_" UUID "-lock--21474836480", "_c_" UUID "-lock---000000001",
        "_c_" UUID "-lock--000000000", "_c_" UUID "-lock--0000000000",
        "_c_" UUID "-lock--0000000001",
        /* beyond int32, on either side, and what would wrap to 0 */
        "_c_" UUID "-lock-2147483648", "_c_" UUID "-lock-4294967296",
        "_c_" UUID "-lock-9999999999", "_c_" UUID "-lock--2147483649",
        "_c_" UUID "-lock--4294967296", "_c_" UUID "-lock--9999999999"};
    static const struct uvzk__node_name nothing;
    for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++) {
        struct uvzk__node_name parsed = parse(names[i], "lock-");
        if (parsed.is_contender) {
            fail_msg("taken for a contender: \"%s\"", names[i]);
        }
        assert_int_equal(parsed.has_uuid, nothing.has_uuid);
        assert_int_equal(parsed.sequence, nothing.sequence);
        assert_memory_equal(parsed.uuid, nothing.uuid, sizeof(nothing.uuid));
    }
}

static int32_t random_sequence(struct seeded *random)
{
    static const int32_t edges[] = {0,           1,          -1,         INT32_MAX,
                                    INT32_MIN,   999999999,  1000000000, -999999999,
                                    -1000000000, -1000000001};
    if (seeded_below(random, 4) == 0) {
        return edges[seeded_below(random, sizeof(edges) / sizeof(edges[0]))];
    }
    int64_t any = (int64_t)(seeded_next(random) >> 32) + INT32_MIN;
    return (int32_t)(any >> seeded_below(random, 31));
}

static size_t format_name(char *out, size_t size, const uint8_t *uuid, const char *token,
                          int32_t sequence)
{
    size_t length = uvzk__protected_name(out, uuid, token);
    snprintf(out + length, size - length, "%010" PRId32, sequence);
    return length;
}

static void names_survive_a_round_trip(void **state)
{
    (void)state;
    static const char *const tokens[] = {
        "lock-", "__READ__", "__WRIT__", "lease-", "latch-", "", "0123456789abcdef"};
    struct seeded random = seeded_begin();
    for (int i = 0; i < 20000; i++) {
        uint8_t uuid[UVZK__UUID_BYTES];
        for (size_t j = 0; j < sizeof(uuid); j++) {
            uuid[j] = (uint8_t)seeded_next(&random);
        }
        uvzk__uuid_from_random(uuid);
        int32_t sequence = random_sequence(&random);
        const char *token = tokens[seeded_below(&random, 7)];
        char name[UVZK__PROTECTED_NAME_SIZE + 16], again[sizeof(name)];
        format_name(name, sizeof(name), uuid, token, sequence);

        struct uvzk__node_name parsed = parse(name, token);
        assert_true(parsed.is_contender);
        assert_true(parsed.has_uuid);
        assert_memory_equal(parsed.uuid, uuid, sizeof(uuid));
        assert_int_equal(parsed.sequence, sequence);
        format_name(again, sizeof(again), parsed.uuid, token, parsed.sequence);
        assert_string_equal(again, name);
    }
}

/* A name with one byte changed, cut or doubled is either no contender's or it
 * is another name of the grammar: printed again it gives the same text. */
static void damaged_names_are_refused_or_mean_what_they_say(void **state)
{
    (void)state;
    static const char bytes[] = "0123456789abcdefABCDEF-_ lockx\x80\xff";
    struct seeded random = seeded_begin();
    for (int i = 0; i < 20000; i++) {
        char name[96] = "_c_" UUID "-lock-", again[96];
        snprintf(name + strlen(name), 16, "%010" PRId32, random_sequence(&random));
        size_t length = strlen(name);
        size_t at = seeded_below(&random, (uint32_t)length);
        switch (seeded_below(&random, 3)) {
        case 0:
            name[at] = bytes[seeded_below(&random, sizeof(bytes) - 1)];
            break;
        case 1:
            memmove(name + at, name + at + 1, length - at);
            break;
        default:
            memmove(name + at + 1, name + at, length - at + 1);
            break;
        }
        struct uvzk__node_name parsed = parse(name, "lock-");
        if (parsed.is_contender) {
            assert_true(parsed.has_uuid);
            format_name(again, sizeof(again), parsed.uuid, "lock-", parsed.sequence);
            for (char *c = name; *c != '\0'; c++) {
                if (*c >= 'A' && *c <= 'F') {
                    *c = (char)(*c - 'A' + 'a');
                }
            }
            assert_string_equal(again, name);
        }
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_random_uuid_is_version_4_variant_1),
        cmocka_unit_test(a_prefix_is_written_as_curator_does),
        cmocka_unit_test(the_longest_token_fits),
        cmocka_unit_test(contenders_are_recognised),
        cmocka_unit_test(numbers_are_written_as_the_server_does),
        cmocka_unit_test(foreign_names_are_not_contenders),
        cmocka_unit_test(names_survive_a_round_trip),
        cmocka_unit_test(damaged_names_are_refused_or_mean_what_they_say),
    };
    return cmocka_run_group_tests_name("node_name", tests, NULL, NULL);
}
