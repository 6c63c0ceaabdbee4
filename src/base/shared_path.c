#include "base/shared_path.h"

#include <stddef.h>

#include "base/memory.h"
#include "base/path.h"

struct uvzk__shared_path *uvzk__shared_path_join(const char *parent, const char *child)
{
    struct uvzk__shared_path *path =
        uvzk__malloc(offsetof(struct uvzk__shared_path, text) +
                     uvzk__path_join_into(NULL, parent, child));

    if (path != NULL) {
        path->keepers = 1;
        (void)uvzk__path_join_into(path->text, parent, child);
    }
    return path;
}

struct uvzk__shared_path *uvzk__shared_path_keep(struct uvzk__shared_path *path)
{
    path->keepers++;
    return path;
}

void uvzk__shared_path_let_go(struct uvzk__shared_path *path)
{
    if (path != NULL && --path->keepers == 0) {
        uvzk__free(path);
    }
}
