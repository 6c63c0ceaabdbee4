/* SPDX-License-Identifier: Apache-2.0 */
/* The end of a handle of the caller that is under way: a close or a release. Besides its
 * own callback, a future may listen to it. The handles have a field for it (`end` of
 * UVZK_HANDLE_FIELDS): NULL; the session's `unheard_end`, if nobody listens; or the
 * listener. */
#ifndef UVZK_HANDLE_END_H
#define UVZK_HANDLE_END_H

#include "engine/session.h"

/* ended: NULL: it stands for nobody. */
static inline void uvzk__end_listener_init(struct uvzk__end_listener *listener,
                                           struct uvzk__session *session,
                                           void (*ended)(struct uvzk__end_listener *,
                                                         int status))
{
    listener->session = session;
    listener->ended = ended;
}

/* The end is under way. end: the field of the handle. */
static inline void uvzk__end_begin(void **end, struct uvzk__session *session)
{
    *end = &session->unheard_end;
}

/* The end is done: returns who listens, or NULL, before the handle's own callback, which
 * may free the handle. */
static inline struct uvzk__end_listener *uvzk__end_take(void **end)
{
    struct uvzk__end_listener *listener = *end;

    *end = NULL;
    return listener == NULL || listener->ended == NULL ? NULL : listener;
}

/* Tells the one who listens, after that callback. */
static inline void uvzk__end_tell(struct uvzk__end_listener *listener, int status)
{
    if (listener != NULL) {
        listener->ended(listener, status);
    }
}

#endif
