/* Clients beside the one of `struct live`, on the same loop: where Curator's tests have
 * several clients. */
#ifndef CURATOR_CLIENT_H
#define CURATOR_CLIENT_H

#include <stdbool.h>
#include <stdint.h>

#include "uvzk.h"

struct curator_client {
    uvzk_client_t client;
    uv_loop_t *loop;
    int connected, suspended, reconnected, lost, closed; /* told so far */
};

/* Initialises and starts it. tick_ms: of its servers. */
void curator_client_open(struct curator_client *client, uv_loop_t *loop,
                         const char *hosts, uint32_t session_ms, uint32_t tick_ms);

/* Asserts that it has neither contenders nor watches left, or will have none soon. */
void curator_client_assert_idle(struct curator_client *client);

/* Closes it, whatever it is doing, and waits for the callback. */
void curator_client_close(struct curator_client *client);

#endif
