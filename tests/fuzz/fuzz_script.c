/* SPDX-License-Identifier: Apache-2.0 */
/* A script of what may happen: three clients of one lock, of which each byte lets one act,
 * or lets time pass, or lets something go wrong.
 *
 * Checked after every event: who may not hold together does not. At every callback: each
 * request is answered once, and each hold ends once. When the script is over, all have let
 * go and nothing goes wrong any more: everybody is answered, and no contender, watch or
 * znode is left. */
#include "client/create.h"
#include "fuzz.h"
#include "sim.h"

#define SEATS 3
#define CLAIMS 2 /* of each client */
#define PATH "/locks/a"
#define LEASES_MAX 2U
#define TIMEOUT_MS 6000U
#define HEAL_MS 120000U
#define NODES_MAX 32
#define ACTS_MAX 200

enum recipe { MUTEX, RWLOCK, SEMAPHORE, RECIPES };
enum state { IDLE, ASKING, HOLDING, RELEASING };

struct claim {
    struct client_slot *slot;
    uvzk_hold_t request;
    enum state state;
    bool reads;
};

struct client_slot {
    struct script *script;
    struct uvzk__port *port;
    uvzk_client_t client;
    uvzk_rwlock_t lock; /* write: whatever else the recipe has */
    struct claim claims[CLAIMS];
    bool closed;
};

struct script {
    struct sim *sim;
    enum recipe recipe;
    struct client_slot slots[SEATS];
};

/* ------------------------------------------------------------------- properties */

/* Nothing protects a hold whose session an operator has ended. */
static bool holds(const struct claim *claim)
{
    const struct client_slot *slot = claim->slot;

    return claim->state == HOLDING && uvzk_hold_is_valid(&claim->request) &&
           sim_session_alive(slot->script->sim, uvzk_client_session_id(&slot->client));
}

static void check_exclusion(const struct script *script)
{
    uint32_t readers = 0, others = 0;

    for (int i = 0; i < SEATS; i++) {
        for (int j = 0; j < CLAIMS; j++) {
            const struct claim *claim = &script->slots[i].claims[j];
            readers += holds(claim) && claim->reads;
            others += holds(claim) && !claim->reads;
        }
    }
    if (script->recipe == SEMAPHORE) {
        PROMISE(others <= LEASES_MAX);
    } else {
        PROMISE(others <= 1 && (others == 0 || readers == 0));
    }
}

static void step(struct script *script)
{
    if (!sim_step(script->sim)) {
        sim_run_for(script->sim, 10);
    }
    check_exclusion(script);
}

static void run_for(struct script *script, uint64_t ms)
{
    uint64_t end = sim_now(script->sim) + ms;

    while (sim_now(script->sim) < end) {
        step(script);
    }
}

static void on_acquired(uvzk_hold_t *hold, int status)
{
    struct claim *claim = hold->data;

    PROMISE(claim->state == ASKING);
    claim->state = status == 0 ? HOLDING : IDLE;
    PROMISE(status != 0 || uvzk_hold_is_valid(hold));
}

static void on_lost(uvzk_hold_t *hold, int reason)
{
    struct claim *claim = hold->data;

    PROMISE(claim->state == HOLDING && reason < 0);
    claim->state = IDLE;
}

static void on_released(uvzk_hold_t *hold, int status)
{
    struct claim *claim = hold->data;

    PROMISE(claim->state == RELEASING && status <= 0);
    claim->state = IDLE;
}

static void on_closed(uvzk_client_t *client)
{
    ((struct client_slot *)client->data)->closed = true;
}

/* ---------------------------------------------------------------------- the acts */

static void ask(struct claim *claim, bool reads, int64_t timeout_ms)
{
    struct client_slot *slot = claim->slot;
    uvzk_acquire_options_t options;

    if (claim->state != IDLE) {
        return;
    }
    uvzk_acquire_options_init(&options);
    options.timeout_ms = timeout_ms;
    claim->reads = reads && slot->script->recipe == RWLOCK;
    claim->state = ASKING;
    int status = uvzk_lock_acquire(claim->reads ? &slot->lock.read : &slot->lock.write,
                                   &claim->request, &options, on_acquired, on_lost);
    PROMISE(status == 0);
}

static void let_go(struct claim *claim)
{
    if (claim->state == HOLDING) {
        PROMISE(uvzk_hold_release(&claim->request, on_released) == 0);
        claim->state = RELEASING;
    }
}

static void cancel(struct claim *claim)
{
    if (claim->state == ASKING) {
        (void)uvzk_hold_cancel(&claim->request); /* refused when the end is on its way */
    }
}

static bool held_by_anybody(const struct script *script, const char *path)
{
    for (int i = 0; i < SEATS; i++) {
        for (int j = 0; j < CLAIMS; j++) {
            const char *held = uvzk_hold_path(&script->slots[i].claims[j].request);
            if (held != NULL && strcmp(held, path) == 0) {
                return true;
            }
        }
    }
    return false;
}

/* Somebody deletes the znode of one that waits: who is first may hold already. */
static void delete_by_hand(struct script *script, uint8_t which)
{
    const char *names[NODES_MAX];
    const char *directory = script->recipe == SEMAPHORE ? PATH "/locks" : PATH;
    char path[256];
    size_t count = sim_children(script->sim, directory, names, NODES_MAX);

    if (count < 2 || count > NODES_MAX || script->recipe == RWLOCK) {
        return; /* a reader that is not first may hold, too */
    }
    (void)snprintf(path, sizeof(path), "%s/%s", directory,
                   names[1 + which % (count - 1)]);
    if (!held_by_anybody(script, path)) {
        (void)sim_delete_by_hand(script->sim, path);
    }
}

static void disturb(struct script *script, struct client_slot *slot, uint8_t how)
{
    uint64_t ms = how & 8 ? TIMEOUT_MS : 300;

    switch (how & 7) {
    case 0:
        sim_disconnect(slot->port, SIM_RESET, ms);
        break;
    case 1:
        sim_disconnect(slot->port, SIM_SILENT, ms);
        break;
    case 2:
        sim_pause(slot->port, ms);
        break;
    case 3:
        sim_stall(slot->port, ms);
        break;
    case 4:
        sim_follower_cut(slot->port, ms);
        break;
    case 5:
        sim_restart(script->sim, ms);
        break;
    case 6:
        sim_repeat_connected(slot->port);
        break;
    default:
        (void)sim_expire(slot->port);
        break;
    }
}

static void act(struct script *script, uint8_t byte, struct input *input)
{
    struct client_slot *slot = &script->slots[(byte >> 4 & 3) % SEATS];
    struct claim *claim = &slot->claims[byte >> 6 & 1];
    bool flag = byte & 0x80;

    switch (byte & 15) {
    case 0:
    case 1:
        ask(claim, flag, UVZK_WAIT_FOREVER);
        break;
    case 2:
        ask(claim, flag, take_byte(input) * 4 + 1);
        break;
    case 3:
        ask(claim, flag, UVZK_TRY_ONCE);
        break;
    case 4:
    case 5:
        let_go(claim);
        break;
    case 6:
        cancel(claim);
        break;
    case 7:
        sim_lose_request(slot->port);
        break;
    case 8:
        sim_lose_reply(slot->port);
        break;
    case 9:
        delete_by_hand(script, byte >> 4);
        break;
    case 10:
        disturb(script, slot, take_byte(input));
        break;
    case 11:
        run_for(script, (byte >> 4) * 400U);
        break;
    case 12:
        run_for(script, 1 + (byte >> 4) * 10U);
        break;
    default:
        for (int i = 0; i <= byte >> 4; i++) {
            step(script);
        }
        break;
    }
    check_exclusion(script);
}

/* ------------------------------------------------------------- beginning and end */

static void open_seat(struct client_slot *slot, struct script *script, unsigned tuning)
{
    uvzk_client_options_t options;
    int status;

    uvzk_client_options_init(&options);
    options.hosts = "simulated:1";
    options.session_timeout_ms = TIMEOUT_MS;
    options.retry.kind = UVZK_RETRY_N_TIMES;
    options.retry.base_ms = 50;
    options.retry.max_retries = 3;
    slot->script = script;
    slot->client.data = slot;
    slot->port =
        sim_port_new(script->sim, (const char *[]){"a", "b", "c"}[slot - script->slots]);
    sim_set_timeout(slot->port, TIMEOUT_MS);
    PROMISE(uvzk__client_create(&slot->client, slot->port, &options, tuning) == 0);
    if (script->recipe == MUTEX) {
        status = uvzk_mutex_init(&slot->client, &slot->lock.write, PATH);
    } else if (script->recipe == RWLOCK) {
        status = uvzk_rwlock_init(&slot->client, &slot->lock, PATH);
    } else {
        status =
            uvzk_semaphore_init(&slot->client, &slot->lock.write, PATH, LEASES_MAX, NULL);
    }
    PROMISE(status == 0 && uvzk_client_start(&slot->client) == 0);
    for (int i = 0; i < CLAIMS; i++) {
        slot->claims[i].slot = slot;
        slot->claims[i].request.data = &slot->claims[i];
    }
}

static void begin(struct script *script, uint8_t how, unsigned tuning)
{
    struct sim_options options;

    sim_options_init(&options);
    options.session_timeout_ms = TIMEOUT_MS;
    options.latency_max_ms = how & 32 ? 20 : 2;
    options.followers = how & 16;
    options.shuffle_ties = how & 8;
    options.trace = getenv("UVZK_VERBOSE") != NULL;
    options.trace_cb = options.trace ? sim_trace_to_stderr : NULL;
    script->recipe = how % 8 % RECIPES;
    script->sim = sim_new(how, &options);
    for (int i = 0; i < SEATS; i++) {
        open_seat(&script->slots[i], script, tuning);
    }
}

static bool all_idle(struct script *script)
{
    bool idle = true;

    for (int i = 0; i < SEATS; i++) {
        struct client_slot *slot = &script->slots[i];
        uvzk_client_state_t state = uvzk_client_state(&slot->client);
        for (int j = 0; j < CLAIMS; j++) {
            let_go(&slot->claims[j]);
            idle = idle && slot->claims[j].state == IDLE;
        }
        idle = idle && (state == UVZK_STATE_CONNECTED || state == UVZK_STATE_RECONNECTED);
    }
    return idle;
}

static void check_residue(struct script *script)
{
    const char *const directories[] = {PATH, PATH "/locks", PATH "/leases"};
    bool counted = script->recipe == SEMAPHORE;

    for (int i = 0; i < SEATS; i++) {
        uvzk_client_metrics_t stats;
        uvzk_client_metrics_init(&stats);
        uvzk_client_metrics(&script->slots[i].client, &stats);
        PROMISE(stats.contenders == 0 && stats.watches == 0);
    }
    for (int i = counted ? 1 : 0; i < (counted ? 3 : 1); i++) {
        PROMISE(sim_children(script->sim, directories[i], NULL, 0) == 0);
    }
    PROMISE(sim_watch_count(script->sim) == 0);
}

static void end(struct script *script)
{
    uint64_t latest = sim_now(script->sim) + HEAL_MS;

    do {
        while (!all_idle(script)) {
            PROMISE(sim_now(script->sim) < latest);
            run_for(script, 100);
        }
        run_for(script, 4 * TIMEOUT_MS); /* cuts are noticed, sessions left run out */
    } while (!all_idle(script));
    check_residue(script);
    for (int i = 0; i < SEATS; i++) {
        PROMISE(uvzk_client_close(&script->slots[i].client, on_closed) == 0);
    }
    run_for(script, 2 * TIMEOUT_MS);
    for (int i = 0; i < SEATS; i++) {
        PROMISE(script->slots[i].closed);
    }
    sim_free(script->sim);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct input input = {data, size};
    struct script *script = calloc(1, sizeof(*script));
    uint8_t how = take_byte(&input);

    begin(script, how, take_byte(&input) % (UVZK__TUNE_ALL + 1));
    for (int acts = 0; input.left > 0 && acts < ACTS_MAX; acts++) {
        act(script, take_byte(&input), &input);
    }
    end(script);
    free(script);
    return 0;
}
