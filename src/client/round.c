#include "client/round.h"

#include "claim/claim.h"
#include "client/lifecycle.h"
#include "directory/contender.h"
#include "directory/directory.h"
#include "directory/making.h"
#include "directory/queue.h"
#include "directory/sweep.h"
#include "directory/watermark_watch.h"
#include "proof/prover.h"
#include "value/replica.h"

static void resume(struct uvzk__client *client)
{
    uvzk__contenders_pump(client);
    uvzk__queues_touch(client);
    uvzk__replicas_resume(client);
}

static void reached(struct uvzk__client *client)
{
    uvzk__prover_refresh(client);
    resume(client);
    uvzk__wake(client);
}

static void work(struct uvzk__client *client)
{
    uvzk__claims_unwind(client);
    uvzk__directories_settle(client);
    uvzk__makings_send(client);
    uvzk__sweep(client); /* after settling: a handover is checked by its delete */
}

/* Whoever dooms a node touches its queue too. */
static bool has_work(const struct uvzk__client *client)
{
    return !uvzk__list_empty(&client->directories->dirty) ||
           !uvzk__list_empty(&client->claims->unwinding) || uvzk__makings_due(client) ||
           uvzk__sweep_is_due(client);
}

/* The session may have been shortened on a connection that nobody is told of (port.h, 12): what
 * is held ends sooner. */
static void turned(struct uvzk__client *client)
{
    if (!uvzk__session_is_connected(&client->session)) {
        uvzk__prover_schedule(client);
    }
    uvzk__close_when_done(client);
}

const struct uvzk__above uvzk__round = {
    .answered = uvzk__prover_answered,
    .reached = reached,
    .resume = resume,
    .work = work,
    .has_work = has_work,
    .give_way = uvzk__watermarks_give_way,
    .turned = turned,
};
