/* SPDX-License-Identifier: Apache-2.0 */
/* Makes clients: checks the options, allocates the client with its sessions, and connects
 * each session to its port. It also has the public functions to start and close a client
 * and to read its state, id and statistics. lifecycle.c does what happens between start
 * and end.
 *
 * Everything that can fail is done before a port is touched. So a failed init leaves
 * nothing behind, and the caller keeps its ports. */
#include "client/create.h"

#include <string.h>

#include "barrier/barriers.h"
#include "base/path.h"
#include "base/refusal.h"
#include "base/retry.h"
#include "base/struct_size.h"
#include "claim/claim.h"
#include "client/combined_state.h"
#include "client/lifecycle.h"
#include "client/option_table.h"
#include "directory/contender.h"
#include "election/election.h"
#include "engine/acl.h"
#include "engine/handle_end.h"
#include "engine/log.h"
#include "engine/session.h"
#include "future/future.h"
#include "proof/prover.h"

void uvzk_client_options_init_size(uvzk_client_options_t *options, size_t size)
{
    if (options == NULL) {
        return;
    }
    memset(options, 0, size);
    options->size = size;
#ifdef UVZK_WITHOUT_C_CLIENT
    if (size >= UVZK__SIZE_UP_TO(uvzk_client_options_t, transport)) {
        options->transport = UVZK_TRANSPORT_NATIVE;
    }
#endif
}

/* `transport` stands where older headers have the padding at the end of the struct, which
 * uvzk_client_options_init has set to 0, the default.
 *
 * A sentence about the first invalid option; NULL: all are valid. */
static const char *invalid_option(const uvzk_client_options_t *options)
{
    const char *fault = uvzk__options_fault(options);

    if (options->hosts == NULL || options->hosts[0] == '\0') {
        return "options.hosts: no server is named";
    }
    if (fault == NULL && options->auth_length > 0 && options->auth_scheme == NULL) {
        return "options.auth_scheme is NULL, auth_length is not 0";
    }
    return fault;
}

/* A caller who wants TLS must never get plain text without noticing. */
static const char *missing_tls(const uvzk_client_options_t *options)
{
    return options->tls == NULL || options->transport == UVZK_TRANSPORT_NATIVE
               ? NULL
               : "options.tls: the ZooKeeper C client is built without TLS; set "
                 "options.transport to UVZK_TRANSPORT_NATIVE, or let options.hosts name "
                 "a "
                 "tunnel to the servers' TLS port";
}

static const char *missing_sasl(const uvzk_client_options_t *options)
{
    return options->sasl == NULL || options->transport == UVZK_TRANSPORT_NATIVE
               ? NULL
               : "options.sasl: uvzk has SASL only over the native transport; set "
                 "options.transport to UVZK_TRANSPORT_NATIVE";
}

int uvzk__options_read(uvzk_client_options_t *into, const uvzk_client_options_t *from)
{
    int status;

    if (from == NULL || from->size < UVZK__SIZE_UP_TO(uvzk_client_options_t, sessions)) {
        return uvzk__refuse(UV_EINVAL, from == NULL ? "options is NULL"
                                                    : "options.size: begin with "
                                                      "uvzk_client_options_init");
    }
    uvzk_client_options_init(into);
    uvzk__settings_from(into, from, sizeof(*into));
    uvzk__options_complete(into);
    status = uvzk__refuse_if(UV_EINVAL, invalid_option(into));
    if (status == 0) {
        status = uvzk__refuse_if(UV_ENOTSUP, missing_tls(into));
    }
    if (status == 0) {
        status = uvzk__refuse_if(UV_ENOTSUP, missing_sasl(into));
    }
    if (status == 0) {
        status = uvzk__acl_check(into->acl, into->acl_count);
    }
    return status != 0 ? status : uvzk__retry_normalize(&into->retry);
}

/* ------------------------------------------------------------ allocating */

static int copy_acl(struct uvzk__session *session, const uvzk_client_options_t *options)
{
    static const uvzk_acl_t open = {UVZK_PERM_ALL, "world", "anyone"};
    const uvzk_acl_t *from = options->acl_count > 0 ? options->acl : &open;
    size_t count = options->acl_count > 0 ? options->acl_count : 1;

    session->acl_entries = uvzk__calloc(count, sizeof(session->acl_entries[0]));
    if (session->acl_entries == NULL) {
        return UV_ENOMEM;
    }
    session->acl.entries = session->acl_entries;
    for (size_t i = 0; i < count; i++) {
        session->acl_entries[i].perms = from[i].perms;
        session->acl_entries[i].scheme = uvzk__strdup(from[i].scheme);
        session->acl_entries[i].id = uvzk__strdup(from[i].id);
        session->acl.count = i + 1;
        if (session->acl_entries[i].scheme == NULL ||
            session->acl_entries[i].id == NULL) {
            return UV_ENOMEM;
        }
    }
    return 0;
}

static int copy_namespace(struct uvzk__session *session, const char *ns)
{
    int status;

    if (ns == NULL || ns[0] == '\0') {
        session->ns = uvzk__strdup("");
        return session->ns == NULL ? UV_ENOMEM : 0;
    }
    if (ns[0] == '/') {
        return uvzk__refuse(UVZK_EPATH,
                            /* A namespace does not begin with '/', as in Curator. */
                            "options.ns begins with '/'");
    }
    session->ns = uvzk__path_join("/", ns);
    if (session->ns == NULL) {
        return UV_ENOMEM;
    }
    status = uvzk__path_validate(session->ns);
    return uvzk__refuse_if(
        status, status == 0
                    ? NULL
                    : "options.ns: an element is empty, \".\", \"..\", or has characters "
                      "that ZooKeeper does not accept; or it is too long");
}

static int copy_data(struct uvzk__session *session, const uvzk_client_options_t *options)
{
    /* Without default data, znodes get the local address. The port knows it only after it
     * has connected. */
    session->lifecycle->default_data_is_address = options->default_data == NULL;
    if (options->default_data == NULL) {
        return 0;
    }
    session->default_data =
        uvzk__memdup(options->default_data, options->default_data_length);
    session->default_data_length = options->default_data_length;
    return session->default_data == NULL ? UV_ENOMEM : 0;
}

static void free_string(const char *text)
{
    uvzk__free((void *)(uintptr_t)text);
}

void uvzk__session_free(struct uvzk__session *session)
{
    for (size_t i = 0; i < session->acl.count; i++) {
        free_string(session->acl_entries[i].scheme);
        free_string(session->acl_entries[i].id);
    }
    uvzk__free(session->acl_entries);
    uvzk__free(session->default_data);
    uvzk__free(session->ns);
    uvzk__inflight_pool_free(session);
    uvzk__watchers_free(session);
    uvzk__free(session);
}

/* All structs of one session, in one allocation. The session owns everything that they
 * refer to:
 *
 *   session --- queues by path --- contenders in order
 *          |                          |
 *          \-- locks --- claims --- contenders
 *                          \------ acquisitions
 *
 * A claim is what one owner asks of one lock: one or several acquisitions of that owner,
 * which are granted and lost together, and the contenders that they need. A contender is
 * one znode in a lock directory. It outlives its acquisitions for as long as the znode
 * may exist. A queue is the view of one lock directory that all local contenders there
 * share. */
struct rooms {
    struct uvzk__session session; /* first, because its address is passed to free */
    struct uvzk__prover prover;
    struct uvzk__barriers barriers;
    struct uvzk__directories directories;
    struct uvzk__claims claims;
    struct uvzk__elections elections;
    struct uvzk__futures futures;
    struct uvzk__lifecycle life;
};

/* What all sessions of a client share, in one allocation. */
struct shared {
    struct uvzk__client client; /* first, because its address is passed to free */
    struct uvzk__combined_state states;
};

void uvzk__client_free(struct uvzk__client *client)
{
    /* The sessions share one observer. */
    if (client->count > 0) {
        uvzk__observer_free(client->sessions[0]);
    }
    for (uint32_t i = client->count; i > 0; i--) {
        uvzk__session_free(client->sessions[i - 1]);
    }
    uvzk__free(client);
}

static struct uvzk__session *new_session(struct shared *shared,
                                         const uvzk_client_options_t *options)
{
    struct rooms *rooms = uvzk__calloc(1, sizeof(*rooms));

    if (rooms == NULL) {
        return NULL;
    }
    struct uvzk__session *session = &rooms->session;
    session->client = &shared->client;
    session->number = shared->client.count;
    session->prover = &rooms->prover;
    session->barriers = &rooms->barriers;
    session->directories = &rooms->directories;
    session->claims = &rooms->claims;
    session->elections = &rooms->elections;
    session->futures = &rooms->futures;
    session->lifecycle = &rooms->life;
    session->lifecycle->combined_state = &shared->states;
    uvzk__list_init(&session->notifications);
    uvzk__list_init(&session->objects);
    uvzk__prover_init(session, &uvzk__contender_proof_subjects, options->proof,
                      options->tick_ms);
    uvzk__barriers_init(session->barriers);
    uvzk__directories_init(session->directories, &uvzk__claim_contender_user);
    uvzk__claims_init(session->claims);
    uvzk__elections_init(session->elections);
    uvzk__futures_init(session->futures);
    /* From here on uvzk__client_free() frees the session too. */
    uvzk__client_add_session(&shared->client, session);
    return session;
}

/* Adds a session, with copies of what the options point to. After a failure the caller
 * frees the client with all sessions so far. */
static int add_session(struct shared *shared, const uvzk_client_options_t *options)
{
    struct uvzk__session *session = new_session(shared, options);

    if (session == NULL) {
        return UV_ENOMEM;
    }
    int status = copy_namespace(session, options->ns);
    if (status == 0) {
        status = copy_acl(session, options);
    }
    if (status == 0) {
        status = copy_data(session, options);
    }
    if (status == 0 && (options->metrics != 0 || options->trace_cb != NULL)) {
        status = uvzk__observe(session, options->trace_cb);
    }
    return status;
}

/* Connects the session to its port. Cannot fail. */
static void put_on(struct uvzk__session *session, uvzk_client_t *handle,
                   struct uvzk__port *port, const uvzk_client_options_t *options,
                   unsigned tuning)
{
    session->handle = handle;
    session->port = port;
    uvzk__end_listener_init(&session->unheard_end, session, NULL);
    session->tuning = tuning;
    session->lifecycle->state_cb = options->state_cb;
    session->log_cb = options->log_cb;
    session->acl_cb = options->acl_cb;
    session->retry = options->retry;
    session->refuses_mixed_kinds = options->mixed_kinds == UVZK_MIXED_KINDS_REFUSE;
    session->lifecycle->close_wait_ms = options->close_wait_ms;
    /* Until a server reports that it does not know containers. */
    session->containers = true;
    uvzk__connection_init(&session->connection);
    uvzk__log_init(session);
    uvzk__lifecycle_init(session);
}

int uvzk__client_create_over(uvzk_client_t *handle, struct uvzk__port *const *ports,
                             uint32_t count, const uvzk_client_options_t *options,
                             unsigned tuning)
{
    uvzk_client_options_t known;
    int status = uvzk__options_read(&known, options);

    if (status != 0) {
        return status;
    }
    if (handle->impl != NULL) {
        return uvzk__refuse(UV_EBUSY, "client is in use, or not zeroed");
    }
    struct shared *shared = uvzk__calloc(1, sizeof(*shared));
    if (shared == NULL) {
        return UV_ENOMEM;
    }
    struct uvzk__client *client = &shared->client;
    while (client->count < count && status == 0) {
        status = add_session(shared, &known);
    }
    if (status != 0) {
        uvzk__client_free(client);
        return status;
    }
    for (uint32_t i = 0; i < count; i++) {
        put_on(client->sessions[i], handle, ports[i], &known, tuning);
    }
    /* The handle refers to the first session, by which the others are found. */
    handle->impl = client->sessions[0];
    return 0;
}

int uvzk__client_create(uvzk_client_t *handle, struct uvzk__port *port,
                        const uvzk_client_options_t *options, unsigned tuning)
{
    return uvzk__client_create_over(handle, &port, 1, options, tuning);
}

struct uvzk__port *uvzk__client_port_of(const uvzk_client_t *handle, uint32_t index)
{
    const struct uvzk__session *session = handle == NULL ? NULL : handle->impl;

    return session == NULL || index >= session->client->count
               ? NULL
               : session->client->sessions[index]->port;
}

struct uvzk__port *uvzk__client_port(const uvzk_client_t *handle)
{
    return uvzk__client_port_of(handle, 0);
}

/* --------------------------------------------------------- the public functions */

int uvzk_client_start(uvzk_client_t *handle)
{
    struct uvzk__session *session = handle == NULL ? NULL : handle->impl;

    if (handle == NULL) {
        return uvzk__refuse(UV_EINVAL, "client is NULL");
    }
    if (session == NULL || session->life.state != UVZK__SESSION_CREATED) {
        return uvzk__refuse(UVZK_ESTATE,
                            "client is started, closing, or not initialised");
    }
    for (uint32_t i = 0; i < session->client->count; i++) {
        uvzk__move(session->client->sessions[i], &uvzk__session_machine,
                   session->client->sessions[i], UVZK__SESSION_STARTED);
        uvzk__open(session->client->sessions[i]);
    }
    return 0;
}

int uvzk_client_close(uvzk_client_t *handle, uvzk_client_close_cb close_cb)
{
    struct uvzk__session *session = handle == NULL ? NULL : handle->impl;

    if (handle == NULL) {
        return uvzk__refuse(UV_EINVAL, "client is NULL");
    }
    /* A broken client is closing by itself, but the user must still close it. */
    if (session == NULL || session->lifecycle->close_called) {
        return uvzk__refuse(UVZK_ESTATE, "client is closing, or not initialised");
    }
    /* The first session keeps it, because its port is the last to be closed. */
    session->lifecycle->close_cb = close_cb;
    uvzk__end_begin(&handle->end, session);
    for (uint32_t i = 0; i < session->client->count; i++) {
        uvzk__close(session->client->sessions[i]);
    }
    return 0;
}

uvzk_client_state_t uvzk_client_state(const uvzk_client_t *handle)
{
    const struct uvzk__session *session = handle == NULL ? NULL : handle->impl;

    return session == NULL ? UVZK_STATE_CLOSED : uvzk__combined_state_now(session);
}

int64_t uvzk_client_session_id(const uvzk_client_t *handle)
{
    const struct uvzk__session *session = handle == NULL ? NULL : handle->impl;

    return session == NULL ? 0 : session->connection.session_id;
}

uint32_t uvzk_client_session_timeout(const uvzk_client_t *handle)
{
    const struct uvzk__session *session = handle == NULL ? NULL : handle->impl;

    return session == NULL ? 0 : session->connection.timeout_ms;
}
