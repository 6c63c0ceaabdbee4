/* SPDX-License-Identifier: Apache-2.0 */
/* revoking [HOSTS]: a holder that releases when another client asks for it.
 *
 *   batch   holds a lock for a long piece of work, and allows its revocation;
 *   admin   needs the lock now: finds the holder, asks it to release, and is granted it.
 *
 * A holder cannot be forced. To ask it, a client writes `__REVOKE__` into the holder's
 * znode, as Curator does, so each of the two may also be a Java program. Here each is a
 * client of its own. */
#include <inttypes.h>
#include <stdbool.h>
#include <stdio.h>
#include <uv.h>
#include <uvzk.h>

struct party {
    uvzk_client_t client;
    uvzk_mutex_t mutex;
    uvzk_hold_t hold;
};
static struct party batch, admin;

static uvzk_req_t listing;
static uvzk_req_t plea;
static bool plea_was_written, plea_was_heard, admin_got_it;

static bool failed(int status)
{
    if (status < 0) {
        fprintf(stderr, "failed: %s\n", uvzk_strerror(status));
        uvzk_client_close(&batch.client, NULL);
        uvzk_client_close(&admin.client, NULL);
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
    if (!failed(status)) {
        uvzk_client_close(hold == &batch.hold ? &batch.client : &admin.client, NULL);
    }
}

/* Runs once for each request to revoke. The holder decides whether and when to release;
 * it may first finish a part of its work. */
static void on_revoke(uvzk_hold_t *hold)
{
    puts("batch: another client asks for the lock; released");
    plea_was_heard = true;
    uvzk_hold_release(hold, on_released);
}

static void on_plea(uvzk_req_t *request, int status)
{
    (void)request;
    plea_was_written = !failed(status); /* written; the holder may ignore it */
}

/* The holders come first (a mutex has one), and then the waiters. */
static void on_participants(uvzk_req_t *request, int status)
{
    const char *const *paths = request->result->paths;
    size_t count = request->result->count;
    (void)request;
    if (!failed(status) && !failed(count == 0 ? UVZK_ENONODE : 0)) {
        printf("admin: asks %s\n", paths[0]);
        failed(uvzk_client_revoke(&admin.client, &plea, paths[0], on_plea));
    }
}

static void on_admin_waits(uvzk_hold_t *hold, uint64_t ahead)
{
    (void)hold;
    printf("admin: waits behind %" PRIu64 "\n", ahead);
    failed(uvzk_lock_participants(&admin.mutex, &listing, on_participants));
}

static void on_admin(uvzk_hold_t *hold, int status)
{
    if (!failed(status)) {
        printf("admin: granted, token %" PRId64 "\n", uvzk_hold_token(hold));
        admin_got_it = true;
        uvzk_hold_release(hold, on_released);
    }
}

static void on_batch(uvzk_hold_t *hold, int status)
{
    uvzk_acquire_options_t options;

    if (!failed(status)) {
        printf("batch: granted, token %" PRId64 "\n", uvzk_hold_token(hold));
        uvzk_acquire_options_init(&options);
        options.timeout_ms = 15000;
        options.queued_cb = on_admin_waits;
        failed(uvzk_lock_acquire(&admin.mutex, &admin.hold, &options, on_admin, on_lost));
    }
}

static bool joined(struct party *party, const uvzk_client_options_t *options)
{
    return !failed(uvzk_client_init(uv_default_loop(), &party->client, options)) &&
           !failed(uvzk_client_start(&party->client)) &&
           !failed(uvzk_mutex_init(&party->client, &party->mutex, "/examples/revoking"));
}

int main(int argc, char **argv)
{
    uvzk_client_options_t options;
    uvzk_acquire_options_t how;

    uvzk_client_options_init(&options);
    options.hosts = argc > 1 ? argv[1] : "127.0.0.1:2181";
    uvzk_acquire_options_init(&how);
    how.timeout_ms = 15000;
    how.revoke_cb = on_revoke; /* without it, requests to revoke have no effect */
    if (joined(&batch, &options) && joined(&admin, &options)) {
        failed(uvzk_lock_acquire(&batch.mutex, &batch.hold, &how, on_batch, on_lost));
    }
    uv_run(uv_default_loop(), UV_RUN_DEFAULT);
    bool as_told = plea_was_written && plea_was_heard && admin_got_it;
    return uv_loop_close(uv_default_loop()) == 0 && as_told ? 0 : 1;
}
