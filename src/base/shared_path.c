/* A text with a reference count in one allocation (shared_path.h). */
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
        path->refs = 1;
        (void)uvzk__path_join_into(path->text, parent, child);
        path->hash = uvzk__path_hash(path->text);
    }
    return path;
}

struct uvzk__shared_path *uvzk__shared_path_ref(struct uvzk__shared_path *path)
{
    path->refs++;
    return path;
}

void uvzk__shared_path_unref(struct uvzk__shared_path *path)
{
    if (path != NULL && --path->refs == 0) {
        uvzk__free(path);
    }
}
