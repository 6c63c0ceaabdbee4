/* Watches as the C client knows them (registration.h). All functions run on the loop's
 * thread, except uvzk__registration_event, which the C client's thread calls. A
 * registration is freed when the C client does not have it any more (present), no request
 * arms it (request) and no removal is under way (removals). */
#include "watches/registration.h"

#include <string.h>

#include "base/memory.h"
#include "platform/error_map.h"
#include "requests/request.h"
#include "session/handle.h"
#include "session/zk_port.h"

bool uvzk__registration_new(struct uvzk__request *request, struct uvzk__watch *watch,
                            const char *path)
{
    size_t size = strlen(path) + 1;
    struct uvzk__registration *registration =
        uvzk__calloc(1, sizeof(*registration) + size);
    if (registration == NULL) {
        return false;
    }
    registration->handle = request->handle;
    registration->request = request;
    registration->watch = watch;
    /* For a removal: exists and get share the data watches of a path. */
    registration->type =
        request->kind == UVZK__RPC_CHILDREN ? ZWATCHTYPE_CHILD : ZWATCHTYPE_DATA;
    memcpy(registration->path, path, size);
    uvzk__list_append(&request->handle->watched, &registration->link);
    uvzk__request_watches(request, registration, false);
    watch->armed = registration;
    return true;
}

/* Frees the registration if neither the C client nor a request refers to it any more. */
static void release(struct uvzk__registration *registration)
{
    if (!registration->present && registration->request == NULL &&
        registration->removals == 0) {
        uvzk__registration_detach(registration);
        uvzk__list_remove(&registration->link);
        uvzk__free(registration);
    }
}

void uvzk__registration_detach(struct uvzk__registration *registration)
{
    if (registration->watch != NULL) {
        registration->watch->armed = NULL;
        registration->watch = NULL;
        uvzk__list_remove(&registration->link);
        uvzk__list_append(&registration->handle->detached, &registration->link);
    }
}

void uvzk__registration_answered(struct uvzk__request *request, bool armed)
{
    struct uvzk__registration *registration = request->watching;
    uvzk__request_watches(request, NULL, false);
    registration->request = NULL;
    registration->present = armed;
    release(registration);
}

/* Adds a request by which the server removes the watch. Returns false if out of
 * memory. */
static bool add_removal(struct uvzk__registration *watching)
{
    struct uvzk__request *request = uvzk__request_new(watching->handle, NULL, 0);
    if (request == NULL) {
        return false;
    }
    uvzk__request_watches(request, watching, true);
    watching->removals++;
    return true;
}

/* If there is no memory now, the removal is never requested: a later removal would also
 * remove the next watch on the path. */
static void ask_removal(struct uvzk__registration *registration)
{
    if (!add_removal(registration)) {
        registration->abandoned = true;
    }
}

void uvzk__registration_unwatch(struct uvzk__registration *registration)
{
    struct uvzk__handle *handle = registration->handle;
    struct uvzk__request *request = registration->request;

    uvzk__registration_detach(registration);
    /* A request that has not been sent is sent without a watch. If there is no
     * connection, uvzk__registration_remove_detached requests the removal on the next
     * one. */
    if (request != NULL && !request->sent) {
        uvzk__registration_answered(request, false);
    } else if (uvzk__handle_is_connected(handle)) {
        ask_removal(registration);
    }
}

void uvzk__registration_removed(struct uvzk__registration *registration, int code)
{
    registration->removals--;
    if (code == ZOK) {
        registration->present = false;
    } else if (uvzk__error_of_reply(code) != UVZK_ECONNLOSS) {
        registration->abandoned = true;
    }
    release(registration);
}

void uvzk__registration_remove_detached(struct uvzk__handle *handle)
{
    struct uvzk__link *link;
    for (link = handle->detached.next; link != &handle->detached; link = link->next) {
        struct uvzk__registration *registration =
            UVZK__CONTAINER_OF(link, struct uvzk__registration, link);
        if (!registration->abandoned) {
            ask_removal(registration);
        }
    }
}

void uvzk__registration_detach_all(struct uvzk__handle *handle)
{
    while (!uvzk__list_empty(&handle->watched)) {
        uvzk__registration_detach(
            UVZK__CONTAINER_OF(handle->watched.next, struct uvzk__registration, link));
    }
}

static void arrive(struct uvzk__to_loop_entry *entry)
{
    struct uvzk__registration *registration =
        UVZK__CONTAINER_OF(entry, struct uvzk__registration, entry);
    struct uvzk__watch *watch = registration->watch;
    enum uvzk__watch_event event = registration->event;

    registration->present = false;
    uvzk__registration_detach(registration);
    release(registration);
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
    uvzk__to_loop_push(&registration->handle->port->to_loop, &registration->entry,
                       arrive);
}
