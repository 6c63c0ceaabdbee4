/* SPDX-License-Identifier: Apache-2.0 */
/* The invariants of a running client: what is always true of it unless uvzk has a fault.
 * Every move of a state machine is checked here, and what must hold after the move.
 *
 * If one of them is broken, a build with assertions (without NDEBUG) aborts, as the tests
 * do. A release build closes that client and leaves the process alone
 * (docs/decisions/invariants.md):
 *
 *   INTACT --- an invariant is broken ---> BROKEN --- client/lifecycle.c ---> TOLD
 *
 * While BROKEN, the client neither sends nor grants anything, no hold of it is valid, and
 * no callback runs. Its next turn reports all holds lost, ends everything that is
 * pending, and ends its sessions. */
#ifndef UVZK_INVARIANT_H
#define UVZK_INVARIANT_H

#include <stdbool.h>
#include <stdint.h>

#include "base/machine.h"

struct uvzk__session;

enum uvzk__invariants_state {
    UVZK__INVARIANTS_INTACT, /* next: BROKEN */
    UVZK__INVARIANTS_BROKEN, /* next: TOLD */
    UVZK__INVARIANTS_TOLD    /* final */
};

extern const struct uvzk__machine uvzk__invariants_machine;

/* One for each client; its sessions share it. */
struct uvzk__invariants {
    uint8_t state; /* enum uvzk__invariants_state */
};

/* An invariant of the session's client is broken. what: a sentence for the log; only the
 * first one of a client is logged. A session of NULL: the client has gone, and nothing
 * happens. May be called anywhere. */
void uvzk__broken(struct uvzk__session *, const char *format, ...)
    __attribute__((format(printf, 2, 3), cold));

/* From now on callbacks run again: the holds of the broken client have been ended. */
void uvzk__set_broken_told(struct uvzk__session *);

/* Reports what is wrong with a move of the session's client (uvzk__move_report). */
void uvzk__broken_move(void *session, const char *text) __attribute__((cold));

/* Moves the object's machine, which belongs to the session's client, and checks the move
 * and what must hold after it (uvzk__machine_enter). */
static inline void uvzk__move(struct uvzk__session *session,
                              const struct uvzk__machine *machine, void *object,
                              unsigned state)
{
    (void)uvzk__machine_enter(machine, object, state, uvzk__broken_move, session);
}

/* The same, but the machine may be in this state already: then only what must hold is
 * checked. */
static inline void uvzk__move_or_stay(struct uvzk__session *session,
                                      const struct uvzk__machine *machine, void *object,
                                      unsigned state)
{
    (void)uvzk__machine_enter_or_stay(machine, object, state, uvzk__broken_move, session);
}

/* Reports an illegal move of a machine that knows no session: uvzk__machine_enter has made
 * it. */
void uvzk__illegal_move(struct uvzk__session *, const struct uvzk__machine *,
                        unsigned from, unsigned to) __attribute__((cold));

/* Checks another condition. Returns it, so that the caller can skip a step that would be
 * unsafe without it. what: "<subject>: <what is wrong>". */
static inline bool uvzk__expect(struct uvzk__session *session, bool holds,
                                const char *what)
{
    if (!holds) {
        uvzk__broken(session, "%s", what);
    }
    return holds;
}

#endif
