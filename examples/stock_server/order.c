/* SPDX-License-Identifier: Apache-2.0 */
/* The handling of one order; order.h draws its states. routes.c begins orders. Their
 * events come from four sides: uvzk (granted, lost, released), the store, the timer of
 * the step, and the HTTP connection of the client.
 *
 * The one idea: whatever happens, an order is answered at most once, and its end is
 * release(), which releases the lock if the order holds it. A sale needs two things: the
 * hold was valid right before the store was asked, and the store has not seen a greater
 * fencing token. */
#include "order.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <utlist.h>

#include "connection.h"
#include "refusal.h"
#include "stock.h"

enum { ORDERS_MAX = 1000 }; /* waiting ones of one product; more are refused */
enum { ASKING_MS = 500, HOLDER_NAME_MAX = 64 };

/* ---------------------------------------------------------------------- answers */

static void answer(struct order *order, int status, int retry_after_s, struct text *body)
{
    const struct answer told = {status, NULL,        retry_after_s,
                                NULL,   body->bytes, body->failed ? 0 : body->length};

    if (order->connection != NULL) {
        connection_answer(order->connection, &told);
        order->connection = NULL;
    }
    text_free(body);
}

/* Answers that nothing was sold and that the client may try again. */
static void refuse_for(struct order *order, const struct refusal *refusal)
{
    const struct stock *stock = order->product->stock;
    struct text body = {0};

    refusal_write(&body, refusal, stock);
    if (order->connection != NULL) {
        order->product->refused++;
    }
    answer(order, 503, refusal_retry_after(refusal, stock), &body);
}

static void refuse(struct order *order, const char *reason)
{
    refuse_for(order, &(struct refusal){.reason = reason});
}

/* ----------------------------------------------------------------------- the end */

static void on_freed(uv_handle_t *step)
{
    free(step->data);
}

static void end(struct order *order)
{
    DL_DELETE(order->product->orders, order);
    uv_close((uv_handle_t *)&order->step, on_freed);
}

static void on_released(uvzk_hold_t *hold, int status)
{
    (void)status; /* if not 0, uvzk still deletes the znode in the background */
    end(hold->data);
}

/* The order is answered, or its client has disconnected: releases the lock if it is
 * held. */
static void release(struct order *order)
{
    struct stock *stock = order->product->stock;

    if (order->holds && uvzk_hold_release(&order->hold, on_released) == 0) {
        order->state = RELEASING;
        order->holds = false;
    } else {
        end(order);
    }
    stock_settled(stock);
}

/* The lock is lost, or may be: nothing was sold. */
static void give_up_lost(struct order *order)
{
    refuse(order, "the lock was lost before the work was done, nothing is sold");
    release(order);
}

static void note_loss(struct order *order, int reason)
{
    order->lost_reason = reason;
    order->product->lost++;
    order->product->last_loss = uvzk_strerror(reason);
}

static void on_lost(uvzk_hold_t *hold, int reason)
{
    struct order *order = hold->data;

    order->holds = false;
    note_loss(order, reason);
    if (order->state == WORKING) {
        uv_timer_stop(&order->step);
        give_up_lost(order);
    } /* otherwise the store is at work, and its callback decides */
}

/* --------------------------------------------------- the work, the last step first */

/* Returns whether the store has done its job. If it has not, the order is refused. */
static bool stored(struct order *order, enum store_status status)
{
    if (status == STORE_FENCED) {
        order->product->fenced++;
        order->product->last_loss = "the store has seen a greater fencing token";
        refuse(order, "the store has seen a later holder of the lock, nothing is sold");
    } else if (status == STORE_FAILED) {
        refuse(order, "the store does not answer, nothing is sold");
    }
    return status == STORE_DONE;
}

static void on_sold(struct store_job *job, enum store_status status)
{
    struct order *order = job->data;
    struct text body = {0};

    if (stored(order, status)) {
        order->product->sold++;
        text_add(&body,
                 "{\"sold\": true, \"left\": %" PRId64 ", \"token\": %" PRId64 "}\n",
                 job->left, job->token);
        answer(order, 200, 0, &body);
    }
    release(order);
}

static void on_stepped(uv_timer_t *step)
{
    struct order *order = step->data;
    struct product *product = order->product;

    /* Check again after the step: the process may have been stopped for a long time. */
    if (!product->stock->options.no_lock && !uvzk_hold_is_valid(&order->hold)) {
        note_loss(order, UVZK_EPROOF);
        give_up_lost(order);
        return;
    }
    order->state = SELLING;
    store_sell(product->stock->store, &order->job, product->id, order->job.token,
               order->job.left - 1, on_sold);
}

static void on_looked(struct store_job *job, enum store_status status)
{
    struct order *order = job->data;
    struct text body = {0};

    if (order->lost_reason != 0) {
        give_up_lost(order);
    } else if (!stored(order, status) || order->connection == NULL) {
        release(order);
    } else if (job->left <= 0) {
        order->product->sold_out++;
        text_add(&body, "{\"sold\": false, \"reason\": \"sold out\", \"left\": 0}\n");
        answer(order, 409, 0, &body);
        release(order);
    } else { /* in real life: a payment, a call of another service, ... */
        order->state = WORKING;
        uv_timer_start(&order->step, on_stepped, order->product->stock->options.step_ms,
                       0);
    }
}

static void look(struct order *order, int64_t token)
{
    order->state = LOOKING;
    order->granted = uv_now(order->step.loop);
    store_look(order->product->stock->store, &order->job, order->product->id, token,
               on_looked);
}

/* ------------------------------------------------------------------- not granted */

static void not_granted(struct order *order, const char *before)
{
    struct stock *stock = order->product->stock;
    const struct refusal refusal = {order->refused, refusal_reason(stock, order->refused),
                                    order->ahead, before};

    refuse_for(order, &refusal);
    release(order);
}

/* The data of a znode is the name of its instance. The znode may be deleted by now. */
static void on_known(uvzk_future_t *future, int status, void *context)
{
    struct order *order = context;
    const uvzk_result_t *found = uvzk_future_req(future)->result;
    char name[HOLDER_NAME_MAX + 1];

    bool known = status == 0 && found->length > 0;
    if (known) {
        size_t length = found->length < HOLDER_NAME_MAX ? found->length : HOLDER_NAME_MAX;
        snprintf(name, sizeof(name), "%.*s", (int)length, (const char *)found->data);
    }
    uvzk_future_drop(future);
    not_granted(order, known ? name : NULL);
}

/* Asks for the data of that znode. Returns false if the request cannot be sent. */
static bool ask(struct order *order, const char *node_path)
{
    uvzk_client_t *client = &order->product->stock->client;

    if (uvzk_client_read(client, uvzk_future_req(&order->before), node_path,
                         uvzk_future_complete) < 0) {
        return false;
    }
    if (uvzk_future_deadline(&order->before, ASKING_MS) < 0 ||
        uvzk_future_then(&order->before, on_known, order) < 0) {
        uvzk_future_drop(&order->before);
        return false;
    }
    order->state = ASKING;
    return true;
}

/* The wait has timed out. Finds out how many contenders were ahead, and whose the nearest
 * is. */
static void came_too_late(struct order *order)
{
    uvzk_wait_info_t wait;
    const char *before = NULL;

    uvzk_wait_info_init(&wait);
    if (uvzk_hold_wait_info(&order->hold, &wait) == 0) {
        order->ahead = wait.ahead;
        if (wait.kind == UVZK_WAITS_FOR_OURS) {
            before = order->product->stock->options.name;
        } else if (wait.predecessor != NULL && ask(order, wait.predecessor)) {
            return; /* on_known continues */
        }
    }
    not_granted(order, before);
}

static void on_acquired(uvzk_hold_t *hold, int status)
{
    struct order *order = hold->data;

    order->product->waiting--;
    order->refused = status;
    if (status == 0) {
        order->holds = true;
        look(order, uvzk_hold_token(hold));
    } else if (status == UV_ETIMEDOUT) {
        came_too_late(order);
    } else {
        not_granted(order, NULL);
    }
}

/* ----------------------------------------------------------------- the beginning */

static void on_gone(struct connection *connection)
{
    struct order *order = connection->data;

    order->connection = NULL;
    order->product->gone++;
    if (order->state == WAITING) {
        uvzk_hold_cancel(&order->hold); /* on_acquired will run with UV_ECANCELED */
    } else if (order->state == WORKING) {
        uv_timer_stop(&order->step);
        release(order);
    }
}

static struct order *order_new(struct product *product, struct connection *connection)
{
    struct order *order = calloc(1, sizeof(*order));

    if (order != NULL) {
        order->product = product;
        order->connection = connection;
        order->since = uv_now(product->stock->loop);
        order->hold.data = order->job.data = order->step.data = order;
        uv_timer_init(product->stock->loop, &order->step);
        DL_APPEND(product->orders, order);
        product->stock->orders++;
        connection->data = order;
        connection->gone_cb = on_gone;
    }
    return order;
}

/* Refuses a request for which there is no order. */
static void turn_away(struct product *product, struct connection *connection,
                      const char *reason)
{
    struct order nobody = {.product = product, .connection = connection};

    refuse(&nobody, reason);
}

static void acquire(struct order *order)
{
    struct product *product = order->product;
    uvzk_acquire_options_t options;

    uvzk_acquire_options_init(&options);
    options.timeout_ms = product->stock->options.wait_ms;
    order->state = WAITING;
    int status =
        uvzk_lock_acquire(&product->mutex, &order->hold, &options, on_acquired, on_lost);
    if (status < 0) {
        order->refused = status;
        not_granted(order, NULL);
    } else {
        product->waiting++;
    }
}

void order_begin(struct product *product, struct connection *connection)
{
    struct stock *stock = product->stock;
    struct order *order;

    if (stock->closing) {
        turn_away(product, connection, "this server is going down");
    } else if (product->waiting >= ORDERS_MAX) {
        turn_away(product, connection, "too many wait already");
    } else if ((order = order_new(product, connection)) == NULL) {
        turn_away(product, connection, "out of memory");
    } else if (stock->options.no_lock) {
        look(order, 0);
    } else {
        acquire(order);
    }
}

void order_hurry(struct order *order)
{
    if (order->state == WAITING) {
        uvzk_hold_cancel(&order->hold);
    } else if (order->state == ASKING) {
        uvzk_future_cancel(&order->before);
    }
}

unsigned order_count(const struct product *product, enum order_state state)
{
    const struct order *order;
    unsigned count = 0;

    DL_FOREACH(product->orders, order)
    {
        count += order->state == state;
    }
    return count;
}

const struct order *order_holder(const struct product *product)
{
    struct order *order;

    DL_FOREACH(product->orders, order)
    {
        if (order->state == LOOKING || order->state == WORKING ||
            order->state == SELLING) {
            return order;
        }
    }
    return NULL;
}
