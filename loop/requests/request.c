/* SPDX-License-Identifier: Apache-2.0 */
/* Makes and frees requests of the C client, and submits them to it (request.h): one function
 * for each kind. Each function returns the code of its zoo_a* call. The C client has copied
 * everything when the call returns, except the memory for a multi's results and created
 * paths, which belongs to the request.
 *
 * send_window.c calls uvzk__rpc_send on the loop's thread, and submit_thread.c on the
 * submit thread. The loop takes requests back from the submit thread before it replies
 * their rpcs without an answer, so request->rpc is valid here. send_window.c receives the
 * answers. */
#include "requests/request.h"

#include <limits.h>
#include <string.h>

#include "base/memory.h"
#include "base/path.h"
#include "requests/answer.h"
#include "requests/send_window.h"
#include "watches/registration.h"

struct uvzk__request *uvzk__request_new(struct uvzk__send_window *window,
                                        struct uvzk__rpc *rpc, size_t name_size)
{
    struct uvzk__request *request = uvzk__calloc(1, sizeof(*request) + name_size);
    if (request != NULL) {
        request->window = window;
        request->rpc = rpc;
        request->kind = rpc == NULL ? 0 : rpc->kind;
        request->reply.failed_op = SIZE_MAX;
        request->name_size = name_size;
        /* Requests are sent in the order of their creation. */
        uvzk__list_append(&window->waiting, &request->link);
    }
    return request;
}

void uvzk__request_watch_answered(struct uvzk__request *request, bool armed)
{
    struct uvzk__registration *registration = request->watching;
    uvzk__request_watches(request, NULL);
    uvzk__registration_answered(registration, armed);
}

void uvzk__request_free(struct uvzk__request *request)
{
    uvzk__list_remove(&request->link);
    uvzk__free(request->memory);
    uvzk__free(request);
}

/* ----------------------------------------------------------------------- submitting */

#define ACL_ON_STACK 8U

typedef int (*send_fn)(struct uvzk__request *request, const struct uvzk__rpc *rpc,
                       zhandle_t *zh);

/* ZooKeeper distinguishes no data (-1) from empty data (0), and so does uvzk. */
static int data_length(const void *data, size_t length)
{
    return data == NULL ? -1 : (int)length;
}

static size_t acl_count(const struct uvzk__acl *acl)
{
    return acl != NULL ? acl->count : 0;
}

/* An empty ACL is passed on; the server refuses it. */
static void fill_acl(struct ACL *out, const struct uvzk__acl *acl)
{
    for (size_t i = 0; i < acl_count(acl); i++) {
        out[i].perms = (int32_t)acl->entries[i].perms;
        out[i].id.scheme = (char *)(uintptr_t)acl->entries[i].scheme;
        out[i].id.id = (char *)(uintptr_t)acl->entries[i].id;
    }
}

static int mode_of(uint32_t mode)
{
    switch (mode) {
    case UVZK__EPHEMERAL:
        return ZOO_EPHEMERAL;
    case UVZK__EPHEMERAL_SEQUENTIAL:
        return ZOO_EPHEMERAL_SEQUENTIAL;
    case UVZK__PERSISTENT_SEQUENTIAL:
        return ZOO_PERSISTENT_SEQUENTIAL;
    case UVZK__CONTAINER:
        return ZOO_CONTAINER;
    default:
        return ZOO_PERSISTENT;
    }
}

/* Uses create2, because its reply has the stat, which contains the fencing token. A server
 * that does not know it answers a create without a stat. */
static int submit_create(struct uvzk__request *request, const struct uvzk__rpc *rpc,
                         zhandle_t *zh, const struct ACL_vector *acl)
{
    int length = data_length(rpc->data, rpc->data_length), mode = mode_of(rpc->mode);

    return uvzk__dialect_has(request->window->dialect, UVZK__FEATURE_CREATE2)
               ? zoo_acreate2(zh, rpc->path, rpc->data, length, acl, mode,
                              uvzk__answer_created, request)
               : zoo_acreate(zh, rpc->path, rpc->data, length, acl, mode,
                             uvzk__answer_created_path, request);
}

static int send_create(struct uvzk__request *request, const struct uvzk__rpc *rpc,
                       zhandle_t *zh)
{
    struct ACL few[ACL_ON_STACK];
    if (rpc->data_length > INT_MAX) {
        return ZBADARGUMENTS;
    }
    struct ACL *entries = few;
    size_t count = acl_count(rpc->acl);
    if (count > ACL_ON_STACK) {
        entries = uvzk__calloc(count, sizeof(*entries));
        if (entries == NULL) {
            return ZSYSTEMERROR;
        }
    }
    fill_acl(entries, rpc->acl);
    const struct ACL_vector acl = {(int32_t)count, entries};
    int code = submit_create(request, rpc, zh, &acl);
    if (entries != few) {
        uvzk__free(entries);
    }
    return code;
}

static int send_delete(struct uvzk__request *request, const struct uvzk__rpc *rpc,
                       zhandle_t *zh)
{
    return zoo_adelete(zh, rpc->path, rpc->version, uvzk__answer_void, request);
}

static int send_set(struct uvzk__request *request, const struct uvzk__rpc *rpc,
                    zhandle_t *zh)
{
    if (rpc->data_length > INT_MAX) {
        return ZBADARGUMENTS;
    }
    return zoo_aset(zh, rpc->path, rpc->data, data_length(rpc->data, rpc->data_length),
                    rpc->version, uvzk__answer_stat, request);
}

static watcher_fn watcher_of(const struct uvzk__request *request)
{
    return request->watching != NULL ? uvzk__registration_event : NULL;
}

static int send_get(struct uvzk__request *request, const struct uvzk__rpc *rpc,
                    zhandle_t *zh)
{
    return zoo_awget(zh, rpc->path, watcher_of(request), request->watching,
                     uvzk__answer_data, request);
}

static int send_exists(struct uvzk__request *request, const struct uvzk__rpc *rpc,
                       zhandle_t *zh)
{
    return zoo_awexists(zh, rpc->path, watcher_of(request), request->watching,
                        uvzk__answer_stat, request);
}

static int send_children(struct uvzk__request *request, const struct uvzk__rpc *rpc,
                         zhandle_t *zh)
{
    return zoo_awget_children(zh, rpc->path, watcher_of(request), request->watching,
                              uvzk__answer_names, request);
}

static int send_sync(struct uvzk__request *request, const struct uvzk__rpc *rpc,
                     zhandle_t *zh)
{
    return zoo_async(zh, rpc->path, uvzk__answer_path, request);
}

/* ------------------------------------------------------------------- multi */

/* The parts of one block of memory: the results and the names, which the C client fills
 * before the completion runs; what the reply will point to (made); and what the C client
 * only reads during the call. `entries` and `names` point after the part that has been
 * used so far. */
struct multi {
    zoo_op_result_t *results;
    zoo_op_t *ops;
    struct ACL_vector *acls;
    const char **made;
    struct ACL *entries;
    char *names;
};

/* The C client would abort the process for a malformed path or for a container in a
 * multi. */
static bool op_is_valid(const struct uvzk__op *op)
{
    bool mode_is_sound =
        op->mode <= UVZK__PERSISTENT_SEQUENTIAL && op->mode != UVZK__CONTAINER;
    return uvzk__path_validate_znode(op->path) == 0 && op->data_length <= INT_MAX &&
           (op->kind != UVZK__OP_CREATE || mode_is_sound);
}

/* Room for a created path with its sequence number and the terminating 0. */
static size_t name_size(const struct uvzk__op *op)
{
    return strlen(op->path) + UVZK__SUFFIX_SIZE;
}

/* Allocates the block for this rpc and sets the pointers into it. Returns NULL if out of
 * memory. The caller owns the block. */
static void *lay_out(struct multi *multi, const struct uvzk__rpc *rpc)
{
    size_t ops = rpc->op_count, acl_entries = 0, names = 0;
    for (size_t i = 0; i < ops; i++) {
        if (rpc->ops[i].kind == UVZK__OP_CREATE) {
            acl_entries += acl_count(rpc->ops[i].acl);
            names += name_size(&rpc->ops[i]);
        }
    }
    size_t size = ops * (sizeof(*multi->results) + sizeof(*multi->ops) +
                         sizeof(*multi->acls) + sizeof(*multi->made)) +
                  acl_entries * sizeof(*multi->entries) + names;
    void *memory = uvzk__calloc(1, size + 1);
    if (memory != NULL) {
        multi->results = memory;
        multi->ops = (zoo_op_t *)(void *)(multi->results + ops);
        multi->acls = (struct ACL_vector *)(void *)(multi->ops + ops);
        multi->made = (const char **)(void *)(multi->acls + ops);
        multi->entries = (struct ACL *)(void *)(multi->made + ops);
        multi->names = (char *)(multi->entries + acl_entries);
    }
    return memory;
}

static void fill_create(struct multi *multi, size_t i, const struct uvzk__op *op)
{
    struct ACL_vector *acl = &multi->acls[i];
    fill_acl(multi->entries, op->acl);
    acl->count = (int32_t)acl_count(op->acl);
    acl->data = multi->entries;
    multi->entries += acl->count;
    zoo_create_op_init(&multi->ops[i], op->path, op->data,
                       data_length(op->data, op->data_length), acl, mode_of(op->mode),
                       multi->names, (int)name_size(op));
    multi->names += name_size(op);
}

static void fill_op(struct multi *multi, size_t i, const struct uvzk__op *op)
{
    if (op->kind == UVZK__OP_CREATE) {
        fill_create(multi, i, op);
    } else if (op->kind == UVZK__OP_DELETE) {
        zoo_delete_op_init(&multi->ops[i], op->path, op->version);
    } else if (op->kind == UVZK__OP_SET) {
        zoo_set_op_init(&multi->ops[i], op->path, op->data,
                        data_length(op->data, op->data_length), op->version, NULL);
    } else {
        zoo_check_op_init(&multi->ops[i], op->path, op->version);
    }
}

/* The C client sets the codes of those results that come. */
static void expect_results(zoo_op_result_t *results, size_t count)
{
    for (size_t i = 0; i < count; i++) {
        results[i].err = ZRUNTIMEINCONSISTENCY;
    }
}

/* Submits a multi; without any operation it is a transaction too.
 *
 * If the session has ended, zoo_amulti frees paths twice, or frees the caller's paths. So
 * zoo_amulti is called only while the C client, which may know more than the loop, says
 * that it is connected. The session can still end during the call. For that it must lose
 * the connection, connect again and be refused, which takes several round trips, and this
 * thread would have to be stopped for as long. Refused credentials end a session without
 * a round trip, but they have been answered before a multi is submitted
 * (send_window.c). */
static int send_multi(struct uvzk__request *request, const struct uvzk__rpc *rpc,
                      zhandle_t *zh)
{
    struct multi multi;
    for (size_t i = 0; i < rpc->op_count; i++) {
        if (!op_is_valid(&rpc->ops[i])) {
            request->reply.failed_op = i;
            return ZBADARGUMENTS;
        }
    }
    if (rpc->op_count > INT_MAX) {
        return ZBADARGUMENTS;
    }
    if (uvzk__request_set_memory(request, lay_out(&multi, rpc)) == NULL) {
        return ZSYSTEMERROR;
    }
    for (size_t i = 0; i < rpc->op_count; i++) {
        fill_op(&multi, i, &rpc->ops[i]);
    }
    expect_results(multi.results, rpc->op_count);
    uvzk__request_set_multi(request, multi.results, multi.made, rpc->op_count);
    if (zoo_state(zh) != ZOO_CONNECTED_STATE) {
        return ZINVALIDSTATE;
    }
    return zoo_amulti(zh, (int)rpc->op_count, multi.ops, multi.results,
                      uvzk__answer_multi, request);
}

/* ----------------------------------------------------------------- dispatch */

/* The server removes the watch, and the C client all of its type on this path.
 * zookeeper.h declares a pointer to a completion as the parameter, but the C client calls
 * the argument itself as the completion; hence the cast. `local` must be 0
 * (ZOOKEEPER-2320). */
static int remove_watches(struct uvzk__request *request, const char *path, zhandle_t *zh,
                          ZooWatcherType type)
{
    return zoo_aremove_all_watches(
        zh, path, type, 0, (void_completion_t *)(uintptr_t)uvzk__answer_void, request);
}

/* The watch of a question, which does not fire. */
static void ignore_event(zhandle_t *zh, int type, int state, const char *path,
                         void *context)
{
    (void)zh;
    (void)type;
    (void)state;
    (void)path;
    (void)context;
}

static int ask_create(struct uvzk__request *request, const char *path, zhandle_t *zh,
                      int mode)
{
    return zoo_acreate2(zh, path, "", 0, &ZOO_OPEN_ACL_UNSAFE, mode,
                        uvzk__answer_question, request);
}

/* A request of uvzk's own. */
static int send_own(struct uvzk__request *request, const char *path, zhandle_t *zh)
{
    switch ((enum uvzk__own_request)request->own) {
    case UVZK__OWN_REMOVAL:
        return remove_watches(request, path, zh, request->watching->type);
    case UVZK__OWN_ASK_CREATE2:
        return ask_create(request, path, zh, ZOO_EPHEMERAL);
    case UVZK__OWN_ASK_CONTAINERS:
        return ask_create(request, path, zh, ZOO_CONTAINER);
    case UVZK__OWN_ASK_WATCH:
        return zoo_awexists(zh, path, ignore_event, NULL, uvzk__answer_stat, request);
    case UVZK__OWN_ASK_REMOVAL:
        return remove_watches(request, path, zh, ZWATCHTYPE_DATA);
    default: /* AUTH_CHECK: any answer will do, and this request is the cheapest */
        return zoo_awexists(zh, path, NULL, NULL, uvzk__answer_stat, request);
    }
}

const char *uvzk__rpc_path(const struct uvzk__request *request)
{
    if (request->own == UVZK__OWN_REMOVAL) {
        return request->watching->path->text;
    }
    if (request->own >= UVZK__OWN_ASK_CREATE2) {
        return UVZK__DIALECT_PATH;
    }
    if (request->own == UVZK__OWN_AUTH_CHECK || request->kind == UVZK__RPC_MULTI) {
        return "/";
    }
    return request->rpc->path;
}

/* Submits what the request asks for. */
static int send_asked(struct uvzk__request *request, const char *path, zhandle_t *zh)
{
    static const send_fn sends[] = {
        [UVZK__RPC_CREATE] = send_create, [UVZK__RPC_DELETE] = send_delete,
        [UVZK__RPC_SET] = send_set,       [UVZK__RPC_GET] = send_get,
        [UVZK__RPC_EXISTS] = send_exists, [UVZK__RPC_CHILDREN] = send_children,
        [UVZK__RPC_SYNC] = send_sync,     [UVZK__RPC_MULTI] = send_multi,
    };
    if (request->own != UVZK__OWN_NONE) {
        return send_own(request, path, zh);
    }
    /* The C client puts the chroot before the path and validates only the result, so "a"
     * would become a sibling of the chroot. */
    if (uvzk__path_validate_znode(path) != 0) {
        return ZBADARGUMENTS;
    }
    /* Copies the fields that src/ has set. The fields of rpc->port are not read, because
     * the loop may be writing them meanwhile. */
    const struct uvzk__rpc *asked = request->rpc;
    const struct uvzk__rpc rpc = {.path = path,
                                  .data = asked->data,
                                  .data_length = asked->data_length,
                                  .acl = asked->acl,
                                  .ops = asked->ops,
                                  .op_count = asked->op_count,
                                  .version = asked->version,
                                  .kind = asked->kind,
                                  .mode = asked->mode};
    return sends[request->kind](request, &rpc, zh);
}

/* The C client says ZINVALIDSTATE for each session that has ended. Refused credentials are
 * told at once: the loop may learn of them much later, and who has asked must not take
 * them for a lost connection, which a retry might mend. */
int uvzk__rpc_send(struct uvzk__request *request, const char *path)
{
    zhandle_t *zh = request->zh;
    int code = send_asked(request, path, zh);
    bool refused = code == ZINVALIDSTATE && zoo_state(zh) == ZOO_AUTH_FAILED_STATE;

    return refused ? ZAUTHFAILED : code;
}
