/* SPDX-License-Identifier: Apache-2.0 */
/* How a run of many_locks ends. First the mutexes are closed. Then znodes and watches on
 * the server are counted while the sessions are still alive, because the end of a session
 * would delete znodes that the library has forgotten. Then the clients are closed, and
 * the znodes are counted again. */
#include "leftovers.h"
#include "many_locks_run.h"

/* Runs in a thread of libuv's thread pool, because the functions of leftovers.h block. */
static void check_in_thread(uv_work_t *work)
{
    struct run *run = work->data;

    run->left_nodes = leftovers_nodes(run->options->hosts, run->result->base,
                                      run->options->locks, &run->check_error);
    if (run->phase == CHECKING_LIVE) {
        run->left_watches =
            leftovers_watches_settled(run->options->hosts, run->watches_before);
    }
}

static void finish(struct run *run)
{
    for (size_t n = 0; n < run->count; n++) {
        uint8_t state = run->contenders[n].state;
        run->result->unanswered += state != IDLE && state != ENDED;
    }
    run->phase = DONE;
    progress_end(&run->progress);
    uv_close((uv_handle_t *)&run->hold_timer, NULL);
    uv_close((uv_handle_t *)&run->watchdog, NULL);
    uv_close((uv_handle_t *)&run->interrupt, NULL);
}

static void take_stats(struct run *run)
{
    for (size_t c = 0; c < run->options->clients; c++) {
        uvzk_client_metrics_t stats;
        uvzk_client_metrics_init(&stats);
        uvzk_client_metrics(&run->clients[c], &stats);
        run->result->listings += stats.listings;
        run->result->proofs += stats.proofs;
        run->result->stats_contenders += stats.contenders;
        run->result->stats_watches += stats.watches;
    }
}

static void on_checked(uv_work_t *work, int status)
{
    struct run *run = work->data;
    struct many_locks_result *result = run->result;

    (void)status;
    if (run->phase == CHECKING_LIVE) {
        result->left_nodes = run->left_nodes;
        if (run->left_watches != LEFTOVERS_UNKNOWN) {
            /* Other programs may have removed watches since the first count. */
            result->left_watches = run->left_watches > run->watches_before
                                       ? run->left_watches - run->watches_before
                                       : 0;
        }
        take_stats(run);
    } else {
        result->left_nodes_closed = run->left_nodes;
    }
    if (run->check_error != NULL) {
        run_fail(run, "%s", run->check_error);
    }
    if (run->phase == CHECKING_LIVE) {
        ending_close_clients(run);
    } else if (run->phase == CHECKING_CLOSED) {
        finish(run);
    }
}

static void check(struct run *run, enum phase phase)
{
    run_begin_phase(run, phase);
    run->check.data = run;
    int rc = uv_queue_work(&run->loop, &run->check, check_in_thread, on_checked);
    if (rc < 0) {
        run->check_error = uv_strerror(rc);
        on_checked(&run->check, rc);
    }
}

static void on_client_closed(uvzk_client_t *client)
{
    struct run *run = client->data;

    run->events++;
    if (--run->clients_open > 0) {
        return;
    }
    if (run->result->failure[0] != '\0' || run->result->interrupted) {
        finish(run);
    } else {
        check(run, CHECKING_CLOSED);
    }
}

void ending_close_clients(struct run *run)
{
    run_begin_phase(run, CLOSING_CLIENTS);
    for (size_t c = 0; c < run->clients_started; c++) {
        uvzk_client_close(&run->clients[c], on_client_closed);
    }
    if (run->clients_started == 0) {
        finish(run);
    }
}

static void on_mutex_closed(uvzk_mutex_t *mutex)
{
    struct run *run = mutex->data;

    run->events++;
    if (--run->mutexes_open == 0 && run->phase == CLOSING_MUTEXES) {
        check(run, CHECKING_LIVE);
    }
}

void ending_begin(struct run *run)
{
    size_t count = run->mutexes_open;

    run_begin_phase(run, CLOSING_MUTEXES);
    for (size_t n = 0; n < count; n++) {
        uvzk_lock_close(&run->mutexes[n], on_mutex_closed);
    }
}
