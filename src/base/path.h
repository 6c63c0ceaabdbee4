/* Znode paths: validation, joining, the namespace. Pure: values in, values out. */
#ifndef UVZK_PATH_H
#define UVZK_PATH_H

#include <stdbool.h>
#include <stddef.h>

/* No server limit but jute.maxbuffer; this one keeps a typo from becoming a
 * megabyte in every request. Bytes, without the NUL. */
#define UVZK__PATH_MAX 1024

/* 0 or UVZK_EPATH (UV_EINVAL for NULL). The rules of the Java client's
 * PathUtils on decoded UTF-8; malformed UTF-8 is refused, and so is a path of
 * more than UVZK__PATH_MAX bytes. "/" is valid. */
int uvzk__path_validate(const char *path);

/* Of a znode below such a path, whose name makes it longer. */
#define UVZK__NODE_PATH_MAX 2048

/* The same rules with that limit. */
int uvzk__path_validate_znode(const char *path);

/* 0 or UVZK_EPATH: for a path below a namespace ("" or "/ns"), that is not the root,
 * the limit including the namespace. */
int uvzk__path_validate_below(const char *ns, const char *path);

/* Joins with exactly one '/': ("/a", "b"), ("/a/", "/b"), ("", "/b"), ("/", "b").
 * A new string of the caller's, to be freed with uvzk__free; NULL when out of
 * memory. */
char *uvzk__path_join(const char *parent, const char *child);

/* The same into `out`, unless that is NULL; how many bytes it takes, the NUL included. */
size_t uvzk__path_join_into(char *out, const char *parent, const char *child);

/* Length in bytes of the parent's path: "/a/b" -> 2, "/a" -> 1 (the root), "/"
 * -> 0 (no parent). */
size_t uvzk__path_parent_length(const char *path);

/* Length of the next longer ancestor, or of the path itself: ("/a/b/c", 2) -> 4.
 * length: of an ancestor, not of the root, and less than the path's. */
size_t uvzk__path_next_length(const char *path, size_t length);

/* The part after the last '/': a pointer into path. */
const char *uvzk__path_name(const char *path);

#endif
