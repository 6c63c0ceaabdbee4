#include "supervision.h"

#include <string.h>

#define IDLE SUPERVISION_IDLE
#define RUNNING SUPERVISION_RUNNING
#define ASKED SUPERVISION_ASKED
#define KILLED SUPERVISION_KILLED
#define OVER SUPERVISION_OVER

/* SIGKILL takes a moment to do its work. */
#define DEAD_BEFORE_MS 100U
#define KILL_AGAIN_MS 20U
#define EARLY_PARTS 4U

static const struct uvzk__state table[] = {
    [IDLE] = {"IDLE", UVZK__BIT(RUNNING) | UVZK__BIT(OVER)},
    [RUNNING] = {"RUNNING", UVZK__BIT(ASKED) | UVZK__BIT(KILLED) | UVZK__BIT(OVER)},
    [ASKED] = {"ASKED", UVZK__BIT(KILLED) | UVZK__BIT(OVER)},
    [KILLED] = {"KILLED", UVZK__BIT(OVER)},
    [OVER] = {"OVER", 0},
};

const struct uvzk__machine supervision_machine =
    UVZK__MACHINE("the command's supervision", table);

static bool sound(const struct supervision *supervision)
{
    switch (supervision->state) {
    case IDLE:
        return !supervision->command_ended && !supervision->made_to_end;
    case RUNNING:
        return !supervision->made_to_end;
    case ASKED:
        return supervision->made_to_end && supervision->kill_at != 0;
    case KILLED:
        return supervision->made_to_end;
    default:
        return true;
    }
}

/* The only writer of state. */
static void move(struct supervision *supervision, enum supervision_state state)
{
    supervision->state =
        (uint8_t)uvzk__machine_move(&supervision_machine, supervision->state, state);
    assert(sound(supervision));
}

void supervision_init(struct supervision *supervision,
                      const struct supervision_rules *rules)
{
    memset(supervision, 0, sizeof(*supervision));
    supervision->state = IDLE;
    supervision->rules = *rules;
}

static uint64_t earlier(uint64_t moment, uint64_t by)
{
    return moment > by ? moment - by : 0;
}

/* The grace is taken from the validity, as far as that goes: a hold that is proved as it
 * should be always has a third of its session left. */
static uint64_t early(const struct supervision_rules *rules, uint64_t session_ms)
{
    uint64_t most = session_ms / EARLY_PARTS;

    return rules->on_lost != ON_LOST_TERM ? 0
           : rules->grace_ms < most       ? rules->grace_ms
                                          : most;
}

void supervision_started(struct supervision *supervision, uint64_t session_ms)
{
    supervision->early_ms = early(&supervision->rules, session_ms);
    move(supervision, RUNNING);
}

void supervision_not_started(struct supervision *supervision)
{
    move(supervision, OVER);
}

static enum supervision_wish kill_all(struct supervision *supervision, uint64_t now)
{
    supervision->made_to_end = true;
    supervision->again_at = now + KILL_AGAIN_MS;
    if (supervision->state != KILLED) {
        move(supervision, KILLED);
    }
    return WISH_KILL;
}

static enum supervision_wish ask(struct supervision *supervision, uint64_t now,
                                 uint64_t kill_at)
{
    if (kill_at <= now) {
        return kill_all(supervision, now);
    }
    supervision->made_to_end = true;
    supervision->kill_at = kill_at;
    move(supervision, ASKED);
    return WISH_ASK;
}

/* What is left of CMD when it has ended by itself is nobody's concern, unless all are
 * waited for; when it was made to end, nobody is left behind. */
void supervision_command_ended(struct supervision *supervision)
{
    supervision->command_ended = true;
    if (supervision->state == RUNNING && !supervision->rules.waits_for_all) {
        move(supervision, OVER);
    }
}

void supervision_nobody_left(struct supervision *supervision)
{
    if (supervision->command_ended && supervision->state != OVER) {
        move(supervision, OVER);
    }
}

enum supervision_wish supervision_lost(struct supervision *supervision, uint64_t now)
{
    if (supervision->state != RUNNING || supervision->rules.on_lost == ON_LOST_IGNORE) {
        return WISH_NOTHING;
    }
    if (supervision->rules.on_lost == ON_LOST_KILL) {
        return kill_all(supervision, now);
    }
    return ask(supervision, now, now + supervision->rules.grace_ms);
}

enum supervision_wish supervision_holder_gone(struct supervision *supervision,
                                              uint64_t now, uint64_t valid_until)
{
    uint64_t dead_by = earlier(valid_until, DEAD_BEFORE_MS);
    uint64_t graced = now + supervision->rules.grace_ms;

    if (supervision->state == IDLE) {
        move(supervision, OVER);
    }
    if (supervision->state != RUNNING) {
        return WISH_NOTHING;
    }
    if (supervision->rules.on_lost == ON_LOST_KILL) {
        return kill_all(supervision, now);
    }
    return ask(supervision, now, graced < dead_by ? graced : dead_by);
}

/* When a hold that is not proved again must begin to end. */
static uint64_t ask_at(const struct supervision *supervision, uint64_t valid_until)
{
    return earlier(valid_until, DEAD_BEFORE_MS + supervision->early_ms);
}

enum supervision_wish supervision_look(struct supervision *supervision, uint64_t now,
                                       uint64_t valid_until)
{
    switch (supervision->state) {
    case RUNNING:
        if (supervision->rules.on_lost == ON_LOST_IGNORE ||
            now < ask_at(supervision, valid_until)) {
            return WISH_NOTHING;
        }
        return supervision->rules.on_lost == ON_LOST_KILL
                   ? kill_all(supervision, now)
                   : ask(supervision, now, earlier(valid_until, DEAD_BEFORE_MS));
    case ASKED:
        return now >= supervision->kill_at ? kill_all(supervision, now) : WISH_NOTHING;
    case KILLED:
        return now >= supervision->again_at ? kill_all(supervision, now) : WISH_NOTHING;
    default:
        return WISH_NOTHING;
    }
}

uint64_t supervision_due(const struct supervision *supervision, uint64_t valid_until)
{
    switch (supervision->state) {
    case RUNNING:
        return supervision->rules.on_lost == ON_LOST_IGNORE
                   ? UINT64_MAX
                   : ask_at(supervision, valid_until);
    case ASKED:
        return supervision->kill_at;
    case KILLED:
        return supervision->again_at;
    default:
        return UINT64_MAX;
    }
}

bool supervision_in_time(const struct supervision_rules *rules, uint64_t session_ms,
                         uint64_t now, uint64_t valid_until)
{
    return rules->on_lost == ON_LOST_IGNORE ||
           now < earlier(valid_until, DEAD_BEFORE_MS + early(rules, session_ms));
}
