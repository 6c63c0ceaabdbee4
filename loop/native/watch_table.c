/* SPDX-License-Identifier: Apache-2.0 */
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

static struct uvzk__native_watch *watch_table_at(struct uvzk__link *link)
{
    return UVZK__CONTAINER_OF(link, struct uvzk__native_watch, link);
}

int uvzk__watch_table_add(struct uvzk__watch_table *table, struct uvzk__rpc *rpc)
{
    struct uvzk__native_watch *native = uvzk__calloc(1, sizeof(*native));

    if (native == NULL) {
        return UV_ENOMEM;
    }
    native->path = uvzk__watched_path_use(&table->paths, rpc->path);
    if (native->path == NULL) {
        uvzk__free(native);
        return UV_ENOMEM;
    }
    uvzk__list_append(&native->path->watches, &native->link);
    table->count++;
    native->list = (uint8_t)list_of(rpc);
    native->watch = rpc->watch;
    native->watch->armed = native;
    native->arming = rpc;
    rpc->port.answer = native;
    return 0;
}

void uvzk__native_watch_free(struct uvzk__watch_table *table,
                             struct uvzk__native_watch *native)
{
    uvzk__watched_path_leave(&table->paths, native->path);
    uvzk__free(native);
}

/* The watch belongs to the user again; NULL: it already did. A later reply does not find
 * it. */
static struct uvzk__watch *give_back(struct uvzk__watch_table *table,
                                     struct uvzk__native_watch *native)
{
    struct uvzk__watch *watch = native->watch;

    if (native->arming != NULL) {
        native->arming->port.answer = NULL;
        native->arming = NULL;
    }
    if (watch != NULL) {
        table->count--;
        native->watch = NULL;
        watch->armed = NULL;
    }
    return watch;
}

static struct uvzk__watch *watch_table_drop(struct uvzk__watch_table *table,
                                            struct uvzk__native_watch *native)
{
    struct uvzk__watch *watch = give_back(table, native);

    uvzk__list_remove(&native->link);
    uvzk__native_watch_free(table, native);
    return watch;
}

int32_t uvzk__native_watch_kind(const struct uvzk__native_watch *native)
{
    return is_persistent(native)                 ? KIND_ANY
           : native->list == UVZK__WATCHES_CHILD ? KIND_CHILDREN
                                                 : KIND_DATA;
}

/* The path must have a use beyond this function. Returns one that was given up if all of
 * this kind have been, off the list and REMOVING, and frees the others. It removes them
 * all. */
static struct uvzk__native_watch *take_removal(struct uvzk__watch_table *table,
                                               struct uvzk__watched_path *path,
                                               int32_t kind)
{
    struct uvzk__native_watch *removal = NULL;
    struct uvzk__link *link, *next;

    for (link = path->watches.next; link != &path->watches; link = link->next) {
        if (uvzk__native_watch_kind(watch_table_at(link)) == kind &&
            watch_table_at(link)->watch != NULL) {
            return NULL;
        }
    }
    for (link = path->watches.next; link != &path->watches; link = next) {
        next = link->next;
        if (uvzk__native_watch_kind(watch_table_at(link)) == kind && removal == NULL) {
            removal = watch_table_at(link);
            uvzk__list_remove(link);
            removal->state = UVZK__WATCH_REMOVING;
            removal->removal.kind = UVZK__RPC_REMOVE_WATCH;
            removal->removal.path = path->text;
        } else if (uvzk__native_watch_kind(watch_table_at(link)) == kind) {
            (void)watch_table_drop(table, watch_table_at(link));
        }
    }
    return removal;
}

/* A watch on a znode that exists is re-armed as a watch on its data: the server would
 * report a znode of the other list as created. */
struct uvzk__native_watch *uvzk__watch_table_answered(struct uvzk__watch_table *table,
                                                      struct uvzk__rpc *rpc, int status)
{
    struct uvzk__native_watch *native = rpc->port.answer;
    bool absent = status == UVZK_ENONODE && rpc->kind == UVZK__RPC_EXISTS;

    if (native == NULL) {
        return NULL;
    }
    native->arming = NULL;
    rpc->port.answer = NULL;
    if (status != 0 && !absent) {
        struct uvzk__watched_path *path = native->path;
        int32_t kind = uvzk__native_watch_kind(native);
        uvzk__watched_path_keep(path);
        (void)watch_table_drop(table, native);
        struct uvzk__native_watch *removal = take_removal(table, path, kind);
        uvzk__watched_path_leave(&table->paths, path);
        return removal;
    }
    native->state = UVZK__WATCH_ARMED;
    if (native->list == UVZK__WATCHES_EXIST && !absent) {
        native->list = UVZK__WATCHES_DATA;
    }
    return NULL;
}

struct uvzk__native_watch *uvzk__watch_table_remove(struct uvzk__watch_table *table,
                                                    struct uvzk__watch *watch)
{
    struct uvzk__native_watch *native = watch->armed;

    (void)give_back(table, native);
    native->state = UVZK__WATCH_IDLE;
    return take_removal(table, native->path, uvzk__native_watch_kind(native));
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

/* A watch on children does not report changes of the znode's data, and vice versa. Both
 * report the end of the znode. */
static bool hears_of(const struct uvzk__native_watch *native,
                     enum uvzk__watch_event event)
{
    bool of_children = native->list == UVZK__WATCHES_CHILD;

    return (native->state == UVZK__WATCH_ARMED || native->state == UVZK__WATCH_IDLE) &&
           !is_persistent(native) &&
           (event == UVZK__WATCH_DELETED ||
            (event == UVZK__WATCH_CHILDREN) == of_children);
}

/* The first one that the event concerns; NULL: none. */
static struct uvzk__native_watch *
watch_table_hearer(const struct uvzk__watch_table *table, struct uvzk__jute_bytes text,
                   enum uvzk__watch_event event)
{
    struct uvzk__watched_path *path =
        uvzk__watched_path_find(&table->paths, (const char *)text.at, text.length);

    for (struct uvzk__link *link = path == NULL ? NULL : path->watches.next;
         link != NULL && link != &path->watches; link = link->next) {
        if (hears_of(watch_table_at(link), event)) {
            return watch_table_at(link);
        }
    }
    return NULL;
}

/* A callback may give up others, and one that it adds is not ARMED before its reply. */
static void watch_table_fire(struct uvzk__watch_table *table,
                             struct uvzk__jute_bytes path, enum uvzk__watch_event event)
{
    struct uvzk__native_watch *native;

    while ((native = watch_table_hearer(table, path, event)) != NULL) {
        struct uvzk__watch *watch = watch_table_drop(table, native);
        if (watch != NULL) {
            watch->watch_cb(watch, event);
        }
    }
}

/* The persistent watch on the first `length` bytes of the path. It is the only one
 * there. */
static struct uvzk__watch *persistent_on(const struct uvzk__watch_table *table,
                                         struct uvzk__jute_bytes text, size_t length)
{
    struct uvzk__watched_path *path =
        uvzk__watched_path_find(&table->paths, (const char *)text.at, length);

    for (struct uvzk__link *link = path == NULL ? NULL : path->watches.next;
         link != NULL && link != &path->watches; link = link->next) {
        if (is_persistent(watch_table_at(link)) &&
            watch_table_at(link)->state == UVZK__WATCH_ARMED) {
            return watch_table_at(link)->watch;
        }
    }
    return NULL;
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
 * (ZOOKEEPER-4475): the child's own event is enough. */
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
    watch_table_fire(table, path, event);
    return tell_persistent(table, path, event, memory);
}

/* --------------------------------------------------------------------- the connection */

/* Drops those that do not outlive the connection, or all. */
static void drop_on(struct uvzk__watch_table *table, struct uvzk__watched_path *path,
                    bool all)
{
    struct uvzk__link *next;

    uvzk__watched_path_keep(path);
    for (struct uvzk__link *link = path->watches.next; link != &path->watches;
         link = next) {
        next = link->next;
        if (all || watch_table_at(link)->state != UVZK__WATCH_ARMED ||
            is_persistent(watch_table_at(link))) {
            (void)watch_table_drop(table, watch_table_at(link));
        }
    }
    uvzk__watched_path_leave(&table->paths, path);
}

static void drop_everywhere(struct uvzk__watch_table *table, bool all)
{
    struct uvzk__watched_path *path, *next;

    HASH_ITER(hh, table->paths.by_text, path, next)
    {
        drop_on(table, path, all);
    }
}

void uvzk__watch_table_lose_connection(struct uvzk__watch_table *table)
{
    drop_everywhere(table, false);
}

void uvzk__watch_table_clear(struct uvzk__watch_table *table)
{
    drop_everywhere(table, true);
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

/* Each list has the path once, whatever the number of its watches. */
static int add_path(struct rearm *rearm, const struct uvzk__watched_path *path,
                    struct uvzk__chroot *chroot)
{
    bool listed[UVZK__WATCH_LISTS] = {false};
    struct uvzk__jute_bytes text;
    int status = uvzk__chroot_add(chroot, path->text, &text);

    for (struct uvzk__link *link = path->watches.next;
         status == 0 && link != &path->watches; link = link->next) {
        uint8_t list = watch_table_at(link)->list;
        if (watch_table_at(link)->watch != NULL && !listed[list]) {
            listed[list] = true;
            uvzk__jute_put_bytes(&rearm->lists[list], text);
            rearm->counts[list]++;
            rearm->bytes += text.length + 4;
        }
    }
    return status;
}

static int write_all(struct rearm *rearm, const struct uvzk__watch_table *table,
                     struct uvzk__chroot *chroot, int64_t zxid,
                     struct uvzk__jute_writer *out)
{
    const struct uvzk__watched_path *path;
    size_t most = table->rearm_bytes > 0 ? table->rearm_bytes : UVZK__REARM_BYTES;
    int requests = 0;
    int status = 0;

    for (path = table->paths.by_text; path != NULL && status == 0; path = path->hh.next) {
        status = add_path(rearm, path, chroot);
        if (status == 0 &&
            (rearm->bytes >= most || (path->hh.next == NULL && rearm->bytes > 0))) {
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
