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
    use_a_cohort();
    use_a_number();
    uvzk_client_close(&client, on_closed);
    uvzk_sim_await(&closed, 60000);
    uvzk_sim_run_for(1);
    return uvzk_sim_end();
}
