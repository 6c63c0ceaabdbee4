/* SPDX-License-Identifier: Apache-2.0 */
/* Listings: children of any name stand in a lock's directory before one of ours asks,
 * behind it, and go again. Ours is granted when and only when no contender of others
 * stands before it. */
#include "base/path.h"
#include "base/place.h"
#include "client/create.h"
#include "fuzz.h"
#include "locks/mutex.h"
#include "locks/rwlock.h"
#include "sim.h"

#define DIRECTORY "/lock"
#define CHILDREN_MAX 64
#define TIMEOUT_MS 8000U

struct stand {
    struct sim *sim;
    uvzk_client_t client;
    uvzk_rwlock_t lock; /* both halves, or the first one as a mutex */
    uvzk_hold_t hold;
    const struct uvzk__directory_kind *kind; /* of the lock's directory */
    bool shared;                             /* ours is a reader */
    int told;                                /* callbacks of the acquire */
    int status;
    bool held, released, closed;
};

static void on_acquired(uvzk_hold_t *hold, int status)
{
    struct stand *stand = hold->data;

    PROMISE(stand->told++ == 0);
    stand->status = status;
    stand->held = status == 0;
}

static void on_lost(uvzk_hold_t *hold, int reason)
{
    struct stand *stand = hold->data;

    (void)reason;
    PROMISE(stand->held);
    stand->held = false;
}

static void on_released(uvzk_hold_t *hold, int status)
{
    struct stand *stand = hold->data;

    (void)status;
    stand->released = true;
}

static void on_closed(uvzk_client_t *client)
{
    ((struct stand *)client->data)->closed = true;
}

/* Returns true if this child comes before ours, whose name is given, and excludes it. */
static bool comes_before(const struct stand *stand, const char *child, const char *own)
{
    struct uvzk__node_name theirs, ours;
    bool shared, own_shared;

    uvzk__node_name_parse_any(&theirs, child, stand->kind->name_prefixes, &shared);
    uvzk__node_name_parse_any(&ours, own, stand->kind->name_prefixes, &own_shared);
    return theirs.is_contender && strcmp(child, own) != 0 &&
           !uvzk__sequence_exhausted(theirs.sequence) &&
           theirs.sequence < ours.sequence && !(shared && own_shared);
}

static void check_grant(const struct stand *stand)
{
    const char *names[CHILDREN_MAX];
    const char *path = uvzk_hold_path(&stand->hold);

    if (!stand->held || !uvzk_hold_is_valid(&stand->hold) ||
        !sim_exists(stand->sim, path)) {
        return;
    }
    size_t count = sim_children(stand->sim, DIRECTORY, names, CHILDREN_MAX);
    for (size_t i = 0; i < count && i < CHILDREN_MAX; i++) {
        PROMISE(!comes_before(stand, names[i], uvzk__path_name(path)));
    }
}

static void run_for(struct stand *stand, uint64_t ms)
{
    uint64_t end = sim_now(stand->sim) + ms;

    while (sim_now(stand->sim) < end) {
        sim_run_for(stand->sim, 1);
        check_grant(stand);
    }
}

/* Servers give numbers in order: once ours exists, no other comes to stand before it.
 * Whether that one had come before our listing or behind it, nobody could tell. */
static bool is_too_late(const struct stand *stand, const char *name)
{
    const char *names[CHILDREN_MAX];
    size_t count = sim_children(stand->sim, DIRECTORY, names, CHILDREN_MAX);

    for (size_t i = 0; i < count && i < CHILDREN_MAX; i++) {
        char path[sizeof(DIRECTORY) + 1 + NAME_MAX];
        struct uvzk__stat stat;
        (void)snprintf(path, sizeof(path), "%s/%s", DIRECTORY, names[i]);
        if (sim_stat(stand->sim, path, &stat) && stat.ephemeral_owner != 0 &&
            comes_before(stand, name, names[i])) {
            return true;
        }
    }
    return false;
}

static void add_child(struct stand *stand, const char *name)
{
    char *path = malloc(sizeof(DIRECTORY) + 1 + strlen(name));

    (void)sprintf(path, "%s/%s", DIRECTORY, name);
    if (strchr(name, '/') == NULL && uvzk__path_validate(path) == 0 && !stand->held &&
        !is_too_late(stand, name) &&
        sim_children(stand->sim, DIRECTORY, NULL, 0) < CHILDREN_MAX) {
        (void)sim_create_by_hand(stand->sim, path, UVZK__PERSISTENT);
    }
    free(path);
}

/* All of others, or the first one. */
static void remove_children(struct stand *stand, bool all)
{
    const char *names[CHILDREN_MAX];
    const char *own = stand->held ? uvzk__path_name(uvzk_hold_path(&stand->hold)) : "";
    size_t count = sim_children(stand->sim, DIRECTORY, names, CHILDREN_MAX);

    for (size_t i = 0; i < count && i < CHILDREN_MAX; i++) {
        struct uvzk__stat stat;
        char *path = malloc(sizeof(DIRECTORY) + 1 + strlen(names[i]));
        (void)sprintf(path, "%s/%s", DIRECTORY, names[i]);
        bool others = sim_stat(stand->sim, path, &stat) && stat.ephemeral_owner == 0 &&
                      strcmp(names[i], own) != 0;
        if (others) {
            (void)sim_delete_by_hand(stand->sim, path);
        }
        free(path);
        if (others && !all) {
            return;
        }
    }
}

static void begin(struct stand *stand, uint8_t how)
{
    struct sim_options sim_options;
    uvzk_client_options_t options;

    sim_options_init(&sim_options);
    sim_options.trace = getenv("UVZK_VERBOSE") != NULL;
    sim_options.trace_cb = sim_options.trace ? sim_trace_to_stderr : NULL;
    sim_options.session_timeout_ms = TIMEOUT_MS;
    sim_options.latency_max_ms = 3;
    stand->sim = sim_new(how, &sim_options);
    (void)sim_create_by_hand(stand->sim, DIRECTORY, UVZK__PERSISTENT);
    uvzk_client_options_init(&options);
    options.hosts = "simulated:1";
    options.session_timeout_ms = TIMEOUT_MS;
    stand->client.data = stand;
    stand->hold.data = stand;
    PROMISE(uvzk__client_create(&stand->client, sim_port_new(stand->sim, "a"), &options,
                                how % (UVZK__TUNE_ALL + 1)) == 0);
    stand->kind = how & 16 ? &uvzk__read_write : &uvzk__exclusive;
    stand->shared = how & 32;
    if (how & 16) {
        PROMISE(uvzk_rwlock_init(&stand->client, &stand->lock, DIRECTORY) == 0);
    } else {
        PROMISE(uvzk_mutex_init(&stand->client, &stand->lock.write, DIRECTORY) == 0);
    }
    (void)sim_set_counter(stand->sim, DIRECTORY, 5);
    PROMISE(uvzk_client_start(&stand->client) == 0);
}

static void ask(struct stand *stand)
{
    bool reads = stand->kind->has_readers && stand->shared;

    PROMISE(uvzk_lock_acquire(reads ? &stand->lock.read : &stand->lock.write,
                              &stand->hold, NULL, on_acquired, on_lost) == 0);
}

/* Nobody is before it any more: it is granted; and nothing of it is left. */
static void end(struct stand *stand)
{
    remove_children(stand, true);
    run_for(stand, 2000);
    PROMISE(stand->told == 1 && stand->status == 0 && stand->held);
    PROMISE(uvzk_hold_release(&stand->hold, on_released) == 0);
    run_for(stand, 500);
    PROMISE(stand->released);
    PROMISE(sim_children(stand->sim, DIRECTORY, NULL, 0) == 0);
    PROMISE(uvzk_client_close(&stand->client, on_closed) == 0);
    run_for(stand, 2000);
    PROMISE(stand->closed && sim_watch_count(stand->sim) == 0);
    sim_free(stand->sim);
}

/* A line is a child's name, or "-" to remove the first, "?" to ask, "." to wait. */
int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct input input = {data, size};
    struct stand stand = {.told = 0};
    bool asked = false;

    begin(&stand, take_byte(&input));
    while (input.left > 0) {
        char *line = take_line(&input);
        if (strcmp(line, "-") == 0) {
            remove_children(&stand, false);
        } else if (strcmp(line, ".") == 0) {
            run_for(&stand, 10);
        } else if (strcmp(line, "?") == 0 && !asked) {
            ask(&stand);
            asked = true;
        } else {
            add_child(&stand, line);
        }
        free(line);
    }
    if (!asked) {
        ask(&stand);
    }
    end(&stand);
    return 0;
}
