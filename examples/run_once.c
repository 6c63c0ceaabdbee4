/* SPDX-License-Identifier: Apache-2.0 */
/* run_once [HOSTS]: a job that runs once for each key, here for one day. Two hosts start it,
 * one a little later than the other. A mutex keeps them apart; a record, which is written
 * only if the lock is still held, tells the later one that the day's job is done.
 *
 *   first   holds the lock, finds no record, runs the job, and records that;
 *   second  holds the lock after it, and finds the record.
 *
 * A host that crashes or loses its lock after the job and before the record leaves none:
 * the job runs again. A program that must never run it twice records the key before the
 * job, and loses a run in such a case. No lock can decide between the two. */
#include <stdio.h>
#include <string.h>
#include <uv.h>
#include <uvzk.h>

#define LOCK "/examples/run_once"
#define RECORD LOCK ".2026-11-29" /* beside the lock: its znodes come and go */

static uvzk_client_t client;
static uvzk_mutex_t mutex;
static uvzk_hold_t first, second; /* must be all zeros */
static uvzk_req_t request;
static int jobs; /* how often the job was run */

static const char *name_of(const uvzk_hold_t *hold)
{
    return hold == &first ? "first" : "second";
}

static void on_granted(uvzk_hold_t *hold, int status);

static void on_lost(uvzk_hold_t *hold, int reason)
{
    printf("%s: lost, %s\n", name_of(hold), uvzk_err_name(reason));
    uvzk_client_close(&client, NULL);
}

static void on_released(uvzk_hold_t *hold, int status)
{
    if (status == 0 && hold == &first) {
        uvzk_lock_acquire(&mutex, &second, NULL, on_granted, on_lost);
    } else {
        uvzk_client_close(&client, NULL);
    }
}

/* A status other than 0 also means that the lock is not held any more, or that somebody
 * else has recorded the key. After UVZK_ECONNLOSS the record has to be read. */
static void on_written(uvzk_req_t *req, int status)
{
    uvzk_hold_t *hold = req->data;

    printf("%s: %s\n", name_of(hold), status == 0 ? "recorded" : uvzk_strerror(status));
    uvzk_hold_release(hold, on_released);
}

/* The example can be run again tomorrow, so it leaves nothing behind. */
static void on_forgotten(uvzk_req_t *req, int status)
{
    (void)status;
    uvzk_hold_release(req->data, on_released);
}

static void write_op(uvzk_hold_t *hold, const uvzk_write_op_t *op, uvzk_req_cb cb)
{
    int rc = uvzk_hold_write(hold, &request, op, 1, cb);

    if (rc < 0) {
        fprintf(stderr, "%s: %s\n", name_of(hold), uvzk_strerror(rc));
        uvzk_client_close(&client, NULL);
    }
}

/* The record is as new as the hold: who held the lock before has written it before. */
static void on_read(uvzk_req_t *req, int status)
{
    uvzk_hold_t *hold = req->data;
    const char *by = name_of(hold);
    const uvzk_write_op_t record = {UVZK_WRITE_CREATE, -1, RECORD, by, strlen(by)};
    const uvzk_write_op_t forget = {UVZK_WRITE_DELETE, -1, RECORD, NULL, 0};

    if (status == UVZK_ENONODE) {
        printf("%s: runs the job\n", by);
        jobs++;
        write_op(hold, &record, on_written);
    } else if (status == 0) {
        printf("%s: it is done, by %.*s\n", by, (int)req->result->length,
               (const char *)req->result->data);
        write_op(hold, &forget, on_forgotten);
    } else {
        fprintf(stderr, "%s: %s\n", by, uvzk_strerror(status));
        uvzk_hold_release(hold, on_released);
    }
}

static void on_granted(uvzk_hold_t *hold, int status)
{
    if (status == 0) {
        request.data = hold;
        status = uvzk_client_read(&client, &request, RECORD, on_read);
    }
    if (status < 0) {
        fprintf(stderr, "%s: %s\n", name_of(hold), uvzk_strerror(status));
        uvzk_client_close(&client, NULL);
    }
}

int main(int argc, char **argv)
{
    uv_loop_t *loop = uv_default_loop();
    uvzk_client_options_t options;

    uvzk_client_options_init(&options);
    options.hosts = argc > 1 ? argv[1] : "127.0.0.1:2181";
    int rc = uvzk_client_init(loop, &client, &options);
    if (rc < 0) {
        fprintf(stderr, "%s: %s\n", options.hosts, uvzk_strerror(rc));
        return 1;
    }
    if ((rc = uvzk_client_start(&client)) < 0 ||
        (rc = uvzk_mutex_init(&client, &mutex, LOCK)) < 0 ||
        (rc = uvzk_lock_acquire(&mutex, &first, NULL, on_granted, on_lost)) < 0) {
        fprintf(stderr, "%s\n", uvzk_strerror(rc));
        uvzk_client_close(&client, NULL);
    }
    uv_run(loop, UV_RUN_DEFAULT);
    return uv_loop_close(loop) == 0 && jobs == 1 ? 0 : 1;
}
