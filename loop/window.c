#include "window.h"

#include <string.h>

#include "error_map.h"
#include "handle.h"
#include "kick.h"
#include "outstanding.h"
#include "registration.h"
#include "request.h"
#include "rpc.h"
#include "zk_port.h"

static bool takes_watch(uint8_t kind)
{
    return kind == UVZK__RPC_GET || kind == UVZK__RPC_EXISTS ||
           kind == UVZK__RPC_CHILDREN;
}

bool uvzk__window_add(struct uvzk__handle *handle, struct uvzk__rpc *rpc)
{
    size_t name_size = 0;
    if (rpc->kind == UVZK__RPC_CREATE) {
        name_size = strlen(rpc->path) + UVZK__SUFFIX_SIZE;
    }
    struct uvzk__request *request = uvzk__request_new(handle, rpc, name_size);
    if (request == NULL) {
        return false;
    }
    if (rpc->watch != NULL && takes_watch(rpc->kind) &&
        !uvzk__registration_new(request, rpc->watch, rpc->path)) {
        uvzk__request_free(request);
        return false;
    }
    rpc->port.answer = request;
    return true;
}

/* The C client did not take it: certainly not executed. */
static void refused(struct uvzk__request *request, int code)
{
    uvzk__list_remove(&request->link);
    uvzk__request_not_taken(request);
    if (request->removal) {
        uvzk__registration_removed(request->watching, code);
        uvzk__request_free(request);
        return;
    }
    if (request->watching != NULL) {
        uvzk__registration_sever(request->watching);
        uvzk__registration_answered(request, false);
    }
    if (request->rpc == NULL) { /* replied while it was the giver's */
        uvzk__request_free(request);
        return;
    }
    uvzk__outstanding_settle(request->rpc, uvzk__error_of_submit(code), request);
    uvzk__kick(request->handle->port);
}

/* The server answers the credentials first, and if it refuses them the client ends the
 * session from under a zoo_amulti, which does not survive it (rpc.c). */
static bool too_early(const struct uvzk__request *request)
{
    const struct uvzk__handle *handle = request->handle;
    return request->kind == UVZK__RPC_MULTI && !handle->answered &&
           handle->port->auth_scheme != NULL;
}

/* ------------------------------------------------------------------- answered */

/* Whether the code is the server's, not what the client says of a lost connection. */
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

/* An answer that did not fit into memory is still known to be no failure of
 * the request; its watch stands and is taken down. */
static int outcome(const struct uvzk__request *request)
{
    if (request->code == ZOK && request->reply.status != 0) {
        return request->reply.status;
    }
    return uvzk__error_of_reply(request->code);
}

static void settle_watch(struct uvzk__request *request, int status)
{
    struct uvzk__registration *registration = request->watching;
    bool armed = request->code == ZOK ||
                 (request->code == ZNONODE && request->kind == UVZK__RPC_EXISTS);
    uvzk__registration_answered(request, armed);
    if (armed && status == UV_ENOMEM && registration->watch != NULL) {
        uvzk__registration_unwatch(registration);
    }
}

static void answered(struct uvzk__request *request)
{
    struct uvzk__handle *handle = request->handle;
    int status = outcome(request);

    uvzk__list_remove(&request->link);
    uvzk__handle_got(handle, request->connection == handle->connection &&
                                 is_the_servers(request->code));
    if (request->removal) {
        uvzk__registration_removed(request->watching, request->code);
    } else if (request->watching != NULL) {
        settle_watch(request, status);
    }
    uvzk__window_pump(handle);
    if (request->rpc == NULL) {
        uvzk__request_free(request);
    } else {
        uvzk__outstanding_settle(request->rpc, status, request);
        uvzk__outstanding_deliver(&handle->port->outstanding);
    }
}

/* Of the giver's those that the client refuses arrive as well. */
static void arrive(struct uvzk__hop_entry *entry)
{
    struct uvzk__request *request =
        UVZK__CONTAINER_OF(entry, struct uvzk__request, landing);
    struct uvzk__handle *handle = request->handle;
    if (request->refused) {
        uvzk__handle_got(handle, false);
        refused(request, request->code);
        uvzk__window_pump(handle);
    } else {
        answered(request);
    }
    uvzk__handle_drained(handle);
}

/* ------------------------------------------------------------------------ sent */

/* Whether the giver gives it: until the first answer there is nothing to be gained, and
 * whether anything can be sent at all is not yet known (too_early). */
static bool is_the_givers(struct uvzk__handle *handle)
{
    return (handle->answered && handle->in_flight >= UVZK__FEW) ||
           !uvzk__giver_is_idle(&handle->giver);
}

static int give_directly(struct uvzk__request *request)
{
    uvzk__log_route_enter(&request->handle->log_route);
    int code = uvzk__rpc_send(request, uvzk__rpc_path(request));
    uvzk__log_route_leave();
    return code;
}

/* What the client says. Unless it has taken it, it is on no list. */
static int give(struct uvzk__request *request)
{
    struct uvzk__handle *handle = request->handle;
    uvzk__list_remove(&request->link);
    uvzk__request_sent(request, handle->connection);
    request->arrive = arrive;
    if (!is_the_givers(handle) || !uvzk__giver_hand(&handle->giver, request)) {
        int code = give_directly(request);
        if (code != ZOK) {
            return code;
        }
    }
    uvzk__list_append(&handle->sent, &request->link);
    uvzk__handle_gave(handle);
    return ZOK;
}

static int give_probe(struct uvzk__handle *handle)
{
    struct uvzk__request *probe = uvzk__request_new(handle, NULL, 0);
    if (probe == NULL) {
        return ZSYSTEMERROR;
    }
    uvzk__request_is_probe(probe);
    int code = give(probe);
    if (code != ZOK) {
        uvzk__request_free(probe);
    }
    return code;
}

void uvzk__window_pump(struct uvzk__handle *handle)
{
    while (uvzk__handle_is_connected(handle) && handle->in_flight < UVZK__WINDOW &&
           !uvzk__list_empty(&handle->waiting)) {
        struct uvzk__request *request =
            UVZK__CONTAINER_OF(handle->waiting.next, struct uvzk__request, link);
        int code;
        if (!too_early(request)) {
            code = give(request);
        } else if (handle->asked) {
            return; /* until the answer */
        } else {
            code = give_probe(handle);
        }
        if (code != ZOK) {
            refused(request, code);
        }
    }
}

void uvzk__window_recall(struct uvzk__handle *handle)
{
    struct uvzk__link recalled;
    struct uvzk__request *request;
    uvzk__giver_recall(&handle->giver, &recalled);
    while ((request = uvzk__giver_take_recalled(&recalled)) != NULL) {
        uvzk__list_remove(&request->link);
        uvzk__list_prepend(&handle->waiting, &request->link);
        uvzk__request_not_taken(request);
        uvzk__handle_recalled(handle);
    }
}

void uvzk__window_flush(struct uvzk__handle *handle)
{
    uvzk__window_recall(handle);
    uvzk__giver_retire(&handle->giver);
    uvzk__window_pump(handle);
}
