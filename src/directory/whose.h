/* Through which session a znode is asked for: through that which made it, if it is one of
 * ours, because another one's server may not have heard of it yet. */
#ifndef UVZK_WHOSE_H
#define UVZK_WHOSE_H

struct uvzk__client;

/* node_path: in full, as a contender has it. Of nobody of ours: one that is in reach, if any
 * is. */
struct uvzk__client *uvzk__whose_node(struct uvzk__client *, const char *node_path);

#endif
