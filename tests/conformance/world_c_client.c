/* SPDX-License-Identifier: Apache-2.0 */
/* What the world of a real server has for the port over the C client. */
#include <assert.h>
#include <sched.h>
#include <stdatomic.h>
#include <time.h>

#include "raw.h"
#include "run_loop.h"
#include "session/close_keep_session.h"
#include "session/handle.h"
#include "session/zk_port.h"
#include "world_real.h"

struct uvzk__loop_port *world_port_new(uv_loop_t *loop,
                                       const uvzk_client_options_t *options)
{
    return uvzk__zk_port_new(loop, options);
}

bool world_has_persistent_watches(void)
{
    return false;
}

bool world_rearms_any_number(void)
{
    return false;
}

bool world_moves_by_a_new_handle(void)
{
    return true;
}

static atomic_bool leaves;

/* On the thread that closes the handle, which may block; the loop does not wait for it. */
static void come_back(zhandle_t *zh)
{
    const struct timespec moment = {.tv_nsec = 1000000};
    atomic_store(&leaves, true);
    while (zoo_state(zh) != ZOO_CONNECTED_STATE) {
        (void)nanosleep(&moment, NULL);
    }
}

static bool it_leaves(void *context)
{
    (void)context;
    return atomic_load(&leaves);
}

void world_move_late(struct world *world)
{
    atomic_store(&leaves, false);
    uvzk__close_keep_session_hook(come_back);
    world_move(world);
    assert(run_until(world_loop(world), it_leaves, NULL, PATIENCE_MS));
    uvzk__close_keep_session_hook(NULL);
    proxy_pass(world_proxy(world));
}

/* The client's other thread brings it, some time after its state has changed. */
static bool has_news_of_its_end(struct uvzk__handle *handle)
{
    pthread_mutex_lock(&handle->pending.mutex);
    bool ended = handle->pending.news.ended;
    pthread_mutex_unlock(&handle->pending.mutex);
    return ended;
}

static bool becomes_expired(struct uvzk__handle *handle, uint64_t ms)
{
    uint64_t deadline_ns = uv_hrtime() + ms * UINT64_C(1000000);
    while (!has_news_of_its_end(handle)) {
        if (uv_hrtime() > deadline_ns) {
            return false;
        }
        sched_yield();
    }
    return true;
}

/* The client may take the session back before it is closed: then once more. */
bool world_expire_unheard(struct world *world)
{
    struct uvzk__handle *handle =
        ((struct uvzk__zk_port *)(void *)world_port(world))->handle;
    const clientid_t id = *zoo_client_id(handle->zh);
    for (unsigned i = 0; i < PATIENCE_MS / WORLD_SESSION_MS; i++) {
        (void)raw_expire_session(world_server_hosts(), id.client_id, id.passwd);
        if (becomes_expired(handle, WORLD_SESSION_MS / 4)) {
            return true;
        }
    }
    return false;
}
