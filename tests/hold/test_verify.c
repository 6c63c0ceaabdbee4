/* uvzk_hold_verify of a hold with more znodes than one request should name. */
#include "cmocka_test.h"

#include <stdio.h>
#include <string.h>

#include "client/client.h"
#include "hold/rollcall.h"
#include "sim.h"

#define GROUPS 10U
#define MEMBERS 100U
#define ZNODES (GROUPS * MEMBERS)
#define UNTOLD 9999

static struct sim *sim;
static struct uvzk__port *port;
static uvzk_client_t client;
static uvzk_mutex_t mutexes[GROUPS][MEMBERS];
static uvzk_multilock_t groups[GROUPS], lock;
static uvzk_hold_t hold;
static int granted, lost, verified, verdict, closed;

static void on_acquired(uvzk_hold_t *of, int status)
{
    (void)of;
    assert_int_equal(status, 0);
    granted++;
}

static void on_lost(uvzk_hold_t *of, int reason)
{
    (void)of;
    (void)reason;
    lost++;
}

static void on_verified(uvzk_verify_t *request, int status)
{
    (void)request;
    verified++;
    verdict = status;
}

static void on_closed(uvzk_client_t *of)
{
    (void)of;
    closed++;
}

static void await(const int *counter)
{
    for (int i = 0; i < 60000 && *counter == 0; i++) {
        sim_run_for(sim, 1);
    }
    assert_int_equal(*counter, 1);
}

/* A multi lock of mutexes. */
static void init_group(unsigned number)
{
    uvzk_lock_t *members[MEMBERS];
    char path[16];

    for (unsigned i = 0; i < MEMBERS; i++) {
        (void)snprintf(path, sizeof(path), "/%u/%u", number, i);
        members[i] = &mutexes[number][i];
        assert_int_equal(uvzk_mutex_init(&client, members[i], path), 0);
    }
    assert_int_equal(
        uvzk_multilock_init(&client, &groups[number], members, MEMBERS, 0, NULL), 0);
}

static void begin(void)
{
    uvzk_lock_t *members[GROUPS];
    uvzk_client_options_t options;

    memset(mutexes, 0, sizeof(mutexes));
    memset(groups, 0, sizeof(groups));
    memset(&lock, 0, sizeof(lock));
    memset(&hold, 0, sizeof(hold));
    granted = lost = verified = closed = 0;
    verdict = UNTOLD;
    sim = sim_new(1, NULL);
    port = sim_port_new(sim, "c");
    uvzk_client_options_init(&options);
    options.hosts = "simulated:1";
    assert_int_equal(uvzk__client_create(&client, port, &options, UVZK__TUNE_ALL), 0);
    assert_int_equal(uvzk_client_start(&client), 0);
    for (unsigned i = 0; i < GROUPS; i++) {
        init_group(i);
        members[i] = &groups[i];
    }
    assert_int_equal(uvzk_multilock_init(&client, &lock, members, GROUPS, 0, NULL), 0);
    assert_int_equal(uvzk_lock_acquire(&lock, &hold, NULL, on_acquired, on_lost), 0);
    await(&granted);
}

static void end(void)
{
    assert_int_equal(uvzk_client_close(&client, on_closed), 0);
    await(&closed);
    sim_free(sim);
}

static void many_znodes_are_asked_for_in_parts(void **state)
{
    uvzk_verify_t question = {.data = NULL};

    (void)state;
    begin();
    uint64_t before = sim_submitted(port), asked_ms = sim_now(sim);
    assert_int_equal(uvzk_hold_verify(&hold, &question, on_verified), 0);
    await(&verified);
    assert_int_equal(verdict, 0);
    assert_in_range(sim_submitted(port) - before,
                    (ZNODES + UVZK__ROLLCALL_CHECKS - 1) / UVZK__ROLLCALL_CHECKS, 8);
    assert_in_range(sim_now(sim) - asked_ms, 4, 4 * 45);
    end();
}

/* Wherever it is, it is told, once. */
static void one_that_is_missing_is_told(void **state)
{
    (void)state;
    for (uint32_t i = 0; i < GROUPS; i++) {
        uvzk_verify_t question = {.data = NULL};

        begin();
        assert_int_equal(sim_delete_by_hand(sim, uvzk_hold_lease_path(&hold, i)), 0);
        assert_int_equal(uvzk_hold_verify(&hold, &question, on_verified), 0);
        await(&verified);
        assert_int_equal(verdict, UVZK_EDELETED);
        sim_run_for(sim, 1000);
        assert_int_equal(verified, 1);
        assert_int_equal(lost, 1);
        end();
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(many_znodes_are_asked_for_in_parts),
        cmocka_unit_test(one_that_is_missing_is_told),
    };
    return cmocka_run_group_tests_name("verify", tests, NULL, NULL);
}
