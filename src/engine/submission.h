/* Requests on their way out, and what every reply says first. */
#ifndef UVZK_SUBMISSION_H
#define UVZK_SUBMISSION_H

#include "engine/port.h"
#include "engine/turn.h"

struct uvzk__session;

/* Of a client. */
struct uvzk__submissions {
    uint64_t stamp;                   /* grows with each */
    uint64_t requests, listings;      /* how many there were */
    struct uvzk__timer backoff_timer; /* after the server refused by overload */
    bool backing_off;
};

/* Of the latest. */
static inline uint64_t uvzk__stamp(const struct uvzk__submissions *submissions)
{
    return submissions->stamp;
}

/* How many there were, and of listings among them. */
static inline uint64_t uvzk__requests(const struct uvzk__submissions *submissions)
{
    return submissions->requests;
}
static inline uint64_t uvzk__listings(const struct uvzk__submissions *submissions)
{
    return submissions->listings;
}

/* Whether the server has asked for a pause. */
static inline bool uvzk__is_backing_off(const struct uvzk__submissions *submissions)
{
    return submissions->backing_off;
}

/* Whether requests may leave now: connected, behind the barrier (barrier.h), not backing
 * off, not closing down. */
bool uvzk__may_send(const struct uvzk__session *);

/* Fills in the request's kind and path; the rest is the caller's to set. */
void uvzk__rpc_prepare(struct uvzk__rpc *, enum uvzk__rpc_kind, const char *path,
                       uvzk__reply_cb);
void uvzk__submit(struct uvzk__session *, struct uvzk__rpc *);

/* First thing in every reply: what it proves, and whether the server asks for
 * a pause. write: the request was one. */
void uvzk__answered(struct uvzk__session *, const struct uvzk__rpc *, int status,
                    bool write);

/* Whether a reply's status is the server's own word, not the connection's. */
bool uvzk__is_answer(int status);

/* Whether what failed so may succeed when it is tried again: there was no connection,
 * or a server or this process was short of something. */
bool uvzk__is_transient(int status);

/* Nothing is sent for a while. */
void uvzk__back_off(struct uvzk__session *);

#endif
