/* SPDX-License-Identifier: Apache-2.0 */
#include "cmocka_test.h"

#include <stdio.h>
#include <string.h>

#include "engine/connection.h"

#define T 10000U
#define NOW UINT64_C(50000)

/* What may happen to a session: CONNECTED, as session 1 or 2; SUSPENDED, EXPIRED,
 * AUTH_FAILED, OPEN_FAILED; the clock, too early and at T; close. */
enum event { SAME, OTHER, SUSPEND, EXPIRE, REFUSE, FAIL, EARLY, LAPSE, CLOSE, EVENTS };

static struct uvzk__connection_news feed(struct uvzk__connection *connection,
                                         enum event event, uint64_t now_ms)
{
    static const enum uvzk__session_event_kind kinds[] = {
        [SAME] = UVZK__SESSION_CONNECTED,     [OTHER] = UVZK__SESSION_CONNECTED,
        [SUSPEND] = UVZK__SESSION_SUSPENDED,  [EXPIRE] = UVZK__SESSION_EXPIRED,
        [REFUSE] = UVZK__SESSION_AUTH_FAILED, [FAIL] = UVZK__SESSION_OPEN_FAILED};

    if (event == EARLY || event == LAPSE) {
        uint64_t at = uvzk__connection_lost_at(connection);
        if (at == UINT64_MAX) {
            at = now_ms + 100 * T; /* it says that no time will do */
        }
        return uvzk__connection_lapse(connection, event == EARLY ? at - 1 : at);
    }
    if (event == CLOSE) {
        return uvzk__connection_close(connection);
    }
    return uvzk__connection_step(
        connection,
        &(struct uvzk__session_event){.kind = kinds[event],
                                      .session_id = event == OTHER ? 2 : 1,
                                      .timeout_ms = T,
                                      .local_address = ""},
        now_ms);
}

static char letter(uvzk_client_state_t state)
{
    switch (state) {
    case UVZK_STATE_LATENT:
        return '-';
    case UVZK_STATE_CONNECTED:
        return 'C';
    case UVZK_STATE_SUSPENDED:
        return 'S';
    case UVZK_STATE_RECONNECTED:
        return 'R';
    case UVZK_STATE_LOST:
        return 'L';
    case UVZK_STATE_CLOSED:
        return 'X';
    default:
        return '?';
    }
}

/* "LR*": LOST and RECONNECTED were told, and the session is a new one; "." is nothing. */
static void write_down(const struct uvzk__connection_news *news, char text[5])
{
    int length = 0;

    assert_false(news->illegal);
    assert_in_range(news->count, 0, 2);
    for (int i = 0; i < news->count; i++) {
        text[length++] = letter(news->states[i]);
    }
    if (news->fresh) {
        text[length++] = '*';
    }
    (void)strcpy(text + length, length == 0 ? ". " : " ");
}

/* Every event in every state. A state is named by the way into it, which EVENTS ends. */
static const struct row {
    const char *name;
    enum event way[4];
    char state;
    int64_t session_id;
    const char *news; /* of each event, in their order */
} rows[] = {
    {"latent", {EVENTS}, '-', 0, "C* C* . L L . . . X "},
    {"refused", {REFUSE, EVENTS}, 'L', 0, "C* C* . . . . . . X "},
    {"connected", {SAME, EVENTS}, 'C', 1, ". LR* S L L . . . X "},
    {"suspended", {SAME, SUSPEND, EVENTS}, 'S', 1, "R LR* . L L . . L X "},
    {"reconnected", {SAME, SUSPEND, SAME, EVENTS}, 'R', 1, ". LR* S L L . . . X "},
    {"lost by the clock", {SAME, SUSPEND, LAPSE, EVENTS}, 'L', 1, "R R* . . . . . . X "},
    {"expired", {SAME, EXPIRE, EVENTS}, 'L', 0, "R* R* . . . . . . X "},
    {"closed", {SAME, CLOSE, EVENTS}, 'X', 1, ". * . . . . . . . "},
    {"closed before it began", {CLOSE, EVENTS}, 'X', 0, "* * . . . . . . . "},
};

static struct uvzk__connection brought_to(const struct row *row)
{
    struct uvzk__connection connection;

    uvzk__connection_init(&connection);
    for (int i = 0; row->way[i] != EVENTS; i++) {
        (void)feed(&connection, row->way[i], NOW);
    }
    assert_int_equal(letter(connection.state), row->state);
    assert_int_equal(connection.session_id, row->session_id);
    return connection;
}

static void check_fields(const struct uvzk__connection *before,
                         const struct uvzk__connection *after, enum event event)
{
    bool by_clock = event == EARLY || event == LAPSE || event == CLOSE;
    bool up = event == SAME || event == OTHER;
    int64_t id = event == SAME ? 1 : event == OTHER ? 2 : before->session_id;

    if (event == EXPIRE || event == REFUSE) {
        id = 0;
    }
    assert_int_equal(after->connected, by_clock ? before->connected : up);
    assert_int_equal(after->session_id, id);
    assert_int_equal(after->timeout_ms, up ? T : before->timeout_ms);
}

static void every_event_in_every_state(void **state)
{
    (void)state;
    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
        char told[5 * EVENTS] = "";
        for (int event = 0; event < EVENTS; event++) {
            struct uvzk__connection connection = brought_to(&rows[i]),
                                    before = connection;
            struct uvzk__connection_news news =
                feed(&connection, (enum event)event, NOW + 1);
            write_down(&news, told + strlen(told));
            assert_int_equal(connection.state, news.count == 0
                                                   ? before.state
                                                   : news.states[news.count - 1]);
            check_fields(&before, &connection, (enum event)event);
        }
        if (strcmp(told, rows[i].news) != 0) {
            fail_msg("%s: \"%s\" is told, not \"%s\"", rows[i].name, told, rows[i].news);
        }
    }
}

/* ------------------------------------------------------------- every sequence */

/* What a user knows who only listens. */
struct listener {
    uvzk_client_state_t last;
    bool connected_before;
    int64_t known; /* the session told last; 0 when it is known to be gone */
};

static void hear(struct listener *listener, uvzk_client_state_t told)
{
    assert_int_not_equal(told, listener->last);
    assert_int_not_equal(listener->last, UVZK_STATE_CLOSED);
    assert_int_not_equal(told, UVZK_STATE_LATENT);
    if (told == UVZK_STATE_CONNECTED) {
        assert_false(listener->connected_before);
        listener->connected_before = true;
    }
    if (told == UVZK_STATE_RECONNECTED) {
        assert_true(listener->connected_before);
        assert_true(listener->last == UVZK_STATE_SUSPENDED ||
                    listener->last == UVZK_STATE_LOST);
    }
    if (told == UVZK_STATE_SUSPENDED) {
        assert_true(listener->last == UVZK_STATE_CONNECTED ||
                    listener->last == UVZK_STATE_RECONNECTED);
    }
    listener->last = told;
}

static void check_news(struct listener *listener,
                       const struct uvzk__connection *connection,
                       const struct uvzk__connection_news *news, enum event event)
{
    bool up = event == SAME || event == OTHER;
    int64_t id = event == SAME ? 1 : 2;
    uvzk_client_state_t before = listener->last;

    assert_in_range(news->count, 0, 2);
    assert_int_equal(news->fresh, up && listener->known != id);
    for (int i = 0; i < news->count; i++) {
        hear(listener, news->states[i]);
    }
    assert_int_equal(connection->state, listener->last);
    if (event == EARLY || (event == LAPSE && before != UVZK_STATE_SUSPENDED)) {
        assert_int_equal(news->count, 0);
    }
    if (up && listener->known != 0 && listener->known != id &&
        before != UVZK_STATE_LOST && before != UVZK_STATE_CLOSED) {
        assert_int_equal(news->count, 2); /* through LOST: every hold is gone */
        assert_int_equal(news->states[0], UVZK_STATE_LOST);
    }
    if (up) {
        listener->known = id;
    } else if (event == EXPIRE || event == REFUSE) {
        listener->known = 0;
    }
}

static uint64_t sequences;

static void follow(struct uvzk__connection connection, struct listener listener,
                   int depth)
{
    sequences++;
    for (int event = 0; depth > 0 && event < EVENTS; event++) {
        struct uvzk__connection next = connection;
        struct listener heard = listener;
        struct uvzk__connection_news news = feed(&next, (enum event)event, NOW);
        check_news(&heard, &next, &news, (enum event)event);
        follow(next, heard, depth - 1);
    }
}

static void no_sequence_tells_nonsense(void **state)
{
    struct uvzk__connection connection;
    struct listener listener = {.last = UVZK_STATE_LATENT};

    (void)state;
    uvzk__connection_init(&connection);
    follow(connection, listener, 6);
    printf("%llu sequences\n", (unsigned long long)sequences);
    assert_int_equal(sequences, 597871); /* (9^7 - 1) / 8 */
}

/* ------------------------------------------------------------------ the clock */

static struct uvzk__connection suspended(uint64_t at_ms)
{
    struct uvzk__connection connection;

    uvzk__connection_init(&connection);
    (void)feed(&connection, SAME, 1);
    (void)feed(&connection, SUSPEND, at_ms);
    return connection;
}

static void lost_a_timeout_after_the_connection(void **state)
{
    struct uvzk__connection connection = suspended(NOW);
    struct uvzk__connection_news news;

    (void)state;
    assert_int_equal(uvzk__connection_lost_at(&connection), NOW + T);
    news = uvzk__connection_lapse(&connection, NOW + T - 1);
    assert_int_equal(news.count, 0);
    news = uvzk__connection_step(
        &connection, &(struct uvzk__session_event){.kind = UVZK__SESSION_SUSPENDED},
        NOW + 5000);
    assert_int_equal(news.count, 0);
    assert_int_equal(uvzk__connection_lost_at(&connection),
                     NOW + T); /* it was lost only once */
    news = uvzk__connection_lapse(&connection, NOW + T);
    assert_int_equal(news.count, 1);
    assert_int_equal(news.states[0], UVZK_STATE_LOST);
    assert_true(uvzk__connection_lost_at(&connection) == UINT64_MAX);
    news = uvzk__connection_lapse(&connection, NOW + 2 * T);
    assert_int_equal(news.count, 0);
}

static void never_lost_by_the_clock_unless_suspended(void **state)
{
    (void)state;
    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
        struct uvzk__connection connection = brought_to(&rows[i]);
        if (connection.state != UVZK_STATE_SUSPENDED) {
            assert_true(uvzk__connection_lost_at(&connection) == UINT64_MAX);
            assert_int_equal(uvzk__connection_lapse(&connection, UINT64_MAX - 1).count,
                             0);
        }
    }
}

static void given_up_three_timeouts_after_the_connection(void **state)
{
    struct uvzk__connection connection = suspended(NOW);

    (void)state;
    assert_int_equal(uvzk__connection_abandon_at(&connection), NOW + 3 * T);
    (void)feed(&connection, LAPSE, 0);
    assert_int_equal(connection.state, UVZK_STATE_LOST);
    assert_int_equal(uvzk__connection_abandon_at(&connection), NOW + 3 * T);
    (void)feed(&connection, FAIL, NOW + T);
    assert_int_equal(uvzk__connection_abandon_at(&connection), NOW + 3 * T);
    (void)feed(&connection, SAME, NOW + T); /* alive after all */
    assert_true(uvzk__connection_abandon_at(&connection) == UINT64_MAX);
    (void)feed(&connection, SUSPEND, NOW + 4 * T);
    assert_int_equal(uvzk__connection_abandon_at(&connection), NOW + 7 * T);
    (void)feed(&connection, EXPIRE, NOW + 4 * T); /* nothing left to give up */
    assert_true(uvzk__connection_abandon_at(&connection) == UINT64_MAX);
}

static void nothing_to_give_up_while_connected_or_without_a_session(void **state)
{
    (void)state;
    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
        struct uvzk__connection connection = brought_to(&rows[i]);
        if (connection.connected || connection.session_id == 0) {
            assert_true(uvzk__connection_abandon_at(&connection) == UINT64_MAX);
        }
    }
}

static void the_clock_runs_by_the_timeout_negotiated_last(void **state)
{
    struct uvzk__connection connection = suspended(NOW);

    (void)state;
    (void)uvzk__connection_step(
        &connection,
        &(struct uvzk__session_event){
            .kind = UVZK__SESSION_CONNECTED, .session_id = 1, .timeout_ms = 2000},
        NOW + 10);
    (void)feed(&connection, SUSPEND, NOW + 20);
    assert_int_equal(uvzk__connection_lost_at(&connection), NOW + 2020);
    assert_int_equal(uvzk__connection_abandon_at(&connection), NOW + 6020);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_event_in_every_state),
        cmocka_unit_test(no_sequence_tells_nonsense),
        cmocka_unit_test(lost_a_timeout_after_the_connection),
        cmocka_unit_test(never_lost_by_the_clock_unless_suspended),
        cmocka_unit_test(given_up_three_timeouts_after_the_connection),
        cmocka_unit_test(nothing_to_give_up_while_connected_or_without_a_session),
        cmocka_unit_test(the_clock_runs_by_the_timeout_negotiated_last),
    };
    return cmocka_run_group_tests_name("session", tests, NULL, NULL);
}
