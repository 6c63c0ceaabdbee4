/* SPDX-License-Identifier: Apache-2.0 */
/* Blocking calls of the C client, by which a test reads and changes znodes without the
 * library under test. Every call blocks the caller. */
#ifndef RAW_H
#define RAW_H

#include <stddef.h>
#include <stdint.h>
#include <zookeeper/zookeeper.h>

/* Opens a session of its own (10 s). Returns NULL if it is not connected within 15 s. */
zhandle_t *raw_open(const char *hosts);
void raw_close(zhandle_t *zh); /* zh may be NULL */

/* The following functions return codes of the C client (ZOK, ZNONODE, ...). */
int raw_create(zhandle_t *zh, const char *path); /* persistent, empty */
int raw_delete(zhandle_t *zh, const char *path); /* any version */
int raw_exists(zhandle_t *zh, const char *path, struct Stat *stat); /* or NULL */
int raw_set(zhandle_t *zh, const char *path, const char *text);
/* The data as text, cut to size - 1 bytes and terminated with a zero. */
int raw_get(zhandle_t *zh, const char *path, char *text, size_t size);
/* The length of the data, capped at 1 byte; -1: the znode has no data or does not
 * exist. */
long raw_data_length(zhandle_t *zh, const char *path);
int raw_forbid_creates(zhandle_t *zh, const char *path); /* by its ACL */
/* Creates a contender's znode in this lock directory, which must exist. Writes its full
 * path to `made`. The znode exists until raw_close. */
int raw_contend(zhandle_t *zh, const char *directory, char *made, size_t size);
/* The same with this end of the name: "__WRIT__" in the directory of a read-write lock,
 * "lease-" in that of a semaphore's leases. */
int raw_contend_as(zhandle_t *zh, const char *directory, const char *end, char *made,
                   size_t size);

/* The number of children; 0 also if the path does not exist; -1 on an error. */
long raw_children_count(zhandle_t *zh, const char *path);
/* How many children were ever created below the path; -1 on an error. */
long raw_creation_count(zhandle_t *zh, const char *path);

/* The names of the children, sorted by their last ten characters, so contenders are in
 * queue order. A path that does not exist has none. The caller frees them with
 * raw_names_free. */
struct raw_names {
    char **names;
    size_t count;
};
int raw_children(zhandle_t *zh, const char *path, struct raw_names *out);
void raw_names_free(struct raw_names *names);

/* Ends the session of another client at once: connects to the session with its password
 * and closes it. Returns 0 or -1. */
int raw_expire_session(const char *hosts, int64_t session_id, const char password[16]);

#endif
