/* SPDX-License-Identifier: Apache-2.0 */
/* Reads which locks a daemon (`uvzk serve`) knows of: connects to its socket, sends the
 * request "locks", and makes rows of the answer, for `uvzk top --socket`.
 *
 *   daemon_locks_read --> connected --> the answer --> closed --> daemon_locks_cb
 *             `--------------`---- a failure, DAEMON_LOCKS_MS ----^ */
#ifndef DAEMON_LOCKS_H
#define DAEMON_LOCKS_H

#include <stdbool.h>

#include <uv.h>

#include "lock_rows.h"
#include "serve/line_buffer.h"

#define DAEMON_LOCKS_MS 10000U /* how long it waits for the daemon */

struct daemon_locks;
/* Called once for each daemon_locks_read, never inside it, unless daemon_locks_cancel is
 * called first. status < 0: a code of libuv, and there are no rows. */
typedef void (*daemon_locks_cb)(struct daemon_locks *, int status);

/* Zero the struct, then set the first members. */
struct daemon_locks {
    uv_loop_t *loop;
    const char *socket; /* its path */
    void *data;         /* the user's */

    /* The result. left_out: there are more locks than one answer has. data: the process
     * that has held the lock for longest. */
    struct lock_rows found;

    /* Its own. */
    daemon_locks_cb cb;
    uv_pipe_t pipe;
    uv_timer_t timer;
    uv_connect_t connecting;
    uv_write_t writing;
    struct line_buffer lines;
    bool cancelled;
    size_t open_handles; /* 0: it does not read */
    int status;
};

void daemon_locks_read(struct daemon_locks *, daemon_locks_cb cb);
void daemon_locks_cancel(struct daemon_locks *);

#endif
