/* Decides when the server must remove a watch over the C client, and adds that request to
 * the send window (removal.h). A removal ends every watch of its type on the path, so it
 * is sent only while none of them is wanted. */
#include "requests/removal.h"

#include "requests/request.h"
#include "requests/send_window.h"
#include "watches/registration.h"

static struct uvzk__send_window *window_of(const struct uvzk__registration *registration)
{
    return UVZK__CONTAINER_OF(registration->registrations, struct uvzk__send_window,
                              registrations);
}

/* Returns false if out of memory. */
static bool add_removal(struct uvzk__registration *registration)
{
    struct uvzk__request *request = uvzk__request_new(window_of(registration), NULL, 0);
    if (request == NULL) {
        return false;
    }
    uvzk__request_watches(request, registration);
    uvzk__request_is_own(request, UVZK__OWN_REMOVAL);
    uvzk__registration_removing(registration);
    return true;
}

/* If there is no memory now, the removal is never requested: a later removal would also
 * remove the next watch on the path. Nor is it if the server does not know the request.
 * Then the C client and the server have the watch until it fires. */
static void ask_removal(struct uvzk__registration *registration)
{
    if (!uvzk__dialect_has(window_of(registration)->dialect, UVZK__FEATURE_REMOVAL) ||
        !add_removal(registration)) {
        uvzk__registration_abandon(registration);
    }
}

/* The last registration with a watch may have gone. Without a connection,
 * uvzk__removal_of_detached requests the removal on the next one. */
static void remove_unwanted(const struct uvzk__send_window *window,
                            struct uvzk__watched_path *path, ZooWatcherType type)
{
    struct uvzk__registration *unwanted = uvzk__registration_unwanted(path, type);

    if (unwanted != NULL && window->zh != NULL) {
        ask_removal(unwanted);
    }
}

void uvzk__removal_of_unarmed(struct uvzk__request *request)
{
    struct uvzk__send_window *window = request->window;
    struct uvzk__watched_path *path = request->watching->path;
    ZooWatcherType type = request->watching->type;

    uvzk__watched_path_keep(path);
    uvzk__request_watch_answered(request, false);
    remove_unwanted(window, path, type);
    uvzk__watched_path_leave(&window->registrations.paths, path);
}

/* A later removal is for those that are left on the path now. A request that has not been
 * sent is sent without a watch. */
void uvzk__removal_of(struct uvzk__registration *registration)
{
    const struct uvzk__send_window *window = window_of(registration);
    struct uvzk__request *request = registration->request;

    uvzk__registration_detach(registration);
    if (request != NULL && !request->sent) {
        uvzk__removal_of_unarmed(request);
    } else if (window->zh != NULL &&
               !uvzk__registration_is_wanted(registration->path, registration->type)) {
        ask_removal(registration);
    }
}

void uvzk__removal_of_detached(struct uvzk__send_window *window)
{
    struct uvzk__link *detached = &window->registrations.detached;
    for (struct uvzk__link *link = detached->next; link != detached; link = link->next) {
        struct uvzk__registration *registration =
            UVZK__CONTAINER_OF(link, struct uvzk__registration, link);
        if (!registration->abandoned &&
            !uvzk__registration_is_wanted(registration->path, registration->type)) {
            ask_removal(registration);
        }
    }
}
