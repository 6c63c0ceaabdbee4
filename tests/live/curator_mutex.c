/* Curator's TestInterProcessMutex. */
#include "curator_client.h"
#include "live.h"

#include <stdio.h>
#include <string.h>

#define LOCK "/revoked"
#define SESSION_MS 30000

static struct live live;
static struct curator_client other;
static uvzk_mutex_t mutex, other_mutex;
static struct attempt first, second;
static int pleas;

static void on_revoked(uvzk_hold_t *hold)
{
    assert_ptr_equal(hold, &first.request);
    pleas++;
    assert_int_equal(attempt_release(&first), 0);
}

/* The participants, as the one who asks finds them. */
struct listing {
    uvzk_participants_t request;
    int told, count;
    char only[256];
};

static void on_listed(uvzk_participants_t *request, int status, const char *const *paths,
                      size_t count)
{
    struct listing *listing = request->data;
    assert_int_equal(status, 0);
    listing->told++;
    listing->count = (int)count;
    snprintf(listing->only, sizeof(listing->only), "%s", count > 0 ? paths[0] : "");
}

struct asking {
    uvzk_revoke_t request;
    int told, status;
};

static void on_asked(uvzk_revoke_t *request, int status)
{
    struct asking *asking = request->data;
    asking->told++;
    asking->status = status;
}

/* Of the only participant, found by a listing, by another client. */
static void ask_for_it(void)
{
    static struct listing listing;
    static struct asking asking;
    memset(&listing, 0, sizeof(listing));
    memset(&asking, 0, sizeof(asking));
    listing.request.data = &listing;
    asking.request.data = &asking;
    assert_int_equal(uvzk_lock_participants(&other_mutex, &listing.request, on_listed),
                     0);
    assert_true(run_until_count(live.loop, &listing.told, 1));
    assert_int_equal(listing.count, 1);
    assert_string_equal(listing.only, uvzk_hold_path(&first.request));
    assert_int_equal(
        uvzk_client_revoke(&other.client, &asking.request, listing.only, on_asked), 0);
    assert_true(run_until_count(live.loop, &asking.told, 1));
    assert_int_equal(asking.status, 0);
}

/* Each acquisition anew, as often as one likes: nothing has to be set again. */
static void test_revoking(void **state)
{
    uvzk_acquire_options_t options;
    (void)state;
    live_open(&live);
    curator_client_open(&other, live.loop, server_hosts(live_server), SESSION_MS,
                        live.options.tick_ms);
    memset(&mutex, 0, sizeof(mutex));
    memset(&other_mutex, 0, sizeof(other_mutex));
    assert_int_equal(uvzk_mutex_init(&live.client, &mutex, LOCK), 0);
    assert_int_equal(uvzk_mutex_init(&other.client, &other_mutex, LOCK), 0);
    uvzk_acquire_options_init(&options);
    options.revoke_cb = on_revoked;
    for (int i = 1; i <= 3; i++) {
        pleas = 0;
        assert_int_equal(attempt_start(&first, &mutex, &options), 0);
        assert_true(attempt_wait_granted(live.loop, &first));
        ask_for_it();
        assert_int_equal(attempt_start(&second, &other_mutex, NULL), 0);
        assert_true(attempt_wait_granted(live.loop, &second));
        assert_int_equal(pleas, 1);
        assert_true(attempt_wait_released(live.loop, &first));
        assert_int_equal(first.release_status, 0);
        assert_true(attempt_release_and_wait(live.loop, &second));
    }
    curator_client_assert_idle(&other);
    curator_client_close(&other);
    assert_true(live_wait_children(&live, LOCK, 0));
    live_end(&live);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_revoking),
    };
    return cmocka_run_group_tests(tests, live_server_start, live_server_stop);
}
