/* SPDX-License-Identifier: Apache-2.0 */
/* What is at the path of a lock, for uvzk doctor: whether this client may read it, contenders
 * of kinds that do not exclude one another, and contenders whose znodes no session ends. */
#ifndef PATH_CHECK_H
#define PATH_CHECK_H

#include "doctor/findings.h"
#include "query.h"

/* Reads the path in a session of its own, with a loop of its own, and adds the findings. */
void path_check_run(const struct query_options *, struct findings *);

#endif
