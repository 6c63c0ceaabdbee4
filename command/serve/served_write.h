/* SPDX-License-Identifier: Apache-2.0 */
/* A write of a program that is carried out only if its hold stands: the library's
 * uvzk_hold_write. */
#ifndef SERVED_WRITE_H
#define SERVED_WRITE_H

#include "serve/served_request.h"

struct served_connection;

/* Carries out "write". */
void served_write_send(struct served_connection *, const struct served_request *);

#endif
