/* SPDX-License-Identifier: Apache-2.0 */
/* Decides whether the job of a key runs, and records its run (keyed_run.h).
 *
 *   read_time --> read_list --> read_record --> settle() --> decided, or recorded
 *                     ^                            |
 *                     |                            v
 *                     '--- the outcome is ---- write_record
 *                          not known, or refused
 *
 * What follows is always decided from what the servers show: after a request whose outcome
 * is not known, the list and the record are read again. A record with the token of our own
 * hold is ours. The readings are as new as the hold, because the session that reads them
 * has created the znode of the hold, and has seen the holds before it end. */
#include "keyed_run.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* How the operations of a write are numbered. */
enum { OP_LIST, OP_RECORD, OP_DROPPED, OPS_MAX };

int keyed_run_init(struct keyed_run *run, uvzk_client_t *client)
{
    run->client = client;
    run->request.data = run->time_request.data = run;
    if (run->options.key != NULL) {
        snprintf(run->key, sizeof(run->key), "%s", run->options.key);
    }
    if (asprintf(&run->runs_path, "%s.runs", run->options.path) < 0) {
        run->runs_path = NULL;
        return UV_ENOMEM;
    }
    return 0;
}

void keyed_run_free(struct keyed_run *run)
{
    free(run->first_node);
    free(run->runs_path);
    free(run->list_node);
    free(run->record_node);
    run->first_node = run->runs_path = run->list_node = run->record_node = NULL;
}

/* ---------------------------------------------------------------- the end of a step */

static void decided(struct keyed_run *run, enum run_decision decision)
{
    run->decided_cb(run, 0, decision);
}

static void keyed_run_fail(struct keyed_run *run, int status)
{
    if (run->is_recording) {
        run->recorded_cb(run, status);
    } else {
        run->decided_cb(run, status, RUN_NOW);
    }
}

static void written(struct keyed_run *run)
{
    if (run->is_recording) {
        run->recorded_cb(run, 0);
    } else {
        decided(run, RUN_NOW);
    }
}

static bool may_pass(int status)
{
    return status == UVZK_ECONNLOSS || status == UVZK_ENOTSENT ||
           status == UVZK_ETHROTTLED;
}

static void pause_before(struct keyed_run *run, void (*next)(struct keyed_run *))
{
    run->next = next;
    run->pause_cb(run);
}

static void failed(struct keyed_run *run, int status, void (*again)(struct keyed_run *))
{
    if (may_pass(status)) {
        pause_before(run, again);
    } else {
        keyed_run_fail(run, status);
    }
}

void keyed_run_resume(struct keyed_run *run)
{
    run->next(run);
}

/* ------------------------------------------------------------------------- writing */

static void read_list(struct keyed_run *run);

/* The record of the key that leaves the list may have been deleted by hand, or have got
 * children. It is left alone then. */
static void on_written(uvzk_req_t *request, int status)
{
    struct keyed_run *run = request->data;
    size_t refused = request->result->failed_op;

    if (status == 0) {
        written(run);
    } else if (refused == OP_DROPPED &&
               (status == UVZK_ENONODE || status == UVZK_ENOTEMPTY)) {
        run->keeps_dropped = true;
        read_list(run);
    } else if (status == UVZK_ENODEEXISTS || status == UVZK_ENONODE) {
        pause_before(run, read_list); /* somebody else has changed it */
    } else {
        failed(run, status, read_list);
    }
}

static void send_ops(struct keyed_run *run, const uvzk_write_op_t *ops, size_t count)
{
    int status = uvzk_hold_write(run->hold, &run->request, ops, count, on_written);

    if (status < 0) {
        keyed_run_fail(run, status);
    }
}

/* The record, the list with its key, and without the key that has to leave it. */
static void write_new(struct keyed_run *run, const char *path, const char *record,
                      size_t length)
{
    struct run_keys keys = run->keys;
    char text[RUN_KEYS_SIZE], dropped[RUN_KEY_SIZE], *dropped_path = NULL;

    run_keys_add(&keys, run->key, dropped);
    size_t text_length = run_keys_write(&keys, text);
    if (asprintf(&dropped_path, "%s/%s", run->runs_path, dropped) < 0) {
        keyed_run_fail(run, UV_ENOMEM);
        return;
    }
    const uvzk_write_op_t ops[OPS_MAX] = {
        [OP_LIST] = {run->has_list ? UVZK_WRITE_SET : UVZK_WRITE_CREATE, -1,
                     run->runs_path, text, text_length},
        [OP_RECORD] = {UVZK_WRITE_CREATE, -1, path, record, length},
        [OP_DROPPED] = {UVZK_WRITE_DELETE, -1, dropped_path, NULL, 0}};
    bool drops = dropped[0] != '\0' && !run->keeps_dropped;
    send_ops(run, ops, drops ? OPS_MAX : OP_DROPPED);
    free(dropped_path);
}

/* has_record: ours, which is written again with the end of the run. */
static void write_record(struct keyed_run *run, bool has_record)
{
    size_t length = 0;
    char *record = run_record_write(&run->record, &length), *path = NULL;

    if (record == NULL || asprintf(&path, "%s/%s", run->runs_path, run->key) < 0) {
        free(record);
        keyed_run_fail(run, UV_ENOMEM);
        return;
    }
    if (has_record) {
        const uvzk_write_op_t op = {UVZK_WRITE_SET, -1, path, record, length};
        send_ops(run, &op, 1);
    } else {
        write_new(run, path, record, length);
    }
    free(path);
    free(record);
}

/* ------------------------------------------------------------------------- deciding */

/* There is no record of the key. */
static void settle_missing(struct keyed_run *run)
{
    enum run_decision decision = run_decide(&run->keys, run->key, false);

    if (run->is_recording && decision != RUN_NOW) {
        keyed_run_fail(run, UVZK_EDATA); /* somebody else has written the list */
    } else if (decision != RUN_NOW || !(run->is_recording || run->options.at_most_once)) {
        decided(run, decision);
    } else {
        write_record(run, false);
    }
}

static void settle_found(struct keyed_run *run, const struct run_record *found)
{
    bool is_ours = found->token == run->record.token;

    if (!run->is_recording) {
        /* Ours: the reply to our write was lost. */
        decided(run, is_ours && run->options.at_most_once
                         ? RUN_NOW
                         : run_decide(&run->keys, run->key, true));
    } else if (!is_ours) {
        keyed_run_fail(run, UVZK_ENODEEXISTS);
    } else if (found->has_ended) {
        written(run);
    } else {
        write_record(run, true);
    }
}

static void read_record(struct keyed_run *run);

static void on_record(uvzk_req_t *request, int status)
{
    struct keyed_run *run = request->data;
    struct run_record found;

    if (status == 0) {
        /* Something else than a record has no token, and so it is not ours. */
        (void)run_record_read(&found, request->result->data, request->result->length);
        settle_found(run, &found);
    } else if (status == UVZK_ENONODE) {
        settle_missing(run);
    } else {
        failed(run, status, read_record);
    }
}

static void read_record(struct keyed_run *run)
{
    int status =
        uvzk_client_read(run->client, &run->request, run->record_node, on_record);

    if (status < 0) {
        keyed_run_fail(run, status);
    }
}

static void on_list(uvzk_req_t *request, int status)
{
    struct keyed_run *run = request->data;

    run->has_list = status == 0;
    if (status == UVZK_ENONODE) {
        run->keys.count = 0;
        settle_missing(run);
    } else if (status < 0) {
        failed(run, status, read_list);
    } else if (!run_keys_read(&run->keys, request->result->data,
                              request->result->length)) {
        keyed_run_fail(run, UVZK_EDATA);
    } else {
        read_record(run);
    }
}

static void read_list(struct keyed_run *run)
{
    int status = uvzk_client_read(run->client, &run->request, run->list_node, on_list);

    if (status < 0) {
        keyed_run_fail(run, status);
    }
}

/* --------------------------------------------------------------- when it has begun */

static void take_time(struct keyed_run *run, const uvzk_stat_t *stat)
{
    /* Both requests for the time may be under way. */
    if (run->key[0] != '\0') {
        return;
    }
    run_key_of_time(&run->options.slots, stat->created_ms, run->key);
    if (run->known_cb != NULL) {
        run->known_cb(run);
    }
}

static void on_queued_time(uvzk_req_t *request, int status)
{
    if (status == 0) {
        take_time(request->data, request->result->stat);
    }
}

void keyed_run_queued(struct keyed_run *run, const uvzk_hold_t *hold)
{
    uvzk_wait_info_t wait;

    uvzk_wait_info_init(&wait);
    if (run->key[0] != '\0' || run->first_node != NULL ||
        uvzk_hold_wait_info(hold, &wait) < 0 || wait.node_path == NULL) {
        return;
    }
    run->first_node = strdup(wait.node_path);
    /* If it fails, the time is asked for again when the lock is held. */
    (void)uvzk_client_read(run->client, &run->time_request, wait.node_path,
                           on_queued_time);
}

bool keyed_run_may_queue_again(const struct keyed_run *run)
{
    return run->key[0] != '\0';
}

/* ---------------------------------------------------------------------- when it is held */

/* PATH.runs stands beside the directory of the hold's znode. */
static int name_nodes(struct keyed_run *run, const char *hold_path)
{
    int directory = (int)(strrchr(hold_path, '/') - hold_path);

    free(run->list_node);
    free(run->record_node);
    run->list_node = run->record_node = NULL;
    if (asprintf(&run->list_node, "%.*s.runs", directory, hold_path) < 0) {
        run->list_node = NULL;
        return UV_ENOMEM;
    }
    if (asprintf(&run->record_node, "%s/%s", run->list_node, run->key) < 0) {
        run->record_node = NULL;
        return UV_ENOMEM;
    }
    return 0;
}

static void begin_reading(struct keyed_run *run)
{
    const char *hold_path = uvzk_hold_path(run->hold);
    int status = hold_path == NULL ? UVZK_ENOTHELD : name_nodes(run, hold_path);

    if (status < 0) {
        keyed_run_fail(run, status);
    } else {
        read_list(run);
    }
}

static void read_time(struct keyed_run *run);

static void on_time(uvzk_req_t *request, int status)
{
    struct keyed_run *run = request->data;

    if (status < 0) {
        failed(run, status, read_time);
    } else {
        take_time(run, request->result->stat);
        begin_reading(run);
    }
}

static void read_time(struct keyed_run *run)
{
    const char *hold_path = uvzk_hold_path(run->hold);
    int status = hold_path == NULL ? UVZK_ENOTHELD : 0;

    /* Another client has deleted the first znode before its time was known. */
    if (status == 0 && run->first_node != NULL &&
        strcmp(run->first_node, hold_path) != 0) {
        status = UVZK_EDELETED;
    }
    if (status == 0) {
        status = uvzk_client_read(run->client, &run->request, hold_path, on_time);
    }
    if (status < 0) {
        keyed_run_fail(run, status);
    }
}

void keyed_run_decide(struct keyed_run *run, uvzk_hold_t *hold,
                      const struct run_record *record)
{
    run->hold = hold;
    run->is_recording = false;
    run->record = *record;
    run->record.token = uvzk_hold_token(hold);
    if (run->key[0] == '\0') {
        read_time(run);
    } else {
        begin_reading(run);
    }
}

void keyed_run_record(struct keyed_run *run, const struct run_record *record)
{
    int64_t token = run->record.token;

    run->is_recording = true;
    run->record = *record;
    run->record.token = token;
    read_list(run);
}
