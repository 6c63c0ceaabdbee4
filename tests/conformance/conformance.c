/* What port.h promises, asked of a port that the program is linked with. */
#include <stdlib.h>
#include <string.h>

#include "cases.h"

static int begin(void **state)
{
    (void)state;
    return world_begin();
}

static int end(void **state)
{
    (void)state;
    world_end();
    return 0;
}

static int make_user(void **state)
{
    *state = user_new();
    return 0;
}

static int make_direct_user(void **state)
{
    world_stand_direct(true);
    *state = user_new();
    world_stand_direct(false);
    return 0;
}

static int end_user(void **state)
{
    return user_end(*state) ? 0 : -1;
}

#define CASE(name) cmocka_unit_test_setup_teardown(name, make_user, end_user)

#define DIRECT_CASE(name) \
    cmocka_unit_test_setup_teardown(name, make_direct_user, end_user)

static const struct CMUnitTest tests[] = {
    CASE(create_tells_name_and_stat),
    CASE(create_numbers_siblings),
    CASE(create_numbers_persistent_siblings),
    CASE(create_refuses),
    CASE(container_is_made),
    CASE(delete_minds_the_version),
    CASE(set_and_get),
    CASE(a_server_reads_no_megabyte_of_data),
    CASE(exists_and_sync),
    CASE(children_are_listed),
    CASE(malformed_paths_are_refused),
    CASE(replies_come_in_order),
    CASE(many_requests_come_back_in_order),
    CASE(an_rpc_is_free_in_its_reply),
    CASE(multi_of_nothing_is_a_barrier),
    CASE(multi_does_all),
    CASE(multi_does_nothing),
    CASE(multi_refuses_what_cannot_be),
    CASE(multi_tells_what_it_made),
    CASE(multi_is_one_transaction),
    CASE(multi_numbers_siblings),
    CASE(multi_numbers_each_directory),
    CASE(multi_tells_each_of_many_names),
    CASE(multi_that_fails_counts_nothing),
    CASE(multi_that_fails_among_others_counts_nothing),
    CASE(multi_creates_if_the_check_holds),
    CASE(multi_refuses_sequential_creates),
    CASE(multi_lost_on_its_way_is_whole),
    CASE(watch_fires_once_after_its_reply),
    CASE(watch_waits_for_creation),
    CASE(watch_on_children),
    CASE(watch_on_children_fires_at_each_end),
    CASE(watch_on_children_is_deaf_to_all_else),
    CASE(watch_on_children_fires_once_for_a_multi),
    CASE(watch_on_children_beside_one_on_a_child),
    CASE(watch_of_a_failed_get_is_not_armed),
    CASE(unwatch_silences),
    CASE(unwatch_before_the_reply),
    CASE(unwatch_then_watch_again),
    CASE(unwatch_then_watch_another_kind),
    CASE(unwatch_leaves_the_neighbours),
    CASE(unwatch_while_disconnected),
    CASE(watches_are_lost_with_their_handle),
    CASE(watch_survives_a_disconnection),
    CASE(watch_on_children_survives_a_disconnection),
    CASE(watches_of_two_kinds_survive_a_disconnection),
    CASE(connected_tells_the_session),
    CASE(not_connected_is_not_sent),
    CASE(loss_is_told_then_replies_then_connected),
    CASE(loss_in_the_midst_of_many),
    CASE(expiry_replies_then_tells),
    DIRECT_CASE(expiry_replies_to_what_its_replies_ask),
    CASE(expiry_drops_watches),
    CASE(expiry_while_the_server_moves),
    CASE(open_again_inside_expiry),
    CASE(wake_brings_one_turn),
    CASE(alarm_brings_one_turn),
    CASE(alarm_further_away_comes),
    CASE(alarm_can_be_moved_and_switched_off),
    CASE(random_differs),
    CASE(close_unopened),
    CASE(close_while_opening),
    CASE(close_soon_after_open),
    CASE(close_with_requests_under_way),
    CASE(close_inside_a_reply),
    CASE(close_while_disconnected),
    CASE(close_with_watches),
    CASE(close_after_expiry),
    CASE(a_storm_keeps_the_promises),
};

int main(void)
{
    return cmocka_run_group_tests(tests, begin, end);
}
