/* The elections of one session: they are listed here while their memory exists, which
 * ends with the close of their lock, or with the client. client/lifecycle.c calls this
 * when the client closes and when it has ended. */
#include "election/elections.h"

#include "election/candidacy.h"
#include "election/election.h"
#include "engine/handle_end.h"

static struct uvzk__election *election_at(struct uvzk__link *link)
{
    return UVZK__CONTAINER_OF(link, struct uvzk__election, in_session);
}

void uvzk__elections_init(struct uvzk__elections *elections)
{
    uvzk__list_init(&elections->all);
}

void uvzk__elections_closing(struct uvzk__session *session, int code)
{
    struct uvzk__link *all = &session->elections->all;

    for (struct uvzk__link *link = all->next; link != all; link = link->next) {
        uvzk__candidacy_client_closing(election_at(link), code);
    }
}

/* A wait that is left belongs to a future that outlives the client. */
static void forget_waits(struct uvzk__election *election)
{
    while (uvzk__list_take(&election->lead_requests) != NULL) {
    }
}

static void free_election(struct uvzk__election *election)
{
    election->handle->impl = NULL;
    uvzk__list_remove(&election->in_session);
    uvzk__list_remove(&election->notification.link);
    forget_waits(election);
    uvzk__leader_report_end(&election->report);
    uvzk__free(election->id);
    uvzk__free(election);
}

void uvzk__election_lock_closed(uvzk_lock_t *lock)
{
    struct uvzk__election *election =
        UVZK__CONTAINER_OF(lock, struct uvzk__election, lock);
    uvzk_election_close_cb close_cb = election->close_cb;
    uvzk_election_t *handle = election->handle;

    free_election(election);
    struct uvzk__end_listener *listener = uvzk__end_take(&handle->end);

    if (close_cb != NULL) {
        close_cb(handle);
    }
    uvzk__end_tell(listener, 0);
}

void uvzk__elections_free(struct uvzk__session *session)
{
    struct uvzk__link *all = &session->elections->all;

    while (!uvzk__list_empty(all)) {
        free_election(election_at(all->next));
    }
}
