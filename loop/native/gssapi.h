/* SPDX-License-Identifier: Apache-2.0 */
/* The mechanism GSSAPI of SASL (RFC 4752), which is Kerberos, by MIT's library. Its calls
 * wait for a KDC, for name servers and for files, so they run on a thread of the client's
 * own, never on the loop's thread nor in libuv's pool. The thread also renews the tickets of
 * a keytab at half of their life, so that a reconnect needs no KDC.
 *
 * Who owns what. The loop's thread owns an exchange, but for the time of a step. It may end
 * the exchange then, too. The thread frees an exchange that has ended, so that the loop's
 * thread calls nothing of MIT's library. The thread owns itself, its options and its
 * tickets. uvzk__gssapi_free tells it to end, and does not wait: a call that waits for a
 * KDC holds up nobody, and the thread frees everything some seconds later.
 *
 * The exit of the process waits for a call that the thread is in, 200 ms at most. */
#ifndef UVZK_GSSAPI_H
#define UVZK_GSSAPI_H

#include "discovery/addresses.h"
#include "native/jute.h"
#include "platform/to_loop.h"

/* Room for a sentence about a ticket. */
#define UVZK__GSSAPI_TEXT 600

struct uvzk__gssapi;
struct uvzk__gssapi_exchange;

/* Starts the thread. list: as in options.sasl, known to be valid. Returns 0, UV_ENOMEM, or
 * UV_EAGAIN: there is no thread. */
int uvzk__gssapi_new(const char *list, struct uvzk__gssapi **gssapi);
void uvzk__gssapi_free(struct uvzk__gssapi *gssapi); /* NULL is allowed */

enum uvzk__gssapi_outcome {
    UVZK__GSSAPI_SEND,     /* a token, which may have no bytes */
    UVZK__GSSAPI_ACCEPTED, /* both sides have proved who they are */
    UVZK__GSSAPI_FAILED
};

/* Of a step; valid until the next one. */
struct uvzk__gssapi_result {
    enum uvzk__gssapi_outcome outcome;
    struct uvzk__jute_bytes token;
    int code; /* FAILED: UVZK_EAUTH; UV_EHOSTUNREACH: no KDC has answered; UV_ENOMEM */
    char text[UVZK__GSSAPI_TEXT]; /* FAILED: why, without the server's name */
};

/* An exchange with this server. made(user) is called on the loop's thread whenever a step has
 * ended. Returns NULL if out of memory. */
struct uvzk__gssapi_exchange *uvzk__gssapi_begin(struct uvzk__gssapi *gssapi,
                                                 const struct uvzk__named_address *server,
                                                 struct uvzk__to_loop *to_loop,
                                                 void (*made)(void *user), void *user);
/* Begins a step with what the server has said; at first nothing. No other step may be under
 * way. Returns 0 or UV_ENOMEM. */
int uvzk__gssapi_step(struct uvzk__gssapi_exchange *exchange,
                      struct uvzk__jute_bytes challenge);
/* In made(). */
const struct uvzk__gssapi_result *
uvzk__gssapi_result(const struct uvzk__gssapi_exchange *exchange);
/* At any time; made() is not called afterwards. NULL is allowed. */
void uvzk__gssapi_end(struct uvzk__gssapi_exchange *exchange);

#endif
