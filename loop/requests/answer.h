/* SPDX-License-Identifier: Apache-2.0 */
/* The completions that the C client calls with a reply. `data` is the struct
 * uvzk__request. Each completion runs on the C client's thread, copies the reply into the
 * request and pushes the request onto the queue to the loop. */
#ifndef UVZK_ANSWER_H
#define UVZK_ANSWER_H

#include <zookeeper/zookeeper.h>

void uvzk__answer_void(int rc, const void *data);
void uvzk__answer_multi(int rc, const void *data);
void uvzk__answer_stat(int rc, const struct Stat *stat, const void *data);
void uvzk__answer_data(int rc, const char *value, int length, const struct Stat *stat,
                       const void *data);
void uvzk__answer_names(int rc, const struct String_vector *names, const void *data);
void uvzk__answer_path(int rc, const char *path, const void *data);
void uvzk__answer_created(int rc, const char *path, const struct Stat *stat,
                          const void *data);
/* From a server that answers a create without a stat. */
void uvzk__answer_created_path(int rc, const char *path, const void *data);
/* Only the code counts. */
void uvzk__answer_question(int rc, const char *path, const struct Stat *stat,
                           const void *data);

#endif
