/* The requests of a persistent node. The last read of its znode decides which of them is
 * sent. */
#ifndef UVZK_PERSISTENT_REQUEST_H
#define UVZK_PERSISTENT_REQUEST_H

#include "membership/persistent_node.h"

/* Sends the request that the last read calls for, or waits for the next read. */
void uvzk__persistent_request_decide(struct uvzk__persistent_node *);

/* The znode is read again, as soon as requests may be sent; that decides. */
void uvzk__persistent_request_read_again(struct uvzk__persistent_node *);
/* Called when a pause after a refusal is over. */
void uvzk__persistent_request_pause_over(struct uvzk__timer *);

#endif
