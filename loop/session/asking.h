/* Asks the servers of a handle what they know (port/dialect.h), by means of the C
 * client. */
#ifndef UVZK_ASKING_H
#define UVZK_ASKING_H

#include "requests/request.h"

struct uvzk__handle;

/* The handle is ASKING: sends the questions. Calls asked() or asked_in_vain() of the
 * handle's user, now or later. */
void uvzk__asking_begin(struct uvzk__handle *handle);
/* A server has answered a question of an ASKING handle. */
void uvzk__asking_told(struct uvzk__handle *handle, enum uvzk__own_request question,
                       int code);

#endif
