/* SPDX-License-Identifier: Apache-2.0 */
#include "servers.h"

#include <stddef.h>

struct server *live_server;
struct ensemble *ensemble;

/* The latest test has left nothing on the servers. If not, their data is
 * removed before the next test. */
static bool clean = true;

int servers_start_one_with(const struct server_options *options)
{
    live_server = server_start(options);
    return live_server == NULL ? -1 : 0;
}

int servers_start_three_with(const struct ensemble_options *options)
{
    ensemble = ensemble_start(options);
    return ensemble == NULL ? -1 : 0;
}

int servers_start_one(void **state)
{
    (void)state;
    return servers_start_one_with(NULL);
}

int servers_start_three(void **state)
{
    (void)state;
    return servers_start_three_with(NULL);
}

int servers_stop(void **state)
{
    (void)state;
    server_stop(live_server);
    ensemble_stop(ensemble);
    live_server = NULL;
    ensemble = NULL;
    return 0;
}

const char *servers_hosts(void)
{
    if (ensemble != NULL) {
        return ensemble_hosts(ensemble);
    }
    return live_server != NULL ? server_hosts(live_server) : NULL;
}

uint32_t servers_tick_ms(void)
{
    if (ensemble != NULL) {
        return ensemble_tick_ms(ensemble);
    }
    return live_server != NULL ? server_tick_ms(live_server) : 0;
}

static bool make_one_whole(void)
{
    if (clean) {
        return true;
    }
    server_kill(live_server);
    server_wipe(live_server);
    return server_restart(live_server);
}

static bool make_three_whole(void)
{
    for (int i = 0; i < ENSEMBLE_SIZE && !clean; i++) {
        ensemble_mend(ensemble, i);
    }
    if (!clean) {
        ensemble_wipe(ensemble);
    }
    for (int i = 0; i < ENSEMBLE_SIZE; i++) {
        if (!ensemble_revive(ensemble, i)) {
            return false;
        }
    }
    return ensemble_wait_serving(ensemble);
}

bool servers_make_whole(void)
{
    bool whole = ensemble != NULL ? make_three_whole() : make_one_whole();

    clean = false;
    return whole;
}

void servers_are_clean(void)
{
    clean = true;
}

static bool one_is_bare(void)
{
    return server_watch_count(live_server) == 0 &&
           server_ephemeral_count(live_server) == 0;
}

static bool three_are_bare(void)
{
    bool bare = ensemble_leader(ensemble) >= 0;

    for (int i = 0; i < ENSEMBLE_SIZE && bare; i++) {
        bare =
            !ensemble_serves(ensemble, i) || (ensemble_watch_count(ensemble, i) == 0 &&
                                              ensemble_ephemeral_count(ensemble, i) == 0);
    }
    return bare;
}

bool servers_are_bare(void)
{
    return ensemble != NULL ? three_are_bare() : one_is_bare();
}
