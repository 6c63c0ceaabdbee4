/* Servers that die, fall silent, are cut off and are deposed, and clients that are cut
 * off, as a seed says, while clients of ours and a Curator client take two locks in turn:
 * a mutex and a semaphore mutex. Every hold is written down with its moments; none may begin while another one
 * is valid. At the end everything is whole again, and everybody is granted once more.
 *
 * Of ours: from the grant to the release, or to the end of its validity. Of Curator's:
 * see CuratorPeer.java. A cut-off follower gives up before any session does, so that a
 * Curator client on it, which proves nothing, is told in time that it may hold no more.
 *
 * UVZK_SECONDS (60), UVZK_SEED. The arguments are the peer's command line. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "contest.h"
#include "journal_of_holds.h"
#include "peer.h"
#include "relay.h"
#include "seeded.h"

#define LOCKS 2
#define SIDES 3
#define SESSION_MS 3000
#define HOLD_MS 8
#define SAMPLE_MS 2
#define CURATOR_PATIENCE_MS 20000

static const struct ensemble_options ensemble_options = {.tick_ms = 200, .sync_limit = 5};
static const char *const paths[LOCKS] = {"/chaos/mutex", "/chaos/semaphore"};
static const char *const listed[] = {"/chaos/mutex", "/chaos/semaphore/locks",
                                     "/chaos/semaphore/leases"};
static const char *const kinds[LOCKS] = {"mutex", "semaphore_mutex"};

/* One of ours, at one of the locks. */
struct ours {
    struct contestant contestant;
    struct holds *holds;
    uint64_t since, valid_until; /* ms, of the hold it has */
};

/* What a client reaches the members by. */
struct wires {
    struct relay *relays[ENSEMBLE_SIZE];
    char hosts[128];
};

struct chaos {
    struct world world;
    struct wires to_curator, to_ours; /* the first of ours */
    uv_timer_t sampling;
    struct seeded random;
    struct process sides[SIDES];
    uvzk_lock_t semaphores[SIDES];
    struct contest contests[LOCKS];
    struct ours ours[LOCKS][SIDES];
    struct holds holds[LOCKS];
    struct peer curator;
    int curator_failures, curator_left; /* locks that it still goes for */
    bool curator_stops;
};

static struct chaos chaos;

/* -------------------------------------------------------------------- holds */

static void on_granted(struct contestant *contestant)
{
    struct ours *ours = (struct ours *)contestant;
    ours->since = uvzk_now();
    ours->valid_until = uvzk_hold_valid_until(&contestant->hold.request);
}

static void on_ended(struct contestant *contestant)
{
    struct ours *ours = (struct ours *)contestant;
    uint64_t now = uvzk_now();
    bool valid =
        uvzk_hold_is_valid(&contestant->hold.request) != 0 || now < ours->valid_until;
    holds_add(ours->holds, HOLDER_OURS, ours->since, valid ? now : ours->valid_until);
}

static void sample_ours(struct ours *ours)
{
    uint64_t valid_until = uvzk_hold_valid_until(&ours->contestant.hold.request);
    if (valid_until != 0) {
        ours->valid_until = valid_until;
    }
}

/* ------------------------------------------------------------------ curator */

static void curator_goes(int lock)
{
    if (chaos.curator_stops) {
        chaos.curator_left--;
    } else {
        peer_say(&chaos.curator, "hold %s %s %d %d", kinds[lock], kinds[lock], HOLD_MS,
                 CURATOR_PATIENCE_MS);
    }
}

static const char *heard(const char *what, int lock)
{
    char beginning[64];
    snprintf(beginning, sizeof(beginning), "%s %s", what, kinds[lock]);
    return peer_heard(&chaos.curator, beginning);
}

static void note_curators_hold(const char *line, int lock)
{
    unsigned long long from, until;
    if (sscanf(line, "held %*s %llu %llu", &from, &until) == 2) {
        holds_add_monotonic(&chaos.holds[lock], HOLDER_CURATOR, from, until);
    }
}

static void hear_curator(int lock)
{
    const char *line = heard("held", lock);
    if (line != NULL) {
        note_curators_hold(line, lock);
    }
    if (heard("released", lock) != NULL || heard("timeout", lock) != NULL) {
        curator_goes(lock);
    } else if (heard("error", lock) != NULL) {
        chaos.curator_failures++;
        curator_goes(lock);
    }
}

static void sample(uv_timer_t *timer)
{
    (void)timer;
    for (int lock = 0; lock < LOCKS; lock++) {
        hear_curator(lock);
        for (int i = 0; i < SIDES; i++) {
            sample_ours(&chaos.ours[lock][i]);
        }
    }
}

static void start_curator(char **command, int words)
{
    char hosts[128], session[16];
    char **arguments = calloc((size_t)words + 3, sizeof(char *));
    assert_non_null(arguments);
    memcpy(arguments, command, (size_t)words * sizeof(char *));
    snprintf(hosts, sizeof(hosts), "%s", chaos.to_curator.hosts);
    snprintf(session, sizeof(session), "%d", SESSION_MS);
    arguments[words] = hosts;
    arguments[words + 1] = session;
    assert_int_equal(peer_start(chaos.world.loop, &chaos.curator, arguments), 0);
    free(arguments);
    assert_non_null(peer_expect(&chaos.curator, "ready"));
    for (int lock = 0; lock < LOCKS; lock++) {
        assert_non_null(peer_ask(&chaos.curator, "made", "%s %s %s", kinds[lock],
                                 kinds[lock], paths[lock]));
        chaos.curator_left++;
        curator_goes(lock);
    }
}

/* ------------------------------------------------------------------- faults */

static int any_member(void)
{
    return (int)seeded_below(&chaos.random, ENSEMBLE_SIZE);
}

static void any_while(uint32_t at_most_ms)
{
    world_run_for(&chaos.world, 20 + seeded_below(&chaos.random, at_most_ms));
}

static void restart_one(void)
{
    int member = any_member();
    ensemble_kill(ensemble, member);
    any_while(1000);
    assert_true(ensemble_revive(ensemble, member));
}

static void stop_one(void)
{
    int member = any_member();
    ensemble_pause(ensemble, member);
    any_while(3000);
    ensemble_resume(ensemble, member);
}

static void cut_one(void)
{
    int member = any_member();
    ensemble_cut(ensemble, member,
                 (enum ensemble_cut)(ENSEMBLE_MUTE + any_member() % ENSEMBLE_APART));
    any_while(4000);
    ensemble_mend(ensemble, member);
}

static void depose_one(void)
{
    int leader = ensemble_leader(ensemble);
    if (leader >= 0) {
        ensemble_depose(ensemble, leader);
        any_while(3000);
        ensemble_mend(ensemble, leader);
    }
}

/* For longer than its session lives, or not. */
static void cut_client(const struct wires *wires)
{
    for (int i = 0; i < ENSEMBLE_SIZE; i++) {
        relay_hold(wires->relays[i], true, true);
    }
    any_while(3 * SESSION_MS);
    for (int i = 0; i < ENSEMBLE_SIZE; i++) {
        relay_hold(wires->relays[i], false, false);
    }
}

static void cut_curator(void)
{
    cut_client(&chaos.to_curator);
}

static void cut_one_of_ours(void)
{
    cut_client(&chaos.to_ours);
}

static void do_harm(void)
{
    static void (*const faults[])(void) = {restart_one, stop_one,    cut_one,
                                           depose_one,  cut_curator, cut_one_of_ours};
    faults[seeded_below(&chaos.random, sizeof(faults) / sizeof(faults[0]))]();
    any_while(1500);
    /* A quorum is needed for anything to be seen; two faults at once leave none. */
    assert_true(world_await_that(&chaos.world, ensemble_all_serve, ensemble));
}

/* --------------------------------------------------------------- begin, end */

static void lay_wires(struct wires *wires)
{
    for (int i = 0; i < ENSEMBLE_SIZE; i++) {
        char host[24], hosts[40];
        const char *member = ensemble_hosts_of(ensemble, i);
        const char *colon = strchr(member, ':');
        snprintf(host, sizeof(host), "%.*s", (int)(colon - member), member);
        wires->relays[i] = relay_open(host, (uint16_t)strtoul(colon + 1, NULL, 10));
        assert_non_null(wires->relays[i]);
        snprintf(hosts, sizeof(hosts), "%s%s:%u", i == 0 ? "" : ",", host,
                 relay_port(wires->relays[i]));
        strcat(wires->hosts, hosts);
    }
}

static void cut_wires(struct wires *wires)
{
    for (int i = 0; i < ENSEMBLE_SIZE; i++) {
        relay_close(wires->relays[i]);
    }
}

static void join(int i)
{
    uvzk_lock_t *locks[LOCKS] = {&chaos.sides[i].mutex, &chaos.semaphores[i]};
    assert_int_equal(
        uvzk_semaphore_mutex_init(&chaos.sides[i].client, locks[1], paths[1]), 0);
    for (int lock = 0; lock < LOCKS; lock++) {
        struct ours *ours = &chaos.ours[lock][i];
        ours->holds = &chaos.holds[lock];
        ours->contestant.granted = on_granted;
        ours->contestant.ended = on_ended;
        contest_join(&chaos.contests[lock], &ours->contestant, &chaos.sides[i],
                     locks[lock]);
    }
}

static void begin(char **command, int words)
{
    chaos.random = seeded_begin();
    world_begin(&chaos.world, paths[0]);
    for (int lock = 0; lock < LOCKS; lock++) {
        chaos.contests[lock] =
            (struct contest){.permits = 1, .hold_ms = HOLD_MS, .pause_ms = HOLD_MS};
    }
    lay_wires(&chaos.to_curator);
    lay_wires(&chaos.to_ours);
    chaos.world.options.session_timeout_ms = SESSION_MS;
    for (int i = 0; i < SIDES; i++) {
        chaos.world.options.hosts =
            i == 0 ? chaos.to_ours.hosts : ensemble_hosts(ensemble);
        process_begin(&chaos.sides[i], &chaos.world, "ours", NULL);
        join(i);
    }
    start_curator(command, words);
    uv_timer_init(chaos.world.loop, &chaos.sampling);
    uv_timer_start(&chaos.sampling, sample, 0, SAMPLE_MS);
}

static bool all_have_gone_round(void *context)
{
    (void)context;
    return contest_has_gone_round(&chaos.contests[0], 1) &&
           contest_has_gone_round(&chaos.contests[1], 1);
}

static bool curator_has_stopped(void *context)
{
    (void)context;
    return chaos.curator_left == 0;
}

static void end(void)
{
    contest_mark(&chaos.contests[0]);
    contest_mark(&chaos.contests[1]);
    assert_true(world_await_that(&chaos.world, all_have_gone_round, NULL));
    chaos.curator_stops = true;
    assert_true(world_await_that(&chaos.world, curator_has_stopped, NULL));
    assert_true(contest_stop(&chaos.contests[0], &chaos.world));
    assert_true(contest_stop(&chaos.contests[1], &chaos.world));
    assert_true(peer_wait(&chaos.curator));
    peer_close(&chaos.curator);
    world_look_from(&chaos.world, ensemble_hosts_of(ensemble, ensemble_leader(ensemble)));
    for (size_t i = 0; i < sizeof(listed) / sizeof(listed[0]); i++) {
        assert_int_equal(world_children(&chaos.world, listed[i]), 0);
    }
    for (int i = 0; i < SIDES; i++) {
        process_end(&chaos.sides[i]);
    }
    cut_wires(&chaos.to_curator);
    cut_wires(&chaos.to_ours);
    uv_close((uv_handle_t *)&chaos.sampling, NULL);
    world_end(&chaos.world);
}

/* Prints what is wrong. How much that is. */
static int judge(void)
{
    int wrong = 0;
    for (int lock = 0; lock < LOCKS; lock++) {
        const struct contest *contest = &chaos.contests[lock];
        printf("%s: %d grants of ours, %zu of Curator's, %d lost, %d refused\n",
               kinds[lock], contest->grants,
               holds_count(&chaos.holds[lock], HOLDER_CURATOR), contest->losses,
               contest->refusals);
        wrong += contest->excesses + contest->regressions +
                 holds_print_overlaps(&chaos.holds[lock]);
        holds_free(&chaos.holds[lock]);
    }
    printf("%d failures told by Curator\n", chaos.curator_failures);
    return wrong;
}

static char **curators_command;
static int curators_words;

static void test_nobody_holds_beside_another(void **state)
{
    const char *seconds = getenv("UVZK_SECONDS");
    uint64_t ms = strtoull(seconds == NULL ? "60" : seconds, NULL, 0) * 1000;
    (void)state;
    begin(curators_command, curators_words);
    int faults = 0;
    for (uint64_t until = uvzk_now() + ms; uvzk_now() < until; faults++) {
        do_harm();
    }
    end();
    printf("%d faults\n", faults);
    assert_int_equal(judge(), 0);
}

static int start(void **state)
{
    (void)state;
    return servers_start_three_with(&ensemble_options);
}

int main(int argc, char **argv)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_nobody_holds_beside_another)};
    curators_command = argv + 1;
    curators_words = argc - 1;
    return cmocka_run_group_tests(tests, start, servers_stop);
}
