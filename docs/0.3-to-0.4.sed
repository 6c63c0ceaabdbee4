# SPDX-License-Identifier: Apache-2.0
# Carries a C or C++ program from the names of uvzk 0.3 to those of 0.4 (GNU sed):
#
#     sed -zE -i -f 0.3-to-0.4.sed FILE...
#
# The table in CHANGELOG.md shows each change, and which ones need an editor. -z makes a whole file one
# line, so that a pattern may match the arguments of a call across lines. To run it twice does no harm.

# What an acquire waits for: the call asks, and does not wait.
s/\buvzk_hold_wait\b/uvzk_hold_wait_info/g
s/\buvzk_wait_(t|s|init|init_size)\b/uvzk_wait_info_\1/g

# The call creates the znode of an atomic long; the struct is initialised by uvzk_atomic_long_init.
s/\buvzk_atomic_long_initialize(_future)?\b/uvzk_atomic_long_create\1/g

# The znodes of a hold: of leases, or of the members of a multi lock.
s/\buvzk_hold_lease_(count|path)\b/uvzk_hold_node_\1/g
s/\blease_count\(\)/node_count()/g

# A variant of an init is called _init_with_ and what it has.
s/\buvzk_mutex_init_cohort\b/uvzk_mutex_init_with_cohort/g
s/\bUVZK_SHELL_FIELDS\b/UVZK_HANDLE_FIELDS/g
s/(\b\w*atomic\w*(\.|->))initialize\(/\1create(/g

# C++: a task has the type of what it returns.
s/\buvzk::task([[:space:]]+\w)/uvzk::task<>\1/g

# Requests: one type, with one callback. What a call has found is in request->result.
s/\buvzk_write_t ?\*[[:space:]]*(\w+),[[:space:]]*int[[:space:]]+(\w+),[[:space:]]*size_t[[:space:]]+(\w+)\)([[:space:]]*)\{(\n?[[:blank:]]*)/uvzk_req_t *\1, int \2)\4{\5size_t \3 = \1->result->failed_op;\5/g
s/\buvzk_participants_t ?\*[[:space:]]*(\w+),[[:space:]]*int[[:space:]]+(\w+),[[:space:]]*const char ?\*const ?\*[[:space:]]*(\w+),[[:space:]]*size_t[[:space:]]+(\w+)\)([[:space:]]*)\{(\n?[[:blank:]]*)/uvzk_req_t *\1, int \2)\5{\6const char *const *\3 = \1->result->paths;\6size_t \4 = \1->result->count;\6/g
s/\buvzk_read_t ?\*[[:space:]]*(\w+),[[:space:]]*int[[:space:]]+(\w+),[[:space:]]*const uvzk_stat_t ?\*[[:space:]]*(\w+),[[:space:]]*const void ?\*[[:space:]]*(\w+),[[:space:]]*size_t[[:space:]]+(\w+)\)([[:space:]]*)\{(\n?[[:blank:]]*)/uvzk_req_t *\1, int \2)\6{\7const uvzk_stat_t *\3 = \1->result->stat;\7const void *\4 = \1->result->data;\7size_t \5 = \1->result->length;\7/g
s/\buvzk_election_participants_t ?\*[[:space:]]*(\w+),[[:space:]]*int[[:space:]]+(\w+),[[:space:]]*const uvzk_election_participant_t ?\*const ?\*[[:space:]]*(\w+),[[:space:]]*size_t[[:space:]]+(\w+)\)([[:space:]]*)\{(\n?[[:blank:]]*)/uvzk_req_t *\1, int \2)\5{\6const uvzk_election_participant_t *const *\3 = \1->result->participants;\6size_t \4 = \1->result->count;\6/g
s/\buvzk_atomic_call_t ?\*[[:space:]]*(\w+),[[:space:]]*int[[:space:]]+(\w+),[[:space:]]*const uvzk_atomic_value_t ?\*[[:space:]]*(\w+)\)([[:space:]]*)\{(\n?[[:blank:]]*)/uvzk_req_t *\1, int \2)\4{\5const uvzk_atomic_value_t *\3 = \1->result->value;\5/g
s/\b(uvzk_write_t ?\*[[:space:]]*\w*,[[:space:]]*int[[:space:]]*\w*),[[:space:]]*size_t[[:space:]]*\w*\)/\1)/g
s/\b(uvzk_participants_t ?\*[[:space:]]*\w*,[[:space:]]*int[[:space:]]*\w*),[[:space:]]*const char ?\*const ?\*[[:space:]]*\w*,[[:space:]]*size_t[[:space:]]*\w*\)/\1)/g
s/\b(uvzk_read_t ?\*[[:space:]]*\w*,[[:space:]]*int[[:space:]]*\w*),[[:space:]]*const uvzk_stat_t ?\*[[:space:]]*\w*,[[:space:]]*const void ?\*[[:space:]]*\w*,[[:space:]]*size_t[[:space:]]*\w*\)/\1)/g
s/\b(uvzk_election_participants_t ?\*[[:space:]]*\w*,[[:space:]]*int[[:space:]]*\w*),[[:space:]]*const uvzk_election_participant_t ?\*const ?\*[[:space:]]*\w*,[[:space:]]*size_t[[:space:]]*\w*\)/\1)/g
s/\b(uvzk_atomic_call_t ?\*[[:space:]]*\w*,[[:space:]]*int[[:space:]]*\w*),[[:space:]]*const uvzk_atomic_value_t ?\*[[:space:]]*\w*\)/\1)/g
s/\buvzk_participants_holding\(&?(\w+)\)/\1->result->holding/g
s/\buvzk_(verify|write|participants|revoke|read|set|election_participants|atomic_call|barrier_call)_(t|cb)\b/uvzk_req_\2/g
s/\bstruct uvzk_(verify|write|participants|revoke|read|set|election_participants|atomic_call|barrier_call)_s\b/struct uvzk_req_s/g
s/\buvzk_barrier_call_cancel\b/uvzk_req_cancel/g

# Futures: a call takes the request of a future. The future of a close or a release is attached to it.
s/\buvzk_(hold_verify|hold_write|lock_participants|client_revoke|client_read|shared_value_set|shared_value_try_set|shared_count_set|shared_count_try_set|barrier_set|barrier_remove|barrier_wait|double_barrier_enter|double_barrier_leave|atomic_long_get|atomic_long_add|atomic_long_compare_and_set|atomic_long_try_set|atomic_long_force_set|atomic_long_create|election_participants)_future\((([^(),]|\(([^()]|\([^()]*\))*\))+),([[:space:]]*)(([^(),]|\(([^()]|\([^()]*\))*\))+)((,([^()]|\(([^()]|\([^()]*\))*\))*)?)\)/uvzk_\1(\2,\5uvzk_future_req(\6)\9, uvzk_future_complete)/g
s/(\n[[:blank:]]*)(\w+) = uvzk_((lock|shared_value|shared_count|client|barrier|double_barrier|atomic_long|persistent_node|group_member)_close|hold_release)_future\((([^(),]|\(([^()]|\([^()]*\))*\))+),[[:space:]]*([^(),]+)\);/\1\2 = uvzk_\3(\5, NULL);\1if (\2 == 0) {\1    \2 = uvzk_future_end(\8, \5);\1}/g
s/(\n[[:blank:]]*)uvzk_((lock|shared_value|shared_count|client|barrier|double_barrier|atomic_long|persistent_node|group_member)_close|hold_release)_future\((([^(),]|\(([^()]|\([^()]*\))*\))+),[[:space:]]*([^(),]+)\);/\1uvzk_\2(\4, NULL);\1uvzk_future_end(\7, \4);/g
s/\buvzk_((lock|shared_value|shared_count|client|barrier|double_barrier|atomic_long|persistent_node|group_member)_close|hold_release)_future\((([^(),]|\(([^()]|\([^()]*\))*\))+),[[:space:]]*([^(),]+)\)/(uvzk_\1(\3, NULL) == 0 ? uvzk_future_end(\6, \3) : UVZK_ESTATE)/g
s/\buvzk_election_close_future\(([^(),]+),[[:space:]]*([^(),]+),[[:space:]]*([^(),]+)\)/(uvzk_election_close(\1, \3, NULL) == 0 ? uvzk_future_end(\2, \1) : UVZK_ESTATE)/g
s/\buvzk_future_data\(([^(),]+),[[:space:]]*&(\w+),[[:space:]]*&(\w+)\)/(uvzk_future_status(\1) == 0 ? (\2 = uvzk_future_req(\1)->result->data, \3 = uvzk_future_req(\1)->result->length, 0) : UVZK_ESTATE)/g
s/\buvzk_future_stat\(([^(),]+),[[:space:]]*&(\w+)\)/(uvzk_future_status(\1) == 0 ? (\2 = *uvzk_future_req(\1)->result->stat, 0) : UVZK_ESTATE)/g
s/\buvzk_future_participants\(([^(),]+),[[:space:]]*&(\w+),[[:space:]]*&(\w+),[[:space:]]*&(\w+)\)/(uvzk_future_status(\1) == 0 ? (\2 = uvzk_future_req(\1)->result->paths, \3 = uvzk_future_req(\1)->result->count, \4 = uvzk_future_req(\1)->result->holding, 0) : UVZK_ESTATE)/g
s/\buvzk_future_election_participants\(([^(),]+),[[:space:]]*&(\w+),[[:space:]]*&(\w+)\)/(uvzk_future_status(\1) == 0 ? (\2 = uvzk_future_req(\1)->result->participants, \3 = uvzk_future_req(\1)->result->count, 0) : UVZK_ESTATE)/g
s/\buvzk_future_atomic_value\(([^(),]+),[[:space:]]*&(\w+)\)/(uvzk_future_req(\1)->result != NULL ? (\2 = *uvzk_future_req(\1)->result->value, 0) : UVZK_ESTATE)/g
s/\buvzk_future_refused\(([^(),]+)\)/uvzk_future_req(\1)->result->failed_op/g
s/\n[[:blank:]]*uvzk_(stat|atomic_value)_init\(&\w+\);//g
