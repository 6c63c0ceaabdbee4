/* SPDX-License-Identifier: Apache-2.0 */
/* Paths of znodes: validation, joining, the namespace. Pure functions, except those that
 * make and free a path. */
#ifndef UVZK_PATH_H
#define UVZK_PATH_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* The longest path that a user may pass, in bytes, without the NUL. ZooKeeper has no
 * limit except jute.maxbuffer. This limit keeps a mistake of the caller from adding a
 * megabyte to every request. */
#define UVZK__PATH_MAX 1024

/* Returns 0 or UVZK_EPATH; UV_EINVAL: path is NULL. Applies the rules of the Java
 * client's PathUtils to the decoded UTF-8. Malformed UTF-8 and a path of more than
 * UVZK__PATH_MAX bytes are refused. "/" is valid. */
int uvzk__path_validate(const char *path);

/* The longest path of a znode below such a path, in bytes, without the NUL: the name of
 * the znode makes the path longer. */
#define UVZK__NODE_PATH_MAX 2048

/* Like uvzk__path_validate, but with the limit UVZK__NODE_PATH_MAX. */
int uvzk__path_validate_znode(const char *path);

/* Returns 0 or UVZK_EPATH for a path below a namespace ("" or "/ns"). "/" is refused. The
 * limit UVZK__PATH_MAX includes the namespace. path must not be NULL. */
int uvzk__path_validate_below(const char *ns, const char *path);

/* Joins two paths with exactly one '/': ("/a", "b"), ("/a/", "/b"), ("", "/b"), ("/",
 * "b"). Returns a new string that the caller frees with uvzk__free; NULL: out of
 * memory. */
char *uvzk__path_join(const char *parent, const char *child);

/* Joins two paths into `out`, unless `out` is NULL. Returns the size of the result in
 * bytes, with the NUL. */
size_t uvzk__path_join_into(char *out, const char *parent, const char *child);

/* Returns the length of the parent's path in bytes: "/a/b" -> 2, "/a" -> 1 (the root),
 * "/" -> 0 (no parent). */
size_t uvzk__path_parent_length(const char *path);

/* Returns the length of the next longer ancestor, or of the path itself: ("/a/b/c", 2)
 * yields 4. length: of an ancestor that is not the root, so less than that of path. */
size_t uvzk__path_next_length(const char *path, size_t length);

/* Returns true if the path is below another one, at any depth. itself: or is the same. */
bool uvzk__path_is_below(const char *path, const char *ancestor, bool itself);

/* Returns the part after the last '/', as a pointer into path. */
const char *uvzk__path_name(const char *path);

/* Returns a hash of the path, for tables that find what they keep by its path. */
uint32_t uvzk__path_hash(const char *path);

/* A path with a reference count, which several structs share: a lock, and the directory
 * that has its contenders. */
struct uvzk__shared_path {
    uint32_t refs; /* the path is freed when it reaches 0 */
    uint32_t hash; /* uvzk__path_hash of the text */
    char text[];
};

/* Joins two paths as uvzk__path_join does. The result has one reference, which the caller
 * owns; NULL: out of memory. */
struct uvzk__shared_path *uvzk__shared_path_join(const char *parent, const char *child);

/* Adds a reference; drops a reference (NULL is allowed). */
struct uvzk__shared_path *uvzk__shared_path_ref(struct uvzk__shared_path *);
void uvzk__shared_path_unref(struct uvzk__shared_path *);

#endif
