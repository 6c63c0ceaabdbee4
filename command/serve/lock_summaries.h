/* What all programs of the daemon hold and wait for, one summary for each lock: `uvzk top
 * --socket` shows it. It is what the daemon knows itself, so it costs no request to the
 * servers, and knows nothing of the contenders of other clients. */
#ifndef LOCK_SUMMARIES_H
#define LOCK_SUMMARIES_H

#include "serve/served_request.h"

struct served_connection;

/* Answers the request "locks": the busiest locks first. */
void lock_summaries_send(struct served_connection *, const struct served_request *);

#endif
