/* SPDX-License-Identifier: Apache-2.0 */
/* Closes a zhandle_t without ending its ZooKeeper session.
 *
 * zookeeper_close first joins the handle's threads. If the handle is then connected,
 * zookeeper_close asks the server to end the session. No check before the call can rule
 * that out, because the handle may connect after the check. But zookeeper_close writes a
 * log line on the calling thread before it sends that request. The log callback that is
 * installed here receives the line and shuts the socket down, so the request cannot reach
 * the server. */
#ifndef UVZK_CLOSE_KEEP_SESSION_H
#define UVZK_CLOSE_KEEP_SESSION_H

#include <stdbool.h>
#include <stdint.h>

#include <zookeeper/zookeeper.h>

/* Blocks as zookeeper_close does, so it must not run on the loop's thread.
 *
 * Returns true when zh is closed. Then *timeout_ms is the session timeout in ms that the
 * server granted on the last connection; *timeout_ms is unchanged if the handle was not
 * connected at the end. Returns false, and does nothing, if there is no memory for the
 * log line. */
bool uvzk__close_keep_session(zhandle_t *zh, uint32_t *timeout_ms);

/* For tests: `wait` runs directly before zookeeper_close, when no further check of the
 * handle follows. NULL removes it. */
void uvzk__close_keep_session_hook(void (*wait)(zhandle_t *zh));

#endif
