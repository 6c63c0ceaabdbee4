/* SPDX-License-Identifier: Apache-2.0 */
/* What the status of a reply says about its request (port.h, 4). Code that sends a
 * request uses this to decide whether to repeat the request, and what to report to its
 * caller. */
#ifndef UVZK_OUTCOME_H
#define UVZK_OUTCOME_H

#include <stdbool.h>

enum uvzk__outcome {
    UVZK__OUTCOME_DONE,
    UVZK__OUTCOME_REFUSED,  /* by a server, or by the port: it would be refused again */
    UVZK__OUTCOME_NOT_SENT, /* certainly not carried out: it may be repeated */
    UVZK__OUTCOME_UNKNOWN   /* perhaps carried out: there is no reply, or it was lost */
};

enum uvzk__outcome uvzk__outcome_of(int status);

/* Returns true if a request that failed with this status may succeed when it is repeated:
 * there was no connection or session, or a server or this process was short of resources.
 * So its outcome is NOT_SENT or UNKNOWN. For a reading nothing else matters. */
bool uvzk__is_transient(int status);

/* Returns true if the status says that there was no connection, or that it was lost. */
bool uvzk__says_connection_lost(int status);
/* Returns true if the status says that the session is over. The event that reports it
 * comes later (port.h, 6). */
bool uvzk__says_session_over(int status);

/* Returns the status to report to the caller of a write that ended with this status. The
 * write may have been carried out before its session ended, so for the caller the reply
 * is lost. */
int uvzk__status_of_write(int status);

#endif
