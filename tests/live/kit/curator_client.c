#include "curator_client.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cmocka_test.h"
#include "run_loop.h"

static void on_state(uvzk_client_t *shell, uvzk_client_state_t state)
{
    struct curator_client *client = shell->data;
    client->connected += state == UVZK_STATE_CONNECTED;
    client->suspended += state == UVZK_STATE_SUSPENDED;
    client->reconnected += state == UVZK_STATE_RECONNECTED;
    client->lost += state == UVZK_STATE_LOST;
}

static void on_log(uvzk_client_t *shell, int level, const char *line)
{
    fprintf(stderr, "uvzk log %d of %p: %s\n", level, (void *)shell, line);
}

static void on_closed(uvzk_client_t *shell)
{
    struct curator_client *client = shell->data;
    client->closed++;
}

void curator_client_open(struct curator_client *client, uv_loop_t *loop,
                         const char *hosts, uint32_t session_ms, uint32_t tick_ms)
{
    uvzk_client_options_t options;
    memset(client, 0, sizeof(*client));
    client->loop = loop;
    client->client.data = client;
    uvzk_client_options_init(&options);
    options.hosts = hosts;
    options.session_timeout_ms = session_ms;
    options.tick_ms = tick_ms;
    options.state_cb = on_state;
    options.log_cb = getenv("UVZK_TEST_LOG") != NULL ? on_log : NULL;
    assert_int_equal(uvzk_client_init(loop, &client->client, &options), 0);
    assert_int_equal(uvzk_client_start(&client->client), 0);
}

static bool is_idle(void *context)
{
    const struct curator_client *client = context;
    uvzk_client_stats_t stats;
    uvzk_client_stats(&client->client, &stats);
    return stats.contenders == 0 && stats.watches == 0;
}

void curator_client_assert_idle(struct curator_client *client)
{
    assert_true(run_until(client->loop, is_idle, client, PATIENCE_MS));
}

void curator_client_close(struct curator_client *client)
{
    assert_int_equal(uvzk_client_close(&client->client, on_closed), 0);
    assert_true(run_until_count(client->loop, &client->closed, 1));
}
