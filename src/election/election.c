/* The public functions on elections, except for the list of participants
 * (election_participants.c). They check their arguments and pass the call to the
 * candidacy (candidacy.c) or ask the hold. */
#include "election/election.h"

#include "base/path.h"
#include "base/refusal.h"
#include "base/struct_size.h"
#include "claim/lock.h"
#include "election/candidacy.h"
#include "election/elections.h"
#include "engine/handle_end.h"
#include "locks/leader_latch.h"
#include "locks/mutex.h"

void uvzk_election_options_init_size(uvzk_election_options_t *options, size_t size)
{
    if (options == NULL) {
        return;
    }
    memset(options, 0, size);
    options->size = size;
}

/* -------------------------------------------------------------------- init */

/* Copies the options over the defaults, and gives the id its length. */
static int read_options(uvzk_election_options_t *into,
                        const uvzk_election_options_t *from)
{
    uvzk_election_options_init(into);
    if (from == NULL) {
        return 0;
    }
    if (from->size < UVZK__SIZE_UP_TO(uvzk_election_options_t, error_cb)) {
        return uvzk__refuse(UV_EINVAL,
                            "options.size: begin with uvzk_election_options_init");
    }
    uvzk__settings_from(into, from, sizeof(*into));
    if (into->id != NULL && into->id_length == 0) {
        into->id_length = strlen(into->id);
    }
    return uvzk__refuse_if(UV_EINVAL, into->kind > UVZK_ELECTION_SELECTOR
                                          ? "options.kind: there is no such kind"
                                      : into->id == NULL && into->id_length > 0
                                          ? "options.id is NULL, id_length is not 0"
                                      : into->id_length > UVZK__DATA_MAX
                                          ? "options.id_length is more than 1000000"
                                          : NULL);
}

/* Without an id, or with an empty one, a latch has no data, as in Curator, and a selector
 * has the client's. */
static int copy_id(struct uvzk__election *election,
                   const uvzk_election_options_t *options)
{
    if (options->kind == UVZK_ELECTION_SELECTOR && options->id_length == 0) {
        return 0;
    }
    election->id = uvzk__memdup(options->id, options->id_length);
    election->id_length = options->id_length;
    return election->id == NULL ? UV_ENOMEM : 0;
}

static int make_lock(uvzk_client_t *client, struct uvzk__election *election,
                     const char *path, uint32_t kind)
{
    int status = kind == UVZK_ELECTION_LATCH
                     ? uvzk__leader_latch_init(client, &election->lock, path)
                     : uvzk_mutex_init(client, &election->lock, path);

    election->session = uvzk__lock_session(&election->lock);
    return status;
}

/* Makes everything that can fail, and queues the participant last. */
static int election_begin(uvzk_client_t *client, struct uvzk__election *election,
                          const char *path, const uvzk_election_options_t *options)
{
    int status = copy_id(election, options);

    if (status == 0) {
        status = make_lock(client, election, path, options->kind);
    }
    if (status == 0 && options->changed_cb != NULL) {
        status = uvzk__leader_report_begin(election, options->changed_cb);
    }
    if (status == 0) {
        status = uvzk__candidacy_queue(election);
    }
    return status;
}

static void election_discard(struct uvzk__election *election)
{
    if (election->lock.impl != NULL) {
        uvzk__leader_report_end(&election->report);
        uvzk__lock_free(election->lock.impl);
    }
    uvzk__free(election->id);
    uvzk__free(election);
}

static struct uvzk__election *new_election(uvzk_election_t *handle,
                                           const uvzk_election_options_t *options)
{
    struct uvzk__election *election = uvzk__calloc(1, sizeof(*election));

    if (election != NULL) {
        election->handle = handle;
        election->leader_cb = options->leader_cb;
        election->deposed_cb = options->deposed_cb;
        election->error_cb = options->error_cb;
        election->max_reign_ms = options->max_reign_ms;
        election->manual_requeue = options->manual_requeue != 0;
        uvzk__candidacy_init(election);
        uvzk__leader_report_init(&election->report);
    }
    return election;
}

int uvzk_election_init(uvzk_client_t *client, uvzk_election_t *handle, const char *path,
                       const uvzk_election_options_t *options)
{
    uvzk_election_options_t known;
    int status = uvzk__check_init(client, "election", handle,
                                  handle == NULL ? NULL : handle->impl, path);

    if (status == 0) {
        status = read_options(&known, options);
    }
    if (status != 0) {
        return status;
    }
    struct uvzk__election *election = new_election(handle, &known);
    if (election == NULL) {
        return UV_ENOMEM;
    }
    status = election_begin(client, election, path, &known);
    if (status != 0) {
        election_discard(election);
        return status;
    }
    uvzk__list_init(&election->in_session);
    uvzk__list_append(&election->session->elections->all, &election->in_session);
    handle->impl = election;
    return 0;
}

/* ------------------------------------------------------------------ the other calls */

/* The election, if it is open. Otherwise NULL, and *status is UV_EINVAL or UVZK_ECLOSED. */
static struct uvzk__election *open_election(const uvzk_election_t *handle, int *status)
{
    if (handle == NULL) {
        *status = uvzk__refuse(UV_EINVAL, "election is NULL");
        return NULL;
    }
    struct uvzk__election *election = handle->impl;
    if (election == NULL || uvzk__candidacy_is_closing(election) ||
        uvzk__session_is_closing(election->session)) {
        *status = uvzk__refuse(UVZK_ECLOSED, "the election or its client is closing, or "
                                             "it is not initialised");
        return NULL;
    }
    return election;
}

int uvzk_election_resign(uvzk_election_t *handle)
{
    int status = 0;
    struct uvzk__election *election = open_election(handle, &status);

    if (election == NULL) {
        return status;
    }
    status = uvzk__candidacy_resign(election, 0);
    return uvzk__refuse_if(
        status, status == 0 ? NULL : "the participant does not lead, or resigns already");
}

int uvzk_election_requeue(uvzk_election_t *handle)
{
    int status = 0;
    struct uvzk__election *election = open_election(handle, &status);

    if (election == NULL) {
        return status;
    }
    status = uvzk__candidacy_requeue(election);
    return status != UVZK_ESTATE
               ? status
               : uvzk__refuse(status, "the participant is queued, or uvzk will queue it");
}

int uvzk_election_close(uvzk_election_t *handle, unsigned mode,
                        uvzk_election_close_cb close_cb)
{
    if (handle == NULL || mode > UVZK_ELECTION_NOTIFY) {
        return uvzk__refuse(UV_EINVAL, handle == NULL ? "election is NULL"
                                                      : "mode: there is no such mode");
    }
    struct uvzk__election *election = handle->impl;
    if (election == NULL || uvzk__candidacy_is_closing(election)) {
        return uvzk__refuse(UVZK_ESTATE, "the election is closing, or not initialised");
    }
    election->close_cb = close_cb;
    uvzk__end_begin(&handle->end, election->session);
    uvzk__candidacy_close(election, mode == UVZK_ELECTION_NOTIFY);
    return 0;
}

int uvzk__election_wait_to_lead(uvzk_election_t *handle,
                                struct uvzk__lead_request *request)
{
    int status = 0;
    struct uvzk__election *election = open_election(handle, &status);

    if (election == NULL) {
        return status;
    }
    if (!uvzk__candidacy_goes_on(election)) {
        return uvzk__refuse(UVZK_ESTATE, "the participant is not queued");
    }
    uvzk__list_init(&request->link);
    uvzk__list_append(&election->lead_requests, &request->link);
    if (uvzk__candidacy_leads(election)) {
        uvzk__notify_later(election->session, &election->notification);
    }
    return 0;
}

struct uvzk__session *uvzk__election_session(const uvzk_election_t *handle)
{
    const struct uvzk__election *election = handle == NULL ? NULL : handle->impl;

    return election == NULL ? NULL : election->session;
}

/* ------------------------------------------------------------- what is known of it */

uvzk_hold_t *uvzk_election_hold(const uvzk_election_t *handle)
{
    struct uvzk__election *election = handle == NULL ? NULL : handle->impl;

    return election != NULL && uvzk__candidacy_leads(election) ? &election->hold : NULL;
}

/* [P22] A leader leads as long as its hold is valid. */
int uvzk_election_is_leader(const uvzk_election_t *handle)
{
    const uvzk_hold_t *hold = uvzk_election_hold(handle);

    return hold != NULL && uvzk_hold_is_valid(hold);
}

int64_t uvzk_election_token(const uvzk_election_t *handle)
{
    const uvzk_hold_t *hold = uvzk_election_hold(handle);

    return hold == NULL ? 0 : uvzk_hold_token(hold);
}

uint64_t uvzk_election_valid_until(const uvzk_election_t *handle)
{
    const uvzk_hold_t *hold = uvzk_election_hold(handle);

    return hold == NULL ? 0 : uvzk_hold_valid_until(hold);
}
