/* One loop, one lock, ten thousand contenders: granted one after the other, in
 * the order in which they asked. */
#include "live.h"

#include <stdlib.h>
#include <string.h>

#define LOCK "/crowd/lock"
#define CONTENDERS 10000
/* One in so many keeps the lock over some turns of the loop, so that the queue
 * also stands still now and then. */
#define LINGERS_EVERY 500
#define LINGER_MS 5

struct contender {
    uvzk_hold_t request;
    int number;
    int64_t token;
    int granted, released;
};

static struct live live;
static uvzk_mutex_t mutex;
static struct contender *contenders, *holder;
static int granted, released, beside_another, out_of_turn;
static uv_timer_t linger;

static void on_released(uvzk_hold_t *hold, int status)
{
    struct contender *contender = hold->data;
    assert_int_equal(status, 0);
    contender->released++;
    released++;
}

static void release_holder(void)
{
    struct contender *contender = holder;
    holder = NULL;
    assert_int_equal(uvzk_hold_release(&contender->request, on_released), 0);
}

static void on_linger_end(uv_timer_t *timer)
{
    (void)timer;
    release_holder();
}

static void on_acquired(uvzk_hold_t *hold, int status)
{
    struct contender *contender = hold->data;
    assert_int_equal(status, 0);
    beside_another += holder != NULL;
    out_of_turn += contender->number != granted;
    granted++;
    contender->granted++;
    contender->token = uvzk_hold_token(hold);
    holder = contender;
    if (contender->number % LINGERS_EVERY == 0) {
        uv_timer_start(&linger, on_linger_end, LINGER_MS, 0);
    } else {
        release_holder();
    }
}

static void on_lost(uvzk_hold_t *hold, int reason)
{
    (void)hold;
    fail_msg("lost: %s", uvzk_strerror(reason));
}

/* Every other one has an owner of its own, the rest none. */
static void queue_all(void)
{
    uvzk_acquire_options_t options;
    uvzk_acquire_options_init(&options);
    for (int i = 0; i < CONTENDERS; i++) {
        struct contender *contender = &contenders[i];
        contender->number = i;
        contender->request.data = contender;
        options.owner = i % 2 == 0 ? contender : NULL;
        assert_int_equal(uvzk_lock_acquire(&mutex, &contender->request, &options,
                                           on_acquired, on_lost),
                         0);
    }
}

static void test_ten_thousand_contenders(void **state)
{
    (void)state;
    contenders = calloc(CONTENDERS, sizeof(*contenders));
    assert_non_null(contenders);
    live_open(&live);
    uv_timer_init(live.loop, &linger);
    memset(&mutex, 0, sizeof(mutex));
    assert_int_equal(uvzk_mutex_init(&live.client, &mutex, LOCK), 0);
    queue_all();
    assert_true(run_until_count(live.loop, &released, CONTENDERS));
    assert_int_equal(granted, CONTENDERS);
    assert_int_equal(beside_another, 0);
    assert_int_equal(out_of_turn, 0);
    for (int i = 0; i < CONTENDERS; i++) {
        assert_int_equal(contenders[i].granted, 1);
        assert_int_equal(contenders[i].released, 1);
        assert_true(i == 0 || contenders[i].token > contenders[i - 1].token);
    }
    assert_int_equal(raw_children_count(live.raw, LOCK), 0);
    uv_close((uv_handle_t *)&linger, NULL);
    live_end(&live);
    free(contenders);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_ten_thousand_contenders),
    };
    return cmocka_run_group_tests(tests, live_server_start, live_server_stop);
}
