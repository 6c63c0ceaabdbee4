#include "kick.h"

#include "stand.h"
#include "zk_port.h"

void uvzk__kick(struct uvzk__zk_port *port)
{
    if (!port->finishing && uvzk__hop_is_attached(&port->hop)) {
        uv_async_send(&port->stand->async);
    }
}
