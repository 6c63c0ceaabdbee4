/* SPDX-License-Identifier: Apache-2.0 */
/* What each status of a reply says about its request (outcome.h). */
#include "cmocka_test.h"

#include "base/outcome.h"
#include "uvzk.h"

static const struct {
    int status;
    enum uvzk__outcome outcome;
} statuses[] = {
    {0, UVZK__OUTCOME_DONE},
    {UVZK_ENOTSENT, UVZK__OUTCOME_NOT_SENT},
    {UVZK_ETHROTTLED, UVZK__OUTCOME_NOT_SENT},
    {UVZK_ECONNLOSS, UVZK__OUTCOME_UNKNOWN},
    {UVZK_EEXPIRED, UVZK__OUTCOME_UNKNOWN},
    {UVZK_EAUTH, UVZK__OUTCOME_UNKNOWN},
    {UVZK_ECLOSED, UVZK__OUTCOME_UNKNOWN},
    {UV_ENOMEM, UVZK__OUTCOME_UNKNOWN},
    {UVZK_ENONODE, UVZK__OUTCOME_REFUSED},
    {UVZK_ENODEEXISTS, UVZK__OUTCOME_REFUSED},
    {UVZK_ENOTEMPTY, UVZK__OUTCOME_REFUSED},
    {UVZK_EBADVERSION, UVZK__OUTCOME_REFUSED},
    {UVZK_ENOAUTH, UVZK__OUTCOME_REFUSED},
    {UVZK_EINVALIDACL, UVZK__OUTCOME_REFUSED},
    {UVZK_ENOCHILDREN, UVZK__OUTCOME_REFUSED},
    {UVZK_EUNIMPLEMENTED, UVZK__OUTCOME_REFUSED},
    {UVZK_EREJECTED, UVZK__OUTCOME_REFUSED},
    {UVZK_EZOOKEEPER, UVZK__OUTCOME_REFUSED},
};

#define COUNT (sizeof(statuses) / sizeof(statuses[0]))

static void every_status_has_one_outcome(void **state)
{
    (void)state;
    for (size_t i = 0; i < COUNT; i++) {
        enum uvzk__outcome outcome = uvzk__outcome_of(statuses[i].status);
        assert_int_equal(outcome, statuses[i].outcome);
        assert_int_equal(uvzk__is_transient(statuses[i].status),
                         outcome == UVZK__OUTCOME_NOT_SENT ||
                             outcome == UVZK__OUTCOME_UNKNOWN);
    }
}

/* What a caller may ask of a code is what uvzk itself goes by. */
static void users_are_told_the_same(void **state)
{
    (void)state;
    for (size_t i = 0; i < COUNT; i++) {
        assert_int_equal(uvzk_err_outcome_is_unknown(statuses[i].status),
                         statuses[i].outcome == UVZK__OUTCOME_UNKNOWN);
    }
}

/* The end of the session leaves a write as open as the end of the connection. No other
 * status is changed. */
static void expired_write_is_a_lost_one(void **state)
{
    (void)state;
    for (size_t i = 0; i < COUNT; i++) {
        int told = uvzk__status_of_write(statuses[i].status);
        assert_int_equal(told, statuses[i].status == UVZK_EEXPIRED ? UVZK_ECONNLOSS
                                                                   : statuses[i].status);
        assert_int_equal(uvzk__outcome_of(told), statuses[i].outcome);
    }
}

static void connection_and_session_are_told_apart(void **state)
{
    (void)state;
    for (size_t i = 0; i < COUNT; i++) {
        int status = statuses[i].status;
        bool connection = status == UVZK_ECONNLOSS || status == UVZK_ENOTSENT;
        bool session =
            status == UVZK_EEXPIRED || status == UVZK_EAUTH || status == UVZK_ECLOSED;
        assert_int_equal(uvzk__says_connection_lost(status), connection);
        assert_int_equal(uvzk__says_session_over(status), session);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_status_has_one_outcome),
        cmocka_unit_test(users_are_told_the_same),
        cmocka_unit_test(expired_write_is_a_lost_one),
        cmocka_unit_test(connection_and_session_are_told_apart),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
