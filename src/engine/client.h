/* The sessions of one client. Each is a struct uvzk__session of its own, with its
 * port, its turns and its budgets, and knows the others by this; the user's shell has
 * the first, whose port is the last to be closed. A path has its home in one of them
 * (rendezvous.h), so that whoever asks for it in this client meets the others there. */
#ifndef UVZK_CLIENT_H
#define UVZK_CLIENT_H

#include <stdbool.h>
#include <stdint.h>

#define UVZK__SESSIONS_MAX 32U

struct uvzk__session;

struct uvzk__client {
    uint32_t count, ended; /* ended: their ports are closed */
    struct uvzk__session *sessions[UVZK__SESSIONS_MAX];
};

/* One more of them; at most UVZK__SESSIONS_MAX. */
void uvzk__client_add_session(struct uvzk__client *, struct uvzk__session *);

struct uvzk__session *uvzk__first_session(const struct uvzk__session *);
bool uvzk__has_sessions(const struct uvzk__session *); /* several */

/* Where this path, namespace included, is at home. */
struct uvzk__session *uvzk__home_of(const struct uvzk__session *, const char *path);
/* The next in rank for it, the home first; tried: one bit for each that has been told, 0 at
 * first. NULL: all have been. */
struct uvzk__session *uvzk__next_in_rank(const struct uvzk__session *, const char *path,
                                         uint32_t *tried);

/* The session's port is closed: true if all the others' are, and the client is at its
 * end. */
bool uvzk__session_over(struct uvzk__session *);
/* Whether it has to wait with that for others. */
bool uvzk__session_waits_for_others(const struct uvzk__session *);

#endif
