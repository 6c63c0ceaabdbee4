/* SPDX-License-Identifier: Apache-2.0 */
/* chain [HOSTS]: acquires a lock, computes, writes, reads, deletes and releases. The
 * steps run one after the other, and each step is a future.
 *
 * The computation is slow and runs in a thread of libuv's thread pool. Its result is
 * written to ZooKeeper only if the lock is still held at that moment. So if the process
 * was stopped or cut off for too long, the late write is not carried out. Each step
 * begins in the callback of the step before. If a step fails, the futures are dropped,
 * and that releases the lock if it is held. */
#include <inttypes.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <uv.h>
#include <uvzk.h>

static uvzk_client_t client;
static uvzk_mutex_t mutex;
static uvzk_future_t acquired, written, reading, deleted, released;
static uv_work_t work;
static char sum[32];
static bool all_done;

static void finish(void)
{
    uvzk_future_drop(&acquired); /* also releases the lock if it is held */
    uvzk_future_drop(&written);
    uvzk_future_drop(&reading);
    uvzk_future_drop(&deleted);
    uvzk_future_drop(&released);
    uvzk_client_close(&client, NULL);
}

static bool failed(const char *step, int status)
{
    if (status < 0) {
        fprintf(stderr, "%s: %s\n", step, uvzk_strerror(status));
        finish();
        return true;
    }
    printf("%s\n", step);
    return false;
}

/* `status` is what the call that begins the next step has returned. If it is 0, cb runs
 * when the step is done. */
static void next(const char *step, int status, uvzk_future_t *future, uvzk_future_cb cb)
{
    if (status == 0) {
        status = uvzk_future_then(future, cb, NULL);
    }
    if (status < 0) {
        failed(step, status);
    }
}

static void on_released(uvzk_future_t *future, int status, void *context)
{
    (void)future;
    (void)context;
    if (!failed("released", status)) {
        all_done = true;
        finish();
    }
}

/* The work that needed the lock is done. */
static void on_deleted(uvzk_future_t *future, int status, void *context)
{
    (void)future;
    (void)context;
    if (!failed("deleted, too", status)) {
        uvzk_hold_t *hold = uvzk_future_hold(&acquired);
        status = uvzk_hold_release(hold, NULL);
        if (status == 0) {
            status = uvzk_future_end(&released, hold);
        }
        next("to be released", status, &released, on_released);
    }
}

static void on_read(uvzk_future_t *future, int status, void *context)
{
    const uvzk_write_op_t remove = {
        .kind = UVZK_WRITE_DELETE, .version = -1, .path = "/examples/sum"};
    uvzk_hold_t *hold = uvzk_future_hold(&acquired);

    (void)context;
    if (!failed("read", status)) {
        const uvzk_result_t *found = uvzk_future_req(future)->result;
        printf("the sum is %.*s\n", (int)found->length, (const char *)found->data);
        next("to be deleted",
             uvzk_hold_write(hold, uvzk_future_req(&deleted), &remove, 1,
                             uvzk_future_complete),
             &deleted, on_deleted);
    }
}

static void on_written(uvzk_future_t *future, int status, void *context)
{
    (void)future;
    (void)context;
    if (!failed("written, while the lock was held", status)) {
        next("to be read",
             uvzk_client_read(&client, uvzk_future_req(&reading), "/examples/sum",
                              uvzk_future_complete),
             &reading, on_read);
    }
}

static void compute(uv_work_t *request)
{
    uint64_t total = 0;

    (void)request;
    for (uint64_t i = 1; i <= 1000000; i++) {
        total += i;
    }
    snprintf(sum, sizeof(sum), "%" PRIu64, total);
}

static void on_computed(uv_work_t *request, int status)
{
    const uvzk_write_op_t create = {.kind = UVZK_WRITE_CREATE,
                                    .path = "/examples/sum",
                                    .data = sum,
                                    .data_length = strlen(sum)};
    uvzk_hold_t *hold = uvzk_future_hold(&acquired);

    (void)request;
    if (!failed("computed", status)) {
        next("to be written",
             uvzk_hold_write(hold, uvzk_future_req(&written), &create, 1,
                             uvzk_future_complete),
             &written, on_written);
    }
}

static void on_acquired(uvzk_future_t *future, int status, void *context)
{
    (void)future;
    (void)context;
    if (!failed("acquired", status)) {
        status = uv_queue_work(uv_default_loop(), &work, compute, on_computed);
        if (status < 0) {
            failed("to be computed", status);
        }
    }
}

/* The next step fails, because it finds no hold. */
static void on_lost(uvzk_hold_t *hold, int reason)
{
    (void)hold;
    fprintf(stderr, "lost: %s\n", uvzk_strerror(reason));
}

static int begin(const char *hosts)
{
    uvzk_client_options_t options;

    uvzk_client_options_init(&options);
    options.hosts = hosts;
    int status = uvzk_client_init(uv_default_loop(), &client, &options);
    if (status == 0) {
        status = uvzk_client_start(&client);
    }
    if (status == 0) {
        status = uvzk_mutex_init(&client, &mutex, "/examples/chain");
    }
    if (status == 0) {
        status = uvzk_lock_acquire_future(&mutex, &acquired, NULL, on_lost);
    }
    if (status == 0) {
        status = uvzk_future_deadline(&acquired, 15000);
    }
    return status < 0 ? status : uvzk_future_then(&acquired, on_acquired, NULL);
}

int main(int argc, char **argv)
{
    int status = begin(argc > 1 ? argv[1] : "127.0.0.1:2181");

    if (status < 0) {
        failed("to begin", status);
    }
    uv_run(uv_default_loop(), UV_RUN_DEFAULT);
    return uv_loop_close(uv_default_loop()) == 0 && all_done ? 0 : 1;
}
