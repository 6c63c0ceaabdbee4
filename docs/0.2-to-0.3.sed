# SPDX-License-Identifier: Apache-2.0
# Carries a C or C++ program from the names of uvzk 0.2 to those of 0.3 (GNU sed):
#
#     sed -zE -i -f 0.2-to-0.3.sed FILE...
#
# The table in CHANGELOG.md shows each change, and which ones need an editor. -z makes a whole file one
# line, so that a pattern may match the arguments of a call across lines. To run it twice does no harm.

# Names.
s/\bUVZK_EDEADLOCK\b/UVZK_EDEADLK/g
s/\bUVZK_ACL_ANYONE_LOOKS\b/UVZK_ACL_ANYONE_READS/g
s/\buvzk_driver_lock_init\b/uvzk_lock_init_with_driver/g
s/\bmetrics(\.|->)looks\b/metrics\1reads/g

# Reading: one call, whose callback receives the stat as well. A callback that ignores the stat says so.
s/\buvzk_client_look(_future)?\b/uvzk_client_read\1/g
s/\buvzk_look_cb\b/uvzk_read_cb/g
s/(\buvzk_read_t ?\*[[:space:]]*\w+,[[:space:]]*int[[:space:]]+\w+,[[:space:]]*)(const void ?\*[[:space:]]*\w+,[[:space:]]*size_t[[:space:]]+\w+\)[[:space:]]*\{\n)([[:blank:]]*)/\1const uvzk_stat_t *stat, \2\3(void)stat;\n\3/g
s/(\buvzk_read_t ?\*[[:space:]]*\w+,[[:space:]]*int[[:space:]]+\w+,[[:space:]]*)(const void ?\*[[:space:]]*\w+,[[:space:]]*size_t[[:space:]]+\w+\)[[:space:]]*\{)([^\n])/\1const uvzk_stat_t *stat, \2 (void)stat;\3/g
s/(\buvzk_read_t ?\*[[:space:]]*\w*,[[:space:]]*int[[:space:]]*\w*,[[:space:]]*)(const void ?\*)/\1const uvzk_stat_t *stat, \2/g
s/\n([[:blank:]]*)([^\n;{}]*\buvzk_future_stat\([^;{}]*,[[:space:]]*)(&\w+)(\))/\n\1uvzk_stat_init(\3);\n\1\2\3\4/g
s/\n[[:blank:]]*uvzk_stat_init\((&\w+)\);(\n[[:blank:]]*uvzk_stat_init\(\1\);)/\2/g
s/(\b\w*client\w*(\.|->))look\(/\1read(/g
s/\buvzk::bytes\b/uvzk::znode/g

# The log: one callback, which receives the part of the client that wrote the line.
s/\buvzk_client_log_line_cb\b/uvzk_client_log_cb/g
s/\blog_line_cb\b/log_cb/g
s/(\buvzk_client_t ?\*[[:space:]]*\w+,[[:space:]]*int[[:space:]]+\w+,[[:space:]]*)(const char ?\*[[:space:]]*\w+\)[[:space:]]*\{\n)([[:blank:]]*)/\1const char *module, \2\3(void)module;\n\3/g
s/(\buvzk_client_t ?\*[[:space:]]*\w+,[[:space:]]*int[[:space:]]+\w+,[[:space:]]*)(const char ?\*[[:space:]]*\w+\)[[:space:]]*\{)([^\n])/\1const char *module, \2 (void)module;\3/g
s/(\buvzk_client_t ?\*[[:space:]]*\w*,[[:space:]]*int[[:space:]]*\w*,[[:space:]]*)(const char ?\*[[:space:]]*\w*\);)/\1const char *module, \2/g
s/(\blog = \[[^]]*\][[:space:]]*\([[:space:]]*int ?\w*,[[:space:]]*)(std::string_view ?\w*\))/\1std::string_view, \2/g

# Statistics: metrics have all of them.
s/\buvzk_client_stats_t\b/uvzk_client_metrics_t/g
s/([[:blank:]]*)\buvzk_client_stats\(([^;]*),[[:space:]]*(&?[^,;()]+)\);/\1uvzk_client_metrics_init(\3);\n\1uvzk_client_metrics(\2, \3);/g

# Pointers, where 0.2 had a struct inside another.
s/(\b\w*entry->)(wait\.)(kind|ahead|predecessor|since)\b/\1wait->\3/g
s/(\b\w*entry->)(error\.)(code|address|text|at)\b/\1error->\3/g
s/&(\b\w*entry->(wait|error))\b/\1/g

# Callbacks that must not change the client receive it as const.
s/(\([[:space:]]*)(uvzk_client_t ?\*[[:space:]]*\w*,[[:space:]]*const uvzk_(hold_entry|session_entry|trace)_t ?\*)/\1const \2/g
s/(\([[:space:]]*)(uvzk_client_t ?\*[[:space:]]*\w*,[[:space:]]*const char ?\*[[:space:]]*\w*,[[:space:]]*size_t ?\*)/\1const \2/g
