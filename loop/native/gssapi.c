/* SPDX-License-Identifier: Apache-2.0 */
/* The thread of a client for GSSAPI (gssapi.h). It makes the steps of exchanges one after
 * another, and renews tickets when it has nothing else to do. tickets.c has what it calls.
 *
 * An exchange is on the list of the thread, or in the thread, or on the way to the loop, or at
 * rest. The mutex protects which of these it is, and nothing else: whoever has the exchange
 * uses the rest of it alone. */
#include "native/gssapi.h"

#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>
#include <uv.h>

#include "base/list.h"
#include "base/memory.h"
#include "native/tickets.h"
#include "platform/forks.h"
#include "uvzk.h"

/* After half of a ticket's life MIT's library renews it; in ms, some more than that. */
#define RENEWAL_SLACK_MS 1000U
/* MIT's library itself pauses for 30 s after a KDC did not answer. */
#define RENEWAL_PAUSE_MS 31000U

struct uvzk__gssapi {
    pthread_mutex_t mutex;
    pthread_cond_t changed;
    struct uvzk__link exchanges;  /* that wait for the thread; protected by mutex */
    bool ends;                    /* the client does not use it any more; protected */
    unsigned forks;               /* uvzk__forks() when it was made */
    struct uvzk__tickets tickets; /* of the thread alone */
    uint64_t renew_at;            /* by uvzk_now(), of the thread alone; 0: never */
};

/* MIT's library destroys its mutexes when the process exits, and aborts if a call uses one
 * afterwards. So no call begins once the process exits, and the exit waits for the calls that
 * have begun; for one that waits for a KDC, only a while. */
#define EXIT_WAIT_MS 200

static struct {
    atomic_bool exits;
    atomic_uint calls; /* of all threads, that have begun */
    unsigned forks;    /* uvzk__forks() when the first client was made */
} gssapi_process;

struct uvzk__gssapi_exchange {
    struct uvzk__link link;
    struct uvzk__to_loop_entry to_loop_entry;
    struct uvzk__gssapi *gssapi;
    struct uvzk__to_loop *to_loop;
    void (*made)(void *user);
    void *user;
    bool waits, runs, arrives; /* protected by the mutex */
    bool ended;                /* the thread frees it; protected */
    struct uvzk__ticket_use use;
    void *challenge; /* owned */
    size_t challenge_length;
    struct uvzk__gssapi_result result;
};

/* ------------------------------------------------------------------------- at the exit */

/* The calls of the threads of a parent are not this process's. */
static void wait_for_calls(void)
{
    const struct timespec pause = {.tv_nsec = 1000000};

    atomic_store(&gssapi_process.exits, true);
    for (int i = 0; i < EXIT_WAIT_MS && gssapi_process.forks == uvzk__forks() &&
                    atomic_load(&gssapi_process.calls) > 0;
         i++) {
        (void)nanosleep(&pause, NULL);
    }
}

static void register_exit(void)
{
    gssapi_process.forks = uvzk__forks();
    (void)atexit(wait_for_calls);
}

/* On the thread, before and after each call of MIT's library. */
static void begin_call(void)
{
    atomic_fetch_add(&gssapi_process.calls, 1);
    if (atomic_load(&gssapi_process.exits)) {
        atomic_fetch_sub(&gssapi_process.calls, 1);
        for (;;) {
            pause(); /* the process ends */
        }
    }
}

static void end_call(void)
{
    atomic_fetch_sub(&gssapi_process.calls, 1);
}

/* ------------------------------------------------------------------------ on the thread */

/* The mutex is locked, but not while MIT's library is called. */
static void free_exchange(struct uvzk__gssapi *gssapi,
                          struct uvzk__gssapi_exchange *exchange)
{
    pthread_mutex_unlock(&gssapi->mutex);
    begin_call();
    uvzk__ticket_use_end(&exchange->use);
    end_call();
    uvzk__free(exchange->challenge);
    uvzk__free(exchange);
    pthread_mutex_lock(&gssapi->mutex);
}

static void plan_renewal(struct uvzk__gssapi *gssapi)
{
    uint64_t half_ms = (uint64_t)gssapi->tickets.lifetime_s * 500;

    gssapi->renew_at = !uvzk__tickets_are_renewable(&gssapi->tickets) ? 0
                       : half_ms > 0 ? uvzk_now() + half_ms + RENEWAL_SLACK_MS
                                     : uvzk_now() + RENEWAL_PAUSE_MS;
}

/* A KDC that did not answer is asked again soon: at half of what is left, or after the
 * pause. */
static void renew_tickets(struct uvzk__gssapi *gssapi)
{
    uint32_t before_s = gssapi->tickets.lifetime_s;

    begin_call();
    uvzk__tickets_renew(&gssapi->tickets);
    end_call();
    plan_renewal(gssapi);
    if (gssapi->tickets.lifetime_s <= before_s / 2 + 1) {
        gssapi->renew_at = uvzk_now() + RENEWAL_PAUSE_MS;
    }
}

static void exchange_arrives(struct uvzk__to_loop_entry *entry)
{
    struct uvzk__gssapi_exchange *exchange =
        UVZK__CONTAINER_OF(entry, struct uvzk__gssapi_exchange, to_loop_entry);

    pthread_mutex_lock(&exchange->gssapi->mutex);
    exchange->arrives = false;
    pthread_mutex_unlock(&exchange->gssapi->mutex);
    exchange->made(exchange->user);
}

/* The mutex is locked, but not during the step. The queue to the loop outlives the exchange,
 * unless that has been ended. */
static void run_exchange(struct uvzk__gssapi *gssapi,
                         struct uvzk__gssapi_exchange *exchange)
{
    gss_buffer_desc challenge = {exchange->challenge_length, exchange->challenge};

    exchange->waits = false;
    exchange->runs = true;
    pthread_mutex_unlock(&gssapi->mutex);
    begin_call();
    uvzk__ticket_use_step(&gssapi->tickets, &exchange->use, &challenge,
                          &exchange->result);
    end_call();
    plan_renewal(gssapi);
    pthread_mutex_lock(&gssapi->mutex);
    exchange->runs = false;
    if (exchange->ended) {
        free_exchange(gssapi, exchange);
    } else {
        exchange->arrives = true;
        uvzk__to_loop_push(exchange->to_loop, &exchange->to_loop_entry, exchange_arrives);
    }
}

/* The mutex is locked. */
static void take_exchange(struct uvzk__gssapi *gssapi,
                          struct uvzk__gssapi_exchange *exchange)
{
    if (exchange->ended) {
        free_exchange(gssapi, exchange);
    } else {
        run_exchange(gssapi, exchange);
    }
}

/* The mutex is locked. Waits for something to do. */
static void wait_for_change(struct uvzk__gssapi *gssapi)
{
    struct timespec until = {.tv_sec = (time_t)(gssapi->renew_at / 1000),
                             .tv_nsec = (long)(gssapi->renew_at % 1000 * 1000000)};

    if (gssapi->renew_at == 0) {
        (void)pthread_cond_wait(&gssapi->changed, &gssapi->mutex);
    } else {
        (void)pthread_cond_timedwait(&gssapi->changed, &gssapi->mutex, &until);
    }
}

static void gssapi_destroy(struct uvzk__gssapi *gssapi)
{
    uvzk__tickets_end(&gssapi->tickets);
    pthread_cond_destroy(&gssapi->changed);
    pthread_mutex_destroy(&gssapi->mutex);
    uvzk__free(gssapi);
}

static void *gssapi_run(void *context)
{
    struct uvzk__gssapi *gssapi = context;

    pthread_mutex_lock(&gssapi->mutex);
    for (;;) {
        struct uvzk__link *link = uvzk__list_take(&gssapi->exchanges);
        if (link != NULL) {
            take_exchange(gssapi,
                          UVZK__CONTAINER_OF(link, struct uvzk__gssapi_exchange, link));
        } else if (gssapi->ends) {
            break;
        } else if (gssapi->renew_at != 0 && gssapi->renew_at <= uvzk_now()) {
            pthread_mutex_unlock(&gssapi->mutex);
            renew_tickets(gssapi);
            pthread_mutex_lock(&gssapi->mutex);
        } else {
            wait_for_change(gssapi);
        }
    }
    pthread_mutex_unlock(&gssapi->mutex);
    begin_call();
    gssapi_destroy(gssapi);
    end_call();
    return NULL;
}

/* -------------------------------------------------------------------------- on the loop */

/* Signals belong to the application's threads. */
static int gssapi_start(struct uvzk__gssapi *gssapi)
{
    sigset_t all, before;
    pthread_t thread;

    sigfillset(&all);
    pthread_sigmask(SIG_SETMASK, &all, &before);
    int failed = pthread_create(&thread, NULL, gssapi_run, gssapi);
    pthread_sigmask(SIG_SETMASK, &before, NULL);
    if (failed == 0) {
        pthread_setname_np(thread, "uvzk-gssapi");
        pthread_detach(thread);
    }
    return failed == 0 ? 0 : UV_EAGAIN;
}

/* uvzk_now() is of the monotonic clock. */
static void init_changed(pthread_cond_t *changed)
{
    pthread_condattr_t attributes;

    pthread_condattr_init(&attributes);
    pthread_condattr_setclock(&attributes, CLOCK_MONOTONIC);
    pthread_cond_init(changed, &attributes);
    pthread_condattr_destroy(&attributes);
}

int uvzk__gssapi_new(const char *list, struct uvzk__gssapi **made)
{
    static pthread_once_t once = PTHREAD_ONCE_INIT;
    struct uvzk__gssapi *gssapi = uvzk__calloc(1, sizeof(*gssapi));
    int status = gssapi == NULL ? UV_ENOMEM : uvzk__forks_begin();

    if (status == 0) {
        (void)pthread_once(&once, register_exit);
        status = uvzk__tickets_init(&gssapi->tickets, list);
    }
    if (status != 0) {
        uvzk__free(gssapi);
        return status;
    }
    gssapi->forks = uvzk__forks();
    uvzk__list_init(&gssapi->exchanges);
    pthread_mutex_init(&gssapi->mutex, NULL);
    init_changed(&gssapi->changed);
    status = gssapi_start(gssapi);
    if (status != 0) {
        gssapi_destroy(gssapi);
        return status;
    }
    *made = gssapi;
    return 0;
}

/* A forked child has no such thread, and the mutex may be locked for ever: it leaves the
 * memory alone. */
static bool is_inherited(const struct uvzk__gssapi *gssapi)
{
    return gssapi->forks != uvzk__forks();
}

void uvzk__gssapi_free(struct uvzk__gssapi *gssapi)
{
    if (gssapi == NULL || is_inherited(gssapi)) {
        return;
    }
    pthread_mutex_lock(&gssapi->mutex);
    gssapi->ends = true;
    pthread_cond_signal(&gssapi->changed);
    pthread_mutex_unlock(&gssapi->mutex);
}

struct uvzk__gssapi_exchange *uvzk__gssapi_begin(struct uvzk__gssapi *gssapi,
                                                 const struct uvzk__named_address *server,
                                                 struct uvzk__to_loop *to_loop,
                                                 void (*made)(void *user), void *user)
{
    struct uvzk__gssapi_exchange *exchange = uvzk__calloc(1, sizeof(*exchange));

    if (exchange != NULL) {
        exchange->gssapi = gssapi;
        exchange->to_loop = to_loop;
        exchange->made = made;
        exchange->user = user;
        exchange->use.address = server->address;
        snprintf(exchange->use.host, sizeof(exchange->use.host), "%s",
                 server->host == NULL ? "" : server->host);
    }
    return exchange;
}

int uvzk__gssapi_step(struct uvzk__gssapi_exchange *exchange,
                      struct uvzk__jute_bytes challenge)
{
    struct uvzk__gssapi *gssapi = exchange->gssapi;

    uvzk__free(exchange->challenge);
    exchange->challenge = uvzk__memdup(
        challenge.at == NULL ? (const void *)"" : challenge.at, challenge.length);
    exchange->challenge_length = challenge.length;
    if (exchange->challenge == NULL) {
        return UV_ENOMEM;
    }
    pthread_mutex_lock(&gssapi->mutex);
    exchange->waits = true;
    uvzk__list_append(&gssapi->exchanges, &exchange->link);
    pthread_cond_signal(&gssapi->changed);
    pthread_mutex_unlock(&gssapi->mutex);
    return 0;
}

const struct uvzk__gssapi_result *
uvzk__gssapi_result(const struct uvzk__gssapi_exchange *exchange)
{
    return &exchange->result;
}

void uvzk__gssapi_end(struct uvzk__gssapi_exchange *exchange)
{
    if (exchange == NULL || is_inherited(exchange->gssapi)) {
        return;
    }
    struct uvzk__gssapi *gssapi = exchange->gssapi;
    pthread_mutex_lock(&gssapi->mutex);
    exchange->ended = true;
    if (exchange->arrives) {
        uvzk__to_loop_take_back(exchange->to_loop, &exchange->to_loop_entry);
    }
    if (!exchange->waits && !exchange->runs) {
        uvzk__list_append(&gssapi->exchanges, &exchange->link);
        pthread_cond_signal(&gssapi->changed);
    }
    pthread_mutex_unlock(&gssapi->mutex);
}
