/* SPDX-License-Identifier: Apache-2.0 */
/* The watches of each server. A watch is on a path, either on the znode itself (data) or
 * on its children (child), and fires once. A persistent watch is on a path and on the
 * children of the znode there, and fires until it is removed.
 *
 * A watch belongs to a connection and is removed when that connection ends. After a
 * reconnect the client requests its watches again (SIM__REWATCH), but for the persistent
 * ones. */
#include "sim_internal.h"

#include <stdlib.h>
#include <string.h>

static struct sim__watched_path *point_find(struct sim__member *member, const char *path,
                                            size_t length)
{
    struct sim__watched_path *point = NULL;
    HASH_FIND(hh, member->points, path, (unsigned)length, point);
    return point;
}

static struct sim__watched_path *point_at(struct sim__member *member, const char *path)
{
    size_t length = strlen(path);
    struct sim__watched_path *point = point_find(member, path, length);
    if (point == NULL) {
        point = sim__alloc(sizeof(*point));
        point->path = sim__copy(path, length + 1);
        uvzk__list_init(&point->data);
        uvzk__list_init(&point->child);
        uvzk__list_init(&point->persistent);
        HASH_ADD_KEYPTR(hh, member->points, point->path, (unsigned)length, point);
    }
    return point;
}

/* Frees a path that has no watches any more. */
static void point_sweep(struct sim__member *member, struct sim__watched_path *point)
{
    if (uvzk__list_empty(&point->data) && uvzk__list_empty(&point->child) &&
        uvzk__list_empty(&point->persistent)) {
        HASH_DELETE(hh, member->points, point);
        free(point->path);
        free(point);
    }
}

/* The caller must sweep the watch's path, which may have no watches any more. */
static void watch_free(struct sim__member *member, struct sim__server_watch *watch)
{
    HASH_DELETE(hh, member->watches, watch);
    uvzk__list_remove(&watch->on_link);
    uvzk__list_remove(&watch->on_point);
    free(watch);
}

static void replace_on(struct sim__link *link, struct uvzk__link *watches)
{
    struct uvzk__link *next;
    for (struct uvzk__link *at = watches->next; at != watches; at = next) {
        struct sim__server_watch *watch =
            UVZK__CONTAINER_OF(at, struct sim__server_watch, on_point);
        next = at->next;
        if (watch->link == link) {
            watch_free(link->member, watch);
        }
    }
}

/* A server before 3.9.0 has one mode for the watches of a connection on a path. */
static void replace_mode(struct sim__link *link, struct sim__watched_path *point,
                         uint32_t kind)
{
    if (link->client == NULL || link->client->sim->options.mixes_watches) {
        return;
    }
    if (kind == SIM__WATCH_PERSISTENT) {
        replace_on(link, &point->data);
        replace_on(link, &point->child);
    } else {
        replace_on(link, &point->persistent);
    }
}

void sim__watch_add(struct sim__link *link, uint64_t id, const char *path, uint32_t kind)
{
    struct sim__member *member = link->member;
    struct sim__server_watch *watch = NULL;
    HASH_FIND(hh, member->watches, &id, sizeof(id), watch);
    if (id == 0 || watch != NULL) {
        return;
    }
    watch = sim__alloc(sizeof(*watch));
    watch->id = id;
    watch->link = link;
    watch->point = point_at(member, path);
    replace_mode(link, watch->point, kind);
    uvzk__list_append(&link->watches, &watch->on_link);
    uvzk__list_append(kind == SIM__WATCH_CHILD        ? &watch->point->child
                      : kind == SIM__WATCH_PERSISTENT ? &watch->point->persistent
                                                      : &watch->point->data,
                      &watch->on_point);
    HASH_ADD(hh, member->watches, id, sizeof(watch->id), watch);
}

void sim__watch_remove(struct sim__link *link, uint64_t id)
{
    struct sim__member *member = link->member;
    struct sim__server_watch *watch = NULL;
    HASH_FIND(hh, member->watches, &id, sizeof(id), watch);
    if (watch != NULL) {
        struct sim__watched_path *point = watch->point;
        watch_free(member, watch);
        point_sweep(member, point);
    }
}

void sim__watch_drop_all(struct sim__link *link)
{
    while (!uvzk__list_empty(&link->watches)) {
        struct sim__server_watch *watch =
            UVZK__CONTAINER_OF(link->watches.next, struct sim__server_watch, on_link);
        sim__watch_remove(link, watch->id);
    }
}

void sim__watch_tell(struct sim *sim, struct sim__link *link, uint64_t watch_id,
                     enum uvzk__watch_event event, int64_t zxid, const char *child)
{
    if (link->client != NULL && link->client->lose_events > 0) {
        link->client->lose_events--;
        sim__trace(sim, "server", "a watch event is lost");
        return;
    }
    struct sim__answer *answer = sim__answer_new(SIM__WATCH_EVENT);
    answer->watch_id = watch_id;
    answer->watch_event = event;
    answer->zxid = zxid;
    answer->name = child == NULL ? NULL : sim__copy(child, strlen(child) + 1);
    sim__link_send_down(sim, link, answer);
}

/* Of an event about a change that the member is applying. */
static int64_t event_zxid(const struct sim *sim, const struct sim__member *member)
{
    return sim->options.event_zxids ? member->tree->zxid : SIM__NO_ZXID;
}

/* Since the fix of CVE-2024-23944, a client that may not READ the znode gets no event,
 * but its watch is used up all the same. */
static void fire_all(struct sim *sim, struct sim__member *member,
                     struct uvzk__link *watches, enum uvzk__watch_event event,
                     bool unreadable)
{
    while (!uvzk__list_empty(watches)) {
        struct sim__server_watch *watch =
            UVZK__CONTAINER_OF(watches->next, struct sim__server_watch, on_point);
        if (!unreadable) {
            sim__watch_tell(sim, watch->link, watch->id, event, event_zxid(sim, member),
                            NULL);
        }
        watch_free(member, watch);
    }
}

/* The persistent watches on this path hear of the znode, which is there or a child. */
static void tell_persistent(struct sim *sim, struct sim__member *member, const char *path,
                            size_t length, const struct sim__node *node,
                            enum uvzk__watch_event event)
{
    struct sim__watched_path *point = point_find(member, path, length);
    if (point == NULL || node->unreadable) {
        return;
    }
    for (struct uvzk__link *at = point->persistent.next; at != &point->persistent;
         at = at->next) {
        struct sim__server_watch *watch =
            UVZK__CONTAINER_OF(at, struct sim__server_watch, on_point);
        sim__watch_tell(sim, watch->link, watch->id, event, event_zxid(sim, member),
                        length == node->length ? NULL : node->name);
    }
}

void sim__watch_fire_node(struct sim *sim, struct sim__member *member,
                          const struct sim__node *node, enum uvzk__watch_event event)
{
    struct sim__watched_path *point = point_find(member, node->path, node->length);
    if (point != NULL) {
        fire_all(sim, member, &point->data, event, node->unreadable);
        if (event == UVZK__WATCH_DELETED) {
            fire_all(sim, member, &point->child, event, node->unreadable);
        }
        point_sweep(member, point);
    }
    tell_persistent(sim, member, node->path, node->length, node, event);
    if (node->parent != NULL) {
        tell_persistent(sim, member, node->parent->path, node->parent->length, node,
                        event);
    }
}

void sim__watch_fire_parent(struct sim *sim, struct sim__member *member,
                            const struct sim__node *node)
{
    const struct sim__node *parent = node->parent;
    struct sim__watched_path *point = point_find(member, parent->path, parent->length);
    if (point != NULL) {
        fire_all(sim, member, &point->child, UVZK__WATCH_CHILDREN, parent->unreadable);
        point_sweep(member, point);
    }
}
