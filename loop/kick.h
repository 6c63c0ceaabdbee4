#ifndef UVZK_KICK_H
#define UVZK_KICK_H

struct uvzk__zk_port;

/* Has the loop's next turn look at what can be replied or told. */
void uvzk__kick(struct uvzk__zk_port *port);

#endif
