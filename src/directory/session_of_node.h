/* Through which session a znode is asked for: through that which made it, if it is one of
 * ours, because another one's server may not have heard of it yet. */
#ifndef UVZK_SESSION_OF_NODE_H
#define UVZK_SESSION_OF_NODE_H

struct uvzk__session;

/* node_path: in full, as a contender has it. Of nobody of ours: one that is in reach,
 * if any is. */
struct uvzk__session *uvzk__session_of_node(struct uvzk__session *,
                                            const char *node_path);

#endif
