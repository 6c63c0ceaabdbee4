/* Why an order was not carried out, in words and by uvzk's code, and when to come again. */
#ifndef STOCK_REFUSAL_H
#define STOCK_REFUSAL_H

#include <stdint.h>

#include "text.h"

struct stock;

struct refusal {
    int code;           /* of the lock that was not granted; 0: it is not about that */
    const char *reason; /* what happened, as people know it */
    uint64_t ahead;     /* so many stood before it; 0: none, or not known */
    const char *before; /* the instance that is the next one before it; NULL: not known */
};

/* Of an acquire that ended with this code. */
const char *refusal_reason(const struct stock *stock, int code);

/* Seconds: until those before it have had their turn, or until ZooKeeper may be back. */
int refusal_retry_after(const struct refusal *refusal, const struct stock *stock);

/* The body of a 503. */
void refusal_write(struct text *body, const struct refusal *refusal,
                   const struct stock *stock);

#endif
