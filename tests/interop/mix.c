/* SPDX-License-Identifier: Apache-2.0 */
#include "mix.h"

#include <stdio.h>
#include <string.h>
#include <unistd.h>

/* --------------------------------------------------------------- our members */

static void go_in(struct mix_member *member);

/* The hold lasts round trips, so that somebody could come in beside it. */
static void on_proved(uvzk_req_t *proof, int status)
{
    struct mix_member *member = proof->data;
    /* A writer that has downgraded has its read lock at last. */
    struct hold *hold = member->read_lock == NULL ? &member->hold : &member->reading;
    assert_int_equal(status, 0);
    if (--member->round_trips > 0) {
        assert_int_equal(uvzk_hold_verify(&hold->request, proof, on_proved), 0);
        return;
    }
    assert_true(journal_leave(member->mix->journal, member->who, hold->token));
    hold_release(hold);
}

static void prove(struct mix_member *member, struct hold *hold)
{
    assert_int_equal(uvzk_hold_verify(&hold->request, &member->proof, on_proved), 0);
}

static void acquire(struct mix_member *member, uvzk_lock_t *lock, struct hold *hold);

static void enter(struct mix_member *member)
{
    struct mix *mix = member->mix;
    int64_t token = member->hold.token;
    assert_true(journal_take(mix->journal, member->who, token, member->permits));
    if (mix->permits_are_leases) { /* readers may be told in any order */
        assert_true(token > mix->last_token);
        mix->last_token = token;
    }
    if (member->read_lock == NULL) {
        prove(member, &member->hold);
    } else {
        acquire(member, member->read_lock, &member->reading);
    }
}

/* The write lock goes: from here on readers may come in. */
static void downgrade(struct mix_member *member)
{
    int64_t token = member->reading.token;
    assert_int_equal(token, member->hold.token);
    assert_true(
        journal_give_back(member->mix->journal, member->who, token, member->permits - 1));
    hold_release(&member->hold);
    prove(member, &member->reading);
}

static void on_released(struct mix_member *member)
{
    if (--member->releases > 0) {
        return;
    }
    if (--member->left > 0) {
        go_in(member);
    } else {
        member->done++;
    }
}

static void on_told(struct hold *hold)
{
    struct mix_member *member = hold->data;
    assert_int_equal(hold->status, 0);
    assert_int_equal(hold->lost, 0);
    if (hold->released > 0) {
        assert_int_equal(hold->release_status, 0);
        on_released(member);
    } else if (hold == &member->reading) {
        downgrade(member);
    } else {
        enter(member);
    }
}

static void acquire(struct mix_member *member, uvzk_lock_t *lock, struct hold *hold)
{
    uvzk_acquire_options_t options;
    uvzk_acquire_options_init(&options);
    options.leases = member->mix->permits_are_leases ? member->permits : 1;
    options.owner = member;
    assert_int_equal(hold_ask(hold, member->process, lock, &options), 0);
    hold->data = member;
    hold->hook = on_told;
}

/* After a downgrade the hold lasts longer: a writer that is let in too early needs its
 * time to be woken and to look. */
static void go_in(struct mix_member *member)
{
    member->round_trips = member->mix->round_trips * (member->read_lock == NULL ? 1 : 10);
    member->releases = member->read_lock == NULL ? 1 : 2;
    acquire(member, member->lock, &member->hold);
}

/* ------------------------------------------------------------------- the line */

void mix_begin(struct mix *mix, struct world *world, const char *line, const char *token,
               int times, int round_trips)
{
    memset(mix, 0, sizeof(*mix));
    mix->world = world;
    mix->line = line;
    mix->times = times;
    mix->round_trips = round_trips;
    assert_true(scratch_make(&mix->scratch));
    snprintf(mix->file, sizeof(mix->file), "%s/journal", mix->scratch.path);
    mix->journal = journal_open(mix->file);
    assert_true(mix->journal >= 0);
    world_make_path(world, line);
    mix->gate = world_foreign_node(world, line, token);
}

static struct mix_member *add(struct mix *mix, const char *who, unsigned permits)
{
    assert_true(mix->count < MIX_MAX);
    struct mix_member *member = &mix->members[mix->count++];
    snprintf(member->who, sizeof(member->who), "%s", who);
    member->proof.data = member;
    member->mix = mix;
    member->permits = permits;
    member->left = mix->times;
    return member;
}

static void wait_in_line(struct mix *mix)
{
    assert_true(world_await_children(mix->world, mix->line, 1 + mix->count));
}

static void send_ours(struct mix *mix, const char *who, struct process *process,
                      uvzk_lock_t *lock, uvzk_lock_t *read_lock, unsigned permits)
{
    struct mix_member *member = add(mix, who, permits);
    member->process = process;
    member->lock = lock;
    member->read_lock = read_lock;
    go_in(member);
    wait_in_line(mix);
}

void mix_send_ours(struct mix *mix, const char *who, struct process *process,
                   uvzk_lock_t *lock, unsigned permits)
{
    send_ours(mix, who, process, lock, NULL, permits);
}

void mix_send_downgrading(struct mix *mix, const char *who, struct process *process,
                          uvzk_rwlock_t *lock, unsigned permits)
{
    send_ours(mix, who, process, &lock->write, &lock->read, permits);
}

void mix_send_theirs(struct mix *mix, struct peer *peer, const char *who,
                     const char *lock, unsigned permits)
{
    struct mix_member *member = add(mix, who, permits);
    member->peer = peer;
    peer_say(peer, "cycle %s %s %s %d %u %d", who, lock, mix->file, mix->times, permits,
             mix->round_trips);
    wait_in_line(mix);
}

static void wait_done(struct mix *mix, struct mix_member *member)
{
    char answer[32];
    if (member->peer == NULL) {
        assert_true(world_await(mix->world, &member->done, PATIENCE_MS));
        return;
    }
    snprintf(answer, sizeof(answer), "cycled %s", member->who);
    assert_non_null(peer_expect(member->peer, answer));
}

void mix_run(struct mix *mix, unsigned permits)
{
    const struct journal_result *result = &mix->result;
    world_delete(mix->world, &mix->gate);
    for (int i = 0; i < mix->count; i++) {
        wait_done(mix, &mix->members[i]);
    }
    assert_true(journal_check_permits(mix->file, permits, &mix->result));
    if (result->first_error[0] != '\0') {
        fail_msg("%s", result->first_error);
    }
    assert_true(result->exclusive && result->tokens_grow);
    assert_int_equal(result->entries, mix->count * mix->times);
    assert_int_equal(result->inside, 0);
}

void mix_entries(const struct mix *mix, char *out, size_t size)
{
    char line[128], who[64];
    size_t length = 0;
    FILE *file = fopen(mix->file, "r");
    assert_non_null(file);
    out[0] = '\0';
    while (fgets(line, sizeof(line), file) != NULL) {
        if (sscanf(line, "E %63s", who) == 1 && length < size) {
            length += (size_t)snprintf(out + length, size - length, "%s%s",
                                       length == 0 ? "" : " ", who);
        }
    }
    fclose(file);
}

void mix_end(struct mix *mix)
{
    close(mix->journal);
    scratch_remove(&mix->scratch);
}
