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
