/* SPDX-License-Identifier: Apache-2.0 */
/* The thread that submits requests to the C client while many requests are in flight. The
 * C client's own thread holds a mutex while it writes all requests in its queue, and each
 * zoo_a* call takes that mutex. The submit thread waits for that mutex instead of the
 * loop.
 *
 *   pushed -> submitted, or refused: the request goes back to the loop
 *         `-> taken back, by the loop
 *
 * The thread submits requests in the order in which they were pushed. Until it has
 * submitted all of them, no other thread calls zoo_a* for this handle. A handle that has
 * never had many requests in flight has no such thread. */
#ifndef UVZK_SUBMIT_THREAD_H
#define UVZK_SUBMIT_THREAD_H

#include <pthread.h>
#include <stdbool.h>

#include "base/list.h"

struct uvzk__request;

struct uvzk__submit_thread {
    pthread_mutex_t mutex; /* protects the next five fields */
    pthread_cond_t changed;
    struct uvzk__link
        queue;       /* requests not yet submitted, linked by to_loop_entry.link */
    bool submitting; /* the thread is in a call for a request that is off the queue */
    bool idle;       /* the thread waits for a request */
    bool ending;     /* the thread must end when its queue is empty */
    pthread_t thread;
    bool started;     /* written by the loop, as the next field */
    bool unavailable; /* the thread could not be started, or has been stopped */
};

/* Ends and joins the thread, if there is one. May wait for a zoo_a* call, so it must not
 * run on the loop's thread. The loop must have taken back the requests before. */
void uvzk__submit_thread_end(struct uvzk__submit_thread *submit_thread);
/* Puts the struct back into its initial state, after uvzk__submit_thread_end. */
void uvzk__submit_thread_reset(struct uvzk__submit_thread *submit_thread);

/* ------------------------------------------------------------ for this room alone */

/* Returns whether every request that was pushed has been submitted. */
bool uvzk__submit_thread_is_idle(struct uvzk__submit_thread *submit_thread);
/* Pushes a request; starts the thread if necessary. Returns false if there is no thread
 * and none can be started. */
bool uvzk__submit_thread_push(struct uvzk__submit_thread *submit_thread,
                              struct uvzk__request *request);
/* Moves the requests that the thread has not submitted to `recalled`, in their order.
 * Initialises `recalled`. If the thread is in a zoo_a* call, waits for the end of that
 * call. */
void uvzk__submit_thread_take_back(struct uvzk__submit_thread *submit_thread,
                                   struct uvzk__link *recalled);
/* The thread accepts no more requests: uvzk__submit_thread_push returns false from now
 * on. */
/* Takes the last request off `recalled` and returns it; NULL if the list is empty. */
struct uvzk__request *uvzk__submit_thread_next_taken_back(struct uvzk__link *recalled);

/* Initialises; starts no thread. Returns 0 or UV_ENOMEM. */
int uvzk__submit_thread_init(struct uvzk__submit_thread *submit_thread);

/* Frees the mutex and the condition variable. The thread must have ended. */
void uvzk__submit_thread_destroy(struct uvzk__submit_thread *submit_thread);

#endif
