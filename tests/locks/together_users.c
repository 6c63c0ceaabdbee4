/* SPDX-License-Identifier: Apache-2.0 */
#include "together_users.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define HELD_PAUSES 2 /* so that others wait */
#define CALL_MS 3000
#define LONG_DATA "1234567" /* as long as a number is */

static void note(struct user *user, int status)
{
    user->rounds += status == 0;
    user->status = status;
}

static void expect(const struct user *user, bool holds, const char *what)
{
    if (!holds) {
        fprintf(stderr, "%s at %s: %s\n", user->recipe->name, user->path, what);
        abort();
    }
}

static uint64_t requests_of(const struct user *user)
{
    uvzk_client_metrics_t metrics;

    uvzk_client_metrics_init(&metrics);
    expect(user, uvzk_client_metrics(user->client, &metrics) == 0, "it has no metrics");
    return metrics.requests;
}

/* What a call has returned. A refused one has sent nothing. */
static void called(struct user *user, uint64_t requests_before, int status)
{
    user->status = status;
    user->at_call = status < 0;
    if (user->at_call) {
        expect(user, requests_of(user) == requests_before,
               "a refused call has sent a request");
        expect(user, strcmp(uvzk_refusal(status), uvzk_strerror(status)) != 0,
               "a call was refused without a sentence");
    }
}

#define CALL(user, call)                              \
    do {                                              \
        uint64_t requests_before = requests_of(user); \
        called((user), requests_before, (call));      \
    } while (0)

void together_begin(struct user *user, const struct recipe *recipe, uvzk_client_t *client,
                    const char *name, const char *path)
{
    user->recipe = recipe;
    user->client = client;
    user->name = name;
    user->path = path;
    recipe->begin(user);
}

void together_go_on(struct user *user)
{
    void (*next)(struct user *) = user->next;

    if (user->pauses > 0) {
        user->pauses--;
    } else if (next != NULL) {
        user->next = NULL;
        next(user);
    }
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
    CALL(user, uvzk_lock_acquire(user->acquires, &user->hold, NULL, acquired, lost));
}

/* Its init was called. */
static void begin_lock(struct user *user, uvzk_lock_t *lock)
{
    user->acquires = lock;
    if (user->status == 0) {
        acquire(user);
    }
}

static void begin_mutex(struct user *user)
{
    CALL(user, uvzk_mutex_init(user->client, &user->lock, user->path));
    begin_lock(user, &user->lock);
}

static void begin_cohort(struct user *user)
{
    CALL(user,
         uvzk_mutex_init_with_cohort(user->client, &user->lock, user->path, 3, 1000));
    begin_lock(user, &user->lock);
}

static void begin_rwlock(struct user *user)
{
    CALL(user, uvzk_rwlock_init(user->client, &user->rwlock, user->path));
    begin_lock(user, &user->rwlock.write);
}

static void begin_semaphore(struct user *user)
{
    CALL(user, uvzk_semaphore_init(user->client, &user->lock, user->path, 1, NULL));
    begin_lock(user, &user->lock);
}

static void begin_semaphore_mutex(struct user *user)
{
    CALL(user, uvzk_semaphore_mutex_init(user->client, &user->lock, user->path));
    begin_lock(user, &user->lock);
}

static void begin_multilock(struct user *user)
{
    uvzk_lock_t *members[] = {&user->members[0], &user->members[1]};

    CALL(user, uvzk_mutex_init(user->client, members[0], user->path));
    if (user->status == 0) {
        CALL(user, uvzk_mutex_init(user->client, members[1], "/beside"));
    }
    if (user->status == 0) {
        CALL(user, uvzk_multilock_init(user->client, &user->lock, members, 2, 0, NULL));
    }
    begin_lock(user, &user->lock);
}

static void begin_driver_lock(struct user *user)
{
    uvzk_lock_driver_t driver;

    uvzk_lock_driver_init(&driver);
    driver.name = TOGETHER_NAME;
    driver.mode = UVZK_NODE_EPHEMERAL;
    CALL(user,
         uvzk_lock_init_with_driver(user->client, &user->lock, user->path, &driver));
    begin_lock(user, &user->lock);
}

/* --------------------------------------------------------------------- the elections */

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
    options.kind = UVZK_ELECTION_SELECTOR;
    options.leader_cb = leads;
    options.error_cb = failed;
    user->election.data = user;
    CALL(user, uvzk_election_init(user->client, &user->election, user->path, &options));
}

/* It also reads and watches who leads. */
static void begin_latch(struct user *user)
{
    uvzk_election_options_t options;

    uvzk_election_options_init(&options);
    options.id = user->name;
    options.leader_cb = leads;
    options.changed_cb = changed;
    options.error_cb = failed;
    user->election.data = user;
    CALL(user, uvzk_election_init(user->client, &user->election, user->path, &options));
}

/* ------------------------------------------------------------------------ the values */

static void set_value(struct user *user);
static void set_count(struct user *user);

/* Without a znode, as there is of a driver lock that nobody holds, it is set later. */
static void was_set(uvzk_req_t *set, int status)
{
    struct user *user = set->data;

    if (status != UVZK_ENONODE) {
        note(user, status);
    }
    user->next = user->value.impl == NULL ? set_count : set_value;
}

static void set_value(struct user *user)
{
    user->set.data = user;
    CALL(user, uvzk_shared_value_set(&user->value, &user->set, LONG_DATA,
                                     sizeof(LONG_DATA), was_set));
}

static void set_count(struct user *user)
{
    user->set.data = user;
    CALL(user, uvzk_shared_count_set(&user->count, &user->set, 1, was_set));
}

/* It is told of a znode that is missing, and when there is one again. */
static void changed_to(struct user *user, int status, void (*set)(struct user *))
{
    if (status < 0 && status != UVZK_ENONODE) {
        user->status = status;
    } else if (status == 0 && user->set.impl == NULL) {
        user->next = set;
    }
}

static void value_changed(uvzk_shared_value_t *value, int status)
{
    changed_to(value->data, status, set_value);
}

static void count_changed(uvzk_shared_count_t *count, int status, int32_t number)
{
    (void)number;
    changed_to(count->data, status, set_count);
}

static void begin_value(struct user *user)
{
    user->value.data = user;
    CALL(user, uvzk_shared_value_init(user->client, &user->value, user->path, LONG_DATA,
                                      sizeof(LONG_DATA), value_changed));
}

static void begin_count(struct user *user)
{
    user->count.data = user;
    CALL(user, uvzk_shared_count_init(user->client, &user->count, user->path, 0,
                                      count_changed));
}

static void add(struct user *user);

static void added(uvzk_req_t *call, int status)
{
    struct user *user = call->data;

    /* The others were faster. */
    note(user, status == UVZK_EBADVERSION ? 0 : status);
    user->next = user->status == 0 ? add : NULL;
}

static void add(struct user *user)
{
    user->change.data = user;
    CALL(user, uvzk_atomic_long_add(&user->atomic, &user->change, 1, added));
}

static void begin_atomic(struct user *user)
{
    CALL(user, uvzk_atomic_long_init(user->client, &user->atomic, user->path, NULL));
    if (user->status == 0) {
        add(user);
    }
}

/* ---------------------------------------------------------------------- the barriers */

static void waited(uvzk_req_t *call, int status);

static void removed(uvzk_req_t *call, int status)
{
    struct user *user = call->data;

    user->status = status;
    if (status == 0) {
        (void)uvzk_barrier_wait(&user->barrier, call, CALL_MS, waited);
    }
}

static void set(uvzk_req_t *call, int status)
{
    struct user *user = call->data;

    user->status = status;
    if (status == 0) {
        CALL(user, uvzk_barrier_remove(&user->barrier, call, removed));
    }
}

static void set_barrier(struct user *user)
{
    CALL(user, uvzk_barrier_set(&user->barrier, &user->call, set));
}

/* The other client may have set it again. */
static void waited(uvzk_req_t *call, int status)
{
    struct user *user = call->data;

    note(user, status == UV_ETIMEDOUT ? 0 : status);
    user->next = user->status == 0 ? set_barrier : NULL;
}

static void begin_barrier(struct user *user)
{
    user->call.data = user;
    CALL(user, uvzk_barrier_init(user->client, &user->barrier, user->path));
    if (user->status == 0) {
        set_barrier(user);
    }
}

static void enter(struct user *user);

/* Whoever was not joined in time tries again. */
static void left(uvzk_req_t *call, int status)
{
    struct user *user = call->data;

    note(user, status == UV_ETIMEDOUT ? 0 : status);
    user->next = user->status == 0 ? enter : NULL;
}

static void leave(struct user *user)
{
    CALL(user, uvzk_double_barrier_leave(&user->gate, &user->call, CALL_MS, left));
}

static void entered(uvzk_req_t *call, int status)
{
    struct user *user = call->data;

    user->status = status == UV_ETIMEDOUT ? 0 : status;
    if (status == 0) {
        user->next = leave;
    } else if (status == UV_ETIMEDOUT) {
        user->next = enter;
    }
}

static void enter(struct user *user)
{
    CALL(user, uvzk_double_barrier_enter(&user->gate, &user->call, CALL_MS, entered));
}

static void begin_gate(struct user *user)
{
    user->call.data = user;
    CALL(user, uvzk_double_barrier_init(user->client, &user->gate, user->path, 2, NULL));
    if (user->status == 0) {
        enter(user);
    }
}

/* ----------------------------------------------------------------- znodes that stay */

static void joined(uvzk_group_member_t *member, int status)
{
    struct user *user = member->data;

    user->stays = true;
    note(user, status);
}

static void begin_member(struct user *user)
{
    user->member.data = user;
    CALL(user, uvzk_group_member_init(user->client, &user->member, user->path, user->name,
                                      "m", 1, joined, joined));
}

static void node_changed(uvzk_persistent_node_t *node, int status)
{
    struct user *user = node->data;

    user->stays = true;
    /* The other client has one, which this one waits for. */
    note(user, status == UVZK_ENODEEXISTS ? 0 : status);
}

static void keep_node(struct user *user, uint32_t mode)
{
    user->node.data = user;
    CALL(user, uvzk_persistent_node_init(user->client, &user->node, user->path, mode,
                                         LONG_DATA, sizeof(LONG_DATA), node_changed));
}

static void begin_node(struct user *user)
{
    keep_node(user, UVZK_PERSISTENT_NODE_PERSISTENT);
}

static void begin_ephemeral_node(struct user *user)
{
    keep_node(user, UVZK_PERSISTENT_NODE_EPHEMERAL);
}

const struct recipe together_recipes[] = {{"mutex", begin_mutex},
                                          {"cohort", begin_cohort},
                                          {"read-write lock", begin_rwlock},
                                          {"semaphore", begin_semaphore},
                                          {"semaphore mutex", begin_semaphore_mutex},
                                          {"multi lock", begin_multilock},
                                          {"driver lock", begin_driver_lock},
                                          {"leader latch", begin_latch},
                                          {"election", begin_election},
                                          {"shared value", begin_value},
                                          {"shared count", begin_count},
                                          {"atomic long", begin_atomic},
                                          {"barrier", begin_barrier},
                                          {"double barrier", begin_gate},
                                          {"group member", begin_member},
                                          {"persistent node", begin_node},
                                          {"ephemeral node", begin_ephemeral_node}};

const size_t together_recipe_count =
    sizeof(together_recipes) / sizeof(together_recipes[0]);
