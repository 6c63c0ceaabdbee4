/* SPDX-License-Identifier: Apache-2.0 */
/* The channel between the holder and the supervisor of `uvzk lock`. */
#include "cmocka_test.h"

#include <unistd.h>

#include "channel.h"

static void messages_come_in_order_then_the_end(void **state)
{
    struct message message;
    int ends[2];
    (void)state;
    assert_int_equal(channel_open(ends), 0);
    assert_int_equal(channel_receive(ends[0], &message), 0);
    assert_true(channel_send_number(ends[1], MESSAGE_SIGNAL, 7));
    assert_true(channel_send_number(ends[1], MESSAGE_ENDED, 8));
    close(ends[1]);
    assert_int_equal(channel_receive(ends[0], &message), 1);
    assert_true(message.kind == MESSAGE_SIGNAL && message.number == 7);
    assert_int_equal(channel_receive(ends[0], &message), 1);
    assert_true(message.kind == MESSAGE_ENDED && message.number == 8);
    assert_int_equal(channel_receive(ends[0], &message), -1);
    close(ends[0]);
}

/* Otherwise the exit status of CMD would be lost. */
static void what_was_sent_comes_although_the_other_has_not_read_everything(void **state)
{
    struct message message;
    int ends[2];
    (void)state;
    assert_int_equal(channel_open(ends), 0);
    assert_true(channel_send_number(ends[0], MESSAGE_LOST, 0));
    assert_true(channel_send_number(ends[1], MESSAGE_ENDED, 6));
    close(ends[1]);
    assert_int_equal(channel_receive(ends[0], &message), 1);
    assert_true(message.kind == MESSAGE_ENDED && message.number == 6);
    assert_int_equal(channel_receive(ends[0], &message), -1);
    close(ends[0]);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(messages_come_in_order_then_the_end),
        cmocka_unit_test(what_was_sent_comes_although_the_other_has_not_read_everything),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
