/* SPDX-License-Identifier: Apache-2.0 */
/* What all programs of the daemon hold and wait for, one summary for each lock: `uvzk top
 * --socket` shows it. It contains only what the daemon itself knows, so it costs no
 * request to the servers, and does not include the contenders of other clients. */
#ifndef LOCK_SUMMARIES_H
#define LOCK_SUMMARIES_H

#include "serve/served_request.h"

struct served_connection;

/* Answers the request "locks": the busiest locks first. */
void lock_summaries_send(struct served_connection *, const struct served_request *);

#endif
