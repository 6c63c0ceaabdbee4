#include "engine/session_life.h"

#include "engine/invariant.h"
#include "engine/session.h"

#define CREATED UVZK__SESSION_CREATED
#define STARTED UVZK__SESSION_STARTED
#define CLOSING UVZK__SESSION_CLOSING
#define PORT_CLOSING UVZK__SESSION_PORT_CLOSING
#define CLOSED UVZK__SESSION_CLOSED

static const struct uvzk__state table[] = {
    [CREATED] = {"CREATED", UVZK__BIT(STARTED) | UVZK__BIT(CLOSING)},
    [STARTED] = {"STARTED", UVZK__BIT(CLOSING)},
    [CLOSING] = {"CLOSING", UVZK__BIT(PORT_CLOSING)},
    [PORT_CLOSING] = {"PORT_CLOSING", UVZK__BIT(CLOSED)},
    [CLOSED] = {"CLOSED", 0},
};

const struct uvzk__machine uvzk__session_machine = UVZK__OLD_MACHINE("session", table);

/* Only a CLOSED session has no port. */
static bool invariant_holds(struct uvzk__session_life *life)
{
    const struct uvzk__session *session =
        UVZK__CONTAINER_OF(life, struct uvzk__session, life);
    return (session->port == NULL) == (life->state == CLOSED);
}

void uvzk__session_life_move(struct uvzk__session_life *life,
                             enum uvzk__session_state state)
{
    struct uvzk__session *session = UVZK__CONTAINER_OF(life, struct uvzk__session, life);

    life->state =
        (uint8_t)uvzk__old_move(session, &uvzk__session_machine, life->state, state);
    uvzk__invariant(session, &uvzk__session_machine, life->state, invariant_holds(life));
}
