/* SPDX-License-Identifier: Apache-2.0 */
/* The functions that the preloaded library replaces. Each one calls the real function of
 * the same name, and around that call it reports to call_trace_waits.c or to
 * call_trace_handover.c what has happened. The program that is traced calls these
 * functions without knowing of them, on the loop's thread and on the C client's threads.
 * The environment variable CALL_TRACE selects one of the two reports; without it nothing
 * is measured. */
#include "call_trace.h"

#include <arpa/inet.h>
#include <dlfcn.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/socket.h>
#include <uv.h>

#include <zookeeper/zookeeper.h>

#include "uvzk.h"

/* What CALL_TRACE asks for; all are false if it asks for nothing. */
static bool waits; /* CALL_TRACE=waits */
static bool way;   /* CALL_TRACE=way */
static bool wire;  /* CALL_TRACE=wire */

static __thread bool on_loop;
static __thread bool calling;     /* the loop's thread is inside a call of the C client */
static __thread uint64_t waited;  /* ns for mutexes, in the current call */
static __thread unsigned holding; /* other threads: number of mutexes held */
/* When this thread locked the first of the mutexes that it holds (call_trace_now()), and
 * the thread's CPU time at its first send() after that. */
static __thread uint64_t held_since;
static __thread uint64_t running_since;
static __thread unsigned writes; /* calls of send() while a mutex is held */

static void *real(const char *name)
{
    return dlsym(RTLD_NEXT, name);
}

/* Looks up the function of that name behind this library, once. */
#define REAL(name)                                               \
    static __typeof__(&name) real_##name;                        \
    if (real_##name == NULL) {                                   \
        real_##name = (__typeof__(&name))(uintptr_t)real(#name); \
    }

__attribute__((constructor)) static void begin(void)
{
    const char *what = getenv("CALL_TRACE");
    waits = what != NULL && strcmp(what, "waits") == 0;
    way = what != NULL && strcmp(what, "way") == 0;
    if (waits) {
        waits_begin();
    }
    wire = what != NULL && strcmp(what, "wire") == 0;
    if (way) {
        handover_trace_begin();
    }
    if (wire) {
        wire_trace_begin();
    }
}

__attribute__((destructor)) static void end(void)
{
    if (waits) {
        waits_print();
    }
    if (way) {
        handover_trace_print();
    }
    if (wire) {
        wire_trace_print();
    }
    waits = way = wire = false;
}

/* ------------------------------------------------------------------------- mutexes */

static uint64_t cpu_now(void)
{
    struct timespec now;
    clock_gettime(CLOCK_THREAD_CPUTIME_ID, &now);
    return (uint64_t)now.tv_sec * 1000000000U + (uint64_t)now.tv_nsec;
}

int pthread_mutex_lock(pthread_mutex_t *mutex)
{
    REAL(pthread_mutex_lock)
    if (!waits) {
        return real_pthread_mutex_lock(mutex);
    }
    if (on_loop) {
        uint64_t from = call_trace_now();
        int rc = real_pthread_mutex_lock(mutex);
        uint64_t its_wait = call_trace_now() - from;
        waited += its_wait;
        if (!calling) {
            waits_outside(its_wait);
        }
        return rc;
    }
    int rc = real_pthread_mutex_lock(mutex);
    if (holding++ == 0) {
        held_since = call_trace_now();
        writes = 0;
    }
    return rc;
}

int pthread_mutex_unlock(pthread_mutex_t *mutex)
{
    REAL(pthread_mutex_unlock)
    if (waits && !on_loop && holding > 0 && --holding == 0 && writes > 0) {
        waits_held(call_trace_now() - held_since, cpu_now() - running_since, writes);
    }
    return real_pthread_mutex_unlock(mutex);
}

/* ------------------------------------------------------------------------ the wire */

/* The C client passes a whole request or reply, without its length, to one call of send()
 * or recv(); the length goes in a call of its own. A request begins with its xid and its
 * type, and a reply with its xid. HEAD is the size of a request's header in bytes; the
 * other numbers are request types of ZooKeeper, and EVENTS is the xid of watch events. */
enum { HEAD = 8, CHILDREN = 8, CHILDREN2 = 12, EVENTS = -1 };

static int32_t number_at(const void *bytes, size_t at)
{
    uint32_t number;
    memcpy(&number, (const char *)bytes + at, sizeof(number));
    return (int32_t)ntohl(number);
}

static void see_request(const void *bytes, size_t length)
{
    int32_t kind = number_at(bytes, 4);
    if (kind == CALL_TRACE_DELETE || kind == CALL_TRACE_MULTI) {
        handover_trace_moments(WRITTEN, bytes, length);
    } else if (kind == CHILDREN || kind == CHILDREN2) {
        handover_trace_moment(ASKED_WIRE, number_at(bytes, 0));
    }
}

static void see_reply(const void *bytes, size_t length)
{
    int32_t xid = number_at(bytes, 0);
    if (xid == EVENTS) {
        handover_trace_moments(EVENT, bytes, length);
    } else {
        handover_trace_moment(ANSWERED, xid);
    }
}

ssize_t send(int fd, const void *bytes, size_t length, int flags)
{
    REAL(send)
    if (waits && holding > 0 && writes++ == 0) {
        running_since = cpu_now();
    }
    ssize_t sent = real_send(fd, bytes, length, flags);
    if (way && sent >= HEAD) {
        see_request(bytes, (size_t)sent);
    } else if (wire && sent > 0) {
        wire_trace_sent(fd, bytes, (size_t)sent);
    }
    return sent;
}

ssize_t recv(int fd, void *bytes, size_t length, int flags)
{
    REAL(recv)
    ssize_t got = real_recv(fd, bytes, length, flags);
    if (way && got >= HEAD) {
        see_reply(bytes, (size_t)got);
    } else if (wire && got > 0) {
        wire_trace_received(fd, bytes, (size_t)got);
    }
    return got;
}

/* ------------------------------------------------------------------------ the loop */

int uv_run(uv_loop_t *loop, uv_run_mode mode)
{
    REAL(uv_run)
    on_loop = true;
    return real_uv_run(loop, mode);
}

int uv_async_send(uv_async_t *async)
{
    REAL(uv_async_send)
    if (way && !on_loop) {
        handover_trace_moment(WOKEN, -1);
    }
    return real_uv_async_send(async);
}

static void slept(uint64_t from)
{
    if (waits && on_loop) {
        waits_slept(from, call_trace_now());
    } else if (way && on_loop) {
        handover_trace_moment(AWAKE, -1);
    }
}

int epoll_pwait(int fd, struct epoll_event *events, int count, int timeout,
                const sigset_t *mask)
{
    REAL(epoll_pwait)
    uint64_t from = call_trace_now();
    int rc = real_epoll_pwait(fd, events, count, timeout, mask);
    slept(from);
    return rc;
}

int epoll_wait(int fd, struct epoll_event *events, int count, int timeout)
{
    REAL(epoll_wait)
    uint64_t from = call_trace_now();
    int rc = real_epoll_wait(fd, events, count, timeout);
    slept(from);
    return rc;
}

int uvzk_hold_release(uvzk_hold_t *hold, uvzk_hold_release_cb release_cb)
{
    REAL(uvzk_hold_release)
    const char *path = way || wire ? uvzk_hold_path(hold) : NULL;
    if (path != NULL && way) {
        handover_trace_moments(RELEASED, path, strlen(path));
    } else if (path != NULL) {
        wire_trace_released(path);
    }
    return real_uvzk_hold_release(hold, release_cb);
}

/* The traced program asks for it at each grant, in the callback. */
int64_t uvzk_hold_token(const uvzk_hold_t *hold)
{
    REAL(uvzk_hold_token)
    if (wire) {
        wire_trace_granted();
    }
    return real_uvzk_hold_token(hold);
}

/* ------------------------------------------------------------- calls of the C client */

static uint64_t enter(void)
{
    calling = true;
    waited = 0;
    return waits ? call_trace_now() : 0;
}

static void leave(uint64_t from)
{
    calling = false;
    if (waits && on_loop) {
        waits_called(call_trace_now() - from, waited);
    } else if (waits) {
        waits_called_elsewhere();
    }
}

#define CALL(name, parameters, arguments) \
    int name parameters                   \
    {                                     \
        REAL(name)                        \
        uint64_t from = enter();          \
        int rc = real_##name arguments;   \
        leave(from);                      \
        return rc;                        \
    }

CALL(zoo_acreate2,
     (zhandle_t * zh, const char *path, const char *value, int length,
      const struct ACL_vector *acl, int mode, string_stat_completion_t done,
      const void *data),
     (zh, path, value, length, acl, mode, done, data))
CALL(zoo_aset,
     (zhandle_t * zh, const char *path, const char *buffer, int length, int version,
      stat_completion_t done, const void *data),
     (zh, path, buffer, length, version, done, data))
CALL(zoo_awget,
     (zhandle_t * zh, const char *path, watcher_fn watcher, void *context,
      data_completion_t done, const void *data),
     (zh, path, watcher, context, done, data))
CALL(zoo_awexists,
     (zhandle_t * zh, const char *path, watcher_fn watcher, void *context,
      stat_completion_t done, const void *data),
     (zh, path, watcher, context, done, data))
CALL(zoo_async,
     (zhandle_t * zh, const char *path, string_completion_t done, const void *data),
     (zh, path, done, data))
CALL(zoo_aremove_all_watches,
     (zhandle_t * zh, const char *path, ZooWatcherType type, int local,
      void_completion_t *done, const void *data),
     (zh, path, type, local, done, data))

int zoo_awget_children(zhandle_t *zh, const char *path, watcher_fn watcher, void *context,
                       strings_completion_t done, const void *data)
{
    REAL(zoo_awget_children)
    if (way) {
        handover_trace_moment(ASKED, -1);
    }
    uint64_t from = enter();
    int rc = real_zoo_awget_children(zh, path, watcher, context, done, data);
    leave(from);
    return rc;
}

int zoo_adelete(zhandle_t *zh, const char *path, int version, void_completion_t done,
                const void *data)
{
    REAL(zoo_adelete)
    if (way) {
        handover_trace_moments(CALLED, path, strlen(path));
    }
    uint64_t from = enter();
    int rc = real_zoo_adelete(zh, path, version, done, data);
    leave(from);
    if (way) {
        handover_trace_moments(TAKEN, path, strlen(path));
    }
    return rc;
}

static void multi_moments(enum moment_kind kind, int count, const zoo_op_t *ops)
{
    for (int i = 0; way && i < count; i++) {
        if (ops[i].type == ZOO_DELETE_OP) {
            const char *path = ops[i].delete_op.path;
            handover_trace_moments(kind, path, strlen(path));
        }
    }
}

int zoo_amulti(zhandle_t *zh, int count, const zoo_op_t *ops, zoo_op_result_t *results,
               void_completion_t done, const void *data)
{
    REAL(zoo_amulti)
    multi_moments(CALLED, count, ops);
    uint64_t from = enter();
    int rc = real_zoo_amulti(zh, count, ops, results, done, data);
    leave(from);
    multi_moments(TAKEN, count, ops);
    return rc;
}
