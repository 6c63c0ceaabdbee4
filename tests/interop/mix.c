/* The C client's blocking calls. */
#define THREADED
#include "mix.h"

#include <stdio.h>
#include <string.h>
#include <unistd.h>

/* --------------------------------------------------------------- our members */

static void go_in(struct mix_member *member);

static void on_released(uvzk_hold_t *hold, int status)
{
    struct mix_member *member = hold->data;
    assert_int_equal(status, 0);
    if (--member->releases > 0) {
        return;
    }
    if (--member->left > 0) {
        go_in(member);
    } else {
        member->done = true;
    }
}

/* What a member holds at last: a writer that has downgraded, its read lock. */
static uvzk_hold_t *last_hold(struct mix_member *member)
{
    return member->read_lock == NULL ? &member->request : &member->reading;
}

/* The hold lasts round trips, so that somebody could come in beside it. */
static void on_proved(uvzk_verify_t *proof, int status)
{
    struct mix_member *member = proof->data;
    uvzk_hold_t *hold = last_hold(member);
    assert_int_equal(status, 0);
    if (--member->round_trips > 0) {
        assert_int_equal(uvzk_hold_verify(hold, proof, on_proved), 0);
        return;
    }
    assert_true(journal_leave(member->mix->journal, member->who, uvzk_hold_token(hold)));
    assert_int_equal(uvzk_hold_release(hold, on_released), 0);
}

static void on_lost(uvzk_hold_t *hold, int reason)
{
    (void)hold;
    fail_msg("lost: %s", uvzk_strerror(reason));
}

/* The write lock goes: from here on readers may come in. */
static void on_downgraded(uvzk_hold_t *reading, int status)
{
    struct mix_member *member = reading->data;
    assert_int_equal(status, 0);
    assert_int_equal(uvzk_hold_token(reading), uvzk_hold_token(&member->request));
    assert_true(journal_give_back(member->mix->journal, member->who,
                                  uvzk_hold_token(reading), member->permits - 1));
    assert_int_equal(uvzk_hold_release(&member->request, on_released), 0);
    assert_int_equal(uvzk_hold_verify(reading, &member->proof, on_proved), 0);
}

static void acquire(struct mix_member *member, uvzk_lock_t *lock, uvzk_hold_t *hold,
                    uvzk_hold_acquire_cb acquire_cb)
{
    uvzk_acquire_options_t options;
    uvzk_acquire_options_init(&options);
    options.leases = member->mix->permits_are_leases ? member->permits : 1;
    options.owner = member;
    hold->data = member;
    assert_int_equal(uvzk_lock_acquire(lock, hold, &options, acquire_cb, on_lost), 0);
}

static void on_acquired(uvzk_hold_t *hold, int status)
{
    struct mix_member *member = hold->data;
    assert_int_equal(status, 0);
    assert_true(journal_take(member->mix->journal, member->who, uvzk_hold_token(hold),
                             member->permits));
    if (member->mix->permits_are_leases) { /* readers may be told in any order */
        assert_true(uvzk_hold_token(hold) > member->mix->last_token);
        member->mix->last_token = uvzk_hold_token(hold);
    }
    if (member->read_lock == NULL) {
        assert_int_equal(uvzk_hold_verify(hold, &member->proof, on_proved), 0);
    } else {
        acquire(member, member->read_lock, &member->reading, on_downgraded);
    }
}

/* After a downgrade the hold lasts longer: a writer that is let in too early needs its
 * time to be woken and to look. */
static void go_in(struct mix_member *member)
{
    member->round_trips = member->mix->round_trips * (member->read_lock == NULL ? 1 : 10);
    member->releases = member->read_lock == NULL ? 1 : 2;
    acquire(member, member->lock, &member->request, on_acquired);
}

/* ------------------------------------------------------------------- the line */

static void make_directories(zhandle_t *zh, const char *path)
{
    char parent[256];
    for (const char *slash = path; slash != NULL;) {
        slash = strchr(slash + 1, '/');
        size_t length = slash == NULL ? strlen(path) : (size_t)(slash - path);
        snprintf(parent, sizeof(parent), "%.*s", (int)length, path);
        int status = raw_create(zh, parent);
        assert_true(status == ZOK || status == ZNODEEXISTS);
    }
}

void mix_begin(struct mix *mix, struct live *live, const char *line, const char *token,
               int times, int round_trips)
{
    char name[256];
    memset(mix, 0, sizeof(*mix));
    mix->live = live;
    mix->line = line;
    mix->times = times;
    mix->round_trips = round_trips;
    assert_true(scratch_make(&mix->scratch));
    snprintf(mix->file, sizeof(mix->file), "%s/journal", mix->scratch.path);
    mix->journal = journal_open(mix->file);
    assert_true(mix->journal >= 0);
    make_directories(live->raw, line);
    snprintf(name, sizeof(name), "%s/_c_00000000-0000-4000-8000-000000000000-%s", line,
             token);
    assert_int_equal(zoo_create(live->raw, name, "", 0, &ZOO_OPEN_ACL_UNSAFE,
                                ZOO_EPHEMERAL | ZOO_SEQUENCE, mix->gate,
                                sizeof(mix->gate)),
                     ZOK);
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
    assert_true(live_wait_children(mix->live, mix->line, 1 + mix->count));
}

void mix_send_ours(struct mix *mix, const char *who, uvzk_lock_t *lock, unsigned permits)
{
    struct mix_member *member = add(mix, who, permits);
    member->lock = lock;
    go_in(member);
    wait_in_line(mix);
}

void mix_send_downgrading(struct mix *mix, const char *who, uvzk_rwlock_t *lock,
                          unsigned permits)
{
    struct mix_member *member = add(mix, who, permits);
    member->lock = &lock->write;
    member->read_lock = &lock->read;
    go_in(member);
    wait_in_line(mix);
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
        assert_true(run_until_set(mix->live->loop, &member->done));
        return;
    }
    snprintf(answer, sizeof(answer), "cycled %s", member->who);
    assert_non_null(peer_expect(member->peer, answer));
}

void mix_run(struct mix *mix, unsigned permits)
{
    const struct journal_verdict *verdict = &mix->verdict;
    assert_int_equal(raw_delete(mix->live->raw, mix->gate), ZOK);
    for (int i = 0; i < mix->count; i++) {
        wait_done(mix, &mix->members[i]);
    }
    assert_true(journal_judge_permits(mix->file, permits, &mix->verdict));
    if (verdict->complaint[0] != '\0') {
        fail_msg("%s", verdict->complaint);
    }
    assert_true(verdict->exclusive && verdict->tokens_grow);
    assert_int_equal(verdict->entries, mix->count * mix->times);
    assert_int_equal(verdict->inside, 0);
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
