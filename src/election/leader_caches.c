/* Finds or makes the leader cache of a path, and passes events of the session on to all
 * of them (leader_caches.h). leader_report.c opens and closes them. */
#include "election/leader_caches.h"

#include <string.h>

#include "base/path.h"
#include "base/refusal.h"
#include "election/elections.h"
#include "election/leader_cache.h"
#include "election/leader_report.h"
#include "engine/turn.h"

static struct uvzk__leader_cache **caches_of(const struct uvzk__session *session)
{
    return &uvzk__elections(session)->leader_caches;
}

/* By the first `length` bytes of the path. */
static struct uvzk__leader_cache *find(const struct uvzk__session *session,
                                       const char *path, size_t length)
{
    struct uvzk__leader_cache *leader_cache = NULL;

    if (*caches_of(session) != NULL) {
        HASH_FIND(hh, *caches_of(session), path, length, leader_cache);
    }
    return leader_cache;
}

static struct uvzk__leader_cache *
new_cache(struct uvzk__session *session,
          const struct uvzk__participant_directory *directory)
{
    struct uvzk__leader_cache *leader_cache = uvzk__calloc(1, sizeof(*leader_cache));

    if (leader_cache == NULL) {
        return NULL;
    }
    leader_cache->session = session;
    leader_cache->kind = directory->kind;
    uvzk__leader_cache_init(leader_cache);
    leader_cache->path = uvzk__strdup(directory->path);
    if (leader_cache->path != NULL) {
        HASH_ADD_KEYPTR(hh, *caches_of(session), leader_cache->path,
                        strlen(leader_cache->path), leader_cache);
    }
    /* An allocation failed, possibly that of the hash table. */
    if (leader_cache->hh.tbl == NULL) {
        uvzk__leader_cache_free(leader_cache);
        return NULL;
    }
    return leader_cache;
}

int uvzk__leader_cache_join(struct uvzk__leader_report *report,
                            struct uvzk__session *session,
                            const struct uvzk__participant_directory *directory)
{
    struct uvzk__leader_cache *leader_cache =
        find(session, directory->path, strlen(directory->path));

    if (leader_cache != NULL && leader_cache->kind != directory->kind) {
        return uvzk__refuse(UV_EINVAL, "options.kind: another election of this client on "
                                       "this path is of the other kind");
    }
    if (leader_cache == NULL) {
        leader_cache = new_cache(session, directory);
    }
    if (leader_cache == NULL) {
        return UV_ENOMEM;
    }
    report->leader_cache = leader_cache;
    uvzk__list_append(&leader_cache->reports, &report->in_cache);
    /* Another election may have read it already. */
    uvzk__notify_later(session, &report->notification);
    uvzk__leader_cache_pump(leader_cache);
    return 0;
}

void uvzk__leader_cache_end_unused(struct uvzk__leader_cache *leader_cache)
{
    if (uvzk__list_empty(&leader_cache->reports)) {
        HASH_DEL(*caches_of(leader_cache->session), leader_cache);
        uvzk__leader_cache_end(leader_cache);
    }
}

static void for_each(struct uvzk__session *session,
                     void (*act)(struct uvzk__leader_cache *))
{
    struct uvzk__leader_cache *leader_cache, *next;

    HASH_ITER(hh, *caches_of(session), leader_cache, next)
    {
        act(leader_cache);
    }
}

void uvzk__leader_caches_resume(struct uvzk__session *session)
{
    for_each(session, uvzk__leader_cache_resume);
}
