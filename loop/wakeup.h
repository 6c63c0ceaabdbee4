#ifndef UVZK_WAKEUP_H
#define UVZK_WAKEUP_H

struct uvzk__zk_port;

/* Has the loop's next turn look at what can be replied or told. */
void uvzk__wakeup(struct uvzk__zk_port *port);

#endif
