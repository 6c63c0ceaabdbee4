/* SPDX-License-Identifier: Apache-2.0 */
#define THREADED /* declares the blocking calls */
#include "raw.h"

#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#define SESSION_MS 10000
#define CONNECT_DEADLINE_MS 15000
#define CONNECT_POLL_MS 2

static void swallow_log(const char *line)
{
    (void)line;
}

static void ignore_event(zhandle_t *zh, int type, int state, const char *path,
                         void *context)
{
    (void)zh;
    (void)type;
    (void)state;
    (void)path;
    (void)context;
}

static zhandle_t *open_session(const char *hosts, const clientid_t *id)
{
    const struct timespec nap = {0, CONNECT_POLL_MS * 1000000};
    zhandle_t *zh = zookeeper_init2(hosts, ignore_event, SESSION_MS, id, NULL,
                                    ZOO_NO_LOG_CLIENTENV, swallow_log);
    if (zh == NULL) {
        return NULL;
    }
    for (int waited = 0; waited < CONNECT_DEADLINE_MS; waited += CONNECT_POLL_MS) {
        int state = zoo_state(zh);
        if (state == ZOO_CONNECTED_STATE) {
            return zh;
        }
        if (state == ZOO_EXPIRED_SESSION_STATE) {
            break;
        }
        nanosleep(&nap, NULL);
    }
    zookeeper_close(zh);
    return NULL;
}

zhandle_t *raw_open(const char *hosts)
{
    return open_session(hosts, NULL);
}

void raw_close(zhandle_t *zh)
{
    if (zh != NULL) {
        zookeeper_close(zh);
    }
}

int raw_create(zhandle_t *zh, const char *path)
{
    return zoo_create(zh, path, "", 0, &ZOO_OPEN_ACL_UNSAFE, ZOO_PERSISTENT, NULL, 0);
}

int raw_delete(zhandle_t *zh, const char *path)
{
    return zoo_delete(zh, path, -1);
}

int raw_exists(zhandle_t *zh, const char *path, struct Stat *stat)
{
    struct Stat unused;
    return zoo_exists(zh, path, 0, stat != NULL ? stat : &unused);
}

int raw_set(zhandle_t *zh, const char *path, const char *text)
{
    return zoo_set(zh, path, text, (int)strlen(text), -1);
}

int raw_get(zhandle_t *zh, const char *path, char *text, size_t size)
{
    struct Stat stat;
    int length = (int)size - 1;
    int status = zoo_get(zh, path, 0, text, &length, &stat);
    text[status == ZOK && length > 0 ? length : 0] = '\0';
    return status;
}

long raw_data_length(zhandle_t *zh, const char *path)
{
    struct Stat stat;
    char data[1];
    int length = (int)sizeof(data);
    return zoo_get(zh, path, 0, data, &length, &stat) == ZOK ? length : -1;
}

int raw_forbid_creates(zhandle_t *zh, const char *path)
{
    struct ACL entry = {ZOO_PERM_READ | ZOO_PERM_ADMIN | ZOO_PERM_DELETE,
                        ZOO_ANYONE_ID_UNSAFE};
    struct ACL_vector acl = {1, &entry};
    return zoo_set_acl(zh, path, -1, &acl);
}

int raw_contend_as(zhandle_t *zh, const char *directory, const char *end, char *made,
                   size_t size)
{
    static atomic_uint count;
    char path[1200];
    snprintf(path, sizeof(path), "%s/_c_%08x-1111-4111-8111-111111111111-%s", directory,
             atomic_fetch_add(&count, 1), end);
    return zoo_create(zh, path, "", 0, &ZOO_OPEN_ACL_UNSAFE, ZOO_EPHEMERAL_SEQUENTIAL,
                      made, (int)size);
}

int raw_contend(zhandle_t *zh, const char *directory, char *made, size_t size)
{
    return raw_contend_as(zh, directory, "lock-", made, size);
}

long raw_children_count(zhandle_t *zh, const char *path)
{
    struct String_vector names = {0, NULL};
    int status = zoo_get_children(zh, path, 0, &names);
    long count = names.count;
    /* Then the C client has allocated nothing. */
    if (status == ZNONODE) {
        return 0;
    }
    deallocate_String_vector(&names);
    return status == ZOK ? count : -1;
}

long raw_creation_count(zhandle_t *zh, const char *path)
{
    struct Stat stat;
    if (zoo_exists(zh, path, 0, &stat) != ZOK) {
        return -1;
    }
    /* cversion is the number of creates and deletes so far. */
    return (stat.cversion + stat.numChildren) / 2;
}

/* The ten digits at the end of a sequential znode's name. */
static const char *sequence_of(const char *name)
{
    size_t length = strlen(name);
    return length > 10 ? name + length - 10 : name;
}

static int compare_names(const void *left, const void *right)
{
    const char *const *a = left;
    const char *const *b = right;
    return strcmp(sequence_of(*a), sequence_of(*b));
}

int raw_children(zhandle_t *zh, const char *path, struct raw_names *out)
{
    struct String_vector found = {0, NULL};
    int status = zoo_get_children(zh, path, 0, &found);
    out->names = NULL;
    out->count = 0;
    if (status != ZOK) {
        return status == ZNONODE ? ZOK : status;
    }
    out->names = found.data; /* the caller's now; all was allocated by malloc() */
    out->count = (size_t)found.count;
    if (out->count > 1) {
        qsort(out->names, out->count, sizeof(out->names[0]), compare_names);
    }
    return ZOK;
}

void raw_names_free(struct raw_names *names)
{
    for (size_t i = 0; i < names->count; i++) {
        free(names->names[i]);
    }
    free(names->names);
    names->names = NULL;
    names->count = 0;
}

int raw_expire_session(const char *hosts, int64_t session_id, const char password[16])
{
    clientid_t id;
    id.client_id = session_id;
    memcpy(id.passwd, password, sizeof(id.passwd));
    zhandle_t *zh = open_session(hosts, &id);
    if (zh == NULL) {
        return -1;
    }
    return zookeeper_close(zh) == ZOK ? 0 : -1;
}
