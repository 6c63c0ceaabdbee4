/* SPDX-License-Identifier: Apache-2.0 */
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
 * removal is sent only while no registration of the type on the path has a watch: when
 * the last one is given up or was not armed, and when the connection is established,
 * before the user is told CONNECTED. It is for all that are there. A later watch is
 * registered after the removal, so the removal does not affect it. */
#ifndef UVZK_REGISTRATION_H
#define UVZK_REGISTRATION_H

#include <stdbool.h>

#include <zookeeper/zookeeper.h>

#include "engine/port.h"
#include "platform/to_loop.h"
#include "platform/watched_paths.h"

struct uvzk__request;

/* The registrations of one zhandle_t. */
struct uvzk__registrations {
    struct uvzk__to_loop *to_loop;
    struct uvzk__link watched;  /* registrations with a watch */
    struct uvzk__link detached; /* registrations without a watch */
    struct uvzk__watched_paths paths;
};

struct uvzk__registration {
    struct uvzk__to_loop_entry entry; /* its event, on the to_loop queue */
    struct uvzk__link link;           /* on watched or detached */
    struct uvzk__registrations *registrations;
    struct uvzk__watched_path *path;
    struct uvzk__link on_path; /* on path->watches */
    struct uvzk__watch *watch; /* NULL: detached */
    /* The request that arms the watch; NULL once it has an answer, or was never sent. */
    struct uvzk__request *request;
    unsigned removals; /* removal requests under way */
    ZooWatcherType type;
    /* Set by the C client's thread before the entry is pushed. */
    enum uvzk__watch_event event;
    bool present; /* the C client has it in its tables */
    /* No more removals are requested: the server refused one, or there was no memory for
     * the request. The registration stays until its event comes or the handle is
     * closed. */
    bool abandoned;
};

void uvzk__registrations_init(struct uvzk__registrations *registrations,
                              struct uvzk__to_loop *to_loop);
/* Detaches all registrations. */
void uvzk__registrations_detach_all(struct uvzk__registrations *registrations);
/* Frees the detached registrations. The C client's threads have ended, so no watch event
 * will come. */
void uvzk__registrations_free_detached(struct uvzk__registrations *registrations);

/* Creates a registration for the watch that this request arms, and sets watch->armed. The
 * path is copied. Returns NULL if out of memory. */
struct uvzk__registration *
uvzk__registration_new(struct uvzk__registrations *registrations,
                       struct uvzk__request *request, struct uvzk__watch *watch,
                       ZooWatcherType type, const char *path);
/* Detaches the registration: its event will not be reported, and the watch belongs to the
 * user again. */
void uvzk__registration_detach(struct uvzk__registration *registration);
/* The request that was to arm the watch has an answer, or was never sent. `armed` says
 * whether the C client has the watch. Frees the registration if nothing else refers to
 * it. */
void uvzk__registration_answered(struct uvzk__registration *registration, bool armed);

/* Returns true if a registration of this type on the path has a watch. */
bool uvzk__registration_is_wanted(const struct uvzk__watched_path *path,
                                  ZooWatcherType type);
/* Returns a registration of this type on the path that is to be removed: none has a watch,
 * and no removal is under way. NULL: there is none. */
struct uvzk__registration *uvzk__registration_unwanted(struct uvzk__watched_path *path,
                                                       ZooWatcherType type);

/* A removal request has been added. */
static inline void uvzk__registration_removing(struct uvzk__registration *registration)
{
    registration->removals++;
}
/* No more removals are requested. */
static inline void uvzk__registration_abandon(struct uvzk__registration *registration)
{
    registration->abandoned = true;
}
/* A removal has been answered with this ZooKeeper code. Frees the registrations that it
 * has removed, if nothing else refers to them. */
void uvzk__registration_removed(struct uvzk__registration *registration, int code);

/* The watcher_fn of the C client; context is the registration. Runs on the C client's
 * thread. */
void uvzk__registration_event(zhandle_t *zh, int type, int state, const char *path,
                              void *context);

#endif
