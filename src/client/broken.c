/* Ends a client whose invariant is broken: lifecycle.c calls it once for the client.
 *
 * The promise (P2) requires the order: no session is ended at the servers before the user
 * has been told of every hold that depended on it. The claims are found through the
 * locks, which no state machine moves, not through the contenders. The contenders end
 * last. No znode is deleted: the servers delete the ephemeral ones with the session. */
#include "client/broken.h"

#include "claim/acquisition.h"
#include "claim/claim.h"
#include "claim/claim_acquisitions.h"
#include "claim/lock.h"
#include "client/session_objects.h"
#include "directory/contender.h"
#include "election/election.h"
#include "engine/turn.h"

static void for_each_session(struct uvzk__session *session,
                             void (*act)(struct uvzk__session *))
{
    for (uint32_t i = 0; i < session->client->count; i++) {
        act(session->client->sessions[i]);
    }
}

static void for_each_claim(struct uvzk__session *session,
                           void (*act)(struct uvzk__claim *, int))
{
    struct uvzk__link *locks = &session->claims->locks;

    for (struct uvzk__link *link = locks->next; link != locks; link = link->next) {
        uvzk__lock_each_claim(UVZK__CONTAINER_OF(link, struct uvzk__lock, in_session),
                              act, UVZK_EINTERNAL);
    }
}

static void end_holds(struct uvzk__session *session)
{
    for_each_claim(session, uvzk__claim_end_holds);
}

static void end_releases(struct uvzk__contender *contender, int code)
{
    if (contender->claim != NULL) {
        uvzk__claim_fail_releases(contender->claim, code);
    }
}

static void end_rest(struct uvzk__session *session)
{
    for_each_claim(session, uvzk__claim_end_broken);
    uvzk__for_each_contender(session, end_releases, UVZK_EINTERNAL);
    uvzk__session_objects_unreachable(session, UVZK_EINTERNAL);
    uvzk__elections_closing(session, UVZK_EINTERNAL);
    uvzk__for_each_contender(session, uvzk__contender_end, UVZK_EINTERNAL);
}

static void end_session(struct uvzk__session *session)
{
    if (!uvzk__session_port_is_closing(session)) {
        session->port->end_session(session->port);
    }
}

/* All other notifications, such as log lines and refusals, come after the losses. */
static void tell_of_losses(struct uvzk__session *session)
{
    uvzk__notify_those(session, uvzk__acquisition_is_loss);
}

void uvzk__broken_end(struct uvzk__session *session)
{
    uvzk__set_broken_told(session);
    for_each_session(session, end_holds);
    for_each_session(session, tell_of_losses);
    for_each_session(session, end_rest);
    for_each_session(session, end_session);
}
