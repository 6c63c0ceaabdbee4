/* SPDX-License-Identifier: Apache-2.0 */
/* shared_count [HOSTS]: a number that all clients share, and a semaphore that has that
 * many leases.
 *
 * There are two clients, as if in two processes. The operator watches the number of
 * workers that are allowed, and changes it. The other client acquires a lease for each
 * worker, and is granted more leases as soon as the number rises. A Java program's
 * SharedCount on the same path is the same number. */
#include <inttypes.h>
#include <stdbool.h>
#include <stdio.h>
#include <uv.h>
#include <uvzk.h>

#define COUNT "/examples_workers"
enum { WORKERS = 3 };

static struct {
    uvzk_client_t client;
    uvzk_shared_count_t limit;
    uvzk_req_t set;
    bool set_answered;
    bool sees_all; /* it has been told that all workers are allowed */
} operator;

static struct {
    uvzk_client_t client;
    uvzk_shared_count_t limit;
    uvzk_semaphore_t seats;
    uvzk_hold_t workers[WORKERS];
    uvzk_req_t removal;
    int at_work;
} works;

static void finish(void)
{
    uvzk_client_close(&operator.client, NULL);
    uvzk_client_close(&works.client, NULL);
}

static void on_lost(uvzk_hold_t *hold, int reason)
{
    (void)hold;
    if (reason != UVZK_ECLOSED) {
        printf("lost: %s\n", uvzk_strerror(reason));
    }
}

/* The count's znode remains when its clients are closed; this example deletes it. */
static void on_removed(uvzk_req_t *request, int status)
{
    (void)request;
    printf("the count is deleted: %s\n", status == 0 ? "yes" : uvzk_strerror(status));
    finish();
}

/* Only when both programs have been told all that they wait for: who reads a count that is
 * deleted is not told what it was. */
static void remove_count_if_done(void)
{
    uvzk_write_op_t op = {.kind = UVZK_WRITE_DELETE, .version = -1, .path = COUNT};

    if (works.at_work < WORKERS || !operator.set_answered || !operator.sees_all) {
        return;
    }
    if (uvzk_hold_write(&works.workers[0], &works.removal, &op, 1, on_removed) < 0) {
        finish();
    }
}

static void on_set(uvzk_req_t *request, int status)
{
    (void)request;
    printf("operator: set, %s\n", status == 0 ? "yes" : uvzk_strerror(status));
    if (status < 0) {
        finish();
    } else {
        operator.set_answered = true;
        remove_count_if_done();
    }
}

static void on_worker(uvzk_hold_t *hold, int status)
{
    if (status < 0) {
        return; /* the client is closed */
    }
    works.at_work++;
    printf("worker %td begins, %d at work\n", hold - works.workers + 1, works.at_work);
    if (works.at_work == 1) {
        uvzk_shared_count_set(&operator.limit, &operator.set, WORKERS, on_set);
    } else {
        remove_count_if_done();
    }
}

/* The first call has the current number, and each later call has a new one. */
static void on_change(uvzk_shared_count_t *count, int status, int32_t value)
{
    if (count == &operator.limit && status == 0) {
        printf("operator: %" PRId32 " allowed\n", value);
        operator.sees_all = value == WORKERS;
        remove_count_if_done();
    }
}

static int open_client(uv_loop_t *loop, uvzk_client_t *client, const char *hosts)
{
    uvzk_client_options_t options;

    uvzk_client_options_init(&options);
    options.hosts = hosts;
    int rc = uvzk_client_init(loop, client, &options);
    return rc < 0 ? rc : uvzk_client_start(client);
}

static int begin(void)
{
    const char *path = "/examples_workers";
    int rc =
        uvzk_shared_count_init(&operator.client, &operator.limit, path, 1, on_change);

    if (rc == 0) {
        rc = uvzk_shared_count_init(&works.client, &works.limit, path, 1, NULL);
    }
    if (rc == 0) { /* the semaphore ignores the 1: the count decides */
        rc = uvzk_semaphore_init(&works.client, &works.seats, "/examples/seats", 1,
                                 &works.limit);
    }
    for (int i = 0; rc == 0 && i < WORKERS; i++) {
        rc = uvzk_lock_acquire(&works.seats, &works.workers[i], NULL, on_worker, on_lost);
    }
    return rc;
}

int main(int argc, char **argv)
{
    uv_loop_t *loop = uv_default_loop();
    const char *hosts = argc > 1 ? argv[1] : "127.0.0.1:2181";
    int rc = open_client(loop, &operator.client, hosts);

    if (rc == 0) {
        rc = open_client(loop, &works.client, hosts);
    }
    if (rc < 0 || (rc = begin()) < 0) {
        fprintf(stderr, "%s\n", uvzk_strerror(rc));
        finish();
    }
    uv_run(loop, UV_RUN_DEFAULT);
    return uv_loop_close(loop) == 0 && works.at_work == WORKERS ? 0 : 1;
}
