/* Questions to the server on behalf of the user: who takes part, and whether a
 * hold is really held. One request each; the answer goes straight to the user. */
#include <stdlib.h>
#include <string.h>

#include "acquisition.h"
#include "claim.h"
#include "contender.h"
#include "driver.h"
#include "path.h"
#include "queue.h"
#include "view.h"

/* ------------------------------------------------------------- participants */

struct listing {
    struct uvzk__rpc rpc;
    struct uvzk__client *client;
    uvzk_participants_t *shell;
    uvzk_participants_cb cb;
    char *path;
};

struct participant {
    struct uvzk__place place;
    const char *name;
};

static int by_place(const void *left, const void *right)
{
    return uvzk__place_compare(((const struct participant *)left)->place,
                               ((const struct participant *)right)->place);
}

static size_t sort_out(struct participant *participants, const struct uvzk__reply *reply)
{
    size_t count = 0;

    for (size_t i = 0; i < reply->name_count; i++) {
        struct uvzk__node_name parsed;
        uvzk__node_name_parse(&parsed, reply->names[i], UVZK__TOKEN_MUTEX);
        if (parsed.is_contender && !uvzk__sequence_worn_out(parsed.sequence)) {
            participants[count].place.sequence = parsed.sequence;
            participants[count].place.czxid = 0;
            participants[count++].name = reply->names[i];
        }
    }
    qsort(participants, count, sizeof(participants[0]), by_place);
    return count;
}

/* Full paths for the names; all or nothing. */
static char **full_paths(const char *path, const struct participant *participants,
                         size_t count)
{
    char **paths = uvzk__calloc(count + 1, sizeof(char *));

    for (size_t i = 0; paths != NULL && i < count; i++) {
        paths[i] = uvzk__path_join(path, participants[i].name);
        if (paths[i] == NULL) {
            while (i > 0) {
                uvzk__free(paths[--i]);
            }
            uvzk__free(paths);
            return NULL;
        }
    }
    return paths;
}

static void report_others(struct listing *listing, uint64_t count)
{
    struct uvzk__queue *queue =
        uvzk__queue_find(listing->client, UVZK__EXCLUSIVE, listing->path);

    if (queue != NULL) {
        uvzk__view_foreign_children(queue, count);
    }
}

static void free_listing(struct listing *listing)
{
    listing->shell->impl = NULL;
    uvzk__free(listing->path);
    uvzk__free(listing);
}

static void listed(struct uvzk__rpc *rpc, const struct uvzk__reply *reply)
{
    struct listing *listing = UVZK__CONTAINER_OF(rpc, struct listing, rpc);
    struct participant *participants = NULL;
    char **paths = NULL;
    size_t count = 0;
    int status = reply->status == UVZK_ENONODE ? 0 : reply->status;

    uvzk__answered(listing->client, rpc, reply->status, false);
    if (reply->status == 0) {
        participants = uvzk__calloc(reply->name_count + 1, sizeof(*participants));
        if (participants != NULL) {
            count = sort_out(participants, reply);
            report_others(listing, reply->name_count - count);
            paths = full_paths(listing->path, participants, count);
        }
        if (paths == NULL) {
            status = UV_ENOMEM;
            count = 0;
        }
    }
    uvzk_participants_t *shell = listing->shell;
    uvzk_participants_cb cb = listing->cb;
    free_listing(listing);
    cb(shell, status, (const char *const *)paths, count);
    for (size_t i = 0; i < count; i++) {
        uvzk__free(paths[i]);
    }
    uvzk__free(paths);
    uvzk__free(participants);
}

int uvzk_lock_participants(uvzk_lock_t *lock_shell, uvzk_participants_t *shell,
                           uvzk_participants_cb cb)
{
    if (lock_shell == NULL || shell == NULL || cb == NULL) {
        return UV_EINVAL;
    }
    struct uvzk__lock *lock = lock_shell->impl;
    if (shell->impl != NULL) {
        return UV_EBUSY;
    }
    if (lock == NULL || lock->closing || lock->client->closing) {
        return UVZK_ECLOSED;
    }
    struct listing *listing = uvzk__calloc(1, sizeof(*listing));
    if (listing == NULL) {
        return UV_ENOMEM;
    }
    listing->path = uvzk__strdup(lock->path);
    if (listing->path == NULL) {
        uvzk__free(listing);
        return UV_ENOMEM;
    }
    listing->client = lock->client;
    listing->shell = shell;
    listing->cb = cb;
    shell->impl = listing;
    uvzk__rpc_prepare(&listing->rpc, UVZK__RPC_CHILDREN, listing->path, listed);
    uvzk__submit(listing->client, &listing->rpc);
    return 0;
}

/* ------------------------------------------------------------------- verify */

struct question {
    struct uvzk__rpc rpc;
    struct uvzk__op op;
    struct uvzk__contender *contender; /* pinned */
    uvzk_verify_t *shell;
    uvzk_verify_cb cb;
};

static void verified(struct uvzk__rpc *rpc, const struct uvzk__reply *reply)
{
    struct question *question = UVZK__CONTAINER_OF(rpc, struct question, rpc);
    struct uvzk__contender *contender = question->contender;
    uvzk_verify_t *shell = question->shell;
    uvzk_verify_cb cb = question->cb;
    int status = reply->status;

    uvzk__answered(contender->client, rpc, status, true);
    if (status == UVZK_ENONODE) {
        status = UVZK_EDELETED;
        uvzk__contender_missing(contender);
    } else if (status == 0 && !contender->held) {
        status = UVZK_ELOST;
    }
    uvzk__contender_unpin(contender);
    shell->impl = NULL;
    uvzk__free(question);
    cb(shell, status);
}

int uvzk_verify(uvzk_acquire_t *hold, uvzk_verify_t *shell, uvzk_verify_cb cb)
{
    if (hold == NULL || shell == NULL || cb == NULL) {
        return UV_EINVAL;
    }
    struct uvzk__claim *claim = uvzk__hold_of(hold);
    if (claim == NULL) {
        return UVZK_ENOTHELD;
    }
    if (shell->impl != NULL) {
        return UV_EBUSY;
    }
    struct question *question = uvzk__calloc(1, sizeof(*question));
    if (question == NULL) {
        return UV_ENOMEM;
    }
    struct uvzk__contender *contender =
        UVZK__CONTAINER_OF(claim->contenders.next, struct uvzk__contender, in_claim);
    question->contender = contender;
    question->shell = shell;
    question->cb = cb;
    question->op.kind = UVZK__OP_CHECK;
    question->op.path = contender->path;
    question->op.version = -1;
    shell->impl = question;
    uvzk__contender_pin(contender);
    uvzk__rpc_prepare(&question->rpc, UVZK__RPC_MULTI, NULL, verified);
    question->rpc.ops = &question->op;
    question->rpc.op_count = 1;
    uvzk__submit(contender->client, &question->rpc);
    return 0;
}
