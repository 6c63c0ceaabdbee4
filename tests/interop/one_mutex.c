#include "one_mutex.h"

#include <stdio.h>
#include <string.h>

#include "mix.h"

void one_mutex_begin(struct one_mutex *scene, const char *path, const char *kind)
{
    memset(scene, 0, sizeof(*scene));
    scene->path = path;
    live_open(&scene->live);
    assert_int_equal(uvzk_mutex_init(&scene->live.client, &scene->mutex, path), 0);
    other_side_start(&scene->live, &scene->peer, 0);
    assert_non_null(peer_ask(&scene->peer, "made L", "%s L %s", kind, path));
}

void one_mutex_end(struct one_mutex *scene)
{
    assert_true(live_wait_children(&scene->live, scene->path, 0));
    other_side_end(&scene->peer);
    live_end(&scene->live);
}

static struct one_mutex scene;

/* ------------------------------------------------------------------ exclusion */

void assert_they_wait_for_us(const char *path, const char *kind)
{
    one_mutex_begin(&scene, path, kind);
    assert_int_equal(attempt_start(&scene.ours, &scene.mutex, NULL), 0);
    assert_true(attempt_wait_granted(scene.live.loop, &scene.ours));
    assert_non_null(peer_ask(&scene.peer, "timeout t", "try t L 200"));
    peer_say(&scene.peer, "acquire p L");
    assert_true(live_wait_children(&scene.live, path, 2));
    assert_null(peer_heard(&scene.peer, "granted p"));
    assert_true(attempt_release_and_wait(scene.live.loop, &scene.ours));
    assert_non_null(peer_expect(&scene.peer, "granted p"));
    assert_non_null(peer_ask(&scene.peer, "released p", "release p L"));
    one_mutex_end(&scene);
}

void assert_we_wait_for_them(const char *path, const char *kind)
{
    one_mutex_begin(&scene, path, kind);
    assert_non_null(peer_ask(&scene.peer, "granted p", "acquire p L"));
    assert_int_equal(attempt_start_within(&scene.ours, &scene.mutex, UVZK_TRY_ONCE), 0);
    assert_true(attempt_wait_told(scene.live.loop, &scene.ours));
    assert_int_equal(scene.ours.status, UV_ETIMEDOUT);
    assert_int_equal(attempt_start(&scene.ours, &scene.mutex, NULL), 0);
    assert_true(attempt_wait_queued(scene.live.loop, &scene.ours));
    assert_int_equal(scene.ours.ahead, 1);
    assert_int_equal(scene.ours.acquired, 0);
    assert_non_null(peer_ask(&scene.peer, "released p", "release p L"));
    assert_true(attempt_wait_granted(scene.live.loop, &scene.ours));
    assert_true(attempt_release_and_wait(scene.live.loop, &scene.ours));
    one_mutex_end(&scene);
}

/* ---------------------------------------------------------------------- order */

/* Five of each in turn: c0 p0 c1 p1 ... */
static void send_ten(struct mix *mix)
{
    char who[8];
    for (int i = 0; i < 5; i++) {
        snprintf(who, sizeof(who), "c%d", i);
        mix_send_ours(mix, who, &scene.mutex, 1);
        snprintf(who, sizeof(who), "p%d", i);
        mix_send_theirs(mix, &scene.peer, who, "L", 1);
    }
}

void assert_one_line_for_both(const char *path, const char *kind)
{
    static struct mix mix;
    char entries[256];
    one_mutex_begin(&scene, path, kind);
    mix_begin(&mix, &scene.live, path, "lock-", 1, 1);
    send_ten(&mix);
    mix_run(&mix, 1);
    mix_entries(&mix, entries, sizeof(entries));
    assert_string_equal(entries, "c0 p0 c1 p1 c2 p2 c3 p3 c4 p4");
    mix_end(&mix);
    one_mutex_end(&scene);
}

void assert_two_thousand_grants_in_a_crowd_of_ten(const char *path, const char *kind)
{
    static struct mix mix;
    one_mutex_begin(&scene, path, kind);
    mix_begin(&mix, &scene.live, path, "lock-", 200, 1);
    send_ten(&mix);
    mix_run(&mix, 1);
    print_message("%zu grants, %zu of them from one side to the other\n",
                  mix.verdict.entries, mix.verdict.crossings);
    assert_true(mix.verdict.crossings >= 200); /* else nothing was shown */
    mix_end(&mix);
    one_mutex_end(&scene);
}
