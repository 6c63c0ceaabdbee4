/* SPDX-License-Identifier: Apache-2.0 */
/* Workers: each acquires a lock, holds it for a while, releases it, and acquires it
 * again; or it stands for election, which elections.c does. Each hold is printed with its
 * begin and its end. The end is the call of release, or the last moment at which
 * uvzk_hold_is_valid() would have been true. A worker whose hold ends while the client is
 * suspended does not release, because then the validity decides. uvzk_client.c begins the
 * workers. */
#include "client.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "fenced_resource.h"

#define ONE_IN 200
#define NS_IN_MS 1000000U

static void acquire(struct worker *worker);

static void on_turn(uv_timer_t *timer)
{
    acquire(timer->data);
}

static void pause_for(struct worker *worker, uint32_t ms)
{
    worker->busy = false;
    if (chaos.closing) {
        return;
    }
    if (!chaos.resting) {
        uv_timer_start(&worker->timer, on_turn, 1 + (uint64_t)rand() % (ms + 1), 0);
    } else {
        tell_resting();
    }
}

static void write_down(const struct worker *worker, const char *what, uint64_t until_ns,
                       const char *end)
{
    say("%s %s %s %llu %llu %lld %u %llx %u %s%s", what, worker->id, worker->lock->name,
        (unsigned long long)worker->from_ns, (unsigned long long)until_ns,
        (long long)worker->token, worker->cohort, (unsigned long long)worker->session_id,
        worker->leases == 0 ? 1 : worker->leases, end, worker->paths);
}

static void write_down_end(struct worker *worker, uint64_t until_ns, const char *end)
{
    write_down(worker, "held", until_ns, end);
    worker->holds = false;
}

static void worker_sample(struct worker *worker)
{
    uint64_t until = worker->holds ? uvzk_hold_valid_until(worker->hold) : 0;
    if (until != 0) {
        worker->valid_until_ms = until;
    }
}

/* Returns the latest moment at which the hold was known to be valid: the last validity
 * that was read, or now, whichever is earlier. */
static uint64_t end_of_validity(const struct worker *worker, uint64_t now)
{
    uint64_t told = worker->valid_until_ms;
    return told > now / NS_IN_MS ? now : told * NS_IN_MS;
}

/* ---------------------------------------------------------------------------- the end */

static void write_down_refusal(const struct worker *worker, const char *what, int status)
{
    say("refused %s %s %s%s %llu", worker->id, worker->lock->name, what,
        uvzk_err_name(status), (unsigned long long)now_ns());
}

static void on_released(uvzk_hold_t *hold, int status)
{
    struct worker *worker = hold->data;
    worker->releases = false;
    if (status < 0 && status != UVZK_ELOST && status != UVZK_EEXPIRED) {
        write_down_refusal(worker, "release:", status);
    }
    pause_for(worker, worker->pause_ms);
}

void worker_lost(struct worker *worker, int reason)
{
    uv_timer_stop(&worker->timer);
    write_down_end(worker, end_of_validity(worker, now_ns()), uvzk_err_name(reason));
    pause_for(worker, worker->pause_ms);
}

static void on_lost(uvzk_hold_t *hold, int reason)
{
    worker_lost(hold->data, reason);
}

/* A leader has resigned, and its znode is deleted from now on. */
void worker_over(struct worker *worker)
{
    worker->releases = true;
    write_down_end(worker, end_of_validity(worker, now_ns()), "released");
    pause_for(worker, worker->pause_ms);
}

static void release(struct worker *worker, uint64_t now)
{
    worker->releases = true;
    int status = uvzk_hold_release(worker->hold, on_released);
    if (status == 0) {
        write_down_end(worker, now, "released");
    } else {
        worker->releases = false;
    }
}

static void on_time(uv_timer_t *timer)
{
    struct worker *worker = timer->data;
    uint64_t now = now_ns();
    if (uvzk_client_state(&chaos.client) == UVZK_STATE_SUSPENDED && !chaos.closing) {
        uv_timer_start(timer, on_time, worker->hold_ms + 1, 0);
        return;
    }
    if (worker->lock->is_election) {
        worker_sample(worker);
        uvzk_election_resign(&worker->election); /* an error: it is about to be deposed */
        return;
    }
    /* The hold has become invalid before this timer ran. */
    if (uvzk_hold_is_valid(worker->hold) == 0) {
        now = end_of_validity(worker, now);
    }
    release(worker, now);
}

/* -------------------------------------------------------------------------- the grant */

static void note_paths(struct worker *worker)
{
    size_t length = 0;
    worker->path_count = uvzk_hold_node_count(worker->hold);
    worker->paths[0] = '\0';
    for (uint32_t i = 0; i < worker->path_count; i++) {
        const char *path = uvzk_hold_node_path(worker->hold, i);
        if (path != NULL && length < sizeof(worker->paths) - 1) {
            length += (size_t)snprintf(worker->paths + length,
                                       sizeof(worker->paths) - length, " %s", path);
        }
    }
}

/* Passes the token to a fenced resource, as a user's storage would do. If it is refused,
 * the hold must have become invalid. */
static void show_token(struct worker *worker)
{
    char store[PATH_MAX_TEXT + WORD_MAX];
    int64_t token = worker->token;
    if (worker->lock->fencing == FENCING_NONE ||
        (worker->lock->fencing == FENCING_OF_COHORT && worker->cohort > 1)) {
        return;
    }
    snprintf(store, sizeof(store), "%s/%s", chaos.fences, worker->lock->path);
    for (char *at = store + strlen(chaos.fences) + 1; *at != '\0'; at++) {
        *at = *at == '/' ? '_' : *at;
    }
    if (!fenced_resource_accept(store, token) && uvzk_hold_is_valid(worker->hold) != 0) {
        say("fell %s %s %lld", worker->id, worker->lock->name, (long long)token);
    }
}

struct search {
    const uvzk_hold_t *hold;
    uint32_t session;
};

static void on_entry(const uvzk_client_t *client, const uvzk_hold_entry_t *entry,
                     void *context)
{
    struct search *search = context;
    (void)client;
    if (entry->hold == search->hold) {
        search->session = entry->session;
    }
}

/* Returns the session of a hold. With several sessions it walks over all holds, which are
 * few. */
static uint32_t session_of(const uvzk_hold_t *hold)
{
    struct search search = {hold, 0};
    if (chaos.session_ids[1] != 0) {
        uvzk_client_each_hold(&chaos.client, on_entry, &search);
    }
    return search.session;
}

void worker_granted(struct worker *worker, uvzk_hold_t *hold)
{
    worker->releases = false;
    worker->holds = true;
    worker->hold = hold;
    worker->from_ns = now_ns();
    worker->valid_until_ms = uvzk_hold_valid_until(hold);
    worker->token = uvzk_hold_token(hold);
    worker->cohort = uvzk_hold_cohort(hold);
    worker->session_id = chaos.session_ids[session_of(hold)];
    note_paths(worker);
    write_down(worker, "granted", 0, "-");
    show_token(worker);
    bool is_long = worker->long_ms > 0 && rand() % ONE_IN == 0;
    uv_timer_start(&worker->timer, on_time,
                   is_long ? (uint64_t)rand() % worker->long_ms : worker->hold_ms, 0);
}

void worker_refused(struct worker *worker, const char *what, int status)
{
    write_down_refusal(worker, what, status);
    pause_for(worker, worker->pause_ms + 20);
}

static void on_acquired(uvzk_hold_t *hold, int status)
{
    if (status < 0) {
        worker_refused(hold->data, "", status);
    } else {
        worker_granted(hold->data, hold);
    }
}

static int acquire_lock(struct worker *worker)
{
    uvzk_acquire_options_t options;
    uvzk_acquire_options_init(&options);
    options.timeout_ms = worker->patience_ms;
    options.leases = worker->leases;
    worker->acquired.data = worker;
    return uvzk_lock_acquire(worker->lock->used, &worker->acquired, &options, on_acquired,
                             on_lost);
}

static void acquire(struct worker *worker)
{
    worker->busy = true;
    int status =
        worker->lock->is_election ? election_stand(worker) : acquire_lock(worker);
    if (status < 0) {
        worker_refused(worker, "at_once:", status);
    }
}

/* ------------------------------------------------------------------------ all of them */

void worker_begin(struct worker *worker)
{
    uv_timer_init(&chaos.loop, &worker->timer);
    worker->timer.data = worker;
    pause_for(worker, worker->pause_ms);
}

void workers_sample(void)
{
    for (size_t i = 0; i < chaos.worker_count; i++) {
        worker_sample(&chaos.workers[i]);
    }
}

void workers_go(void)
{
    for (size_t i = 0; i < chaos.worker_count; i++) {
        if (!chaos.workers[i].busy) {
            pause_for(&chaos.workers[i], chaos.workers[i].pause_ms);
        }
    }
}

bool workers_rest(void)
{
    for (size_t i = 0; i < chaos.worker_count; i++) {
        if (chaos.workers[i].busy) {
            return false;
        }
    }
    return true;
}
