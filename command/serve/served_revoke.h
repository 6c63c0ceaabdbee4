/* SPDX-License-Identifier: Apache-2.0 */
/* A request of a program by which another one is asked for its lock. What the other one
 * hears, if it is a program of a daemon too, is the event of served_hold.c. */
#ifndef SERVED_REVOKE_H
#define SERVED_REVOKE_H

#include "serve/served_request.h"

struct served_connection;

/* Carries out "revoke". */
void served_revoke_send(struct served_connection *, const struct served_request *);

#endif
