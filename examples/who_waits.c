/* SPDX-License-Identifier: Apache-2.0 */
/* who_waits [HOSTS]: what a program can tell about its locks at any time, without a
 * request to the server: what it holds, what it waits for and for how long, and counters
 * in Prometheus' format.
 *
 * There are three orders for one product. The first holds the lock, and the others wait;
 * a timer prints them. */
#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <uv.h>
#include <uvzk.h>

enum { ORDERS = 3 };

static uvzk_client_t client;
static uvzk_mutex_t product;
static uvzk_hold_t orders[ORDERS];
static uv_timer_t look;
static int queued, shown;

static void on_entry(const uvzk_client_t *of, const uvzk_hold_entry_t *entry,
                     void *context)
{
    (void)of;
    (void)context;
    if (entry->is_held) {
        printf("order %td holds %s, token %" PRId64 "\n", entry->hold - orders + 1,
               entry->lock_path, entry->token);
    } else {
        printf("order %td waits, %" PRIu64 " before it, all of them ours: %s\n",
               entry->hold - orders + 1, entry->wait->ahead,
               entry->wait->kind == UVZK_WAITS_FOR_OURS ? "yes" : "no");
    }
    shown++;
}

/* Prints the samples that count holds and waiting acquires. */
static void show_metrics(void)
{
    char text[16384];
    int length = uvzk_client_write_metrics(&client, "shop", text, sizeof(text));

    if (length < 0 || (size_t)length >= sizeof(text)) {
        return;
    }
    for (char *line = strtok(text, "\n"); line != NULL; line = strtok(NULL, "\n")) {
        if (strncmp(line, "uvzk_held{", 10) == 0 ||
            strncmp(line, "uvzk_waiting{", 13) == 0) {
            puts(line);
        }
    }
}

static void on_look(uv_timer_t *timer)
{
    uvzk_client_each_hold(&client, on_entry, NULL);
    show_metrics();
    uv_close((uv_handle_t *)timer, NULL);
    /* Also releases the lock and deletes the znodes of the waiting orders. */
    uvzk_client_close(&client, NULL);
}

static void on_queued(uvzk_hold_t *hold, uint64_t ahead)
{
    (void)hold;
    (void)ahead;
    if (++queued == ORDERS - 1) { /* all have a place in the queue */
        uv_timer_start(&look, on_look, 0, 0);
    }
}

static void on_acquired(uvzk_hold_t *hold, int status)
{
    (void)hold;
    if (status < 0 && status != UVZK_ECLOSED) {
        printf("not granted: %s\n", uvzk_strerror(status));
    }
}

static void on_lost(uvzk_hold_t *hold, int reason)
{
    on_acquired(hold, reason);
}

int main(int argc, char **argv)
{
    uv_loop_t *loop = uv_default_loop();
    uvzk_client_options_t options;
    uvzk_acquire_options_t how;

    uvzk_client_options_init(&options);
    options.hosts = argc > 1 ? argv[1] : "127.0.0.1:2181";
    int rc = uvzk_client_init(loop, &client, &options);
    if (rc < 0) {
        fprintf(stderr, "%s: %s\n", options.hosts, uvzk_strerror(rc));
        return 1;
    }
    uv_timer_init(loop, &look);
    uvzk_acquire_options_init(&how);
    how.queued_cb = on_queued;
    rc = uvzk_client_start(&client);
    rc = rc < 0 ? rc : uvzk_mutex_init(&client, &product, "/examples/product17");
    for (int i = 0; rc == 0 && i < ORDERS; i++) {
        rc = uvzk_lock_acquire(&product, &orders[i], &how, on_acquired, on_lost);
    }
    if (rc < 0) {
        fprintf(stderr, "%s\n", uvzk_strerror(rc));
        on_look(&look);
    }
    uv_run(loop, UV_RUN_DEFAULT);
    return uv_loop_close(loop) == 0 && shown == ORDERS ? 0 : 1;
}
