/* The other side of an interop test: ZooKeeper clients of other makers, each in a
 * process of its own that is spoken to in lines (CuratorPeer, KazooPeer). */
#ifndef OTHER_SIDE_H
#define OTHER_SIDE_H

#include "live.h"
#include "peer.h"

/* The program's arguments: command lines of its peers, "--" between two. Hosts
 * and session timeout are added to them. false: there are not so many. */
bool other_side_commands(int argc, char **argv, int count);

/* Starts the peer of the command with this number and waits until it is
 * connected to the program's server. */
void other_side_start(struct live *live, struct peer *peer, int command);

/* It has complained of nothing that was not expected, ends with its input, and
 * with it go its watches and znodes. */
void other_side_end(struct peer *peer);

/* Waits until a session that is not ours watches the znode (not its children):
 * whoever waits for it has seen it. false: too late. */
bool other_side_wait_watches(struct live *live, const char *node_path);
/* The same for our session. */
bool our_side_wait_watches(struct live *live, const char *node_path);

/* The lock, and the peer's of that name, list the same znodes in the same order,
 * and so many. */
void assert_same_participants(struct live *live, uvzk_lock_t *lock, struct peer *peer,
                              const char *name, size_t count);

/* A znode's name can be taken apart with our parser and be put together again with
 * our formatter; it has a random UUID, and this token. */
void assert_name_survives(const char *name, const char *token);

#endif
