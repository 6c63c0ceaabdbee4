/* SPDX-License-Identifier: Apache-2.0 */
/* Why an order was refused, as a sentence and as uvzk's code, and when the client should
 * try again. */
#ifndef STOCK_REFUSAL_H
#define STOCK_REFUSAL_H

#include <stdint.h>

#include "text.h"

struct stock;

struct refusal {
    int code;           /* the acquire's error code; 0: it was granted */
    const char *reason; /* a sentence for people */
    uint64_t ahead;     /* contenders ahead; 0: none, or not known */
    const char *before; /* the instance of the nearest one ahead; NULL: not known */
};

/* Returns the sentence for an acquire that ended with this code. */
const char *refusal_reason(const struct stock *stock, int code);

/* Returns a number of seconds: until the orders ahead are probably done, or, if there is
 * no connection, a fixed time. */
int refusal_retry_after(const struct refusal *refusal, const struct stock *stock);

/* Writes the body of a 503. */
void refusal_write(struct text *body, const struct refusal *refusal,
                   const struct stock *stock);

#endif
