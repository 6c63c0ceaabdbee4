#include "wakeup.h"

#include "loop_handles.h"
#include "zk_port.h"

void uvzk__wakeup(struct uvzk__zk_port *port)
{
    if (!port->finishing && uvzk__to_loop_is_attached(&port->to_loop)) {
        uv_async_send(&port->loop_handles->async);
    }
}
