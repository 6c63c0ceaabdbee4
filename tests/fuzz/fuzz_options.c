/* SPDX-License-Identifier: Apache-2.0 */
/* Options, and the data of znodes: a client is made or refused, and what it is made with
 * is what its znodes have. */
#include "client/create.h"
#include "fuzz.h"
#include "sim.h"

#define PATH "/lock"
#define TEXTS 4

/* Everything that an input says, for as long as it is used. */
struct settings {
    uvzk_client_options_t options;
    uvzk_acl_t acl;
    uvzk_acquire_options_t acquire;
    char *texts[TEXTS];
};

static void read_settings(struct settings *settings, struct input *input)
{
    uvzk_client_options_t *options = &settings->options;
    uint8_t has = take_byte(input);

    uvzk_client_options_init(options);
    options->session_timeout_ms = take_number(input);
    options->tick_ms = take_number(input);
    options->proof = take_byte(input) % 5;
    options->close_wait_ms = take_number(input);
    options->retry.kind = take_byte(input) % 6;
    options->retry.base_ms = take_number(input);
    options->retry.max_retries = take_number(input);
    for (int i = 0; i < TEXTS; i++) {
        settings->texts[i] = take_line(input);
    }
    options->hosts = has & 1 ? settings->texts[0] : "simulated:1";
    options->ns = has & 2 ? settings->texts[1] : NULL;
    options->auth_scheme = has & 4 ? settings->texts[2] : NULL;
    options->auth = has & 8 ? settings->texts[2] : NULL;
    options->auth_length = has & 16 ? strlen(settings->texts[2]) : 0;
    options->default_data = has & 32 ? settings->texts[3] : NULL;
    options->default_data_length = has & 64 ? strlen(settings->texts[3]) : 0;
    settings->acl = (uvzk_acl_t){take_byte(input), "world", "anyone"};
    options->acl = &settings->acl;
    options->acl_count = has & 128 ? 1 : 0;
    uvzk_acquire_options_init(&settings->acquire);
    settings->acquire.node_data = input->left > 0 ? input->at : NULL;
    settings->acquire.node_data_length = input->left;
}

static void free_settings(struct settings *settings)
{
    for (int i = 0; i < TEXTS; i++) {
        free(settings->texts[i]);
    }
}

static void on_acquired(uvzk_hold_t *hold, int status)
{
    int *told = hold->data;

    *told = status == 0 ? 1 : status;
}

static void on_lost(uvzk_hold_t *hold, int reason)
{
    (void)hold;
    (void)reason;
}

static void on_closed(uvzk_client_t *client)
{
    *(bool *)client->data = true;
}

/* The znode of a hold has the acquire's data, else the client's. */
static void check_data(const struct sim *sim, const uvzk_hold_t *hold,
                       const struct settings *settings)
{
    size_t length, expected = settings->acquire.node_data_length;
    const void *wanted = settings->acquire.node_data;
    const void *data = sim_data(sim, uvzk_hold_path(hold), &length);

    if (wanted == NULL) {
        wanted = settings->options.default_data;
        expected = settings->options.default_data_length;
    }
    if (wanted != NULL && data != NULL) { /* else our address, or deleted */
        PROMISE(length == expected && memcmp(data, wanted, length) == 0);
    }
}

static void use(struct sim *sim, uvzk_client_t *client, const struct settings *settings)
{
    uvzk_mutex_t mutex = {0};
    uvzk_hold_t hold = {0};
    int told = 0, status = uvzk_mutex_init(client, &mutex, PATH);
    bool closed = false;

    client->data = &closed;
    PROMISE(uvzk_client_start(client) == 0);
    hold.data = &told;
    if (status == 0) {
        status =
            uvzk_lock_acquire(&mutex, &hold, &settings->acquire, on_acquired, on_lost);
        PROMISE(status == 0);
        sim_run_for(sim, 500);
    }
    if (told == 1 && uvzk_hold_path(&hold) != NULL) {
        check_data(sim, &hold, settings);
    }
    PROMISE(uvzk_client_close(client, on_closed) == 0);
    for (int i = 0; i < 100 && !closed; i++) {
        sim_run_for(sim, 100 * (1ULL << (i / 10)));
    }
    PROMISE(closed || settings->options.close_wait_ms > 1000);
    while (!closed) { /* it was told to wait so long */
        sim_run_for(sim, UINT64_C(1) << 31);
    }
    PROMISE(status != 0 || told != 0);
}

/* Somebody has to own the port. */
static void create(uvzk_client_t *client, struct uvzk__port *port,
                   struct settings *settings)
{
    if (uvzk__client_create(client, port, &settings->options, UVZK__TUNE_ALL) != 0) {
        PROMISE(client->impl == NULL);
        uvzk_client_options_init(&settings->options);
        settings->options.hosts = "simulated:1";
        PROMISE(uvzk__client_create(client, port, &settings->options, 0) == 0);
    }
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct input input = {data, size};
    struct settings settings;
    struct sim_options sim_options;
    uvzk_client_t client = {0};

    read_settings(&settings, &input);
    sim_options_init(&sim_options);
    sim_options.trace = false;
    sim_options.latency_max_ms = 1;
    struct sim *sim = sim_new(1, &sim_options);
    create(&client, sim_port_new(sim, "a"), &settings);
    use(sim, &client, &settings);
    sim_free(sim);
    free_settings(&settings);
    return 0;
}
