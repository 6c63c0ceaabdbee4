/* SPDX-License-Identifier: Apache-2.0 */
/* The rules for ending CMD, as a state machine without a clock (termination.h).
 * supervisor.c calls these functions and sends the signals.
 *
 * The one idea: SIGKILL is due DEAD_BEFORE_MS before the hold's validity ends, and
 * SIGTERM is due one grace period (at most a quarter of the session timeout) before
 * that. Each proof of the hold postpones both times, so they are reached only if proofs
 * do not arrive. If the lock is lost before that, the grace period begins at once. */
#include "termination.h"

#include <string.h>

/* How long before the end of the validity SIGKILL is sent: processes need time to die. */
#define DEAD_BEFORE_MS 100U
/* How often SIGKILL is repeated: a process may be started while the others are killed. */
#define KILL_AGAIN_MS 20U
/* SIGTERM is at most a quarter of the session timeout before SIGKILL, and at most a quarter
 * of the longest hold. */
#define EARLY_PARTS 4U

static const struct uvzk__state table[] = {
    UVZK__STATE(TERMINATION_, IDLE, RUNNING, OVER),
    UVZK__STATE(TERMINATION_, RUNNING, ASKED, KILLED, OVER),
    UVZK__STATE(TERMINATION_, ASKED, KILLED, OVER),
    UVZK__STATE(TERMINATION_, KILLED, OVER),
    UVZK__FINAL(TERMINATION_, OVER),
};

static bool invariant_holds(const void *object)
{
    const struct termination *termination = object;

    switch (termination->state) {
    case TERMINATION_IDLE:
        return !termination->command_ended && !termination->made_to_end;
    case TERMINATION_RUNNING:
        return !termination->made_to_end;
    case TERMINATION_ASKED:
        return (termination->made_to_end || termination->command_ended) &&
               termination->kill_at != 0;
    case TERMINATION_KILLED:
        return termination->made_to_end || termination->command_ended;
    default:
        return true;
    }
}

const struct uvzk__machine termination_machine = UVZK__MACHINE(
    "the command's supervision", table, struct termination, state, invariant_holds);

void termination_init(struct termination *termination,
                      const struct termination_rules *rules)
{
    memset(termination, 0, sizeof(*termination));
    termination->state = TERMINATION_IDLE;
    termination->rules = *rules;
}

/* Returns moment - by, or 0 instead of a negative time. */
static uint64_t earlier(uint64_t moment, uint64_t by)
{
    return moment > by ? moment - by : 0;
}

static uint64_t lesser(uint64_t one, uint64_t other)
{
    return one < other ? one : other;
}

/* Returns the time from SIGTERM to SIGKILL when the validity ends: the grace period, at
 * most a quarter of the session timeout and of the longest hold. A hold that is proved on
 * schedule may have only a third of the session timeout left, and must not be ended
 * then. */
static uint64_t early(const struct termination_rules *rules, uint64_t session_ms)
{
    uint64_t shortest =
        rules->max_hold_ms == 0 ? session_ms : lesser(session_ms, rules->max_hold_ms);

    return rules->on_lost != ON_LOST_TERM
               ? 0
               : lesser(rules->grace_ms, shortest / EARLY_PARTS);
}

void termination_started(struct termination *termination, uint64_t session_ms)
{
    termination->early_ms = early(&termination->rules, session_ms);
    uvzk__machine_move(&termination_machine, termination, TERMINATION_RUNNING);
}

void termination_not_started(struct termination *termination)
{
    uvzk__machine_move(&termination_machine, termination, TERMINATION_OVER);
}

/* SIGKILL now, and again after KILL_AGAIN_MS. */
static enum termination_action kill_all(struct termination *termination, uint64_t now)
{
    termination->again_at = now + KILL_AGAIN_MS;
    if (termination->state != TERMINATION_KILLED) {
        uvzk__machine_move(&termination_machine, termination, TERMINATION_KILLED);
    }
    return ACTION_KILL;
}

/* SIGTERM now, and SIGKILL at kill_at. If kill_at has passed, SIGKILL now. */
static enum termination_action ask(struct termination *termination, uint64_t now,
                                   uint64_t kill_at)
{
    if (kill_at <= now) {
        return kill_all(termination, now);
    }
    termination->kill_at = kill_at;
    uvzk__machine_move(&termination_machine, termination, TERMINATION_ASKED);
    return ACTION_TERM;
}

/* As the rules say, SIGTERM or SIGKILL now. graced: when SIGKILL is due after SIGTERM. */
static enum termination_action make_end(struct termination *termination, uint64_t now,
                                        uint64_t graced)
{
    return termination->rules.on_lost == ON_LOST_KILL ? kill_all(termination, now)
                                                      : ask(termination, now, graced);
}

/* If CMD has ended by itself, its descendants may continue, unless the rules say that they
 * are waited for, or made to end (termination_check). If uvzk ended CMD, the state stays
 * ASKED or KILLED until no descendant is left (termination_nobody_left). */
void termination_command_ended(struct termination *termination)
{
    termination->command_ended = true;
    if (termination->state == TERMINATION_RUNNING && !termination->rules.waits_for_all &&
        !termination->rules.ends_the_rest) {
        uvzk__machine_move(&termination_machine, termination, TERMINATION_OVER);
    }
}

void termination_nobody_left(struct termination *termination)
{
    if (termination->command_ended && termination->state != TERMINATION_OVER) {
        uvzk__machine_move(&termination_machine, termination, TERMINATION_OVER);
    }
}

enum termination_action termination_lost(struct termination *termination, uint64_t now)
{
    if (termination->state != TERMINATION_RUNNING ||
        termination->rules.on_lost == ON_LOST_IGNORE) {
        return ACTION_NONE;
    }
    termination->made_to_end = termination->lost = true;
    return make_end(termination, now, now + termination->rules.grace_ms);
}

enum termination_action termination_given_up(struct termination *termination,
                                             uint64_t now)
{
    if (termination->state != TERMINATION_RUNNING) {
        return ACTION_NONE;
    }
    termination->made_to_end = true;
    return make_end(termination, now, now + termination->rules.grace_ms);
}

enum termination_action termination_holder_gone(struct termination *termination,
                                                uint64_t now, uint64_t valid_until)
{
    uint64_t dead_by = earlier(valid_until, DEAD_BEFORE_MS);
    uint64_t graced = now + termination->rules.grace_ms;

    if (termination->state == TERMINATION_IDLE) {
        uvzk__machine_move(&termination_machine, termination, TERMINATION_OVER);
    }
    if (termination->state != TERMINATION_RUNNING) {
        return ACTION_NONE;
    }
    termination->made_to_end = true;
    return make_end(termination, now, graced < dead_by ? graced : dead_by);
}

/* Returns when the first signal is due if the hold is not proved again. */
static uint64_t ask_at(const struct termination *termination, uint64_t valid_until)
{
    return earlier(valid_until, DEAD_BEFORE_MS + termination->early_ms);
}

/* ASKED: when SIGKILL is due. While the lock is held, each proof may postpone it. */
static uint64_t kill_due(const struct termination *termination, uint64_t valid_until)
{
    uint64_t dead_by = earlier(valid_until, DEAD_BEFORE_MS);

    return termination->lost || termination->kill_at < dead_by ? termination->kill_at
                                                               : dead_by;
}

static enum termination_action check_running(struct termination *termination,
                                             uint64_t now, uint64_t valid_until)
{
    if (termination_rest_is_due(termination)) {
        return make_end(termination, now, now + termination->rules.grace_ms);
    }
    if (termination->rules.on_lost == ON_LOST_IGNORE ||
        now < ask_at(termination, valid_until)) {
        return ACTION_NONE;
    }
    termination->made_to_end = true;
    return make_end(termination, now, earlier(valid_until, DEAD_BEFORE_MS));
}

enum termination_action termination_check(struct termination *termination, uint64_t now,
                                          uint64_t valid_until)
{
    switch (termination->state) {
    case TERMINATION_RUNNING:
        return check_running(termination, now, valid_until);
    case TERMINATION_ASKED:
        return now >= kill_due(termination, valid_until) ? kill_all(termination, now)
                                                         : ACTION_NONE;
    case TERMINATION_KILLED:
        return now >= termination->again_at ? kill_all(termination, now) : ACTION_NONE;
    default:
        return ACTION_NONE;
    }
}

uint64_t termination_next_check(const struct termination *termination,
                                uint64_t valid_until)
{
    switch (termination->state) {
    case TERMINATION_RUNNING:
        return termination->rules.on_lost == ON_LOST_IGNORE
                   ? UINT64_MAX
                   : ask_at(termination, valid_until);
    case TERMINATION_ASKED:
        return kill_due(termination, valid_until);
    case TERMINATION_KILLED:
        return termination->again_at;
    default:
        return UINT64_MAX;
    }
}

bool termination_in_time(const struct termination_rules *rules, uint64_t session_ms,
                         uint64_t now, uint64_t valid_until)
{
    return rules->on_lost == ON_LOST_IGNORE ||
           now < earlier(valid_until, DEAD_BEFORE_MS + early(rules, session_ms));
}
