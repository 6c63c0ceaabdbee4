/* SPDX-License-Identifier: Apache-2.0 */
/* The table of the life of a session (session.h). client/lifecycle.c moves it. */
#include "engine/session.h"

#include "engine/invariant.h"

static const struct uvzk__state table[] = {
    UVZK__STATE(UVZK__SESSION_, CREATED, STARTED, CLOSING),
    UVZK__STATE(UVZK__SESSION_, STARTED, CLOSING),
    UVZK__STATE(UVZK__SESSION_, CLOSING, PORT_CLOSING),
    UVZK__STATE(UVZK__SESSION_, PORT_CLOSING, CLOSED),
    UVZK__FINAL(UVZK__SESSION_, CLOSED),
};

/* Only a CLOSED session has no port. */
static bool invariant_holds(const void *object)
{
    const struct uvzk__session *session = object;

    return (session->port == NULL) == (session->life.state == UVZK__SESSION_CLOSED);
}

const struct uvzk__machine uvzk__session_machine =
    UVZK__MACHINE("session", table, struct uvzk__session, life.state, invariant_holds);
