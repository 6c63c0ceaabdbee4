/* SPDX-License-Identifier: Apache-2.0 */
/* What the tests of barriers share: calls that record their callbacks and check their
 * order, and what the servers have at a barrier's path. */
#ifndef UVZK_BARRIER_KIT_H
#define UVZK_BARRIER_KIT_H

#include "cmocka_test.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "world.h"

#define BARRIER_PATH "/app/barriers/b"
#define BARRIER_READY BARRIER_PATH "/ready"
#define BARRIER_NO_STATUS 9999

/* One call on a barrier. */
struct recorded_call {
    uvzk_req_t call;
    struct world *world;
    int told, status;
    uint64_t told_ms;
    void (*hook)(struct recorded_call *); /* inside the callback; may be NULL */
    void *data;                           /* for the test */
};

void call_prepare(struct recorded_call *, struct world *);
/* The callback of each call. */
void call_told(uvzk_req_t *, int status);
/* Runs the simulation until the callback has come, and asserts its status. */
void call_await(struct recorded_call *, int status);
/* Begins the call after call_prepare, and asserts that it is accepted. */
void call_set(struct recorded_call *, struct world *, uvzk_barrier_t *);
void call_remove(struct recorded_call *, struct world *, uvzk_barrier_t *);
void call_wait(struct recorded_call *, struct world *, uvzk_barrier_t *,
               int64_t timeout_ms);
void call_enter(struct recorded_call *, struct world *, uvzk_double_barrier_t *,
                int64_t timeout_ms);
void call_leave(struct recorded_call *, struct world *, uvzk_double_barrier_t *,
                int64_t timeout_ms);

/* How many children the barrier's znode has, without `ready`. */
size_t barrier_members(const struct world *);
bool barrier_is_ready(const struct world *);
/* An operator creates a child of BARRIER_PATH, with its parents; deletes it. */
void barrier_create_by_hand(const struct world *, const char *path, enum uvzk__mode);
void barrier_delete_by_hand(const struct world *, const char *path);

/* Runs the simulation until the barrier has this many members. */
void barrier_await_members(struct world *, size_t members);

#endif
