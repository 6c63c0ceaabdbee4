/* SPDX-License-Identifier: Apache-2.0 */
#include "move_kinds.h"

#include "cmocka_test.h"

#include "claim/acquisition.h"
#include "engine/invariant.h"

struct move_kinds move_kinds;

static void note(const struct uvzk__machine *machine, unsigned from, unsigned to)
{
    struct move_kind *kind = move_kinds.all, *end = kind + move_kinds.count;

    while (kind < end &&
           (kind->machine != machine || kind->from != from || kind->to != to)) {
        kind++;
    }
    if (kind == end) {
        assert_true(move_kinds.count < MOVE_KINDS_MAX);
        *kind = (struct move_kind){machine, from, to, move_kinds.moves, 0};
        move_kinds.count++;
    }
    kind->last = move_kinds.moves;
}

bool illegal_moves_allows(const struct uvzk__machine *machine, unsigned from, unsigned to)
{
    if (!(uvzk__machine_allows)(machine, from, to)) {
        return false;
    }
    if (machine == &uvzk__invariants_machine) {
        return true;
    }
    move_kinds.moves++;
    if (move_kinds.armed == 0) {
        note(machine, from, to);
    } else if (move_kinds.moves == move_kinds.armed) {
        move_kinds.illegal = (struct move_kind){machine, from, to, move_kinds.moves, 0};
        move_kinds.callback_in_progress =
            machine == &uvzk__acquisition_machine && to == UVZK__ACQUISITION_FINAL;
        if (move_kinds.when_illegal != NULL) {
            move_kinds.when_illegal();
        }
        return false;
    }
    return true;
}
