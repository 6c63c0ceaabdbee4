/* SPDX-License-Identifier: Apache-2.0 */
/* The znodes of one session. Its end names them all in one transaction, so that their
 * paths may come to so many bytes and no more. When many go at once, no request is beyond
 * what a server reads, and so few are under way that those to come gather meanwhile. */
#include "cmocka_test.h"

#include <string.h>

#include "world.h"

#define CLOSE_BYTES_MAX 2000000U   /* of the closeSession that a server can read back */
#define REQUEST_BYTES_MAX 1000000U /* of any other request */
#define DIRECTORY_LENGTH 1000U
#define NAME_LENGTH 56U /* "/_c_", a UUID, "-lock-", the number */
#define MOST (CLOSE_BYTES_MAX / (DIRECTORY_LENGTH + NAME_LENGTH))
#define MANY 400U
#define UNDER_WAY 6U /* deletes, a proof, a listing */

static struct world world;
static struct process process;
static struct hold holds[MOST];
static uvzk_mutex_t mutex;

/* ------------------------------------------------------------------ the requests */

static void (*submit_to_sim)(struct uvzk__port *, struct uvzk__rpc *);

/* A greater one would cost the connection, again and again; here it is seen. */
static void submit(struct uvzk__port *port, struct uvzk__rpc *rpc)
{
    size_t bytes = 0;

    for (size_t i = 0; rpc->kind == UVZK__RPC_MULTI && i < rpc->op_count; i++) {
        bytes += strlen(rpc->ops[i].path) + rpc->ops[i].data_length;
    }
    assert_in_range(bytes, 0, REQUEST_BYTES_MAX);
    submit_to_sim(port, rpc);
}

/* ------------------------------------------------------------------- a full session */

static void begin(unsigned tuning)
{
    char path[DIRECTORY_LENGTH + 1] = "/";

    memset(&mutex, 0, sizeof(mutex));
    memset(path + 1, 'p', DIRECTORY_LENGTH - 1);
    world_begin_exact(&world, tuning, 10);
    process_begin(&process, &world, "a", NULL);
    world_run_for(&world, 1000);
    submit_to_sim = process.port->submit;
    process.port->submit = submit;
    assert_int_equal(uvzk_mutex_init(&process.client, &mutex, path), 0);
}

static size_t znodes(void)
{
    return sim_ephemeral_count(world.sim, sim_session_id(process.port));
}

/* The first of them holds, and the others wait. */
static size_t ask_until_refused(void)
{
    size_t count = 0;
    int status;

    while ((status = hold_ask(&holds[count], &process, &mutex, NULL)) == 0) {
        assert_true(++count < MOST);
    }
    assert_int_equal(status, UVZK_ELIMIT);
    sim_run_for(world.sim, 2000);
    assert_true(hold_holds(&holds[0]));
    assert_int_equal(znodes(), count);
    return count;
}

/* All in one turn; tells how many requests were under way at most. */
static size_t let_all_go(size_t count)
{
    size_t most = 0;

    for (size_t i = 0; i < count; i++) {
        hold_release_or_cancel(&holds[i]);
    }
    while (znodes() > 0) {
        size_t outstanding = sim_outstanding(process.port);
        most = outstanding > most ? outstanding : most;
        world_run_for(&world, 1);
    }
    world_run_for(&world, 1000);
    return most;
}

/* As many as before have room again. */
static void test_a_full_session(void **state)
{
    begin(*(const unsigned *)*state);
    size_t count = ask_until_refused();
    assert_true(count > MOST / 2);
    assert_in_range(let_all_go(count), 1, UNDER_WAY);
    assert_int_equal(ask_until_refused(), count);
    assert_in_range(let_all_go(count), 1, UNDER_WAY);
    world_end(&world);
}

/* One every millisecond: no request each. */
static void test_deletes_gather(void **state)
{
    (void)state;
    begin(UVZK__TUNE_ALL);
    for (size_t i = 0; i < MANY; i++) {
        hold_begin_on(&holds[i], &process, &mutex, 0, UVZK_WAIT_FOREVER);
    }
    world_run_for(&world, 2000);
    uint64_t before = process_metrics(&process).requests;
    for (size_t i = MANY; i > 0; i--) {
        hold_release_or_cancel(&holds[i - 1]);
        world_run_for(&world, 1);
    }
    world_run_for(&world, 1000);
    assert_in_range(process_metrics(&process).requests - before, 1, MANY / 2);
    world_end(&world);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        {"test_a_full_session", test_a_full_session, NULL, NULL, &world_tuned},
        {"test_a_full_session_plain", test_a_full_session, NULL, NULL, &world_plain},
        cmocka_unit_test(test_deletes_gather),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
