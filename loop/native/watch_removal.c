/* Submits the removal of a watch as an rpc of the port's own (watch_removal.h).
 * native_port.c calls it for each watch that the table returns as REMOVING. */
#include "native/watch_removal.h"

#include "base/list.h"
#include "native/native_port.h"

static void watch_removal_removed(struct uvzk__rpc *removal,
                                  const struct uvzk__reply *reply)
{
    struct uvzk__native_port *port =
        UVZK__CONTAINER_OF(removal->port.port, struct uvzk__native_port, base.port);

    (void)reply;
    uvzk__native_watch_free(&port->watches, uvzk__native_watch_of(removal));
}

void uvzk__watch_removal_add(struct uvzk__native_port *port,
                             struct uvzk__native_watch *native)
{
    bool known = uvzk__native_session_is_connected(&port->session) &&
                 uvzk__dialect_has(&port->base.dialect, UVZK__FEATURE_REMOVAL);

    if (native != NULL && known) {
        native->removal.reply_cb = watch_removal_removed;
        uvzk__request_queue_add(&port->queue, &native->removal, &port->base.port);
    } else if (native != NULL) {
        uvzk__native_watch_free(&port->watches, native);
    }
}
