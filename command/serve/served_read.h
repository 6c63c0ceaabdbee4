/* SPDX-License-Identifier: Apache-2.0 */
/* What a znode contained at a moment at which a program's hold stood: it is read, and then
 * a transaction checks that the hold stands and that the znode still has the version that
 * was read. So the data are no older than the hold, whatever server has answered the
 * read. */
#ifndef SERVED_READ_H
#define SERVED_READ_H

#include "serve/served_request.h"

struct served_connection;

/* Carries out "read". */
void served_read_send(struct served_connection *, const struct served_request *);

#endif
