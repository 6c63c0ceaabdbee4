/* Makes one change for a call of the user, and reports it (change_call.h). The request may
 * outlive the call. */
#include "barrier/change_call.h"

#include "barrier/znode_write.h"
#include "base/memory.h"

struct change {
    struct uvzk__barrier_call call;
    struct uvzk__znode_write write;
    char *path;
    struct uvzk__node_create create;
    bool over; /* the callback runs: freed as soon as no request is under way */
};

static void free_change(struct change *change)
{
    uvzk__free(change->path);
    uvzk__node_create_free(&change->create);
    uvzk__free(change);
}

static void change_over(struct uvzk__barrier_call *call)
{
    struct change *change = UVZK__CONTAINER_OF(call, struct change, call);

    change->over = true;
    if (uvzk__znode_write_stop(&change->write)) {
        free_change(change);
    }
}

static void change_done(struct uvzk__znode_write *write, int status)
{
    struct change *change = UVZK__CONTAINER_OF(write, struct change, write);

    if (change->over) {
        free_change(change);
        return;
    }
    bool already = status == (write->create != NULL ? UVZK_ENODEEXISTS : UVZK_ENONODE);
    uvzk__barrier_call_end(&change->call, already ? 0 : status);
}

static struct change *new_change(struct uvzk__session *session, const char *path)
{
    struct change *change = uvzk__calloc(1, sizeof(*change));

    if (change == NULL) {
        return NULL;
    }
    change->path = uvzk__strdup(path);
    if (change->path == NULL ||
        !uvzk__node_create_init(&change->create, change->path, UVZK__PERSISTENT)) {
        free_change(change);
        return NULL;
    }
    change->call.over_cb = change_over;
    uvzk__znode_write_init(&change->write, session, change_done);
    return change;
}

static int change_call_begin(struct uvzk__session *session, struct uvzk__link *calls,
                             const char *path, bool creates, uvzk_req_t *handle,
                             uvzk_req_cb cb)
{
    struct change *change = new_change(session, path);

    if (change == NULL) {
        return UV_ENOMEM;
    }
    if (!uvzk__barrier_call_begin_to_send(&change->call, session, calls, handle,
                                          UVZK_WAIT_FOREVER, cb)) {
        return 0;
    }
    if (creates) {
        uvzk__znode_write_create(&change->write, &change->create);
    } else {
        uvzk__znode_write_delete(&change->write, change->path, NULL);
    }
    return 0;
}

int uvzk__change_call_create(struct uvzk__session *session, struct uvzk__link *calls,
                             const char *path, uvzk_req_t *handle, uvzk_req_cb cb)
{
    return change_call_begin(session, calls, path, true, handle, cb);
}

int uvzk__change_call_delete(struct uvzk__session *session, struct uvzk__link *calls,
                             const char *path, uvzk_req_t *handle, uvzk_req_cb cb)
{
    return change_call_begin(session, calls, path, false, handle, cb);
}

static bool may_be_made(struct uvzk__barrier_call *call)
{
    return call->over_cb == change_over &&
           uvzk__znode_write_may_be_done(
               &UVZK__CONTAINER_OF(call, struct change, call)->write);
}

void uvzk__change_calls_unreachable(struct uvzk__link *calls, int code)
{
    for (struct uvzk__link *link = calls->next; link != calls; link = link->next) {
        struct uvzk__barrier_call *call =
            UVZK__CONTAINER_OF(link, struct uvzk__barrier_call, siblings);
        bool unknown = code == UVZK_ENOTSENT && may_be_made(call);
        uvzk__barrier_call_end(call, unknown ? UVZK_ECONNLOSS : code);
    }
}
