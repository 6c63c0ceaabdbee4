/* SPDX-License-Identifier: Apache-2.0 */
#include "refusal.h"

#include <inttypes.h>
#include <uvzk.h>

#include "stock.h"

enum { SOON_S = 1, LATER_S = 5, LATEST_S = 30 };

const char *refusal_reason(const struct stock *stock, int code)
{
    if (stock->closing) {
        return "this server is going down";
    }
    switch (code) {
    case UV_ETIMEDOUT:
        return "others have the lock, or come before you";
    case UVZK_EUNREACHABLE:
    case UVZK_EEXPIRED:
        return "no connection to ZooKeeper, which grants the lock";
    case UVZK_ENOTQUEUED:
        return "ZooKeeper is slow: there is no place in the queue yet";
    case UVZK_EPROOF:
        return "nobody has the lock, but ZooKeeper could not prove in time that it is "
               "ours";
    default:
        return uvzk_strerror(code);
    }
}

int refusal_retry_after(const struct refusal *refusal, const struct stock *stock)
{
    if (!stock->options.no_lock && !stock_is_connected(stock)) {
        return LATER_S;
    }
    uint64_t seconds = SOON_S + refusal->ahead * stock->options.step_ms / 1000;
    return seconds < LATEST_S ? (int)seconds : LATEST_S;
}

static void write_connection(struct text *body, const struct stock *stock)
{
    uvzk_client_error_t error;

    if (!stock_trouble(stock, &error)) {
        return;
    }
    text_add(body, ", \"connection\": {\"address\": ");
    text_add_quoted(body, error.address);
    text_add(body, ", \"error\": ");
    text_add_quoted(body, error.text);
    text_add(body, "}");
}

void refusal_write(struct text *body, const struct refusal *refusal,
                   const struct stock *stock)
{
    text_add(body, "{\"sold\": false, \"reason\": ");
    text_add_quoted(body, refusal->reason);
    if (refusal->code != 0) {
        text_add(body, ", \"code\": \"%s\"", uvzk_err_name(refusal->code));
    }
    if (refusal->ahead > 0) {
        text_add(body, ", \"ahead\": %" PRIu64, refusal->ahead);
    }
    if (refusal->before != NULL) {
        text_add(body, ", \"before\": ");
        text_add_quoted(body, refusal->before);
    }
    write_connection(body, stock);
    text_add(body, "}\n");
}
