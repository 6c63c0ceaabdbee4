/* SPDX-License-Identifier: Apache-2.0 */
/* One znode of a foreign client in one directory, from its create until it may hold.
 * foreign_claim.c begins and ends it; foreign_client.c sends its requests and wakes it.
 *
 *                  .---- reply lost: search by name <-----.
 *                  v                                      |
 *   create ---> path is known ---> list ---> may hold: STANDING, reported
 *     ^  \                          ^   \
 *     |   `-> NONODE: parents       |    `-> watch the obstacle, wait
 *     |                             |               |
 *     `---- own name not listed ----+---------------'
 *
 * The libraries differ:
 *
 *   Curator       repeats each request. If the search finds a znode of an earlier
 *                 session, deletes it. Does not check the session of a znode whose
 *                 create was answered.
 *   kazoo         goes back to the search whichever request was lost.
 *   go-zookeeper  repeats only the create, and leaves its znode behind when it fails. */
#include "foreign_client.h"

#include <stdio.h>
#include <string.h>

#define NAMES_MAX 256U
#define RESTARTS 3U

static const uvzk_acl_t anyone = {UVZK_PERM_ALL, "world", "anyone"};
static const struct uvzk__acl open_acl = {&anyone, 1};

/* ---------------------------------------------------------------------- order */

/* The part of the name after the last occurrence of the prefix; the whole name if it does
 * not occur. */
static const char *key_of(const char *name, const char *name_prefix)
{
    const char *key = name;

    for (const char *at = strstr(name, name_prefix); at != NULL;
         at = strstr(at + 1, name_prefix)) {
        key = at + strlen(name_prefix);
    }
    return key;
}

/* The key by which names are sorted, as the libraries do it: the sequence number, for
 * names of contenders and of readers and writers. */
static const char *sorted_by(const char *name)
{
    const char *key = key_of(name, "lock-");

    return key_of(key_of(key, "__READ__"), "__WRIT__");
}

static bool mutex_may_hold(const struct foreign_contender *contender,
                           const char *const *names, size_t count, size_t mine,
                           const char **obstacle)
{
    (void)contender;
    (void)count;
    if (mine > 0) {
        *obstacle = names[mine - 1];
    }
    return mine == 0;
}

/* A reader waits for the first writer before it. Readers in between do not matter. */
static bool read_may_hold(const struct foreign_contender *contender,
                          const char *const *names, size_t count, size_t mine,
                          const char **obstacle)
{
    (void)contender;
    for (size_t i = 0; i < count && i < mine; i++) {
        if (strstr(names[i], "__WRIT__") != NULL) {
            *obstacle = names[i];
            return false;
        }
    }
    return true;
}

static bool lease_may_hold(const struct foreign_contender *contender,
                           const char *const *names, size_t count, size_t mine,
                           const char **obstacle)
{
    (void)names;
    (void)mine;
    (void)obstacle;
    return count <= contender->limit;
}

const struct foreign_rule foreign_mutex_rule = {"-lock-", false, mutex_may_hold};
const struct foreign_rule foreign_read_rule = {"-__READ__", false, read_may_hold};
const struct foreign_rule foreign_write_rule = {"-__WRIT__", false, mutex_may_hold};
const struct foreign_rule foreign_lease_rule = {"-lease-", true, lease_may_hold};

/* -------------------------------------------------------------------- requests */

static void answered(struct call *call, const struct uvzk__reply *reply);

static void ask(struct foreign_contender *contender, enum foreign_step step,
                uint64_t after_ms)
{
    static const uint8_t kinds[] = {
        [CREATING] = UVZK__RPC_CREATE,
        [SEARCHING] = UVZK__RPC_CHILDREN,
        [CREATING_PARENTS] = UVZK__RPC_CREATE,
        [LISTING] = UVZK__RPC_CHILDREN,
        [WATCHING] = UVZK__RPC_GET,
    };
    struct uvzk__rpc *rpc = &contender->call.rpc;

    contender->step = step;
    memset(rpc, 0, sizeof(*rpc));
    rpc->kind = kinds[step];
    rpc->acl = &open_acl;
    rpc->mode = step != CREATING               ? UVZK__CONTAINER
                : contender->number[0] != '\0' ? UVZK__EPHEMERAL
                                               : UVZK__EPHEMERAL_SEQUENTIAL;
    rpc->path = step == CREATING           ? contender->wanted
                : step == CREATING_PARENTS ? contender->parent
                : step == WATCHING         ? contender->watched
                                           : contender->directory;
    contender->call.watcher =
        step == WATCHING || (step == LISTING && contender->rule->watches_all)
            ? contender->directory
            : NULL;
    contender->call.answered = answered;
    foreign_client_call(contender->foreign_client, &contender->call, after_ms);
}

/* Goes on with the next step, with a new count of repetitions. */
static void go_on(struct foreign_contender *contender, enum foreign_step step)
{
    contender->tries = 0;
    ask(contender, step, 0);
}

/* Ends the contender's work and reports the result. */
static void at_rest(struct foreign_contender *contender, enum foreign_step step,
                    int status)
{
    contender->step = step;
    uvzk__list_remove(&contender->link);
    contender->told(contender, status);
}

void foreign_contender_end(struct foreign_contender *contender)
{
    contender->step = NOT_STARTED;
    foreign_client_unwatch_all(contender->foreign_client, contender->directory);
    foreign_client_delete(contender->foreign_client, contender->path);
}

/* If the reply to the create was lost, it is not known whether the znode exists, so it is
 * searched for. go-zookeeper leaves the znode behind, except at a timeout: there the
 * caller of the library deletes it. */
static void fail(struct foreign_contender *contender, int status)
{
    struct foreign_client *foreign_client = contender->foreign_client;

    if (foreign_client->library == GO_ZOOKEEPER && status != UV_ETIMEDOUT) {
        at_rest(contender, NOT_STARTED, status);
        return;
    }
    if (contender->path[0] != '\0') {
        foreign_client_delete(foreign_client, contender->path);
    } else if (contender->step == SEARCHING) {
        foreign_client_search_and_delete(foreign_client, contender->directory,
                                         contender->prefix);
    }
    at_rest(contender, NOT_STARTED, status);
}

/* A new UUID, in the form in which the library writes it: Curator's has hyphens. */
static void name_it(struct foreign_contender *contender)
{
    struct foreign_client *foreign_client = contender->foreign_client;
    uint64_t high = sim_random(foreign_client->sim, UINT64_MAX);
    uint64_t low = sim_random(foreign_client->sim, UINT64_MAX);
    const char *format = foreign_client->library == CURATOR
                             ? "_c_%08x-%04x-4%03x-a%03x-%012llx"
                             : "_c_%08x%04x4%03xa%03x%012llx";

    (void)snprintf(contender->prefix, sizeof(contender->prefix), format,
                   (unsigned)(high >> 32), (unsigned)(high >> 16 & 0xffff),
                   (unsigned)(high & 0xfff), (unsigned)(low >> 48 & 0xfff),
                   (unsigned long long)(low & 0xffffffffffff));
    (void)snprintf(contender->wanted, sizeof(contender->wanted), "%.120s/%.60s%s%s",
                   contender->directory, contender->prefix, contender->rule->name_prefix,
                   contender->number);
}

static void begin_anew(struct foreign_contender *contender)
{
    name_it(contender);
    contender->path[0] = '\0';
    contender->parents_made = false;
    contender->session_id = contender->foreign_client->session_id;
    go_on(contender, CREATING);
}

void foreign_contender_begin(struct foreign_contender *contender,
                             struct foreign_client *foreign_client,
                             const struct foreign_rule *rule, const char *directory,
                             uint64_t deadline_ms)
{
    memset(contender, 0, offsetof(struct foreign_contender, limit));
    contender->foreign_client = foreign_client;
    contender->rule = rule;
    contender->deadline_ms = deadline_ms;
    (void)snprintf(contender->directory, sizeof(contender->directory), "%s", directory);
    uvzk__list_append(&foreign_client->contenders, &contender->link);
    begin_anew(contender);
}

/* The contender's own znode is not in the listing: its session has ended, or another
 * client has deleted it. The contender creates a new znode, up to RESTARTS times.
 * go-zookeeper fails instead. So does a lease, because it needs a new ticket first;
 * foreign_claim.c acquires that. */
static void missing(struct foreign_contender *contender)
{
    if (contender->foreign_client->library == GO_ZOOKEEPER ||
        contender->rule == &foreign_lease_rule || ++contender->starts > RESTARTS) {
        contender->path[0] = '\0';
        fail(contender, UVZK_ENONODE);
        return;
    }
    begin_anew(contender);
}

/* --------------------------------------------------------------------- replies */

/* The outcome of the request is not known, or it was not executed. After a create the
 * contender searches for its znode before it creates another one. */
static void lost(struct foreign_contender *contender, int status)
{
    struct foreign_client *foreign_client = contender->foreign_client;
    bool creating = contender->step == CREATING || contender->step == SEARCHING;

    if (foreign_client->library == KAZOO || creating) {
        contender->step = SEARCHING;
    }
    if ((foreign_client->library == GO_ZOOKEEPER && !creating) ||
        ++contender->tries > foreign_client->retries) {
        fail(contender, status);
        return;
    }
    ask(contender, contender->step, foreign_client->retry_ms);
}

/* Creates the ancestors of the directory and the directory itself, one after the other
 * from the top. Those that exist are skipped by their reply. Then repeats the contender's
 * create. */
static void make_next_parent(struct foreign_contender *contender)
{
    size_t length = strlen(contender->parent);
    const char *slash = strchr(contender->directory + length + 1, '/');

    if (length > 0 && contender->directory[length] == '\0') {
        contender->parents_made = true;
        go_on(contender, CREATING);
        return;
    }
    length = slash == NULL ? strlen(contender->directory)
                           : (size_t)(slash - contender->directory);
    memcpy(contender->parent, contender->directory, length);
    contender->parent[length] = '\0';
    go_on(contender, CREATING_PARENTS);
}

static void made_parent(struct foreign_contender *contender, int status)
{
    /* A server before 3.5.1 has no containers. */
    if (status == UVZK_EUNIMPLEMENTED) {
        contender->call.rpc.mode = UVZK__PERSISTENT;
        foreign_client_call(contender->foreign_client, &contender->call, 0);
    } else if (status == 0 || status == UVZK_ENODEEXISTS) {
        make_next_parent(contender);
    } else {
        fail(contender, status);
    }
}

static void created(struct foreign_contender *contender, const struct uvzk__reply *reply)
{
    if (reply->status == 0) {
        (void)snprintf(contender->path, sizeof(contender->path), "%s", reply->name);
        go_on(contender, LISTING);
    } else if (reply->status == UVZK_ENONODE && !contender->parents_made) {
        contender->parent[0] = '\0';
        make_next_parent(contender);
    } else {
        fail(contender, reply->status);
    }
}

static const char *with_prefix(const struct foreign_contender *contender,
                               const char *const *names, size_t count)
{
    for (size_t i = 0; i < count; i++) {
        if (strncmp(names[i], contender->prefix, strlen(contender->prefix)) == 0) {
            return names[i];
        }
    }
    return NULL;
}

static void searched(struct foreign_contender *contender, const struct uvzk__reply *reply)
{
    struct foreign_client *foreign_client = contender->foreign_client;
    /* A znode of an earlier session is deleted when that session expires, so Curator does
     * not use it. */
    bool old = foreign_client->library == CURATOR && contender->path[0] == '\0' &&
               contender->session_id != foreign_client->session_id;
    const char *name = reply->status == 0
                           ? with_prefix(contender, reply->names, reply->name_count)
                           : NULL;

    contender->session_id = foreign_client->session_id;
    contender->path[0] = '\0';
    if (name != NULL) {
        (void)snprintf(contender->path, sizeof(contender->path), "%.120s/%.120s",
                       contender->directory, name);
    }
    if (name != NULL && !old) {
        go_on(contender, LISTING);
        return;
    }
    if (name != NULL) {
        foreign_client_delete(foreign_client, contender->path);
        contender->path[0] = '\0';
    }
    go_on(contender, CREATING);
}

/* Insertion sort by the keys. Names with equal keys stay in the server's order. */
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

/* Waits only if the watch is armed. If it has fired meanwhile, the contender lists
 * again. */
static void wait_or_look(struct foreign_contender *contender, const char *watched)
{
    if (foreign_client_watches(contender->foreign_client, watched)) {
        contender->step = WAITING;
        if (contender->deadline_ms <= sim_now(contender->foreign_client->sim)) {
            foreign_contender_timed_out(contender);
        }
        contender->foreign_client->port->wake(contender->foreign_client->port);
    } else {
        go_on(contender, LISTING);
    }
}

static void listed(struct foreign_contender *contender, const struct uvzk__reply *reply)
{
    const char *sorted[NAMES_MAX], *obstacle = NULL;
    size_t count = reply->status == 0 ? reply->name_count : 0, mine = 0;
    const char *name = strrchr(contender->path, '/') + 1;

    count = count < NAMES_MAX ? count : NAMES_MAX;
    sort(sorted, reply->names, count);
    while (mine < count && strcmp(sorted[mine], name) != 0) {
        mine++;
    }
    if (contender->number[0] != '\0') {
        at_rest(contender, STANDING, 0); /* a downgrade does not wait */
    } else if (mine == count) {
        missing(contender);
    } else if (contender->rule->may_hold(contender, sorted, count, mine, &obstacle)) {
        at_rest(contender, STANDING, 0);
    } else if (obstacle == NULL) {
        wait_or_look(contender, contender->directory);
    } else {
        (void)snprintf(contender->watched, sizeof(contender->watched), "%.120s/%.120s",
                       contender->directory, obstacle);
        go_on(contender, WATCHING);
    }
}

static void watched(struct foreign_contender *contender, int status)
{
    if (status == 0) {
        wait_or_look(contender, contender->watched);
    } else if (status == UVZK_ENONODE) {
        go_on(contender, LISTING);
    } else {
        fail(contender, status);
    }
}

static void answered(struct call *call, const struct uvzk__reply *reply)
{
    struct foreign_contender *contender =
        UVZK__CONTAINER_OF(call, struct foreign_contender, call);

    if (foreign_client_may_retry(reply->status)) {
        lost(contender, reply->status);
        return;
    }
    switch (contender->step) {
    case CREATING:
        created(contender, reply);
        break;
    case SEARCHING:
        searched(contender, reply);
        break;
    case CREATING_PARENTS:
        made_parent(contender, reply->status);
        break;
    case LISTING:
        listed(contender, reply);
        break;
    case WATCHING:
        watched(contender, reply->status);
        break;
    default:
        break;
    }
}

/* ---------------------------------------------------------------------- waking */

void foreign_contender_wake(struct foreign_contender *contender)
{
    if (contender->step == WAITING) {
        go_on(contender, LISTING);
    }
}

void foreign_contender_expired(struct foreign_contender *contender)
{
    if (contender->foreign_client->library == GO_ZOOKEEPER &&
        contender->step == WAITING) {
        fail(contender, UVZK_EEXPIRED);
    } else {
        foreign_contender_wake(contender);
    }
}

void foreign_contender_timed_out(struct foreign_contender *contender)
{
    if (contender->step == WAITING) {
        fail(contender, UV_ETIMEDOUT);
    }
}
