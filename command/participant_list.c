/* SPDX-License-Identifier: Apache-2.0 */
/* Lists who holds a lock at a path or waits for it (participant_list.h).
 *
 *   list() --> one listing for each recipe --> on_participants
 *       --> look_at_all(): one read for each znode --> on_looked --> tell()
 *
 * Listings and reads are separate requests, so the lock may change hands between them.
 * If a holder's znode has been deleted before it is read, tell() starts again with
 * list(), at most LISTINGS_MORE times. Otherwise a lock that was handed over would look
 * free. */
#include "participant_list.h"

#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "latch_lock.h"
#include "output.h"

/* How often a listing is repeated. After that the last listing is reported, as
 * inconsistent. */
#define LISTINGS_MORE 8U

/* What stands before the traceparent in its line of the data. */
#define TRACEPARENT_KEY "traceparent: "

/* The request that reads one participant's znode. */
struct node_read {
    uvzk_req_t request;
    struct participant_list *participant_list;
    size_t which; /* index of the participant */
};

bool recipes_exclude(enum recipe one, enum recipe other)
{
    return one == other || (one <= RECIPE_READ && other <= RECIPE_READ);
}

bool recipe_may_be_revocable(enum recipe recipe)
{
    return recipe != RECIPE_LEASES && recipe != RECIPE_LATCH;
}

const char *recipe_name(enum recipe recipe)
{
    static const char *const names[] = {"write", "read", "mutex", "lease", "latch"};

    return names[recipe];
}

/* What an option of `uvzk lock` would have chosen. */
static const char *advice_of(enum recipe recipe)
{
    switch (recipe) {
    case RECIPE_WRITE:
    case RECIPE_READ:
        return "; -x takes the write half of a read-write lock, -s its read half";
    case RECIPE_MUTEX:
        return "; -m takes a mutex";
    case RECIPE_LEASES:
        return "; --leases N/OF takes a semaphore's";
    default:
        return "";
    }
}

bool participant_list_is_mixed(const struct participant_list *participant_list,
                               const char *path, enum recipe recipe, bool by_default)
{
    for (size_t i = 0; i < participant_list->count; i++) {
        const struct participant *participant = &participant_list->participants[i];
        if (!recipes_exclude(participant->recipe, recipe)) {
            output_report("%s is used as another kind of lock; the two would not exclude "
                          "each other: %s%s",
                          path, participant->node,
                          by_default ? advice_of(participant->recipe) : "");
            return true;
        }
    }
    return false;
}

void participant_list_free(struct participant_list *participant_list)
{
    for (size_t i = 0; i < participant_list->count; i++) {
        free(participant_list->participants[i].node);
        free(participant_list->participants[i].data);
        free(participant_list->participants[i].read_request);
    }
    free(participant_list->participants);
    participant_list->participants = NULL;
    participant_list->count = 0;
}

/* For qsort: by kind of lock, holders before waiters, then by czxid. */
static int by_place(const void *left, const void *right)
{
    const struct participant *a = left, *b = right;

    if (!recipes_exclude(a->recipe, b->recipe)) {
        return a->recipe < b->recipe ? -1 : 1;
    }
    if (a->holds != b->holds) {
        return a->holds ? -1 : 1;
    }
    return (a->token > b->token) - (a->token < b->token);
}

static bool holder_has_gone(const struct participant_list *participant_list)
{
    for (size_t i = 0; i < participant_list->count; i++) {
        if (participant_list->participants[i].holds &&
            participant_list->participants[i].gone) {
            return true;
        }
    }
    return false;
}

/* Removes the participants whose znodes were deleted, and frees the requests. */
static void drop_gone(struct participant_list *participant_list)
{
    size_t kept = 0;

    for (size_t i = 0; i < participant_list->count; i++) {
        struct participant *participant = &participant_list->participants[i];
        free(participant->read_request);
        participant->read_request = NULL;
        if (participant->gone) {
            free(participant->node);
            free(participant->data);
        } else {
            participant_list->participants[kept++] = *participant;
        }
    }
    participant_list->count = kept;
}

static int list(struct participant_list *participant_list);

/* Repeats the listing if a holder's znode was deleted before it was read. The contender
 * that holds the lock since then may have come after the listing, and is not in it.
 * Returns whether a new listing is under way. */
static bool lists_again(struct participant_list *participant_list)
{
    participant_list->inconsistent =
        participant_list->status == 0 && holder_has_gone(participant_list);
    if (!participant_list->inconsistent || participant_list->listings_left == 0) {
        return false;
    }
    participant_list->listings_left--;
    int status = list(participant_list);
    if (status < 0) {
        participant_list->status = status;
    }
    return status == 0;
}

/* All replies have arrived. */
static void tell(struct participant_list *participant_list)
{
    if (lists_again(participant_list)) {
        return;
    }
    drop_gone(participant_list);
    if (participant_list->count > 0) {
        qsort(participant_list->participants, participant_list->count,
              sizeof(struct participant), by_place);
    }
    participant_list->cb(participant_list, participant_list->status);
}

/* Keeps the first error. */
static void failed(struct participant_list *participant_list, int status)
{
    if (participant_list->status == 0) {
        participant_list->status = status;
    }
}

/* ------------------------------------------------------------ reading znodes */

/* Copies the data of the znode. */
static void fill(struct participant_list *participant_list,
                 struct participant *participant, const void *data, size_t length)
{
    participant->data = malloc(length + 1);
    if (participant->data == NULL) {
        failed(participant_list, UV_ENOMEM);
        return;
    }
    if (length > 0) {
        memcpy(participant->data, data, length);
    }
    participant->data[length] = '\0';
    participant->data_length = length;
    participant->text_length = length;
    if (uvzk_traceparent_of(data, length, participant->traceparent) != 0) {
        participant->text_length -= strlen(TRACEPARENT_KEY) + UVZK_TRACEPARENT_SIZE - 1;
        participant->text_length -= participant->text_length > 0; /* the newline */
    }
}

static void on_looked(uvzk_req_t *request, int status)
{
    const uvzk_stat_t *stat = request->result->stat;
    const void *data = request->result->data;
    size_t length = request->result->length;
    struct node_read *looking = request->data;
    struct participant_list *participant_list = looking->participant_list;
    struct participant *participant = &participant_list->participants[looking->which];

    if (status == UVZK_ENONODE) {
        participant->gone = true;
    } else if (status < 0) {
        failed(participant_list, status);
    } else {
        participant->token = stat->czxid;
        participant->session = stat->session_id;
        participant->since_ms = stat->created_ms;
        fill(participant_list, participant, data, length);
    }
    if (--participant_list->outstanding == 0) {
        tell(participant_list);
    }
}

static int look_at(struct participant_list *participant_list, size_t which)
{
    struct participant *participant = &participant_list->participants[which];

    participant->read_request = calloc(1, sizeof(*participant->read_request));
    if (participant->read_request == NULL) {
        return UV_ENOMEM;
    }
    participant->read_request->participant_list = participant_list;
    participant->read_request->which = which;
    participant->read_request->request.data = participant->read_request;
    return uvzk_client_read(participant_list->client, &participant->read_request->request,
                            participant->node, on_looked);
}

/* Returns true if the participant is among the first of its kind. `seen` counts them, by
 * recipe and by whether they hold. */
static bool is_to_be_read(const struct participant_list *participant_list,
                          const struct participant *participant,
                          size_t seen[PARTICIPANT_RECIPES][2])
{
    size_t before = seen[participant->recipe][participant->holds]++;

    return participant_list->reads_of_each == 0 ||
           before < participant_list->reads_of_each;
}

/* No callback runs inside uvzk_client_read, so `outstanding` cannot reach 0 in the
 * loop. */
static void look_at_all(struct participant_list *participant_list)
{
    size_t seen[PARTICIPANT_RECIPES][2] = {{0}};

    for (size_t i = 0; i < participant_list->count && participant_list->status == 0;
         i++) {
        if (!is_to_be_read(participant_list, &participant_list->participants[i], seen)) {
            continue;
        }
        int status = look_at(participant_list, i);
        participant_list->outstanding += status == 0;
        if (status < 0) {
            failed(participant_list, status);
        }
    }
    if (participant_list->outstanding == 0) {
        tell(participant_list);
    }
}

/* ------------------------------------------------------------------- listing */

/* Appends the participants of one recipe. The first `holding` paths are the holders'. */
static int add(struct participant_list *participant_list, enum recipe recipe,
               const char *const *paths, size_t count, size_t holding)
{
    struct participant *more =
        realloc(participant_list->participants,
                (participant_list->count + count + 1) * sizeof(struct participant));

    if (more == NULL) {
        return UV_ENOMEM;
    }
    participant_list->participants = more;
    for (size_t i = 0; i < count; i++) {
        struct participant *participant = &more[participant_list->count];
        *participant = (struct participant){.recipe = recipe, .holds = i < holding};
        participant->node = strdup(paths[i]);
        if (participant->node == NULL) {
            return UV_ENOMEM;
        }
        participant_list->count++;
    }
    return 0;
}

static void on_participants(uvzk_req_t *request, int status)
{
    const char *const *paths = request->result->paths;
    size_t count = request->result->count;
    struct participant_list *participant_list = request->data;
    enum recipe recipe = (enum recipe)(request - participant_list->requests);

    if (status == 0) {
        status = add(participant_list, recipe, paths, count, request->result->holding);
    }
    if (status < 0) {
        failed(participant_list, status);
    }
    if (--participant_list->outstanding == 0) {
        if (participant_list->reads_nodes) {
            look_at_all(participant_list);
        } else {
            tell(participant_list);
        }
    }
}

/* Sends the listings of the recipes that are wanted. Returns 0 if at least one was sent:
 * then the callback reports any failure. Otherwise returns a negative error code. */
static int list(struct participant_list *participant_list)
{
    /* In the order of enum recipe. */
    uvzk_lock_t *locks[PARTICIPANT_RECIPES] = {
        &participant_list->rwlock.write, &participant_list->rwlock.read,
        &participant_list->mutex, &participant_list->semaphore, &participant_list->latch};
    int status = 0;

    participant_list_free(participant_list);
    for (size_t i = 0; i < PARTICIPANT_RECIPES && status == 0; i++) {
        if (participant_list->recipes != 0 && (participant_list->recipes >> i & 1) == 0) {
            continue;
        }
        participant_list->requests[i].data = participant_list;
        status = uvzk_lock_participants(locks[i], &participant_list->requests[i],
                                        on_participants);
        participant_list->outstanding += status == 0;
    }
    if (status < 0 && participant_list->outstanding > 0) {
        failed(participant_list, status); /* reported after the other replies */
        status = 0;
    }
    return status;
}

int participant_list_read(struct participant_list *participant_list, bool looks,
                          participant_list_cb cb)
{
    participant_list->cb = cb;
    participant_list->reads_nodes = looks;
    participant_list->status = 0;
    participant_list->inconsistent = false;
    participant_list->listings_left = LISTINGS_MORE;
    return list(participant_list);
}

int participant_list_init(struct participant_list *participant_list,
                          uvzk_client_t *client, const char *path)
{
    int status = uvzk_mutex_init(client, &participant_list->mutex, path);

    participant_list->client = client;
    if (status == 0) {
        status = uvzk_rwlock_init(client, &participant_list->rwlock, path);
    }
    /* Any maximum will do, because the semaphore is only listed. */
    if (status == 0) {
        status = uvzk_semaphore_init(client, &participant_list->semaphore, path, 1, NULL);
    }
    if (status == 0) {
        status =
            latch_lock_init(participant_list->client, &participant_list->latch, path);
    }
    return status;
}

static void on_closed(uvzk_lock_t *lock)
{
    struct participant_list *participant_list = lock->data;

    if (--participant_list->closing.outstanding == 0) {
        participant_list->closing.cb(participant_list);
    }
}

void participant_list_close(struct participant_list *participant_list,
                            void (*cb)(struct participant_list *))
{
    uvzk_lock_t *locks[] = {&participant_list->rwlock.write,
                            &participant_list->rwlock.read, &participant_list->mutex,
                            &participant_list->semaphore, &participant_list->latch};

    participant_list->closing.cb = cb;
    /* No callback runs inside uvzk_lock_close. It fails for a lock that is not there. */
    for (size_t i = 0; i < sizeof(locks) / sizeof(locks[0]); i++) {
        locks[i]->data = participant_list;
        participant_list->closing.outstanding +=
            uvzk_lock_close(locks[i], on_closed) == 0;
    }
    if (participant_list->closing.outstanding == 0) {
        cb(participant_list);
    }
}

double participant_age(int64_t since_ms)
{
    struct timespec now;

    clock_gettime(CLOCK_REALTIME, &now);
    double seconds =
        (double)now.tv_sec + (double)now.tv_nsec / 1e9 - (double)since_ms / 1000;
    return seconds > 0 ? seconds : 0;
}
