/* SPDX-License-Identifier: Apache-2.0 */
/* What the server of a CONNECTED native session does with the session's requests: whether
 * it answers them in time, and whether it keeps to the protocol. */
#ifndef UVZK_CONDUCT_H
#define UVZK_CONDUCT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* In memory of zeros. */
struct uvzk__conduct {
    uint64_t began_at; /* when the connection began, by uvzk_now() */
    uint64_t owed_at;  /* since when an answer has been missing; UINT64_MAX: none is
                          missing */
    size_t part;       /* bytes of a long answer that have been counted */
    bool answered;     /* a request of this connection */
    uint32_t
        next_pause_ms; /* after another useless connection; 0: the last one was of use */
};

/* A connection begins. at: when this was read or written, by uvzk_now(), here and below. */
void uvzk__conduct_begin(struct uvzk__conduct *conduct, uint64_t at);
/* A request has been answered. */
void uvzk__conduct_answered(struct uvzk__conduct *conduct, uint64_t at);
/* This many bytes of an incomplete answer have come. A long answer is not missing while
 * more of it keeps coming. */
void uvzk__conduct_receives(struct uvzk__conduct *conduct, size_t length, uint64_t at);
/* owes: a request that was sent is unanswered now. */
void uvzk__conduct_owes(struct uvzk__conduct *conduct, bool owes, uint64_t at);
/* Returns since when the next answer has been missing; UINT64_MAX: none is. A server that
 * answers a long queue in order gets the full time for each request. */
static inline uint64_t uvzk__conduct_owed_at(const struct uvzk__conduct *conduct)
{
    return conduct->owed_at;
}

/* Returns true if this code, with which a connection ended, means that the server broke
 * the protocol. */
bool uvzk__conduct_is_breach(int code);
/* The connection is lost. Returns the pause in ms before the next search for servers. It
 * grows from one useless connection to the next, up to less than a tenth of the session
 * timeout: locks may be held meanwhile. A connection was useless if it did not last for
 * the session timeout and its server broke the protocol or answered nothing. */
uint32_t uvzk__conduct_lost(struct uvzk__conduct *conduct, int code, uint32_t timeout_ms);

#endif
