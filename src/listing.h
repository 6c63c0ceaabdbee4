/* The queue's looks at its directory. */
#ifndef UVZK_LISTING_H
#define UVZK_LISTING_H

#include "state.h"

void uvzk__listing_start(struct uvzk__queue *);

/* A sync first: what the listing does not show then does not exist, although its
 * create may have been applied by another server than the one that answers. */
void uvzk__listing_start_synced(struct uvzk__queue *);

#endif
