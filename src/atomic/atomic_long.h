/* An atomic long (Curator's DistributedAtomicLong): the calls on one number, which are
 * carried out one after the other, in one session. The machine is about the current call:
 *
 *              .--> CATCHING_UP ---.   a quorum has accepted the barrier: then it reads
 *              |--> READING -------|
 *              |--> CREATING ------|   the znode or an ancestor is missing
 *              |--> WRITING -------|
 *    IDLE -----|--> FINDING_OUT ---|--> IDLE
 *              |--> PAUSING -------|   between two tries, as the retry policy says
 *              |--> ACQUIRING -----|   the mutex of the promoted phase
 *              `--> RELEASING -----'   that mutex, after the end of the call
 *
 * The call stores its next step (step, atomic_call.h), so after a lost connection it
 * continues where it was, on the next connection.
 *
 * The server may lag, so a read decides that a call changes nothing only if the call has
 * caught up. The leader decides on a write, because it compares the version. */
#ifndef UVZK_ATOMIC_LONG_H
#define UVZK_ATOMIC_LONG_H

#include "atomic/atomic_call.h"
#include "atomic/atomic_number.h"
#include "base/machine.h"
#include "engine/node_create.h"
#include "engine/session.h"
#include "engine/session_object.h"
#include "engine/znode_owner.h"

enum uvzk__atomic_state {
    UVZK__ATOMIC_IDLE, /* nothing is under way */
    UVZK__ATOMIC_CATCHING_UP,
    UVZK__ATOMIC_READING,
    UVZK__ATOMIC_CREATING,
    UVZK__ATOMIC_WRITING,
    UVZK__ATOMIC_FINDING_OUT,
    UVZK__ATOMIC_PAUSING,
    UVZK__ATOMIC_ACQUIRING,
    UVZK__ATOMIC_RELEASING
};

extern const struct uvzk__machine uvzk__atomic_machine;

/* The mutex of the promoted phase (atomic_promotion.h). */
struct uvzk__atomic_promotion {
    uvzk_mutex_t mutex; /* impl is NULL: there is no promoted phase */
    uvzk_hold_t hold;
    int64_t timeout_ms;
    uvzk_retry_policy_t retry;
    bool holding; /* from the grant until the hold is lost or released */
};

struct uvzk__atomic_long {
    /* The user's struct. It refers to this one until the close callback. */
    uvzk_atomic_long_t *handle;
    struct uvzk__session *session; /* the home session of the path */
    struct uvzk__session_object object;
    struct uvzk__link calls; /* struct uvzk__atomic_call: not decided yet */
    char *path;              /* namespace included */
    uvzk_retry_policy_t retry;
    struct uvzk__atomic_promotion promotion;
    struct uvzk__rpc rpc; /* under way from CATCHING_UP to FINDING_OUT */
    struct uvzk__node_create create;
    unsigned char bytes[UVZK__ATOMIC_BYTES]; /* what the request under way writes */
    struct uvzk__timer pause;                /* runs in PAUSING */
    struct uvzk__notification notification;  /* of the close */
    uvzk_atomic_long_close_cb close_cb;
    struct uvzk__znode_owner owner; /* from the first change */
    uint8_t state;                  /* enum uvzk__atomic_state */
    bool closing;
    bool ended; /* it is closed, and is freed when its request is answered */
};

/* The session of an initialized atomic long, else NULL. */
struct uvzk__session *uvzk__atomic_long_session(const uvzk_atomic_long_t *);

/* ------------------------------------------------------------ for this room alone */

/* Carries out the next step that is possible: of the current call, or of the end of the
 * call before. May free the struct if it has ended. */
void uvzk__atomic_pump(struct uvzk__atomic_long *);

#endif
