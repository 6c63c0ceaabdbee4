/* SPDX-License-Identifier: Apache-2.0 */
/* Paths: what is valid stays so when it is taken apart and joined again. */
#include "base/memory.h"
#include "base/path.h"
#include "fuzz.h"

static bool is_valid(const char *path)
{
    return uvzk__path_validate_znode(path) == 0;
}

/* What Java's PathUtils refuses whatever the characters are. */
static void check_form(const char *path)
{
    PROMISE(path[0] == '/');
    PROMISE(strstr(path, "//") == NULL);
    PROMISE(strstr(path, "/./") == NULL && strstr(path, "/../") == NULL);
    PROMISE(path[1] == '\0' || path[strlen(path) - 1] != '/');
}

static void take_apart(const char *path)
{
    size_t length = uvzk__path_parent_length(path);
    const char *name = uvzk__path_name(path);
    char *parent = uvzk__memdup(path, length + 1);

    PROMISE(length > 0 && name[0] != '\0');
    parent[length] = '\0';
    PROMISE(is_valid(parent));
    char *again = uvzk__path_join(parent, name);
    PROMISE(strcmp(again, path) == 0);
    if (length > 1) {
        PROMISE(uvzk__path_next_length(path, length) == strlen(path));
    }
    uvzk__free(again);
    uvzk__free(parent);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct input input = {data, size};
    char *first = take_line(&input), *second = take_line(&input);
    char *joined = uvzk__path_join(first, second);

    if (is_valid(first)) {
        check_form(first);
        if (first[1] != '\0') {
            take_apart(first);
        }
    }
    if (is_valid(first) && is_valid(second)) {
        PROMISE(is_valid(joined));
    }
    if (uvzk__path_validate_below(first, second) == 0) {
        PROMISE(is_valid(second) && strlen(first) + strlen(second) <= UVZK__PATH_MAX);
    }
    if (uvzk__path_validate(first) == 0) {
        PROMISE(is_valid(first) && strlen(first) <= UVZK__PATH_MAX);
    }
    uvzk__free(joined);
    free(second);
    free(first);
    return 0;
}
