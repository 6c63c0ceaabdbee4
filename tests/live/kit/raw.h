/* ZooKeeper by the C client's blocking calls: the test's own eyes and hands,
 * beside the library under test. Every call blocks the caller. */
#ifndef RAW_H
#define RAW_H

#include <stddef.h>
#include <stdint.h>
#include <zookeeper/zookeeper.h>

/* A session of its own (10 s); NULL if it is not connected after 15 s. */
zhandle_t *raw_open(const char *hosts);
void raw_close(zhandle_t *zh); /* NULL is fine */

/* The codes are the C client's (ZOK, ZNONODE, ...). */
int raw_create(zhandle_t *zh, const char *path); /* persistent, empty */
int raw_delete(zhandle_t *zh, const char *path); /* any version */
int raw_exists(zhandle_t *zh, const char *path, struct Stat *stat); /* or NULL */
int raw_set(zhandle_t *zh, const char *path, const char *text);
/* The data as text, cut to size - 1 and terminated. */
int raw_get(zhandle_t *zh, const char *path, char *text, size_t size);
/* -1: the znode has no data, or there is no such znode. */
long raw_data_length(zhandle_t *zh, const char *path);
int raw_forbid_creates(zhandle_t *zh, const char *path); /* by its ACL */
/* A contender's znode in the given lock directory, which must exist; its full
 * path goes to `made`. It lives until raw_close. */
int raw_contend(zhandle_t *zh, const char *directory, char *made, size_t size);
/* Likewise, by the end of its name: "__WRIT__" in a read-write lock's directory, "lease-"
 * in that of a semaphore's leases. */
int raw_contend_as(zhandle_t *zh, const char *directory, const char *end, char *made,
                   size_t size);

/* 0 also when the path does not exist; -1 on an error. */
long raw_children_count(zhandle_t *zh, const char *path);
/* How many children were ever created below it; -1 on an error. */
long raw_creation_count(zhandle_t *zh, const char *path);

/* Names of the children by their last ten characters: contenders in queue
 * order. Of a path that does not exist there are none. */
struct raw_names {
    char **names;
    size_t count;
};
int raw_children(zhandle_t *zh, const char *path, struct raw_names *out);
void raw_names_free(struct raw_names *names);

/* Ends somebody else's session at once. 0 or -1. */
int raw_expire_session(const char *hosts, int64_t session_id, const char password[16]);

#endif
