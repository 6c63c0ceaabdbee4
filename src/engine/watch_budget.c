#include "engine/watch_budget.h"

#include <string.h>

#include "engine/client.h"

static uint64_t cost(const char *path)
{
    return strlen(path) + 4;
}

bool uvzk__watch_budget_take(struct uvzk__client *client, const char *path)
{
    if (client->watches.bytes + cost(path) > UVZK__WATCH_BYTES_MAX) {
        return false;
    }
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
