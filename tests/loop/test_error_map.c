/* SPDX-License-Identifier: Apache-2.0 */
/* The error map is total, lets no raw code through, and puts every code into
 * its class. */
#include "cmocka_test.h"

#include <ares.h>
#include <string.h>
#include <zookeeper/zookeeper.h>

#include "platform/error_map.h"
#include "uvzk.h"

static int is_ours(int code)
{
#define XX(name, value, text)  \
    if (code == UVZK_##name) { \
        return 1;              \
    }
    UVZK_ERRNO_MAP(XX)
#undef XX
    return code == UV_ENOMEM;
}

static void every_code_is_mapped(void **state)
{
    (void)state;
    assert_int_equal(uvzk__error_of_reply(ZOK), 0);
    for (int code = -1; code >= -2000; code--) {
        assert_true(is_ours(uvzk__error_of_reply(code)));
        assert_true(is_ours(uvzk__error_of_submit(code)));
    }
    assert_true(is_ours(uvzk__error_of_reply(1)));
}

static void unknown_codes_are_other_errors(void **state)
{
    (void)state;
    assert_int_equal(uvzk__error_of_reply(-3), UVZK_EZOOKEEPER);
    assert_int_equal(uvzk__error_of_reply(-130), UVZK_EZOOKEEPER);
    assert_int_equal(uvzk__error_of_reply(-9999), UVZK_EZOOKEEPER);
}

static void a_lost_connection_is_an_unknown_outcome(void **state)
{
    static const int codes[] = {-1, -2, -4, -7, -118, -122};
    (void)state;
    for (size_t i = 0; i < sizeof(codes) / sizeof(codes[0]); i++) {
        assert_int_equal(uvzk__error_of_reply(codes[i]), UVZK_ECONNLOSS);
    }
}

static void answers_are_told_apart(void **state)
{
    (void)state;
    assert_int_equal(uvzk__error_of_reply(ZUNIMPLEMENTED), UVZK_EUNIMPLEMENTED);
    assert_int_equal(uvzk__error_of_reply(ZBADARGUMENTS), UVZK_EREJECTED);
    assert_int_equal(uvzk__error_of_reply(ZNONODE), UVZK_ENONODE);
    assert_int_equal(uvzk__error_of_reply(ZNOAUTH), UVZK_ENOAUTH);
    assert_int_equal(uvzk__error_of_reply(ZBADVERSION), UVZK_EBADVERSION);
    assert_int_equal(uvzk__error_of_reply(ZNOCHILDRENFOREPHEMERALS), UVZK_ENOCHILDREN);
    assert_int_equal(uvzk__error_of_reply(ZNODEEXISTS), UVZK_ENODEEXISTS);
    assert_int_equal(uvzk__error_of_reply(ZNOTEMPTY), UVZK_ENOTEMPTY);
    assert_int_equal(uvzk__error_of_reply(ZSESSIONEXPIRED), UVZK_EEXPIRED);
    assert_int_equal(uvzk__error_of_reply(ZINVALIDACL), UVZK_EINVALIDACL);
    assert_int_equal(uvzk__error_of_reply(ZAUTHFAILED), UVZK_EAUTH);
    assert_int_equal(uvzk__error_of_reply(ZCLOSING), UVZK_ECLOSED);
    assert_int_equal(uvzk__error_of_reply(-127), UVZK_ETHROTTLED);
}

static void what_was_refused_was_not_sent(void **state)
{
    (void)state;
    assert_int_equal(uvzk__error_of_submit(ZMARSHALLINGERROR), UV_ENOMEM);
    assert_int_equal(uvzk__error_of_submit(ZINVALIDSTATE), UVZK_ENOTSENT);
    assert_int_equal(uvzk__error_of_submit(ZBADARGUMENTS), UVZK_EREJECTED);
}

static void resolver_errors_are_libuvs(void **state)
{
    (void)state;
    assert_int_equal(uvzk__error_of_resolver(ARES_SUCCESS), 0);
    assert_int_equal(uvzk__error_of_resolver(ARES_ENOTFOUND), UV_EAI_NONAME);
    assert_int_equal(uvzk__error_of_resolver(ARES_ENODATA), UV_EAI_NODATA);
    assert_int_equal(uvzk__error_of_resolver(ARES_ETIMEOUT), UV_EAI_AGAIN);
    assert_int_equal(uvzk__error_of_resolver(ARES_ENOMEM), UV_ENOMEM);
    for (int code = 1; code <= 200; code++) {
        const char *name = uv_err_name(uvzk__error_of_resolver(code));
        assert_int_not_equal(strncmp(name, "Unknown", 7), 0);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_code_is_mapped),
        cmocka_unit_test(unknown_codes_are_other_errors),
        cmocka_unit_test(a_lost_connection_is_an_unknown_outcome),
        cmocka_unit_test(answers_are_told_apart),
        cmocka_unit_test(what_was_refused_was_not_sent),
        cmocka_unit_test(resolver_errors_are_libuvs),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
