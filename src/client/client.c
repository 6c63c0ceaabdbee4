#include "client/client.h"

#include <string.h>

#include "base/path.h"
#include "base/refusal.h"
#include "base/retry.h"
#include "claim/claim.h"
#include "client/lifecycle.h"
#include "client/states.h"
#include "directory/contender.h"
#include "engine/acl.h"
#include "engine/client.h"
#include "engine/log.h"
#include "future/future.h"
#include "proof/prover.h"

#define SESSION_TIMEOUT_MS 60000U /* curator-default-session-timeout */
#define TICK_MS 2000U             /* tickTime of ZooKeeper's sample configuration */
#define CLOSE_WAIT_MS 1000U

/* The C client, which counts in ints, overflows at twice the session timeout and rests
 * for a sixtieth of it when it has tried every server in vain: below 500 ms that is a
 * storm of attempts, each with its lines of log. A day is more than any server grants
 * and far from the overflow (12 days), and so is what is reckoned from either. */
#define SESSION_TIMEOUT_MIN_MS 500U
#define SESSION_TIMEOUT_MAX_MS 86400000U
#define TICK_MIN_MS 10U /* a proof that comes too early is asked for again in a quarter */

void uvzk_client_options_init_size(uvzk_client_options_t *options, size_t size)
{
    if (options == NULL) {
        return;
    }
    memset(options, 0, size);
    options->size = size;
}

static bool within(uint32_t value, uint32_t least, uint32_t most)
{
    return value >= least && value <= most;
}

/* What is wrong with them; NULL: nothing. */
static const char *objection(const uvzk_client_options_t *options)
{
    if (options->hosts == NULL || options->hosts[0] == '\0') {
        return "options.hosts: none are named";
    }
    if (!within(options->session_timeout_ms, SESSION_TIMEOUT_MIN_MS,
                SESSION_TIMEOUT_MAX_MS)) {
        return "options.session_timeout_ms is not 500 to 86400000";
    }
    if (!within(options->tick_ms, TICK_MIN_MS, SESSION_TIMEOUT_MAX_MS)) {
        return "options.tick_ms is not 10 to 86400000";
    }
    if (options->proof > UVZK_PROOF_NONE) {
        return "options.proof: there is no such proof";
    }
    if (options->auth_length > 0 &&
        (options->auth_scheme == NULL || options->auth == NULL)) {
        return options->auth == NULL
                   ? "options.auth is NULL, auth_length is not 0"
                   : "options.auth_scheme is NULL, auth_length is not 0";
    }
    if (options->auth_length > UVZK__DATA_MAX) {
        return "options.auth_length is more than 1000000";
    }
    if (options->default_data_length > UVZK__DATA_MAX) {
        return "options.default_data_length is more than 1000000";
    }
    if (options->default_data == NULL && options->default_data_length > 0) {
        return "options.default_data is NULL, default_data_length is not 0";
    }
    return options->sessions > UVZK__SESSIONS_MAX ? "options.sessions is more than 32"
                                                  : NULL;
}

/* Who asks for TLS must never get plain text in silence. */
static const char *want_of_tls(const uvzk_client_options_t *options)
{
    return options->tls == NULL
               ? NULL
               : "options.tls: the ZooKeeper client is built without TLS; leave it NULL, "
                 "and let options.hosts name a tunnel to the servers' TLS port";
}

int uvzk__options_read(uvzk_client_options_t *into, const uvzk_client_options_t *from)
{
    int status;

    if (from == NULL || from->size < sizeof(*into)) {
        return uvzk__refuse(UV_EINVAL, from == NULL ? "options is NULL"
                                                    : "options.size: begin with "
                                                      "uvzk_client_options_init");
    }
    memcpy(into, from, sizeof(*into));
    if (into->session_timeout_ms == 0) {
        into->session_timeout_ms = SESSION_TIMEOUT_MS;
    }
    if (into->tick_ms == 0) {
        into->tick_ms = TICK_MS;
    }
    if (into->close_wait_ms == 0) {
        into->close_wait_ms = CLOSE_WAIT_MS;
    }
    if (into->sessions == 0) {
        into->sessions = 1;
    }
    status = uvzk__object(UV_EINVAL, objection(into));
    if (status == 0) {
        status = uvzk__object(UV_ENOTSUP, want_of_tls(into));
    }
    if (status == 0) {
        status = uvzk__acl_check(into->acl, into->acl_count);
    }
    return status != 0 ? status : uvzk__retry_normalize(&into->retry);
}

/* ------------------------------------------------------------ what it is made of */

static int copy_acl(struct uvzk__client *client, const uvzk_client_options_t *options)
{
    static const uvzk_acl_t open = {UVZK_PERM_ALL, "world", "anyone"};
    const uvzk_acl_t *from = options->acl_count > 0 ? options->acl : &open;
    size_t count = options->acl_count > 0 ? options->acl_count : 1;

    client->acl_entries = uvzk__calloc(count, sizeof(client->acl_entries[0]));
    if (client->acl_entries == NULL) {
        return UV_ENOMEM;
    }
    client->acl.entries = client->acl_entries;
    for (size_t i = 0; i < count; i++) {
        client->acl_entries[i].perms = from[i].perms;
        client->acl_entries[i].scheme = uvzk__strdup(from[i].scheme);
        client->acl_entries[i].id = uvzk__strdup(from[i].id);
        client->acl.count = i + 1;
        if (client->acl_entries[i].scheme == NULL || client->acl_entries[i].id == NULL) {
            return UV_ENOMEM;
        }
    }
    return 0;
}

static int copy_namespace(struct uvzk__client *client, const char *ns)
{
    int status;

    if (ns == NULL || ns[0] == '\0') {
        client->ns = uvzk__strdup("");
        return client->ns == NULL ? UV_ENOMEM : 0;
    }
    if (ns[0] == '/') {
        return uvzk__refuse(UVZK_EPATH,
                            "options.ns begins with '/'"); /* not in Curator */
    }
    client->ns = uvzk__path_join("/", ns);
    if (client->ns == NULL) {
        return UV_ENOMEM;
    }
    status = uvzk__path_validate(client->ns);
    return uvzk__object(status, status == 0 ? NULL
                                            : "options.ns: an element is empty, \".\", "
                                              "\"..\", or has characters that ZooKeeper "
                                              "does not take; or it is too long");
}

static int copy_data(struct uvzk__client *client, const uvzk_client_options_t *options)
{
    client->life->default_data_is_address = options->default_data == NULL;
    if (options->default_data == NULL) {
        return 0;
    }
    client->default_data =
        uvzk__memdup(options->default_data, options->default_data_length);
    client->default_data_length = options->default_data_length;
    return client->default_data == NULL ? UV_ENOMEM : 0;
}

static void free_string(const char *text)
{
    uvzk__free((void *)(uintptr_t)text);
}

void uvzk__client_free(struct uvzk__client *client)
{
    for (size_t i = 0; i < client->acl.count; i++) {
        free_string(client->acl_entries[i].scheme);
        free_string(client->acl_entries[i].id);
    }
    uvzk__free(client->acl_entries);
    uvzk__free(client->default_data);
    uvzk__free(client->ns);
    uvzk__flights_free(client);
    uvzk__free(client);
}

/* What the rooms keep of a client, in one piece. It owns everything behind the shells:
 *
 *   client --- queues by path --- contenders in order
 *          |                          |
 *          \-- locks --- claims --- contenders
 *                          \------ acquisitions
 *
 * A claim is what one owner asks of one lock: the acquisitions (one, or several
 * of one owner) that are granted and lost together, and the contenders that this
 * takes. A contender is one znode of ours in a lock directory; it outlives its
 * acquisitions for as long as the znode may exist. A queue is the one view of a
 * lock directory that all its local contenders share. */
struct rooms {
    struct uvzk__client client; /* first: it is freed by its address */
    struct uvzk__prover prover;
    struct uvzk__directories directories;
    struct uvzk__claims claims;
    struct uvzk__futures futures;
    struct uvzk__life life;
};

/* What all sessions of a client share, in one piece. */
struct shared {
    struct uvzk__sessions sessions; /* first: it is freed by its address */
    struct uvzk__states states;
};

void uvzk__sessions_free(struct uvzk__sessions *sessions)
{
    if (sessions->count > 0) {
        uvzk__observer_free(sessions->each[0]);
    }
    for (uint32_t i = sessions->count; i > 0; i--) {
        uvzk__client_free(sessions->each[i - 1]);
    }
    uvzk__free(sessions);
}

static struct uvzk__client *new_client(struct shared *shared,
                                       const uvzk_client_options_t *options)
{
    struct rooms *rooms = uvzk__calloc(1, sizeof(*rooms));

    if (rooms == NULL) {
        return NULL;
    }
    struct uvzk__client *client = &rooms->client;
    client->sessions = &shared->sessions;
    client->number = shared->sessions.count;
    client->prover = &rooms->prover;
    client->directories = &rooms->directories;
    client->claims = &rooms->claims;
    client->futures = &rooms->futures;
    client->life = &rooms->life;
    client->life->states = &shared->states;
    uvzk__list_init(&client->tellings);
    uvzk__prover_init(client, &uvzk__contender_witnesses, options->proof,
                      options->tick_ms);
    uvzk__directories_init(client->directories, &uvzk__claim_contenders);
    uvzk__claims_init(client->claims);
    uvzk__futures_init(client->futures);
    uvzk__sessions_add(&shared->sessions, client);
    return client;
}

/* One more session, with copies of what the options point to. */
static int add_session(struct shared *shared, const uvzk_client_options_t *options)
{
    struct uvzk__client *client = new_client(shared, options);

    if (client == NULL) {
        return UV_ENOMEM;
    }
    int status = copy_namespace(client, options->ns);
    if (status == 0) {
        status = copy_acl(client, options);
    }
    if (status == 0) {
        status = copy_data(client, options);
    }
    if (status == 0 && (options->metrics != 0 || options->trace_cb != NULL)) {
        status = uvzk__observe(client, options->trace_cb);
    }
    return status;
}

/* Puts it on its port. Nothing can fail any more. */
static void put_on(struct uvzk__client *client, uvzk_client_t *shell,
                   struct uvzk__port *port, const uvzk_client_options_t *options,
                   unsigned tuning)
{
    client->shell = shell;
    client->port = port;
    client->tuning = tuning;
    client->life->state_cb = options->state_cb;
    client->log_cb = options->log_cb;
    client->log_line_cb = options->log_line_cb;
    client->acl_cb = options->acl_cb;
    client->retry = options->retry;
    client->life->close_wait_ms = options->close_wait_ms;
    client->containers = true;
    uvzk__session_init(&client->session);
    uvzk__log_init(client);
    uvzk__lifecycle_init(client);
}

int uvzk__client_create_over(uvzk_client_t *shell, struct uvzk__port *const *ports,
                             uint32_t count, const uvzk_client_options_t *options,
                             unsigned tuning)
{
    uvzk_client_options_t known;
    int status = uvzk__options_read(&known, options);

    if (status != 0) {
        return status;
    }
    if (shell->impl != NULL) {
        return uvzk__refuse(UV_EBUSY, "client is in use, or not zeroed");
    }
    struct shared *shared = uvzk__calloc(1, sizeof(*shared));
    if (shared == NULL) {
        return UV_ENOMEM;
    }
    struct uvzk__sessions *sessions = &shared->sessions;
    while (sessions->count < count && status == 0) {
        status = add_session(shared, &known);
    }
    if (status != 0) {
        uvzk__sessions_free(sessions);
        return status;
    }
    for (uint32_t i = 0; i < count; i++) {
        put_on(sessions->each[i], shell, ports[i], &known, tuning);
    }
    shell->impl = sessions->each[0];
    return 0;
}

int uvzk__client_create(uvzk_client_t *shell, struct uvzk__port *port,
                        const uvzk_client_options_t *options, unsigned tuning)
{
    return uvzk__client_create_over(shell, &port, 1, options, tuning);
}

struct uvzk__port *uvzk__client_port_of(const uvzk_client_t *shell, uint32_t index)
{
    const struct uvzk__client *client = shell == NULL ? NULL : shell->impl;

    return client == NULL || index >= client->sessions->count
               ? NULL
               : client->sessions->each[index]->port;
}

struct uvzk__port *uvzk__client_port(const uvzk_client_t *shell)
{
    return uvzk__client_port_of(shell, 0);
}

/* --------------------------------------------------------- the public verbs */

int uvzk_client_start(uvzk_client_t *shell)
{
    struct uvzk__client *client = shell == NULL ? NULL : shell->impl;

    if (shell == NULL) {
        return uvzk__refuse(UV_EINVAL, "client is NULL");
    }
    if (client == NULL || client->life->started || client->closing) {
        return uvzk__refuse(UVZK_ESTATE,
                            "client is started, closing, or not initialised");
    }
    for (uint32_t i = 0; i < client->sessions->count; i++) {
        client->sessions->each[i]->life->started = true;
        uvzk__open(client->sessions->each[i]);
    }
    return 0;
}

int uvzk_client_close(uvzk_client_t *shell, uvzk_client_close_cb close_cb)
{
    struct uvzk__client *client = shell == NULL ? NULL : shell->impl;

    if (shell == NULL) {
        return uvzk__refuse(UV_EINVAL, "client is NULL");
    }
    if (client == NULL || client->closing) {
        return uvzk__refuse(UVZK_ESTATE, "client is closing, or not initialised");
    }
    client->life->close_cb = close_cb;
    for (uint32_t i = 0; i < client->sessions->count; i++) {
        uvzk__close(client->sessions->each[i]);
    }
    return 0;
}

uvzk_client_state_t uvzk_client_state(const uvzk_client_t *shell)
{
    const struct uvzk__client *client = shell == NULL ? NULL : shell->impl;

    return client == NULL ? UVZK_STATE_CLOSED : uvzk__states_now(client);
}

int64_t uvzk_client_session_id(const uvzk_client_t *shell)
{
    const struct uvzk__client *client = shell == NULL ? NULL : shell->impl;

    return client == NULL ? 0 : uvzk__session_id(&client->session);
}

uint32_t uvzk_client_session_timeout(const uvzk_client_t *shell)
{
    const struct uvzk__client *client = shell == NULL ? NULL : shell->impl;

    return client == NULL ? 0 : uvzk__session_timeout(&client->session);
}

static void add_stats(const struct uvzk__client *client, uvzk_client_stats_t *stats)
{
    const struct uvzk__catalogue *catalogue = &client->directories->catalogue;

    stats->requests += uvzk__requests(&client->submissions);
    stats->listings += uvzk__listings(&client->submissions);
    stats->proofs += uvzk__prover_proofs(client);
    stats->contenders += client->directories->contender_count;
    stats->watches += uvzk__watch_count(&client->watches);
    for (const struct uvzk__queue *queue = uvzk__catalogue_first(catalogue);
         queue != NULL; queue = uvzk__catalogue_next(catalogue, queue)) {
        stats->foreign += uvzk__aside(queue)->foreigners.children;
    }
}

void uvzk_client_stats(const uvzk_client_t *shell, uvzk_client_stats_t *stats)
{
    const struct uvzk__client *client = shell == NULL ? NULL : shell->impl;

    if (stats == NULL) {
        return;
    }
    memset(stats, 0, sizeof(*stats));
    for (uint32_t i = 0; client != NULL && i < client->sessions->count; i++) {
        add_stats(client->sessions->each[i], stats);
    }
}
