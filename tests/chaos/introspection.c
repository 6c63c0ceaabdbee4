/* SPDX-License-Identifier: Apache-2.0 */
/* What the client knows of its sessions and holds; it prints this when it is asked
 * ("known N"):
 *
 *   known N session NUMBER ID T_MS CONNECTED
 *   known N node SESSION_NUMBER PATH               of a hold
 *   known N held SESSION_NUMBER NAME SINCE_MS VALID_UNTIL_MS TOKEN
 *   known N pending SESSION_NUMBER NAME SINCE_MS KIND AHEAD PREDECESSOR
 *   known N releasing ID PATH...
 *   known N metric NAME VALUE
 *   known N error AT_MS ADDRESS TEXT               of the last connection error
 *   known N end */
#include "client.h"

#include <stdio.h>
#include <string.h>

/* By uvzk_wait_kind_t. */
static const char *const waits[] = {"nothing", "connection", "directory",
                                    "znode",   "place",      "ours",
                                    "others",  "leases",     "proof"};

static void session_changed(const uvzk_client_t *client,
                            const uvzk_session_entry_t *entry, void *context)
{
    bool connected =
        entry->state == UVZK_STATE_CONNECTED || entry->state == UVZK_STATE_RECONNECTED;
    (void)client;
    (void)context;
    if (entry->number >= SESSIONS_MAX) {
        return;
    }
    chaos.session_ids[entry->number] = entry->session_id;
    chaos.connected[entry->number] = connected;
    say("session %u %llx %u %d %llu", entry->number,
        (unsigned long long)entry->session_id, entry->session_timeout_ms, connected,
        (unsigned long long)now_ns());
}

void tell_sessions(void)
{
    uvzk_client_each_session(&chaos.client, session_changed, NULL);
}

static void tell_session(const uvzk_client_t *client, const uvzk_session_entry_t *entry,
                         void *context)
{
    (void)client;
    say("known %s session %u %llx %u %d", (const char *)context, entry->number,
        (unsigned long long)entry->session_id, entry->session_timeout_ms,
        entry->state == UVZK_STATE_CONNECTED || entry->state == UVZK_STATE_RECONNECTED);
}

static void tell_nodes(const char *number, const uvzk_hold_entry_t *entry)
{
    uint32_t count = uvzk_hold_node_count(entry->hold);
    for (uint32_t i = 0; i < count; i++) {
        const char *path = uvzk_hold_node_path(entry->hold, i);
        say("known %s node %u %s", number, entry->session, path == NULL ? "-" : path);
    }
}

/* The lock of a participant belongs to its election, and is known by its path. */
static const char *name_of(const uvzk_hold_entry_t *entry)
{
    for (size_t i = 0; i < chaos.lock_count; i++) {
        const struct chaos_lock *lock = &chaos.locks[i];
        if (lock->is_election ? strcmp(lock->path, entry->lock_path) == 0
                              : lock->used == entry->lock) {
            return lock->name;
        }
    }
    return "-";
}

static void tell_releases(const char *number)
{
    for (size_t i = 0; i < chaos.worker_count; i++) {
        const struct worker *worker = &chaos.workers[i];
        if (worker->releases) {
            say("known %s releasing %s%s", number, worker->id, worker->paths);
        }
    }
}

static void tell_hold(const uvzk_client_t *client, const uvzk_hold_entry_t *entry,
                      void *context)
{
    const char *number = context;
    const char *name = name_of(entry);
    (void)client;
    if (entry->is_held) {
        say("known %s held %u %s %llu %llu %lld", number, entry->session, name,
            (unsigned long long)entry->wait->since,
            (unsigned long long)uvzk_hold_valid_until(entry->hold),
            (long long)entry->token);
        tell_nodes(number, entry);
        return;
    }
    const uvzk_wait_info_t *wait = entry->wait;
    say("known %s pending %u %s %llu %s %llu %s", number, entry->session, name,
        (unsigned long long)wait->since,
        wait->kind < sizeof(waits) / sizeof(waits[0]) ? waits[wait->kind] : "?",
        (unsigned long long)wait->ahead,
        wait->predecessor == NULL ? "-" : wait->predecessor);
}

static void tell_metrics(const char *number)
{
    uvzk_client_metrics_t metrics;
    uvzk_client_metrics_init(&metrics);
    if (uvzk_client_metrics(&chaos.client, &metrics) != 0) {
        return;
    }
    const struct {
        const char *name;
        uint64_t value;
    } told[] = {{"contenders", metrics.contenders},
                {"watches", metrics.watches},
                {"waiting", metrics.waiting},
                {"held", metrics.held},
                {"grants", metrics.grants},
                {"lost_expired", metrics.lost_expired},
                {"lost_unproved", metrics.lost_unproved},
                {"lost_deleted", metrics.lost_deleted},
                {"lost_otherwise", metrics.lost_otherwise}};
    for (size_t i = 0; i < sizeof(told) / sizeof(told[0]); i++) {
        say("known %s metric %s %llu", number, told[i].name,
            (unsigned long long)told[i].value);
    }
}

void tell_known(const char *asked)
{
    char number[WORD_MAX];
    uvzk_client_error_t error;
    snprintf(number, sizeof(number), "%s", asked);
    uvzk_client_error_init(&error);
    uvzk_client_each_session(&chaos.client, tell_session, number);
    uvzk_client_each_hold(&chaos.client, tell_hold, number);
    tell_releases(number);
    tell_metrics(number);
    if (uvzk_client_last_error(&chaos.client, &error) == 0 && error.code != 0) {
        say("known %s error %llu %s %s", number, (unsigned long long)error.at,
            error.address, error.text);
    }
    say("known %s end", number);
}
