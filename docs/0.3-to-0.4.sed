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
