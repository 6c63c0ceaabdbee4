/* SPDX-License-Identifier: Apache-2.0 */
/* persistent_node [HOSTS]: a worker registers itself, and stays registered.
 *
 * The worker's znode is ephemeral: it goes with the worker. An operator deletes it, and
 * uvzk creates it again; the worker's load changes, and uvzk sets its data. A Java program
 * with a PersistentNode does the same. */
#include <stdio.h>
#include <string.h>
#include <uv.h>
#include <uvzk.h>

#define WORKER "/examples_worker"

static uvzk_client_t client;
static uvzk_persistent_node_t worker;
static uvzk_mutex_t mutex;
static uvzk_hold_t hold;
static uvzk_req_t removal;
static int times_there;
static int result = 1;

static void finish(void)
{
    uvzk_client_close(&client, NULL);
}

static void on_unregistered(uvzk_persistent_node_t *node, int status)
{
    (void)node;
    printf("unregistered: %s\n", status == 0 ? "yes" : uvzk_strerror(status));
    result = status == 0 ? 0 : 1;
    finish();
}

/* The operator deletes the znode. */
static void on_removed(uvzk_req_t *request, int status)
{
    (void)request;
    if (status < 0) {
        finish();
    }
}

static void on_lost(uvzk_hold_t *lost, int reason)
{
    (void)lost;
    (void)reason;
}

static void on_granted(uvzk_hold_t *granted, int status)
{
    uvzk_write_op_t op = {.kind = UVZK_WRITE_DELETE, .version = -1, .path = WORKER};

    if (status < 0 || uvzk_hold_write(granted, &removal, &op, 1, on_removed) < 0) {
        finish();
    }
}

static void delete_by_hand(void)
{
    if (uvzk_mutex_init(&client, &mutex, "/examples/operators") < 0 ||
        uvzk_lock_acquire(&mutex, &hold, NULL, on_granted, on_lost) < 0) {
        finish();
    }
}

static void on_change(uvzk_persistent_node_t *node, int status)
{
    printf("%s\n", status == 0 ? "registered" : uvzk_strerror(status));
    if (status < 0) {
        return; /* it is being created */
    }
    switch (++times_there) {
    case 1:
        delete_by_hand();
        break;
    case 2:
        uvzk_persistent_node_set_data(node, "busy", 4);
        break;
    default:
        uvzk_persistent_node_close(node, on_unregistered);
        break;
    }
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
        rc = uvzk_persistent_node_init(&client, &worker, WORKER,
                                       UVZK_PERSISTENT_NODE_EPHEMERAL, "idle", 4,
                                       on_change);
    }
    if (rc < 0) {
        fprintf(stderr, "%s\n", uvzk_strerror(rc));
        finish();
    }
    uv_run(loop, UV_RUN_DEFAULT);
    return uv_loop_close(loop) == 0 ? result : 1;
}
