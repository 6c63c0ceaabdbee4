#include "engine/watch_budget.h"

#include <string.h>

#include "engine/client.h"
#include "engine/log.h"

#define NAME_BYTES 64 /* of a contender's znode, and more than that */

static uint64_t cost(const char *path)
{
    return strlen(path) + 4;
}

static bool fits(const struct uvzk__client *client, uint64_t bytes)
{
    return client->watches.bytes + bytes <= UVZK__WATCH_BYTES_MAX;
}

bool uvzk__watch_budget_has_room(const struct uvzk__client *client, const char *path)
{
    return fits(client, cost(path) + NAME_BYTES);
}

/* Once, until there is room for another one. */
static void tell_spent(struct uvzk__client *client)
{
    if (!client->watches.told) {
        client->watches.told = true;
        uvzk__log(client, UVZK_LOG_WARN, "session",
                  "the budget of watches, %u bytes of their paths, is spent: set "
                  "options.sessions, or set it higher",
                  UVZK__WATCH_BYTES_MAX);
    }
}

bool uvzk__watch_budget_take(struct uvzk__client *client, const char *path)
{
    if (!fits(client, cost(path))) {
        tell_spent(client);
        return false;
    }
    client->watches.told = false;
    client->watches.bytes += cost(path);
    client->watches.count++;
    return true;
}

/* The other two thirds are for those that somebody has to have. */
bool uvzk__watch_budget_is_ample(const struct uvzk__client *client)
{
    return client->watches.bytes < UVZK__WATCH_BYTES_MAX / 3;
}

void uvzk__watch_budget_give(struct uvzk__client *client, const char *path)
{
    client->watches.bytes -= cost(path);
    client->watches.count--;
}

void uvzk__unwatch(struct uvzk__client *client, struct uvzk__watch *watch)
{
    if (!client->port_closing) {
        client->port->unwatch(client->port, watch);
    }
}
