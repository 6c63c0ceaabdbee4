/* SPDX-License-Identifier: Apache-2.0 */
/* Watches as the C client knows them (registration.h). All functions run on the loop's
 * thread, except uvzk__registration_event, which the C client's thread calls. A
 * registration is freed when the C client no longer has it (present), no request arms it
 * (request) and no removal is under way (removals). */
#include "watches/registration.h"

#include "base/memory.h"
#include "platform/error_map.h"

void uvzk__registrations_init(struct uvzk__registrations *registrations,
                              struct uvzk__to_loop *to_loop)
{
    registrations->to_loop = to_loop;
    uvzk__list_init(&registrations->watched);
    uvzk__list_init(&registrations->detached);
}

struct uvzk__registration *
uvzk__registration_new(struct uvzk__registrations *registrations,
                       struct uvzk__request *request, struct uvzk__watch *watch,
                       ZooWatcherType type, const char *path)
{
    struct uvzk__registration *registration = uvzk__calloc(1, sizeof(*registration));
    if (registration == NULL) {
        return NULL;
    }
    registration->path = uvzk__watched_path_use(&registrations->paths, path);
    if (registration->path == NULL) {
        uvzk__free(registration);
        return NULL;
    }
    uvzk__list_append(&registration->path->watches, &registration->on_path);
    registration->registrations = registrations;
    registration->request = request;
    registration->watch = watch;
    registration->type = type;
    uvzk__list_append(&registrations->watched, &registration->link);
    watch->armed = registration;
    return registration;
}

static void free_registration(struct uvzk__registration *registration)
{
    uvzk__list_remove(&registration->on_path);
    uvzk__watched_path_leave(&registration->registrations->paths, registration->path);
    uvzk__list_remove(&registration->link);
    uvzk__free(registration);
}

/* Frees the registration if neither the C client nor a request still refers to it. */
static void registration_release(struct uvzk__registration *registration)
{
    if (!registration->present && registration->request == NULL &&
        registration->removals == 0) {
        uvzk__registration_detach(registration);
        free_registration(registration);
    }
}

void uvzk__registration_detach(struct uvzk__registration *registration)
{
    if (registration->watch != NULL) {
        registration->watch->armed = NULL;
        registration->watch = NULL;
        uvzk__list_remove(&registration->link);
        uvzk__list_append(&registration->registrations->detached, &registration->link);
    }
}

void uvzk__registration_answered(struct uvzk__registration *registration, bool armed)
{
    registration->request = NULL;
    registration->present = armed;
    registration_release(registration);
}

static struct uvzk__registration *registration_at(struct uvzk__link *on_path)
{
    return UVZK__CONTAINER_OF(on_path, struct uvzk__registration, on_path);
}

bool uvzk__registration_is_wanted(const struct uvzk__watched_path *path,
                                  ZooWatcherType type)
{
    for (struct uvzk__link *link = path->watches.next; link != &path->watches;
         link = link->next) {
        if (registration_at(link)->type == type && registration_at(link)->watch != NULL) {
            return true;
        }
    }
    return false;
}

struct uvzk__registration *uvzk__registration_unwanted(struct uvzk__watched_path *path,
                                                       ZooWatcherType type)
{
    struct uvzk__registration *unwanted = NULL;
    for (struct uvzk__link *link = path->watches.next; link != &path->watches;
         link = link->next) {
        if (registration_at(link)->type == type &&
            (registration_at(link)->watch != NULL ||
             registration_at(link)->removals > 0)) {
            return NULL;
        }
        if (registration_at(link)->type == type && !registration_at(link)->abandoned) {
            unwanted = registration_at(link);
        }
    }
    return unwanted;
}

/* Those that the C client had when the removal was answered. Answers arrive in their
 * order, so a later watch is not `present` yet. */
static void release_removed(struct uvzk__registrations *registrations,
                            struct uvzk__watched_path *path, ZooWatcherType type)
{
    struct uvzk__link *next;
    uvzk__watched_path_keep(path);
    for (struct uvzk__link *link = path->watches.next; link != &path->watches;
         link = next) {
        next = link->next;
        if (registration_at(link)->type == type && registration_at(link)->present &&
            registration_at(link)->watch == NULL) {
            registration_at(link)->present = false;
            registration_release(registration_at(link));
        }
    }
    uvzk__watched_path_leave(&registrations->paths, path);
}

void uvzk__registration_removed(struct uvzk__registration *registration, int code)
{
    if (code == ZOK) {
        release_removed(registration->registrations, registration->path,
                        registration->type);
    }
    registration->removals--;
    if (code != ZOK && uvzk__error_of_reply(code) != UVZK_ECONNLOSS) {
        registration->abandoned = true;
    }
    registration_release(registration);
}

void uvzk__registrations_detach_all(struct uvzk__registrations *registrations)
{
    while (!uvzk__list_empty(&registrations->watched)) {
        uvzk__registration_detach(UVZK__CONTAINER_OF(registrations->watched.next,
                                                     struct uvzk__registration, link));
    }
}

void uvzk__registrations_free_detached(struct uvzk__registrations *registrations)
{
    while (!uvzk__list_empty(&registrations->detached)) {
        free_registration(UVZK__CONTAINER_OF(registrations->detached.next,
                                             struct uvzk__registration, link));
    }
}

static void registration_arrive(struct uvzk__to_loop_entry *entry)
{
    struct uvzk__registration *registration =
        UVZK__CONTAINER_OF(entry, struct uvzk__registration, entry);
    struct uvzk__watch *watch = registration->watch;
    enum uvzk__watch_event event = registration->event;

    registration->present = false;
    uvzk__registration_detach(registration);
    registration_release(registration);
    if (watch != NULL) {
        watch->watch_cb(watch, event);
    }
}

void uvzk__registration_event(zhandle_t *zh, int type, int state, const char *path,
                              void *context)
{
    struct uvzk__registration *registration = context;
    (void)zh;
    (void)state;
    (void)path;
    if (type == ZOO_CREATED_EVENT) {
        registration->event = UVZK__WATCH_CREATED;
    } else if (type == ZOO_DELETED_EVENT) {
        registration->event = UVZK__WATCH_DELETED;
    } else if (type == ZOO_CHANGED_EVENT) {
        registration->event = UVZK__WATCH_CHANGED;
    } else if (type == ZOO_CHILD_EVENT) {
        registration->event = UVZK__WATCH_CHILDREN;
    } else {
        return; /* a session event, which the handle reports */
    }
    uvzk__to_loop_push(registration->registrations->to_loop, &registration->entry,
                       registration_arrive);
}
