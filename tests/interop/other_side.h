/* SPDX-License-Identifier: Apache-2.0 */
/* The other side of an interop test: ZooKeeper clients of other makers, each in a
 * process of its own that is spoken to in lines (CuratorPeer, KazooPeer). */
#ifndef OTHER_SIDE_H
#define OTHER_SIDE_H

#include "peer.h"
#include "world.h"

/* The program's arguments: command lines of its peers, "--" between two. Hosts
 * and session timeout are added to them. false: there are not so many. */
bool other_side_commands(int argc, char **argv, int count);

/* Starts the peer of the command with this number and waits until it is
 * connected to the program's server. */
void other_side_start(struct world *world, struct peer *peer, int command);

/* It has complained of nothing that was not expected, ends with its input, and
 * with it go its watches and znodes. */
void other_side_end(struct peer *peer);

/* A world with one process of ours, with its mutex on the path, and the peer of the first
 * command. At the end nobody is left below the path while the sessions live. */
void both_sides_begin(struct world *world, const char *path, struct process *ours,
                      struct peer *theirs);
void both_sides_end(struct world *world, struct peer *theirs);

/* Waits until a session that is not ours watches the znode (not its children):
 * whoever waits for it has seen it. false: too late. */
bool other_side_wait_watches(struct process *ours, const char *node_path);
/* The same for our session. */
bool our_side_wait_watches(struct process *ours, const char *node_path);

/* The lock, and the peer's of that name, list the same znodes in the same order,
 * and so many. */
void assert_same_participants(struct world *world, uvzk_lock_t *lock, struct peer *peer,
                              const char *name, size_t count);

/* The name of a znode with this path can be taken apart with our parser and be put
 * together again with our formatter; it has a random UUID, and this token. */
void assert_name_survives(const char *path, const char *token);

#endif
