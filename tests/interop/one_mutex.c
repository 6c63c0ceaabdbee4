/* SPDX-License-Identifier: Apache-2.0 */
#include "one_mutex.h"

#include <stdio.h>
#include <string.h>

#include "mix.h"

void one_mutex_begin(struct one_mutex *scene, const char *path, const char *kind)
{
    memset(scene, 0, sizeof(*scene));
    both_sides_begin(&scene->world, path, &scene->us, &scene->peer);
    assert_non_null(peer_ask(&scene->peer, "made L", "%s L %s", kind, path));
}

void one_mutex_end(struct one_mutex *scene)
{
    both_sides_end(&scene->world, &scene->peer);
}

static struct one_mutex scene;

/* ------------------------------------------------------------------ exclusion */

void test_they_wait_for_us(void **state)
{
    const struct one_mutex_case *of = *state;
    one_mutex_begin(&scene, of->path, of->kind);
    hold_take(&scene.ours, &scene.us);
    assert_non_null(peer_ask(&scene.peer, "timeout t", "try t L 200"));
    peer_say(&scene.peer, "acquire p L");
    assert_true(world_await_children(&scene.world, of->path, 2));
    assert_null(peer_heard(&scene.peer, "granted p"));
    hold_give_back(&scene.ours);
    assert_non_null(peer_expect(&scene.peer, "granted p"));
    assert_non_null(peer_ask(&scene.peer, "released p", "release p L"));
    one_mutex_end(&scene);
}

void test_we_wait_for_them(void **state)
{
    const struct one_mutex_case *of = *state;
    one_mutex_begin(&scene, of->path, of->kind);
    assert_non_null(peer_ask(&scene.peer, "granted p", "acquire p L"));
    hold_try(&scene.ours, &scene.us, NULL, UVZK_TRY_ONCE, UV_ETIMEDOUT);
    hold_queue(&scene.ours, &scene.us, NULL);
    assert_int_equal(scene.ours.ahead, 1);
    assert_int_equal(scene.ours.answered, 0);
    assert_non_null(peer_ask(&scene.peer, "released p", "release p L"));
    hold_await(&scene.ours, PATIENCE_MS);
    hold_give_back(&scene.ours);
    one_mutex_end(&scene);
}

/* ---------------------------------------------------------------------- order */

/* Five of each in turn: c0 p0 c1 p1 ... */
static void send_ten(struct mix *mix)
{
    char who[8];
    for (int i = 0; i < 5; i++) {
        snprintf(who, sizeof(who), "c%d", i);
        mix_send_ours(mix, who, &scene.us, &scene.us.mutex, 1);
        snprintf(who, sizeof(who), "p%d", i);
        mix_send_theirs(mix, &scene.peer, who, "L", 1);
    }
}

void test_one_line_for_both(void **state)
{
    const struct one_mutex_case *of = *state;
    static struct mix mix;
    char entries[256];
    one_mutex_begin(&scene, of->path, of->kind);
    mix_begin(&mix, &scene.world, of->path, "lock-", 1, 1);
    send_ten(&mix);
    mix_run(&mix, 1);
    mix_entries(&mix, entries, sizeof(entries));
    assert_string_equal(entries, "c0 p0 c1 p1 c2 p2 c3 p3 c4 p4");
    mix_end(&mix);
    one_mutex_end(&scene);
}

void test_two_thousand_grants_in_a_crowd_of_ten(void **state)
{
    const struct one_mutex_case *of = *state;
    static struct mix mix;
    one_mutex_begin(&scene, of->path, of->kind);
    mix_begin(&mix, &scene.world, of->path, "lock-", 200, 1);
    send_ten(&mix);
    mix_run(&mix, 1);
    print_message("%zu grants, %zu of them from one side to the other\n",
                  mix.result.entries, mix.result.crossings);
    assert_true(mix.result.crossings >= 200); /* else nothing was shown */
    mix_end(&mix);
    one_mutex_end(&scene);
}
