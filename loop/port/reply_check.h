/* SPDX-License-Identifier: Apache-2.0 */
/* Checks whether a server's reply can be the answer to a request. A correct server never
 * sends another one, but a broken server may, and so may an attacker between the server
 * and the client. Both transports check each reply before src/ sees it. They cannot
 * detect a false reply that fits its request. */
#ifndef UVZK_REPLY_CHECK_H
#define UVZK_REPLY_CHECK_H

#include <stdbool.h>

#include "engine/port.h"

/* The reply has the fields of engine/port.h; that of a sync has the path as its name.
 *
 *   a created znode    has the path that was asked for, and a sequence number after it if
 *                      one was asked for
 *   a sync             is of the path that was asked for
 *   names of children  are names
 *   a multi            made as many znodes as it has creates, each where it was asked
 *                      for; the op that failed is one of its ops */
bool uvzk__reply_answers(const struct uvzk__rpc *rpc, const struct uvzk__reply *reply);

#endif
