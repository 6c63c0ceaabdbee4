/* A watch as the C client knows it. The C client keeps a pointer to the registration
 * until the event has come, the removal has been confirmed or the zhandle_t is closed.
 * The user of the port may give up its watch long before. The registration is then
 * *detached*: it has no watch, and its event is not reported.
 *
 *   new -> answered, armed -> event                        -> freed
 *    |         |                 ^ detached: not reported
 *    |         `-> detached -> removed at the server       -> freed
 *    `-> answered, not armed                               -> freed
 *
 * The removal request of the C client removes every watch of one type on the path. So a
 * removal is sent at two moments only: when the watch is given up, and when the
 * connection is established, before the user is told CONNECTED. All watches on the path
 * that exist at these moments are older. A later watch is registered after the removal,
 * so the removal does not affect it. */
#ifndef UVZK_REGISTRATION_H
#define UVZK_REGISTRATION_H

#include <stdbool.h>

#include <zookeeper/zookeeper.h>

#include "engine/port.h"
#include "platform/to_loop.h"

struct uvzk__handle;
struct uvzk__request;

struct uvzk__registration {
    struct uvzk__to_loop_entry entry; /* its event, on the to_loop queue */
    struct uvzk__link link;           /* on handle->watched or handle->detached */
    struct uvzk__handle *handle;
    struct uvzk__watch *watch; /* NULL: detached */
    /* The request that arms the watch; NULL once it has an answer, or was never sent. */
    struct uvzk__request *request;
    unsigned removals; /* removal requests under way */
    ZooWatcherType type;
    /* Set by the C client's thread before the entry is pushed. */
    enum uvzk__watch_event event;
    bool present; /* the C client has it in its tables */
    /* No removal is requested any more: the server refused it, or there was no memory for
     * the request. The registration stays until its event comes or the handle is
     * closed. */
    bool abandoned;
    char path[];
};

/* Creates a registration for the watch that this request arms, and sets watch->armed. The
 * path is copied. Returns false if out of memory. */
bool uvzk__registration_new(struct uvzk__request *request, struct uvzk__watch *watch,
                            const char *path);
/* Detaches the registration: its event is not reported any more, and the watch belongs to
 * the user again. */
void uvzk__registration_detach(struct uvzk__registration *registration);
/* The request that was to arm the watch has an answer, or was never sent. `armed` says
 * whether the C client has the watch. Frees the registration if nothing refers to it any
 * more. */
void uvzk__registration_answered(struct uvzk__request *request, bool armed);
/* Detaches the registration and adds a request by which the server removes the watch. The
 * caller must pump the send window. */
void uvzk__registration_unwatch(struct uvzk__registration *registration);
/* A removal has been answered with this ZooKeeper code. Frees the registration if nothing
 * refers to it any more. */
void uvzk__registration_removed(struct uvzk__registration *registration, int code);
/* The handle is connected: adds removal requests for the detached registrations that the
 * server may still have. */
void uvzk__registration_remove_detached(struct uvzk__handle *handle);
/* Detaches all registrations of the handle. */
void uvzk__registration_detach_all(struct uvzk__handle *handle);
/* The watcher_fn of the C client; context is the registration. Runs on the C client's
 * thread. */
void uvzk__registration_event(zhandle_t *zh, int type, int state, const char *path,
                              void *context);

#endif
