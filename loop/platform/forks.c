/* SPDX-License-Identifier: Apache-2.0 */
/* How many forks there have been (forks.h). The count is written in a child before fork()
 * returns there, while it has one thread; all other code only reads it. */
#include "platform/forks.h"

#include <pthread.h>
#include <stdbool.h>
#include <uv.h>

unsigned uvzk__fork_count;

static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;

static void forks_lock(void)
{
    pthread_mutex_lock(&mutex);
}

static void forks_unlock(void)
{
    pthread_mutex_unlock(&mutex);
}

static void unlock_in_child(void)
{
    uvzk__fork_count++;
    pthread_mutex_unlock(&mutex);
}

/* The handlers stay for as long as the library is loaded. */
int uvzk__forks_begin(void)
{
    static bool counts;

    pthread_mutex_lock(&mutex);
    if (!counts) {
        counts = pthread_atfork(forks_lock, forks_unlock, unlock_in_child) == 0;
    }
    bool begun = counts;
    pthread_mutex_unlock(&mutex);
    return begun ? 0 : UV_ENOMEM;
}
