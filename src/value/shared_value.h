/* A shared value is one user's hold on a node cache: who is told of it, and the sets that
 * this user has asked for. What it is told is decided when it is told: the state of
 * things at the end of a turn, if it is not what was told last. */
#ifndef UVZK_SHARED_VALUE_H
#define UVZK_SHARED_VALUE_H

#include "engine/session.h"
#include "value/node_cache.h"

/* Inside the library: told at once of each new value, before the user is. It may
 * neither call the user nor close the value. */
struct uvzk__value_listener {
    struct uvzk__link link; /* initialised by listening; uvzk__list_remove() ends it */
    void (*changed)(struct uvzk__value_listener *);
    /* The value is closed, and it listens no more; the value's struct may be used anew. May
     * be NULL. */
    void (*closed)(struct uvzk__value_listener *);
};

struct uvzk__shared_value {
    uvzk_shared_value_t *shell;
    struct uvzk__node_cache *node_cache;
    struct uvzk__link siblings;  /* on node_cache->values */
    struct uvzk__link sets;      /* their callbacks are to come, value_set.h */
    struct uvzk__link listeners; /* struct uvzk__value_listener */
    struct uvzk__notification notification;
    uvzk_shared_value_change_cb cb;
    uvzk_shared_value_close_cb close_cb;
    void (*client_gone_cb)(
        uvzk_shared_value_t *); /* freed with its client; may be NULL */
    int64_t told_mzxid;
    int told_status;
    bool closing;
};

/* Of one that is initialised; else NULL. */
struct uvzk__session *uvzk__shared_value_session(const uvzk_shared_value_t *);

void uvzk__shared_value_listen(struct uvzk__shared_value *,
                               struct uvzk__value_listener *);

/* The same for a count, which has been initialised. */
void uvzk__shared_count_listen(uvzk_shared_count_t *, struct uvzk__value_listener *);

/* ------------------------------------------------------- called by its replica */

/* Another value is known; or whether it can be read is not as it was. */
void uvzk__shared_value_changed(struct uvzk__shared_value *);
void uvzk__shared_value_tell(struct uvzk__shared_value *);

void uvzk__shared_value_send_sets(struct uvzk__shared_value *);
/* A read was answered, in whatever way. */
void uvzk__shared_value_was_read(struct uvzk__shared_value *);
void uvzk__shared_value_end_sets(struct uvzk__shared_value *, int code);

/* All of a client go with it. */
void uvzk__shared_values_free(struct uvzk__session *);

#endif
