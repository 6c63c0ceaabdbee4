/* SPDX-License-Identifier: Apache-2.0 */
/* What happens at once when an invariant is broken (invariant.h). client/lifecycle.c does
 * the rest in the next turn of the client. */
#include "engine/invariant.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>

#include "engine/log.h"
#include "engine/session.h"
#include "engine/turn.h"

#define TEXT_SIZE 256

static const struct uvzk__state table[] = {
    UVZK__STATE(UVZK__INVARIANTS_, INTACT, BROKEN),
    UVZK__STATE(UVZK__INVARIANTS_, BROKEN, TOLD),
    UVZK__FINAL(UVZK__INVARIANTS_, TOLD),
};

/* TOLD: the callbacks that run from then on can begin nothing. */
static bool invariant_holds(const void *object)
{
    const struct uvzk__client *client = object;

    return client->invariants.state != UVZK__INVARIANTS_TOLD ||
           uvzk__session_is_closing(client->sessions[0]);
}

const struct uvzk__machine uvzk__invariants_machine = UVZK__MACHINE(
    "client's invariants", table, struct uvzk__client, invariants.state, invariant_holds);

/* Each session reports for itself, and any of them may be the first. */
static void wake_all(struct uvzk__session *session)
{
    for (uint32_t i = 0; i < session->client->count; i++) {
        uvzk__wake(session->client->sessions[i]);
    }
}

static void abort_in_tests(const char *text)
{
#ifdef NDEBUG
    (void)text;
#else
    (void)fprintf(stderr, "uvzk: a broken invariant: %s\n", text);
    abort();
#endif
}

void uvzk__broken(struct uvzk__session *session, const char *format, ...)
{
    char text[TEXT_SIZE];
    va_list arguments;

    /* Only the first fault is useful; the others may be its consequences. */
    if (session != NULL && uvzk__is_broken(session)) {
        return;
    }
    va_start(arguments, format);
    (void)vsnprintf(text, sizeof(text), format, arguments);
    va_end(arguments);
    abort_in_tests(text);
    if (session != NULL) {
        uvzk__move(session, &uvzk__invariants_machine, session->client,
                   UVZK__INVARIANTS_BROKEN);
        uvzk__log(session, UVZK_LOG_ERROR, "invariant",
                  "a fault of uvzk, the client is closed: %s", text);
        wake_all(session);
    }
}

void uvzk__set_broken_told(struct uvzk__session *session)
{
    uvzk__move(session, &uvzk__invariants_machine, session->client,
               UVZK__INVARIANTS_TOLD);
}

void uvzk__broken_move(void *session, const char *text)
{
    uvzk__broken(session, "%s", text);
}

void uvzk__illegal_move(struct uvzk__session *session,
                        const struct uvzk__machine *machine, unsigned from, unsigned to)
{
    char text[UVZK__MACHINE_TEXT];

    uvzk__machine_text(machine, from, to, text);
    uvzk__broken(session, "%s", text);
}
