/* One znode in one directory.
 *
 *                  .---- reply lost: search by name <-----.
 *                  v                                      |
 *   create ---> its path known ---> list ---> may hold: STANDING, told
 *     ^  \                          ^   \
 *     |   `-> NONODE: parents       |    `-> watch the obstacle, wait
 *     |                             |               |
 *     `---- own name not listed ----+---------------'
 *
 *   Curator       repeats each request by itself; a znode of an earlier session that
 *                 the search finds is deleted, one that stands already is not looked at
 *   kazoo         begins again with the search whatever was lost, and wakes at every
 *                 change of the connection
 *   go-zookeeper  repeats nothing but the create, and leaves its znode behind when it
 *                 fails */
#include "neighbour.h"

#include <stdio.h>
#include <string.h>

#define NAMES_MAX 256U
#define RESTARTS 3U

static const uvzk_acl_t anyone = {UVZK_PERM_ALL, "world", "anyone"};
static const struct uvzk__acl open_acl = {&anyone, 1};

/* --------------------------------------------------------------- who may hold */

/* Where names come without the token the whole name is the key. */
static const char *key_of(const char *name, const char *token)
{
    const char *key = name;

    for (const char *at = strstr(name, token); at != NULL; at = strstr(at + 1, token)) {
        key = at + strlen(token);
    }
    return key;
}

static const char *sorted_by(const char *name)
{
    const char *key = key_of(name, "lock-");

    return key_of(key_of(key, "__READ__"), "__WRIT__");
}

static bool mutex_may_hold(const struct standing *standing, const char *const *names,
                           size_t count, size_t mine, const char **obstacle)
{
    (void)standing;
    (void)count;
    if (mine > 0) {
        *obstacle = names[mine - 1];
    }
    return mine == 0;
}

/* Readers wait for the first writer of all, whoever is between. */
static bool read_may_hold(const struct standing *standing, const char *const *names,
                          size_t count, size_t mine, const char **obstacle)
{
    (void)standing;
    for (size_t i = 0; i < count && i < mine; i++) {
        if (strstr(names[i], "__WRIT__") != NULL) {
            *obstacle = names[i];
            return false;
        }
    }
    return true;
}

static bool lease_may_hold(const struct standing *standing, const char *const *names,
                           size_t count, size_t mine, const char **obstacle)
{
    (void)names;
    (void)mine;
    (void)obstacle;
    return count <= standing->limit;
}

const struct standing_rule neighbour_mutex_rule = {"-lock-", false, mutex_may_hold};
const struct standing_rule neighbour_read_rule = {"-__READ__", false, read_may_hold};
const struct standing_rule neighbour_write_rule = {"-__WRIT__", false, mutex_may_hold};
const struct standing_rule neighbour_lease_rule = {"-lease-", true, lease_may_hold};

/* -------------------------------------------------------------------- requests */

static void answered(struct call *call, const struct uvzk__reply *reply);

static void ask(struct standing *standing, enum standing_step step, uint64_t after_ms)
{
    static const uint8_t kinds[] = {
        [CREATING] = UVZK__RPC_CREATE,       [SEARCHING] = UVZK__RPC_CHILDREN,
        [MAKING_PARENTS] = UVZK__RPC_CREATE, [LISTING] = UVZK__RPC_CHILDREN,
        [WATCHING] = UVZK__RPC_GET,
    };
    struct uvzk__rpc *rpc = &standing->call.rpc;

    standing->step = step;
    memset(rpc, 0, sizeof(*rpc));
    rpc->kind = kinds[step];
    rpc->acl = &open_acl;
    rpc->mode = step != CREATING              ? UVZK__CONTAINER
                : standing->number[0] != '\0' ? UVZK__EPHEMERAL
                                              : UVZK__EPHEMERAL_SEQUENTIAL;
    rpc->path = step == CREATING         ? standing->wanted
                : step == MAKING_PARENTS ? standing->parent
                : step == WATCHING       ? standing->watched
                                         : standing->directory;
    standing->call.watcher =
        step == WATCHING || (step == LISTING && standing->rule->watches_all)
            ? standing->directory
            : NULL;
    standing->call.answered = answered;
    neighbour_call(standing->neighbour, &standing->call, after_ms);
}

/* The next one, which has not been tried yet. */
static void go_on(struct standing *standing, enum standing_step step)
{
    standing->tries = 0;
    ask(standing, step, 0);
}

static void at_rest(struct standing *standing, enum standing_step step, int status)
{
    standing->step = step;
    uvzk__list_remove(&standing->link);
    standing->told(standing, status);
}

void standing_end(struct standing *standing)
{
    standing->step = AT_REST;
    neighbour_unwatch_all(standing->neighbour, standing->directory);
    neighbour_delete(standing->neighbour, standing->path);
}

/* Whether the znode stands is not known where its create was lost. Whoever calls
 * go-zookeeper gives up by deleting what it left. */
static void fail(struct standing *standing, int status)
{
    struct neighbour *neighbour = standing->neighbour;

    if (neighbour->library == GO_ZOOKEEPER && status != UV_ETIMEDOUT) {
        at_rest(standing, AT_REST, status);
        return;
    }
    if (standing->path[0] != '\0') {
        neighbour_delete(neighbour, standing->path);
    } else if (standing->step == SEARCHING) {
        neighbour_search_and_delete(neighbour, standing->directory, standing->prefix);
    }
    at_rest(standing, AT_REST, status);
}

static void name_it(struct standing *standing)
{
    struct neighbour *neighbour = standing->neighbour;
    uint64_t high = sim_random(neighbour->sim, UINT64_MAX);
    uint64_t low = sim_random(neighbour->sim, UINT64_MAX);
    const char *format = neighbour->library == CURATOR
                             ? "_c_%08x-%04x-4%03x-a%03x-%012llx"
                             : "_c_%08x%04x4%03xa%03x%012llx";

    (void)snprintf(standing->prefix, sizeof(standing->prefix), format,
                   (unsigned)(high >> 32), (unsigned)(high >> 16 & 0xffff),
                   (unsigned)(high & 0xfff), (unsigned)(low >> 48 & 0xfff),
                   (unsigned long long)(low & 0xffffffffffff));
    (void)snprintf(standing->wanted, sizeof(standing->wanted), "%.120s/%.60s%s%s",
                   standing->directory, standing->prefix, standing->rule->token,
                   standing->number);
}

static void begin_anew(struct standing *standing)
{
    name_it(standing);
    standing->path[0] = '\0';
    standing->parents_made = false;
    standing->session_id = standing->neighbour->session_id;
    go_on(standing, CREATING);
}

void standing_begin(struct standing *standing, struct neighbour *neighbour,
                    const struct standing_rule *rule, const char *directory,
                    uint64_t deadline_ms)
{
    memset(standing, 0, offsetof(struct standing, limit));
    standing->neighbour = neighbour;
    standing->rule = rule;
    standing->deadline_ms = deadline_ms;
    (void)snprintf(standing->directory, sizeof(standing->directory), "%s", directory);
    uvzk__list_append(&neighbour->standings, &standing->link);
    begin_anew(standing);
}

/* The own znode is not there: it was of a session that has ended, or somebody has
 * deleted it. A lease is asked for anew with its ticket. */
static void missing(struct standing *standing)
{
    if (standing->neighbour->library == GO_ZOOKEEPER ||
        standing->rule == &neighbour_lease_rule || ++standing->starts > RESTARTS) {
        standing->path[0] = '\0';
        fail(standing, UVZK_ENONODE);
        return;
    }
    begin_anew(standing);
}

/* --------------------------------------------------------------------- answers */

static void lost(struct standing *standing, int status)
{
    struct neighbour *neighbour = standing->neighbour;
    bool creating = standing->step == CREATING || standing->step == SEARCHING;

    if (neighbour->library == KAZOO || creating) {
        standing->step = SEARCHING;
    }
    if ((neighbour->library == GO_ZOOKEEPER && !creating) ||
        ++standing->tries > neighbour->retries) {
        fail(standing, status);
        return;
    }
    ask(standing, standing->step, neighbour->retry_ms);
}

/* The first of the missing ones above, then all down to the directory. */
static void make_next_parent(struct standing *standing)
{
    size_t length = strlen(standing->parent);
    const char *slash = strchr(standing->directory + length + 1, '/');

    if (length > 0 && standing->directory[length] == '\0') {
        standing->parents_made = true;
        go_on(standing, CREATING);
        return;
    }
    length = slash == NULL ? strlen(standing->directory)
                           : (size_t)(slash - standing->directory);
    memcpy(standing->parent, standing->directory, length);
    standing->parent[length] = '\0';
    go_on(standing, MAKING_PARENTS);
}

static void made_parent(struct standing *standing, int status)
{
    if (status == UVZK_EUNIMPLEMENTED) {
        standing->call.rpc.mode = UVZK__PERSISTENT;
        neighbour_call(standing->neighbour, &standing->call, 0);
    } else if (status == 0 || status == UVZK_ENODEEXISTS) {
        make_next_parent(standing);
    } else {
        fail(standing, status);
    }
}

static void created(struct standing *standing, const struct uvzk__reply *reply)
{
    if (reply->status == 0) {
        (void)snprintf(standing->path, sizeof(standing->path), "%s", reply->name);
        go_on(standing, LISTING);
    } else if (reply->status == UVZK_ENONODE && !standing->parents_made) {
        standing->parent[0] = '\0';
        make_next_parent(standing);
    } else {
        fail(standing, reply->status);
    }
}

static const char *with_prefix(const struct standing *standing, const char *const *names,
                               size_t count)
{
    for (size_t i = 0; i < count; i++) {
        if (strncmp(names[i], standing->prefix, strlen(standing->prefix)) == 0) {
            return names[i];
        }
    }
    return NULL;
}

static void searched(struct standing *standing, const struct uvzk__reply *reply)
{
    struct neighbour *neighbour = standing->neighbour;
    bool old = neighbour->library == CURATOR && standing->path[0] == '\0' &&
               standing->session_id != neighbour->session_id;
    const char *name = reply->status == 0
                           ? with_prefix(standing, reply->names, reply->name_count)
                           : NULL;

    standing->session_id = neighbour->session_id;
    standing->path[0] = '\0';
    if (name != NULL) {
        (void)snprintf(standing->path, sizeof(standing->path), "%.120s/%.120s",
                       standing->directory, name);
    }
    if (name != NULL && !old) {
        go_on(standing, LISTING);
        return;
    }
    if (name != NULL) {
        neighbour_delete(neighbour, standing->path);
        standing->path[0] = '\0';
    }
    go_on(standing, CREATING);
}

/* In the order of the keys; equal ones as the server has them. */
static void sort(const char **sorted, const char *const *names, size_t count)
{
    for (size_t i = 0; i < count; i++) {
        size_t at = i;
        for (; at > 0 && strcmp(sorted_by(sorted[at - 1]), sorted_by(names[i])) > 0;
             at--) {
            sorted[at] = sorted[at - 1];
        }
        sorted[at] = names[i];
    }
}

/* It waits only while the watch stands: what has fired meanwhile is looked at. */
static void wait_or_look(struct standing *standing, const char *watched)
{
    if (neighbour_watches(standing->neighbour, watched)) {
        standing->step = WAITING;
        if (standing->deadline_ms <= sim_now(standing->neighbour->sim)) {
            standing_out_of_time(standing);
        }
        standing->neighbour->port->wake(standing->neighbour->port);
    } else {
        go_on(standing, LISTING);
    }
}

static void listed(struct standing *standing, const struct uvzk__reply *reply)
{
    const char *sorted[NAMES_MAX], *obstacle = NULL;
    size_t count = reply->status == 0 ? reply->name_count : 0, mine = 0;
    const char *name = strrchr(standing->path, '/') + 1;

    count = count < NAMES_MAX ? count : NAMES_MAX;
    sort(sorted, reply->names, count);
    while (mine < count && strcmp(sorted[mine], name) != 0) {
        mine++;
    }
    if (standing->number[0] != '\0') {
        at_rest(standing, STANDING, 0); /* whatever is listed */
    } else if (mine == count) {
        missing(standing);
    } else if (standing->rule->may_hold(standing, sorted, count, mine, &obstacle)) {
        at_rest(standing, STANDING, 0);
    } else if (obstacle == NULL) {
        wait_or_look(standing, standing->directory);
    } else {
        (void)snprintf(standing->watched, sizeof(standing->watched), "%.120s/%.120s",
                       standing->directory, obstacle);
        go_on(standing, WATCHING);
    }
}

static void watched(struct standing *standing, int status)
{
    if (status == 0) {
        wait_or_look(standing, standing->watched);
    } else if (status == UVZK_ENONODE) {
        go_on(standing, LISTING);
    } else {
        fail(standing, status);
    }
}

static void answered(struct call *call, const struct uvzk__reply *reply)
{
    struct standing *standing = UVZK__CONTAINER_OF(call, struct standing, call);

    if (neighbour_may_retry(reply->status)) {
        lost(standing, reply->status);
        return;
    }
    switch (standing->step) {
    case CREATING:
        created(standing, reply);
        break;
    case SEARCHING:
        searched(standing, reply);
        break;
    case MAKING_PARENTS:
        made_parent(standing, reply->status);
        break;
    case LISTING:
        listed(standing, reply);
        break;
    case WATCHING:
        watched(standing, reply->status);
        break;
    default:
        break;
    }
}

/* ---------------------------------------------------------------------- waking */

void standing_wake(struct standing *standing)
{
    if (standing->step == WAITING) {
        go_on(standing, LISTING);
    }
}

void standing_expired(struct standing *standing)
{
    if (standing->neighbour->library == GO_ZOOKEEPER && standing->step == WAITING) {
        fail(standing, UVZK_EEXPIRED);
    } else {
        standing_wake(standing);
    }
}

void standing_out_of_time(struct standing *standing)
{
    if (standing->step == WAITING) {
        fail(standing, UV_ETIMEDOUT);
    }
}
