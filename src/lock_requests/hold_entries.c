/* SPDX-License-Identifier: Apache-2.0 */
/* uvzk_client_each_hold: the list of all pending acquires and holds of a client, in the
 * order of its sessions, their locks and the claims of each lock. The callback must not
 * change anything while the walk goes on. An acquire that has ended and a hold that is
 * being released are not listed: they have left their claim, or their claim has left the
 * lock. */
#include "base/refusal.h"
#include "claim/acquisition.h"
#include "claim/claim.h"
#include "claim/lock.h"
#include "claim/timed_out_wait.h"

static int hold_entries_show(const struct uvzk__acquisition *acquisition,
                             uvzk_hold_entry_cb cb, void *context)
{
    const struct uvzk__claim *claim = acquisition->claim;
    struct uvzk__lock *lock = acquisition->lock;
    struct uvzk__wait_reason reason;

    uvzk__claim_wait_reason(claim, UVZK__WAIT_REASON_COUNTED_MAX, &reason);
    /* The text of the predecessor is valid until the next entry. */
    char *path =
        uvzk__claims_user_text(claim->session, uvzk__wait_reason_text_size(&reason));
    if (path == NULL) {
        return UV_ENOMEM;
    }
    uvzk_wait_info_t wait = uvzk__wait_reason_to_public(&reason, path);
    uvzk_hold_entry_t entry = {.size = sizeof(entry),
                               .lock = lock->handle,
                               .lock_path = lock->path->text,
                               .hold = acquisition->handle,
                               .owner = uvzk__claim_owner(claim),
                               .is_held = acquisition->state == UVZK__ACQUISITION_GRANTED,
                               .wait = &wait,
                               .session = claim->session->number};
    if (entry.is_held) {
        entry.token = claim->fencing_token;
        entry.path = uvzk__claim_node_path(claim, 0);
    }
    cb(claim->session->handle, &entry, context);
    return 0;
}

static int show_claim(const struct uvzk__claim *claim, uvzk_hold_entry_cb cb,
                      void *context)
{
    const struct uvzk__acquisition *each;
    int status = 0;

    for (each = uvzk__claim_first_acquisition(claim); each != NULL && status == 0;
         each = uvzk__claim_next_acquisition(each)) {
        status = hold_entries_show(each, cb, context);
    }
    return status;
}

static int show_locks(const struct uvzk__session *session, uvzk_hold_entry_cb cb,
                      void *context)
{
    const struct uvzk__link *at;
    int status = 0;

    for (at = session->claims->locks.next; at != &session->claims->locks; at = at->next) {
        const struct uvzk__lock *lock =
            UVZK__CONTAINER_OF((uintptr_t)at, struct uvzk__lock, in_session);
        for (const struct uvzk__claim *claim = uvzk__lock_first_claim(lock);
             claim != NULL && status == 0; claim = uvzk__lock_next_claim(lock, claim)) {
            status = show_claim(claim, cb, context);
        }
    }
    return status;
}

int uvzk_client_each_hold(const uvzk_client_t *handle, uvzk_hold_entry_cb cb,
                          void *context)
{
    const struct uvzk__session *session = handle == NULL ? NULL : handle->impl;
    int status = 0;

    if (handle == NULL || cb == NULL) {
        return uvzk__refuse(UV_EINVAL, handle == NULL ? "client is NULL" : "cb is NULL");
    }
    if (session == NULL) {
        return uvzk__refuse(UVZK_ESTATE, "client is not initialised");
    }
    for (uint32_t i = 0; i < session->client->count && status == 0; i++) {
        status = show_locks(session->client->sessions[i], cb, context);
    }
    return status;
}
