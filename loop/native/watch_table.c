/* The watches of a native port (watch_table.h). native_port.c calls it on the loop's
 * thread. */
#include "native/watch_table.h"

#include <string.h>
#include <uv.h>

#include "base/list.h"
#include "base/memory.h"

/* The kinds of watches of the server, WatcherType. */
#define KIND_CHILDREN 1
#define KIND_DATA 2
/* A server of 3.6 to 3.8 removes a persistent watch only so (ZOOKEEPER-4472). */
#define KIND_ANY 3

static enum uvzk__watch_list list_of(const struct uvzk__rpc *rpc)
{
    return rpc->kind == UVZK__RPC_CHILDREN    ? UVZK__WATCHES_CHILD
           : rpc->kind == UVZK__RPC_EXISTS    ? UVZK__WATCHES_EXIST
           : rpc->kind == UVZK__RPC_ADD_WATCH ? UVZK__WATCHES_PERSISTENT_RECURSIVE
                                              : UVZK__WATCHES_DATA;
}

static bool is_persistent(const struct uvzk__native_watch *native)
{
    return native->list == UVZK__WATCHES_PERSISTENT_RECURSIVE;
}

int uvzk__watch_table_add(struct uvzk__watch_table *table, struct uvzk__rpc *rpc)
{
    size_t length = strlen(rpc->path);
    struct uvzk__native_watch *native = uvzk__calloc(1, sizeof(*native) + length + 1);

    if (native == NULL) {
        return UV_ENOMEM;
    }
    memcpy(native->path, rpc->path, length);
    native->list = (uint8_t)list_of(rpc);
    HASH_ADD_KEYPTR(hh, table->by_path, native->path, length, native);
    if (native->hh.tbl == NULL) {
        uvzk__free(native);
        return UV_ENOMEM;
    }
    native->watch = rpc->watch;
    native->watch->armed = native;
    native->arming = rpc;
    rpc->port.answer = native;
    return 0;
}

void uvzk__native_watch_free(struct uvzk__native_watch *native)
{
    uvzk__free(native);
}

/* The watch belongs to the user again. A reply that is still to come finds nothing of
 * it. */
static struct uvzk__watch *give_back(struct uvzk__watch_table *table,
                                     struct uvzk__native_watch *native)
{
    struct uvzk__watch *watch = native->watch;

    HASH_DELETE(hh, table->by_path, native);
    if (native->arming != NULL) {
        native->arming->port.answer = NULL;
        native->arming = NULL;
    }
    native->watch = NULL;
    watch->armed = NULL;
    return watch;
}

static void drop(struct uvzk__watch_table *table, struct uvzk__native_watch *native)
{
    (void)give_back(table, native);
    uvzk__native_watch_free(native);
}

/* A watch on a znode that exists is re-armed as a watch on its data: the server would
 * report a znode of the other list as created. */
void uvzk__watch_table_answered(struct uvzk__watch_table *table, struct uvzk__rpc *rpc,
                                int status)
{
    struct uvzk__native_watch *native = rpc->port.answer;
    bool absent = status == UVZK_ENONODE && rpc->kind == UVZK__RPC_EXISTS;

    if (native == NULL) {
        return;
    }
    native->arming = NULL;
    rpc->port.answer = NULL;
    if (status != 0 && !absent) {
        drop(table, native);
        return;
    }
    native->state = UVZK__WATCH_ARMED;
    if (native->list == UVZK__WATCHES_EXIST && !absent) {
        native->list = UVZK__WATCHES_DATA;
    }
}

struct uvzk__native_watch *uvzk__watch_table_remove(struct uvzk__watch_table *table,
                                                    struct uvzk__watch *watch)
{
    struct uvzk__native_watch *native = watch->armed;

    (void)give_back(table, native);
    native->state = UVZK__WATCH_REMOVING;
    native->removal.path = native->path;
    return native;
}

int32_t uvzk__native_watch_kind(const struct uvzk__native_watch *native)
{
    return is_persistent(native)                 ? KIND_ANY
           : native->list == UVZK__WATCHES_CHILD ? KIND_CHILDREN
                                                 : KIND_DATA;
}

struct uvzk__native_watch *uvzk__native_watch_of(struct uvzk__rpc *removal)
{
    return UVZK__CONTAINER_OF(removal, struct uvzk__native_watch, removal);
}

/* ------------------------------------------------------------------------- the events */

/* Of the server's EventType. */
static bool event_of(int32_t number, enum uvzk__watch_event *event)
{
    static const enum uvzk__watch_event events[] = {
        UVZK__WATCH_CREATED, UVZK__WATCH_DELETED, UVZK__WATCH_CHANGED,
        UVZK__WATCH_CHILDREN};

    if (number < 1 || number > 4) {
        return false;
    }
    *event = events[number - 1];
    return true;
}

/* A watch on children does not hear of the znode's data, and the other way round. Both
 * hear of the znode's end. */
static bool hears_of(const struct uvzk__native_watch *native,
                     enum uvzk__watch_event event)
{
    bool of_children = native->list == UVZK__WATCHES_CHILD;

    return native->state == UVZK__WATCH_ARMED && !is_persistent(native) &&
           (event == UVZK__WATCH_DELETED ||
            (event == UVZK__WATCH_CHILDREN) == of_children);
}

static void fire(struct uvzk__watch_table *table, struct uvzk__jute_bytes path,
                 enum uvzk__watch_event event)
{
    struct uvzk__native_watch *native;

    HASH_FIND(hh, table->by_path, path.at, path.length, native);
    if (native != NULL && hears_of(native, event)) {
        struct uvzk__watch *watch = give_back(table, native);
        uvzk__native_watch_free(native);
        watch->watch_cb(watch, event);
    }
}

/* The persistent watch on the first `length` bytes of the path. */
static struct uvzk__watch *persistent_on(const struct uvzk__watch_table *table,
                                         struct uvzk__jute_bytes path, size_t length)
{
    struct uvzk__native_watch *native;

    HASH_FIND(hh, table->by_path, path.at, length, native);
    return native != NULL && is_persistent(native) && native->state == UVZK__WATCH_ARMED
               ? native->watch
               : NULL;
}

/* child: the name, if it is the one on the parent; otherwise empty. */
static struct uvzk__watch *persistent_for(const struct uvzk__watch_table *table,
                                          struct uvzk__jute_bytes path,
                                          struct uvzk__jute_bytes *child)
{
    struct uvzk__watch *watch = persistent_on(table, path, path.length);
    size_t name = path.length;

    while (name > 0 && path.at[name - 1] != '/') {
        name--;
    }
    *child = uvzk__jute_bytes(NULL, 0);
    if (watch == NULL && name > 1) {
        *child = uvzk__jute_bytes(path.at + name, path.length - name);
        watch = persistent_on(table, path, name - 1);
    }
    return watch;
}

/* A server reports a change of the children to a persistent watch only by mistake
 * (ZOOKEEPER-4475): the child's own event says all. */
static int tell_persistent(const struct uvzk__watch_table *table,
                           struct uvzk__jute_bytes path, enum uvzk__watch_event event,
                           struct uvzk__reply_memory *memory)
{
    struct uvzk__jute_bytes child;
    struct uvzk__watch *watch =
        event == UVZK__WATCH_CHILDREN ? NULL : persistent_for(table, path, &child);
    const char *name = NULL;

    if (watch == NULL) {
        return 0;
    }
    if (child.length > 0) {
        name = uvzk__reply_memory_text(memory, child);
        if (name == NULL) {
            return UV_ENOMEM;
        }
    }
    watch->child_cb(watch, event, name);
    return 0;
}

int uvzk__watch_table_tell(struct uvzk__watch_table *table, struct uvzk__jute_bytes path,
                           int32_t number, struct uvzk__reply_memory *memory)
{
    enum uvzk__watch_event event;

    if (!event_of(number, &event)) {
        return 0;
    }
    fire(table, path, event);
    return tell_persistent(table, path, event, memory);
}

/* --------------------------------------------------------------------- the connection */

void uvzk__watch_table_lose_connection(struct uvzk__watch_table *table)
{
    struct uvzk__native_watch *native, *next;

    HASH_ITER(hh, table->by_path, native, next)
    {
        if (native->state == UVZK__WATCH_ARMING || is_persistent(native)) {
            drop(table, native);
        }
    }
}

void uvzk__watch_table_clear(struct uvzk__watch_table *table)
{
    struct uvzk__native_watch *native, *next;

    HASH_ITER(hh, table->by_path, native, next)
    {
        drop(table, native);
    }
}

/* The lists of one request. */
struct rearm {
    struct uvzk__jute_writer lists[UVZK__WATCH_LISTS];
    size_t counts[UVZK__WATCH_LISTS];
    size_t bytes;
};

static int write_request(struct rearm *rearm, int64_t zxid, struct uvzk__jute_writer *out)
{
    struct uvzk__wire_request request = {
        .xid = UVZK__XID_SET_WATCHES, .opcode = UVZK__OPCODE_SET_WATCHES, .zxid = zxid};
    int status = 0;

    for (unsigned i = 0; i < UVZK__WATCH_LISTS && status == 0; i++) {
        status =
            uvzk__jute_list_of(&rearm->lists[i], rearm->counts[i], &request.watches[i]);
    }
    if (status == 0) {
        status = uvzk__wire_request_write(out, UVZK__JUTE_MAXBUFFER, &request);
    }
    for (unsigned i = 0; i < UVZK__WATCH_LISTS; i++) {
        uvzk__jute_writer_clear(&rearm->lists[i]);
        rearm->counts[i] = 0;
    }
    rearm->bytes = 0;
    return status;
}

static int write_all(struct rearm *rearm, const struct uvzk__watch_table *table,
                     struct uvzk__chroot *chroot, int64_t zxid,
                     struct uvzk__jute_writer *out)
{
    const struct uvzk__native_watch *native;
    struct uvzk__jute_bytes path;
    size_t most = table->rearm_bytes > 0 ? table->rearm_bytes : UVZK__REARM_BYTES;
    int requests = 0;
    int status = 0;

    for (native = table->by_path; native != NULL && status == 0;
         native = native->hh.next) {
        status = uvzk__chroot_add(chroot, native->path, &path);
        if (status == 0) {
            uvzk__jute_put_bytes(&rearm->lists[native->list], path);
            rearm->counts[native->list]++;
            rearm->bytes += path.length + 4;
        }
        if (status == 0 &&
            (rearm->bytes >= most || (native->hh.next == NULL && rearm->bytes > 0))) {
            status = write_request(rearm, zxid, out);
            requests++;
        }
    }
    return status < 0 ? status : requests;
}

int uvzk__watch_table_rearm(const struct uvzk__watch_table *table,
                            struct uvzk__chroot *chroot, int64_t zxid,
                            struct uvzk__jute_writer *out)
{
    struct rearm rearm = {.bytes = 0};

    for (unsigned i = 0; i < UVZK__WATCH_LISTS; i++) {
        uvzk__jute_writer_init(&rearm.lists[i]);
    }
    int requests = write_all(&rearm, table, chroot, zxid, out);
    for (unsigned i = 0; i < UVZK__WATCH_LISTS; i++) {
        uvzk__jute_writer_end(&rearm.lists[i]);
    }
    return requests;
}
