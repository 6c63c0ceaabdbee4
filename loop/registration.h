/* A watch as the C client knows it. The client keeps a pointer to it until the
 * event has come, the removal has been confirmed or the handle is closed; the
 * port's user may be done with its watch long before.
 *
 *   new -> answered, armed -> event                     -> freed
 *    |         |                 ^ severed: not told
 *    |         `-> severed -> removed at the server     -> freed
 *    `-> answered, not armed                            -> freed
 *
 * A removal takes every watch off a path. So it is sent at two moments only:
 * when the watch is given up, and at CONNECTED before the user is told; the
 * watches that stand on that path by then are older, a later one is registered
 * after the removal. */
#ifndef UVZK_REGISTRATION_H
#define UVZK_REGISTRATION_H

#include <stdbool.h>

#include <zookeeper/zookeeper.h>

#include "engine/port.h"
#include "to_loop.h"

struct uvzk__handle;
struct uvzk__request;

struct uvzk__registration {
    struct uvzk__to_loop_entry entry; /* its event, on the to_loop queue */
    struct uvzk__link link;           /* handle->watched or handle->severed */
    struct uvzk__handle *handle;
    struct uvzk__watch *watch;     /* NULL: severed */
    struct uvzk__request *request; /* by which it is being armed */
    unsigned removals;             /* under way */
    ZooWatcherType type;
    enum uvzk__watch_event event;
    bool present;   /* in the client's tables */
    bool abandoned; /* the server would not remove it, or could not be asked to: it stays
                       until its event comes or the handle is closed */
    char path[];
};

/* Of a request that will arm it. False: out of memory. */
bool uvzk__registration_new(struct uvzk__request *request, struct uvzk__watch *watch,
                            const char *path);
/* From now on its event is not told, and watch is the user's again. */
void uvzk__registration_detach(struct uvzk__registration *registration);
/* The request that was to arm it has an answer, or was never sent. */
void uvzk__registration_answered(struct uvzk__request *request, bool armed);
/* Severs it and has the server forget it, by a request that waits to be sent. */
void uvzk__registration_unwatch(struct uvzk__registration *registration);
/* A removal was answered with ZooKeeper's code. */
void uvzk__registration_removed(struct uvzk__registration *registration, int code);
/* Connected: asks again for what was severed and may still stand. */
void uvzk__registration_remove_detached(struct uvzk__handle *handle);
/* Severs all of the handle. */
void uvzk__registration_detach_all(struct uvzk__handle *handle);
/* The client's watcher_fn; the context is the registration. */
void uvzk__registration_event(zhandle_t *zh, int type, int state, const char *path,
                              void *context);

#endif
