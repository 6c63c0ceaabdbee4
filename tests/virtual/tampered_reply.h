/* SPDX-License-Identifier: Apache-2.0 */
/* A reply that is changed within, so that it cannot be the one to its request any more.
 * What may be done to it is said in tampering.h. */
#ifndef UVZK_TAMPERED_REPLY_H
#define UVZK_TAMPERED_REPLY_H

#include <stdbool.h>
#include <stdint.h>

#include "native/jute.h"

struct sim;

struct tampered_reply {
    struct uvzk__jute_bytes frame; /* as the server has sent it, without its length */
    bool is_greeting;              /* the answer to a connect request, */
    bool resumes;                  /* ... which named a session */
    bool is_answer;                /* to a request with an xid of its own */
    int32_t xid, opcode;           /* opcode: the request's */
};

/* Writes the frames that come instead. Returns false if this kind of reply cannot be changed
 * so that it can be told; or this time, by chance. */
bool tampered_reply_write(const struct tampered_reply *reply, struct sim *sim,
                          struct uvzk__jute_writer *out);

#endif
