/* SPDX-License-Identifier: Apache-2.0 */
/* A client of a simulated server sends whatever it likes: the server answers with frames,
 * in the order of the requests, or closes the connection. */
#include "frames.h"
#include "native/wire_reply.h"
#include "native/wire_request.h"
#include "outside_client.h"
#include "sim.h"

#define REQUESTS_MS 10 /* virtual; there is no latency */

/* What the server has sent. */
struct heard {
    struct uvzk__jute_writer bytes;
    bool closed;
};

static void hear(void *context, const void *bytes, size_t length)
{
    struct heard *heard = context;

    PROMISE(!heard->closed);
    uvzk__jute_put_raw(&heard->bytes, bytes, length);
}

static void hear_end(void *context)
{
    struct heard *heard = context;

    PROMISE(!heard->closed);
    heard->closed = true;
}

static const struct outside_client_user user = {.send = hear, .hang_up = hear_end};

/* Returns how many frames there are, all of them whole. */
static size_t check_frames(const struct heard *heard)
{
    struct uvzk__jute_bytes left = {heard->bytes.bytes, heard->bytes.length}, frame;
    size_t count = 0;

    while (left.length > 0) {
        PROMISE(uvzk__jute_frame(left, UVZK__JUTE_MAXBUFFER, &frame) == 0);
        left.at += frame.length + 4;
        left.length -= frame.length + 4;
        count++;
    }
    return count;
}

static void send_connect(struct outside_client *client)
{
    static const unsigned char password[16];
    const struct uvzk__connect_request request = {
        .timeout_ms = 10000, .password = uvzk__jute_bytes(password, sizeof(password))};
    struct uvzk__jute_writer writer;

    uvzk__jute_writer_init(&writer);
    PROMISE(uvzk__connect_request_write(&writer, UVZK__JUTE_MAXBUFFER, &request) == 0);
    outside_client_receive(client, contents(&writer));
    uvzk__jute_writer_end(&writer);
}

static struct sim *make_sim(void)
{
    struct sim_options options;

    sim_options_init(&options);
    options.latency_min_ms = options.latency_max_ms = 0;
    options.trace = false;
    return sim_new(1, &options);
}

/* The first byte: 1, the frames begin with a connect request of their own; 2, the servers
 * know less. Then frames with their lengths. */
int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct input input = {data, size};
    uint8_t kind = take_byte(&input);
    struct outside_settings settings = {
        .dialect = {.no_create2 = (kind & 2) != 0, .answers = (kind & 4) != 0}};
    struct heard heard = {.closed = false};
    struct uvzk__jute_bytes frame;
    struct sim *sim = make_sim();

    uvzk__jute_writer_init(&heard.bytes);
    struct outside_client *client =
        outside_client_new(sim, 0, &settings, "fuzz", &user, &heard);
    if ((kind & 1) == 0) {
        send_connect(client);
        sim_run_for(sim, REQUESTS_MS);
        PROMISE(check_frames(&heard) == 1 && outside_client_session(client) != 0);
    }
    while (uvzk__jute_frame(uvzk__jute_bytes(input.at, input.left), UVZK__JUTE_MAXBUFFER,
                            &frame) == 0) {
        outside_client_receive(client, frame);
        sim_run_for(sim, (kind & 8) != 0 ? 0 : REQUESTS_MS);
        input.left -= frame.length + 4;
        input.at += frame.length + 4;
    }
    sim_run_for(sim, REQUESTS_MS);
    (void)check_frames(&heard);
    outside_client_free(client);
    sim_run_for(sim, REQUESTS_MS);
    sim_free(sim);
    uvzk__jute_writer_end(&heard.bytes);
    return 0;
}
