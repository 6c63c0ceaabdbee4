#include "acquire.h"

#include <stdio.h>
#include <string.h>

static struct scene *scene_of(const struct acquire *acquire)
{
    return acquire->process->scene;
}

bool acquire_holds(const struct acquire *acquire)
{
    return acquire->acquired == 1 && acquire->status == 0 &&
           acquire->lost + acquire->released == 0;
}

/* A process whose session was ended behind its back may not know it yet. */
static void check_znodes(const struct acquire *acquire)
{
    const struct sim *sim = scene_of(acquire)->sim;
    uint32_t count = uvzk_hold_lease_count(&acquire->request);

    assert_true(count >= acquire->leases);
    for (uint32_t i = 0; i < count && !acquire->process->killed; i++) {
        struct uvzk__stat stat;
        assert_true(sim_stat(sim, uvzk_hold_lease_path(&acquire->request, i), &stat));
        assert_true(stat.ephemeral_owner == sim_session_id(acquire->process->port));
        assert_true(sim_session_alive(sim, stat.ephemeral_owner));
    }
}

static void on_acquired(uvzk_hold_t *hold, int status)
{
    struct acquire *acquire = hold->data;

    sim_note(scene_of(acquire)->sim, "%s is told %s", acquire->process->name,
             uvzk_err_name(status));
    assert_int_equal(acquire->acquired++, 0);
    acquire->status = status;
    acquire->acquired_ms = sim_now(scene_of(acquire)->sim);
    if (status == 0) {
        acquire->token = uvzk_hold_token(hold);
        (void)snprintf(acquire->path, sizeof(acquire->path), "%s", uvzk_hold_path(hold));
        check_znodes(acquire);
    }
    if (acquire->hook != NULL) {
        acquire->hook(acquire);
    }
}

static void on_lost(uvzk_hold_t *hold, int reason)
{
    struct acquire *acquire = hold->data;

    sim_note(scene_of(acquire)->sim, "%s has lost it, %s", acquire->process->name,
             uvzk_err_name(reason));
    assert_true(acquire_holds(acquire));
    acquire->lost++;
    acquire->reason = reason;
    if (acquire->hook != NULL) {
        acquire->hook(acquire);
    }
}

static void on_released(uvzk_hold_t *hold, int status)
{
    struct acquire *acquire = hold->data;

    sim_note(scene_of(acquire)->sim, "%s has released, %s", acquire->process->name,
             uvzk_err_name(status));
    assert_true(acquire_holds(acquire));
    acquire->released++;
    acquire->release_status = status;
}

static void on_queued(uvzk_hold_t *hold, uint64_t ahead)
{
    struct acquire *acquire = hold->data;

    assert_int_equal(acquire->acquired, 0);
    assert_true(ahead > 0);
    acquire->queued++;
}

int acquire_ask(struct acquire *acquire, struct process *process, uvzk_lock_t *lock,
                const uvzk_acquire_options_t *options)
{
    uvzk_acquire_options_t settings;
    void (*hook)(struct acquire *) = acquire->hook;

    uvzk_acquire_options_init(&settings);
    if (options != NULL) {
        settings = *options;
    }
    memset(acquire, 0, sizeof(*acquire));
    acquire->hook = hook;
    acquire->process = process;
    acquire->lock = lock;
    acquire->leases = settings.leases == 0 ? 1 : settings.leases;
    acquire->request.data = acquire;
    settings.queued_cb = process->scene->seed % 2 == 1 ? on_queued : NULL;
    return uvzk_lock_acquire(lock, &acquire->request, &settings, on_acquired, on_lost);
}

void acquire_begin(struct acquire *acquire, struct process *process, uvzk_lock_t *lock,
                   uint32_t leases, int64_t timeout_ms)
{
    uvzk_acquire_options_t options;

    uvzk_acquire_options_init(&options);
    options.leases = leases;
    options.timeout_ms = timeout_ms;
    assert_int_equal(acquire_ask(acquire, process, lock, &options), 0);
}

void acquire_begin_for(struct acquire *acquire, struct process *process,
                       uvzk_lock_t *lock, void *owner)
{
    uvzk_acquire_options_t options;

    uvzk_acquire_options_init(&options);
    options.owner = owner;
    assert_int_equal(acquire_ask(acquire, process, lock, &options), 0);
}

void acquire_await(struct acquire *acquire, uint64_t ms)
{
    assert_true(scene_await(scene_of(acquire), &acquire->acquired, ms));
    assert_int_equal(acquire->status, 0);
}

void acquire_take(struct acquire *acquire, struct process *process, uvzk_lock_t *lock,
                  uint32_t leases)
{
    acquire_begin(acquire, process, lock, leases, UVZK_WAIT_FOREVER);
    acquire_await(acquire, SCENE_TIMEOUT_MS);
}

void acquire_release(struct acquire *acquire)
{
    assert_int_equal(uvzk_hold_release(&acquire->request, on_released), 0);
}

void acquire_give_back(struct acquire *acquire)
{
    acquire_release(acquire);
    assert_true(scene_await(scene_of(acquire), &acquire->released, SCENE_TIMEOUT_MS));
    assert_int_equal(acquire->release_status, 0);
}

void acquire_finish(struct acquire *acquire, uint64_t ms)
{
    assert_true(scene_await(scene_of(acquire), &acquire->acquired, ms));
    if (acquire_holds(acquire)) {
        acquire_release(acquire);
        assert_true(scene_await(scene_of(acquire), &acquire->released, ms));
    }
    assert_null(acquire->request.impl);
}
