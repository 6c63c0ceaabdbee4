/* A client's life: opening, session events, closing. */
#ifndef UVZK_LIFECYCLE_H
#define UVZK_LIFECYCLE_H

#include "state.h"

/* Connects the client to its port's events. */
void uvzk__lifecycle_init(struct uvzk__client *);

void uvzk__open(struct uvzk__client *);

/* Begins to close: everything pending is refused, everything held is lost. */
void uvzk__close(struct uvzk__client *);

/* Goes on closing as soon as nothing is left to wait for. */
void uvzk__close_when_done(struct uvzk__client *);

/* client.c: frees what the client itself is made of. */
void uvzk__client_free(struct uvzk__client *);

#endif
