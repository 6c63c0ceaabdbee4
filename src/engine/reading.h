/* SPDX-License-Identifier: Apache-2.0 */
/* A reading: what a znode, or its children, were last seen to be. It is read again after each
 * change, and all parts of the client that need it share it. Its kind says which requests
 * one reading takes and what their replies mean. At most one of them is under way:
 *
 *   IDLE --> ASKED --> IDLE     a request is sent, and answered: the kind takes the reply,
 *    ^ |       |                and may send the next one
 *    | `-------+---> PAUSED     it failed, or there is no room for a watch: until the pause
 *    `-----------------'        is over, or requests may be sent again. Or it rests, because
 *                               nobody needs the next one so soon
 *
 * From each state it is ENDED when nobody needs it any longer. It is freed when it is no
 * longer pinned: a request under way pins it, and so does whoever may end it by a callback.
 *
 * In IDLE it is due, and is sent as soon as anything may be sent,
 *
 *   - while no watch is set, which is the case after each event of the watch: nothing would
 *     report the next change. The watch is set again about once per session timeout too, in
 *     case its event was lost (watch.h);
 *   - when its last first request was sent on an earlier connection: the server of this one
 *     may know more, or may have forgotten the watch;
 *   - when its kind wants it.
 *
 * So what a reading shows is as fresh as this, and each kind says why that is enough for what
 * it decides: it was sent after the barrier of its connection (barrier.h), so the server has
 * carried out everything that was committed before that. A server that lags shows an earlier
 * moment; a later change reaches the session through the same server, as an event of the
 * watch. */
#ifndef UVZK_READING_H
#define UVZK_READING_H

#include "base/machine.h"
#include "base/table.h"
#include "engine/growing_pause.h"
#include "engine/port.h"
#include "engine/watch.h"

struct uvzk__session;

enum uvzk__reading_state {
    UVZK__READING_IDLE,   /* next: ASKED PAUSED ENDED */
    UVZK__READING_ASKED,  /* next: IDLE ENDED */
    UVZK__READING_PAUSED, /* next: IDLE ENDED */
    UVZK__READING_ENDED   /* final */
};

extern const struct uvzk__machine uvzk__reading_machine;

struct uvzk__reading;

/* How readings differ. While shown, failed or changed runs, the reading is pinned, and
 * reading->rpc is the request. A reading that is due afterwards is sent then. */
struct uvzk__reading_kind {
    /* The session's readings of this kind, by path. */
    struct uvzk__reading **(*table)(const struct uvzk__session *);
    /* It is due: sends the first request, by uvzk__reading_ask, and returns what that
     * returns. Returns false too if nothing has to be read now. Must not end it. */
    bool (*begin)(struct uvzk__reading *);
    /* The request was answered with status 0 or UVZK_ENONODE. */
    void (*shown)(struct uvzk__reading *, const struct uvzk__reply *);
    /* It was answered with another status. UVZK_ELIMIT: it was not sent, because there is no
     * room for its watch. It is repeated if this function says so: uvzk__reading_repeat. */
    void (*failed)(struct uvzk__reading *, int status);
    /* The watch has told this, and is gone. NULL: it only makes the reading due. */
    void (*changed)(struct uvzk__reading *, enum uvzk__watch_news);
    /* It has ended and is not pinned. */
    void (*free_memory)(struct uvzk__reading *);
};

/* Part of the struct that takes what is read. All zeros before uvzk__reading_init. */
struct uvzk__reading {
    struct uvzk__session *session;
    const struct uvzk__reading_kind *kind;
    UT_hash_handle hh;    /* in the kind's table */
    char *path;           /* namespace included; owned */
    struct uvzk__rpc rpc; /* the request under way */
    struct uvzk__renewed_watcher renewed;
    struct uvzk__growing_pause pause; /* runs in PAUSED */
    uint64_t stamp;                   /* of the last first request (submission.h) */
    uint32_t pins;
    uint8_t state; /* enum uvzk__reading_state */
    bool again;    /* it is wanted */
};

/* Makes a reading of this path, in IDLE, and adds it to the table. Returns false if out of
 * memory: then the caller frees the struct. uvzk__reading_find: the one that there is, or
 * NULL. */
bool uvzk__reading_init(struct uvzk__reading *, struct uvzk__session *,
                        const struct uvzk__reading_kind *, const char *path);
struct uvzk__reading *uvzk__reading_find(const struct uvzk__session *,
                                         const struct uvzk__reading_kind *,
                                         const char *path);

/* Removes it from the table and removes its watch. Frees it as soon as it is not pinned. */
void uvzk__reading_end(struct uvzk__reading *);

/* It is not freed between pin and unpin. */
void uvzk__reading_pin(struct uvzk__reading *);
void uvzk__reading_unpin(struct uvzk__reading *);

/* It is due once more, although a watch may be set. Ends its rest. */
void uvzk__reading_want(struct uvzk__reading *);
/* Sends it if it is due and anything may be sent. */
void uvzk__reading_pump(struct uvzk__reading *);
/* Requests may be sent again: ends its pause and sends it if it is due. The second function
 * does that for all readings of a kind. */
void uvzk__reading_resume(struct uvzk__reading *);
void uvzk__readings_resume(struct uvzk__session *, const struct uvzk__reading_kind *);

/* ---------------------------------------------------- for the functions of the kinds */

/* Sends a request, the first one of a reading or the next. watched: it sets the watch, if
 * none is set. Returns false if it may not ask; or if there is no room for the watch: then
 * it has called kind->failed, and nothing is sent, because nothing would report the next
 * change. */
bool uvzk__reading_ask(struct uvzk__reading *, enum uvzk__rpc_kind, const char *path,
                       bool watched);

/* For other requests than those that a kind and a path describe: if it may ask, the kind
 * prepares reading->rpc with uvzk__reading_replied, and sends it. It sets no watch. */
bool uvzk__reading_may_ask(const struct uvzk__reading *);
void uvzk__reading_replied(struct uvzk__rpc *, const struct uvzk__reply *);
void uvzk__reading_send(struct uvzk__reading *);

/* It failed with this status, and is repeated after a pause (growing_pause.h). Returns true
 * if the status is not transient, so that the kind reports it. */
bool uvzk__reading_repeat(struct uvzk__reading *, int status);
/* It is repeated after the short pause. The next pause does not get longer by that. */
void uvzk__reading_repeat_soon(struct uvzk__reading *);

/* ------------------------------------------------------------ for this room alone */

/* Unless it is wanted, it rests for this long, in PAUSED. What makes it due meanwhile is
 * noticed afterwards. */
void uvzk__reading_rest(struct uvzk__reading *, uint64_t ms);

#endif
