/* All that is pending or held through a client's locks. */
#include "base/refusal.h"
#include "claim/acquisition.h"
#include "claim/claim.h"
#include "claim/lock.h"
#include "claim/ran_out.h"

static int show(const struct uvzk__acquisition *acquisition, uvzk_hold_entry_cb cb,
                void *context)
{
    const struct uvzk__claim *claim = acquisition->claim;
    struct uvzk__lock *lock = acquisition->lock;
    struct uvzk__awaiting awaiting;

    uvzk__claim_awaits(claim, UVZK__AWAITING_COUNTED_MAX, &awaiting);
    char *path = uvzk__claims_lend(claim->client, uvzk__awaiting_path_size(&awaiting));
    if (path == NULL) {
        return UV_ENOMEM;
    }
    uvzk_hold_entry_t entry = {.size = sizeof(entry),
                               .lock = lock->shell,
                               .lock_path = lock->path->text,
                               .hold = acquisition->shell,
                               .owner = uvzk__claim_owner(claim),
                               .is_held = acquisition->told == UVZK__TOLD_GRANTED,
                               .wait = uvzk__awaiting_in_words(&awaiting, path),
                               .session = claim->client->number};
    if (entry.is_held) {
        entry.token = claim->token;
        entry.path = uvzk__claim_node_path(claim, 0);
    }
    cb(claim->client->shell, &entry, context);
    return 0;
}

static int show_claim(const struct uvzk__claim *claim, uvzk_hold_entry_cb cb,
                      void *context)
{
    const struct uvzk__link *link;
    int status = 0;

    for (link = uvzk__ring_first(&claim->acquisitions); link != NULL && status == 0;
         link = uvzk__ring_next(&claim->acquisitions, link)) {
        status =
            show(UVZK__CONTAINER_OF((uintptr_t)link, struct uvzk__acquisition, siblings),
                 cb, context);
    }
    return status;
}

static int show_locks(const struct uvzk__client *client, uvzk_hold_entry_cb cb,
                      void *context)
{
    const struct uvzk__link *at;
    int status = 0;

    for (at = client->claims->locks.next; at != &client->claims->locks; at = at->next) {
        const struct uvzk__lock *lock =
            UVZK__CONTAINER_OF((uintptr_t)at, struct uvzk__lock, everyone);
        for (const struct uvzk__claim *claim = uvzk__lock_first_claim(lock);
             claim != NULL && status == 0; claim = uvzk__lock_next_claim(lock, claim)) {
            status = show_claim(claim, cb, context);
        }
    }
    return status;
}

int uvzk_client_each_hold(uvzk_client_t *shell, uvzk_hold_entry_cb cb, void *context)
{
    const struct uvzk__client *client = shell == NULL ? NULL : shell->impl;
    int status = 0;

    if (shell == NULL || cb == NULL) {
        return uvzk__refuse(UV_EINVAL, shell == NULL ? "client is NULL" : "cb is NULL");
    }
    if (client == NULL) {
        return uvzk__refuse(UVZK_ESTATE, "client is not initialised");
    }
    for (uint32_t i = 0; i < client->sessions->count && status == 0; i++) {
        status = show_locks(client->sessions->each[i], cb, context);
    }
    return status;
}
