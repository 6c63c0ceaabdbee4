/* Through which session of the client a znode is read. A znode of this client is read
 * through the session that created it, because the server of another session may lag and
 * not show it yet. */
#ifndef UVZK_SESSION_OF_NODE_H
#define UVZK_SESSION_OF_NODE_H

struct uvzk__session;

/* node_path: the full path of the znode, as a contender has it. Returns the session that
 * created the znode. If no session of this client did, returns the first session that has
 * a connection, or the given session if none has. */
struct uvzk__session *uvzk__session_of_node(struct uvzk__session *,
                                            const char *node_path);

#endif
