/* SPDX-License-Identifier: Apache-2.0 */
/* owners [HOSTS]: an owner acquires a lock again that it already holds, and another owner
 * waits.
 *
 * An owner is any pointer, for example to a request or to a customer; in Java it is the
 * thread. Here alice's handler calls another handler that acquires the same lock. That
 * acquire is granted at once, and the lock is free when both have been released. */
#include <stdio.h>
#include <uv.h>
#include <uvzk.h>

struct customer {
    const char *name;
    uvzk_hold_t hold;
};

static uvzk_client_t client;
static uvzk_mutex_t account;
static struct customer alice = {.name = "alice"}, bob = {.name = "bob"};
static uvzk_hold_t inner;
static int bob_had_it;

static int acquire_for(struct customer *owner, uvzk_hold_t *hold);

static void on_lost(uvzk_hold_t *hold, int reason)
{
    (void)hold;
    printf("lost: %s\n", uvzk_strerror(reason));
    uvzk_client_close(&client, NULL);
}

static void on_released(uvzk_hold_t *hold, int status)
{
    struct customer *owner = hold->data;

    printf("%s: released, %s; has it still: %s\n", owner->name,
           status == 0 ? "yes" : uvzk_strerror(status),
           uvzk_lock_is_held_by(&account, owner) ? "yes" : "no");
    if (hold == &inner) {
        uvzk_hold_release(&alice.hold, on_released);
    } else if (owner == &bob) {
        uvzk_client_close(&client, NULL);
    }
}

static void on_acquired(uvzk_hold_t *hold, int status)
{
    struct customer *owner = hold->data;

    if (status < 0) {
        on_lost(hold, status);
        return;
    }
    printf("%s: granted%s\n", owner->name, hold == &inner ? " again" : "");
    if (hold == &alice.hold) {
        acquire_for(&bob, &bob.hold); /* waits */
        acquire_for(&alice, &inner);  /* is granted at once */
    } else {
        bob_had_it = owner == &bob;
        uvzk_hold_release(hold, on_released);
    }
}

static int acquire_for(struct customer *owner, uvzk_hold_t *hold)
{
    uvzk_acquire_options_t how;

    uvzk_acquire_options_init(&how);
    how.owner = owner;
    hold->data = owner;
    return uvzk_lock_acquire(&account, hold, &how, on_acquired, on_lost);
}

int main(int argc, char **argv)
{
    uv_loop_t *loop = uv_default_loop();
    uvzk_client_options_t options;

    uvzk_client_options_init(&options);
    options.hosts = argc > 1 ? argv[1] : "127.0.0.1:2181";
    int rc = uvzk_client_init(loop, &client, &options);
    if (rc < 0) {
        fprintf(stderr, "%s: %s\n", options.hosts, uvzk_strerror(rc));
        return 1;
    }
    if ((rc = uvzk_client_start(&client)) < 0 ||
        (rc = uvzk_mutex_init(&client, &account, "/examples/account")) < 0 ||
        (rc = acquire_for(&alice, &alice.hold)) < 0) {
        fprintf(stderr, "%s\n", uvzk_strerror(rc));
        uvzk_client_close(&client, NULL);
    }
    uv_run(loop, UV_RUN_DEFAULT);
    return uv_loop_close(loop) == 0 && bob_had_it ? 0 : 1;
}
