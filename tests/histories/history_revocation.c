/* SPDX-License-Identifier: Apache-2.0 */
/* Others ask for a hold, or for the place of somebody who waits, at any time: they write
 * into its znode. Checked:
 *
 *   once    a ticket is told at most as often as was written, while it waits or holds
 *   told    who goes on to hold a znode that was written into is told */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>

#include "history_parts.h"

#define CHILDREN_MAX 128

static bool stat_of(const struct acquisition *acquisition, struct uvzk__stat *stat)
{
    const char *path = uvzk_hold_path(acquisition->request);

    return path != NULL && sim_stat(acquisition->worker->history->sim, path, stat);
}

static void on_revoked(uvzk_hold_t *hold)
{
    struct acquisition *acquisition = hold->data;
    struct history *history = acquisition->worker->history;
    struct uvzk__stat stat;

    sim_note(history->sim, "client %d: %s is asked for",
             acquisition->worker->slot->number, path_of(acquisition));
    if (hold != acquisition->request || !acquisition->revocable ||
        (acquisition->state != ASKING && acquisition->state != HOLDING)) {
        history_fail(history, "asked for what it does not have");
    }
    history->result->revoked++;
    if (stat_of(acquisition, &stat)) { /* it may be another one than before */
        acquisition->revoked =
            (stat.czxid == acquisition->wanted ? acquisition->revoked : 0) + 1;
        acquisition->wanted = stat.czxid;
        if (acquisition->revoked > stat.version) {
            history_fail(history, "asked for %" PRId32 " times, told %" PRId32,
                         stat.version, acquisition->revoked);
        }
    } else {
        acquisition->told_early = true; /* of which znode is not known */
    }
    if (!acquisition->cancelled && chance(history, 2) == 0) {
        acquisition->next_ms = sim_now(history->sim);
    }
}

void revocation_choose(struct acquisition *acquisition, uvzk_acquire_options_t *options)
{
    struct history *history = acquisition->worker->history;

    acquisition->told_early = false;
    acquisition->wanted = 0;
    acquisition->revoked = 0;
    acquisition->asked_ms = 0;
    acquisition->revocable = (history->kinds & HISTORY_REVOKES) != 0 &&
                             history->recipe->revocable && chance(history, 2) == 0;
    options->revoke_cb = acquisition->revocable ? on_revoked : NULL;
}

/* ------------------------------------------------------------------------- asking */

static void on_asked(uvzk_req_t *request, int status)
{
    struct history *history = request->data;

    if (status > 0 || request->impl != NULL || status == UVZK_EBADVERSION) {
        history_fail(history, "a revocation says %s", uvzk_err_name(status));
    }
    free(request);
}

void revocation_step(struct client_slot *slot)
{
    struct history *history = slot->history;
    const char *names[CHILDREN_MAX];
    char path[256];

    if ((history->kinds & HISTORY_REVOKES) == 0 || !history->recipe->revocable ||
        chance(history, 100) != 0) {
        return;
    }
    const char *lock = history_paths[some_path(history)];
    size_t count = sim_children(history->sim, lock, names, CHILDREN_MAX);
    if (count == 0 || count > CHILDREN_MAX) {
        return;
    }
    size_t which = chance(history, 2) == 0 ? 0 : chance(history, count);
    (void)snprintf(path, sizeof(path), "%s/%s", lock, names[which]);
    uvzk_req_t *request = calloc(1, sizeof(*request));
    request->data = history;
    int status = uvzk_client_revoke(slot->client, request, path, on_asked);
    if (status != 0) {
        history_fail(history, "a revocation is refused: %s", uvzk_err_name(status));
        free(request);
    }
}

/* ----------------------------------------------------------------------- checking */

/* Of a znode that may be read, and that has been nobody else's. */
static bool must_be_told(const struct acquisition *acquisition)
{
    const struct history *history = acquisition->worker->history;
    struct uvzk__stat stat;

    return acquisition->state == HOLDING && acquisition->revocable &&
           !acquisition->told_early && acquisition->shares[0].joined == 0 &&
           !history->cohorts && !acquisition_killed(acquisition) &&
           (history->kinds & HISTORY_UNREADABLE) == 0 &&
           uvzk_hold_is_valid(acquisition->request) && stat_of(acquisition, &stat) &&
           stat.version > 0 && stat.czxid != acquisition->wanted;
}

void check_revocations(struct client_slot *slot)
{
    struct history *history = slot->history;
    uint64_t now = sim_now(history->sim);

    if ((history->kinds & HISTORY_REVOKES) == 0) {
        return;
    }
    for (int i = 0; i < history->worker_count; i++) {
        for (int j = 0; j < history->recipe->acquisition_count; j++) {
            struct acquisition *acquisition = &slot->workers[i].acquisitions[j];
            if (!must_be_told(acquisition)) {
                acquisition->asked_ms = 0;
            } else if (acquisition->asked_ms == 0) {
                acquisition->asked_ms = now;
            } else if (now - acquisition->asked_ms >
                       history->told_within_ms + 2ULL * history->timeout_ms) {
                history_fail(history, "client %d was not told that others want %s",
                             slot->number, path_of(acquisition));
            }
        }
    }
}
