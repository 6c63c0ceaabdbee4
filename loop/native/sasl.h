/* SPDX-License-Identifier: Apache-2.0 */
/* SASL: who a client is for ZooKeeper's servers. A context is what all connections of a
 * client have in common. An exchange is what is said on one connection:
 *
 *     MAKING ----- a token is sent -----> ASKED
 *      |  ^                                 |
 *      |  `------- the server answers ------'
 *      |
 *      |-----> ACCEPTED   both sides have proved who they are
 *      `-----> FAILED     see failure and code
 *
 * MAKING: the next token is made. For DIGEST-MD5 that is done at once. For GSSAPI it may take
 * long, so it is done on a thread (gssapi.h), and made() tells when it has been done. */
#ifndef UVZK_SASL_H
#define UVZK_SASL_H

#include <stdint.h>

#include "base/machine.h"
#include "discovery/addresses.h"
#include "engine/port.h"
#include "native/digest_md5.h"
#include "native/gssapi.h"
#include "native/jute.h"
#include "platform/to_loop.h"

enum uvzk__sasl_state {
    UVZK__SASL_MAKING,   /* next: ASKED ACCEPTED FAILED */
    UVZK__SASL_ASKED,    /* next: MAKING */
    UVZK__SASL_ACCEPTED, /* final */
    UVZK__SASL_FAILED    /* final */
};

extern const struct uvzk__machine uvzk__sasl_machine;

struct uvzk__sasl_context;

/* options: as in options.sasl. Returns 0; UV_ENOMEM; UV_EINVAL: a malformed list, or the file
 * of the password cannot be used; UV_EAGAIN: there is no thread; UV_ENOTSUP: uvzk was built
 * without SASL, or OpenSSL has no MD5. A failure sets the refusal text (base/refusal.h). */
int uvzk__sasl_context_new(const char *options, struct uvzk__sasl_context **context);
void uvzk__sasl_context_free(struct uvzk__sasl_context *context); /* NULL is allowed */

/* ------------------------------------------------------------ for this room alone */

/* One more user, who calls uvzk__sasl_context_free too. Returns the context; NULL is
 * allowed. */
struct uvzk__sasl_context *uvzk__sasl_context_share(struct uvzk__sasl_context *context);

/* Room for a sentence about the other side, or about this one. */
#define UVZK__SASL_TEXT 600

struct uvzk__sasl {
    struct uvzk__sasl_context *context; /* borrowed */
    struct uvzk__port *port;
    void (*made)(struct uvzk__sasl *);
    void *user;

    uint8_t state;                  /* enum uvzk__sasl_state */
    unsigned step;                  /* how many tokens have been sent */
    struct uvzk__jute_writer token; /* that is to be sent */
    char expected[UVZK__MD5_TEXT];  /* of DIGEST-MD5: what the server has to answer */
    struct uvzk__gssapi_exchange *gssapi; /* owned; NULL: DIGEST-MD5 */
    int code;                             /* FAILED: UVZK_EAUTH, or of this machine */
    char failure[UVZK__SASL_TEXT];        /* FAILED: why, without the server's name */
};

/* Begins an exchange with this server: MAKING. made() is called on the loop's thread, by way
 * of to_loop, whenever a step has ended on a thread. Returns NULL if out of memory. */
struct uvzk__sasl *uvzk__sasl_new(struct uvzk__sasl_context *context,
                                  struct uvzk__port *port, struct uvzk__to_loop *to_loop,
                                  const struct uvzk__named_address *server,
                                  void (*made)(struct uvzk__sasl *), void *user);
/* Makes the next token from what the server has said; at first nothing. The exchange is
 * MAKING at first, then ASKED. Afterwards its state says what is to be done. */
void uvzk__sasl_step(struct uvzk__sasl *sasl, struct uvzk__jute_bytes challenge);
/* In any state; NULL is allowed. */
void uvzk__sasl_free(struct uvzk__sasl *sasl);

#endif
