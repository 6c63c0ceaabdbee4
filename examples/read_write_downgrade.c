/* SPDX-License-Identifier: Apache-2.0 */
/* read_write_downgrade [HOSTS]: readers hold together, a writer holds alone, and a writer
 * becomes a reader without another writer in between.
 *
 *   ann and ben   both read at the same time, until eve wants to write;
 *   eve           writes, and then goes on as a reader: she reads what she wrote;
 *   joe           waits all this time to write something else. */
#include <inttypes.h>
#include <stdbool.h>
#include <stdio.h>
#include <uv.h>
#include <uvzk.h>

static uvzk_client_t client;
static uvzk_rwlock_t report; /* two locks on one path: report.read and report.write */
static uvzk_hold_t ann, ben, eve_writes, eve_reads, joe;
static char eve; /* an owner: only its address matters */
static uv_timer_t reading;
static int readers;
static bool eve_read_on, as_told;

static bool failed(int status)
{
    if (status < 0) {
        fprintf(stderr, "failed: %s\n", uvzk_strerror(status));
        uvzk_client_close(&client, NULL);
    }
    return status < 0;
}

static void on_lost(uvzk_hold_t *hold, int reason)
{
    (void)hold;
    failed(reason);
}

static void on_released(uvzk_hold_t *hold, int status)
{
    if (!failed(status) && hold == &joe) {
        uvzk_client_close(&client, NULL);
    }
}

static void acquire(uvzk_lock_t *half, uvzk_hold_t *hold, void *owner,
                    uvzk_hold_acquire_cb acquire_cb, uvzk_hold_queued_cb queued_cb)
{
    uvzk_acquire_options_t options;

    uvzk_acquire_options_init(&options);
    options.owner = owner;
    options.queued_cb = queued_cb;
    options.timeout_ms = 15000;
    failed(uvzk_lock_acquire(half, hold, &options, acquire_cb, on_lost));
}

static void on_joe_writes(uvzk_hold_t *hold, int status)
{
    if (!failed(status)) {
        printf("joe writes, token %" PRId64 "\n", uvzk_hold_token(hold));
        as_told = eve_read_on && readers == 0;
        uvzk_hold_release(hold, on_released);
    }
}

static void on_read_enough(uv_timer_t *timer)
{
    uv_close((uv_handle_t *)timer, NULL);
    eve_read_on = uvzk_hold_is_valid(&eve_reads) != 0;
    readers--;
    puts("eve stops reading");
    uvzk_hold_release(&eve_reads, on_released);
}

/* Eve now holds both halves. If she had released the write lock first, joe would have
 * been granted it. */
static void on_eve_reads(uvzk_hold_t *hold, int status)
{
    if (!failed(status)) {
        readers++;
        printf("eve reads too, token %" PRId64 ", and stops writing\n",
               uvzk_hold_token(hold));
        uvzk_hold_release(&eve_writes, on_released);
        uv_timer_init(uv_default_loop(), &reading);
        uv_timer_start(&reading, on_read_enough, 200, 0);
    }
}

static void on_joe_waits(uvzk_hold_t *hold, uint64_t ahead)
{
    (void)hold;
    printf("joe wants to write, behind %" PRIu64 "\n", ahead);
    acquire(&report.read, &eve_reads, &eve, on_eve_reads, NULL);
}

static void on_eve_writes(uvzk_hold_t *hold, int status)
{
    if (!failed(status)) {
        printf("eve writes, token %" PRId64 "\n", uvzk_hold_token(hold));
        acquire(&report.write, &joe, NULL, on_joe_writes, on_joe_waits);
    }
}

static void on_eve_waits(uvzk_hold_t *hold, uint64_t ahead)
{
    (void)hold;
    printf("eve wants to write, behind %" PRIu64 "; ann and ben stop\n", ahead);
    readers = 0;
    uvzk_hold_release(&ann, on_released);
    uvzk_hold_release(&ben, on_released);
}

static void on_read(uvzk_hold_t *hold, int status)
{
    if (!failed(status)) {
        printf("%s reads\n", hold == &ann ? "ann" : "ben");
        if (++readers == 2) {
            acquire(&report.write, &eve_writes, &eve, on_eve_writes, on_eve_waits);
        }
    }
}

int main(int argc, char **argv)
{
    uvzk_client_options_t options;

    uvzk_client_options_init(&options);
    options.hosts = argc > 1 ? argv[1] : "127.0.0.1:2181";
    if (failed(uvzk_client_init(uv_default_loop(), &client, &options))) {
        return 1;
    }
    if (!failed(uvzk_client_start(&client)) &&
        !failed(uvzk_rwlock_init(&client, &report, "/examples/report"))) {
        acquire(&report.read, &ann, NULL, on_read, NULL);
        acquire(&report.read, &ben, NULL, on_read, NULL);
    }
    uv_run(uv_default_loop(), UV_RUN_DEFAULT);
    return uv_loop_close(uv_default_loop()) == 0 && as_told ? 0 : 1;
}
