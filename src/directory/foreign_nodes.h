/* Contenders of other sessions, or of nobody we know: those that stand before the last of
 * ours, as the last listing showed them. */
#ifndef UVZK_FOREIGN_NODES_H
#define UVZK_FOREIGN_NODES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct uvzk__contender;
struct uvzk__queue;

/* A contender of another session, or of nobody we know. */
struct uvzk__foreign_node {
    int32_t sequence;
    bool shared;
    char *name;
};

/* Of a directory, as the last listing has shown it. */
struct uvzk__foreign_nodes {
    struct uvzk__foreign_node
        *list; /* up to the last member of ours, in order; or NULL */
    uint32_t count;
    uint32_t children;  /* that are no contenders */
    uint32_t leases;    /* others' */
    bool others_behind; /* somebody stands behind the last of ours, or may */
};

/* What a listing has shown; the list is the queue's from now on. There is memory for what
 * it shows of others (uvzk__queue_need_optional). */
void uvzk__foreign_nodes_set(struct uvzk__queue *, struct uvzk__foreign_node *list,
                             size_t count, uint64_t leases);
/* Whether it has shown somebody behind the last of ours; or somebody may be there, which
 * nobody has looked for. */
void uvzk__foreign_nodes_set_behind(struct uvzk__queue *, bool others_behind);

void uvzk__foreign_nodes_free(struct uvzk__foreign_node *, size_t count);

/* How many of them stand before this contender. */
size_t uvzk__foreign_nodes_before(const struct uvzk__queue *,
                                  const struct uvzk__contender *);

/* Whether there is anything to be kept of others. */
static inline bool
uvzk__foreign_nodes_known(const struct uvzk__foreign_nodes *foreign_nodes)
{
    return foreign_nodes->list != NULL || foreign_nodes->children > 0 ||
           foreign_nodes->leases > 0 || foreign_nodes->others_behind;
}

static inline bool
uvzk__foreign_nodes_any(const struct uvzk__foreign_nodes *foreign_nodes)
{
    return foreign_nodes->count > 0;
}

/* The nearest foreign node that this contender has to wait for, or NULL; uvzk__blocker
 * (queue.h) is quicker where there are none, as mostly. */
const struct uvzk__foreign_node *
uvzk__foreign_nodes_blocker(const struct uvzk__queue *, const struct uvzk__contender *);

/* Whether the blocker is the only one that it has to wait for. */
bool uvzk__foreign_nodes_single_blocker(const struct uvzk__queue *,
                                        const struct uvzk__contender *);

/* The number of the first foreign node for whom readers behind it wait; INT32_MAX if there
 * is none. */
int32_t uvzk__foreign_nodes_first_writer(const struct uvzk__queue *);

/* One of them has gone. */
void uvzk__foreign_nodes_remove(struct uvzk__queue *, const char *name);
/* A lease that was counted as another's is ours. */
void uvzk__foreign_nodes_lease_is_ours(struct uvzk__queue *);

/* So many children are no contenders': counted, and reported when it changes. */
void uvzk__foreign_children(struct uvzk__queue *, uint64_t count);

void uvzk__foreign_nodes_clear(struct uvzk__queue *);

#endif
