/* The znodes of one session. Its end names them all in one transaction, so that their
 * paths may come to so many bytes and no more. When many go at once, no request is beyond
 * what a server reads, and so few are under way that those to come gather meanwhile. */
#include "cmocka_test.h"

#include <string.h>

#include "waiters.h"

#define CLOSE_BYTES_MAX 2000000U   /* of the closeSession that a server can read back */
#define REQUEST_BYTES_MAX 1000000U /* of any other request */
#define DIRECTORY_LENGTH 1000U
#define NAME_LENGTH 56U /* "/_c_", a UUID, "-lock-", the number */
#define MOST (CLOSE_BYTES_MAX / (DIRECTORY_LENGTH + NAME_LENGTH))
#define MANY 400U
#define UNDER_WAY 6U /* deletes, a proof, a listing */

static struct world world;
static struct waiter waiters[MOST];
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

static uint64_t requests(void)
{
    uvzk_client_stats_t stats;

    uvzk_client_stats(&world.clients[0], &stats);
    return stats.requests;
}

/* ---------------------------------------------------------------------- the scene */

static void begin(unsigned tuning)
{
    static const char *const nowhere[] = {NULL};
    char path[DIRECTORY_LENGTH + 1] = "/";

    memset(waiters, 0, sizeof(waiters));
    memset(&mutex, 0, sizeof(mutex));
    memset(path + 1, 'p', DIRECTORY_LENGTH - 1);
    world_begin(&world, tuning, nowhere);
    submit_to_sim = world.ports[0]->submit;
    world.ports[0]->submit = submit;
    assert_int_equal(uvzk_mutex_init(&world.clients[0], &mutex, path), 0);
}

/* The first of them holds, and the others wait. */
static size_t ask_until_refused(void)
{
    size_t count = 0;
    int status;

    while ((status = waiter_request(&waiters[count], &world, &mutex, 0, NULL)) == 0) {
        assert_true(++count < MOST);
    }
    assert_int_equal(status, UVZK_ELIMIT);
    sim_run_for(world.sim, 2000);
    assert_true(waiters[0].holds);
    assert_int_equal(sim_ephemeral_count(world.sim, sim_session_id(world.ports[0])),
                     count);
    return count;
}

/* All in one turn; tells how many requests were under way at most. */
static size_t let_all_go(size_t count)
{
    size_t most = 0;

    for (size_t i = 0; i < count; i++) {
        waiter_let_go(&waiters[i]);
    }
    while (sim_ephemeral_count(world.sim, sim_session_id(world.ports[0])) > 0) {
        size_t outstanding = sim_outstanding(world.ports[0]);
        most = outstanding > most ? outstanding : most;
        sim_run_for(world.sim, 1);
    }
    sim_run_for(world.sim, 1000);
    return most;
}

/* As many as before have room again. */
static void check_budget(unsigned tuning)
{
    begin(tuning);
    size_t count = ask_until_refused();
    assert_true(count > MOST / 2);
    assert_in_range(let_all_go(count), 1, UNDER_WAY);
    assert_int_equal(ask_until_refused(), count);
    assert_in_range(let_all_go(count), 1, UNDER_WAY);
    world_end(&world);
}

static void test_a_full_session(void **state)
{
    (void)state;
    check_budget(UVZK__TUNE_ALL);
}

static void test_a_full_session_plain(void **state)
{
    (void)state;
    check_budget(0);
}

/* One every millisecond: no request each. */
static void test_deletes_gather(void **state)
{
    (void)state;
    begin(UVZK__TUNE_ALL);
    for (size_t i = 0; i < MANY; i++) {
        waiter_ask(&waiters[i], &world, &mutex, 0, NULL);
    }
    sim_run_for(world.sim, 2000);
    uint64_t before = requests();
    for (size_t i = MANY; i > 0; i--) {
        waiter_let_go(&waiters[i - 1]);
        sim_run_for(world.sim, 1);
    }
    sim_run_for(world.sim, 1000);
    assert_in_range(requests() - before, 1, MANY / 2);
    world_end(&world);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_a_full_session),
        cmocka_unit_test(test_a_full_session_plain),
        cmocka_unit_test(test_deletes_gather),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
