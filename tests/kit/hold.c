/* SPDX-License-Identifier: Apache-2.0 */
/* The holds of the tests (hold.h). The first half are the callbacks of a hold: each one
 * records its arguments and checks that it may come now. The second half are the calls,
 * which the tests use; those that wait run the world until a counter of the hold
 * changes. world_fail() ends the test and, in a simulated world, prints the trace. */
#include "hold.h"

#include "cmocka_test.h"

#include <stdio.h>
#include <string.h>

#include "world.h"

bool hold_pending(const struct hold *hold)
{
    return hold->accepted && hold->answered == 0;
}

bool hold_holds(const struct hold *hold)
{
    return hold->answered == 1 && hold->status == 0 && hold->lost + hold->released == 0;
}

bool hold_over(const struct hold *hold)
{
    return !hold_pending(hold) && !hold_holds(hold);
}

/* ------------------------------------------------------------------ the callbacks */

static void expect(const struct hold *hold, bool is_so, const char *what)
{
    if (!is_so) {
        world_fail(hold->process->world, "%s: %s", hold->process->name, what);
    }
}

/* The last callback of the hold: the test owns the memory again, so the hold leaves the
 * world's list. */
static void end(struct hold *hold)
{
    expect(hold, hold->request.impl == NULL, "the last callback is not final");
    *hold->at = hold->next;
    if (hold->next != NULL) {
        hold->next->at = hold->at;
    }
    hold->ended_turn = ++hold->process->world->ends;
}

static void call_hook(struct hold *hold)
{
    if (hold->hook != NULL) {
        hold->hook(hold);
    }
}

static void on_released(uvzk_hold_t *request, int status)
{
    struct hold *hold = request->data;

    world_note(hold->process->world, "%s has released, %s", hold->process->name,
               uvzk_err_name(status));
    expect(hold, hold_holds(hold) && hold->releasing, "a release callback out of order");
    hold->released++;
    hold->release_status = status;
    hold->released_ms = world_now(hold->process->world);
    end(hold);
    call_hook(hold);
}

static void on_lost(uvzk_hold_t *request, int reason)
{
    struct hold *hold = request->data;

    world_note(hold->process->world, "%s has lost it, %s", hold->process->name,
               uvzk_err_name(reason));
    expect(hold, hold_holds(hold) && !hold->releasing, "a lost callback out of order");
    expect(hold, !uvzk_hold_is_valid(request), "lost, and still valid");
    hold->lost++;
    hold->reason = reason;
    hold->lost_ms = world_now(hold->process->world);
    end(hold);
    call_hook(hold);
}

static void note_grant(struct hold *hold)
{
    struct world *world = hold->process->world;

    hold->granted_turn = ++world->grants;
    hold->token = uvzk_hold_token(&hold->request);
    (void)snprintf(hold->path, sizeof(hold->path), "%s", uvzk_hold_path(&hold->request));
    expect(hold, uvzk_hold_is_valid(&hold->request), "granted, but not valid");
    world_granted(world, hold);
    if (hold->release_at_once) {
        hold_release(hold);
    }
}

static void on_acquired(uvzk_hold_t *request, int status)
{
    struct hold *hold = request->data;

    world_note(hold->process->world, "%s is told %s", hold->process->name,
               uvzk_err_name(status));
    expect(hold, hold_pending(hold), "an acquire callback out of order");
    expect(hold, status <= 0, "neither granted nor refused");
    hold->answered++;
    hold->status = status;
    hold->answered_ms = world_now(hold->process->world);
    if (status == 0) {
        note_grant(hold);
    } else {
        end(hold);
    }
    call_hook(hold);
}

static void on_queued(uvzk_hold_t *request, uint64_t ahead)
{
    struct hold *hold = request->data;

    expect(hold, hold_pending(hold) && ahead > 0, "a queued callback out of order");
    hold->queued++;
    hold->ahead = ahead;
    if (hold->queued_hook != NULL) {
        hold->queued_hook(hold);
    }
}

/* --------------------------------------------------------------------- the calls */

/* Adds the hold to the world's list of holds that are not over. */
static void enlist(struct hold *hold, struct world *world)
{
    hold->next = world->holds;
    hold->at = &world->holds;
    if (hold->next != NULL) {
        hold->next->at = &hold->next;
    }
    world->holds = hold;
}

static void prepare(struct hold *hold, struct process *process, uvzk_lock_t *lock,
                    const uvzk_acquire_options_t *options)
{
    memset(hold, 0, sizeof(*hold));
    hold->process = process;
    hold->lock = lock == NULL ? &process->mutex : lock;
    hold->owner = options->owner;
    hold->leases = options->leases == 0 ? 1 : options->leases;
    hold->status = hold->reason = hold->release_status = HOLD_NO_STATUS;
    hold->request.data = hold;
}

int hold_ask(struct hold *hold, struct process *process, uvzk_lock_t *lock,
             const uvzk_acquire_options_t *options)
{
    struct world *world = process->world;
    uvzk_acquire_options_t settings;

    uvzk_acquire_options_init(&settings);
    if (options != NULL) {
        settings = *options;
    }
    prepare(hold, process, lock, &settings);
    settings.queued_cb = world_has_queued_cb(world) ? on_queued : NULL;
    int status =
        uvzk_lock_acquire(hold->lock, &hold->request, &settings, on_acquired, on_lost);
    hold->accepted = status == 0;
    if (status == 0) {
        enlist(hold, world);
    } else {
        expect(hold, hold->request.impl == NULL, "refused, and something was done");
    }
    return status;
}

void hold_begin_for(struct hold *hold, struct process *process, void *owner,
                    int64_t timeout_ms)
{
    uvzk_acquire_options_t options;

    uvzk_acquire_options_init(&options);
    options.owner = owner;
    options.timeout_ms = timeout_ms;
    assert_int_equal(hold_ask(hold, process, NULL, &options), 0);
}

void hold_begin(struct hold *hold, struct process *process, int64_t timeout_ms)
{
    hold_begin_for(hold, process, NULL, timeout_ms);
}

void hold_begin_on(struct hold *hold, struct process *process, uvzk_lock_t *lock,
                   uint32_t leases, int64_t timeout_ms)
{
    uvzk_acquire_options_t options;

    uvzk_acquire_options_init(&options);
    options.leases = leases;
    options.timeout_ms = timeout_ms;
    assert_int_equal(hold_ask(hold, process, lock, &options), 0);
}

void hold_begin_on_for(struct hold *hold, struct process *process, uvzk_lock_t *lock,
                       void *owner)
{
    uvzk_acquire_options_t options;

    uvzk_acquire_options_init(&options);
    options.owner = owner;
    assert_int_equal(hold_ask(hold, process, lock, &options), 0);
}

void hold_take(struct hold *hold, struct process *process)
{
    hold_begin(hold, process, UVZK_WAIT_FOREVER);
    hold_await(hold, WORLD_TIMEOUT_MS);
}

void hold_take_on(struct hold *hold, struct process *process, uvzk_lock_t *lock,
                  uint32_t leases)
{
    hold_begin_on(hold, process, lock, leases, UVZK_WAIT_FOREVER);
    hold_await(hold, WORLD_TIMEOUT_MS);
}

void hold_take_for(struct hold *hold, struct process *process, uvzk_lock_t *lock,
                   void *owner)
{
    hold_begin_on_for(hold, process, lock, owner);
    hold_await(hold, WORLD_TIMEOUT_MS);
}

void hold_queue(struct hold *hold, struct process *process, uvzk_lock_t *lock)
{
    hold_begin_on_for(hold, process, lock, NULL);
    hold_await_queued(hold);
}

void hold_try(struct hold *hold, struct process *process, uvzk_lock_t *lock,
              int64_t timeout_ms, int status)
{
    hold_begin_on(hold, process, lock, 1, timeout_ms);
    hold_await_status(hold, WORLD_TIMEOUT_MS, status);
}

/* Waits for the acquire callback. Returns whether the acquire knew its place in the queue
 * when it ended. */
static bool came_to_its_place(struct hold *hold)
{
    expect(hold, world_await(hold->process->world, &hold->answered, WORLD_TIMEOUT_MS),
           "it is not answered");
    return hold->status != UVZK_ENOTQUEUED && hold->status != UVZK_EPROOF;
}

void hold_expect_timeout_with(struct hold *hold, struct process *process,
                              uvzk_lock_t *lock, uvzk_acquire_options_t options)
{
    assert_int_equal(hold_ask(hold, process, lock, &options), 0);
    while (!came_to_its_place(hold) && options.timeout_ms < (int64_t)WORLD_TIMEOUT_MS) {
        options.timeout_ms *= 2;
        assert_int_equal(hold_ask(hold, process, lock, &options), 0);
    }
    assert_int_equal(hold->status, UV_ETIMEDOUT);
}

void hold_expect_timeout(struct hold *hold, struct process *process, uvzk_lock_t *lock,
                         uint32_t leases, int64_t timeout_ms)
{
    uvzk_acquire_options_t options;

    uvzk_acquire_options_init(&options);
    options.timeout_ms = timeout_ms;
    options.leases = leases;
    hold_expect_timeout_with(hold, process, lock, options);
}

void hold_await_status(struct hold *hold, uint64_t ms, int status)
{
    if (!world_await(hold->process->world, &hold->answered, ms)) {
        world_fail(hold->process->world, "%s is not answered", hold->process->name);
    }
    assert_int_equal(hold->status, status);
}

void hold_await(struct hold *hold, uint64_t ms)
{
    hold_await_status(hold, ms, 0);
}

void hold_await_answer(struct hold *hold, uint64_t ms)
{
    if (hold_pending(hold)) {
        expect(hold, world_await(hold->process->world, &hold->answered, ms),
               "it is not answered");
    }
}

void hold_await_lost(struct hold *hold, uint64_t ms, int reason)
{
    expect(hold, world_await(hold->process->world, &hold->lost, ms), "it is not lost");
    assert_int_equal(hold->reason, reason);
}

void hold_await_released(struct hold *hold, uint64_t ms, int status)
{
    expect(hold, world_await(hold->process->world, &hold->released, ms),
           "it is not released");
    assert_int_equal(hold->release_status, status);
}

struct hold *hold_await_first(struct hold *one, struct hold *other, uint64_t ms)
{
    struct world *world = one->process->world;

    /* One ms at a time, because world_await() waits for one counter only. */
    while (ms-- > 0 && hold_pending(one) && hold_pending(other)) {
        (void)world_await(world, &one->answered, 1);
    }
    struct hold *first = hold_pending(one) ? other : one;
    hold_await(first, 0);
    return first;
}

void hold_await_queued(struct hold *hold)
{
    expect(hold, world_await(hold->process->world, &hold->queued, WORLD_TIMEOUT_MS),
           "it is not told of a queue");
}

int hold_ask_release(struct hold *hold)
{
    int status = uvzk_hold_release(&hold->request, on_released);

    hold->releasing = hold->releasing || status == 0;
    return status;
}

void hold_release(struct hold *hold)
{
    assert_int_equal(hold_ask_release(hold), 0);
}

void hold_cancel(struct hold *hold)
{
    assert_int_equal(uvzk_hold_cancel(&hold->request), 0);
}

void hold_release_or_cancel(struct hold *hold)
{
    if (hold_pending(hold)) {
        hold_cancel(hold);
    } else if (hold_holds(hold) && !hold->releasing) {
        hold_release(hold);
    }
}

void hold_give_back(struct hold *hold)
{
    hold_release(hold);
    hold_await_released(hold, WORLD_TIMEOUT_MS, 0);
}

void hold_acquire_release(struct hold *hold, uint64_t ms)
{
    hold_await(hold, ms);
    hold_give_back(hold);
}

void hold_finish(struct hold *hold, uint64_t ms)
{
    hold_await_answer(hold, ms);
    if (hold_holds(hold)) {
        if (!hold->releasing) {
            hold_release(hold);
        }
        assert_true(world_await(hold->process->world, &hold->released, ms));
    }
    assert_null(hold->request.impl);
}

static void on_verified(uvzk_req_t *request, int status)
{
    struct hold *hold = request->data;

    expect(hold, request->impl == NULL, "the answer is not final");
    hold->verified++;
    hold->verify_status = status;
}

void hold_verify(struct hold *hold, uint64_t ms, int verify_status)
{
    hold->verified = 0;
    hold->verify_request.data = hold;
    assert_int_equal(uvzk_hold_verify(&hold->request, &hold->verify_request, on_verified),
                     0);
    expect(hold, world_await(hold->process->world, &hold->verified, ms),
           "it is not verified");
    assert_int_equal(hold->verify_status, verify_status);
}

void hold_unexpected_cb(uvzk_hold_t *request, int status)
{
    (void)request;
    (void)status;
    fail_msg("a refused call is answered");
}
