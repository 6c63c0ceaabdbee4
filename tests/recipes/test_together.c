/* All recipes of one client on one path, or on a path and the one below it: each recipe
 * beside each recipe, in two clients. Each of the four goes on, or its callback says why
 * it cannot. The results are the tables of docs/recipes/together.md, which is the argument;
 * without it they are printed. The simulator aborts if a persistent watch and another one
 * are on one path. */
#include "cmocka_test.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "world.h"

#define PATH "/together/p"
#define BELOW PATH "/x"
#define BEGIN_MS 20000 /* then each has begun, or has said why it cannot */
#define GO_MS 20000    /* in which each goes on */
#define PAUSE_MS 100   /* before each of them does the next thing */
#define HELD_PAUSES 3  /* so that others wait */
#define CELL_MAX 128

struct user;

struct recipe {
    const char *name;
    void (*begin)(struct user *);
};

/* A recipe of a client. */
struct user {
    const struct recipe *recipe;
    struct process *process;
    const char *path;
    int rounds;                  /* what it has done so far */
    bool stays;                  /* it has nothing more to do */
    int status;                  /* < 0: why it cannot go on */
    int refused;                 /* < 0: what it goes on without */
    void (*next)(struct user *); /* what it does after a pause; NULL: nothing */
    int pauses;                  /* before that, more than one */
    uvzk_lock_t lock;
    uvzk_hold_t hold;
    uvzk_shared_value_t value;
    uvzk_set_t set;
    uvzk_barrier_t barrier;
    uvzk_barrier_call_t call;
    uvzk_group_member_t member;
    uvzk_persistent_node_t node;
    uvzk_election_t election;
};

static void note(struct user *user, int status)
{
    user->rounds += status == 0;
    user->status = status;
}

/* ------------------------------------------------------------------------- the locks */

static void acquire(struct user *user);

static void released(uvzk_hold_t *hold, int status)
{
    struct user *user = hold->data;

    note(user, status);
    user->next = status == 0 ? acquire : NULL;
}

static void release(struct user *user)
{
    (void)uvzk_hold_release(&user->hold, released);
}

static void acquired(uvzk_hold_t *hold, int status)
{
    struct user *user = hold->data;

    user->status = status;
    user->next = status == 0 ? release : NULL;
    user->pauses = HELD_PAUSES;
}

static void lost(uvzk_hold_t *hold, int reason)
{
    note(hold->data, reason);
}

static void acquire(struct user *user)
{
    user->hold.data = user;
    (void)uvzk_lock_acquire(&user->lock, &user->hold, NULL, acquired, lost);
}

static void begin_mutex(struct user *user)
{
    assert_int_equal(uvzk_mutex_init(&user->process->client, &user->lock, user->path), 0);
    acquire(user);
}

static void begin_semaphore(struct user *user)
{
    assert_int_equal(
        uvzk_semaphore_init(&user->process->client, &user->lock, user->path, 1, NULL), 0);
    acquire(user);
}

static void begin_driver_lock(struct user *user)
{
    uvzk_lock_driver_t driver;

    uvzk_lock_driver_init(&driver);
    driver.name = "x";
    driver.mode = UVZK_NODE_EPHEMERAL;
    user->status = uvzk_lock_init_with_driver(&user->process->client, &user->lock,
                                              user->path, &driver);
    if (user->status == 0) {
        acquire(user);
    }
}

/* ----------------------------------------------------------------------- the others */

static void set_value(struct user *user);

static void value_set(uvzk_set_t *set, int status)
{
    struct user *user = set->data;

    note(user, status);
    user->next = status == 0 ? set_value : NULL;
}

static void set_value(struct user *user)
{
    user->set.data = user;
    (void)uvzk_shared_value_set(&user->value, &user->set, "v", 1, value_set);
}

static void value_changed(uvzk_shared_value_t *value, int status)
{
    struct user *user = value->data;

    if (status < 0) {
        user->status = status;
    } else if (user->rounds == 0) {
        set_value(user);
    }
}

static void begin_value(struct user *user)
{
    user->value.data = user;
    assert_int_equal(uvzk_shared_value_init(&user->process->client, &user->value,
                                            user->path, "", 0, value_changed),
                     0);
}

static void waited(uvzk_barrier_call_t *call, int status);

static void removed(uvzk_barrier_call_t *call, int status)
{
    struct user *user = call->data;

    user->refused = status == UVZK_ENOTEMPTY ? status : 0;
    user->status = status - user->refused;
    if (user->status == 0) {
        (void)uvzk_barrier_wait(&user->barrier, call, 1000, waited);
    }
}

static void set(uvzk_barrier_call_t *call, int status)
{
    struct user *user = call->data;

    user->status = status;
    if (status == 0) {
        user->status = uvzk_barrier_remove(&user->barrier, call, removed);
    }
}

static void set_barrier(struct user *user)
{
    user->status = uvzk_barrier_set(&user->barrier, &user->call, set);
}

/* The other client may have set it again. */
static void waited(uvzk_barrier_call_t *call, int status)
{
    struct user *user = call->data;

    note(user, status == UV_ETIMEDOUT ? 0 : status);
    user->next = user->status == 0 ? set_barrier : NULL;
}

static void begin_barrier(struct user *user)
{
    user->call.data = user;
    assert_int_equal(
        uvzk_barrier_init(&user->process->client, &user->barrier, user->path), 0);
    set_barrier(user);
}

static void joined(uvzk_group_member_t *member, int status)
{
    struct user *user = member->data;

    user->stays = true;
    note(user, status);
}

static void begin_member(struct user *user)
{
    user->member.data = user;
    user->status =
        uvzk_group_member_init(&user->process->client, &user->member, user->path,
                               user->process->name, "m", 1, joined, joined);
}

static void node_changed(uvzk_persistent_node_t *node, int status)
{
    struct user *user = node->data;

    user->stays = true;
    note(user, status);
}

static void begin_node(struct user *user)
{
    user->node.data = user;
    user->status =
        uvzk_persistent_node_init(&user->process->client, &user->node, user->path,
                                  UVZK_PERSISTENT_NODE_PERSISTENT, "n", 1, node_changed);
}

static void leads(uvzk_election_t *election, int64_t token, uint64_t valid_until)
{
    (void)token;
    (void)valid_until;
    note(election->data, 0);
    (void)uvzk_election_resign(election);
}

static void failed(uvzk_election_t *election, int status)
{
    note(election->data, status);
}

static void changed(uvzk_election_t *election, const uvzk_election_participant_t *leader)
{
    (void)election;
    (void)leader;
}

static void begin_election(struct user *user)
{
    uvzk_election_options_t options;

    uvzk_election_options_init(&options);
    options.id = user->process->name;
    options.leader_cb = leads;
    options.changed_cb = changed;
    options.error_cb = failed;
    user->election.data = user;
    assert_int_equal(
        uvzk_election_init(&user->process->client, &user->election, user->path, &options),
        0);
}

static const struct recipe recipes[] = {{"mutex", begin_mutex},
                                        {"semaphore", begin_semaphore},
                                        {"driver lock", begin_driver_lock},
                                        {"election", begin_election},
                                        {"shared value", begin_value},
                                        {"barrier", begin_barrier},
                                        {"group member", begin_member},
                                        {"persistent node", begin_node}};

#define RECIPES (sizeof(recipes) / sizeof(recipes[0]))

/* -------------------------------------------------------------------------- the cells */

enum { USERS = 4 };

struct cell {
    struct world world;
    struct process processes[2];
    struct user users[USERS];
};

static void run_for(struct cell *cell, unsigned ms)
{
    for (unsigned at = 0; at < ms; at += PAUSE_MS) {
        world_run_for(&cell->world, PAUSE_MS);
        for (int i = 0; i < USERS; i++) {
            struct user *user = &cell->users[i];
            void (*next)(struct user *) = user->next;
            if (user->pauses > 0) {
                user->pauses--;
            } else if (next != NULL) {
                user->next = NULL;
                next(user);
            }
        }
    }
}

/* The two recipes of each client. The first one is under way when the other begins. */
static void begin(struct cell *cell, const struct recipe *one, const char *path,
                  const struct recipe *other, const char *other_path)
{
    world_begin_exact(&cell->world, UVZK__TUNE_ALL, 5);
    process_begin(&cell->processes[0], &cell->world, "a", NULL);
    process_begin(&cell->processes[1], &cell->world, "b", NULL);
    for (int i = 0; i < USERS; i++) {
        struct user *user = &cell->users[i];
        cell->processes[i % 2].may_log_errors = true;
        user->process = &cell->processes[i % 2];
        user->recipe = i < 2 ? one : other;
        user->path = i < 2 ? path : other_path;
        user->recipe->begin(user);
        world_run_for(&cell->world, PAUSE_MS / 2);
        if (i == 1) {
            run_for(cell, BEGIN_MS / 4);
        }
    }
}

/* "works", or the first code by which one cannot go on, or "stands still". */
static void find_outcome(struct cell *cell, char *text)
{
    int before[USERS];

    run_for(cell, BEGIN_MS);
    for (int i = 0; i < USERS; i++) {
        before[i] = cell->users[i].rounds;
    }
    run_for(cell, GO_MS);
    snprintf(text, CELL_MAX, "works");
    for (int i = USERS - 1; i >= 0; i--) {
        const struct user *user = &cell->users[i];
        int status = user->status < 0 ? user->status : user->refused;
        if (status < 0) {
            snprintf(text, CELL_MAX, "%s: `%s`", user->recipe->name,
                     uvzk_err_name(status));
        } else if (!user->stays && user->rounds == before[i]) {
            snprintf(text, CELL_MAX, "%s: stands still", user->recipe->name);
        }
    }
}

/* Where the two recipes of a client are. The first one begins first. */
static const struct {
    const char *title, *one, *other;
} places[] = {{"both at one path", PATH, PATH},
              {"the second one level below the first", PATH, BELOW},
              {"the second one level above the first", BELOW, PATH}};

#define PLACES (sizeof(places) / sizeof(places[0]))

static void run_cell(const struct recipe *one, const struct recipe *other, size_t place,
                     char *text)
{
    struct cell *cell = calloc(1, sizeof(*cell));

    assert_non_null(cell);
    begin(cell, one, places[place].one, other, places[place].other);
    find_outcome(cell, text);
    process_end(&cell->processes[0]);
    process_end(&cell->processes[1]);
    world_end(&cell->world);
    free(cell);
}

static void write_table(FILE *out, size_t place)
{
    fprintf(out, "| %s", places[place].title);
    for (size_t i = 0; i < RECIPES; i++) {
        fprintf(out, " | %s", recipes[i].name);
    }
    fprintf(out, " |\n| ---");
    for (size_t i = 0; i < RECIPES; i++) {
        fprintf(out, " | ---");
    }
    fprintf(out, " |\n");
    for (size_t i = 0; i < RECIPES; i++) {
        fprintf(out, "| %s", recipes[i].name);
        for (size_t j = 0; j < RECIPES; j++) {
            char text[CELL_MAX];
            run_cell(&recipes[i], &recipes[j], place, text);
            fprintf(out, " | %s", text);
        }
        fprintf(out, " |\n");
    }
}

/* The page has the tables as they are here. */
static bool page_has(const char *page, const char *tables)
{
    static char text[1 << 16];
    FILE *file = fopen(page, "r");

    if (file == NULL) {
        return false;
    }
    size_t length = fread(text, 1, sizeof(text) - 1, file);
    (void)fclose(file);
    text[length] = '\0';
    return strstr(text, tables) != NULL;
}

int main(int argc, char **argv)
{
    char *tables;
    size_t length;
    FILE *out = open_memstream(&tables, &length);

    for (size_t place = 0; place < PLACES; place++) {
        write_table(out, place);
        fprintf(out, place + 1 < PLACES ? "\n" : "");
    }
    (void)fclose(out);
    bool same = argc > 1 && page_has(argv[1], tables);
    if (!same) {
        fputs(tables, stdout);
        fprintf(stderr, "these are the tables of docs/recipes/together.md\n");
    }
    free(tables);
    return argc > 1 && !same;
}
