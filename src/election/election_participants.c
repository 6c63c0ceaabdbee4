/* uvzk_election_participants: who takes part in an election, of any client and library.
 * The znodes come from uvzk_lock_participants, in the order of the queue; then each is
 * read for its id, several at a time. As in Curator, a znode that has gone meanwhile is
 * left out, and the first of those that were read is the leader.
 *
 * The result is only information: the server may lag behind others, and a znode may be
 * created or deleted after the read. All requests go to one session, whose replies come
 * in their order: no read shows less than the listing did. */
#include "base/refusal.h"
#include "claim/lock.h"
#include "election/candidacy.h"
#include "election/election.h"
#include "election/known_participant.h"
#include "engine/req.h"
#include "engine/submission.h"

#define READS_MAX 32U /* at a time, so that no session is flooded */

struct election_query;

struct node_read {
    struct uvzk__rpc rpc;
    struct election_query *query;
    size_t index; /* of the participant that is being read */
};

struct election_query {
    uvzk_req_t paths_request;
    struct uvzk__lock *lock; /* referenced: its close callback waits for this query */
    struct uvzk__session *session;
    uvzk_req_t *handle;
    uvzk_req_cb cb;
    /* All of the participants at first have a path only. */
    struct uvzk__known_participant **known;
    size_t count;
    size_t next;        /* index of the participant that is read next */
    size_t outstanding; /* reads that have no reply yet */
    int status;         /* the first failure; 0: none */
    struct node_read reads[READS_MAX];
};

static void free_query(struct election_query *query)
{
    for (size_t i = 0; i < query->count; i++) {
        uvzk__free(query->known[i]);
    }
    uvzk__free(query->known);
    uvzk__free(query);
}

/* Collects those that were read. They are borrowed from the query. */
static size_t
election_participants_collect(const struct election_query *query,
                              const uvzk_election_participant_t **participants)
{
    size_t count = 0;

    for (size_t i = 0; i < query->count; i++) {
        struct uvzk__known_participant *known = query->known[i];
        if (known != NULL && known->shown.token != 0) {
            known->shown.is_leader = count == 0;
            participants[count++] = &known->shown;
        }
    }
    return count;
}

static void election_participants_tell(struct election_query *query)
{
    const uvzk_election_participant_t **participants =
        uvzk__calloc(query->count + 1, sizeof(participants[0]));
    int status = query->status == 0 && participants == NULL ? UV_ENOMEM : query->status;
    uvzk_result_t result = uvzk__result_of_nothing();

    if (status == 0) {
        result.participants = participants;
        result.count = election_participants_collect(query, participants);
    }
    uvzk__lock_unref(query->lock);
    uvzk__req_end(query->handle, query->cb, status, &result);
    uvzk__free(participants);
    free_query(query);
}

static void send_read(struct node_read *read);

/* Replaces the participant, of which only the path was known. */
static int election_participants_keep(struct uvzk__known_participant **known,
                                      const struct uvzk__reply *reply)
{
    struct uvzk__known_participant *whole = uvzk__known_participant_new(
        (*known)->shown.path, reply->stat.czxid, reply->stat.ephemeral_owner, reply->data,
        reply->data_length);

    if (whole == NULL) {
        return UV_ENOMEM;
    }
    uvzk__free(*known);
    *known = whole;
    return 0;
}

static void read_replied(struct uvzk__rpc *rpc, const struct uvzk__reply *reply)
{
    struct node_read *read = UVZK__CONTAINER_OF(rpc, struct node_read, rpc);
    struct election_query *query = read->query;
    int status = reply->status;

    uvzk__answered(query->session, rpc, status, false);
    if (status == 0) {
        status = election_participants_keep(&query->known[read->index], reply);
    } else if (status == UVZK_ENONODE) {
        status = 0; /* it has left */
    }
    if (query->status == 0) {
        query->status = status;
    }
    query->outstanding--;
    if (query->status == 0 && query->next < query->count) {
        send_read(read);
    }
    if (query->outstanding == 0) {
        election_participants_tell(query);
    }
}

static void send_read(struct node_read *read)
{
    struct election_query *query = read->query;

    read->index = query->next++;
    query->outstanding++;
    uvzk__rpc_prepare(&read->rpc, UVZK__RPC_GET, query->known[read->index]->shown.path,
                      read_replied);
    uvzk__submit(query->session, &read->rpc);
}

/* Copies the paths, which the callback only borrows. */
static int keep_paths(struct election_query *query, const char *const *paths,
                      size_t count)
{
    query->known = uvzk__calloc(count + 1, sizeof(query->known[0]));
    if (query->known == NULL) {
        return UV_ENOMEM;
    }
    for (; query->count < count; query->count++) {
        struct uvzk__known_participant *known =
            uvzk__known_participant_new(paths[query->count], 0, 0, NULL, 0);
        if (known == NULL) {
            return UV_ENOMEM;
        }
        query->known[query->count] = known;
    }
    return 0;
}

static void election_participants_listed(uvzk_req_t *request, int status)
{
    const char *const *paths = request->result->paths;
    size_t count = request->result->count;
    struct election_query *query =
        UVZK__CONTAINER_OF(request, struct election_query, paths_request);

    query->status = status == 0 ? keep_paths(query, paths, count) : status;
    if (query->status == 0 && uvzk__session_port_is_closing(query->session)) {
        query->status = UVZK_ECLOSED; /* nothing may be sent */
    }
    for (size_t i = 0; query->status == 0 && i < READS_MAX && query->next < query->count;
         i++) {
        query->reads[i].query = query;
        send_read(&query->reads[i]);
    }
    if (query->outstanding == 0) {
        election_participants_tell(query);
    }
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
    query->session = election->session;
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
