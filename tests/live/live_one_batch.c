/* SPDX-License-Identifier: Apache-2.0 */
/* While the loop is busy, what the server says gathers, and is told in one batch before
 * one turn: a listing, and then an event that is younger than what the listing shows.
 *
 *     writer (a foreign client's)   reader 1   reader 2   writer of the other side   reader 3
 *
 * The listing of reader 3 shows reader 2; then reader 2's znode is deleted by hand, and
 * then the foreign client's. That reader 2 was there before its predecessor went says nothing
 * of what it is worth after that. */
#include "world.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "zk_process.h"

#define LOCK "/batch"
#define SESSION_MS 30000 /* proofs are far between */
#define ROUND_TRIPS 20   /* in which an event that was sent before them arrives */

static struct world world;
static struct process ours, other; /* the readers', the writer's */
static uvzk_rwlock_t reading, writing;
static struct hold readers[3], writer;
static struct world_path foreign_node;
static long requests; /* the last that the server had answered before the last reader's */

static void open_clients(void)
{
    world_begin(&world, LOCK);
    world.options.session_timeout_ms = SESSION_MS;
    world_make_path(&world, LOCK);
    foreign_node = world_foreign_node(&world, LOCK, "__WRIT__");
    process_begin(&ours, &world, "ours", NULL);
    process_begin(&other, &world, "other", NULL);
    assert_int_equal(uvzk_rwlock_init(&ours.client, &reading, LOCK), 0);
    assert_int_equal(uvzk_rwlock_init(&other.client, &writing, LOCK), 0);
}

/* The first reader's two, of the foreign client and of itself, and the writer's: behind
 * several its own is not watched. */
static void wait_for_watches(void)
{
    uint64_t since = world_now(&world);
    while (server_watch_count(live_server) != 3) {
        assert_true(world_turn(&world, since));
    }
}

/* It has listed: behind its create. */
static void send_last_reader(void)
{
    uint64_t listings = process_metrics(&ours).listings, since = world_now(&world);
    hold_begin_on(&readers[2], &ours, &reading.read, 1, UVZK_WAIT_FOREVER);
    while (process_metrics(&ours).listings <= listings) {
        assert_true(world_turn(&world, since));
    }
}

/* What the server's list of connections says of the readers' after this label. */
static const char *of_connection(const char *label)
{
    static char answer[65536];
    char session[32];
    snprintf(session, sizeof(session), "sid=0x%llx,",
             (unsigned long long)uvzk_client_session_id(&ours.client));
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
    return last_request() != requests && strncmp(of_connection("lop="), "GETC", 4) == 0;
}

/* The loop stands still. The server has answered the listing, and now the rest. */
static void go_while_nobody_looks(void)
{
    assert_true(zk_wait_until(listing_is_answered, NULL, PATIENCE_MS));
    assert_int_equal(world_children(&world, LOCK), 5);
    struct world_path second = world_child(&world, LOCK, 2);
    world_delete(&world, &second);
    world_delete(&world, &foreign_node);
    for (int i = 0; i < ROUND_TRIPS; i++) {
        assert_int_equal(raw_exists(world.raw, foreign_node.text, NULL), ZNONODE);
    }
}

static void test_reader_without_a_znode_is_not_granted(void **state)
{
    (void)state;
    open_clients();
    hold_queue(&readers[0], &ours, &reading.read);
    hold_queue(&readers[1], &ours, &reading.read);
    hold_queue(&writer, &other, &writing.write);
    wait_for_watches();
    requests = last_request();
    send_last_reader();
    go_while_nobody_looks();
    hold_await(&readers[0], PATIENCE_MS);
    hold_give_back(&readers[0]);
    hold_await(&writer, PATIENCE_MS);
    assert_true(uvzk_hold_is_valid(&writer.request));
    assert_false(uvzk_hold_is_valid(&readers[1].request));
    assert_int_equal(readers[1].answered, 0);

    /* It has queued up again, behind all others. */
    hold_give_back(&writer);
    hold_await(&readers[2], PATIENCE_MS);
    hold_await(&readers[1], PATIENCE_MS);
    assert_true(readers[1].token > readers[2].token);
    hold_give_back(&readers[1]);
    hold_give_back(&readers[2]);
    world_end(&world);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_reader_without_a_znode_is_not_granted),
    };
    return cmocka_run_group_tests(tests, servers_start_one, servers_stop);
}
