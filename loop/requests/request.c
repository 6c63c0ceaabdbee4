/* Makes and frees requests of the C client (request.h). send_window.c sends them and
 * receives their answers. */
#include "requests/request.h"

#include "base/memory.h"
#include "requests/send_window.h"
#include "watches/registration.h"

struct uvzk__request *uvzk__request_new(struct uvzk__send_window *window,
                                        struct uvzk__rpc *rpc, size_t name_size)
{
    struct uvzk__request *request = uvzk__calloc(1, sizeof(*request) + name_size);
    if (request != NULL) {
        request->window = window;
        request->rpc = rpc;
        request->kind = rpc == NULL ? 0 : rpc->kind;
        request->reply.failed_op = SIZE_MAX;
        request->name_size = name_size;
        /* Requests are sent in the order of their creation. */
        uvzk__list_append(&window->waiting, &request->link);
    }
    return request;
}

void uvzk__request_watch_answered(struct uvzk__request *request, bool armed)
{
    struct uvzk__registration *registration = request->watching;
    uvzk__request_watches(request, NULL);
    uvzk__registration_answered(registration, armed);
}

void uvzk__request_free(struct uvzk__request *request)
{
    uvzk__list_remove(&request->link);
    uvzk__free(request->memory);
    uvzk__free(request);
}
