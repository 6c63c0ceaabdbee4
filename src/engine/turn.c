#include "engine/turn.h"

#include "engine/client.h"

/* A turn repeats itself while callbacks make new work, but not for ever: the
 * loop's other handles want to be served. */
#define ROUNDS_A_TURN 64

/* A port that is closed cannot be asked any more. */
uint64_t uvzk__now(struct uvzk__client *client)
{
    return client->port_closing ? client->port_closing_ms
                                : client->port->now(client->port);
}

void uvzk__wake(struct uvzk__client *client)
{
    if (!client->port_closing) {
        client->port->wake(client->port);
    }
}

void uvzk__timed_set(struct uvzk__client *client, struct uvzk__timed *timed,
                     uint64_t at_ms)
{
    uint64_t before = uvzk__deadline_next(&client->deadlines);

    uvzk__deadline_set(&client->deadlines, &timed->deadline, at_ms);
    if (at_ms < before && !client->port_closing) {
        client->port->alarm(client->port, at_ms);
    }
}

void uvzk__timed_clear(struct uvzk__client *client, struct uvzk__timed *timed)
{
    uvzk__deadline_clear(&client->deadlines, &timed->deadline);
}

void uvzk__tell_soon(struct uvzk__client *client, struct uvzk__telling *telling)
{
    if (uvzk__list_empty(&telling->link)) {
        uvzk__list_append(&client->tellings, &telling->link);
        uvzk__wake(client);
    }
}

static void run_due(struct uvzk__client *client)
{
    uint64_t now = uvzk__now(client);
    struct uvzk__deadline *deadline;

    while ((deadline = uvzk__deadline_pop(&client->deadlines, now)) != NULL) {
        struct uvzk__timed *timed =
            UVZK__CONTAINER_OF(deadline, struct uvzk__timed, deadline);
        timed->due(timed);
    }
}

void uvzk__tell_all(struct uvzk__client *client)
{
    struct uvzk__link tellings, *link;

    uvzk__list_move(&client->tellings, &tellings);
    while ((link = uvzk__list_take(&tellings)) != NULL) {
        struct uvzk__telling *telling =
            UVZK__CONTAINER_OF(link, struct uvzk__telling, link);
        telling->deliver(telling);
    }
}

static bool has_work(const struct uvzk__client *client)
{
    return !uvzk__list_empty(&client->tellings) || client->above->has_work(client);
}

void uvzk__turn(struct uvzk__client *client)
{
    int rounds = 0;
    bool more;

    do {
        run_due(client);
        client->above->work(client);
        uvzk__tell_all(client);
        more = has_work(client);
    } while (more && ++rounds < ROUNDS_A_TURN);
    if (more) {
        uvzk__wake(client);
    }
    if (!client->port_closing) {
        client->port->alarm(client->port, uvzk__deadline_next(&client->deadlines));
        client->above->turned(client);
    }
}
