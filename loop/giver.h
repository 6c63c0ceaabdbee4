/* The thread that gives requests to the C client while many are under way. The client's
 * own thread holds a mutex while it writes all that it has, each zoo_a* call takes that
 * mutex, and here it is waited for, not on the loop.
 *
 *   handed over -> given, or refused: then it lands so
 *         `-> recalled, by the loop
 *
 * What it is handed it gives in that order, and nobody else calls zoo_a* for its handle
 * until it has. A handle that has never had many under way has no such thread. */
#ifndef UVZK_GIVER_H
#define UVZK_GIVER_H

#include <pthread.h>
#include <stdbool.h>

#include "base/list.h"

struct uvzk__handle;
struct uvzk__request;

struct uvzk__giver {
    pthread_mutex_t mutex; /* of the next five */
    pthread_cond_t changed;
    struct uvzk__link
        queue;   /* requests, by their landing: they are in the air until then */
    bool giving; /* one of them, which is off the queue */
    bool asleep;
    bool ending;
    pthread_t thread;
    bool started; /* by the loop, as the next */
    bool missing; /* it could not be started, or has retired */
};

/* 0 or UV_ENOMEM. */
int uvzk__giver_init(struct uvzk__giver *giver);
/* Waits for its thread, which has been recalled: not on the loop. */
void uvzk__giver_end(struct uvzk__giver *giver);
/* As before its first request, once it has ended. */
void uvzk__giver_renew(struct uvzk__giver *giver);
void uvzk__giver_destroy(struct uvzk__giver *giver);

/* -------------------------------------------------------------------- on the loop */

/* All that it was handed has been given. */
bool uvzk__giver_is_idle(struct uvzk__giver *giver);
/* False: there can be no thread. */
bool uvzk__giver_hand(struct uvzk__giver *giver, struct uvzk__request *request);
/* Whatever it has not given is the loop's again: `recalled`, in its order, is initialised
 * by it. Waits for the call that it is in. */
void uvzk__giver_recall(struct uvzk__giver *giver, struct uvzk__link *recalled);
/* It is not handed anything any more. */
void uvzk__giver_retire(struct uvzk__giver *giver);
/* The last of the recalled, off that list; or NULL. */
struct uvzk__request *uvzk__giver_take_recalled(struct uvzk__link *recalled);

#endif
