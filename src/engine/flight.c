#include "engine/flight.h"

#include "base/list.h"
#include "base/memory.h"
#include "engine/client.h"
#include "engine/submission.h"

/* As many as a multi has ops: what a turn sends beyond that is given back. */
#define SPARE_MAX 64U

struct uvzk__flight {
    struct uvzk__rpc rpc;
    struct uvzk__acl acl;
    union {
        void *asker;
        struct uvzk__flight *next; /* of the spare ones */
    };
};

static struct uvzk__flight *flight_of(struct uvzk__rpc *rpc)
{
    return UVZK__CONTAINER_OF(rpc, struct uvzk__flight, rpc);
}

static struct uvzk__flight *take(struct uvzk__flights *flights)
{
    struct uvzk__flight *flight = flights->spare;

    if (flight == NULL) {
        return uvzk__malloc(sizeof(*flight));
    }
    flights->spare = flight->next;
    flights->spare_count--;
    return flight;
}

struct uvzk__rpc *uvzk__flight_new(struct uvzk__client *client, void *asker,
                                   enum uvzk__rpc_kind kind, const char *path,
                                   uvzk__reply_cb reply_cb)
{
    struct uvzk__flight *flight = take(&client->flights);

    if (flight == NULL) {
        uvzk__hold_back(client);
        return NULL;
    }
    flight->asker = asker;
    uvzk__rpc_prepare(&flight->rpc, kind, path, reply_cb);
    return &flight->rpc;
}

struct uvzk__acl *uvzk__flight_acl(struct uvzk__rpc *rpc)
{
    return &flight_of(rpc)->acl;
}

void *uvzk__flight_asker(struct uvzk__rpc *rpc)
{
    return flight_of(rpc)->asker;
}

void uvzk__flight_landed(struct uvzk__client *client, struct uvzk__rpc *rpc, int status,
                         bool write)
{
    struct uvzk__flight *flight = flight_of(rpc);

    uvzk__answered(client, rpc, status, write);
    if (client->flights.spare_count < SPARE_MAX) {
        flight->next = client->flights.spare;
        client->flights.spare = flight;
        client->flights.spare_count++;
    } else {
        uvzk__free(flight);
    }
}

void uvzk__flights_free(struct uvzk__client *client)
{
    while (client->flights.spare != NULL) {
        uvzk__free(take(&client->flights));
    }
}
