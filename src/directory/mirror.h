/* SPDX-License-Identifier: Apache-2.0 */
/* The mirror of a directory: a persistent watch that reports each node that is created or
 * deleted there, so the view of the directory is always current. Where contenders of few
 * sessions take turns, an acquire then costs a create and a delete, and nothing else:
 *
 *   - a new contender needs no listing: the mirror has reported all nodes before it;
 *   - the first in line needs no watch on a predecessor, and none on its own node.
 *
 * A mirror is a watermark with another kind of watch (watermark.h). Its events cost the
 * server about as much as a small request, each for each session that has a mirror there.
 * So a directory gets one only if contenders of this session have had to wait for others
 * there before, and if the foreign nodes are of few sessions. It needs a port that has
 * persistent watches.
 *
 * docs/decisions/directory.md, "The mirror", says why its readings are fresh enough. */
#ifndef UVZK_MIRROR_H
#define UVZK_MIRROR_H

#include <stdbool.h>

struct uvzk__contender;
struct uvzk__queue;

/* Returns true if the next listing must arm a watch on the children: it is wanted, it
 * does not exist, and no mirror reports new contenders. */
bool uvzk__needs_children_watch(const struct uvzk__queue *);

/* ------------------------------------------------------------ for this room alone */

/* Returns true if the mirror's watch reports every change, and the view is from a listing
 * that was sent after that watch was set. Then the view has every foreign node that
 * exists, and the znodes of this session's contenders exist unless they have been
 * reported to be deleted. */
bool uvzk__is_mirrored(const struct uvzk__queue *);
/* Returns true if the view is older than the watch, or than the one that is being armed:
 * no event reports a node that was deleted in between. */
bool uvzk__mirror_needs_listing(const struct uvzk__queue *);
/* Returns true if the view of the next listing must have all foreign nodes, including
 * those after the last contender of this session. */
bool uvzk__mirror_keeps_all(const struct uvzk__queue *);

/* The view has been updated from a listing: ends the mirror if too many sessions are
 * there. */
void uvzk__mirror_listed(struct uvzk__queue *);

/* The first in line waits for a foreign node: begins a mirror if that will save requests.
 * The second function: a contender of this session is granted. */
void uvzk__mirror_consider(const struct uvzk__contender *front);
void uvzk__mirror_granted(const struct uvzk__contender *);

#endif
