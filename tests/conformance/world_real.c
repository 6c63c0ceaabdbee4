/* SPDX-License-Identifier: Apache-2.0 */
#include "world_real.h"

#include <assert.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "raw.h"
#include "run_loop.h"
#include "server.h"

#define LONG_SESSION_MS 30000U

/* A session that is closed while its server is silent, or that ends while requests are
 * handed to the client: the client then loses memory of its own (ZOOKEEPER-2894). */
__attribute__((visibility("default"))) const char *__lsan_default_suppressions(void);
const char *__lsan_default_suppressions(void)
{
    return "leak:libzookeeper_mt.so";
}

struct world {
    uv_loop_t loop;
    struct proxy proxy;
    struct proxy elsewhere; /* refuses until world_move */
    char hosts[200];
    struct uvzk__port *port;
};

/* One server and one other client for all tests: a directory each keeps the tests
 * apart, as the chroot of their sessions. */
static struct server *server;
static zhandle_t *other_client;
static char directory[32];
static unsigned worlds;

struct world_settings world_settings;

int world_begin(void)
{
    server = server_start(NULL);
    other_client = server != NULL ? raw_open(server_hosts(server)) : NULL;
    return other_client != NULL ? 0 : -1;
}

void world_end(void)
{
    raw_close(other_client);
    server_stop(server);
}

struct world *world_new(void)
{
    struct world *world = calloc(1, sizeof(*world));
    uvzk_client_options_t options;
    uv_loop_init(&world->loop);
    assert(proxy_open(&world->loop, &world->proxy, server_port(server)) == 0);
    assert(proxy_open(&world->loop, &world->elsewhere, server_port(server)) == 0);
    proxy_refuse(&world->elsewhere);
    snprintf(directory, sizeof(directory), "/world%u", worlds++);
    assert(raw_create(other_client, directory) == ZOK);
    snprintf(world->hosts, sizeof(world->hosts), "%s%s%s%s%s",
             world_settings.more_hosts != NULL ? world_settings.more_hosts : "",
             world_settings.no_proxy ? server_hosts(server) : world->proxy.hosts,
             world_settings.no_proxy ? "" : ",",
             world_settings.no_proxy ? "" : world->elsewhere.hosts,
             world_settings.no_chroot ? "" : directory);

    uvzk_client_options_init(&options);
    options.hosts =
        world_settings.only_hosts != NULL ? world_settings.only_hosts : world->hosts;
    options.auth_scheme = world_settings.auth_scheme;
    options.auth = world_settings.auth;
    options.auth_length = world_settings.auth != NULL ? strlen(world_settings.auth) : 0;
    options.session_timeout_ms =
        world_settings.long_session ? LONG_SESSION_MS : WORLD_SESSION_MS;
    struct uvzk__loop_port *port = world_port_new(&world->loop, &options);
    uvzk__port_loop_start(&port->port_loop);
    world->port = &port->port;
    return world;
}

struct uvzk__port *world_port(struct world *world)
{
    return world->port;
}

uv_loop_t *world_loop(struct world *world)
{
    return &world->loop;
}

struct proxy *world_proxy(struct world *world)
{
    return &world->proxy;
}

const char *world_server_hosts(void)
{
    return server_hosts(server);
}

bool world_free(struct world *world)
{
    proxy_close(&world->proxy);
    proxy_close(&world->elsewhere);
    bool clean = run_down(&world->loop) == 0;
    free(world);
    return clean;
}

bool world_run_until(struct world *world, bool (*condition)(void *), void *context)
{
    return run_until(&world->loop, condition, context, PATIENCE_MS);
}

void world_run_for(struct world *world, unsigned ms)
{
    run_for(&world->loop, ms);
}

void world_lose(struct world *world)
{
    proxy_refuse(&world->proxy);
}

void world_restore(struct world *world)
{
    proxy_pass(&world->proxy);
}

void world_move(struct world *world)
{
    proxy_refuse(&world->proxy);
    proxy_pass(&world->elsewhere);
}

void world_expire(struct world *world)
{
    assert(raw_expire_session(server_hosts(server), world->proxy.session_id,
                              world->proxy.session_password) == 0);
}

void world_stand_direct(bool direct)
{
    world_settings.no_proxy = direct;
}

void world_have_long_sessions(bool have)
{
    world_settings.long_session = have;
}

static const char *full(char text[256], const char *path)
{
    snprintf(text, 256, "%s%s", directory, path);
    return text;
}

void world_create(struct world *world, const char *path)
{
    char text[256];
    (void)world;
    assert(raw_create(other_client, full(text, path)) == ZOK);
}

void world_set(struct world *world, const char *path)
{
    char text[256];
    (void)world;
    assert(raw_set(other_client, full(text, path), "changed") == ZOK);
}

void world_delete(struct world *world, const char *path)
{
    char text[256];
    (void)world;
    assert(raw_delete(other_client, full(text, path)) == ZOK);
}

long world_children_count(struct world *world, const char *path)
{
    char text[256];
    (void)world;
    return raw_children_count(other_client, full(text, path));
}

long world_data_length(struct world *world, const char *path)
{
    char text[256];
    (void)world;
    return raw_data_length(other_client, full(text, path));
}

bool world_forgives(void)
{
    return true;
}

/* Of "mntr", since "wchs" leaves out the watches on children. */
long world_watch_count(struct world *world)
{
    static const char key[] = "zk_watch_count\t";
    char answer[16384];
    (void)world;
    if (server_command(server, "mntr", answer, sizeof(answer)) < 0) {
        return -1;
    }
    const char *line = strstr(answer, key);
    return line != NULL ? strtol(line + sizeof(key) - 1, NULL, 10) : -1;
}
