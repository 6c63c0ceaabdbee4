/* SPDX-License-Identifier: Apache-2.0 */
/* A program of uvzk 0.2 that uses all that 0.3 has changed. tests/programs/carries_over
 * runs docs/0.2-to-0.3.sed, and the scripts after it, over a copy of it. */
#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <uvzk.h>
#include <uvzk_sim.h>

static uvzk_client_t client;
static uvzk_mutex_t mutex;
static uvzk_rwlock_t both;
static uvzk_lock_t driven;
static uvzk_hold_t hold, waiting, reader, writer, by_driver;
static uvzk_read_t reading;
static uvzk_future_t seen;
static int done, closed, lines, steps, asked;

static void plain_log(uvzk_client_t *of, int level, const char *line)
{
    (void)of;
    (void)level;
    lines += strlen(line) > 0;
}

static void log_line(uvzk_client_t *of, int level, const char *module, const char *text)
{
    (void)of;
    (void)level;
    lines += strlen(module) > 0 && strlen(text) > 0;
}

static const uvzk_acl_t *acl_for(uvzk_client_t *of, const char *path, size_t *count)
{
    static const uvzk_acl_t acl[] = {UVZK_ACL_ANYONE};

    (void)of;
    (void)path;
    asked++;
    *count = 1;
    return acl;
}

static void on_step(uvzk_client_t *of, const uvzk_trace_t *event)
{
    (void)of;
    steps += event->step == UVZK_TRACE_GRANTED;
}

static void on_acquired(uvzk_hold_t *of, int status)
{
    (void)of;
    printf("acquired: %s\n", uvzk_err_name(status));
    done = 1;
}

static void on_lost(uvzk_hold_t *of, int reason)
{
    (void)of;
    (void)reason;
}

static void on_read(uvzk_read_t *request, int status, const void *data, size_t length)
{
    (void)request;
    printf("read: %s, %.*s\n", uvzk_err_name(status), (int)length, (const char *)data);
    done = 1;
}

static void on_looked(uvzk_read_t *request, int status, const uvzk_stat_t *stat,
                      const void *data, size_t length)
{
    (void)request;
    (void)data;
    printf("looked: %s, token %s, %zu bytes\n", uvzk_err_name(status),
           stat->czxid == uvzk_hold_token(&hold) ? "the hold's" : "another", length);
    done = 1;
}

static void on_session(uvzk_client_t *of, const uvzk_session_entry_t *entry,
                       void *context)
{
    (void)of;
    (void)context;
    printf("session %" PRIu32 ": last error %d\n", entry->number, entry->error.code);
}

static void on_hold(uvzk_client_t *of, const uvzk_hold_entry_t *entry, void *context)
{
    const uvzk_wait_t *wait = &entry->wait;

    (void)of;
    (void)context;
    if (!entry->is_held) {
        printf("waits for ours: %d, %" PRIu64 " ahead\n",
               entry->wait.kind == UVZK_WAITS_FOR_OURS, wait->ahead);
    }
}

static void on_closed(uvzk_client_t *of)
{
    (void)of;
    closed = 1;
}

static void await_done(void)
{
    if (uvzk_sim_await(&done, 10000) != 0) {
        printf("no answer\n");
    }
    done = 0;
}

static void start(uvzk_client_log_cb plain, uvzk_client_log_line_cb with_module)
{
    static const uvzk_acl_t acl[] = {UVZK_ACL_OURS, UVZK_ACL_ANYONE_LOOKS};
    uvzk_client_options_t options;

    (void)acl;
    uvzk_client_options_init(&options);
    options.hosts = "simulated:2181";
    options.default_data = "data";
    options.default_data_length = 4;
    if (with_module != NULL) {
        options.log_line_cb = with_module;
    } else {
        options.log_cb = plain;
    }
    options.acl_cb = acl_for;
    options.trace_cb = on_step;
    options.metrics = 1;
    if (uvzk_client_init(NULL, &client, &options) != 0 ||
        uvzk_client_start(&client) != 0) {
        printf("no client\n");
    }
}

static void acquire(uvzk_lock_t *lock, uvzk_hold_t *of, void *owner)
{
    uvzk_acquire_options_t options;

    uvzk_acquire_options_init(&options);
    options.owner = owner;
    int status = uvzk_lock_acquire(lock, of, &options, on_acquired, on_lost);
    if (status != 0) {
        printf("refused: %d\n", status == UVZK_EDEADLOCK);
        return;
    }
    await_done();
}

static void use_locks(void)
{
    uvzk_lock_driver_t driver;

    uvzk_lock_driver_init(&driver);
    driver.name = "lock-";
    uvzk_mutex_init(&client, &mutex, "/mutex");
    uvzk_rwlock_init(&client, &both, "/both");
    uvzk_driver_lock_init(&client, &driven, "/driven", &driver);
    acquire(&mutex, &hold, NULL);
    acquire(&both.read, &reader, &reader);
    acquire(&both.write, &writer, &reader);
    acquire(&driven, &by_driver, NULL);
    uvzk_lock_acquire(&mutex, &waiting, NULL, on_acquired, on_lost);
    uvzk_sim_run_for(1000);
}

static void ask(void)
{
    uvzk_client_stats_t stats;
    uvzk_client_metrics_t metrics;
    uvzk_stat_t stat;

    uvzk_client_read(&client, &reading, uvzk_hold_path(&hold), on_read);
    await_done();
    uvzk_client_look(&client, &reading, uvzk_hold_path(&hold), on_looked);
    await_done();
    uvzk_client_look_future(&client, &seen, uvzk_hold_path(&hold));
    uvzk_sim_run_for(1000);
    int status = uvzk_future_stat(&seen, &stat);
    printf("future: %s, %d\n", uvzk_err_name(status),
           stat.czxid == uvzk_hold_token(&hold));
    uvzk_future_drop(&seen);
    uvzk_client_each_session(&client, on_session, NULL);
    uvzk_client_each_hold(&client, on_hold, NULL);
    uvzk_client_stats(&client, &stats);
    uvzk_client_metrics_init(&metrics);
    uvzk_client_metrics(&client, &metrics);
    printf("contenders: %" PRIu64 ", requests: %d, reads: %d, grants: %" PRIu64 "\n",
           stats.contenders, stats.requests > 0, metrics.looks > 0, metrics.grants);
}

int main(void)
{
    uvzk_sim_begin(NULL);
    start(plain_log, log_line);
    use_locks();
    ask();
    printf("steps: %d, acl_cb: %d\n", steps, asked > 0);
    uvzk_client_close(&client, on_closed);
    uvzk_sim_await(&closed, 60000);
    uvzk_sim_run_for(1);
    return uvzk_sim_end();
}
