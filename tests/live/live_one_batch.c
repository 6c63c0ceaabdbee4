/* While the loop is busy, what the server says gathers, and is told in one batch before
 * one turn: a listing, and then an event that is younger than what the listing shows.
 *
 *     writer (a stranger's)   reader 1   reader 2   writer of the other side   reader 3
 *
 * The listing of reader 3 shows reader 2; then reader 2's znode is deleted by hand, and
 * then the stranger's. That reader 2 was there before its predecessor went says nothing
 * of what it is worth after that. */
#include "live.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "zk_process.h"

#define LOCK "/batch"
#define SESSION_MS 30000 /* proofs are far between */
#define ROUND_TRIPS 20   /* in which an event that was sent before them arrives */

struct scene {
    struct live live; /* the readers' client */
    uvzk_client_t other;
    int other_closed;
    uvzk_rwlock_t reading, writing;
    struct attempt readers[3], writer;
    char stranger[256];
    uint64_t listings; /* before the last reader's */
    long last_request; /* that the server had answered by then */
};

static struct scene scene;

static void on_other_closed(uvzk_client_t *client)
{
    (void)client;
    scene.other_closed++;
}

static void open_clients(void)
{
    struct live *live = &scene.live;
    memset(&scene, 0, sizeof(scene));
    live_begin(live);
    live->options.session_timeout_ms = SESSION_MS;
    assert_int_equal(raw_create(live->raw, LOCK), ZOK);
    assert_int_equal(
        raw_contend_to_write(live->raw, LOCK, scene.stranger, sizeof(scene.stranger)),
        ZOK);
    live_start(live);
    uvzk_client_options_t options = live->options;
    options.state_cb = NULL;
    assert_int_equal(uvzk_client_init(live->loop, &scene.other, &options), 0);
    assert_int_equal(uvzk_client_start(&scene.other), 0);
    assert_int_equal(uvzk_rwlock_init(&live->client, &scene.reading, LOCK), 0);
    assert_int_equal(uvzk_rwlock_init(&scene.other, &scene.writing, LOCK), 0);
}

static void queue_up(struct attempt *attempt, uvzk_lock_t *lock)
{
    assert_int_equal(attempt_start(attempt, lock, NULL), 0);
    assert_true(attempt_wait_queued(scene.live.loop, attempt));
}

static bool watches_are_armed(void *context)
{
    (void)context;
    /* The first reader's two, of the stranger and of itself, and the writer's two. */
    return server_watch_count(live_server) == 4;
}

static bool last_reader_has_asked(void *context)
{
    (void)context;
    return live_stats(&scene.live).listings > scene.listings; /* behind its create */
}

/* What the server's list of connections says of the readers' after this label. */
static const char *of_connection(const char *label)
{
    static char answer[65536];
    char session[32];
    snprintf(session, sizeof(session), "sid=0x%llx,",
             (unsigned long long)uvzk_client_session_id(&scene.live.client));
    if (server_command(live_server, "cons", answer, sizeof(answer)) < 0) {
        return "";
    }
    char *line = strstr(answer, session);
    while (line != NULL && line > answer && line[-1] != '\n') {
        line--;
    }
    const char *found = line == NULL ? NULL : strstr(line, label);
    return found == NULL ? "" : found + strlen(label);
}

static long last_request(void)
{
    return strtol(of_connection("lcxid="), NULL, 0);
}

/* Those before may have ended with a listing as well. */
static bool listing_is_answered(void *context)
{
    (void)context;
    return last_request() != scene.last_request &&
           strncmp(of_connection("lop="), "GETC", 4) == 0;
}

/* The loop stands still. The server has answered the listing, and now the rest. */
static void go_while_nobody_looks(void)
{
    struct raw_names names;
    char second[256];
    assert_true(zk_wait_until(listing_is_answered, NULL, PATIENCE_MS));
    assert_int_equal(raw_children(scene.live.raw, LOCK, &names), ZOK);
    assert_int_equal(names.count, 5);
    snprintf(second, sizeof(second), LOCK "/%s", names.names[2]);
    raw_names_free(&names);
    assert_int_equal(raw_delete(scene.live.raw, second), ZOK);
    assert_int_equal(raw_delete(scene.live.raw, scene.stranger), ZOK);
    for (int i = 0; i < ROUND_TRIPS; i++) {
        assert_int_equal(raw_exists(scene.live.raw, scene.stranger, NULL), ZNONODE);
    }
}

static void test_reader_without_a_znode_is_not_granted(void **state)
{
    (void)state;
    open_clients();
    queue_up(&scene.readers[0], &scene.reading.read);
    queue_up(&scene.readers[1], &scene.reading.read);
    queue_up(&scene.writer, &scene.writing.write);
    assert_true(run_until(scene.live.loop, watches_are_armed, NULL, PATIENCE_MS));
    scene.listings = live_stats(&scene.live).listings;
    scene.last_request = last_request();
    assert_int_equal(attempt_start(&scene.readers[2], &scene.reading.read, NULL), 0);
    assert_true(run_until(scene.live.loop, last_reader_has_asked, NULL, PATIENCE_MS));
    go_while_nobody_looks();
    assert_true(attempt_wait_granted(scene.live.loop, &scene.readers[0]));
    assert_true(attempt_release_and_wait(scene.live.loop, &scene.readers[0]));
    assert_true(attempt_wait_granted(scene.live.loop, &scene.writer));
    assert_true(uvzk_hold_is_valid(&scene.writer.request));
    assert_false(uvzk_hold_is_valid(&scene.readers[1].request));
    assert_int_equal(scene.readers[1].acquired, 0);

    /* It has queued up again, behind all others. */
    assert_true(attempt_release_and_wait(scene.live.loop, &scene.writer));
    assert_true(attempt_wait_granted(scene.live.loop, &scene.readers[2]));
    assert_true(attempt_wait_granted(scene.live.loop, &scene.readers[1]));
    assert_true(scene.readers[1].token > scene.readers[2].token);
    assert_true(attempt_release_and_wait(scene.live.loop, &scene.readers[1]));
    assert_true(attempt_release_and_wait(scene.live.loop, &scene.readers[2]));
    assert_int_equal(uvzk_client_close(&scene.other, on_other_closed), 0);
    assert_true(run_until_count(scene.live.loop, &scene.other_closed, 1));
    live_end(&scene.live);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_reader_without_a_znode_is_not_granted),
    };
    return cmocka_run_group_tests(tests, live_server_start, live_server_stop);
}
