/* SPDX-License-Identifier: Apache-2.0 */
/* A table from the operations of the protocol to the functions that carry them out
 * (served_operations.h). served_connection.c passes in each line. */
#include "serve/served_operations.h"

#include "serve/daemon.h"
#include "serve/lock_summaries.h"
#include "serve/served_answer.h"
#include "serve/served_atomic.h"
#include "serve/served_barrier.h"
#include "serve/served_connection.h"
#include "serve/served_hello.h"
#include "serve/served_hold.h"
#include "serve/served_listing.h"
#include "serve/served_memory.h"
#include "serve/served_metrics.h"
#include "serve/served_node.h"
#include "serve/served_object.h"
#include "serve/served_read.h"
#include "serve/served_request.h"
#include "serve/served_revoke.h"
#include "serve/served_status.h"
#include "serve/served_value.h"
#include "serve/served_wait.h"
#include "serve/served_watch.h"
#include "serve/served_write.h"

/* The operations that are still allowed when the daemon ends: the program may release its
 * holds. */
static bool is_refused(const struct daemon *daemon, const struct served_request *request)
{
    return daemon_is_ending(daemon) && request->operation != SERVED_RELEASE &&
           request->operation != SERVED_CANCEL && request->operation != SERVED_UNWATCH;
}

/* What is no lock. */
static void run_object(struct served_connection *connection,
                       const struct served_request *request)
{
    switch (request->operation) {
    case SERVED_SHARED_VALUE:
        served_value_open(connection, request);
        break;
    case SERVED_SHARED_COUNT:
        served_value_open_count(connection, request);
        break;
    case SERVED_PERSISTENT_NODE:
        served_node_open(connection, request);
        break;
    case SERVED_GROUP_MEMBER:
        served_node_join(connection, request);
        break;
    case SERVED_GETTING:
        served_objects_get(connection, request);
        break;
    case SERVED_SETTING:
        served_objects_set(connection, request);
        break;
    case SERVED_CLOSING:
        served_objects_close(connection, request);
        break;
    case SERVED_BARRIER_SET:
    case SERVED_BARRIER_REMOVE:
    case SERVED_BARRIER_WAIT:
        served_barrier_call(connection, request);
        break;
    case SERVED_ENTER:
        served_barrier_enter(connection, request);
        break;
    case SERVED_LEAVE:
        served_barrier_leave(connection, request);
        break;
    default:
        served_atomic_call(connection, request);
        break;
    }
}

static void run(struct served_connection *connection,
                const struct served_request *request)
{
    switch (request->operation) {
    case SERVED_ACQUIRE:
    case SERVED_ACQUIRE_ALL:
    case SERVED_ELECT:
        served_hold_acquire(connection, request);
        break;
    case SERVED_CANCEL:
        if (!served_objects_cancel(connection, request)) {
            served_hold_cancel(connection, request);
        }
        break;
    case SERVED_RELEASE:
        served_hold_release(connection, request);
        break;
    case SERVED_VALID:
        served_hold_valid(connection, request);
        break;
    case SERVED_VERIFY:
        served_hold_verify(connection, request);
        break;
    case SERVED_PARTICIPANTS:
        served_listing_begin(connection, request);
        break;
    case SERVED_WATCH:
        served_watch_begin(connection, request);
        break;
    case SERVED_UNWATCH:
        served_watch_unwatch(connection, request);
        break;
    case SERVED_HELLO:
        served_hello_answer(connection, request);
        break;
    case SERVED_CONNECTED:
        served_wait_begin(connection, request);
        break;
    case SERVED_METRICS:
        served_metrics_send(connection, request);
        break;
    default:
        run_object(connection, request);
        break;
    case SERVED_LOCKS:
        lock_summaries_send(connection, request);
        break;
    case SERVED_WRITING:
        served_write_send(connection, request);
        break;
    case SERVED_READING:
        served_read_send(connection, request);
        break;
    case SERVED_STATUS:
    case SERVED_LEADER:
        served_status_begin(connection, request);
        break;
    case SERVED_REVOKE:
        served_revoke_send(connection, request);
        break;
    }
}

void served_operations_run(struct served_connection *connection, const char *line,
                           size_t length)
{
    struct served_request request;

    served_memory_read_begin();
    const char *wrong = served_request_read(&request, line, length);
    if (!served_memory_read_end()) {
        /* No line is made of this answer either, so the connection is cut off. */
        served_connection_send(connection,
                               served_answer_status(request.id, UV_ENOMEM, 0));
    } else if (wrong != NULL) {
        connection->daemon->counts.wrong++;
        served_connection_send(
            connection, served_answer_error(request.id, SERVED_EREQUEST, wrong, 0));
    } else if (is_refused(connection->daemon, &request)) {
        served_connection_send(connection, served_answer_ending(request.id));
    } else {
        run(connection, &request);
    }
    served_request_free(&request);
}
