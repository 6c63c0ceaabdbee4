/* SPDX-License-Identifier: Apache-2.0 */
/* Gives requests to the C client, at most UVZK__SEND_WINDOW at a time (send_window.h),
 * and processes their answers. All functions run on the loop's thread.
 *
 * A request waits on window->waiting until `pump` gives it to the C client, directly or
 * through the submit thread. Then it is on window->sent until its answer arrives from the
 * to_loop queue (arrive). Every answer makes room for the next request. Requests are sent
 * in the order of submission, so when the first one must wait, all others wait too. */
#include "requests/send_window.h"

#include <string.h>

#include "log/log_route.h"
#include "platform/error_map.h"
#include "platform/forks.h"
#include "platform/to_loop.h"
#include "port/reply_check.h"
#include "requests/outstanding.h"
#include "requests/request.h"
#include "watches/registration.h"

/* ------------------------------------------------------------------------- removals */

/* Requests by which the server removes watches that are no longer wanted. A removal ends
 * every watch of its type on the path, so it is sent only while none of them is wanted. */

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
 * uvzk__send_window_remove_detached requests the removal on the next one. */
static void remove_unwanted(const struct uvzk__send_window *window,
                            struct uvzk__watched_path *path, ZooWatcherType type)
{
    struct uvzk__registration *unwanted = uvzk__registration_unwanted(path, type);

    if (unwanted != NULL && window->zh != NULL) {
        ask_removal(unwanted);
    }
}

/* The request has not armed its watch: frees the registration, and adds a removal request if
 * others on the path had been given up for it. The caller must pump the send window. */
static void removal_of_unarmed(struct uvzk__request *request)
{
    struct uvzk__send_window *window = request->window;
    struct uvzk__watched_path *path = request->watching->path;
    ZooWatcherType type = request->watching->type;

    uvzk__watched_path_keep(path);
    uvzk__request_watch_answered(request, false);
    remove_unwanted(window, path, type);
    uvzk__watched_path_leave(&window->registrations.paths, path);
}

/* Detaches the registration and adds a request by which the server removes the watch, if
 * it was the last one of its type on the path. The caller must pump the send window. A later
 * removal is for those that are left on the path now. A request that has not been sent is
 * sent without a watch. */
static void removal_of_registration(struct uvzk__registration *registration)
{
    const struct uvzk__send_window *window = window_of(registration);
    struct uvzk__request *request = registration->request;

    uvzk__registration_detach(registration);
    if (request != NULL && !request->sent) {
        removal_of_unarmed(request);
    } else if (window->zh != NULL &&
               !uvzk__registration_is_wanted(registration->path, registration->type)) {
        ask_removal(registration);
    }
}

void uvzk__send_window_remove_detached(struct uvzk__send_window *window)
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

/* ---------------------------------------------------------------------------- added */

/* The kinds of requests that can arm a watch. */
static bool takes_watch(uint8_t kind)
{
    return kind == UVZK__RPC_GET || kind == UVZK__RPC_EXISTS ||
           kind == UVZK__RPC_CHILDREN;
}

/* The watch of the rpc counts as being armed from now on. Returns false if out of
 * memory. */
static bool send_window_arm(struct uvzk__request *request, const struct uvzk__rpc *rpc)
{
    /* For a removal: exists and get share the data watches of a path. */
    ZooWatcherType type =
        rpc->kind == UVZK__RPC_CHILDREN ? ZWATCHTYPE_CHILD : ZWATCHTYPE_DATA;
    struct uvzk__registration *registration = uvzk__registration_new(
        &request->window->registrations, request, rpc->watch, type, rpc->path);
    if (registration == NULL) {
        return false;
    }
    uvzk__request_watches(request, registration);
    return true;
}

bool uvzk__send_window_add(struct uvzk__send_window *window, struct uvzk__rpc *rpc)
{
    size_t name_size = 0;
    if (rpc->kind == UVZK__RPC_CREATE || rpc->kind == UVZK__RPC_SYNC) {
        name_size = strlen(rpc->path) + UVZK__SUFFIX_SIZE;
    }
    struct uvzk__request *request = uvzk__request_new(window, rpc, name_size);
    if (request == NULL) {
        return false;
    }
    if (rpc->watch != NULL && takes_watch(rpc->kind) && !send_window_arm(request, rpc)) {
        uvzk__request_free(request);
        return false;
    }
    rpc->port.answer = request;
    return true;
}

/* Returns whether the code is from the server. The codes listed here are the C client's
 * own, for a lost connection or an ended session. */
static bool is_the_servers(int code)
{
    switch (code) {
    case ZCONNECTIONLOSS:
    case ZOPERATIONTIMEOUT:
    case ZINVALIDSTATE:
    case ZCLOSING:
    case ZSESSIONEXPIRED:
    case ZAUTHFAILED:
        return false;
    default:
        return true;
    }
}

/* The request has no rpc, or no longer has one. A question that the C client has refused
 * itself counts as answered: the C client knows of no watch to remove. */
static void finish_own(struct uvzk__request *request)
{
    struct uvzk__send_window *window = request->window;
    enum uvzk__own_request own = (enum uvzk__own_request)request->own;
    int code = request->code;
    bool told = own >= UVZK__OWN_ASK_CREATE2 &&
                request->connection == window->connection && is_the_servers(code);

    uvzk__request_free(request);
    if (told) {
        window->told(window, own, code);
    }
}

/* The C client has refused the request, which was certainly not executed. Settles its
 * rpc. */
static void send_window_refused(struct uvzk__request *request, int code)
{
    uvzk__list_remove(&request->link);
    request->sent = false;
    if (request->own == UVZK__OWN_REMOVAL) {
        uvzk__registration_removed(request->watching, code);
        uvzk__request_free(request);
        return;
    }
    if (request->watching != NULL) {
        uvzk__registration_detach(request->watching);
        uvzk__request_watch_answered(request, false);
    }
    if (request->rpc == NULL) { /* or it was replied while the submit thread had it */
        request->code = code;
        finish_own(request);
        return;
    }
    uvzk__outstanding_settle(request->rpc, uvzk__error_of_submit(code), request);
    /* This may run inside a call of the port, where no callback is allowed. */
    uvzk__to_loop_wake(request->window->to_loop);
}

/* Returns whether this multi must wait for an earlier answer on this connection. The
 * server answers the credentials before every other request. If it refuses them, the C
 * client ends the session, and a zoo_amulti that runs at that moment may free paths twice
 * (request.c). */
static bool too_early(const struct uvzk__request *request)
{
    const struct uvzk__send_window *window = request->window;
    return request->kind == UVZK__RPC_MULTI && !window->answered &&
           window->has_credentials;
}

/* ------------------------------------------------------------------- answered */

/* Returns the status of the reply. An answer for which there was no memory is UV_ENOMEM:
 * the request did not fail, so its watch is armed and will be removed.
 *
 * An answer that cannot be the one to its request is UVZK_ECONNLOSS: the server may have
 * executed the request. No other code is safe. The caller would trust a success, would
 * take other failures to mean that the request was not executed, and would send it again
 * after UVZK_ENOTSENT. After UVZK_ECONNLOSS src/ backs off and finds out what was
 * executed, and the answer proves no hold. The connection stays. Each frame has its
 * length, so the next answer is the next request's and is checked as well; and leaving
 * the server would cost a new handle. */
static int send_window_outcome(const struct uvzk__request *request)
{
    if (request->code != ZOK) {
        return uvzk__error_of_reply(request->code);
    }
    bool answers = request->reply.status != 0 || request->rpc == NULL ||
                   uvzk__reply_answers(request->rpc, &request->reply);
    return answers ? request->reply.status : UVZK_ECONNLOSS;
}

/* A request is no longer in flight. `answered`: a server has answered it on this
 * connection. */
static void came_back(struct uvzk__send_window *window, bool answered)
{
    window->in_flight--;
    window->answered |= answered;
}

static void settle_watch(struct uvzk__request *request, int status)
{
    struct uvzk__registration *registration = request->watching;
    /* The server arms the watch of an exists even if there is no znode. */
    bool armed = request->code == ZOK ||
                 (request->code == ZNONODE && request->kind == UVZK__RPC_EXISTS);
    if (!armed) {
        removal_of_unarmed(request);
        return;
    }
    uvzk__request_watch_answered(request, true);
    /* The user is told of a failure. */
    if (request->code == ZOK && status != 0 && registration->watch != NULL) {
        removal_of_registration(registration);
    }
}

static void send_window_answered(struct uvzk__request *request)
{
    struct uvzk__send_window *window = request->window;
    int status = send_window_outcome(request);

    uvzk__list_remove(&request->link);
    /* An answer to a request of an earlier connection proves nothing about this one's
     * credentials. */
    came_back(window,
              request->connection == window->connection && is_the_servers(request->code));
    if (request->own == UVZK__OWN_REMOVAL) {
        uvzk__registration_removed(request->watching, request->code);
    } else if (request->watching != NULL) {
        settle_watch(request, status);
    }
    uvzk__send_window_pump(window);
    if (request->rpc == NULL) {
        finish_own(request);
    } else {
        uvzk__outstanding_settle(request->rpc, status, request);
        uvzk__outstanding_deliver(window->outstanding);
    }
}

/* The request arrives on the loop: the C client has answered it, or has refused it when
 * the submit thread submitted it. */
static void send_window_arrive(struct uvzk__to_loop_entry *entry)
{
    struct uvzk__request *request =
        UVZK__CONTAINER_OF(entry, struct uvzk__request, to_loop_entry);
    struct uvzk__send_window *window = request->window;
    if (request->refused) {
        came_back(window, false);
        send_window_refused(request, request->code);
        uvzk__send_window_pump(window);
    } else {
        send_window_answered(request);
    }
    window->returned(window);
}

/* ------------------------------------------------------------------------ sent */

/* Returns whether the submit thread submits the next request. Before the first answer on
 * a connection there is nothing to gain, and too_early must know whether a request has
 * really been submitted. While the submit thread still has requests, the next one must go
 * there too, so that the order stays the same. */
static bool uses_submit_thread(struct uvzk__send_window *window)
{
    return (window->answered && window->in_flight >= UVZK__DIRECT_SENDS) ||
           !uvzk__submit_thread_is_idle(&window->submit_thread);
}

/* Log lines of the C client that come from this call belong to this handle's port. */
static int submit_directly(struct uvzk__request *request)
{
    uvzk__log_route_enter(request->window->log_route);
    int code = uvzk__rpc_send(request, uvzk__rpc_path(request));
    uvzk__log_route_leave();
    return code;
}

/* Submits the request, or pushes it to the submit thread. Returns the C client's code. If
 * the code is not ZOK, the request is on no list. */
static int send_window_give(struct uvzk__request *request)
{
    struct uvzk__send_window *window = request->window;
    uvzk__list_remove(&request->link);
    uvzk__request_sent(request, window->zh, window->connection);
    request->arrive = send_window_arrive;
    /* If no submit thread can be started, the loop submits. */
    if (!uses_submit_thread(window) ||
        !uvzk__submit_thread_push(&window->submit_thread, request)) {
        int code = submit_directly(request);
        if (code != ZOK) {
            return code;
        }
    }
    uvzk__list_append(&window->sent, &request->link);
    window->in_flight++;
    window->asked = true;
    return ZOK;
}

int uvzk__send_window_send_own(struct uvzk__send_window *window,
                               enum uvzk__own_request own)
{
    struct uvzk__request *request = uvzk__request_new(window, NULL, 0);
    if (request == NULL) {
        return ZSYSTEMERROR;
    }
    uvzk__request_is_own(request, own);
    int code = send_window_give(request);
    if (code != ZOK) {
        uvzk__request_free(request);
    }
    return code;
}

void uvzk__send_window_pump(struct uvzk__send_window *window)
{
    if (window->forks != uvzk__forks()) {
        return;
    }
    while (window->zh != NULL && window->in_flight < UVZK__SEND_WINDOW &&
           !uvzk__list_empty(&window->waiting)) {
        struct uvzk__request *request =
            UVZK__CONTAINER_OF(window->waiting.next, struct uvzk__request, link);
        int code;
        if (!too_early(request)) {
            code = send_window_give(request);
        } else if (window->asked) {
            return; /* until an answer arrives */
        } else {
            /* Its answer shows that the credentials have been answered. */
            code = uvzk__send_window_send_own(window, UVZK__OWN_AUTH_CHECK);
        }
        if (code != ZOK) {
            send_window_refused(request, code);
        }
    }
}

void uvzk__send_window_unwatch(struct uvzk__registration *registration)
{
    struct uvzk__send_window *window = UVZK__CONTAINER_OF(
        registration->registrations, struct uvzk__send_window, registrations);
    removal_of_registration(registration);
    uvzk__send_window_pump(window);
}

void uvzk__send_window_take_back(struct uvzk__send_window *window)
{
    struct uvzk__link recalled;
    struct uvzk__request *request;
    uvzk__submit_thread_take_back(&window->submit_thread, &recalled);
    /* From the last to the first, each put before those that wait: the order stays the
     * same. */
    while ((request = uvzk__submit_thread_next_taken_back(&recalled)) != NULL) {
        uvzk__list_remove(&request->link);
        uvzk__list_prepend(&window->waiting, &request->link);
        request->sent = false;
        window->in_flight--;
    }
}

void uvzk__send_window_flush(struct uvzk__send_window *window)
{
    uvzk__send_window_take_back(window);
    window->submit_thread.unavailable = true;
    uvzk__send_window_pump(window);
}

void uvzk__send_window_inherit(struct uvzk__send_window *window)
{
    window->zh = NULL;
    uvzk__submit_thread_reset(&window->submit_thread);
    /* What the thread waits on cannot be destroyed. */
    (void)uvzk__submit_thread_init(&window->submit_thread);
}

/* -------------------------------------------------------------- creation and connection */

int uvzk__send_window_init(struct uvzk__send_window *window,
                           struct uvzk__outstanding *outstanding,
                           struct uvzk__to_loop *to_loop,
                           const struct uvzk__log_route *log_route,
                           const struct uvzk__dialect *dialect, bool has_credentials)
{
    window->outstanding = outstanding;
    window->to_loop = to_loop;
    window->log_route = log_route;
    window->has_credentials = has_credentials;
    window->dialect = dialect;
    window->forks = uvzk__forks();
    uvzk__list_init(&window->waiting);
    uvzk__list_init(&window->sent);
    uvzk__registrations_init(&window->registrations, to_loop);
    return uvzk__submit_thread_init(&window->submit_thread);
}

static void free_requests(struct uvzk__link *list)
{
    while (!uvzk__list_empty(list)) {
        uvzk__request_free(UVZK__CONTAINER_OF(list->next, struct uvzk__request, link));
    }
}

void uvzk__send_window_clear(struct uvzk__send_window *window)
{
    free_requests(&window->waiting);
    free_requests(&window->sent);
    uvzk__registrations_free_detached(&window->registrations);
    window->in_flight = 0;
}

void uvzk__send_window_destroy(struct uvzk__send_window *window)
{
    uvzk__submit_thread_destroy(&window->submit_thread);
}

void uvzk__send_window_connect(struct uvzk__send_window *window, zhandle_t *zh)
{
    window->zh = zh;
    window->connection++;
    window->asked = window->answered = false;
}

void uvzk__send_window_disconnect(struct uvzk__send_window *window)
{
    window->zh = NULL;
}
