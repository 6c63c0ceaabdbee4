/* The cases. Each is handed a user over a port that is not open. */
#ifndef CASES_H
#define CASES_H

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "user.h"

void create_tells_name_and_stat(void **state);
void create_numbers_siblings(void **state);
void create_numbers_persistent_siblings(void **state);
void create_refuses(void **state);
void container_is_made(void **state);
void delete_minds_the_version(void **state);
void set_and_get(void **state);
void a_server_reads_no_megabyte_of_data(void **state);
void exists_and_sync(void **state);
void children_are_listed(void **state);
void malformed_paths_are_refused(void **state);
void replies_come_in_order(void **state);
void many_requests_come_back_in_order(void **state);
void an_rpc_is_free_in_its_reply(void **state);
void multi_of_nothing_is_a_barrier(void **state);
void multi_does_all(void **state);
void multi_does_nothing(void **state);
void multi_refuses_what_cannot_be(void **state);
void multi_tells_what_it_made(void **state);
void multi_is_one_transaction(void **state);
void multi_numbers_siblings(void **state);
void multi_numbers_each_directory(void **state);
void multi_tells_each_of_many_names(void **state);
void multi_that_fails_counts_nothing(void **state);
void multi_that_fails_among_others_counts_nothing(void **state);
void multi_creates_if_the_check_holds(void **state);
void multi_refuses_sequential_creates(void **state);
void multi_lost_on_its_way_is_whole(void **state);
void watch_fires_once_after_its_reply(void **state);
void watch_waits_for_creation(void **state);
void watch_on_children(void **state);
void watch_on_children_fires_at_each_end(void **state);
void watch_on_children_is_deaf_to_all_else(void **state);
void watch_on_children_fires_once_for_a_multi(void **state);
void watch_on_children_beside_one_on_a_child(void **state);
void watch_of_a_failed_get_is_not_armed(void **state);
void unwatch_silences(void **state);
void unwatch_before_the_reply(void **state);
void unwatch_then_watch_again(void **state);
void unwatch_then_watch_another_kind(void **state);
void unwatch_leaves_the_neighbours(void **state);
void unwatch_while_disconnected(void **state);
void watch_survives_a_disconnection(void **state);
void watch_on_children_survives_a_disconnection(void **state);
void watches_are_lost_with_their_handle(void **state);
void watches_of_two_kinds_survive_a_disconnection(void **state);
void connected_tells_the_session(void **state);
void not_connected_is_not_sent(void **state);
void loss_is_told_then_replies_then_connected(void **state);
void loss_in_the_midst_of_many(void **state);
void expiry_replies_then_tells(void **state);
void expiry_replies_to_what_its_replies_ask(void **state);
void expiry_drops_watches(void **state);
void expiry_while_the_server_moves(void **state);
void open_again_inside_expiry(void **state);
void wake_brings_one_turn(void **state);
void alarm_brings_one_turn(void **state);
void alarm_further_away_comes(void **state);
void alarm_can_be_moved_and_switched_off(void **state);
void random_differs(void **state);
void close_unopened(void **state);
void close_while_opening(void **state);
void close_soon_after_open(void **state);
void close_with_requests_under_way(void **state);
void close_inside_a_reply(void **state);
void close_while_disconnected(void **state);
void close_with_watches(void **state);
void close_after_expiry(void **state);
void a_storm_keeps_the_promises(void **state);

#endif
