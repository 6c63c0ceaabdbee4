/* The queue's looks at its directory.
 *
 * There is a barrier's reply before every look (barrier.h). So what it does not show, and
 * the create of which was submitted before it, does not exist: of the creates of an
 * earlier connection none is carried out once this session's barrier has been, by
 * whatever server, and those of this connection are carried out in order. */
#ifndef UVZK_LISTING_H
#define UVZK_LISTING_H

struct uvzk__queue;

void uvzk__listing_start(struct uvzk__queue *);

#endif
