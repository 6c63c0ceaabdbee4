/* SPDX-License-Identifier: Apache-2.0 */
/* Who takes part in an election, of any client and library: once
 * (uvzk_election_participants), or again after each change, without taking part in it
 * (uvzk_participants_view_init_election). The znodes are listed as those of a lock
 * (lock_requests/participants.h), in the order of the queue; then each is read for its id,
 * several at a time. As in Curator, a znode that has gone meanwhile is left out, and the
 * first of those that were read is the leader.
 *
 * The result is only information: the server may lag behind others, and a znode may be
 * created or deleted after the read. All requests go to one session, whose replies come
 * in their order: no read shows less than the listing did. */
#include "election/election_participants.h"

#include <string.h>

#include "base/list.h"
#include "base/memory.h"
#include "base/path.h"
#include "base/refusal.h"
#include "claim/lock.h"
#include "election/election.h"
#include "engine/client.h"
#include "engine/req.h"
#include "engine/submission.h"
#include "lock_requests/participants.h"
#include "locks/leader_latch.h"
#include "locks/mutex.h"

/* ------------------------------------------------------------------ one participant */

struct uvzk__known_participant *
uvzk__known_participant_new(const char *path, int64_t token, int64_t session_id,
                            const void *id, size_t id_length)
{
    size_t path_size = strlen(path) + 1;
    struct uvzk__known_participant *known =
        uvzk__calloc(1, sizeof(*known) + id_length + 1 + path_size);

    if (known == NULL) {
        return NULL;
    }
    if (id_length > 0) {
        memcpy(known->texts, id, id_length);
    }
    memcpy(known->texts + id_length + 1, path, path_size);
    known->shown = (uvzk_election_participant_t){.size = sizeof(known->shown),
                                                 .id = known->texts,
                                                 .id_length = id_length,
                                                 .token = token,
                                                 .session_id = session_id,
                                                 .path = known->texts + id_length + 1};
    return known;
}

const uvzk_election_participant_t *
uvzk__known_participant_copy(const uvzk_election_participant_t *shown)
{
    struct uvzk__known_participant *copy = uvzk__known_participant_new(
        shown->path, shown->token, shown->session_id, shown->id, shown->id_length);

    if (copy == NULL) {
        return NULL;
    }
    copy->shown.is_leader = shown->is_leader;
    return &copy->shown;
}

void uvzk__known_participant_free(const uvzk_election_participant_t *shown)
{
    uvzk__free(
        UVZK__CONTAINER_OF((uintptr_t)shown, struct uvzk__known_participant, shown));
}

/* ------------------------------------------------------------------- the reads */

#define READS_MAX 32U /* at a time, so that no session is flooded */

/* One that was listed. Until it has been read, only its path is known. */
struct listed_participant {
    struct uvzk__known_participant *known; /* owned; its token is 0 until it is read */
    bool gone;                             /* the read has shown no znode */
    /* Of one that is view: */
    struct uvzk__place place;
    bool told;
    bool kept; /* it is in the next list too, which is being made */
};

struct participant_reads;

struct node_read {
    struct uvzk__rpc rpc;
    struct participant_reads *reads;
    size_t index; /* of the participant that is being read */
};

/* Reads those that are unread. */
struct participant_reads {
    struct uvzk__session *session;
    struct listed_participant *listed; /* owned by the user of this struct, as it is */
    size_t count;
    size_t next;        /* the index from which the next unread one is looked for */
    size_t outstanding; /* reads that have no reply yet */
    int status;         /* the first failure; 0: none */
    void (*done_cb)(struct participant_reads *);
    struct node_read at_a_time[READS_MAX];
};

static void free_listed(struct listed_participant *listed, size_t count)
{
    for (size_t i = 0; i < count; i++) {
        uvzk__free(listed[i].known);
    }
    uvzk__free(listed);
}

static bool was_read(const struct listed_participant *listed)
{
    return listed->known->shown.token != 0;
}

static bool must_read(const struct listed_participant *listed)
{
    return !was_read(listed) && !listed->gone;
}

/* Replaces the participant, of which only the path was known. */
static int keep_read(struct listed_participant *listed, const struct uvzk__reply *reply)
{
    struct uvzk__known_participant *whole = uvzk__known_participant_new(
        listed->known->shown.path, reply->stat.czxid, reply->stat.ephemeral_owner,
        reply->data, reply->data_length);

    if (whole == NULL) {
        return UV_ENOMEM;
    }
    uvzk__free(listed->known);
    listed->known = whole;
    return 0;
}

static void read_next(struct node_read *read);

static void read_replied(struct uvzk__rpc *rpc, const struct uvzk__reply *reply)
{
    struct node_read *read = UVZK__CONTAINER_OF(rpc, struct node_read, rpc);
    struct participant_reads *reads = read->reads;
    int status = reply->status;

    uvzk__answered(reads->session, rpc, status, false);
    if (status == 0) {
        status = keep_read(&reads->listed[read->index], reply);
    } else if (status == UVZK_ENONODE) {
        reads->listed[read->index].gone = true;
        status = 0;
    }
    if (reads->status == 0) {
        reads->status = status;
    }
    reads->outstanding--;
    if (reads->status == 0) {
        read_next(read);
    }
    if (reads->outstanding == 0) {
        reads->done_cb(reads);
    }
}

/* Sends the read of the next unread one, if there is one. */
static void read_next(struct node_read *read)
{
    struct participant_reads *reads = read->reads;

    while (reads->next < reads->count && !must_read(&reads->listed[reads->next])) {
        reads->next++;
    }
    if (reads->next == reads->count) {
        return;
    }
    read->index = reads->next++;
    reads->outstanding++;
    uvzk__rpc_prepare(&read->rpc, UVZK__RPC_GET,
                      reads->listed[read->index].known->shown.path, read_replied);
    uvzk__submit(reads->session, &read->rpc);
}

/* done_cb runs when all are read; here, if none has to be read or `status` is set. */
static void reads_begin(struct participant_reads *reads)
{
    for (size_t i = 0; reads->status == 0 && i < READS_MAX; i++) {
        reads->at_a_time[i].reads = reads;
        read_next(&reads->at_a_time[i]);
    }
    if (reads->outstanding == 0) {
        reads->done_cb(reads);
    }
}

/* Collects those that were read, for a result of *count. They are borrowed. */
static void show_read(const struct listed_participant *listed, size_t listed_count,
                      const uvzk_election_participant_t **participants, size_t *count)
{
    *count = 0;
    for (size_t i = 0; i < listed_count; i++) {
        if (was_read(&listed[i])) {
            listed[i].known->shown.is_leader = *count == 0;
            participants[(*count)++] = &listed[i].known->shown;
        }
    }
}

/* ------------------------------------------------------------------------ once */

struct election_query {
    uvzk_req_t paths_request;
    struct uvzk__lock *lock; /* referenced: its close callback waits for this query */
    uvzk_req_t *handle;
    uvzk_req_cb cb;
    struct participant_reads reads;
};

static void election_query_tell(struct participant_reads *reads)
{
    struct election_query *query =
        UVZK__CONTAINER_OF(reads, struct election_query, reads);
    const uvzk_election_participant_t **participants =
        uvzk__calloc(reads->count + 1, sizeof(participants[0]));
    int status = reads->status == 0 && participants == NULL ? UV_ENOMEM : reads->status;
    uvzk_result_t result = uvzk__result_of_nothing();

    if (status == 0) {
        result.participants = participants;
        show_read(reads->listed, reads->count, participants, &result.count);
    }
    uvzk__lock_unref(query->lock);
    uvzk__req_end(query->handle, query->cb, status, &result);
    uvzk__free(participants);
    free_listed(reads->listed, reads->count);
    uvzk__free(query);
}

/* Copies the paths, which the callback only borrows. */
static int keep_paths(struct participant_reads *reads, const char *const *paths,
                      size_t count)
{
    reads->listed = uvzk__calloc(count + 1, sizeof(reads->listed[0]));
    if (reads->listed == NULL) {
        return UV_ENOMEM;
    }
    for (; reads->count < count; reads->count++) {
        struct uvzk__known_participant *known =
            uvzk__known_participant_new(paths[reads->count], 0, 0, NULL, 0);
        if (known == NULL) {
            return UV_ENOMEM;
        }
        reads->listed[reads->count].known = known;
    }
    return 0;
}

static void election_participants_listed(uvzk_req_t *request, int status)
{
    struct election_query *query =
        UVZK__CONTAINER_OF(request, struct election_query, paths_request);
    struct participant_reads *reads = &query->reads;

    reads->status =
        status == 0 ? keep_paths(reads, request->result->paths, request->result->count)
                    : status;
    if (reads->status == 0 && uvzk__session_port_is_closing(reads->session)) {
        reads->status = UVZK_ECLOSED; /* nothing may be sent */
    }
    reads_begin(reads);
}

static int election_participants_begin(struct uvzk__election *election,
                                       uvzk_req_t *handle, uvzk_req_cb cb)
{
    struct election_query *query = uvzk__calloc(1, sizeof(*query));

    if (query == NULL) {
        return UV_ENOMEM;
    }
    int status = uvzk_lock_participants(&election->lock, &query->paths_request,
                                        election_participants_listed);
    if (status != 0) {
        uvzk__free(query);
        return status;
    }
    /* No callback runs inside uvzk_lock_participants, so this is early enough. */
    query->lock = election->lock.impl;
    query->reads.session = election->session;
    query->reads.done_cb = election_query_tell;
    query->handle = handle;
    query->cb = cb;
    uvzk__lock_ref(query->lock);
    uvzk__req_begin(handle, query, NULL);
    return 0;
}

static int check_and_begin(uvzk_election_t *election_handle, uvzk_req_t *handle,
                           uvzk_req_cb cb)
{
    int status = election_handle == NULL ? uvzk__refuse(UV_EINVAL, "election is NULL")
                                         : uvzk__req_check(handle, cb);
    if (status != 0) {
        return status;
    }
    struct uvzk__election *election = election_handle->impl;
    if (election == NULL || uvzk__candidacy_is_closing(election)) {
        return uvzk__refuse(UVZK_ECLOSED,
                            "election is closing, or it is not initialised");
    }
    return election_participants_begin(election, handle, cb);
}

int uvzk_election_participants(uvzk_election_t *election_handle, uvzk_req_t *handle,
                               uvzk_req_cb cb)
{
    int status = check_and_begin(election_handle, handle, cb);

    return uvzk__req_begun(handle, uvzk__election_session(election_handle), status);
}

/* --------------------------------------------------------- again after each change */

struct election_view {
    struct uvzk__participants_view view;
    char *path;                     /* namespace included; owned */
    struct participant_reads reads; /* of all that were listed last, which it owns */
    bool reading;
    bool closed;       /* it is freed when the reads are over */
    size_t told_count; /* how many of them were told last */
};

static struct election_view *election_view_of(struct uvzk__participants_view *view)
{
    return UVZK__CONTAINER_OF(view, struct election_view, view);
}

static void election_view_free(struct uvzk__participants_view *view)
{
    struct election_view *election = election_view_of(view);

    free_listed(election->reads.listed, election->reads.count);
    uvzk__free(election->path);
    uvzk__free(election);
}

static void election_view_closed(struct uvzk__participants_view *view)
{
    struct election_view *election = election_view_of(view);

    election->closed = true;
    if (!election->reading) {
        election_view_free(view);
    }
}

/* Finds one that was listed before. Both lists are in the order of the places; *from is
 * where the search of the next one begins. NULL: it is new. */
static struct listed_participant *find_listed(const struct participant_reads *reads,
                                              size_t *from,
                                              const struct uvzk__participant *participant)
{
    int order;

    while (*from < reads->count &&
           uvzk__place_compare(reads->listed[*from].place, participant->place) < 0) {
        ++*from;
    }
    for (size_t i = *from; i < reads->count; i++) {
        struct listed_participant *listed = &reads->listed[i];
        order = uvzk__place_compare(listed->place, participant->place);
        if (order != 0) {
            return NULL;
        }
        if (strcmp(listed->known->shown.path, participant->path) == 0) {
            return listed;
        }
    }
    return NULL;
}

/* Fills the next list with those that stay, and with new ones. Returns how many; fewer than
 * count: out of memory. */
static size_t fill_next(struct participant_reads *reads, struct listed_participant *next,
                        const struct uvzk__participant *participants, size_t count)
{
    size_t from = 0;

    for (size_t i = 0; i < count; i++) {
        struct listed_participant *listed = find_listed(reads, &from, &participants[i]);
        if (listed != NULL) {
            listed->kept = true;
            next[i] = *listed;
            continue;
        }
        next[i].place = participants[i].place;
        next[i].known = uvzk__known_participant_new(participants[i].path, 0, 0, NULL, 0);
        if (next[i].known == NULL) {
            return i;
        }
    }
    return count;
}

/* Frees those of a list that are not kept in the other one. */
static void free_not_kept(struct listed_participant *listed, size_t count)
{
    for (size_t i = 0; i < count; i++) {
        if (!listed[i].kept) {
            uvzk__free(listed[i].known);
        }
    }
    uvzk__free(listed);
}

static void clear_kept(struct listed_participant *listed, size_t count)
{
    for (size_t i = 0; i < count; i++) {
        listed[i].kept = false;
    }
}

/* Replaces the list. What was read of those that stay is kept. Returns 0 or UV_ENOMEM: then
 * the list is as it was. */
static int listed_again(struct participant_reads *reads,
                        const struct uvzk__participant *participants, size_t count)
{
    struct listed_participant *next = uvzk__calloc(count + 1, sizeof(*next));

    if (next == NULL) {
        return UV_ENOMEM;
    }
    size_t filled = fill_next(reads, next, participants, count);
    if (filled < count) {
        free_not_kept(next, filled);
        clear_kept(reads->listed, reads->count);
        return UV_ENOMEM;
    }
    free_not_kept(reads->listed, reads->count);
    clear_kept(next, count);
    reads->listed = next;
    reads->count = count;
    return 0;
}

static int election_view_list(struct election_view *election)
{
    struct uvzk__participant *participants;
    size_t count;
    int status = uvzk__participants_view_gather(&election->view, &participants, &count);

    if (status == 0) {
        status = listed_again(&election->reads, participants, count);
    }
    uvzk__free(participants);
    return status;
}

/* Tells the user, if that is news. Returns 0 or UV_ENOMEM. */
static int election_view_tell(struct election_view *election)
{
    struct participant_reads *reads = &election->reads;
    uvzk_result_t result = uvzk__result_of_nothing();
    const uvzk_election_participant_t **participants =
        uvzk__calloc(reads->count + 1, sizeof(participants[0]));

    if (participants == NULL) {
        return UV_ENOMEM;
    }
    show_read(reads->listed, reads->count, participants, &result.count);
    result.participants = participants;
    bool news = election->view.told != 0 || election->told_count != result.count;
    for (size_t i = 0; i < reads->count; i++) {
        if (was_read(&reads->listed[i])) {
            news = news || !reads->listed[i].told;
            reads->listed[i].told = true;
        }
    }
    election->told_count = result.count;
    if (news) {
        uvzk__participants_view_tell(&election->view, 0, &result);
    }
    uvzk__free(participants);
    return 0;
}

static void election_view_read(struct participant_reads *reads)
{
    struct election_view *election =
        UVZK__CONTAINER_OF(reads, struct election_view, reads);

    election->reading = false;
    if (election->closed) {
        election_view_free(&election->view);
    } else {
        uvzk__participants_view_changed(&election->view);
    }
}

static bool all_are_read(const struct participant_reads *reads)
{
    size_t i = 0;

    while (i < reads->count && !must_read(&reads->listed[i])) {
        i++;
    }
    return i == reads->count;
}

/* The reads of the last listing come first, then the next listing. A read that failed is
 * repeated after a pause. */
static int election_view_update(struct uvzk__participants_view *view)
{
    struct election_view *election = election_view_of(view);
    struct participant_reads *reads = &election->reads;
    int status = election->reading ? UV_EAGAIN : reads->status;

    if (status != 0) {
        reads->status = 0;
        return status;
    }
    status = election_view_list(election);
    if (status != 0) {
        return status;
    }
    if (all_are_read(reads)) {
        return election_view_tell(election);
    }
    if (uvzk__may_send(view->session)) { /* else the next listing comes first */
        reads->next = 0;
        election->reading = true;
        reads_begin(reads);
    }
    return UV_EAGAIN;
}

static const struct uvzk__participants_view_kind kind_of_election = {
    .update = election_view_update,
    .closed = election_view_closed,
    .client_ended = election_view_free,
};

static int follow_check(const uvzk_client_t *client,
                        const uvzk_participants_view_t *handle, const char *path,
                        unsigned kind, uint64_t interval_ms, uvzk_participants_view_cb cb)
{
    int status = uvzk__participants_view_check(interval_ms, cb);

    if (status == 0) {
        status = uvzk__check_init(client, "view", handle,
                                  handle == NULL ? NULL : handle->impl, path);
    }
    return status != 0 || kind <= UVZK_ELECTION_SELECTOR
               ? status
               : uvzk__refuse(UV_EINVAL, "kind: there is no such kind");
}

int uvzk_participants_view_init_election(uvzk_client_t *client,
                                         uvzk_participants_view_t *handle,
                                         const char *path, unsigned kind,
                                         uint64_t interval_ms,
                                         uvzk_participants_view_cb cb)
{
    int status = follow_check(client, handle, path, kind, interval_ms, cb);

    if (status != 0) {
        return status;
    }
    struct uvzk__session *session = client->impl;
    struct election_view *election = uvzk__calloc(1, sizeof(*election));
    if (election == NULL) {
        return UV_ENOMEM;
    }
    election->path = uvzk__path_join(uvzk__namespace_of(session), path);
    if (election->path == NULL) {
        uvzk__free(election);
        return UV_ENOMEM;
    }
    const struct uvzk__participant_directory directory = {
        election->path, kind == UVZK_ELECTION_LATCH ? &uvzk__latches : &uvzk__exclusive};
    session = uvzk__home_of(session, election->path);
    election->reads.session = session;
    election->reads.done_cb = election_view_read;
    status = uvzk__participants_view_begin(&election->view, &kind_of_election, session,
                                           &directory, 1, handle, interval_ms, cb);
    if (status != 0) {
        election_view_free(&election->view);
    }
    return status;
}
