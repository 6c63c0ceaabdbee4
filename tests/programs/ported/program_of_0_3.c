/* SPDX-License-Identifier: Apache-2.0 */
/* A program of uvzk 0.3 that uses all that 0.4 has changed. tests/programs/carries_over
 * runs docs/0.3-to-0.4.sed over a copy of it. */
#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <uvzk.h>
#include <uvzk_sim.h>

static uvzk_client_t client;
static uvzk_mutex_t mutex, other;
static uvzk_multilock_t two;
static uvzk_atomic_long_t number;
static uvzk_atomic_call_t call;
static uvzk_hold_t hold, waiting;
static uvzk_future_t made;
static int done, closed;

/* Whoever adds fields to a struct of its own. */
struct owned {
    UVZK_SHELL_FIELDS;
};

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

static void on_made(uvzk_atomic_call_t *of, int status, const uvzk_atomic_value_t *value)
{
    (void)of;
    printf("made: %s, %" PRId64 "\n", uvzk_err_name(status), value->post_value);
    done = 1;
}

static void on_written(uvzk_write_t *of, int status, size_t failed)
{
    (void)of;
    printf("written: %s, %d\n", uvzk_err_name(status), failed == 1);
    done = 1;
}

static void on_participants(uvzk_participants_t *of, int status, const char *const *paths,
                            size_t count)
{
    printf("participants: %s, %zu, %zu, /mutex/: %d\n", uvzk_err_name(status), count,
           uvzk_participants_holding(of), strncmp(paths[0], "/mutex/", 7) == 0);
    done = 1;
}

static void on_read(uvzk_read_t *of, int status, const uvzk_stat_t *stat,
                    const void *data, size_t length)
{
    (void)of;
    (void)data;
    printf("read: %s, %d, %zu\n", uvzk_err_name(status), stat->czxid > 0, length);
    done = 1;
}

static void on_verified(uvzk_verify_t *of, int status)
{
    (void)of;
    printf("verified: %s\n", uvzk_err_name(status));
    done = 1;
}

static void on_waited(uvzk_barrier_call_t *of, int status);

static void on_waited(uvzk_barrier_call_t *of, int status)
{
    (void)of;
    printf("waited: %s\n", uvzk_err_name(status));
    done = 1;
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

static void start(void)
{
    uvzk_client_options_t options;

    uvzk_client_options_init(&options);
    options.hosts = "simulated:2181";
    if (uvzk_client_init(NULL, &client, &options) != 0 ||
        uvzk_client_start(&client) != 0) {
        printf("no client\n");
    }
}

static void use_locks(void)
{
    uvzk_lock_t *both[] = {&mutex, &other};
    uvzk_wait_t wait;

    uvzk_mutex_init(&client, &mutex, "/mutex");
    uvzk_mutex_init(&client, &other, "/other");
    uvzk_multilock_init(&client, &two, both, 2, 0, NULL);
    uvzk_lock_acquire(&two, &hold, NULL, on_acquired, on_lost);
    await_done();
    printf("%" PRIu32 " znodes, /other/: %d\n", uvzk_hold_lease_count(&hold),
           strncmp(uvzk_hold_lease_path(&hold, 1), "/other/", 7) == 0);
    uvzk_lock_acquire(&mutex, &waiting, NULL, on_acquired, on_lost);
    uvzk_sim_run_for(1000);
    uvzk_wait_init(&wait);
    int status = uvzk_hold_wait(&waiting, &wait);
    printf("waits for ours: %s, %d\n", uvzk_err_name(status),
           wait.kind == UVZK_WAITS_FOR_OURS);
}

static void use_requests(void)
{
    static uvzk_write_t writing;
    static uvzk_participants_t listing;
    static uvzk_read_t reading;
    static uvzk_verify_t verifying;
    const uvzk_write_op_t ops[] = {
        {UVZK_WRITE_CHECK, -1, "/mutex", NULL, 0},
        {UVZK_WRITE_CHECK, -1, "/nowhere", NULL, 0},
    };

    uvzk_hold_write(&hold, &writing, ops, 2, on_written);
    await_done();
    uvzk_lock_participants(&mutex, &listing, on_participants);
    await_done();
    uvzk_client_read(&client, &reading, uvzk_hold_path(&hold), on_read);
    await_done();
    uvzk_hold_verify(&hold, &verifying, (uvzk_verify_cb)on_verified);
    await_done();
}

static void use_a_barrier(void)
{
    static uvzk_barrier_t barrier;
    static uvzk_barrier_call_t waits;
    static uvzk_future_t set;

    uvzk_barrier_init(&client, &barrier, "/barrier");
    uvzk_barrier_set_future(&barrier, &set);
    uvzk_sim_run_for(1000);
    printf("set: %s\n", uvzk_err_name(uvzk_future_status(&set)));
    uvzk_future_drop(&set);
    uvzk_barrier_wait(&barrier, &waits, UVZK_WAIT_FOREVER, on_waited);
    uvzk_sim_run_for(1000);
    uvzk_barrier_call_cancel(&waits);
    await_done();
    int status = uvzk_barrier_close_future(&barrier, &set);
    uvzk_sim_run_for(1000);
    printf("closed: %s, %s\n", uvzk_err_name(status),
           uvzk_err_name(uvzk_future_status(&set)));
    uvzk_future_drop(&set);
}

static void use_futures(void)
{
    static uvzk_future_t future;
    const uvzk_write_op_t check = {UVZK_WRITE_CHECK, -1, "/nowhere", NULL, 0};
    const void *data;
    size_t length;
    uvzk_stat_t stat;

    uvzk_client_read_future(&client, &future, uvzk_hold_path(&hold));
    uvzk_sim_run_for(1000);
    uvzk_stat_init(&stat);
    int status = uvzk_future_stat(&future, &stat);
    if (status == 0 && uvzk_future_data(&future, &data, &length) == 0) {
        printf("future of a read: %d, %zu, %d\n", data != NULL, length, stat.czxid > 0);
    }
    uvzk_future_drop(&future);
    uvzk_hold_write_future(&hold, &future, &check, 1);
    uvzk_sim_run_for(1000);
    printf("future of a write: %s, %zu\n", uvzk_err_name(uvzk_future_status(&future)),
           uvzk_future_refused(&future));
    uvzk_future_drop(&future);
    if (uvzk_hold_release_future(&hold, &future) != 0) {
        printf("not released\n");
    }
    uvzk_sim_run_for(1000);
    printf("released: %s\n", uvzk_err_name(uvzk_future_status(&future)));
    uvzk_future_drop(&future);
}

static void use_a_cohort(void)
{
    static uvzk_mutex_t cohort;

    printf("cohort: %s\n",
           uvzk_err_name(uvzk_mutex_init_cohort(&client, &cohort, "/cohort", 10, 1000)));
}

static void use_a_number(void)
{
    uvzk_atomic_long_init(&client, &number, "/number", NULL);
    uvzk_atomic_long_initialize(&number, &call, 7, on_made);
    await_done();
    uvzk_atomic_long_initialize_future(&number, &made, 8);
    uvzk_sim_run_for(1000);
    printf("future: %s\n", uvzk_err_name(uvzk_future_status(&made)));
    uvzk_future_drop(&made);
}

int main(void)
{
    static struct owned owned;

    owned.data = &owned;
    uvzk_sim_begin(NULL);
    start();
    use_locks();
    use_requests();
    use_a_barrier();
    use_futures();
    use_a_cohort();
    use_a_number();
    uvzk_client_close(&client, on_closed);
    uvzk_sim_await(&closed, 60000);
    uvzk_sim_run_for(1);
    return uvzk_sim_end();
}
