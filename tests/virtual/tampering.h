/* SPDX-License-Identifier: Apache-2.0 */
/* Somebody between a client and its server who changes replies: a frame in
 * sim->faults.tamper of a million, each in another way. The requests arrive as they are.
 *
 * What is told can be told from what a server says: a client must not act upon it. These
 * lies cannot be told from a truth, so nobody tells them here (docs/promise.md):
 *
 *   - an error that the server did not answer, but for those that say nothing of the
 *     outcome of a request without a watch; other data, other names, another number,
 *     another stat
 *   - an event that has not happened, one that is told twice, or before the reply that
 *     arms its watch; and an event that is kept back while the replies go on
 *   - a zxid that is a little too high
 *   - another session timeout than the server's: if it is longer, two may hold; if it is too
 *     short, no hold can be proved in that session (HISTORY_RENEGOTIATE has shorter ones)
 *   - for a new session, another id; for any, another password of a length that may be: the
 *     server resumes no session then, whose requests may still be under way
 *   - that the credentials are refused */
#ifndef UVZK_TAMPERING_H
#define UVZK_TAMPERING_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "native/jute.h"
#include "sim_internal.h"

struct tampering_user {
    /* The client is sent these bytes. */
    void (*pass)(void *context, const void *bytes, size_t length);
    /* The connection ends behind them. */
    void (*hang_up)(void *context);
};

struct tampering {
    const struct tampering_user *user;
    void *context;
    const char *name; /* of the client, for the trace; borrowed */
    bool connects, resumes, greeted;
    bool mute; /* only pings are answered any more */
    struct asked *asked;
    size_t asked_count, asked_room;
    unsigned char *held; /* a reply that the next one overtakes; NULL: none */
    size_t held_length;
    unsigned char *slow; /* what arrives a byte a second; NULL: nothing does */
    size_t slow_length, slow_at;
    struct sim__event drip;
};

/* The number of tampered replies so far, of all simulations. */
uint64_t tampering_count(void);

/* The next answer to a request with this opcode is cut behind so many bytes, whatever
 * sim->faults says. Returns whether the one before has been: false if it had no more
 * bytes. */
bool tampering_cut_next(int32_t opcode, size_t length);
/* Each answer to a request with this opcode has a length that is more than a client takes,
 * until the next call; 0: none has. Returns how many there have been since the call before. */
unsigned tampering_exceed(int32_t opcode);

/* In memory of zeros. The name is borrowed. */
void tampering_begin(struct tampering *tampering, const struct tampering_user *user,
                     void *context, const char *name);
void tampering_end(struct tampering *tampering);
/* The server hears this request. */
void tampering_asked(struct tampering *tampering, struct uvzk__jute_bytes frame);
/* The server sends this, whole frames with their lengths. */
void tampering_sent(struct tampering *tampering, const void *bytes, size_t length);

#endif
