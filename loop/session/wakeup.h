#ifndef UVZK_WAKEUP_H
#define UVZK_WAKEUP_H

struct uvzk__zk_port;

/* Makes the loop deliver pending replies and events in its next iteration. To be called
 * on the loop's thread. */
void uvzk__wakeup(struct uvzk__zk_port *port);

#endif
