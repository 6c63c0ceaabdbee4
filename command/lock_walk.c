/* SPDX-License-Identifier: Apache-2.0 */
/* Finds locks below directories (lock_walk.h). A directory is visited in these steps:
 *
 *   begin() --> one listing of its children --> on_children: which kinds of lock the names
 *       show; the other children are visited later
 *   --> read_lock() --> a participant list of these kinds --> on_participants: its rows
 *   --> read_runs() --> which key has run last --> on_newest --> leave()
 *
 * A child NAME.runs has the records of the lock NAME beside it (keyed_run.h), which has a
 * row even if nobody contends for it. The records themselves are not listed.
 *
 * The listing is that of a lock with a driver, to which every child is a participant. At
 * most WIDTH directories are visited at a time, so that a walk does not fill the servers'
 * queues of requests. */
#include "lock_walk.h"

#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define WIDTH 16U

/* Directories so far below a root are not visited. */
#define DEPTH_MAX 32U

/* Contenders end with the number that the server gives a sequential znode. */
#define DIGITS 10

#define RUNS_END ".runs"

struct visit {
    struct lock_walk *walk;
    struct visit *next; /* in walk->pending or walk->visits */
    char *path;         /* owned */
    size_t depth;       /* below the root where the walk began */
    bool given;         /* one of the user's, and not a directory of locks: it has a
                           row */
    bool has_runs;      /* there is a PATH.runs: it has a row, too */
    bool reads_runs;    /* there is, or may be one */
    bool has_row;
    size_t row;                /* the index of its first row */
    struct newest_run *newest; /* owned, until it is a row's */
    uvzk_lock_t children;
    uvzk_req_t request;
    struct participant_list participant_list;
};

/* ------------------------------------------------------------------- directories */

static void free_visit(struct visit *visit)
{
    participant_list_free(&visit->participant_list);
    newest_run_delete(visit->newest);
    free(visit->path);
    free(visit);
}

static void fail(struct lock_walk *walk, int status)
{
    if (walk->status == 0) {
        walk->status = status;
    }
}

static bool is_root(const char *path)
{
    return strcmp(path, "/") == 0;
}

/* Queues the child of a directory; parent NULL: `name` is a whole path. length: of the
 * name. */
static void visit_later(struct lock_walk *walk, const struct visit *parent,
                        const char *name, size_t length, bool has_runs)
{
    struct visit *visit = calloc(1, sizeof(*visit));
    const char *above = parent == NULL || is_root(parent->path) ? "" : parent->path;
    size_t size = strlen(above) + length + 2;
    char *path = malloc(size);

    if (visit == NULL || path == NULL) {
        free(visit);
        free(path);
        fail(walk, UV_ENOMEM);
        return;
    }
    snprintf(path, size, "%s%s%.*s", above, parent == NULL ? "" : "/", (int)length, name);
    *visit = (struct visit){.walk = walk,
                            .path = path,
                            .depth = parent == NULL ? 0 : parent->depth + 1,
                            .given = parent == NULL && !is_root(path),
                            .has_runs = has_runs,
                            .reads_runs = has_runs || parent == NULL};
    *walk->pending_end = visit;
    walk->pending_end = &visit->next;
}

static struct visit *take_pending(struct lock_walk *walk)
{
    struct visit *visit = walk->pending;

    walk->pending = visit->next;
    if (walk->pending == NULL) {
        walk->pending_end = &walk->pending;
    }
    return visit;
}

static void drop_pending(struct lock_walk *walk)
{
    while (walk->pending != NULL) {
        free_visit(take_pending(walk));
    }
}

static void take_out(struct visit *visit)
{
    struct visit **at = &visit->walk->visits;

    while (*at != visit) {
        at = &(*at)->next;
    }
    *at = visit->next;
}

/* ---------------------------------------------------------------------------- rows */

static struct lock_row *add_row(struct visit *visit)
{
    struct lock_row *row = lock_rows_add(&visit->walk->found, visit->path);

    if (row == NULL) {
        fail(visit->walk, UV_ENOMEM);
    } else if (!visit->has_row) {
        visit->has_row = true;
        visit->row = visit->walk->found.count - 1;
    }
    return row;
}

static int64_t earlier(int64_t one_ms, int64_t other_ms)
{
    return one_ms == 0 || (other_ms != 0 && other_ms < one_ms) ? other_ms : one_ms;
}

/* Takes over the data of the participant. */
static void count(struct lock_row *row, struct participant *participant)
{
    if (row->holders + row->waiters == 0) {
        row->recipe = participant->recipe;
    }
    row->holders += participant->holds;
    row->waiters += !participant->holds;
    if (!participant->holds) {
        row->waited_since_ms = earlier(row->waited_since_ms, participant->since_ms);
    } else if (row->data == NULL && participant->data != NULL) {
        row->held_since_ms = participant->since_ms;
        row->token = participant->recipe == RECIPE_LEASES ? 0 : participant->token;
        row->data = participant->data;
        row->data_length = participant->text_length;
        participant->data = NULL;
    }
}

/* One row for the participants that wait for one another. They are sorted so that these
 * stand together. */
static void add_rows(struct visit *visit)
{
    struct participant_list *list = &visit->participant_list;
    struct lock_row *row = NULL;

    for (size_t i = 0; i < list->count; i++) {
        struct participant *participant = &list->participants[i];
        if (i == 0 ||
            !recipes_exclude(list->participants[i - 1].recipe, participant->recipe)) {
            row = add_row(visit);
        }
        if (row == NULL) {
            return;
        }
        count(row, participant);
    }
    if (list->count == 0 && (visit->given || visit->has_runs)) {
        (void)add_row(visit);
    }
}

/* ---------------------------------------------------------------------- one visit */

static void advance(struct lock_walk *walk);

static void leave(struct visit *visit)
{
    struct lock_walk *walk = visit->walk;

    if (!walk->cancelled) {
        take_out(visit);
        walk->running--;
        free_visit(visit);
        advance(walk);
    }
}

/* A directory that may not be read does not end the walk. */
static void visit_failed(struct visit *visit, int status)
{
    if (status == UVZK_ENOAUTH || (status == UVZK_EPATH && !visit->given)) {
        visit->walk->found.unreadable++;
    } else {
        fail(visit->walk, status);
    }
}

static void on_newest(struct newest_run *newest, int status)
{
    struct visit *visit = newest->data;

    if (visit->walk->cancelled) {
        return;
    }
    if (status < 0) {
        visit_failed(visit, status);
    } else if (newest->key[0] != '\0') {
        visit->walk->found.rows[visit->row].newest = newest;
        visit->newest = NULL;
    }
    leave(visit);
}

static void read_runs(struct visit *visit)
{
    char *node = NULL;

    if (!visit->has_row || !visit->reads_runs) {
        leave(visit);
        return;
    }
    visit->newest = calloc(1, sizeof(*visit->newest));
    node = connection_node_of(visit->walk->connection, visit->path);
    if (visit->newest == NULL || node == NULL) {
        fail(visit->walk, UV_ENOMEM);
        free(node);
        leave(visit);
        return;
    }
    visit->newest->data = visit;
    newest_run_read(visit->newest, visit->walk->client, node, on_newest);
    free(node);
}

static void on_lock_closed(struct participant_list *participant_list)
{
    struct visit *visit = participant_list->data;

    if (!visit->walk->cancelled) {
        read_runs(visit);
    }
}

static void on_participants(struct participant_list *participant_list, int status)
{
    struct visit *visit = participant_list->data;

    if (visit->walk->cancelled) {
        return;
    }
    if (status < 0) {
        visit_failed(visit, status);
    } else {
        add_rows(visit);
    }
    participant_list_close(participant_list, on_lock_closed);
}

/* The lock's participants, and for each recipe the data of its first holder and its first
 * waiter. */
static void read_lock(struct visit *visit, unsigned recipes)
{
    struct participant_list *list = &visit->participant_list;
    int status = participant_list_init(list, visit->walk->client, visit->path);

    list->data = visit;
    list->recipes = recipes;
    list->reads_of_each = 1;
    status = status < 0 ? status : participant_list_read(list, true, on_participants);
    if (status < 0) {
        visit_failed(visit, status);
        participant_list_close(list, on_lock_closed);
    }
}

/* Returns the kind of lock that the name of a contender shows, as a bit; 0: it is not the
 * name of one. */
static unsigned recipes_of(const char *name)
{
    size_t length = strlen(name);

    if (length <= DIGITS || strspn(name + length - DIGITS, "0123456789") != DIGITS) {
        return 0;
    }
    if (strstr(name, "__WRIT__") != NULL || strstr(name, "__READ__") != NULL) {
        return 1U << RECIPE_WRITE | 1U << RECIPE_READ;
    }
    return strstr(name, "latch-") != NULL ? 1U << RECIPE_LATCH : 1U << RECIPE_MUTEX;
}

static bool has_leases(const char *const *paths, size_t count)
{
    for (size_t i = 0; i < count; i++) {
        if (strcmp(strrchr(paths[i], '/'), "/leases") == 0) {
            return true;
        }
    }
    return false;
}

static void visit_below(struct visit *visit, const char *name, size_t length,
                        bool has_runs)
{
    if (visit->depth < DEPTH_MAX) {
        visit_later(visit->walk, visit, name, length, has_runs);
    } else {
        visit->walk->found.too_deep++;
    }
}

/* Returns the length of NAME if this is NAME.runs; otherwise 0. */
static size_t length_before_runs(const char *name)
{
    size_t length = strlen(name), end = strlen(RUNS_END);

    return length > end && strcmp(name + length - end, RUNS_END) == 0 ? length - end : 0;
}

/* For bsearch: the name of NAME.runs, and a path. */
static int by_name(const void *name, const void *path)
{
    return strcmp(name, strrchr(*(const char *const *)path, '/') + 1);
}

/* Visits a child that is no contender: NAME.runs shows that NAME is a lock, so NAME itself
 * is not visited once more. The paths are in the order of their names. */
static void visit_child(struct visit *visit, const char *name, const char *const *paths,
                        size_t count)
{
    size_t length = length_before_runs(name);
    char runs[PATH_MAX];

    visit->given = false; /* it is a directory of locks */
    if (length > 0) {
        visit_below(visit, name, length, true);
        return;
    }
    snprintf(runs, sizeof(runs), "%s" RUNS_END, name);
    if (bsearch(runs, paths, count, sizeof(*paths), by_name) == NULL) {
        visit_below(visit, name, strlen(name), false);
    }
}

/* Which kinds of lock the children show. The others are directories to visit, except for
 * the two of a semaphore. The root is no lock, whatever the names of its children are. */
static unsigned look_through(struct visit *visit, const char *const *paths, size_t count)
{
    bool root = is_root(visit->path);
    bool semaphore = !root && has_leases(paths, count);
    unsigned recipes = semaphore ? 1U << RECIPE_LEASES : 0;

    for (size_t i = 0; i < count; i++) {
        const char *name = strrchr(paths[i], '/') + 1;
        unsigned shown = root ? 0 : recipes_of(name);
        bool of_semaphore =
            semaphore && (strcmp(name, "leases") == 0 || strcmp(name, "locks") == 0);
        recipes |= shown;
        if (shown == 0 && !of_semaphore) {
            visit_child(visit, name, paths, count);
        }
    }
    return recipes;
}

static void on_listing_closed(uvzk_lock_t *lock)
{
    struct visit *visit = lock->data;
    unsigned recipes = visit->participant_list.recipes;

    if (visit->walk->cancelled) {
        return;
    }
    if (recipes != 0 || visit->given) {
        read_lock(visit, recipes);
    } else {
        add_rows(visit);
        read_runs(visit);
    }
}

static void on_children(uvzk_req_t *request, int status)
{
    const char *const *paths = request->result->paths;
    size_t count = request->result->count;
    struct visit *visit = request->data;

    if (visit->walk->cancelled) {
        return;
    }
    if (status < 0) {
        visit_failed(visit, status);
        visit->given = false;
    } else {
        visit->participant_list.recipes = look_through(visit, paths, count);
    }
    (void)uvzk_lock_close(&visit->children, on_listing_closed);
}

/* Every child is listed, in the order of the names. */
static const char *key_of(const uvzk_lock_driver_t *driver, const char *child)
{
    (void)driver;
    return child;
}

/* Returns a negative error code if nothing was sent. */
static int begin(struct visit *visit)
{
    uvzk_lock_driver_t driver;

    uvzk_lock_driver_init(&driver);
    driver.name = "lock-"; /* not used: nothing is acquired */
    driver.sort_key = key_of;
    int status = uvzk_lock_init_with_driver(visit->walk->client, &visit->children,
                                            visit->path, &driver);
    if (status < 0) {
        return status;
    }
    visit->children.data = visit;
    visit->request.data = visit;
    status = uvzk_lock_participants(&visit->children, &visit->request, on_children);
    if (status < 0) {
        /* Without memory the visit ends as if its listing had failed. */
        visit_failed(visit, status);
        visit->given = false;
        return uvzk_lock_close(&visit->children, on_listing_closed);
    }
    return 0;
}

/* --------------------------------------------------------------------- the walk */

static void begin_next(struct lock_walk *walk)
{
    struct visit *visit = take_pending(walk);

    walk->found.listings++;
    visit->next = walk->visits;
    walk->visits = visit;
    walk->running++;
    int status = begin(visit);
    if (status < 0) {
        visit_failed(visit, status);
        take_out(visit);
        walk->running--;
        free_visit(visit);
    }
}

/* Begins as many visits as there is room for. If nothing is left, the walk is over. */
static void advance(struct lock_walk *walk)
{
    while (walk->pending != NULL && walk->running < WIDTH) {
        if (walk->found.listings == walk->listings_max || walk->status < 0) {
            walk->found.left_out = true;
            drop_pending(walk);
        } else {
            begin_next(walk);
        }
    }
    if (walk->running > 0 || walk->starting) {
        return;
    }
    if (walk->status < 0) {
        lock_rows_free(&walk->found);
    }
    lock_rows_sort(&walk->found);
    walk->cb(walk, walk->status);
}

int lock_walk_start(struct lock_walk *walk, lock_walk_cb cb)
{
    lock_rows_free(&walk->found);
    walk->cb = cb;
    walk->pending_end = &walk->pending;
    walk->status = 0;
    for (size_t i = 0; i < walk->root_count; i++) {
        visit_later(walk, NULL, walk->roots[i], strlen(walk->roots[i]), false);
    }
    walk->starting = true;
    advance(walk);
    walk->starting = false;
    /* If nothing was sent, the first path has been refused, or there was no memory. */
    return walk->running > 0 ? 0 : walk->status;
}

void lock_walk_cancel(struct lock_walk *walk)
{
    walk->cancelled = true;
}

void lock_walk_free(struct lock_walk *walk)
{
    lock_rows_free(&walk->found);
    drop_pending(walk);
    while (walk->visits != NULL) {
        struct visit *visit = walk->visits;
        walk->visits = visit->next;
        free_visit(visit);
    }
}
