#include "engine/second_look.h"

#include "engine/turn.h"

void uvzk__second_look(struct uvzk__client *client, struct uvzk__timed *timed)
{
    uint64_t period = uvzk__session_timeout(&client->session), random = 0;

    (void)client->port->random(client->port, &random, sizeof(random));
    uvzk__timed_set(client, timed,
                    uvzk__now(client) + period - period / 4 + random % (period / 2 + 1));
}
