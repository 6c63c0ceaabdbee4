/* SPDX-License-Identifier: Apache-2.0 */
/* The candidates of the tests (candidate.h): the callbacks record and check; the calls
 * below them are the tests'. All open candidates of the program are in one list, so that
 * each callback can look for a second leader. */
#include "candidate.h"

#include "cmocka_test.h"

#include <stdio.h>
#include <string.h>

#include "world.h"

static struct candidate *all;

/* ------------------------------------------------------------------ the callbacks */

static struct world *world_of(const struct candidate *candidate)
{
    return candidate->process->world;
}

static void expect(const struct candidate *candidate, bool is_so, const char *what)
{
    if (!is_so) {
        world_fail(world_of(candidate), "%s: %s",
                   candidate->id == NULL ? "-" : candidate->id, what);
    }
}

static void note(const struct candidate *candidate, const char *what, int status)
{
    world_note(world_of(candidate), "%s %s, %s",
               candidate->id == NULL ? "-" : candidate->id, what, uvzk_err_name(status));
}

static void call_hook(void (*hook)(struct candidate *), struct candidate *candidate)
{
    if (hook != NULL) {
        hook(candidate);
    }
}

bool candidate_is_leader(const struct candidate *candidate)
{
    return uvzk_election_is_leader(&candidate->election) != 0;
}

void candidates_check(struct world *world)
{
    for (const struct candidate *one = all; one != NULL; one = one->next) {
        for (const struct candidate *other = one->next; other != NULL;
             other = other->next) {
            if (strcmp(one->path, other->path) == 0 && !one->process->killed &&
                !other->process->killed && candidate_is_leader(one) &&
                candidate_is_leader(other)) {
                world_fail(world, "%s and %s lead", one->id, other->id);
            }
        }
    }
}

static void on_lead(uvzk_election_t *election, int64_t token, uint64_t valid_until)
{
    struct candidate *candidate = election->data;

    note(candidate, "leads", 0);
    expect(candidate, !candidate->leads && !candidate->silent, "leader_cb out of order");
    expect(candidate, candidate_is_leader(candidate), "no leader in leader_cb");
    expect(candidate,
           token == uvzk_election_token(election) && token > candidate->token &&
               token == uvzk_hold_token(uvzk_election_hold(election)),
           "the token is wrong");
    expect(candidate, valid_until == uvzk_election_valid_until(election),
           "valid_until is wrong");
    for (const struct candidate *other = all; other != NULL; other = other->next) {
        expect(candidate,
               other == candidate || strcmp(other->path, candidate->path) != 0 ||
                   other->token < token,
               "the token is not greater than an earlier leader's");
    }
    candidates_check(world_of(candidate));
    candidate->leads = true;
    candidate->led++;
    candidate->token = token;
    candidate->valid_until = valid_until;
    candidate->led_ms = world_now(world_of(candidate));
    call_hook(candidate->lead_hook, candidate);
}

static void on_deposed(uvzk_election_t *election, int reason)
{
    struct candidate *candidate = election->data;

    note(candidate, "is deposed", reason);
    expect(candidate, candidate->leads && !candidate->silent, "deposed_cb out of order");
    expect(candidate,
           !candidate_is_leader(candidate) && uvzk_election_token(election) == 0 &&
               uvzk_election_valid_until(election) == 0 &&
               uvzk_election_hold(election) == NULL,
           "deposed, and still leads");
    candidate->leads = false;
    candidate->deposed++;
    candidate->reason = reason;
    candidate->deposed_ms = world_now(world_of(candidate));
    call_hook(candidate->deposed_hook, candidate);
}

static void on_changed(uvzk_election_t *election,
                       const uvzk_election_participant_t *leader)
{
    struct candidate *candidate = election->data;
    int64_t token = leader == NULL ? 0 : leader->token;

    world_note(world_of(candidate), "%s sees %s lead",
               candidate->id == NULL ? "-" : candidate->id,
               leader == NULL ? "nobody" : leader->id);
    expect(candidate, !candidate->silent, "changed_cb after the close");
    expect(candidate, token != candidate->leader_token, "nothing has changed");
    expect(candidate, token == 0 || token > candidate->newest_token,
           "an earlier leader is reported");
    candidate->changes++;
    candidate->leader_token = token;
    candidate->leader_id[0] = '\0';
    if (leader != NULL) {
        candidate->newest_token = token;
        expect(candidate,
               leader->size == sizeof(*leader) && leader->is_leader == 1 &&
                   leader->id_length == strlen(leader->id) &&
                   strncmp(leader->path, candidate->path, strlen(candidate->path)) == 0,
               "the leader is not complete");
        (void)snprintf(candidate->leader_id, sizeof(candidate->leader_id), "%s",
                       leader->id);
    }
    call_hook(candidate->changed_hook, candidate);
}

static void on_error(uvzk_election_t *election, int status)
{
    struct candidate *candidate = election->data;

    note(candidate, "is not queued", status);
    expect(candidate, !candidate->leads && !candidate->silent, "error_cb out of order");
    expect(candidate, candidate->may_err && status < 0, "an error");
    candidate->errors++;
    candidate->error = status;
    call_hook(candidate->error_hook, candidate);
}

static void forget(struct candidate *candidate)
{
    struct candidate **at = &all;

    while (*at != NULL && *at != candidate) {
        at = &(*at)->next;
    }
    if (*at != NULL) {
        *at = candidate->next;
    }
}

static void on_closed(uvzk_election_t *election)
{
    struct candidate *candidate = election->data;

    note(candidate, "is closed", 0);
    expect(candidate, candidate->closing && election->impl == NULL,
           "a close callback out of order");
    candidate->closed++;
    forget(candidate);
}

/* ------------------------------------------------------------------------ the calls */

void candidate_options(uvzk_election_options_t *options, const char *id)
{
    uvzk_election_options_init(options);
    options->id = id;
    options->leader_cb = on_lead;
    options->deposed_cb = on_deposed;
    options->changed_cb = on_changed;
    options->error_cb = on_error;
}

int candidate_ask(struct candidate *candidate, struct process *process, const char *path,
                  const uvzk_election_options_t *options)
{
    memset(candidate, 0, sizeof(*candidate));
    candidate->process = process;
    candidate->path = path;
    candidate->id = options->id;
    candidate->election.data = candidate;
    int status =
        uvzk_election_init(&process->client, &candidate->election, path, options);
    if (status == 0) {
        assert_int_equal(candidate->led + candidate->errors + candidate->changes, 0);
        candidate->next = all;
        all = candidate;
    }
    return status;
}

void candidate_begin_as(struct candidate *candidate, struct process *process,
                        const char *id, uvzk_election_kind_t kind, bool follows)
{
    uvzk_election_options_t options;

    candidate_options(&options, id);
    options.kind = (uint32_t)kind;
    if (!follows) {
        options.changed_cb = NULL;
    }
    assert_int_equal(candidate_ask(candidate, process, CANDIDATE_PATH, &options), 0);
}

void candidate_begin(struct candidate *candidate, struct process *process, const char *id)
{
    candidate_begin_as(candidate, process, id, UVZK_ELECTION_LATCH, true);
}

void candidate_await_led(struct candidate *candidate, int times, uint64_t ms)
{
    if (!world_await_count(world_of(candidate), &candidate->led, times, ms)) {
        world_fail(world_of(candidate), "%s does not lead", candidate->id);
    }
}

void candidate_await_deposed(struct candidate *candidate, int times, uint64_t ms)
{
    if (!world_await_count(world_of(candidate), &candidate->deposed, times, ms)) {
        world_fail(world_of(candidate), "%s is not deposed", candidate->id);
    }
}

static bool sees(const struct candidate *candidate, const char *id)
{
    return id == NULL
               ? candidate->leader_token == 0 && candidate->changes > 0
               : candidate->leader_token != 0 && strcmp(candidate->leader_id, id) == 0;
}

void candidate_await_leader(struct candidate *candidate, const char *id, uint64_t ms)
{
    uint64_t until = world_now(world_of(candidate)) + ms;

    while (!sees(candidate, id) && world_now(world_of(candidate)) < until) {
        (void)world_await_count(world_of(candidate), &candidate->changes,
                                candidate->changes + 1,
                                until - world_now(world_of(candidate)));
    }
    if (!sees(candidate, id)) {
        world_fail(world_of(candidate), "%s does not see %s lead", candidate->id,
                   id == NULL ? "nobody" : id);
    }
}

void candidate_resign(struct candidate *candidate)
{
    assert_int_equal(uvzk_election_resign(&candidate->election), 0);
}

void candidate_close(struct candidate *candidate, uvzk_election_close_mode_t mode)
{
    candidate->closing = true;
    candidate->silent = mode == UVZK_ELECTION_SILENT;
    assert_int_equal(uvzk_election_close(&candidate->election, (unsigned)mode, on_closed),
                     0);
    assert_int_equal(candidate->closed, 0);
    assert_int_equal(uvzk_election_close(&candidate->election, (unsigned)mode, NULL),
                     UVZK_ESTATE);
    if (candidate->silent) {
        candidate->leads = false;
    }
}

void candidate_end(struct candidate *candidate)
{
    if (!candidate->closing) {
        candidate_close(candidate, UVZK_ELECTION_NOTIFY);
    }
    if (!world_await(world_of(candidate), &candidate->closed, WORLD_TIMEOUT_MS)) {
        world_fail(world_of(candidate), "%s is not closed", candidate->id);
    }
}

int candidates_leading(void)
{
    int count = 0;

    for (const struct candidate *candidate = all; candidate != NULL;
         candidate = candidate->next) {
        count += candidate_is_leader(candidate);
    }
    return count;
}

struct candidate *candidates_leader(void)
{
    struct candidate *candidate = all;

    while (candidate != NULL && !candidate_is_leader(candidate)) {
        candidate = candidate->next;
    }
    return candidate;
}

void candidates_client_closed(const struct process *process)
{
    struct candidate *candidate = all, *next;

    for (; candidate != NULL; candidate = next) {
        next = candidate->next;
        if (candidate->process == process) {
            assert_null(candidate->election.impl);
            assert_false(candidate->leads);
            forget(candidate);
        }
    }
}

void candidates_reset(void)
{
    all = NULL;
}
