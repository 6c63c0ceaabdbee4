/* What drives the machines: submissions, turns, moments, tellings. */
#ifndef UVZK_DRIVER_H
#define UVZK_DRIVER_H

#include "state.h"

uint64_t uvzk__now(struct uvzk__client *);

/* Whether requests may leave now: connected, behind the barrier (barrier.h), not held
 * back, not closing down. */
bool uvzk__may_send(const struct uvzk__client *);

/* Fills in the request's kind and path; the rest is the caller's to set. */
void uvzk__rpc_prepare(struct uvzk__rpc *, enum uvzk__rpc_kind, const char *path,
                       uvzk__reply_cb);
void uvzk__submit(struct uvzk__client *, struct uvzk__rpc *);

/* First thing in every reply: what it proves, and whether the server asks for
 * a pause. committed: the request was a write. */
void uvzk__answered(struct uvzk__client *, const struct uvzk__rpc *, int status,
                    bool write);

/* Whether a reply's status is the server's own word, not the connection's. */
bool uvzk__is_answer(int status);

/* Whether what failed so may succeed when it is tried again: there was no connection,
 * or a server or this process was short of something. */
bool uvzk__is_passing(int status);

/* Nothing is sent for a while. */
void uvzk__hold_back(struct uvzk__client *);

/* A turn will come soon. */
void uvzk__wake(struct uvzk__client *);

void uvzk__timed_set(struct uvzk__client *, struct uvzk__timed *, uint64_t at_ms);
void uvzk__timed_clear(struct uvzk__client *, struct uvzk__timed *);

/* Puts the telling on the list, once, or takes it off. */
void uvzk__tell_soon(struct uvzk__client *, struct uvzk__telling *);

/* Delivers what is on the list now, not what the callbacks add to it. */
void uvzk__tell_all(struct uvzk__client *);

/* The next chance to send has come (the barrier is open, or a pause is over). */
void uvzk__resume(struct uvzk__client *);

/* One turn: moments that are due, queues that changed, deletes, proofs, then
 * what there is to tell. */
void uvzk__turn(struct uvzk__client *);

#endif
