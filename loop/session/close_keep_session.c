/* SPDX-License-Identifier: Apache-2.0 */
/* Closes a zhandle_t without ending its session (close_keep_session.h).
 *
 * zookeeper_close writes a log line of level INFO on the calling thread before it asks
 * the server to end the session. close_keep_session_hear is the log callback meanwhile. It
 * recognises that line and shuts the socket down. At that moment zookeeper_close has
 * joined the handle's threads, so no other thread uses the socket. This was read in the
 * sources of 3.8.0 and 3.9.5.
 *
 * THREADED is undefined because zookeeper.h declares zookeeper_interest only for the
 * single-threaded library; libzookeeper_mt has the function too. */
#undef THREADED
#include "session/close_keep_session.h"

#include <pthread.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/time.h>

#include <zookeeper/zookeeper_log.h>

#include "log/log_route.h"

#define INFORMATION "ZOO_INFO@"
/* How the line begins that zookeeper_close writes before it asks for the end of the
 * session. */
#define ITS_LINE INFORMATION "zookeeper_close@"

/* The handle that this thread closes; NULL: none. */
static _Thread_local zhandle_t *closing;
static _Thread_local bool heard; /* the callback has received a line of level INFO */
/* The session timeout at the end; 0: not connected. */
static _Thread_local uint32_t given_ms;

static void (*wait_of_tests)(zhandle_t *zh);

void uvzk__close_keep_session_hook(void (*wait)(zhandle_t *zh))
{
    wait_of_tests = wait;
}

/* -------------------------------------------------------------------- the log level */

static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
static unsigned raised; /* how many threads need the level INFO now */
static ZooLogLevel level_before;

/* The log level is process-wide, so concurrent closes share one raised level. */
static void raise_level(void)
{
    pthread_mutex_lock(&mutex);
    if (raised++ == 0) {
        level_before = logLevel;
    }
    if (logLevel < ZOO_LOG_LEVEL_INFO) {
        zoo_set_debug_level(ZOO_LOG_LEVEL_INFO);
    }
    pthread_mutex_unlock(&mutex);
}

/* Restores the level, unless the program has set another one meanwhile. */
static void lower_level(void)
{
    pthread_mutex_lock(&mutex);
    if (--raised == 0 && logLevel == ZOO_LOG_LEVEL_INFO) {
        zoo_set_debug_level(level_before);
    }
    pthread_mutex_unlock(&mutex);
}

/* ------------------------------------------------------------------- the connection */

/* [P1] Closing a handle does not end its session: otherwise the servers would delete the
 * znodes of valid holds. Runs inside zookeeper_close, after the handle's threads have
 * ended. No other thread uses the socket or closes it. zookeeper_interest returns the
 * descriptor, which the library does not expose otherwise. */
static void shut_down(zhandle_t *zh)
{
    int fd = -1;
    int interest;
    struct timeval patience;

    (void)zookeeper_interest(zh, &fd, &interest, &patience);
    if (fd >= 0) {
        (void)shutdown(fd, SHUT_RDWR);
    }
}

/* The handle's log callback during the close. Lines that are not of level INFO, and lines
 * of the handle's other threads, go to the normal route. */
static void close_keep_session_hear(const char *line)
{
    zhandle_t *zh = closing;

    if (zh == NULL || strstr(line, INFORMATION) == NULL) {
        uvzk__log_route_callback()(line);
        return;
    }
    heard = true;
    if (strstr(line, ITS_LINE) != NULL && zoo_state(zh) == ZOO_CONNECTED_STATE) {
        /* Shutting the connection down loses its last replies, so the session timeout of
         * this connection is read here. */
        given_ms = (uint32_t)zoo_recv_timeout(zh);
        closing = NULL; /* lines that shut_down causes go to the normal route */
        shut_down(zh);
        closing = zh;
    }
}

/* Returns whether the callback receives lines of level INFO on this thread. The C client
 * allocates memory for a thread's first line and drops the line if there is none. If the
 * result is true, the level stays raised. */
static bool is_heard(zhandle_t *zh)
{
    zoo_set_log_callback(zh, close_keep_session_hear);
    heard = false;
    raise_level();
    LOG_INFO(close_keep_session_hear, "leaves its servers");
    if (!heard) {
        lower_level();
    }
    return heard;
}

bool uvzk__close_keep_session(zhandle_t *zh, uint32_t *timeout_ms)
{
    closing = zh;
    given_ms = 0;
    bool will_be_heard = is_heard(zh);
    if (will_be_heard) {
        if (wait_of_tests != NULL) {
            wait_of_tests(zh);
        }
        (void)zookeeper_close(zh);
        lower_level();
    }
    closing = NULL;
    *timeout_ms = given_ms > 0 ? given_ms : *timeout_ms;
    return will_be_heard;
}
