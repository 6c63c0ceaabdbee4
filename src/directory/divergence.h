/* Whether the server of this connection goes on showing a znode that the quorum knows to be
 * gone. What a quorum has said, of a delete or a check, has been carried out by the server
 * that tells it, and so has all that was committed before; a reading that was sent behind
 * that reply shows it. If it shows the znode all the same, and the very same one by its czxid,
 * then that server's history is not the others'.
 *
 *   a delete of ours is answered, 0 or NONODE -----------> LOOKING --- gone, or another one
 *                                                           ^   |           all is well
 *   somebody has been in the way for long                   |   `------ the same one
 *     ASKING, exists --- its stat ---> CHECKING --- NONODE -'               diverged
 *       |                                 `--- it stands: all is well
 *       `--- an orphan of ours: deleted (orphans.h)
 *
 * All on one connection: when that is lost the question is dropped. */
#ifndef UVZK_DIRECTORY_DIVERGENCE_H
#define UVZK_DIRECTORY_DIVERGENCE_H

#include <stdint.h>

#include "base/machine.h"

struct uvzk__session;
struct uvzk__queue;

enum uvzk__divergence_step {
    UVZK__DIVERGENCE_ASKING,   /* next: CHECKING LOOKING */
    UVZK__DIVERGENCE_CHECKING, /* next: LOOKING */
    UVZK__DIVERGENCE_LOOKING   /* final */
};

extern const struct uvzk__machine uvzk__divergence_machine;

/* The quorum has just said that this znode is gone: whether this server shows it. */
void uvzk__divergence_look(struct uvzk__session *, const char *path, int64_t czxid);

/* A child that has been in the way for long: whether it stands, as the others see it, and
 * whether it is an orphan of ours. */
void uvzk__divergence_ask(struct uvzk__queue *, const char *name);

#endif
