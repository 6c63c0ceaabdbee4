/* At which paths a session has shared values (values_at.h). The turn hooks call it
 * (client/round.c, client/session_objects.c), for engine/znode_owner.c. */
#include "value/values_at.h"

#include "base/path.h"
#include "engine/znode_owner.h"
#include "value/shared_value.h"

bool uvzk__shared_values_need_below(const struct uvzk__session *session, const char *path)
{
    const struct uvzk__node_cache *each = *uvzk__node_caches(session);

    while (each != NULL && !uvzk__path_is_below(each->path, path, false)) {
        each = each->hh.next;
    }
    return each != NULL;
}

unsigned uvzk__shared_values_at(const struct uvzk__session *session, const char *path)
{
    static const uint8_t bits[] = {[UVZK__VALUE_IS_VALUE] = 1U << UVZK__OWNED_BY_VALUE,
                                   [UVZK__VALUE_IS_COUNT] = 1U << UVZK__OWNED_BY_COUNT};
    const struct uvzk__node_cache *node_cache = uvzk__node_cache_find(session, path);
    unsigned all = 0;

    if (node_cache == NULL) {
        return 0;
    }
    for (struct uvzk__link *link = node_cache->values.next; link != &node_cache->values;
         link = link->next) {
        all |= bits[UVZK__CONTAINER_OF(link, struct uvzk__shared_value, siblings)->use];
    }
    return all;
}
