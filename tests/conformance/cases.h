/* SPDX-License-Identifier: Apache-2.0 */
/* The cases. Each is handed a probe over a world of its own, not open. */
#ifndef CASES_H
#define CASES_H

#include "world_probe.h"

/* XX(case); those of DIRECT_CASES have nothing between the port and its server. */
#define CASES(XX)                                     \
    XX(create_tells_name_and_stat)                    \
    XX(create_numbers_siblings)                       \
    XX(create_numbers_persistent_siblings)            \
    XX(create_refuses)                                \
    XX(container_is_made)                             \
    XX(delete_minds_the_version)                      \
    XX(set_and_get)                                   \
    XX(a_server_reads_no_megabyte_of_data)            \
    XX(exists_and_sync)                               \
    XX(children_are_listed)                           \
    XX(malformed_paths_are_refused)                   \
    XX(replies_come_in_order)                         \
    XX(many_requests_come_back_in_order)              \
    XX(an_rpc_is_free_in_its_reply)                   \
    XX(multi_of_nothing_is_a_barrier)                 \
    XX(multi_does_all)                                \
    XX(multi_does_nothing)                            \
    XX(multi_refuses_what_cannot_be)                  \
    XX(multi_tells_what_it_made)                      \
    XX(multi_is_one_transaction)                      \
    XX(multi_numbers_siblings)                        \
    XX(multi_numbers_each_directory)                  \
    XX(multi_tells_each_of_many_names)                \
    XX(multi_that_fails_counts_nothing)               \
    XX(multi_that_fails_among_others_counts_nothing)  \
    XX(multi_creates_if_the_check_holds)              \
    XX(multi_refuses_sequential_creates)              \
    XX(multi_lost_on_its_way_is_whole)                \
    XX(watch_fires_once_after_its_reply)              \
    XX(watch_waits_for_creation)                      \
    XX(watch_on_children)                             \
    XX(watch_on_children_fires_at_each_end)           \
    XX(watch_on_children_is_deaf_to_all_else)         \
    XX(watch_on_children_fires_once_for_a_multi)      \
    XX(watch_on_children_beside_one_on_a_child)       \
    XX(watch_of_a_failed_get_is_not_armed)            \
    XX(unwatch_silences)                              \
    XX(unwatch_before_the_reply)                      \
    XX(unwatch_then_watch_again)                      \
    XX(unwatch_then_watch_another_kind)               \
    XX(unwatch_leaves_the_neighbours)                 \
    XX(unwatch_while_disconnected)                    \
    XX(watches_are_lost_with_their_handle)            \
    XX(watches_survive_a_move)                        \
    XX(watch_survives_a_disconnection)                \
    XX(watch_on_children_survives_a_disconnection)    \
    XX(watches_of_two_kinds_survive_a_disconnection)  \
    XX(watches_of_one_path_fire_together)             \
    XX(unwatch_leaves_the_others_of_the_path)         \
    XX(the_last_unwatch_of_the_path_removes_them_all) \
    XX(unwatch_while_another_is_being_armed)          \
    XX(watches_are_armed_behind_a_removal)            \
    XX(unwatch_while_another_fails_to_be_armed)       \
    XX(watches_of_one_path_survive_a_disconnection)   \
    XX(unwatch_inside_the_event_of_the_path)          \
    XX(connected_tells_the_session)                   \
    XX(not_connected_is_not_sent)                     \
    XX(loss_is_told_then_replies_then_connected)      \
    XX(loss_in_the_midst_of_many)                     \
    XX(no_connection_has_a_reason)                    \
    XX(leaving_keeps_the_session)                     \
    XX(leaving_without_a_connection_is_nothing)       \
    XX(expiry_replies_then_tells)                     \
    XX(expiry_drops_watches)                          \
    XX(persistent_watch_hears_of_children)            \
    XX(persistent_watch_hears_before_the_reply)       \
    XX(persistent_watch_on_what_is_missing)           \
    XX(persistent_watch_beside_one_on_a_child)        \
    XX(persistent_watch_is_removed)                   \
    XX(persistent_watch_is_given_up_unanswered)       \
    XX(persistent_watch_ends_with_the_connection)     \
    XX(persistent_watch_ends_with_the_session)        \
    XX(expiry_while_the_server_moves)                 \
    XX(who_comes_back_late_keeps_the_session)         \
    XX(open_again_inside_expiry)                      \
    XX(end_session_while_it_opens)                    \
    XX(end_session_without_a_connection)              \
    XX(wake_brings_one_turn)                          \
    XX(alarm_brings_one_turn)                         \
    XX(alarm_further_away_comes)                      \
    XX(alarm_can_be_moved_and_switched_off)           \
    XX(random_differs)                                \
    XX(close_unopened)                                \
    XX(close_while_opening)                           \
    XX(close_soon_after_open)                         \
    XX(close_with_requests_under_way)                 \
    XX(close_inside_a_reply)                          \
    XX(close_while_disconnected)                      \
    XX(close_with_watches)                            \
    XX(close_after_expiry)                            \
    XX(a_storm_keeps_the_promises)
#define DIRECT_CASES(XX) XX(expiry_replies_to_what_its_replies_ask)
#define LONG_SESSION_CASES(XX)            \
    XX(end_session_ends_it_at_the_server) \
    XX(a_hundred_thousand_watches_survive_a_disconnection)

#define DECLARE(name) void name(void **state);
CASES(DECLARE)
DIRECT_CASES(DECLARE)
LONG_SESSION_CASES(DECLARE)
#undef DECLARE

/* The state's probe, when it has got connected. */
struct probe *connected(void **state);
/* ... and with these znodes: paths ends with NULL. */
struct probe *connected_with(void **state, const char *const *paths);
#define CONNECTED_WITH(...) \
    connected_with(state, (const char *const[]){__VA_ARGS__, NULL})

#endif
