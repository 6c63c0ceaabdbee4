/* SPDX-License-Identifier: Apache-2.0 */
/* The sessions of one client. Each session is a struct uvzk__session of its own, with its
 * own port, turns and watch budget. The sessions find each other through this struct. The
 * user's uvzk_client_t refers to the first session, whose port is closed last. Each path
 * has a home session (rendezvous.h), so that all local contenders of a path usually meet
 * in one session. */
#ifndef UVZK_CLIENT_H
#define UVZK_CLIENT_H

#include <stdbool.h>
#include <stdint.h>

#include "engine/invariant.h"
#include "uvzk.h"

#define UVZK__SESSIONS_MAX 32U

struct uvzk__session;
struct uvzk__znode_owner;

struct uvzk__client {
    uint32_t count, ended; /* all sessions; those whose ports are closed */
    struct uvzk__session *sessions[UVZK__SESSIONS_MAX]; /* by uvzk__session.number */
    struct uvzk__invariants invariants;
    struct uvzk__znode_owner *znode_owners; /* znode_owner.h; a uthash by path */
    /* The most '/' in a path of a znode that a recipe has needed so far; only recipes
     * that are checked when they are opened count (znode_owner.h). */
    uint32_t deepest;
};

/* Adds a session. The caller adds at most UVZK__SESSIONS_MAX. */
void uvzk__client_add_session(struct uvzk__client *, struct uvzk__session *);

struct uvzk__session *uvzk__first_session(const struct uvzk__session *);
/* Returns true if the client has more than one session. */
bool uvzk__has_sessions(const struct uvzk__session *);

/* Returns the home session of this path. The path includes the namespace. */
struct uvzk__session *uvzk__home_of(const struct uvzk__session *, const char *path);
/* Returns the sessions for a path one after the other, in the order of their rendezvous
 * weights; the home session is the first. *tried has one bit for each session that has
 * been returned: the caller sets it to 0 before the first call. NULL: all have been
 * returned. */
struct uvzk__session *uvzk__next_in_rank(const struct uvzk__session *, const char *path,
                                         uint32_t *tried);

/* The checks of every init function of an object. what: the object's name in a sentence;
 * impl: that of its handle, if the handle is not NULL. Returns 0, UV_EINVAL: one of the
 * pointers is NULL; UVZK_ESTATE: the client is closing, or not initialised; UV_EBUSY: impl
 * is set. The second function is for an object with a path below the namespace:
 * UVZK_EPATH. */
int uvzk__check_handle(const uvzk_client_t *, const char *what, const void *handle,
                       const void *impl);
int uvzk__check_init(const uvzk_client_t *, const char *what, const void *handle,
                     const void *impl, const char *path);

/* Records that the session's port is closed. Returns true if the ports of all sessions
 * are closed now, so that the client has ended. */
bool uvzk__session_count_closed(struct uvzk__session *);
/* Returns true if the session must not close its port yet, because it waits for other
 * sessions. */
bool uvzk__session_waits_for_others(const struct uvzk__session *);

#endif
