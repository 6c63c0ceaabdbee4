/* SPDX-License-Identifier: Apache-2.0 */
/* A server that has diverged shows a znode that the quorum knows to be deleted, or does
 * not show a znode that exists. The session leaves such a server and connects to another
 * one.
 *
 * If no other server is in reach, the session comes back to the same server. After it has
 * left a server, it does not leave another one during a pause: two session timeouts at
 * first, then twice as long each time, up to five minutes. The pause begins with two
 * session timeouts again when no server has been left for an hour. */
#ifndef UVZK_DIVERGED_H
#define UVZK_DIVERGED_H

#include <stdbool.h>
#include <stdint.h>

struct uvzk__session;

/* One for each session. */
struct uvzk__divergence {
    uint64_t found_ms; /* when a server was last left; 0: never */
    uint32_t pause_ms; /* how long after found_ms no server is left */
};

/* Leaves the present server, because it has diverged. path: the znode that shows this.
 * shows: the server shows the znode although it is deleted; otherwise the server does not
 * show the znode although it exists. Returns false if the session stays at the server,
 * because the pause has not passed. */
bool uvzk__diverged(struct uvzk__session *, const char *path, bool shows);

#endif
