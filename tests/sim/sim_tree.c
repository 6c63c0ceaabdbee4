/* SPDX-License-Identifier: Apache-2.0 */
/* The znodes of one server (struct sim__tree): finding and changing them, and the checks
 * with which a server refuses a write. Each server has a tree. sim_server.c checks every
 * write against the leader's tree, and sim_txn.c changes the trees. This file knows
 * neither watches nor sessions.
 *
 * A multi is checked op by op before anything changes. Each check sees the effects of the
 * ops before it as a hash table of changes (struct sim__change), so a multi that is
 * refused leaves no trace. */
#include "sim_internal.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* -------------------------------------------------------------------- paths */

size_t sim__parent_length(const char *path)
{
    const char *slash = strrchr(path, '/');
    if (slash == NULL || path[1] == '\0') {
        return 0;
    }
    return slash == path ? 1 : (size_t)(slash - path);
}

/* The rules of ZooKeeper's PathUtils, for ASCII: no empty name, no "." or "..", no
 * control character. */
static bool component_valid(const char *name, size_t length)
{
    if (length == 0 || (length == 1 && name[0] == '.') ||
        (length == 2 && name[0] == '.' && name[1] == '.')) {
        return false;
    }
    for (size_t i = 0; i < length; i++) {
        unsigned char c = (unsigned char)name[i];
        if (c < 0x20 || c == 0x7f) {
            return false;
        }
    }
    return true;
}

/* The path of a sequential create may end in '/', because the digits follow. */
bool sim__path_valid(const char *path, bool sequential)
{
    if (path == NULL || path[0] != '/') {
        return false;
    }
    if (path[1] == '\0') {
        return true;
    }
    const char *name = path + 1;
    for (;;) {
        size_t length = strcspn(name, "/");
        bool last = name[length] == '\0';
        if (last && length == 0 && sequential) {
            return true;
        }
        if (!component_valid(name, length)) {
            return false;
        }
        if (last) {
            return true;
        }
        name += length + 1;
    }
}

/* -------------------------------------------------------------------- nodes */

struct sim__node *sim__tree_find(const struct sim__tree *tree, const char *path,
                                 size_t length)
{
    struct sim__node *node = NULL;
    HASH_FIND(hh, tree->nodes, path, (unsigned)length, node);
    return node;
}

static struct sim__node *node_new(struct sim__tree *tree, const char *path,
                                  const void *data, size_t data_length)
{
    struct sim__node *node = sim__alloc(sizeof(*node));
    node->length = strlen(path);
    node->path = sim__copy(path, node->length + 1);
    node->name = strrchr(node->path, '/') + 1;
    node->data_length = data_length;
    node->data = data_length > 0 ? sim__copy(data, data_length) : NULL;
    node->has_no_data = data == NULL;
    uvzk__list_init(&node->children);
    uvzk__list_init(&node->sibling);
    uvzk__list_init(&node->group);
    HASH_ADD_KEYPTR(hh, tree->nodes, node->path, (unsigned)node->length, node);
    tree->count++;
    return node;
}

static void node_free(struct sim__tree *tree, struct sim__node *node)
{
    HASH_DELETE(hh, tree->nodes, node);
    tree->count--;
    uvzk__list_remove(&node->sibling);
    uvzk__list_remove(&node->group);
    free(node->data);
    sim__free(node->path, node->length + 1);
    free(node);
}

void sim__tree_init(struct sim__tree *tree)
{
    memset(tree, 0, sizeof(*tree));
    uvzk__list_init(&tree->containers);
    tree->root = node_new(tree, "/", NULL, 0);
}

void sim__tree_free(struct sim__tree *tree)
{
    struct sim__node *node, *next;
    for (node = tree->nodes; node != NULL; node = node->hh.next) {
        /* All lists are freed as a whole; node_free() must not follow their links. */
        uvzk__list_init(&node->sibling);
        uvzk__list_init(&node->group);
    }
    HASH_ITER(hh, tree->nodes, node, next)
    {
        node_free(tree, node);
    }
}

static void copy_state(struct sim__node *to, const struct sim__node *from)
{
    to->stat = from->stat;
    to->pzxid = from->pzxid;
    to->made_at = from->made_at;
    to->set_at = from->set_at;
    to->has_no_data = from->has_no_data;
    to->unreadable = from->unreadable;
}

void sim__tree_copy(struct sim__tree *to, const struct sim__tree *from)
{
    memset(to, 0, sizeof(*to));
    uvzk__list_init(&to->containers);
    to->zxid = from->zxid;
    /* The table keeps the order of creation, so parents come before their children. */
    for (const struct sim__node *node = from->nodes; node != NULL; node = node->hh.next) {
        struct sim__node *copy = node_new(to, node->path, node->data, node->data_length);
        copy_state(copy, node);
        copy->undeletable = node->undeletable;
        if (node->parent == NULL) {
            to->root = copy;
        } else {
            copy->parent = sim__tree_find(to, node->parent->path, node->parent->length);
            uvzk__list_append(&copy->parent->children, &copy->sibling);
        }
    }
}

/* Returns true if the ACL gives READ to anybody. The simulator does not distinguish
 * users. */
bool sim__acl_grants_read(const struct uvzk__acl *acl)
{
    uint32_t perms = 0;
    for (size_t i = 0; i < acl->count; i++) {
        perms |= acl->entries[i].perms;
    }
    return (perms & UVZK_PERM_READ) != 0;
}

struct sim__node *sim__tree_create(struct sim__tree *tree, const struct uvzk__op *op,
                                   int64_t owner)
{
    struct sim__node *parent =
        sim__tree_find(tree, op->path, sim__parent_length(op->path));
    struct sim__node *node = node_new(tree, op->path, op->data, op->data_length);
    node->parent = parent;
    node->stat.czxid = tree->zxid;
    node->stat.mzxid = tree->zxid;
    node->pzxid = tree->zxid;
    node->stat.ephemeral_owner = owner;
    if (op->mode == UVZK__CONTAINER) {
        node->container = true;
        uvzk__list_append(&tree->containers, &node->group);
    }
    uvzk__list_append(&parent->children, &node->sibling);
    parent->stat.child_count++;
    parent->pzxid = tree->zxid;
    if (parent->counter != INT32_MAX) { /* since 3.6 the counter never decreases */
        parent->counter++;
    }
    return node;
}

/* The protocol counts the creates and deletes of children. ZooKeeper counts the creates,
 * as the counter of sequential names, and tells twice that number less the children. */
void sim__full_stat_of(const struct sim__node *node, struct sim__full_stat *full_stat)
{
    uint32_t creates = (uint32_t)node->counter;
    *full_stat = (struct sim__full_stat){
        .stat = node->stat,
        .pzxid = node->pzxid,
        .made_at = node->made_at,
        .set_at = node->set_at,
        .child_changes = (int32_t)(2 * creates - (uint32_t)node->stat.child_count),
        .data_length = (int32_t)node->data_length,
        .has_no_data = node->has_no_data};
}

/* Unlike sim__tree_create, does not count the child: the counter is the leader's. */
struct sim__node *sim__tree_put(struct sim__tree *tree, const struct sim__node *node)
{
    struct sim__node *parent =
        sim__tree_find(tree, node->path, sim__parent_length(node->path));
    struct sim__node *copy = node_new(tree, node->path, node->data, node->data_length);
    copy_state(copy, node);
    copy->missed_delete = node->missed_delete;
    copy->parent = parent;
    uvzk__list_append(&parent->children, &copy->sibling);
    parent->stat.child_count++;
    return copy;
}

void sim__tree_delete(struct sim__tree *tree, struct sim__node *node)
{
    node->parent->stat.child_count--;
    node->parent->pzxid = tree->zxid;
    node_free(tree, node);
}

void sim__tree_set(struct sim__tree *tree, struct sim__node *node, const void *data,
                   size_t length)
{
    free(node->data);
    node->data = length > 0 ? sim__copy(data, length) : NULL;
    node->has_no_data = data == NULL;
    node->data_length = length;
    node->stat.version++;
    node->stat.mzxid = tree->zxid;
}

/* ------------------------------------------------------------------- checks */

/* The znode as it is after the changes: as the last change leaves it, else as in the
 * tree. */
static struct sim__change look(const struct sim__tree *tree, const char *path,
                               size_t length, struct sim__change *changes)
{
    struct sim__change *change = NULL;
    HASH_FIND(hh, changes, path, (unsigned)length, change);
    if (change != NULL) {
        return *change;
    }
    struct sim__node *node = sim__tree_find(tree, path, length);
    struct sim__change found = {.path = path, .exists = node != NULL};
    if (node != NULL) {
        found.stat = node->stat;
        found.counter = node->counter;
        found.unreadable = node->unreadable;
    }
    return found;
}

/* Does nothing if the op stands alone (changes is NULL). */
static void record(struct sim__change **changes, const struct sim__change *now,
                   const char *path, size_t length)
{
    if (changes == NULL) {
        return;
    }
    struct sim__change *change = NULL;
    HASH_FIND(hh, *changes, path, (unsigned)length, change);
    if (change == NULL) {
        change = sim__alloc(sizeof(*change));
        change->path = path;
        HASH_ADD_KEYPTR(hh, *changes, path, (unsigned)length, change);
    }
    change->exists = now->exists;
    change->unreadable = now->unreadable;
    change->stat = now->stat;
    change->counter = now->counter;
}

void sim__changes_free(struct sim__change **changes)
{
    struct sim__change *change, *next;
    HASH_ITER(hh, *changes, change, next)
    {
        HASH_DELETE(hh, *changes, change);
        free(change);
    }
}

bool sim__mode_sequential(uint32_t mode)
{
    return mode == UVZK__EPHEMERAL_SEQUENTIAL || mode == UVZK__PERSISTENT_SEQUENTIAL;
}

char *sim__tree_number(const struct sim__tree *tree, struct uvzk__op *op,
                       struct sim__change *changes)
{
    if (op->kind != UVZK__OP_CREATE || !sim__mode_sequential(op->mode)) {
        return NULL;
    }
    bool ephemeral = op->mode == UVZK__EPHEMERAL_SEQUENTIAL;
    struct sim__change parent =
        look(tree, op->path, sim__parent_length(op->path), changes);
    op->mode = ephemeral ? UVZK__EPHEMERAL : UVZK__PERSISTENT;
    if (!parent.exists) {
        return NULL;
    }
    size_t room = strlen(op->path) + sizeof("-2147483648");
    char *path = sim__alloc(room);
    snprintf(path, room, "%s%010" PRId32, op->path, parent.counter);
    op->path = path;
    return path;
}

/* As in ZooKeeper, the counter wraps around among the ops of one multi, while the
 * directory's own counter stays at INT32_MAX. */
static int32_t counted(int32_t counter)
{
    return counter == INT32_MAX ? INT32_MIN : counter + 1;
}

static int check_create(const struct sim__tree *tree, const struct uvzk__op *op,
                        int64_t owner, struct sim__change **changes)
{
    struct sim__change *before = changes != NULL ? *changes : NULL;
    size_t length = strlen(op->path), parent_length = sim__parent_length(op->path);
    if (op->acl == NULL || op->acl->count == 0) {
        return UVZK_EINVALIDACL;
    }
    if (parent_length == 0) {
        return UVZK_ENODEEXISTS; /* the root */
    }
    struct sim__change parent = look(tree, op->path, parent_length, before);
    if (!parent.exists) {
        return UVZK_ENONODE;
    }
    struct sim__change node = look(tree, op->path, length, before);
    if (node.exists) {
        return UVZK_ENODEEXISTS;
    }
    if (parent.stat.ephemeral_owner != 0) {
        return UVZK_ENOCHILDREN;
    }
    parent.stat.child_count++;
    parent.counter = counted(parent.counter);
    record(changes, &parent, op->path, parent_length);
    node.exists = true;
    node.unreadable = !sim__acl_grants_read(op->acl);
    node.counter = 0;
    node.stat = (struct uvzk__stat){.ephemeral_owner = owner};
    record(changes, &node, op->path, length);
    return 0;
}

static int check_delete(const struct sim__tree *tree, const struct uvzk__op *op,
                        struct sim__change *node, struct sim__change **changes)
{
    size_t parent_length = sim__parent_length(op->path);
    if (parent_length == 0) { /* the root */
        return UVZK_EREJECTED;
    }
    if (node->stat.child_count > 0) {
        return UVZK_ENOTEMPTY;
    }
    struct sim__change parent =
        look(tree, op->path, parent_length, changes != NULL ? *changes : NULL);
    parent.stat.child_count--;
    record(changes, &parent, op->path, parent_length);
    node->exists = false;
    record(changes, node, op->path, strlen(op->path));
    return 0;
}

int sim__tree_check(const struct sim__tree *tree, const struct uvzk__op *op,
                    int64_t owner, struct sim__change **changes)
{
    if (op->kind == UVZK__OP_CREATE) {
        return check_create(tree, op, owner, changes);
    }
    struct sim__change node =
        look(tree, op->path, strlen(op->path), changes != NULL ? *changes : NULL);
    if (!node.exists) {
        return UVZK_ENONODE;
    }
    if (op->kind == UVZK__OP_CHECK && node.unreadable) {
        return UVZK_ENOAUTH;
    }
    if (op->version != -1 && op->version != node.stat.version) {
        return UVZK_EBADVERSION;
    }
    if (op->kind == UVZK__OP_DELETE) {
        return check_delete(tree, op, &node, changes);
    }
    if (op->kind == UVZK__OP_SET) {
        node.stat.version++;
        record(changes, &node, op->path, strlen(op->path));
    }
    return 0;
}
