#include "value_history.h"

#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "client/client.h"
#include "metronome.h"
#include "scarce.h"
#include "sim.h"

#define PATH "/values/deep/v"
#define SEATS_MAX 5
#define HANDLES 2
#define SETS_MAX 1024
#define STATES_MAX 4096
#define TEXT_SIZE 24
#define ACTIVE_MS 8000U
#define HEAL_MS 120000U

struct world;
struct seat;

/* A shared value, made anew each time. */
struct handle {
    struct seat *seat;
    uvzk_shared_value_t *value; /* NULL: closed */
    int64_t mzxid;              /* told last */
    int status;
    bool closing;
    uint64_t next_ms;
    uvzk_value_version_t earlier; /* some version of before */
    int incarnation;
};

struct seat {
    struct world *world;
    int number;
    struct uvzk__port *port;
    uvzk_client_t *client; /* NULL: closed */
    struct handle handles[HANDLES];
    bool closing;
    uint64_t reopen_ms;
};

struct set {
    uvzk_set_t *request; /* NULL: told */
    struct handle *handle;
    int incarnation; /* of the handle */
    bool conditional;
    uvzk_value_version_t over;
    int status;
    char text[TEXT_SIZE];
    size_t took_effect; /* how often */
    size_t place;       /* in the znode's states */
};

/* What the znode was, one transaction after the other; mzxid 0: missing. */
struct znode_state {
    struct uvzk__stat stat;
    char text[TEXT_SIZE];
};

struct world {
    struct sim *sim;
    struct value_history_result *result;
    struct seat seats[SEATS_MAX];
    int seat_count;
    struct set sets[SETS_MAX];
    size_t set_count;
    struct znode_state states[STATES_MAX];
    size_t state_count;
    struct metronome metronome;
    uint32_t timeout_ms;
    uint64_t end_ms;
    bool vandals, killings, pauses, failed;
    unsigned kinds; /* enum history_kind */
};

static void fail(struct world *world, const char *format, ...)
    __attribute__((format(printf, 2, 3)));

static void fail(struct world *world, const char *format, ...)
{
    va_list arguments;

    world->failed = true;
    va_start(arguments, format);
    history_sim_failed(world->sim, world->result->failure, format, arguments);
    va_end(arguments);
}

static uint64_t chance(struct world *world, uint64_t n)
{
    return sim_random(world->sim, n);
}

/* ------------------------------------------------------------ what the znode was */

static void copy_text(char text[TEXT_SIZE], const void *data, size_t length)
{
    size_t room = length < TEXT_SIZE - 1 ? length : TEXT_SIZE - 1;

    memcpy(text, data, room);
    text[room] = '\0';
}

/* After each event; there is at most one transaction in it. */
static void write_down(struct world *world)
{
    const struct znode_state *last = &world->states[world->state_count - 1];
    struct znode_state now;
    size_t length;

    memset(&now, 0, sizeof(now));
    if (sim_stat(world->sim, PATH, &now.stat)) {
        if (now.stat.mzxid == last->stat.mzxid) {
            return;
        }
        const void *data = sim_data(world->sim, PATH, &length);
        copy_text(now.text, data, length);
    } else if (last->stat.mzxid == 0) {
        return;
    }
    if (world->state_count == STATES_MAX) {
        fail(world, "too many states");
        return;
    }
    world->states[world->state_count++] = now;
}

static const struct znode_state *state_at(const struct world *world, int64_t mzxid)
{
    for (size_t i = world->state_count; i-- > 0;) {
        if (world->states[i].stat.mzxid == mzxid) {
            return &world->states[i];
        }
    }
    return NULL;
}

/* -------------------------------------------------------------- the callbacks */

static uint64_t soon(struct world *world, uint64_t most_ms)
{
    return sim_now(world->sim) + 1 + chance(world, most_ms);
}

/* What only some histories have. */
static bool is_of_its_kind(const struct handle *handle, int status)
{
    unsigned kinds = handle->seat->world->kinds;

    return (status == UVZK_EAUTH && sim_auth_failed(handle->seat->port)) ||
           (status == UVZK_ENOAUTH && (kinds & HISTORY_BLIND) != 0);
}

/* What it knows is something that the znode was. */
static void check_known(struct handle *handle)
{
    struct world *world = handle->seat->world;
    uvzk_value_version_t version;
    const void *data;
    size_t length;
    char text[TEXT_SIZE];

    if (uvzk_shared_value_get(handle->value, &data, &length, &version) != 0) {
        return;
    }
    write_down(world);
    const struct znode_state *was = state_at(world, version.mzxid);
    copy_text(text, data, length);
    if (was == NULL || was->stat.version != version.version ||
        strcmp(was->text, text) != 0) {
        fail(world, "%s was never the value at %" PRId64, text, version.mzxid);
    }
    if (version.mzxid < handle->mzxid) {
        fail(world, "a value goes back");
    }
}

static void on_value(uvzk_shared_value_t *value, int status)
{
    struct handle *handle = value->data;
    struct world *world = handle->seat->world;
    uvzk_value_version_t version = {0, 0};

    (void)uvzk_shared_value_get(value, NULL, NULL, &version);
    sim_note(world->sim, "client %d: value says %s at %" PRId64, handle->seat->number,
             uvzk_err_name(status), version.mzxid);
    if (handle->value != value || handle->closing || handle->seat->closing) {
        fail(world, "told after the close");
    }
    if (status != 0 && status != UVZK_ENONODE && !is_of_its_kind(handle, status)) {
        fail(world, "a value says %s", uvzk_err_name(status));
    }
    if (status == UVZK_ENONODE && !world->vandals) {
        fail(world, "a znode that was never deleted is missing");
    }
    if (status == handle->status && (status != 0 || version.mzxid == handle->mzxid)) {
        fail(world, "told twice");
    }
    check_known(handle);
    handle->mzxid = version.mzxid;
    handle->status = status;
    world->result->values++;
    if (chance(world, 4) == 0) {
        handle->earlier = version;
    }
}

static void on_value_closed(uvzk_shared_value_t *value)
{
    struct handle *handle = value->data;

    if (!handle->closing || value->impl != NULL) {
        fail(handle->seat->world, "a close callback out of order");
    }
    free(value);
    handle->value = NULL;
    handle->next_ms = soon(handle->seat->world, 500);
}

static void on_set(uvzk_set_t *request, int status)
{
    struct set *set = request->data;
    struct world *world = set->handle->seat->world;

    sim_note(world->sim, "client %d: set of %s says %s", set->handle->seat->number,
             set->text, uvzk_err_name(status));
    if (set->request != request || request->impl != NULL || status > 0) {
        fail(world, "the callback of a set out of order");
    }
    if (status == 0 && !set->handle->closing && !set->handle->seat->closing) {
        check_known(set->handle);
    }
    free(request);
    set->request = NULL;
    set->status = status;
    world->result->set += status == 0;
    world->result->outdated += status == UVZK_EBADVERSION;
    world->result->unknown += status == UVZK_ECONNLOSS;
}

static void on_client_closed(uvzk_client_t *client)
{
    struct seat *seat = client->data;

    for (int i = 0; i < HANDLES; i++) {
        struct handle *handle = &seat->handles[i];
        if (handle->value != NULL && handle->value->impl != NULL) {
            fail(seat->world, "a value outlives its client");
        }
        free(handle->value); /* closed with its client, without a word */
        handle->value = NULL;
    }
    free(client);
    seat->client = NULL;
    seat->port = NULL;
    seat->reopen_ms = soon(seat->world, 1500);
}

/* ---------------------------------------------------------------- what they do */

static void open_seat(struct seat *seat)
{
    struct world *world = seat->world;
    uvzk_client_options_t options;
    char name[8];

    (void)snprintf(name, sizeof(name), "c%d", seat->number);
    uvzk_client_options_init(&options);
    options.hosts = "simulated:1";
    options.session_timeout_ms = world->timeout_ms;
    options.retry.kind = UVZK_RETRY_FOREVER;
    options.retry.base_ms = 50;
    seat->port = sim_port_new(world->sim, name);
    sim_set_timeout(seat->port, world->timeout_ms);
    seat->client = calloc(1, sizeof(*seat->client));
    seat->client->data = seat;
    seat->closing = false;
    if (uvzk__client_create(seat->client, seat->port, &options, UVZK__TUNE_ALL) != 0 ||
        uvzk_client_start(seat->client) != 0) {
        fail(world, "a client cannot be made");
    }
    for (int i = 0; i < HANDLES; i++) {
        seat->handles[i].next_ms = soon(world, i == 0 ? 50 : 3000);
    }
}

static void close_seat(struct seat *seat)
{
    seat->closing = true;
    if (uvzk_client_close(seat->client, on_client_closed) != 0) {
        fail(seat->world, "a client cannot be closed");
    }
}

static void open_handle(struct handle *handle)
{
    struct world *world = handle->seat->world;
    char seed[TEXT_SIZE];

    handle->incarnation++;
    (void)snprintf(seed, sizeof(seed), "seed%d.%d", handle->seat->number,
                   handle->incarnation);
    handle->value = calloc(1, sizeof(*handle->value));
    handle->value->data = handle;
    handle->closing = false;
    handle->mzxid = 0;
    handle->status = 0;
    if (uvzk_shared_value_init(handle->seat->client, handle->value, PATH, seed,
                               strlen(seed), on_value) != 0) {
        fail(world, "a value cannot be made");
    }
}

static void close_handle(struct handle *handle)
{
    handle->closing = true;
    if (uvzk_shared_value_close(handle->value, on_value_closed) != 0) {
        fail(handle->seat->world, "a value cannot be closed");
    }
}

static void begin_set(struct handle *handle, const uvzk_value_version_t *over)
{
    struct world *world = handle->seat->world;
    struct set *set = &world->sets[world->set_count];
    int status;

    if (world->set_count == SETS_MAX) {
        return;
    }
    (void)snprintf(set->text, sizeof(set->text), "s%d.%zu", handle->seat->number,
                   world->set_count++);
    set->handle = handle;
    set->incarnation = handle->incarnation;
    set->request = calloc(1, sizeof(*set->request));
    set->request->data = set;
    if (over == NULL) {
        status = uvzk_shared_value_set(handle->value, set->request, set->text,
                                       strlen(set->text), on_set);
    } else {
        set->conditional = true;
        set->over = *over;
        status = uvzk_shared_value_try_set(handle->value, set->request, over, set->text,
                                           strlen(set->text), on_set);
    }
    if (status != 0) {
        fail(world, "a set is refused: %s", uvzk_err_name(status));
    }
    world->result->sets++;
}

static void try_to_set(struct handle *handle)
{
    uvzk_value_version_t version;

    if (uvzk_shared_value_get(handle->value, NULL, NULL, &version) == 0) {
        begin_set(handle, &version);
    }
}

static void act(struct handle *handle)
{
    struct world *world = handle->seat->world;
    uint64_t kind = chance(world, 100);

    handle->next_ms = soon(world, 400);
    if (handle->value == NULL) {
        open_handle(handle);
    } else if (handle->closing) {
        return;
    } else if (kind < 35) {
        begin_set(handle, NULL);
    } else if (kind < 75) {
        try_to_set(handle);
    } else if (kind < 80) {
        try_to_set(handle); /* two over the same value */
        try_to_set(handle);
    } else if (kind < 85 && handle->earlier.mzxid != 0) {
        begin_set(handle, &handle->earlier);
    } else if (kind < 92) {
        close_handle(handle);
    } else if (kind < 94) {
        close_seat(handle->seat);
    }
}

/* Nothing can be done with it any more. */
static void close_refused(struct world *world)
{
    for (int i = 0; i < world->seat_count; i++) {
        struct seat *seat = &world->seats[i];
        if (seat->client != NULL && !seat->closing && sim_auth_failed(seat->port)) {
            close_seat(seat);
        }
    }
}

static void act_all(struct world *world)
{
    uint64_t now = sim_now(world->sim);

    close_refused(world);
    for (int i = 0; i < world->seat_count; i++) {
        struct seat *seat = &world->seats[i];
        if (seat->client == NULL && now >= seat->reopen_ms) {
            open_seat(seat);
        }
        for (int j = 0; j < HANDLES; j++) {
            if (seat->client != NULL && !seat->closing &&
                now >= seat->handles[j].next_ms) {
                act(&seat->handles[j]);
            }
        }
    }
    if (world->vandals && chance(world, 800) == 0) {
        if (sim_delete_by_hand(world->sim, PATH) == 0) {
            write_down(world);
        }
        if (chance(world, 2) == 0) {
            (void)sim_create_by_hand(world->sim, PATH, UVZK__PERSISTENT);
            write_down(world);
        }
    }
}

/* ------------------------------------------------------------------- the checks */

static const struct set *set_named(const struct world *world, const char *text)
{
    const char *dot = strchr(text, '.');
    size_t number = text[0] != 's' || dot == NULL ? SETS_MAX : strtoul(dot + 1, NULL, 10);

    return number < world->set_count && strcmp(world->sets[number].text, text) == 0
               ? &world->sets[number]
               : NULL;
}

static void count_effects(struct world *world)
{
    for (size_t i = 0; i < world->state_count; i++) {
        const struct set *found = set_named(world, world->states[i].text);
        if (found != NULL) {
            struct set *set = &world->sets[found - world->sets];
            set->took_effect++;
            set->place = i;
        }
    }
}

/* A znode that was made again may have come to the same version number. */
static bool replaced_the_right_value(const struct world *world, const struct set *set)
{
    const struct uvzk__stat *before = &world->states[set->place - 1].stat;

    return before->version == set->over.version &&
           (before->mzxid == set->over.mzxid || world->vandals);
}

static bool may_have_taken_effect(int status)
{
    switch (status) {
    case 0:
    case UVZK_ECONNLOSS:
    case UVZK_ECLOSED:
    case UVZK_EAUTH: /* of the connection, when the set was on its way */
    case UV_ENOMEM:  /* a spoilt reply */
        return true;
    default:
        return false;
    }
}

static void check_set(struct world *world, const struct set *set)
{
    const char *name = uvzk_err_name(set->status);

    if (set->request != NULL) {
        fail(world, "%s is never answered", set->text);
    } else if (set->took_effect > 1) {
        fail(world, "%s was set %zu times", set->text, set->took_effect);
    } else if (set->status == 0 && set->took_effect == 0) {
        fail(world, "%s was told to be set, and was not", set->text);
    } else if (set->took_effect == 1 && !may_have_taken_effect(set->status)) {
        fail(world, "%s was set, and told %s", set->text, name);
    } else if (set->took_effect == 1 && set->conditional &&
               !replaced_the_right_value(world, set)) {
        fail(world, "%s replaced another value than it was to replace", set->text);
    } else if (set->status == UVZK_EBADVERSION  ? !set->conditional
               : set->status == UVZK_ENONODE    ? !world->vandals
               : set->status == UVZK_ETHROTTLED ? (world->kinds & HISTORY_THROTTLE) == 0
                                                : !may_have_taken_effect(set->status)) {
        fail(world, "%s says %s", set->text, name);
    }
}

static void check_sets(struct world *world)
{
    const struct set *last[SEATS_MAX][HANDLES] = {{NULL}};

    count_effects(world);
    for (size_t i = 0; i < world->set_count; i++) {
        const struct set *set = &world->sets[i];
        int handle = (int)(set->handle - set->handle->seat->handles);
        const struct set **before = &last[set->handle->seat->number][handle];
        check_set(world, set);
        if (set->took_effect == 0) {
            continue;
        }
        if (*before != NULL && (*before)->incarnation == set->incarnation &&
            set->place < (*before)->place) {
            fail(world, "%s overtook %s", set->text, (*before)->text);
        }
        *before = set;
    }
}

static bool is_current(const struct handle *handle)
{
    const struct world *world = handle->seat->world;
    const struct znode_state *last = &world->states[world->state_count - 1];
    uvzk_value_version_t version;

    return handle->value != NULL &&
           uvzk_shared_value_get(handle->value, NULL, NULL, &version) == 0 &&
           version.mzxid == last->stat.mzxid && handle->mzxid == last->stat.mzxid &&
           handle->status == 0;
}

static bool everyone_is_current(struct world *world)
{
    for (int i = 0; i < world->seat_count; i++) {
        for (int j = 0; j < HANDLES; j++) {
            const struct handle *handle = &world->seats[i].handles[j];
            if (handle->value != NULL && !is_current(handle)) {
                return false;
            }
        }
    }
    for (size_t i = 0; i < world->set_count; i++) {
        if (world->sets[i].request != NULL) {
            return false;
        }
    }
    return true;
}

/* ------------------------------------------------------------------- the history */

static void some_faults(struct world *world, uint64_t seed)
{
    struct sim_faults faults;
    uint32_t weight = (uint32_t)chance(world, 4); /* one in four has hardly any */

    memset(&faults, 0, sizeof(faults));
    faults.lose_request = 4000 * weight;
    faults.lose_reply = 8000 * weight;
    faults.spoil_reply = chance(world, 4) == 0 ? 4000 : 0;
    faults.delay = 4000 * weight;
    faults.reset = 60000 * weight;
    faults.silence = 30000 * weight;
    faults.expire = world->killings ? 60000 * weight : 0;
    faults.pause = world->pauses ? 30000 * weight : 0;
    faults.stall = world->pauses ? 30000 * weight : 0;
    faults.follower_cut = 30000 * weight;
    faults.repeat_connected = 20000;
    faults.replace_handle = 40000;
    faults.restart = 20000 * weight;
    faults.down_max_ms = chance(world, 2) == 0
                             ? 500
                             : (uint32_t)(2 + 4 * chance(world, 2)) * world->timeout_ms;
    faults.pause_max_ms = 2 * world->timeout_ms;
    faults.cut_max_ms = 2 * world->timeout_ms;
    history_sim_faults(&faults, seed, world->timeout_ms);
    sim_set_faults(world->sim, &faults);
}

static void create_world(struct world *world, uint64_t seed, bool verbose)
{
    struct sim_options options;

    history_sim_options(&options, seed, verbose);
    world->sim = sim_new(seed, &options);
    world->kinds = history_sim_kinds(seed);
    world->killings = seed % 4 == 3;
    world->pauses = seed % 5 != 0;
    world->vandals = seed % 3 == 2;
    world->timeout_ms = seed % 7 == 0 ? 10000 : 4000;
    world->seat_count = 3 + (int)chance(world, 3);
    world->end_ms = sim_now(world->sim) + ACTIVE_MS;
    world->state_count = 1; /* missing */
    for (int i = 0; i < world->seat_count; i++) {
        world->seats[i].world = world;
        world->seats[i].number = i;
        for (int j = 0; j < HANDLES; j++) {
            world->seats[i].handles[j].seat = &world->seats[i];
        }
        open_seat(&world->seats[i]);
    }
    metronome_begin(&world->metronome, world->sim, 5);
    some_faults(world, seed);
}

static void live(struct world *world, uint64_t until, bool active)
{
    while (sim_now(world->sim) < until && !world->failed) {
        if (metronome_step(&world->metronome)) {
            write_down(world);
        } else if (active) {
            act_all(world);
        } else if (everyone_is_current(world)) {
            break;
        }
    }
}

static void heal(struct world *world)
{
    sim_set_faults(world->sim, NULL);
    close_refused(world);
    if (!sim_exists(world->sim, PATH)) {
        static const char *const ways[] = {"/values", "/values/deep", PATH};
        for (int i = 0; i < 3; i++) {
            (void)sim_create_by_hand(world->sim, ways[i], UVZK__PERSISTENT);
            write_down(world);
        }
    }
    live(world, sim_now(world->sim) + HEAL_MS, false);
    if (!everyone_is_current(world)) {
        fail(world, "somebody does not come to know the last value");
    }
}

static bool anyone_open(const struct world *world)
{
    for (int i = 0; i < world->seat_count; i++) {
        if (world->seats[i].client != NULL) {
            return true;
        }
    }
    return false;
}

static bool any_value_open(const struct world *world)
{
    for (int i = 0; i < world->seat_count; i++) {
        for (int j = 0; j < HANDLES; j++) {
            if (world->seats[i].handles[j].value != NULL) {
                return true;
            }
        }
    }
    return false;
}

static void close_values(struct world *world)
{
    for (int i = 0; i < world->seat_count; i++) {
        struct seat *seat = &world->seats[i];
        for (int j = 0; j < HANDLES; j++) {
            struct handle *handle = &seat->handles[j];
            if (handle->value != NULL && !handle->closing && !seat->closing) {
                close_handle(handle);
            }
        }
    }
    for (uint64_t until = sim_now(world->sim) + HEAL_MS;
         any_value_open(world) && sim_now(world->sim) < until && sim_step(world->sim);) {
    }
    if (any_value_open(world)) {
        fail(world, "a value does not close");
    }
}

static void close_clients(struct world *world)
{
    for (int i = 0; i < world->seat_count; i++) {
        struct seat *seat = &world->seats[i];
        uvzk_client_stats_t stats;
        if (seat->client == NULL || seat->closing) {
            continue;
        }
        uvzk_client_stats(seat->client, &stats);
        if (stats.watches != 0 || sim_armed(seat->port) != 0) {
            fail(world, "client %d has watches left", seat->number);
        }
        close_seat(seat);
    }
    for (uint64_t until = sim_now(world->sim) + HEAL_MS;
         anyone_open(world) && sim_now(world->sim) < until && sim_step(world->sim);) {
    }
    for (uint64_t until = sim_now(world->sim) + HEAL_MS; /* the servers may be down */
         sim_session_count(world->sim) > 0 && sim_now(world->sim) < until;) {
        sim_run_for(world->sim, 1000);
    }
    if (anyone_open(world) || sim_watch_count(world->sim) != 0 ||
        sim_session_count(world->sim) != 0) {
        fail(world, "left: %s, %zu watches, %zu sessions",
             anyone_open(world) ? "clients" : "no client", sim_watch_count(world->sim),
             sim_session_count(world->sim));
    }
}

void value_history_run(uint64_t seed, bool verbose, struct value_history_result *result)
{
    struct world *world = calloc(1, sizeof(*world));

    memset(result, 0, sizeof(*result));
    world->result = result;
    create_world(world, seed, verbose);
    live(world, world->end_ms, true);
    if (!world->failed) {
        heal(world);
    }
    if (!world->failed) {
        check_sets(world);
        close_values(world);
    }
    if (!world->failed) {
        sim_run_for(world->sim, 1000);
        metronome_end(&world->metronome);
        close_clients(world);
    }
    if (!world->failed && scarce_live() != 0) {
        fail(world, "%" PRId64 " blocks of memory are left", scarce_live());
    }
    result->steps = sim_steps(world->sim);
    result->trace_hash = sim_trace_hash(world->sim);
    if (world->failed) {
        sim_trace_print(world->sim, stderr);
        return; /* what is broken is not taken to pieces */
    }
    sim_free(world->sim);
    free(world);
}
