/* SPDX-License-Identifier: Apache-2.0 */
/* What barriers of one session have under way, and what may outlive them: what has to
 * happen to all of it when a connection, a session or the client comes or goes. client/
 * calls it. The barriers themselves are objects of the session (session_object.h). The
 * struct lists what the other files of this room keep of the session. */
#ifndef UVZK_BARRIERS_H
#define UVZK_BARRIERS_H

#include "engine/session.h"

struct uvzk__reading;

/* One for each session. */
struct uvzk__barriers {
    struct uvzk__link members;     /* struct uvzk__barrier_member */
    struct uvzk__link writes;      /* struct uvzk__znode_write, without an outcome */
    struct uvzk__reading *watched; /* engine/reading.h: struct uvzk__watched_znode */
};

void uvzk__barriers_init(struct uvzk__barriers *);

/* The session has ended, and with it its ephemeral znodes. Waits, sets and removes go on
 * in the next session. */
void uvzk__barriers_session_ended(struct uvzk__session *, int code);
/* The connection is lost: a znode whose delete has no reply cannot be known to be
 * gone. */
void uvzk__barriers_suspended(struct uvzk__session *);
/* A connection is ready, or a pause of the whole session is over. */
void uvzk__barriers_resume(struct uvzk__session *);
/* Frees the members, when the client ends. */
void uvzk__barriers_free(struct uvzk__session *);

#endif
