#include "one_ensemble.h"

#include <string.h>

#include "run_loop.h"

#include "servers.h"
bool ensemble_is_clean = true;

int one_ensemble_start_with(const struct ensemble_options *options)
{
    ensemble = ensemble_start(options);
    return ensemble == NULL ? -1 : 0;
}

int one_ensemble_start(void **state)
{
    (void)state;
    return one_ensemble_start_with(NULL);
}

int one_ensemble_stop(void **state)
{
    (void)state;
    ensemble_stop(ensemble);
    ensemble = NULL;
    return 0;
}

static void forget_failed_test(void)
{
    for (int i = 0; i < ENSEMBLE_SIZE; i++) {
        ensemble_mend(ensemble, i);
    }
    ensemble_wipe(ensemble);
    ensemble_is_clean = true;
}

int one_ensemble_make_whole(void **state)
{
    (void)state;
    if (!ensemble_is_clean) {
        forget_failed_test();
    }
    for (int i = 0; i < ENSEMBLE_SIZE; i++) {
        if (!ensemble_revive(ensemble, i)) {
            return -1;
        }
    }
    return ensemble_wait_serving(ensemble) ? 0 : -1;
}

/* ------------------------------------------------------------------- sides */

static void on_state(uvzk_client_t *client, uvzk_client_state_t state)
{
    struct side *side = client->data;
    side->suspended += state == UVZK_STATE_SUSPENDED;
    side->reconnected += state == UVZK_STATE_RECONNECTED;
    side->lost += state == UVZK_STATE_LOST;
}

static void on_closed(uvzk_client_t *client)
{
    struct side *side = client->data;
    side->closed++;
}

uvzk_client_options_t side_options(const char *hosts, uint32_t session_ms)
{
    uvzk_client_options_t options;
    uvzk_client_options_init(&options);
    options.hosts = hosts;
    options.session_timeout_ms = session_ms;
    options.tick_ms = ensemble_tick_ms(ensemble);
    options.state_cb = on_state;
    return options;
}

void side_open(struct side *side, uv_loop_t *loop, const uvzk_client_options_t *options,
               const char *path)
{
    memset(side, 0, sizeof(*side));
    side->client.data = side;
    assert_int_equal(uvzk_client_init(loop, &side->client, options), 0);
    assert_int_equal(uvzk_client_start(&side->client), 0);
    assert_int_equal(uvzk_mutex_init(&side->client, &side->mutex, path), 0);
}

void side_close(struct side *side, uv_loop_t *loop)
{
    assert_int_equal(uvzk_client_close(&side->client, on_closed), 0);
    assert_true(run_until_count(loop, &side->closed, 1));
}
