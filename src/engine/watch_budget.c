#include "engine/watch_budget.h"

#include <string.h>

static uint64_t cost(const char *path)
{
    return strlen(path) + 4;
}

bool uvzk__watch_budget_take(struct uvzk__client *client, const char *path)
{
    if (client->watch_bytes + cost(path) > UVZK__WATCH_BYTES_MAX) {
        return false;
    }
    client->watch_bytes += cost(path);
    client->watch_count++;
    return true;
}

/* The other two thirds are for those that somebody has to have. */
bool uvzk__watch_budget_is_ample(const struct uvzk__client *client)
{
    return client->watch_bytes < UVZK__WATCH_BYTES_MAX / 3;
}

void uvzk__watch_budget_give(struct uvzk__client *client, const char *path)
{
    client->watch_bytes -= cost(path);
    client->watch_count--;
}
