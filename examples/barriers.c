/* SPDX-License-Identifier: Apache-2.0 */
/* barriers [HOSTS]: a round of three workers that begin together and end together, and a
 * gate that holds them back until it is opened.
 *
 * The workers are members of a double barrier: here of one client, usually of one process
 * each. A Java program's DistributedDoubleBarrier at the same path is a member like them,
 * and its DistributedBarrier at the gate's path the same gate. */
#include <stdio.h>
#include <uv.h>
#include <uvzk.h>

enum { WORKERS = 3 };

static uvzk_client_t client;
static uvzk_barrier_t gate;
static uvzk_double_barrier_t workers[WORKERS];
static uvzk_req_t opening, passing, crossings[WORKERS];
static int inside, outside, failed;

static void fail(const char *what, int status)
{
    printf("%s: %s\n", what, uvzk_strerror(status));
    failed = 1;
    uvzk_client_close(&client, NULL);
}

static void on_left(uvzk_req_t *call, int status)
{
    (void)call;
    if (status < 0) {
        fail("leave", status);
    } else if (++outside == WORKERS) {
        printf("all %d have left\n", outside);
        uvzk_client_close(&client, NULL);
    }
}

static void on_entered(uvzk_req_t *call, int status)
{
    (void)call;
    if (status < 0) {
        fail("enter", status);
        return;
    }
    if (++inside < WORKERS) {
        return;
    }
    printf("all %d are inside\n", inside);
    for (int i = 0; i < WORKERS; i++) {
        uvzk_double_barrier_leave(&workers[i], &crossings[i], UVZK_WAIT_FOREVER, on_left);
    }
}

/* Whoever waits at the gate passes it when it is open. */
static void on_passed(uvzk_req_t *call, int status)
{
    (void)call;
    if (status < 0) {
        fail("wait", status);
        return;
    }
    printf("the gate is open\n");
    for (int i = 0; i < WORKERS; i++) {
        uvzk_double_barrier_enter(&workers[i], &crossings[i], 30000, on_entered);
    }
}

static void on_opened(uvzk_req_t *call, int status)
{
    (void)call;
    if (status < 0) {
        fail("remove", status);
    }
}

static void on_closed_gate(uvzk_req_t *call, int status)
{
    if (status < 0) {
        fail("set", status);
        return;
    }
    printf("the gate is closed\n");
    uvzk_barrier_wait(&gate, &passing, UVZK_WAIT_FOREVER, on_passed);
    uvzk_barrier_remove(&gate, call, on_opened);
}

int main(int argc, char **argv)
{
    uv_loop_t *loop = uv_default_loop();
    uvzk_client_options_t options;

    uvzk_client_options_init(&options);
    options.hosts = argc > 1 ? argv[1] : "127.0.0.1:2181";
    int rc = uvzk_client_init(loop, &client, &options);
    if (rc == 0) {
        rc = uvzk_client_start(&client);
    }
    if (rc == 0) {
        rc = uvzk_barrier_init(&client, &gate, "/examples/gate");
    }
    for (int i = 0; rc == 0 && i < WORKERS; i++) {
        rc = uvzk_double_barrier_init(&client, &workers[i], "/examples/round", WORKERS,
                                      NULL);
    }
    if (rc == 0) {
        rc = uvzk_barrier_set(&gate, &opening, on_closed_gate);
    }
    if (rc < 0) {
        fail("start", rc);
    }
    uv_run(loop, UV_RUN_DEFAULT);
    return uv_loop_close(loop) == 0 && !failed ? 0 : 1;
}
