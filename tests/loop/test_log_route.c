/* SPDX-License-Identifier: Apache-2.0 */
/* Lines of the ZooKeeper client on their way to a port's log: each takes the route that
 * its thread has entered, and so many are under way at most. */
#include "cmocka_test.h"

#include <stdio.h>
#include <string.h>

#include "log/log_route.h"

struct listener {
    struct uvzk__port port;
    struct uvzk__to_loop to_loop;
    struct uvzk__log_lines log_lines;
    struct uvzk__port_user user;
    struct uvzk__log_route route;
    unsigned lines;
    int level;
    char last[256];
};

static void on_line(struct uvzk__port_user *user, int level, const char *module,
                    const char *line)
{
    struct listener *listener =
        (struct listener *)(void *)((char *)user - offsetof(struct listener, user));
    listener->lines++;
    listener->level = level;

    assert_string_equal(module, "zookeeper");
    (void)snprintf(listener->last, sizeof(listener->last), "%s", line);
}

static void begin(struct listener *listener)
{
    memset(listener, 0, sizeof(*listener));
    listener->user.log = on_line;
    listener->port.user = &listener->user;
    assert_int_equal(uvzk__to_loop_init(&listener->to_loop), 0);
    uvzk__log_lines_init(&listener->log_lines, &listener->port, &listener->to_loop);
    uvzk__log_route_begin(&listener->route, &listener->log_lines);
}

static void end(struct listener *listener)
{
    uvzk__log_route_end(&listener->route);
    uvzk__to_loop_destroy(&listener->to_loop);
}

static void say(const struct listener *listener, const char *line)
{
    uvzk__log_route_enter(&listener->route);
    uvzk__log_route_callback()(line);
    uvzk__log_route_leave();
}

static const char *number(unsigned i)
{
    static char text[16];
    (void)snprintf(text, sizeof(text), "%u", i);
    return text;
}

static void a_line_takes_the_route_of_its_thread(void **state)
{
    struct listener one, other;
    (void)state;
    begin(&one);
    begin(&other);
    say(&other, "what\nis it");
    say(&other, "1:ZOO_ERROR@here: bad");
    uvzk__log_route_callback()("of nobody");
    uvzk__to_loop_drain(&one.to_loop);
    uvzk__to_loop_drain(&other.to_loop);
    assert_int_equal(one.lines, 0);
    assert_int_equal(other.lines, 2);
    assert_int_equal(other.level, UVZK_LOG_ERROR);
    end(&one);
    say(&one, "after the end");
    end(&other);
}

static void each_of_many_has_its_own_lines(void **state)
{
    enum { MANY = 20 };
    static struct listener many[MANY];
    char text[32];
    (void)state;
    for (int i = 0; i < MANY; i++) {
        begin(&many[i]);
    }
    for (int i = 0; i < MANY; i++) {
        snprintf(text, sizeof(text), "of %d", i);
        say(&many[i], text);
    }
    for (int i = 0; i < MANY; i++) {
        uvzk__to_loop_drain(&many[i].to_loop);
        snprintf(text, sizeof(text), "of %d", i);
        assert_int_equal(many[i].lines, 1);
        assert_string_equal(many[i].last, text);
        end(&many[i]);
    }
}

/* As the ZooKeeper client does while its servers are away. */
static void what_is_said_again_and_again_is_told_once(void **state)
{
    static const char *const said[] = {
        "2026-11-23 04:11:29,667:7078(0x7f01):ZOO_ERROR@check: server refused",
        "2026-11-23 04:11:29,833:7078(0x7f01):ZOO_ERROR@check: server refused",
        "2026-11-23 04:11:29,833:7078(0x7f01):ZOO_WARN@interest: Delaying connection"};
    struct listener one, other;
    (void)state;
    begin(&one);
    begin(&other);
    for (int i = 0; i < 300; i++) {
        say(&one, said[i % 3]);
    }
    say(&other, said[0]);
    uvzk__to_loop_drain(&one.to_loop);
    uvzk__to_loop_drain(&other.to_loop);
    assert_int_equal(one.lines, 2);
    assert_string_equal(one.last, said[2]);
    assert_int_equal(other.lines, 1);
    /* As if it had been a minute ago; then it comes again, and goes on. */
    for (size_t i = 0; i < UVZK__LOG_REPEATS_MAX; i++) {
        one.log_lines.repeats.texts[i].told_ms -= 60000;
    }
    say(&one, said[1]);
    say(&one, said[1]);
    uvzk__to_loop_drain(&one.to_loop);
    assert_int_equal(one.lines, 3);
    assert_memory_equal(one.last, said[1], strlen(said[1]));
    assert_non_null(strstr(one.last, " (199 more of these in 60 s)"));
    end(&one);
    end(&other);
}

/* Behind the first of the others comes how many are missing; and then there is room. */
static void lines_beyond_the_limit_are_counted(void **state)
{
    struct listener one;
    (void)state;
    begin(&one);
    for (unsigned i = 0; i < UVZK__LOG_LINES_MAX + 5; i++) {
        say(&one, number(i));
    }
    uvzk__to_loop_drain(&one.to_loop);
    assert_int_equal(one.lines, UVZK__LOG_LINES_MAX + 1);
    say(&one, "at last");
    uvzk__to_loop_drain(&one.to_loop);
    assert_int_equal(one.lines, UVZK__LOG_LINES_MAX + 2);
    assert_string_equal(one.last, "at last");
    end(&one);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_line_takes_the_route_of_its_thread),
        cmocka_unit_test(each_of_many_has_its_own_lines),
        cmocka_unit_test(what_is_said_again_and_again_is_told_once),
        cmocka_unit_test(lines_beyond_the_limit_are_counted),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
