/* SPDX-License-Identifier: Apache-2.0 */
/* Who stands at a path with what data, or who leads there, for a program of `uvzk serve`.
 * It is what `uvzk status` and `uvzk leader` show, made by the same list. */
#ifndef SERVED_STATUS_H
#define SERVED_STATUS_H

#include <stdbool.h>
#include <stdint.h>

#include "participant_list.h"
#include "serve/served_request.h"

struct daemon;
struct served_connection;

/* One request, until the locks of its list are closed. */
struct served_status {
    struct participant_list list; /* its `data` is this status */
    struct served_connection *connection;
    int64_t id;
    enum served_operation operation;   /* SERVED_STATUS or SERVED_LEADER */
    int64_t limit;                     /* of participants */
    bool opened;                       /* the list has its locks */
    bool in_close;                     /* participant_list_close is being called */
    bool nothing_to_close;             /* it has found no lock to close */
    struct served_status *prev, *next; /* of the daemon's list */
};

/* Carries out "status" or "leader". */
void served_status_begin(struct served_connection *, const struct served_request *);

/* Frees those whose locks were closed by the end of the client. Call it after that. */
void served_statuses_free(struct daemon *);

#endif
