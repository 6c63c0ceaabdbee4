/* The rpcs of a port that are not replied yet, in the order of submission,
 * which is the order of their replies. Intrusive: adding cannot fail. */
#ifndef UVZK_OUTSTANDING_H
#define UVZK_OUTSTANDING_H

#include <stdbool.h>

#include "engine/port.h"

struct uvzk__request;

struct uvzk__outstanding {
    struct uvzk__rpc *first, *last;
    size_t count;
};

static inline bool uvzk__outstanding_is_empty(const struct uvzk__outstanding *outstanding)
{
    return outstanding->first == NULL;
}

void uvzk__outstanding_add(struct uvzk__outstanding *outstanding, struct uvzk__rpc *rpc,
                           struct uvzk__port *port);

/* Its outcome is known. The request, if any, carries the answer; it is freed
 * after the reply. */
void uvzk__outstanding_settle(struct uvzk__rpc *rpc, int status,
                              struct uvzk__request *request);

/* Settles what is not settled: with `sent` what the C client was given, with
 * `unsent` the rest. */
void uvzk__outstanding_fail(struct uvzk__outstanding *outstanding, int sent, int unsent);
/* Settles everything with this status, also what had been settled otherwise. */
void uvzk__outstanding_override(struct uvzk__outstanding *outstanding, int status);

/* Calls back what is settled and has nothing unsettled before it, at most as
 * many as there are now: what callbacks add waits for the next time. */
void uvzk__outstanding_deliver(struct uvzk__outstanding *outstanding);

#endif
