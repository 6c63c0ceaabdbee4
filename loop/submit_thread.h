/* The thread that gives requests to the C client while many are under way. The client's
 * own thread holds a mutex while it writes all that it has, each zoo_a* call takes that
 * mutex, and here it is waited for, not on the loop.
 *
 *   handed over -> given, or refused: then it lands so
 *         `-> recalled, by the loop
 *
 * What it is handed it gives in that order, and nobody else calls zoo_a* for its handle
 * until it has. A handle that has never had many under way has no such thread. */
#ifndef UVZK_SUBMIT_THREAD_H
#define UVZK_SUBMIT_THREAD_H

#include <pthread.h>
#include <stdbool.h>

#include "base/list.h"

struct uvzk__handle;
struct uvzk__request;

struct uvzk__submit_thread {
    pthread_mutex_t mutex; /* of the next five */
    pthread_cond_t changed;
    struct uvzk__link
        queue;       /* requests, by their landing: they are in the air until then */
    bool submitting; /* one of them, which is off the queue */
    bool idle;
    bool ending;
    pthread_t thread;
    bool started;     /* by the loop, as the next */
    bool unavailable; /* it could not be started, or has retired */
};

/* 0 or UV_ENOMEM. */
int uvzk__submit_thread_init(struct uvzk__submit_thread *submit_thread);
/* Waits for its thread, which has been recalled: not on the loop. */
void uvzk__submit_thread_end(struct uvzk__submit_thread *submit_thread);
/* As before its first request, once it has ended. */
void uvzk__submit_thread_reset(struct uvzk__submit_thread *submit_thread);
void uvzk__submit_thread_destroy(struct uvzk__submit_thread *submit_thread);

/* -------------------------------------------------------------------- on the loop */

/* All that it was handed has been given. */
bool uvzk__submit_thread_is_idle(struct uvzk__submit_thread *submit_thread);
/* False: there can be no thread. */
bool uvzk__submit_thread_push(struct uvzk__submit_thread *submit_thread,
                              struct uvzk__request *request);
/* Whatever it has not given is the loop's again: `recalled`, in its order, is initialised
 * by it. Waits for the call that it is in. */
void uvzk__submit_thread_take_back(struct uvzk__submit_thread *submit_thread,
                                   struct uvzk__link *recalled);
/* It is not handed anything any more. */
void uvzk__submit_thread_stop(struct uvzk__submit_thread *submit_thread);
/* The last of the recalled, off that list; or NULL. */
struct uvzk__request *uvzk__submit_thread_next_taken_back(struct uvzk__link *recalled);

#endif
