#include "session/wakeup.h"

#include "session/loop_handles.h"
#include "session/zk_port.h"

void uvzk__wakeup(struct uvzk__zk_port *port)
{
    /* Before uvzk__zk_port_start there is no async handle, and once the port is finishing
     * it is closing. Attaching the to_loop queue wakes the loop anyway. */
    if (!port->finishing && uvzk__to_loop_is_attached(&port->to_loop)) {
        uv_async_send(&port->loop_handles->async);
    }
}
