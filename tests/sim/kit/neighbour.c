#include "neighbour.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define RETRY_MS 100U
#define RETRIES 3U

/* A watch, of all that wait in one directory. */
struct sight {
    struct uvzk__watch watch;
    struct uvzk__link link;
    struct neighbour *neighbour;
    char path[NEIGHBOUR_PATH_MAX];
    char directory[NEIGHBOUR_PATH_MAX];
};

struct chore {
    struct call call;
    struct uvzk__link link;
    char directory[NEIGHBOUR_PATH_MAX];
    char prefix[NEIGHBOUR_NAME_MAX];
    char path[NEIGHBOUR_PATH_MAX]; /* "": to be searched for */
};

#define FOR_EACH(at, following, head)                                               \
    for (struct uvzk__link *at = (head)->next, *following = at->next; at != (head); \
         at = following, following = at->next)

static struct neighbour *of_user(struct uvzk__port_user *user)
{
    return UVZK__CONTAINER_OF(user, struct neighbour, user);
}

static struct call *call_at(struct uvzk__link *link)
{
    return UVZK__CONTAINER_OF(link, struct call, link);
}

static struct standing *standing_at(struct uvzk__link *link)
{
    return UVZK__CONTAINER_OF(link, struct standing, link);
}

static struct sight *sight_at(struct uvzk__link *link)
{
    return UVZK__CONTAINER_OF(link, struct sight, link);
}

/* --------------------------------------------------------------------- watches */

static void forget(struct sight *sight)
{
    uvzk__list_remove(&sight->link);
    free(sight);
}

static void wake_standings(struct neighbour *neighbour, const char *directory)
{
    FOR_EACH(at, following, &neighbour->standings)
    {
        if (directory == NULL || strcmp(standing_at(at)->directory, directory) == 0) {
            standing_wake(standing_at(at));
        }
    }
}

static void fired(struct uvzk__watch *watch, enum uvzk__watch_event event)
{
    struct sight *sight = UVZK__CONTAINER_OF(watch, struct sight, watch);
    char directory[NEIGHBOUR_PATH_MAX];
    struct neighbour *neighbour = sight->neighbour;

    (void)event;
    memcpy(directory, sight->directory, sizeof(directory));
    forget(sight);
    wake_standings(neighbour, directory);
}

static struct sight *find_sight(const struct neighbour *neighbour, const char *path)
{
    for (struct uvzk__link *at = neighbour->sights.next; at != &neighbour->sights;
         at = at->next) {
        if (strcmp(sight_at(at)->path, path) == 0) {
            return sight_at(at);
        }
    }
    return NULL;
}

/* For a request on this path; NULL: there is one already. */
static struct uvzk__watch *watch_new(struct neighbour *neighbour, const char *path,
                                     const char *directory)
{
    if (find_sight(neighbour, path) != NULL) {
        return NULL;
    }
    struct sight *sight = calloc(1, sizeof(*sight));
    sight->neighbour = neighbour;
    sight->watch.watch_cb = fired;
    (void)snprintf(sight->path, sizeof(sight->path), "%s", path);
    (void)snprintf(sight->directory, sizeof(sight->directory), "%s", directory);
    uvzk__list_append(&neighbour->sights, &sight->link);
    return &sight->watch;
}

bool neighbour_watches(const struct neighbour *neighbour, const char *path)
{
    const struct sight *sight = find_sight(neighbour, path);

    return sight != NULL && sight->watch.armed != NULL;
}

/* Unless the request has armed it. */
static void forget_failed(struct neighbour *neighbour, const char *path)
{
    struct sight *sight = find_sight(neighbour, path);

    if (sight != NULL && sight->watch.armed == NULL) {
        char directory[NEIGHBOUR_PATH_MAX];
        memcpy(directory, sight->directory, sizeof(directory));
        forget(sight);
        wake_standings(neighbour, directory); /* others may have relied on it */
    }
}

void neighbour_unwatch_all(struct neighbour *neighbour, const char *directory)
{
    FOR_EACH(at, following, &neighbour->sights)
    {
        struct sight *sight = sight_at(at);
        if (sight->watch.armed != NULL && strcmp(sight->directory, directory) == 0) {
            neighbour->port->unwatch(neighbour->port, &sight->watch);
            forget(sight);
        }
    }
    wake_standings(neighbour, directory);
}

/* -------------------------------------------------------------------- requests */

bool neighbour_may_retry(int status)
{
    return status == UVZK_ECONNLOSS || status == UVZK_ENOTSENT ||
           status == UVZK_EEXPIRED || status == UV_ENOMEM;
}

static void on_reply(struct uvzk__rpc *rpc, const struct uvzk__reply *reply)
{
    struct call *call = UVZK__CONTAINER_OF(rpc, struct call, rpc);

    if (!call->neighbour->closing) {
        if (rpc->watch != NULL) {
            forget_failed(call->neighbour, rpc->path);
        }
        call->answered(call, reply);
    }
}

void neighbour_call(struct neighbour *neighbour, struct call *call, uint64_t after_ms)
{
    call->neighbour = neighbour;
    call->rpc.reply_cb = on_reply;
    call->due_ms = sim_now(neighbour->sim) + after_ms;
    call->give_up_ms = call->due_ms + neighbour->timeout_ms / 2;
    uvzk__list_append(&neighbour->calls, &call->link);
    neighbour->port->wake(neighbour->port);
}

static void send_call(struct neighbour *neighbour, struct call *call)
{
    static const struct uvzk__reply no_connection = {.status = UVZK_ECONNLOSS};
    uint64_t now = sim_now(neighbour->sim);

    if (call->due_ms > now) {
        return;
    }
    if (neighbour->connected) {
        uvzk__list_remove(&call->link);
        call->rpc.watch = call->watcher == NULL
                              ? NULL
                              : watch_new(neighbour, call->rpc.path, call->watcher);
        neighbour->port->submit(neighbour->port, &call->rpc);
    } else if (call->give_up_ms <= now) {
        uvzk__list_remove(&call->link);
        call->answered(call, &no_connection);
    }
}

/* --------------------------------------------------------- in the background */

static void chore_over(struct chore *chore)
{
    uvzk__list_remove(&chore->link);
    free(chore);
}

static void chore_step(struct chore *chore, uint64_t after_ms);

static void chore_answered(struct call *call, const struct uvzk__reply *reply)
{
    struct chore *chore = UVZK__CONTAINER_OF(call, struct chore, call);

    if (neighbour_may_retry(reply->status)) {
        chore_step(chore, call->neighbour->retry_ms);
        return;
    }
    for (size_t i = 0;
         reply->status == 0 && chore->path[0] == '\0' && i < reply->name_count; i++) {
        if (strncmp(reply->names[i], chore->prefix, strlen(chore->prefix)) == 0) {
            (void)snprintf(chore->path, sizeof(chore->path), "%.*s/%.*s", 120,
                           chore->directory, 120, reply->names[i]);
            chore_step(chore, 0);
            return;
        }
    }
    chore_over(chore);
}

static void chore_step(struct chore *chore, uint64_t after_ms)
{
    struct uvzk__rpc *rpc = &chore->call.rpc;

    rpc->kind = chore->path[0] == '\0' ? UVZK__RPC_CHILDREN : UVZK__RPC_DELETE;
    rpc->path = chore->path[0] == '\0' ? chore->directory : chore->path;
    rpc->version = -1;
    chore->call.answered = chore_answered;
    neighbour_call(chore->call.neighbour, &chore->call, after_ms);
}

static struct chore *chore_new(struct neighbour *neighbour)
{
    struct chore *chore = calloc(1, sizeof(*chore));

    chore->call.neighbour = neighbour;
    uvzk__list_append(&neighbour->chores, &chore->link);
    return chore;
}

void neighbour_delete(struct neighbour *neighbour, const char *path)
{
    struct chore *chore = chore_new(neighbour);

    (void)snprintf(chore->path, sizeof(chore->path), "%s", path);
    chore_step(chore, 0);
}

void neighbour_search_and_delete(struct neighbour *neighbour, const char *directory,
                                 const char *prefix)
{
    struct chore *chore = chore_new(neighbour);

    (void)snprintf(chore->directory, sizeof(chore->directory), "%s", directory);
    (void)snprintf(chore->prefix, sizeof(chore->prefix), "%s", prefix);
    chore_step(chore, 0);
}

/* --------------------------------------------------------------------- its time */

static uint64_t earlier(uint64_t a, uint64_t b)
{
    return a < b ? a : b;
}

static void set_alarm(struct neighbour *neighbour)
{
    uint64_t at_ms = neighbour->lost_ms;

    FOR_EACH(at, following, &neighbour->calls)
    {
        const struct call *call = call_at(at);
        bool due = call->due_ms <= sim_now(neighbour->sim);
        at_ms = earlier(at_ms, due ? call->give_up_ms : call->due_ms);
    }
    FOR_EACH(at, following, &neighbour->standings)
    {
        if (standing_at(at)->step == WAITING) {
            at_ms = earlier(at_ms, standing_at(at)->deadline_ms);
        }
    }
    neighbour->port->alarm(neighbour->port, at_ms);
}

static void on_turn(struct uvzk__port_user *user)
{
    struct neighbour *neighbour = of_user(user);
    struct uvzk__link calls;

    if (neighbour->closing) {
        return;
    }
    if (neighbour->lost_ms <= sim_now(neighbour->sim)) {
        neighbour->lost_ms = UINT64_MAX;
        neighbour->port->abandon(neighbour->port);
    }
    FOR_EACH(at, following, &neighbour->standings)
    {
        if (standing_at(at)->deadline_ms <= sim_now(neighbour->sim)) {
            standing_out_of_time(standing_at(at));
        }
    }
    uvzk__list_move(&neighbour->calls, &calls);
    while (!uvzk__list_empty(&calls)) {
        struct call *call = call_at(uvzk__list_take(&calls));
        uvzk__list_append(&neighbour->calls, &call->link);
        send_call(neighbour, call);
    }
    set_alarm(neighbour);
}

/* -------------------------------------------------------------- its connection */

static void suspend_holds(struct neighbour *neighbour)
{
    FOR_EACH(at, following, &neighbour->holds)
    {
        UVZK__CONTAINER_OF(at, struct attempt, link)->suspended = true;
    }
}

static void session_over(struct neighbour *neighbour)
{
    neighbour->lost_ms = UINT64_MAX;
    FOR_EACH(at, following, &neighbour->sights)
    {
        forget(sight_at(at)); /* the port has dropped them all */
    }
    FOR_EACH(at, following, &neighbour->standings)
    {
        standing_expired(standing_at(at));
    }
    neighbour->port->open(neighbour->port);
}

static void on_session(struct uvzk__port_user *user,
                       const struct uvzk__session_event *event)
{
    struct neighbour *neighbour = of_user(user);
    bool connected = event->kind == UVZK__SESSION_CONNECTED;

    if (neighbour->closing) {
        return;
    }
    neighbour->connected = connected;
    if (connected) {
        neighbour->session_id = event->session_id;
        neighbour->lost_ms = UINT64_MAX;
    } else {
        suspend_holds(neighbour);
        wake_standings(neighbour, NULL);
    }
    if (event->kind == UVZK__SESSION_SUSPENDED) {
        neighbour->lost_ms = sim_now(neighbour->sim) + neighbour->timeout_ms;
    } else if (!connected) {
        session_over(neighbour);
    }
    neighbour->port->wake(neighbour->port);
}

static void on_unreached(struct uvzk__port_user *user,
                         const struct uvzk__trouble *trouble)
{
    (void)user;
    (void)trouble;
}

static void on_log(struct uvzk__port_user *user, int level, const char *module,
                   const char *line)
{
    (void)module;
    (void)user;
    (void)level;
    (void)line;
}

static void on_closed(struct uvzk__port_user *user)
{
    struct neighbour *neighbour = of_user(user);

    FOR_EACH(at, following, &neighbour->sights)
    {
        forget(sight_at(at));
    }
    FOR_EACH(at, following, &neighbour->chores)
    {
        chore_over(UVZK__CONTAINER_OF(at, struct chore, link));
    }
    neighbour->port = NULL;
}

void neighbour_begin(struct neighbour *neighbour, struct sim *sim, const char *name,
                     enum neighbour_library library, uint32_t timeout_ms)
{
    memset(neighbour, 0, sizeof(*neighbour));
    neighbour->user =
        (struct uvzk__port_user){on_session, on_unreached, on_turn, on_log, on_closed};
    neighbour->sim = sim;
    neighbour->name = name;
    neighbour->library = library;
    neighbour->timeout_ms = timeout_ms;
    neighbour->lost_ms = UINT64_MAX;
    neighbour->retry_ms = RETRY_MS;
    neighbour->retries = RETRIES;
    uvzk__list_init(&neighbour->calls);
    uvzk__list_init(&neighbour->standings);
    uvzk__list_init(&neighbour->holds);
    uvzk__list_init(&neighbour->sights);
    uvzk__list_init(&neighbour->chores);
    neighbour->port = sim_port_new(sim, name);
    sim_keep_handle(neighbour->port);
    neighbour->port->user = &neighbour->user;
    sim_set_timeout(neighbour->port, timeout_ms);
    neighbour->port->open(neighbour->port);
}

void neighbour_close(struct neighbour *neighbour)
{
    neighbour->closing = true;
    neighbour->connected = false;
    neighbour->port->close(neighbour->port);
}
