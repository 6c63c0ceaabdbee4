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

static bool stat_of(const struct ticket *ticket, struct uvzk__stat *stat)
{
    const char *path = uvzk_hold_path(ticket->request);

    return path != NULL && sim_stat(ticket->actor->history->sim, path, stat);
}

static void on_revoked(uvzk_hold_t *hold)
{
    struct ticket *ticket = hold->data;
    struct history *history = ticket->actor->history;
    struct uvzk__stat stat;

    sim_note(history->sim, "client %d: %s is asked for", ticket->actor->seat->number,
             path_of(ticket));
    if (hold != ticket->request || !ticket->revocable ||
        (ticket->state != ASKING && ticket->state != HOLDING)) {
        history_fail(history, "asked for what it does not have");
    }
    history->result->revoked++;
    if (stat_of(ticket, &stat)) { /* it may be another one than before */
        ticket->revoked = (stat.czxid == ticket->wanted ? ticket->revoked : 0) + 1;
        ticket->wanted = stat.czxid;
        if (ticket->revoked > stat.version) {
            history_fail(history, "asked for %" PRId32 " times, told %" PRId32,
                         stat.version, ticket->revoked);
        }
    } else {
        ticket->told_early = true; /* of which znode is not known */
    }
    if (!ticket->cancelled && chance(history, 2) == 0) {
        ticket->next_ms = sim_now(history->sim);
    }
}

void revocation_wish(struct ticket *ticket, uvzk_acquire_options_t *options)
{
    struct history *history = ticket->actor->history;

    ticket->told_early = false;
    ticket->wanted = 0;
    ticket->revoked = 0;
    ticket->asked_ms = 0;
    ticket->revocable = (history->kinds & HISTORY_REVOKES) != 0 &&
                        history->recipe->revocable && chance(history, 2) == 0;
    options->revoke_cb = ticket->revocable ? on_revoked : NULL;
}

/* ------------------------------------------------------------------------- asking */

static void on_asked(uvzk_revoke_t *request, int status)
{
    struct history *history = request->data;

    if (status > 0 || request->impl != NULL || status == UVZK_EBADVERSION) {
        history_fail(history, "a revocation says %s", uvzk_err_name(status));
    }
    free(request);
}

void revocation_moves(struct seat *seat)
{
    struct history *history = seat->history;
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
    uvzk_revoke_t *request = calloc(1, sizeof(*request));
    request->data = history;
    int status = uvzk_client_revoke(seat->client, request, path, on_asked);
    if (status != 0) {
        history_fail(history, "a revocation is refused: %s", uvzk_err_name(status));
        free(request);
    }
}

/* ----------------------------------------------------------------------- checking */

/* Of a znode that may be read, and that has been nobody else's. */
static bool must_be_told(const struct ticket *ticket)
{
    const struct history *history = ticket->actor->history;
    struct uvzk__stat stat;

    return ticket->state == HOLDING && ticket->revocable && !ticket->told_early &&
           ticket->shares[0].joined == 0 && !history->cohorts && !ticket_killed(ticket) &&
           (history->kinds & HISTORY_BLIND) == 0 && uvzk_hold_is_valid(ticket->request) &&
           stat_of(ticket, &stat) && stat.version > 0 && stat.czxid != ticket->wanted;
}

void check_revocations(struct seat *seat)
{
    struct history *history = seat->history;
    uint64_t now = sim_now(history->sim);

    if ((history->kinds & HISTORY_REVOKES) == 0) {
        return;
    }
    for (int i = 0; i < history->actor_count; i++) {
        for (int j = 0; j < history->recipe->ticket_count; j++) {
            struct ticket *ticket = &seat->actors[i].tickets[j];
            if (!must_be_told(ticket)) {
                ticket->asked_ms = 0;
            } else if (ticket->asked_ms == 0) {
                ticket->asked_ms = now;
            } else if (now - ticket->asked_ms >
                       history->told_within_ms + 2ULL * history->timeout_ms) {
                history_fail(history, "client %d was not told that others want %s",
                             seat->number, path_of(ticket));
            }
        }
    }
}
