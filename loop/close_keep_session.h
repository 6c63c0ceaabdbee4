/* Closes a zhandle_t and leaves its session alone. zookeeper_close asks the server to
 * end the session if the handle is connected when its threads have ended, and nobody
 * can know before whether it will be. But it says so first, by a line of log on the
 * calling thread: there the connection is shut down, and the request to end the
 * session goes nowhere. */
#ifndef UVZK_CLOSE_KEEP_SESSION_H
#define UVZK_CLOSE_KEEP_SESSION_H

#include <stdbool.h>
#include <stdint.h>

#include <zookeeper/zookeeper.h>

/* Blocks as zookeeper_close does. False: there is no memory for that line; nothing has
 * happened. *timeout_ms: what the server has given the session that it was connected
 * to in the end; untouched if there was none. */
bool uvzk__close_keep_session(zhandle_t *zh, uint32_t *timeout_ms);

/* For tests: called between the last moment at which anything can be known of the handle
 * and its end. NULL: nothing is. */
void uvzk__close_keep_session_hook(void (*wait)(zhandle_t *zh));

#endif
