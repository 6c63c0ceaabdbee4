/* SPDX-License-Identifier: Apache-2.0 */
/* The participants of elections. Each worker of an election is one: it stands, leads for a
 * while, resigns, pauses and stands again. workers.c writes its reigns down as holds. A reign
 * lasts from leader_cb to deposed_cb, or to the end of its validity before that. */
#include "client.h"

static void on_leader(uvzk_election_t *election, int64_t token, uint64_t valid_until)
{
    (void)token;
    (void)valid_until;
    worker_granted(election->data, uvzk_election_hold(election));
}

static void on_deposed(uvzk_election_t *election, int reason)
{
    if (reason == 0) {
        worker_over(election->data);
    } else {
        worker_lost(election->data, reason);
    }
}

/* After a refusal that passes, the participant is queued again by itself. */
static void on_refused(uvzk_election_t *election, int status)
{
    struct worker *worker = election->data;
    if (!uvzk_err_is_retriable(status)) {
        worker_refused(worker, "", status);
    } else {
        say("refused %s %s %s %llu", worker->id, worker->lock->name,
            uvzk_err_name(status), (unsigned long long)now_ns());
    }
}

/* The leaders that a participant is told of are never older than those before. */
static void on_changed(uvzk_election_t *election,
                       const uvzk_election_participant_t *leader)
{
    struct worker *worker = election->data;
    if (leader == NULL) {
        return;
    }
    if (leader->token < worker->leader) {
        say("older %s %s %lld %lld", worker->id, worker->lock->name,
            (long long)leader->token, (long long)worker->leader);
    }
    worker->leader = leader->token;
}

static int become_participant(struct worker *worker)
{
    uvzk_election_options_t options;
    uvzk_election_options_init(&options);
    options.kind = worker->lock->election_kind;
    options.manual_requeue = 1;
    options.id = worker->id;
    options.leader_cb = on_leader;
    options.deposed_cb = on_deposed;
    options.changed_cb = on_changed;
    options.error_cb = on_refused;
    worker->election.data = worker;
    int status = uvzk_election_init(&chaos.client, &worker->election, worker->lock->path,
                                    &options);
    worker->is_participant = status == 0;
    return status;
}

int election_stand(struct worker *worker)
{
    return worker->is_participant ? uvzk_election_requeue(&worker->election)
                                  : become_participant(worker);
}
