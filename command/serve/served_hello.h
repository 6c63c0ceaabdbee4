/* SPDX-License-Identifier: Apache-2.0 */
/* The request by which a program asks what it speaks with. */
#ifndef SERVED_HELLO_H
#define SERVED_HELLO_H

#include "serve/served_request.h"

/* The version of the protocol. It grows when a program that knows only the version before
 * would misunderstand something; what is added is among the features. */
#define SERVED_PROTOCOL_VERSION 1

struct served_connection;

void served_hello_answer(struct served_connection *, const struct served_request *);

#endif
