/* SPDX-License-Identifier: Apache-2.0 */
/* uvzk: Apache Curator's lock recipes for C programs on a libuv loop.
 *
 * Threads   Call the functions of a client, and of everything that belongs to it, on the
 *           thread of the client's loop; every callback runs there. uvzk never waits for
 *           a server or a name server on that thread.
 * Outcome   A call that returns less than 0 has done nothing, and none of its callbacks
 *           runs. An asynchronous call that returns 0 reports its outcome exactly once,
 *           later, never from inside the call.
 * Re-entry  A callback may start, cancel, release or close anything, its own object
 *           included, unless its comment forbids it.
 * Memory    The caller allocates clients, locks, holds and requests and fills them with
 *           zeros before their first use. The caller must not move or free them before
 *           their last callback begins (marked FINAL below), or a future before it is
 *           dropped. uvzk copies strings, bytes, arrays and options before a call
 *           returns. Pointers that are passed to a callback are valid until the callback
 *           returns.
 * Structs   A struct whose first field is `size` may grow at its end in later versions.
 *           Begin with its init function, which sets `size`; where uvzk fills in such a
 *           struct, uvzk sets it. All other structs keep their fields and sizes. None of
 *           them contains a struct that may grow.
 * Units     Times are in milliseconds, sizes in bytes. Points in time are on
 *           CLOCK_BOOTTIME, which also runs while the machine is suspended.
 * Limits    The data of a znode have at most 1000000 bytes. A path follows ZooKeeper's
 *           rules (the Java client's PathUtils), is not "/" and has at most 1024 bytes
 *           with the namespace. The path of a znode that uvzk has made may have 2048.
 * Parents   Missing parents of a znode are created as containers, or as persistent znodes
 *           if the server has no containers.
 * Promise   docs/promise.md lists the assumptions (A1 to A10) that the statements in this
 *           header rest on, and what uvzk does not promise.
 * Names     A function is called uvzk_<noun>_<verb>, and its first parameter is the noun.
 *           An init function takes the parent first, as in libuv; a variant is called
 *           uvzk_<noun>_init_with_<what>. Then come the struct that receives the answer
 *           (hold, request, future), the arguments, and the callbacks. A
 *           uvzk_<noun>_<event>_cb receives that noun.
 * Sections  The title of each section names its tier. First lock: a client, a mutex and a
 *           hold, enough for most programs. Recipes: all other recipes of Curator.
 *           Advanced: what few programs need. A tier uses only the tiers before it. A
 *           section of the first two tiers begins with an example; together the examples
 *           are one program.
 * Errors    A result is 0 or a negative code: one of libuv's, or one of UVZK_E*.
 *           docs/errors.md explains every code. Comments refer to these lists by name,
 *           and name a code of a list only if it has another cause too:
 *
 * call      UV_EINVAL, of every call that can fail: an argument is NULL or out of range,
 *           or a struct with `size` was not initialised.
 * query     UV_EINVAL. UVZK_ESTATE: the client is not initialised.
 * init      UV_EINVAL. UVZK_EPATH: the path is malformed. UVZK_ESTATE: the client is
 *           closing or not initialised. UV_ENOMEM: an allocation failed. UV_EBUSY: the
 *           struct is in use or was not zeroed. UVZK_ENOCHILDREN: an ancestor of the path
 *           is an ephemeral znode of this client (of a group member, a persistent node,
 *           or a lock with a fixed name); so is the path itself, for what has znodes
 *           below it.
 * request   UV_EINVAL, UV_ENOMEM, UV_EBUSY. UVZK_ECLOSED: the client or the object is
 *           closing, closed or not initialised.
 * close     UV_EINVAL. UVZK_ESTATE: the object is closing, closed or not initialised.
 *           Pending calls end with UVZK_ECLOSED. The close callback, which may be NULL,
 *           is called last.
 * status    Of a callback, without a cause: UVZK_EAUTH: ZooKeeper refused the client's
 *           credentials. UVZK_ECLOSED: the object or its client was closed.
 *           UVZK_ENOTSENT: the host names do not resolve, and the client's retry policy
 *           is used up. UVZK_ELIMIT: no room for another znode or watch
 *           (options.sessions). UVZK_EINTERNAL: a fault of uvzk has closed the client.
 *           UV_ENOMEM.
 * server    Codes with which a server refuses: UVZK_ENOAUTH, UVZK_EREJECTED,
 *           UVZK_EZOOKEEPER; for a change also UVZK_EUNIMPLEMENTED, UVZK_EINVALIDACL and
 *           UVZK_ENOCHILDREN. */
#ifndef UVZK_H
#define UVZK_H

#include <stddef.h>
#include <stdint.h>
#include <uv.h>

#ifdef __cplusplus
extern "C" {
#endif

#if defined(__GNUC__)
#define UVZK_EXTERN __attribute__((visibility("default")))
#else
#define UVZK_EXTERN
#endif

/* The version of this header. While a version is in development, UVZK_VERSION_IS_RELEASE
 * is 0 and UVZK_VERSION_SUFFIX is "dev". For a release, they are 1 and "". */
#define UVZK_VERSION_MAJOR 0
#define UVZK_VERSION_MINOR 4
#define UVZK_VERSION_PATCH 0
#define UVZK_VERSION_IS_RELEASE 0
#define UVZK_VERSION_SUFFIX "dev"

/* Returns the version of the loaded library: "major.minor.patch", or
 * "major.minor.patch-suffix" if it is not a release. The text is static. */
UVZK_EXTERN const char *uvzk_version(void);

/* ---------------------------------------------------------- first lock: errors
 *
 *     static void report(const char *what, int status)
 *     {
 *         printf("%s: %s\n", what, status == 0 ? "done" : uvzk_strerror(status));
 *     } */

/* uvzk's own error codes. They differ from libuv's and from the ZooKeeper client's.
 * Their values never change; new codes are appended. */
#define UVZK_ERRNO_MAP(XX)                                                    \
    XX(ECONNLOSS, -7001, "connection lost, the outcome is not known")         \
    XX(ENOTSENT, -7002, "not connected, the request was not sent")            \
    XX(EEXPIRED, -7003, "the ZooKeeper session has expired")                  \
    XX(EAUTH, -7004, "ZooKeeper refused the credentials")                     \
    XX(ECLOSED, -7005, "the client or the lock is closed")                    \
    XX(ENONODE, -7006, "no such znode")                                       \
    XX(ENODEEXISTS, -7007, "the znode exists already")                        \
    XX(ENOTEMPTY, -7008, "the znode has children")                            \
    XX(EBADVERSION, -7009, "the znode has another version")                   \
    XX(ENOAUTH, -7010, "the znode's ACL does not allow it")                   \
    XX(EINVALIDACL, -7011, "ZooKeeper refused the ACL")                       \
    XX(ENOCHILDREN, -7012, "an ephemeral znode can have no children")         \
    XX(EUNIMPLEMENTED, -7013, "the server does not offer this operation")     \
    XX(ETHROTTLED, -7014, "the server is overloaded and refused the request") \
    XX(EREJECTED, -7015, "the server refused the arguments")                  \
    XX(EZOOKEEPER, -7016, "another ZooKeeper error, see the log")             \
    XX(ELOST, -7017, "the hold was already lost")                             \
    XX(ENOTHELD, -7018, "the request does not hold the lock")                 \
    XX(EPATH, -7019, "malformed znode path")                                  \
    XX(ESTATE, -7020, "not allowed in this state")                            \
    XX(EEXHAUSTED, -7021, "the path's sequence numbers are used up")          \
    XX(ELIMIT, -7022, "a session's budget of znodes or watches is spent")     \
    XX(EPROOF, -7023, "ownership could not be proved in time")                \
    XX(EDELETED, -7024, "another client deleted the lock's znode")            \
    XX(EDEADLK, -7025, "the wait could never end")                            \
    XX(EDATA, -7026, "the znode's data are not a count")                      \
    XX(EUNREACHABLE, -7027, "no connection when the wait ran out")            \
    XX(ENOTQUEUED, -7028, "no place in the queue when the wait ran out")      \
    XX(EDIVERGED, -7029, "the server shows a znode that was deleted")         \
    XX(EINTERNAL, -7030, "a fault of uvzk, which has closed the client")      \
    XX(EMAXHOLD, -7031, "the hold has lasted its max_hold_ms")                \
    XX(EKIND, -7032, "another kind of lock came first at the path")

enum uvzk_errno {
#define XX(name, value, text) UVZK_##name = (value),
    UVZK_ERRNO_MAP(XX)
#undef XX
        UVZK_ERRNO_END = -7999
};

/* Describe an error code of uvzk or libuv: a sentence, and its name ("UVZK_ELOST"). Both
 * return static text for every int, known or not, and never allocate. */
UVZK_EXTERN const char *uvzk_strerror(int code);
UVZK_EXTERN const char *uvzk_err_name(int code);

/* Tell what an error code means for the caller's next step: 1 or 0. They know every code
 * of this header, and those of libuv that uvzk returns; for any other code
 * uvzk_err_outcome_is_unknown returns 1, and the others 0.
 *
 * uvzk_err_is_retriable: a later attempt may succeed without a change to the program, its
 * options or an ACL: no connection, no time, no memory, no room. If the hold is gone, the
 * attempt begins with an acquire; if the outcome is unknown, with a read.
 *
 * uvzk_err_outcome_is_unknown: a request that changes znodes (a guarded write, a set, a
 * revocation) and whose callback received this code may have been carried out. A failed
 * acquire leaves nothing to find out: uvzk deletes the znode if there is one.
 *
 * uvzk_err_hold_is_gone: the hold for which a call returned this code, or a callback
 * received it, is gone. Whatever code uvzk_hold_lost_cb receives, its hold is gone. */
UVZK_EXTERN int uvzk_err_is_retriable(int code);
UVZK_EXTERN int uvzk_err_outcome_is_unknown(int code);
UVZK_EXTERN int uvzk_err_hold_is_gone(int code);

/* Explains why a call was refused: a sentence that names the argument or the field
 * ("options.tick_ms: ..."). uvzk keeps the last sentence of each thread, with its code.
 * If `code` is that code, the sentence is returned, otherwise uvzk_strerror's text. Call
 * it right after the refused call: not every failure stores a sentence (UV_ENOMEM does
 * not). The text is valid until the next refused call of the thread. */
UVZK_EXTERN const char *uvzk_refusal(int code);

/* -------------------------------------------------------- first lock: types */

/* Handles and requests, as libuv calls them: structs that the caller allocates. Their
 * sizes never change; impl points to uvzk's own memory. The comments give Curator's
 * names. */
#define UVZK_HANDLE_FIELDS                                                    \
    void *data;    /* the caller's; uvzk neither reads nor writes it */       \
    void *impl;    /* private; NULL before the first use and after the end */ \
    void *end;     /* private; of the release or the close under way */       \
    void *reserved /* private */
typedef struct uvzk_client_s {
    UVZK_HANDLE_FIELDS;
} uvzk_client_t; /* CuratorFramework */
typedef struct uvzk_lock_s {
    UVZK_HANDLE_FIELDS;
} uvzk_lock_t;                              /* any recipe below */
typedef uvzk_lock_t uvzk_mutex_t;           /* InterProcessMutex */
typedef uvzk_lock_t uvzk_semaphore_t;       /* InterProcessSemaphoreV2 */
typedef uvzk_lock_t uvzk_semaphore_mutex_t; /* InterProcessSemaphoreMutex */
typedef uvzk_lock_t uvzk_multilock_t;       /* InterProcessMultiLock */
typedef struct uvzk_rwlock_s {
    uvzk_lock_t read, write;
} uvzk_rwlock_t; /* InterProcessReadWriteLock */
typedef struct uvzk_hold_s {
    UVZK_HANDLE_FIELDS;
} uvzk_hold_t; /* an acquire, then its hold */
typedef struct uvzk_req_s {
    void *data; /* the caller's; uvzk neither reads nor writes it */
    const struct uvzk_result_s *result; /* what the call has found; see uvzk_req_cb */
    void *impl;                         /* private; NULL unless the call is under way */
    const void *kind, *owner;           /* private */
} uvzk_req_t;                           /* a call on one of these */
typedef struct uvzk_locker_s {
    UVZK_HANDLE_FIELDS;
    uvzk_hold_t hold; /* to read or to cancel; only uvzk_locker_done may release it */
} uvzk_locker_t;      /* Locker */
typedef struct uvzk_shared_value_s {
    UVZK_HANDLE_FIELDS;
} uvzk_shared_value_t; /* SharedValue */
typedef struct uvzk_shared_count_s {
    UVZK_HANDLE_FIELDS;
    uvzk_shared_value_t value; /* private */
} uvzk_shared_count_t;         /* SharedCount */
typedef struct uvzk_atomic_long_s {
    UVZK_HANDLE_FIELDS;
} uvzk_atomic_long_t; /* DistributedAtomicLong */
typedef struct uvzk_barrier_s {
    UVZK_HANDLE_FIELDS;
} uvzk_barrier_t; /* DistributedBarrier */
typedef struct uvzk_double_barrier_s {
    UVZK_HANDLE_FIELDS;
} uvzk_double_barrier_t; /* DistributedDoubleBarrier */
typedef struct uvzk_election_s {
    UVZK_HANDLE_FIELDS;
} uvzk_election_t; /* LeaderLatch, LeaderSelector */
typedef struct uvzk_persistent_node_s {
    UVZK_HANDLE_FIELDS;
} uvzk_persistent_node_t; /* PersistentNode */
typedef struct uvzk_group_member_s {
    UVZK_HANDLE_FIELDS;
} uvzk_group_member_t; /* GroupMember */
typedef struct uvzk_participants_view_s {
    UVZK_HANDLE_FIELDS;
} uvzk_participants_view_t; /* of any lock or election */
typedef struct uvzk_future_s {
    UVZK_HANDLE_FIELDS;
} uvzk_future_t; /* the outcome of one call */

/* The close is done. FINAL for the object. */
typedef void (*uvzk_client_close_cb)(uvzk_client_t *client);
typedef void (*uvzk_lock_close_cb)(uvzk_lock_t *lock);
typedef void (*uvzk_shared_value_close_cb)(uvzk_shared_value_t *value);
typedef void (*uvzk_shared_count_close_cb)(uvzk_shared_count_t *count);
typedef void (*uvzk_barrier_close_cb)(uvzk_barrier_t *barrier);
typedef void (*uvzk_double_barrier_close_cb)(uvzk_double_barrier_t *barrier);
typedef void (*uvzk_atomic_long_close_cb)(uvzk_atomic_long_t *atomic);
typedef void (*uvzk_election_close_cb)(uvzk_election_t *election);
typedef void (*uvzk_participants_view_close_cb)(uvzk_participants_view_t *view);

/* ---------------------------------------------------------- first lock: client
 *
 *     static uvzk_client_t client;
 *
 *     static int start(uv_loop_t *loop)
 *     {
 *         uvzk_client_options_t options;
 *
 *         uvzk_client_options_init(&options);
 *         options.hosts = "10.0.0.1:2181,10.0.0.2:2181,10.0.0.3:2181";
 *         int status = uvzk_client_init(loop, &client, &options);
 *         return status < 0 ? status : uvzk_client_start(&client);
 *     } */

/* Curator's retry policies (org.apache.curator.retry). The k-th retry, from 0, waits: */
typedef enum {
    UVZK_RETRY_EXPONENTIAL = 0, /* ExponentialBackoffRetry: base_ms *
                                   max(1, random in [0, 2^(k+1) - 1]), at most
                                   max_sleep_ms; max_retries times, at most 29 */
    UVZK_RETRY_N_TIMES,         /* RetryNTimes: base_ms; max_retries times */
    UVZK_RETRY_UNTIL_ELAPSED,   /* RetryUntilElapsed: base_ms; a retry begins only
                                   if fewer than max_elapsed_ms have passed */
    UVZK_RETRY_FOREVER          /* RetryForever: base_ms; without a limit */
} uvzk_retry_kind_t;

typedef struct uvzk_retry_policy_s {
    uint32_t kind;           /* uvzk_retry_kind_t */
    uint32_t base_ms;        /* may be 0 only with UVZK_RETRY_N_TIMES */
    uint32_t max_sleep_ms;   /* 0 = 2147483647, Curator's default */
    uint32_t max_retries;    /* RetryOneTime is N_TIMES with 1 */
    uint64_t max_elapsed_ms; /* UVZK_RETRY_UNTIL_ELAPSED only */
} uvzk_retry_policy_t;

/* The state of a client's connection (Curator's ConnectionState). */
typedef enum {
    UVZK_STATE_LATENT = 0,  /* not started, or not connected yet */
    UVZK_STATE_CONNECTED,   /* the first connection of the client */
    UVZK_STATE_SUSPENDED,   /* no connection; the session may still live */
    UVZK_STATE_RECONNECTED, /* connected again; after LOST perhaps in a new session */
    UVZK_STATE_LOST,        /* the session has ended, or must be assumed to have ended.
                               Its holds are invalid, except those by persistent znodes;
                               lost_cb of each is called in the same turn of the loop */
    UVZK_STATE_CLOSED = 6   /* closing, closed or not initialised. state_cb receives it
                               only after a fault of uvzk, when all holds have been
                               reported lost. Call uvzk_client_close */
} uvzk_client_state_t;

/* Locks of two kinds do not exclude one another: mutexes and elections; the halves of a
 * read-write lock; semaphores and semaphore mutexes; leader latches. So before a
 * contender is granted, it looks for one of another kind, of any client, that came before
 * it at its path. This option says what follows if there is one. docs/recipes/together.md
 * has the kinds, the exceptions and the cost. An acquire fails with UVZK_ENOAUTH if the
 * client may not list where a contender of another kind may be. */
typedef enum {
    UVZK_MIXED_KINDS_WARN = 0, /* a line of UVZK_LOG_WARN names both kinds, and
                                  metrics.mixed_kinds counts it; the default until 1.0 */
    UVZK_MIXED_KINDS_REFUSE    /* the acquire fails with UVZK_EKIND, the other one keeps
                                  its place; the default of uvzk lock and uvzk serve */
} uvzk_mixed_kinds_t;

/* How a client speaks to its servers. Clients of both kinds, and Curator's, exclude one
 * another at the same paths. */
typedef enum {
    UVZK_TRANSPORT_C_CLIENT = 0, /* by libzookeeper_mt, ZooKeeper's C client: two threads
                                    for each session, three under load. The default;
                                    UV_ENOTSUP if uvzk was built without it */
    UVZK_TRANSPORT_NATIVE        /* by uvzk itself, on the loop, without a thread, but for
                                    GSSAPI; the default without the C client */
} uvzk_transport_t;

/* How uvzk proves ownership while something is held. */
typedef enum {
    UVZK_PROOF_QUORUM = 0, /* by a request that a quorum commits; the default */
    UVZK_PROOF_SYNC,       /* by sync(): cheaper, but a leader that is cut off with a
                              minority may still answer it, so two holds may be valid */
    UVZK_PROOF_NONE        /* not at all, as Curator: connected means owned. If a follower
                              is cut off from its leader, two holds may be valid */
} uvzk_proof_t;

/* Permissions of a znode. An ACL is an array of uvzk_acl_t. */
#define UVZK_PERM_READ 1U
#define UVZK_PERM_WRITE 2U
#define UVZK_PERM_CREATE 4U
#define UVZK_PERM_DELETE 8U
#define UVZK_PERM_ADMIN 16U
#define UVZK_PERM_ALL 31U

typedef struct uvzk_acl_s {
    uint32_t perms;     /* UVZK_PERM_*, combined with | */
    const char *scheme; /* "world", "digest", "auth", "x509", "sasl", "ip", ... */
    const char *id;     /* "anyone", ... */
} uvzk_acl_t;

/* Entries of an ACL, for common cases.
 *
 *     OURS             all permissions for this client's credentials (auth_scheme)
 *     MEMBER(...)      all permissions for one more identity; docs/options.md has the ids
 *     ANYONE_READS     every client may read who holds and who waits, but change nothing
 *     ANYONE           all permissions for every client; the default
 *
 * The ACL of the *directory* decides who may delete a lock's znodes. If it has only OURS
 * and MEMBER entries, only these identities and ZooKeeper's super user can do so.
 *
 * A client needs READ on the directory, on its own contenders' znodes and on those that
 * they wait behind. Without READ an acquire ends with UVZK_ENOAUTH, or an event arrives
 * up to a session timeout late; if READ is taken away while a lock is in use, in a rare
 * case two holds are valid (A8; docs/operations.md). */
#define UVZK_ACL_OURS             \
    {                             \
        UVZK_PERM_ALL, "auth", "" \
    }
#define UVZK_ACL_MEMBER(scheme, id)   \
    {                                 \
        UVZK_PERM_ALL, (scheme), (id) \
    }
#define UVZK_ACL_ANYONE_READS             \
    {                                     \
        UVZK_PERM_READ, "world", "anyone" \
    }
#define UVZK_ACL_ANYONE                  \
    {                                    \
        UVZK_PERM_ALL, "world", "anyone" \
    }

/* Returns the ACL for a new znode at this path (Curator's ACLProvider), or NULL to use
 * options.acl. It sets *count to the number of entries. uvzk calls it for each znode that
 * it creates, missing parents included. The path includes the namespace; the path of a
 * contender or a lease ends before the sequence number. The result must stay unchanged
 * until the client is closed. uvzk may call it from inside any of its functions; the
 * callback must not call any function of uvzk. After a result that is not a valid ACL,
 * the call that needs the znode ends with UVZK_EINVALIDACL. */
typedef const uvzk_acl_t *(*uvzk_client_acl_cb)(const uvzk_client_t *client,
                                                const char *path, size_t *count);

/* The severity of a log line. */
typedef enum {
    UVZK_LOG_ERROR = 1,
    UVZK_LOG_WARN,
    UVZK_LOG_INFO,
    UVZK_LOG_DEBUG
} uvzk_log_level_t;

/* The state of the connection has changed. While the client waits for its first
 * connection, this is called again with UVZK_STATE_LATENT: after 5 s, 10 s later, 20 s
 * later, and so on, up to every 5 minutes. Each time, and at the same intervals while a
 * lost connection does not come back, uvzk logs the reason, which uvzk_client_last_error
 * returns. A missing connection is reported here alone: the callbacks of values, nodes,
 * members and views are silent about it. */
typedef void (*uvzk_client_state_cb)(uvzk_client_t *client, uvzk_client_state_t state);

/* Receives one log line, without a newline. level is a uvzk_log_level_t. module is static
 * text, the part of the client that wrote the line (docs/operations.md lists them). In
 * text, bytes below 0x20 and the byte 0x7f are escaped. Lines arrive in order, soon after
 * they were written, and not after the client is closed. At most 256 lines and 65536
 * bytes of each session are queued; if lines were dropped, a line says how many. */
typedef void (*uvzk_client_log_cb)(uvzk_client_t *client, int level, const char *module,
                                   const char *text);

/* The steps that uvzk_client_trace_cb receives. Later versions may add others. */
typedef enum uvzk_trace_step {
    UVZK_TRACE_ACQUIRE = 1, /* an acquire has begun */
    UVZK_TRACE_GRANTED,     /* acquire_cb is about to run; took_ms: since ACQUIRE */
    UVZK_TRACE_REFUSED,     /* the acquire has failed with status; took_ms: as GRANTED */
    UVZK_TRACE_RELEASE,     /* a release has begun; took_ms: how long the hold lasted */
    UVZK_TRACE_RELEASED,    /* the release is done; took_ms: since RELEASE */
    UVZK_TRACE_LOST,        /* a hold is lost, with this status; took_ms: as RELEASE */
    UVZK_TRACE_REQUEST,     /* a request is sent */
    UVZK_TRACE_REPLY,       /* its reply, with status; took_ms: since REQUEST */
    UVZK_TRACE_STATE        /* status is the client's new uvzk_client_state_t */
} uvzk_trace_step_t;

typedef struct uvzk_trace_s {
    size_t size;   /* of the library's struct, which may grow at its end */
    uint32_t step; /* uvzk_trace_step_t */
    int status;
    uint64_t at; /* CLOCK_BOOTTIME, ms */
    uint64_t took_ms;
    const uvzk_hold_t *hold; /* ACQUIRE to LOST; else NULL */
    const char *path;        /* of the lock, with the namespace, or of the request;
                                NULL if the request has several */
    const char *request;     /* REQUEST, REPLY: "create", "multi", ...; else NULL */
} uvzk_trace_t;

/* Called at each step, while uvzk carries it out. The callback may record the event but
 * must not call any function of uvzk. */
typedef void (*uvzk_client_trace_cb)(const uvzk_client_t *client,
                                     const uvzk_trace_t *event);

/* The options of a client. A field that is zero means the default. */
typedef struct uvzk_client_options_s {
    size_t size;                 /* set by uvzk_client_options_init */
    const char *hosts;           /* "host:port,host:port/chroot"; required; the default
                                    port is 2181; an IPv6 address is in brackets */
    uint32_t session_timeout_ms; /* requested from the server, which may change it;
                                    500 to 86400000; default 60000, as Curator */
    uint32_t tick_ms;            /* an upper bound of the servers' tickTime, for the proof
                                    of ownership; 10 to 86400000; default 2000 */
    const char *ns;              /* "app" puts every path below "/app"; default none */
    const char *auth_scheme;     /* "digest", ...; none by default */
    const void *auth;            /* the credential, at most 1000000 bytes */
    size_t auth_length;
    const uvzk_acl_t *acl;     /* of every znode that uvzk creates, parents included;
                                   default world:anyone:all */
    size_t acl_count;          /* schemes, ids and 12 bytes an entry: at most 40000 */
    uvzk_retry_policy_t retry; /* if another client deletes a waiter's znode, or a host
                                  name does not resolve; exponential, 1000 ms, 3 times */
    const void *default_data; /* of lock znodes; default the connection's local address */
    size_t default_data_length;
    uint32_t proof;         /* uvzk_proof_t */
    uint32_t close_wait_ms; /* how long a close waits for releases; default 1000 */
    uvzk_client_state_cb state_cb;
    uvzk_client_log_cb log_cb;     /* none by default */
    uvzk_client_acl_cb acl_cb;     /* default: `acl` for every znode */
    uvzk_client_trace_cb trace_cb; /* none by default */
    uint32_t metrics;              /* 1: calls uvzk_client_start_metrics */
    const char *tls;               /* NULL: none. "": the system's CAs. See below */
    uint32_t sessions;             /* ZooKeeper sessions, 1 to 32; default 1. See below */
    uint32_t transport;            /* uvzk_transport_t */
    void *copies;                  /* private; of uvzk_client_options_set and _parse */
    uint32_t mixed_kinds;          /* uvzk_mixed_kinds_t */
    const char *sasl;              /* NULL: none. See below */
} uvzk_client_options_t;

#define uvzk_client_options_init(options) \
    uvzk_client_options_init_size((options), sizeof(*(options)))
UVZK_EXTERN void uvzk_client_options_init_size(uvzk_client_options_t *options,
                                               size_t size);

/* TLS (options.tls), of the native transport: a comma-separated list of ca=FILE,
 * cert=FILE, key=FILE and name=NAME, each at most once; docs/tls.md has their meanings
 * and defaults. uvzk_client_init reads the files. Before each connection uvzk reads
 * changed files again, on the loop's thread; while the new ones are unusable, it uses the
 * old ones. uvzk_client_last_error tells why uvzk refused a server, or a server the
 * client.
 *
 * SASL (options.sasl), of the native transport: who the client is, by Kerberos
 * (mechanism=GSSAPI) or a password (mechanism=DIGEST-MD5). docs/guide/sasl.md has the
 * entries of both, and the codes. GSSAPI runs on a thread of the client, which exists
 * from uvzk_client_init to the close, or up to some seconds longer; meanwhile a program
 * must not unload the library. A file with a password is read on the loop's thread at
 * each connection. If a server refuses the client, the session ends with UVZK_EAUTH, and
 * the client does not try again.
 *
 * Several sessions (options.sessions): one session can own about 13,000 znodes, a client
 * with n sessions n times as many (docs/guide/several-sessions.md). Every path has a home
 * session. If the home session has no room, a new acquire of a mutex, or of a multi lock
 * of mutexes, uses another session, where it queues like an acquire of another process;
 * all other recipes stay at home. The client's state is that of its worst session, in the
 * order LOST, SUSPENDED, LATENT, connected. The holds and waiters of a lost session are
 * lost; those of the other sessions are not. uvzk_client_session_id,
 * uvzk_client_session_timeout and uvzk_client_current_server describe the first session;
 * uvzk_client_last_error returns the latest error of all sessions. */

/* Initialises a client and sends nothing. After it has returned 0, uvzk_client_close must
 * be called. UV_EINVAL: hosts is missing or malformed, another option is out of range, or
 * a file of options.tls or options.sasl is unusable. UVZK_EPATH: malformed chroot or
 * namespace; a chroot that contains a comma is not at the end of hosts. UV_ENOTSUP: uvzk
 * was built without the transport, or without TLS or SASL that is set; TLS or SASL is set
 * with the C client; the mechanism of options.sasl is missing. UV_ENOMEM, UV_EBUSY. */
UVZK_EXTERN int uvzk_client_init(uv_loop_t *loop, uvzk_client_t *client,
                                 const uvzk_client_options_t *options);

/* Starts to connect. uvzk looks up host names in /etc/hosts and at the name servers of
 * /etc/resolv.conf, not through the plugins of /etc/nsswitch.conf, and repeats that while
 * there is no connection. It logs and skips addresses that are not ZooKeeper servers.
 * None of this blocks the loop's thread or libuv's thread pool: over the C client, the
 * library's own threads open and close sessions. Acquires may begin at once; they wait
 * for the connection. UV_EINVAL. UVZK_ESTATE: started, closing, or not initialised. */
UVZK_EXTERN int uvzk_client_start(uvzk_client_t *client);

/* Closes a client, in any state. Pending acquires end and holds are lost with
 * UVZK_ECLOSED, and uvzk waits up to close_wait_ms for pending releases. Then uvzk ends
 * the session without blocking the loop. All objects of the client that are still open
 * are closed too, without a close callback of their own. Errors of a close.
 *
 * A client has handles of its own on the loop. A program may close them together with all
 * other handles that uv_walk shows (check uv_is_closing first). From then on the client
 * runs no callback until uvzk_client_close is called. The program must still call
 * uvzk_client_close, before or after that, and run the loop until its callback.
 *
 * In a child process created by fork(), call uv_loop_fork before the close. The close
 * sends nothing there: the session still belongs to the parent (docs/guide/fork.md). */
UVZK_EXTERN int uvzk_client_close(uvzk_client_t *client, uvzk_client_close_cb cb);

/* Set whether the client keeps its loop alive, as uv_ref and uv_unref do for a handle. A
 * new client does; a client that is closing always does. They have no effect if the
 * client is closing or not initialised. */
UVZK_EXTERN void uvzk_client_ref(uvzk_client_t *client);
UVZK_EXTERN void uvzk_client_unref(uvzk_client_t *client);

/* Returns the state of the connection now; UVZK_STATE_CLOSED for a client that is NULL or
 * not initialised. If several changes came at once, state_cb receives them one after the
 * other, while this function already returns the last one. */
UVZK_EXTERN uvzk_client_state_t uvzk_client_state(const uvzk_client_t *client);

/* Returns the session's id, ZooKeeper's ephemeralOwner; 0 if there is no session. */
UVZK_EXTERN int64_t uvzk_client_session_id(const uvzk_client_t *client);

/* Returns the session timeout that the server granted; 0 before the first connection. */
UVZK_EXTERN uint32_t uvzk_client_session_timeout(const uvzk_client_t *client);

/* Returns the server that the session is connected to, "10.0.0.1:2181", as
 * zoo_get_current_server does; NULL if there is no connection, and "" if the address is
 * not known. The text is valid until the caller returns to the loop. */
UVZK_EXTERN const char *uvzk_client_current_server(const uvzk_client_t *client);

/* Why there was no connection. */
typedef struct uvzk_client_error_s {
    size_t size; /* set by uvzk_client_error_init */
    /* 0: none yet. UV_ECONNREFUSED and other socket errors; UV_EAI_NONAME and other name
     * errors; UV_ETIMEDOUT: no answer; UV_ECONNRESET: the server closed the connection,
     * because it has no quorum or is no ZooKeeper server; UV_EPROTO: not a ZooKeeper
     * server; UV_EAGAIN: a server answers, but there is no session yet; UV_EHOSTUNREACH:
     * no KDC answers; UVZK_EDIVERGED: the server shows a deleted znode, and uvzk left it
     * for another server; UVZK_ECONNLOSS, UVZK_EEXPIRED, UVZK_EAUTH, UVZK_EINTERNAL. */
    int code;
    const char *address; /* "10.0.0.1:2181", or a host name; "": no particular address */
    const char *text;    /* the reason */
    uint64_t at;         /* when */
} uvzk_client_error_t;

#define uvzk_client_error_init(error) \
    uvzk_client_error_init_size((error), sizeof(*(error)))
UVZK_EXTERN void uvzk_client_error_init_size(uvzk_client_error_t *error, size_t size);

/* Returns the last reason why there was no connection. It stays available after the
 * client has connected again. The texts are valid until the caller returns to the loop.
 * Errors of a query. */
UVZK_EXTERN int uvzk_client_last_error(const uvzk_client_t *client,
                                       uvzk_client_error_t *error);

/* ------------------------------------------------- first lock: locks and holds
 *
 *     static uvzk_hold_t hold;
 *
 *     static void lost(uvzk_hold_t *of, int reason) { report("lost", reason); }
 *     static void released(uvzk_hold_t *of, int status) { report("released", status); }
 *     static void acquired(uvzk_hold_t *granted, int status)
 *     {
 *         report("acquired", status);
 *         if (status == 0) {
 *             uvzk_hold_release(granted, released); // when the work is done
 *         }
 *     }
 *     static int acquire(uvzk_lock_t *lock)
 *     {
 *         return uvzk_lock_acquire(lock, &hold, NULL, acquired, lost);
 *     } */

/* Initialises a mutex and sends nothing. Two mutexes on one path are separate locks even
 * in one process, as in Curator. Errors of an init. */
UVZK_EXTERN int uvzk_mutex_init(uvzk_client_t *client, uvzk_mutex_t *mutex,
                                const char *path);

/* status 0: the lock is granted; the request is now the hold until it is released or
 * lost. status < 0: FINAL. If a znode remains, uvzk deletes it in the background and
 * repeats the delete until it knows that the znode or its session is gone.
 *
 * After timeout_ms, uvzk_hold_wait_info tells in this callback what the acquire waited
 * for. UV_ETIMEDOUT: timeout_ms passed while other contenders were ahead, or
 * UVZK_TRY_ONCE found the lock taken. UVZK_EUNREACHABLE: there was no connection
 * (uvzk_client_last_error). UVZK_ENOTQUEUED: the directory or the znode was still being
 * created, or the znode's place in the queue was not known. UVZK_EPROOF: no contender was
 * ahead, but the session was not proved yet; or, at once, the session timeout is too
 * short for tick_ms to prove anything.
 *
 * UV_ECANCELED: uvzk_hold_cancel. UVZK_ECLOSED: also the shared count of a semaphore, or
 * a member of a multi lock, was closed. UVZK_EEXPIRED: the session in which the acquire
 * was queued has ended, or was given up after three session timeouts without a
 * connection. UVZK_ECONNLOSS: UVZK_TRY_ONCE without a connection; or no connection could
 * be started (for example because the host names do not resolve), and the retry policy is
 * used up. UVZK_EDELETED: another client deleted the znode while it waited, and the retry
 * policy is used up. UVZK_ENONODE: the chroot does not exist. UVZK_EKIND:
 * options.mixed_kinds. UV_EINVAL: a lock driver named no child to wait for. UV_EIO: no
 * random bytes for the name of another znode. UVZK_EMAXHOLD: the owner's hold that this
 * acquire re-enters has lasted its max_hold_ms, and was about to be reported lost.
 * UVZK_EREJECTED: also a request that is longer than the server's jute.maxbuffer.
 * UVZK_EEXHAUSTED: the directory's sequence numbers are used up. UVZK_ELIMIT, UVZK_EAUTH,
 * UVZK_EINTERNAL, UV_ENOMEM, and those of a server. */
typedef void (*uvzk_hold_acquire_cb)(uvzk_hold_t *hold, int status);

/* FINAL. The hold ended without a release. UVZK_EEXPIRED: the session has ended, or was
 * given up. UVZK_EPROOF: no proof of ownership came in time. UVZK_EDELETED: another
 * client deleted the znode. UVZK_EMAXHOLD: the hold has lasted its max_hold_ms; uvzk
 * deletes the znode after this callback has returned. UVZK_EAUTH, UVZK_ECLOSED,
 * UVZK_EINTERNAL. Rarely UVZK_ELIMIT, UVZK_ENOAUTH and UVZK_ECONNLOSS: see
 * uvzk_lock_init_with_driver. A multi lock's hold is lost with the code of its first
 * member that is lost. The callback comes late if the loop is late; uvzk_hold_is_valid
 * does not depend on the loop. */
typedef void (*uvzk_hold_lost_cb)(uvzk_hold_t *hold, int reason);

/* `ahead` contenders, at least 1, are ahead of the znode. Called at most once for each
 * acquire, when that is known, and not if the lock is granted before. */
typedef void (*uvzk_hold_queued_cb)(uvzk_hold_t *hold, uint64_t ahead);

/* Another client asks the owner to give up this hold or pending acquire: it wrote
 * __REVOKE__ into the znode (Curator's Revoker, uvzk_client_revoke). Called once for each
 * such write that uvzk sees. The owner decides whether to release. */
typedef void (*uvzk_hold_revoke_cb)(uvzk_hold_t *hold);

/* The hold has a max_hold_ms, and its end is near: at ends_at (CLOCK_BOOTTIME, ms) the
 * hold is lost with UVZK_EMAXHOLD. Called at most once for each hold; a re-entry that is
 * granted after the warning receives it right after its acquire callback. */
typedef void (*uvzk_hold_max_hold_cb)(uvzk_hold_t *hold, uint64_t ends_at);

/* FINAL. 0: the znode is known to be gone, or another acquire of this client has taken it
 * over, or a re-entry was counted down. UVZK_ELOST: the hold was lost before the release
 * was carried out. UVZK_ENOAUTH: the directory's ACL forbids the delete. The znode still
 * exists and blocks other contenders; uvzk repeats the delete in the background, with
 * pauses of about 0.5 to 30 s, until the znode or its session is gone
 * (metrics.undeletable). UVZK_EEXPIRED, UVZK_EAUTH: the session was given up before the
 * reply to the delete. UVZK_ECLOSED, UVZK_EINTERNAL: the client was closed first. In
 * these four cases the servers free the lock with the session; a persistent znode
 * stays. */
typedef void (*uvzk_hold_release_cb)(uvzk_hold_t *hold, int status);

/* The options of an acquire. */
#define UVZK_WAIT_FOREVER (-1)
#define UVZK_TRY_ONCE 0
#define UVZK_HOLD_UNLIMITED (-1)

typedef struct uvzk_acquire_options_s {
    size_t size; /* set by uvzk_acquire_options_init */
    /* For re-entry: any pointer, which uvzk compares and never dereferences. If the owner
     * acquires the same lock again, uvzk only counts, without a request, as Curator does
     * for a thread. NULL: no re-entry. */
    void *owner;
    int64_t timeout_ms;            /* UVZK_WAIT_FOREVER, UVZK_TRY_ONCE, or ms from now,
                                      including the time for requests and connections */
    const void *node_data;         /* data of the lock znode; NULL: the client's */
    size_t node_data_length;       /* with all leases' or members' znodes <= 1048575 */
    uvzk_hold_queued_cb queued_cb; /* may be NULL; not called when a hold is re-entered */
    uint32_t leases;               /* of a semaphore: how many, as one unit; 0 means 1.
                                      More than 1 of another lock: UV_EINVAL */
    uvzk_hold_revoke_cb revoke_cb; /* may be NULL; mutexes and read-write locks only, else
                                      UV_EINVAL. As Curator's, the znode has no data */
    /* NULL: none. The traceparent of a W3C trace context, "00-", 32 hex digits, "-", 16,
     * "-", 2: stored after node_data in the znode, which then does not have the client's
     * default data. Not with revoke_cb. See uvzk_traceparent_of. */
    const char *traceparent;
    /* The longest hold, from the acquire callback on; then it is lost with UVZK_EMAXHOLD.
     * UVZK_HOLD_UNLIMITED: none. 0: the lock's default (uvzk_lock_set_max_hold). See
     * below. */
    int64_t max_hold_ms;
    uint64_t max_hold_warning_ms; /* how long before that time max_hold_cb is called; 0:
                                     the lock's default, or a quarter of max_hold_ms */
    uvzk_hold_max_hold_cb max_hold_cb; /* may be NULL */
} uvzk_acquire_options_t;

/* The longest hold (options.max_hold_ms) protects other clients from a handler that
 * hangs. uvzk_hold_valid_until and uvzk_hold_is_valid respect the limit. When it is
 * reached, uvzk calls lost_cb and deletes the znode after lost_cb has returned; the lock
 * is not granted to another client before that. If the loop itself hangs, uvzk cannot
 * release the lock: end the process.
 *
 * The limit belongs to the owner's hold as a whole: it counts from the callback of the
 * owner's first acquire, and that acquire sets it. A re-entry's max_hold_ms is ignored,
 * but its max_hold_cb is called. A downgraded read hold has its own limit, and so does a
 * multi lock: the defaults of its members do not apply to it. */

/* Sets size, timeout_ms to UVZK_WAIT_FOREVER, and every other field to zero. */
#define uvzk_acquire_options_init(options) \
    uvzk_acquire_options_init_size((options), sizeof(*(options)))
UVZK_EXTERN void uvzk_acquire_options_init_size(uvzk_acquire_options_t *options,
                                                size_t size);

/* Starts to acquire a lock. options may be NULL for the defaults; acquire_cb and lost_cb
 * are required. Locks are granted in the order in which ZooKeeper created the contenders'
 * znodes, whichever client they belong to; semaphores, cohorts and drivers have rules of
 * their own. Errors of a request. UVZK_ELIMIT: the client has no room for another znode
 * (uvzk_refusal; options.sessions). UVZK_EDEADLK: the owner would wait for itself.
 * UVZK_EKIND: this client has acquires or holds of a semaphore at the path that has
 * another max_leases. UV_EIO: no random bytes for the znode's name. */
UVZK_EXTERN int uvzk_lock_acquire(uvzk_lock_t *lock, uvzk_hold_t *hold,
                                  const uvzk_acquire_options_t *options,
                                  uvzk_hold_acquire_cb acquire_cb,
                                  uvzk_hold_lost_cb lost_cb);

/* Tell whether any owner holds the lock through this struct now, or whether this owner
 * does: 1 or 0. Both read the clock: a hold that can no longer be proved does not
 * count. */
UVZK_EXTERN int uvzk_lock_is_held(const uvzk_lock_t *lock);
UVZK_EXTERN int uvzk_lock_is_held_by(const uvzk_lock_t *lock, const void *owner);

/* Sets the defaults of options.max_hold_ms and options.max_hold_warning_ms for the
 * acquires of this lock (or half) that begin from now on. 0: no limit, as at first; for
 * the warning, a quarter of the limit. UV_EINVAL, UVZK_ECLOSED. */
UVZK_EXTERN int uvzk_lock_set_max_hold(uvzk_lock_t *lock, uint32_t max_hold_ms,
                                       uint32_t warning_ms);

/* Closes a lock. Holds are lost with UVZK_ECLOSED, and znodes are deleted in the
 * background. Pending participants requests are still answered. Errors of a close. */
UVZK_EXTERN int uvzk_lock_close(uvzk_lock_t *lock, uvzk_lock_close_cb cb);

/* Releases a hold. A hold cannot be lost while it is being released: release_cb (may be
 * NULL) receives the outcome. UVZK_ENOTHELD: not granted, released or lost. UV_EINVAL. */
UVZK_EXTERN int uvzk_hold_release(uvzk_hold_t *hold, uvzk_hold_release_cb release_cb);

/* Cancels a pending acquire, at any moment before its callback runs. acquire_cb is called
 * with UV_ECANCELED in the loop's next turn; the znode is deleted in the background.
 * UVZK_ESTATE: not pending; if it is granted, release it. UV_EINVAL. */
UVZK_EXTERN int uvzk_hold_cancel(uvzk_hold_t *hold);

/* Tells whether the hold is valid now, 1 or 0: compares the clock with
 * uvzk_hold_valid_until, and has the same limits. Another client may hold the lock before
 * the caller's next step: use the fencing token or uvzk_hold_write. */
UVZK_EXTERN int uvzk_hold_is_valid(const uvzk_hold_t *hold);

/* Returns the fencing token, the czxid of the lock's znode; 0 if not held. On one path
 * the token grows from each grant to the next grant that excludes it, also when the
 * directory is deleted and created again, as long as the ensemble forgets no transaction
 * (A9, A10). Holds that do not exclude one another may share a token: readers that hold
 * together, holds of a semaphore of two or more leases, holds of different paths. The
 * holds of one cohort exclude one another and share a token too (uvzk_hold_cohort). For a
 * lock with a driver see uvzk_lock_init_with_driver. */
UVZK_EXTERN int64_t uvzk_hold_token(const uvzk_hold_t *hold);

/* Returns the full path of the lock's znode, with the namespace, without the chroot; NULL
 * if not held. The text is valid until the hold is released or lost. */
UVZK_EXTERN const char *uvzk_hold_path(const uvzk_hold_t *hold);

/* Returns until when the hold is valid; 0 if not held. Every proof extends this time.
 * Until then the servers cannot grant the lock to another client, under the assumptions
 * of docs/promise.md. Two cases are not covered: another client deletes the znode, or an
 * operator ends the session. The lock may then be granted to another client at once; this
 * hold is lost when a later proof or the connection shows it. With a max_hold_ms the
 * result is never later than the end of that time. UINT64_MAX: UVZK_PROOF_NONE while
 * connected, or a persistent znode. For a multi lock this is the earliest time of its
 * members, each proved in its own session. */
UVZK_EXTERN uint64_t uvzk_hold_valid_until(const uvzk_hold_t *hold);

/* Returns the current time on CLOCK_BOOTTIME, ms. */
UVZK_EXTERN uint64_t uvzk_now(void);

/* -------------------------------------------------------------- recipes: locks
 *
 *     static uvzk_mutex_t from, to;
 *     static uvzk_rwlock_t prices;
 *     static uvzk_semaphore_t printers;
 *     static uvzk_multilock_t transfer;
 *
 *     static int make_locks(void) // 0: all are made
 *     {
 *         uvzk_lock_t *both[] = {&from, &to};
 *
 *         return uvzk_mutex_init(&client, &from, "/account/17") ||
 *                uvzk_mutex_init(&client, &to, "/account/42") ||
 *                uvzk_rwlock_init(&client, &prices, "/prices") ||
 *                uvzk_semaphore_init(&client, &printers, "/print", 3, NULL) ||
 *                uvzk_multilock_init(&client, &transfer, both, 2, 0, NULL);
 *     } */

/* --------------------------------------------- read-write lock */

/* Initialises a read-write lock: two locks on one path, one for readers and one for
 * writers. Acquire and close each by itself (uvzk_lock_acquire(&lock->read, ...)).
 * Readers hold together, a writer holds alone. Readers and writers share one queue, so a
 * waiting writer stops later readers. An owner may re-enter each of the two locks.
 *
 * An owner (not NULL) that holds the write lock is granted the read lock ahead of all
 * contenders that wait, and may then release the write lock; no other writer is granted
 * in between (downgrade). The read lock then has the write lock's token. Beside a client
 * of Curator before 5.5 a writer may be granted while that client's downgraded reader
 * holds. An owner that holds the read lock, or waits for it, and acquires the write lock
 * would wait for itself: uvzk_lock_acquire returns UVZK_EDEADLK. Errors of an init. */
UVZK_EXTERN int uvzk_rwlock_init(uvzk_client_t *client, uvzk_rwlock_t *lock,
                                 const char *path);

/* -------------------------------------------------- semaphores */

/* Initialises a semaphore. All clients together share max_leases leases. An acquire of
 * several leases (options.leases, at most 100) gets all of them or none. All clients of a
 * path must use the same number. They may take it from a shared count instead (NULL:
 * none), which then replaces max_leases: when the count rises, waiters are granted; when
 * it falls, no hold loses a lease, and waiters wait longer. The count must be
 * initialised. Close it after the semaphore: if the count or its client is closed first,
 * waiters and every later acquire end with UVZK_ECLOSED. Requests are granted in the
 * order of arrival; a request for few leases does not overtake one for many. As in
 * Curator, a lease's znode is created before it is counted, so there may briefly be more
 * znodes than leases; the surplus is not held. There is no re-entry: options.owner is
 * ignored. The hold's path is that of its first lease. Several requests of one client may
 * share one znode in the queue, and a lease may pass from one to the next without a
 * request to the server (docs/recipes/semaphore.md).
 *
 * The hold's token is the czxid of the znode in the queue or, if the queue was empty, of
 * the lease. Two holds exclude one another if together they have more leases than there
 * are: between such holds the token grows. A token is never less than that of a hold that
 * was granted before this one was requested. Other holds may share a token; of two that
 * waited at the same time, the one with the greater token may be granted first.
 *
 * Errors of an init. UV_EINVAL: also max_leases is 0 and count is NULL, or the count is
 * not initialised; from uvzk_lock_acquire: more than 100 leases, more than a fixed
 * max_leases, or a revoke_cb. */
UVZK_EXTERN int uvzk_semaphore_init(uvzk_client_t *client, uvzk_semaphore_t *lock,
                                    const char *path, uint32_t max_leases,
                                    uvzk_shared_count_t *count);

/* Initialises a semaphore with one lease: a lock without re-entry. Any code that has the
 * hold may release it, as in Curator any thread may. Errors of an init. */
UVZK_EXTERN int uvzk_semaphore_mutex_init(uvzk_client_t *client,
                                          uvzk_semaphore_mutex_t *lock, const char *path);

/* Return how many znodes a hold has, and the full path of one of them: of a semaphore one
 * for each lease, of a multi lock one for each member, of other locks 1; 0 if not held.
 * Paths are as in uvzk_hold_path, which returns the first; NULL beyond the last. */
UVZK_EXTERN uint32_t uvzk_hold_node_count(const uvzk_hold_t *hold);
UVZK_EXTERN const char *uvzk_hold_node_path(const uvzk_hold_t *hold, uint32_t index);

/* Returns some leases of a semaphore's hold, but not all, in the background. UV_EINVAL:
 * also if the hold is not a semaphore's. UVZK_ENOTHELD, UV_ENOMEM. */
UVZK_EXTERN int uvzk_hold_return_leases(uvzk_hold_t *hold, uint32_t leases);

/* -------------------------------------------------- multi lock */

/* One member was not acquired, was lost, or was not released, with this status. */
typedef void (*uvzk_multilock_error_cb)(uvzk_multilock_t *lock, uvzk_lock_t *member,
                                        int status);

/* Initialises a multi lock. It combines several locks of one client
 * (InterProcessMultiLock): all are held or none is. options.timeout_ms covers all of them
 * together. The first failure of a member ends the acquire, or the hold, with its status;
 * the members that are held are released.
 *
 * If all members are mutexes, one transaction creates their znodes, so all queues have
 * any two such multi locks in the same order: they never wait for each other in a circle,
 * whatever their members are. Other members are acquired one after the other, in the
 * order of their paths; with UVZK_MULTILOCK_IN_TURN all members are. A member that is
 * held may then be lost while the acquire still waits for the next one. Programs of the
 * two ways, Curator's among them, may wait for each other forever:
 * docs/recipes/multilock.md tells what to do.
 *
 * If the owner already holds a member on its own, it re-enters that member, and the
 * members are acquired one after the other. Re-enter a multi lock through itself, not
 * through its members.
 *
 * The hold is valid as long as all its members are. Its token is the greatest of its
 * members' tokens (those of mutexes that are acquired in one transaction are equal).
 * queued_cb is not called. uvzk_hold_node_path returns the members' paths, in the order
 * of the locks' paths.
 *
 * members: 1 to 100 locks, each once. Closing the multi lock does not close them; close
 * them after it. error_cb may be NULL. It is called for the first failure of an acquire,
 * before the acquire's callback, and for every failure of a release, before the release's
 * callback. Errors of an init. UV_EINVAL: also a member that is not initialised, of
 * another client or named twice, or a mutex with a cohort. UVZK_EDEADLK: two members are
 * mutexes of one path. From uvzk_lock_acquire: UVZK_ECLOSED: a member is closed, or its
 * struct is another lock now; UV_EINVAL for revoke_cb and leases. If members are acquired
 * in turn, acquire_cb may also receive what uvzk_lock_acquire returns for a member. */
#define UVZK_MULTILOCK_IN_TURN 1U
UVZK_EXTERN int uvzk_multilock_init(uvzk_client_t *client, uvzk_multilock_t *lock,
                                    uvzk_lock_t *const *members, size_t count,
                                    unsigned flags, uvzk_multilock_error_cb error_cb);

/* ----------------------------------------------------------- recipes: requests
 *
 *     static uvzk_req_t request;
 *
 *     static void was_read(uvzk_req_t *req, int status)
 *     {
 *         report("read", status);
 *         if (status == 0) {
 *             fwrite(req->result->data, 1, req->result->length, stdout);
 *         }
 *     }
 *     static int read_holder(void)
 *     {
 *         return uvzk_client_read(&client, &request, uvzk_hold_path(&hold), was_read);
 *     } */

/* A request is one call on an object or a client, from the call to its callback. Several
 * calls on one object may be under way, each with a request of its own. */

/* What a call has found. Fields that it does not have are 0 or NULL, and so are all
 * fields after a failure, except failed_op and value. */
typedef struct uvzk_result_s {
    size_t size;      /* of the library's struct, which may grow at its end */
    const void *data; /* uvzk_client_read: of the znode, maybe none */
    size_t length;    /* of the data */
    const struct uvzk_stat_s *stat;
    const char *const *paths; /* uvzk_lock_participants: of their znodes */
    size_t holding;           /* how many of the paths, from the first on, are holders' */
    const struct uvzk_election_participant_s *const *participants; /* of an election */
    size_t count;                            /* of the paths, or of the participants */
    const struct uvzk_atomic_value_s *value; /* of a call on an atomic long */
    size_t failed_op; /* uvzk_hold_write: the index of the operation that was refused;
                         SIZE_MAX: none of the caller's, or not known */
} uvzk_result_t;

/* FINAL for the request. req->result, never NULL here, has what the call has found. */
typedef void (*uvzk_req_cb)(uvzk_req_t *req, int status);

/* Cancels the request of a wait, an enter or a leave of a barrier: it ends as after a
 * timeout, but with UV_ECANCELED. UVZK_ESTATE: not in use, already cancelled or over; or
 * another call, which cannot be cancelled. UV_EINVAL. */
UVZK_EXTERN int uvzk_req_cancel(uvzk_req_t *req);

/* What ZooKeeper stores about a znode. */
typedef struct uvzk_stat_s {
    size_t size;        /* of the library's struct, which may grow at its end */
    int64_t czxid;      /* of the transaction that created it; for a mutex or a half of a
                           read-write lock this is the fencing token */
    int64_t session_id; /* of the owner of an ephemeral znode; 0: not ephemeral */
    int64_t created_ms; /* by the server's clock, ms since 1970; 0: not known */
    int32_t version;    /* of its data, as in uvzk_write_op_t */
} uvzk_stat_t;

/* Reads a znode and its stat once: the znode of a hold, a lease (Lease.getData) or a
 * participant. node_path is a full path as from uvzk_hold_path, uvzk_hold_node_path or a
 * participants request. Errors of a request, and UVZK_EPATH.
 *
 * Status 0: req->result has the stat and the data. UVZK_ENONODE: there is no such znode.
 * UVZK_ECONNLOSS: the reply was lost. UVZK_ENOTSENT: no connection. UVZK_EEXPIRED: the
 * session has ended. UVZK_ETHROTTLED: the server is overloaded. UVZK_EAUTH, UVZK_ECLOSED,
 * UV_ENOMEM, and those of a server. */
UVZK_EXTERN int uvzk_client_read(uvzk_client_t *client, uvzk_req_t *req,
                                 const char *node_path, uvzk_req_cb cb);

/* -------------------------------------- recipes: shared value and shared count
 *
 *     static uvzk_shared_count_t workers;
 *
 *     static void changed(uvzk_shared_count_t *count, int status, int32_t value)
 *     {
 *         printf("%d workers\n", (int)value);
 *     }
 *     static int follow(void)
 *     {
 *         return uvzk_shared_count_init(&client, &workers, "/workers", 4, changed);
 *     } */

/* A shared value is the data of one znode (Curator's SharedValue). Every client that
 * shares it may set it, and is notified of new values, across reconnections, new
 * sessions, and the deletion and re-creation of the znode. A shared count (SharedCount)
 * is a shared value that is a number of four bytes, most significant byte first. Values
 * are ordered by mzxid, the number of the transaction that set them, which does not go
 * back when the znode is created again. */

/* The version of a value: the transaction that set it, and the number of sets by then. */
typedef struct uvzk_value_version_s {
    int64_t mzxid;
    int32_t version;
} uvzk_value_version_t;

/* status 0: a new value is known, which may be the first, or the last value can be read
 * again. uvzk may skip values but never goes back to an earlier one. status < 0: the
 * value cannot be read now. The last value stays known, and the next change is reported
 * when the value can be read again. UVZK_ENONODE: the znode was deleted. UVZK_ENOAUTH:
 * its ACL forbids reading it; uvzk retries about once in a session timeout, at first more
 * often. UVZK_ELIMIT: uvzk retries every second. UVZK_EAUTH: this is the last call.
 * UVZK_ENOTSENT. Those of a server: the znode is missing and could not be created. */
typedef void (*uvzk_shared_value_change_cb)(uvzk_shared_value_t *value, int status);

/* Initialises a shared value: starts to read the znode and to watch it. If the znode is
 * missing, uvzk creates it with the seed. A client that comes later finds that value,
 * whatever its own seed. cb may be NULL. Errors of an init. */
UVZK_EXTERN int uvzk_shared_value_init(uvzk_client_t *client, uvzk_shared_value_t *value,
                                       const char *path, const void *seed,
                                       size_t seed_length,
                                       uvzk_shared_value_change_cb cb);

/* Gets the last known value and its version, and sends nothing. Each pointer may be NULL.
 * The data are valid until the caller returns to the loop. UVZK_ENONODE: no value is
 * known yet. UVZK_ECLOSED, UV_EINVAL. */
UVZK_EXTERN int uvzk_shared_value_get(const uvzk_shared_value_t *value, const void **data,
                                      size_t *length, uvzk_value_version_t *version);

/* Sets the value, whatever it is now. Sets are sent in the order of the calls; without a
 * connection they wait for it. Errors of a request.
 *
 * Status 0: the value is set, and uvzk_shared_value_get returns it, unless a newer value
 * is known. UVZK_EBADVERSION, of try_set only: the value had changed; uvzk has read it
 * again, unless the connection was lost. Not set: UVZK_ENONODE: there is no such znode;
 * UVZK_ENOTSENT; UVZK_ETHROTTLED: the overloaded server refused it when a later set had
 * already been sent, otherwise uvzk would have sent it again; those of a server. Not
 * known: UVZK_ECONNLOSS, UVZK_ECLOSED, UV_ENOMEM, and UVZK_EAUTH after it was sent. */
UVZK_EXTERN int uvzk_shared_value_set(uvzk_shared_value_t *value, uvzk_req_t *req,
                                      const void *data, size_t length, uvzk_req_cb cb);

/* Sets the value only if it is still the one that uvzk_shared_value_get returned with
 * this version, as uvzk_shared_value_set. If a newer value is known, it fails without a
 * request. ZooKeeper compares only the version number: it does not notice if the znode
 * was deleted, created again and has reached the same number. UV_EINVAL: also version
 * number -1, ZooKeeper's "any" (a znode reaches it after about 4 billion sets). */
UVZK_EXTERN int uvzk_shared_value_try_set(uvzk_shared_value_t *value, uvzk_req_t *req,
                                          const uvzk_value_version_t *version,
                                          const void *data, size_t length,
                                          uvzk_req_cb cb);

/* Closes a shared value. Errors of a close. */
UVZK_EXTERN int uvzk_shared_value_close(uvzk_shared_value_t *value,
                                        uvzk_shared_value_close_cb cb);

/* As uvzk_shared_value_change_cb. value is the last known count, 0 before the first.
 * UVZK_EDATA: the znode has fewer than four bytes of data; the count keeps its value. If
 * it has more than four bytes, the first four are the count. */
typedef void (*uvzk_shared_count_change_cb)(uvzk_shared_count_t *count, int status,
                                            int32_t value);

/* A shared count. Each function works as its counterpart for a shared value, with the
 * same errors. uvzk_shared_count_get returns UVZK_EDATA if a value is known, but none
 * that was a count; version is that of the count that it returns. UV_EEXIST, of the init:
 * this client uses the znode for something else, or something open at or below the path
 * makes the znode without a number: open the count first (docs/recipes/together.md). */
UVZK_EXTERN int uvzk_shared_count_init(uvzk_client_t *client, uvzk_shared_count_t *count,
                                       const char *path, int32_t seed,
                                       uvzk_shared_count_change_cb cb);
UVZK_EXTERN int uvzk_shared_count_get(const uvzk_shared_count_t *count, int32_t *value,
                                      uvzk_value_version_t *version);
UVZK_EXTERN int uvzk_shared_count_set(uvzk_shared_count_t *count, uvzk_req_t *req,
                                      int32_t value, uvzk_req_cb cb);
UVZK_EXTERN int uvzk_shared_count_try_set(uvzk_shared_count_t *count, uvzk_req_t *req,
                                          const uvzk_value_version_t *version,
                                          int32_t value, uvzk_req_cb cb);
UVZK_EXTERN int uvzk_shared_count_close(uvzk_shared_count_t *count,
                                        uvzk_shared_count_close_cb cb);

/* ----------------------------------------------------------- recipes: barriers
 *
 *     static uvzk_double_barrier_t five;
 *     static uvzk_req_t crossing;
 *
 *     static void met(uvzk_req_t *req, int status) { report("five are here", status); }
 *     static int meet(void)
 *     {
 *         int status = uvzk_double_barrier_init(&client, &five, "/round", 5, NULL);
 *
 *         return status < 0 ? status
 *                           : uvzk_double_barrier_enter(&five, &crossing, 30000, met);
 *     } */

/* A barrier blocks all waits while it is set (Curator's DistributedBarrier). Its znode is
 * at the path itself and is persistent, so a barrier stays set until a client removes it,
 * even if the client that set it ends.
 *
 * In a double barrier, an enter ends when `member_quantity` members have entered, and a
 * leave ends when all of them have left (DistributedDoubleBarrier). Each member has an
 * ephemeral znode below the path whose name is a UUID. When enough members exist at once,
 * the znode `ready` is created below the path; it exists until they have left, and a
 * member that enters meanwhile does not wait. The next enter of uvzk removes a `ready`
 * that dead members have left; Curator's enter does not (docs/recipes/barrier.md).
 *
 * A lost connection does not end a call on either kind: the call continues after the
 * reconnect. The timeout includes that time. */

/* This member is no longer inside, although it has not left: its session has ended
 * (UVZK_EEXPIRED), the credentials were refused (UVZK_EAUTH) or the client was closed
 * (UVZK_ECLOSED). The others inside do not wait for it. Call uvzk_double_barrier_leave,
 * or close the barrier, before the next enter. Not called if a leave is under way: the
 * leave ends with the code. */
typedef void (*uvzk_double_barrier_lost_cb)(uvzk_double_barrier_t *barrier, int reason);

/* Initialises a barrier and sends nothing. Another recipe may use the same path, but then
 * that recipe's znode may set the barrier, and while that recipe is open, this client may
 * only wait (docs/recipes/together.md). Errors of an init, except UVZK_ENOCHILDREN. */
UVZK_EXTERN int uvzk_barrier_init(uvzk_client_t *client, uvzk_barrier_t *barrier,
                                  const char *path);

/* Set a barrier, or remove it: create its znode, or delete it. uvzk resends a request
 * that got no reply, so a change may be carried out twice. Changes that are under way at
 * the same time may be carried out in any order. Errors of a request. UV_EEXIST: this
 * client uses the znode for something else or, for a set, needs znodes below the path
 * (docs/recipes/together.md). UVZK_ENOTEMPTY, for a remove: this client needs znodes
 * below the path. UVZK_ENOCHILDREN, for a set, as of an init.
 *
 * Status 0: done, by this client or by another one before it. UVZK_ECONNLOSS: the host
 * names no longer resolve, and it is not known whether it was done. UVZK_ENOTSENT: it was
 * not done. UVZK_ENOTEMPTY, for a remove: the path has children, of another recipe.
 *
 * Status of all calls on barriers: UVZK_ECLOSED, UVZK_EAUTH, and those of a server. After
 * an enter or a leave that ended with UVZK_ENOAUTH, the member's znode may remain until
 * the session ends, if the ACL forbids the delete. */
UVZK_EXTERN int uvzk_barrier_set(uvzk_barrier_t *barrier, uvzk_req_t *req,
                                 uvzk_req_cb cb);
UVZK_EXTERN int uvzk_barrier_remove(uvzk_barrier_t *barrier, uvzk_req_t *req,
                                    uvzk_req_cb cb);

/* Waits until a barrier is not set. timeout_ms: UVZK_WAIT_FOREVER, or ms from now, at
 * least 1. Errors of a request. Status 0: the barrier was not set at a moment after the
 * call. UV_ETIMEDOUT: timeout_ms has passed. UV_ECANCELED: uvzk_req_cancel. UVZK_ELIMIT,
 * UVZK_ENOTSENT. Others as uvzk_barrier_set. */
UVZK_EXTERN int uvzk_barrier_wait(uvzk_barrier_t *barrier, uvzk_req_t *req,
                                  int64_t timeout_ms, uvzk_req_cb cb);

/* Closes a barrier. A set or a remove may still be carried out. Errors of a close. */
UVZK_EXTERN int uvzk_barrier_close(uvzk_barrier_t *barrier, uvzk_barrier_close_cb cb);

/* Initialises a double barrier and sends nothing. All members must use the same path and
 * the same member_quantity, at least 1. lost_cb may be NULL. Errors of an init. */
UVZK_EXTERN int uvzk_double_barrier_init(uvzk_client_t *client,
                                         uvzk_double_barrier_t *barrier, const char *path,
                                         uint32_t member_quantity,
                                         uvzk_double_barrier_lost_cb lost_cb);

/* Enter a double barrier: become a member, and wait until enough members have entered;
 * leave it: wait until all members have left. The struct is one member; several structs,
 * in one client or in several, are several members. timeout_ms: as for uvzk_barrier_wait.
 * If an enter times out or is cancelled, uvzk deletes its znode before the callback runs;
 * this takes one round trip, or until uvzk finds that the connection is lost. A member
 * that leaves is outside, even if the wait for the others times out or is cancelled.
 * Errors of a request. UVZK_ESTATE: entered already, or, for leave, not entered; or a
 * call of this barrier is under way. Of enter: UV_EIO: no random bytes for a name.
 * UV_EEXIST: something else of this client owns the znode `ready`
 * (docs/recipes/together.md).
 *
 * Status of an enter. 0: this member is inside until it leaves. After any other code it
 * is outside, and its znode is gone; without a connection the znode may still exist, and
 * uvzk deletes it after the reconnect. UVZK_ENONODE: another client deleted the znode.
 * UVZK_ENODEEXISTS: the znode belongs to another session.
 *
 * Status of a leave. 0: all members that were inside when the call was made have left.
 * UV_ETIMEDOUT, UV_ECANCELED: this member has left, but others may still be inside.
 * UVZK_ENONODE: another client deleted its znode; the others have not waited for it.
 *
 * Status of both. UVZK_EEXPIRED: the session, and so the member's znode, has ended.
 * Others as uvzk_barrier_wait. */
UVZK_EXTERN int uvzk_double_barrier_enter(uvzk_double_barrier_t *barrier, uvzk_req_t *req,
                                          int64_t timeout_ms, uvzk_req_cb cb);
UVZK_EXTERN int uvzk_double_barrier_leave(uvzk_double_barrier_t *barrier, uvzk_req_t *req,
                                          int64_t timeout_ms, uvzk_req_cb cb);

/* Closes a double barrier. A member that is inside leaves without waiting for the others;
 * cb is called when its znode is gone or its state cannot be known. Errors of a close. */
UVZK_EXTERN int uvzk_double_barrier_close(uvzk_double_barrier_t *barrier,
                                          uvzk_double_barrier_close_cb cb);

/* -------------------------------------------------------- recipes: atomic long
 *
 *     static uvzk_atomic_long_t orders;
 *     static uvzk_req_t next_order;
 *
 *     static void counted(uvzk_req_t *req, int status)
 *     {
 *         if (status == 0) {
 *             printf("this is order %lld\n", (long long)req->result->value->post_value);
 *         }
 *     }
 *     static int count_order(void)
 *     {
 *         int status = uvzk_atomic_long_init(&client, &orders, "/orders", NULL);
 *
 *         return status < 0 ? status
 *                           : uvzk_atomic_long_add(&orders, &next_order, 1, counted);
 *     } */

/* An atomic long is a number of 64 bits in one znode (Curator's DistributedAtomicLong):
 * eight bytes, most significant byte first. A missing znode, or one without data, reads
 * as 0. Every client may change it. No change overwrites one that it has not seen, unless
 * the znode was deleted and created again in between and has reached the same version.
 *
 * A change reads the znode and writes the new value if the znode still has the version
 * that was read. If another client was faster, the retry policy decides whether uvzk
 * tries again (the optimistic phase). If the policy is used up and options.mutex_path is
 * set, uvzk acquires that mutex, tries again under options.mutex_retry, and releases it
 * (the promoted phase; Curator's PromotedToLock). The mutex excludes only changes in
 * their promoted phase; both phases compare the version.
 *
 * If the reply to a write is lost, uvzk reads the znode on the next connection of the
 * same session, and tries again if that shows that the write was not carried out.
 * Otherwise the call ends with UVZK_ECONNLOSS; Curator writes again, and may add
 * twice. */

/* The options of an atomic long. */
typedef struct uvzk_atomic_long_options_s {
    size_t size;               /* set by uvzk_atomic_long_options_init */
    uvzk_retry_policy_t retry; /* of the optimistic phase. Default: exponential, base 10
                                  ms, at most 1000 ms, 10 retries */
    const char *mutex_path;    /* of the promoted phase; not the path of the number;
                                  NULL: no promoted phase */
    int64_t mutex_timeout_ms;  /* of its acquire. Default: UVZK_WAIT_FOREVER */
    uvzk_retry_policy_t mutex_retry; /* of the promoted phase. Default: as retry */
} uvzk_atomic_long_options_t;

#define uvzk_atomic_long_options_init(options) \
    uvzk_atomic_long_options_init_size((options), sizeof(*(options)))
UVZK_EXTERN void uvzk_atomic_long_options_init_size(uvzk_atomic_long_options_t *options,
                                                    size_t size);

/* What a call on an atomic long found and did (Curator's AtomicValue, AtomicStats). */
typedef struct uvzk_atomic_value_s {
    size_t size;        /* of the library's struct, which may grow at its end */
    int64_t pre_value;  /* the last value that was read, which a call with status 0 has
                           replaced; 0 if none was, as with _force_set and _create */
    int64_t post_value; /* the value now, if the status is 0; else as pre_value */
    /* Writes that were sent in each phase, except those that were certainly not carried
     * out because there was no connection or the server was overloaded. */
    uint32_t optimistic_tries, promoted_tries;
    /* How long the phases took; the promoted phase includes the wait for the mutex. */
    uint64_t optimistic_ms, promoted_ms;
} uvzk_atomic_value_t;

/* Initialises an atomic long and sends nothing. The first change creates the znode.
 * options may be NULL for the defaults. Errors of an init, UVZK_ENOCHILDREN for the
 * mutex's path. UV_EINVAL: also an invalid policy, or a mutex at the path of the
 * number. */
UVZK_EXTERN int uvzk_atomic_long_init(uvzk_client_t *client, uvzk_atomic_long_t *atomic,
                                      const char *path,
                                      const uvzk_atomic_long_options_t *options);

/* Reads the value from the client's server. If that server lags behind the leader, the
 * value may be older than a change that another client has completed, but never older
 * than a value that this client's session has seen. A change always replaces the newest
 * value: uvzk_atomic_long_add with 0 returns it.
 *
 * The calls on one atomic long are carried out one after the other, in their order;
 * without a connection they wait for it. Errors of all of them: those of a request; of
 * the changes also UV_EEXIST: this client uses the znode for something else
 * (docs/recipes/together.md), and UVZK_ENOCHILDREN, as of an init.
 *
 * Status of all of them. req->result->value is never NULL. 0: done. Nothing was changed:
 * UVZK_EBADVERSION: other clients were faster in every try; of compare_and_set: the value
 * was not `expected` (pre_value has it), or another client set it at the same time.
 * UVZK_ENODEEXISTS: create found the znode. UVZK_ENONODE: compare_and_set found none.
 * UV_ERANGE: the sum does not fit in 64 bits. UVZK_EDATA: the znode has one to seven
 * bytes of data. UV_ETIMEDOUT, UVZK_EUNREACHABLE, UVZK_ENOTQUEUED, UVZK_EPROOF,
 * UVZK_EEXPIRED, UVZK_EDELETED, UVZK_ELIMIT, UVZK_EEXHAUSTED, UVZK_ENOCHILDREN, UV_EIO,
 * UV_ENOMEM: the mutex was not acquired (uvzk_hold_acquire_cb). UVZK_ENOTSENT, and those
 * of a server. It is not known whether the value was changed: UVZK_ECONNLOSS: the reply
 * was lost. UVZK_ECLOSED, UVZK_EAUTH, UVZK_EINTERNAL. */
UVZK_EXTERN int uvzk_atomic_long_get(uvzk_atomic_long_t *atomic, uvzk_req_t *req,
                                     uvzk_req_cb cb);

/* Change the value; errors and statuses as uvzk_atomic_long_get. _add adds delta, which
 * may be negative. _compare_and_set sets the value if it is `expected`, in one try, and
 * does not create the znode. _try_set sets the value; result->value->pre_value has the
 * one that it has replaced. _force_set sets the value, whatever it is, and _create
 * creates the znode with this value if there is none; if the reply is lost, both end with
 * UVZK_ECONNLOSS without reading the znode. */
UVZK_EXTERN int uvzk_atomic_long_add(uvzk_atomic_long_t *atomic, uvzk_req_t *req,
                                     int64_t delta, uvzk_req_cb cb);
UVZK_EXTERN int uvzk_atomic_long_compare_and_set(uvzk_atomic_long_t *atomic,
                                                 uvzk_req_t *req, int64_t expected,
                                                 int64_t value, uvzk_req_cb cb);
UVZK_EXTERN int uvzk_atomic_long_try_set(uvzk_atomic_long_t *atomic, uvzk_req_t *req,
                                         int64_t value, uvzk_req_cb cb);
UVZK_EXTERN int uvzk_atomic_long_force_set(uvzk_atomic_long_t *atomic, uvzk_req_t *req,
                                           int64_t value, uvzk_req_cb cb);
UVZK_EXTERN int uvzk_atomic_long_create(uvzk_atomic_long_t *atomic, uvzk_req_t *req,
                                        int64_t value, uvzk_req_cb cb);

/* Closes an atomic long. Its mutex is released, the znode stays. Errors of a close. */
UVZK_EXTERN int uvzk_atomic_long_close(uvzk_atomic_long_t *atomic,
                                       uvzk_atomic_long_close_cb cb);

/* ----------------------------------------------------------- recipes: election
 *
 *     static uvzk_election_t election;
 *
 *     static void lead(uvzk_election_t *of, int64_t token, uint64_t valid_until)
 *     {
 *         printf("leads with token %lld\n", (long long)token); // start the work
 *     }
 *     static void deposed(uvzk_election_t *of, int reason) { report("deposed", reason); }
 *     static int stand_for_election(void)
 *     {
 *         uvzk_election_options_t options;
 *
 *         uvzk_election_options_init(&options);
 *         options.id = "server-7";
 *         options.leader_cb = lead;
 *         options.deposed_cb = deposed;
 *         return uvzk_election_init(&client, &election, "/scheduler/leader", &options);
 *     } */

/* An election chooses one leader among the participants of a path, which may be in any
 * process. Each participant has a znode in a queue, with its id as data, and the first in
 * the queue leads: the election is a lock, and leading is holding it. A participant that
 * has been deposed goes to the end of the queue and may lead again. No other recipe may
 * use its path.
 *
 *   pause --> queued --> leads --> deposed --> queued ...
 *     ^         |                     |
 *     `-refused-+--> not queued <-----'  refused for good, or options.manual_requeue
 *
 * uvzk_election_is_leader has the promise of uvzk_hold_is_valid: it returns 1 for one
 * participant at most, whatever happens to the connection, the process or the servers.
 * deposed_cb runs before another participant of uvzk can lead, unless the loop is late,
 * another client deletes the znode, an operator ends the session, or the client is closed
 * with the election open. A participant of Curator has no such proof: it may believe that
 * it still leads. Use the token or uvzk_hold_write where that matters. */

/* What participants of a path have in common: the names of their znodes. */
typedef enum {
    UVZK_ELECTION_LATCH = 0, /* LeaderLatch: `latch-` */
    UVZK_ELECTION_SELECTOR   /* LeaderSelector: `lock-`, as an InterProcessMutex. Without
                                an id they have the client's default_data */
} uvzk_election_kind_t;

/* How an election is closed (CloseMode). */
typedef enum {
    UVZK_ELECTION_SILENT = 0, /* from now on, only the close's callback runs */
    UVZK_ELECTION_NOTIFY      /* a leader's deposed_cb runs first, with UVZK_ECLOSED */
} uvzk_election_close_mode_t;

/* A participant of an election, of any client (Curator's Participant). */
typedef struct uvzk_election_participant_s {
    size_t size;        /* of the library's struct, which may grow at its end */
    const char *id;     /* the data of its znode, with a NUL after them; "": none */
    size_t id_length;   /* without that NUL */
    int is_leader;      /* 1: it is first, whether its client can prove that or not */
    int64_t token;      /* czxid of its znode: the fencing token while it leads */
    int64_t session_id; /* of its client */
    const char *path;   /* full path of its znode */
} uvzk_election_participant_t;

/* This participant leads from now on, with this fencing token (uvzk_election_token). The
 * first proof is valid until valid_until (uvzk_election_valid_until). */
typedef void (*uvzk_election_leader_cb)(uvzk_election_t *election, int64_t token,
                                        uint64_t valid_until);

/* This participant no longer leads; uvzk_election_is_leader already returns 0. Called
 * once for each call of leader_cb, except after a silent close. Stop the leader's work
 * before the callback returns. reason 0: uvzk_election_resign. UV_ETIMEDOUT: max_reign_ms
 * has passed. UVZK_ECLOSED. In the first two cases, and when the election is closed with
 * UVZK_ELECTION_NOTIFY, uvzk deletes the znode only after the callback has returned.
 * UVZK_EEXPIRED, UVZK_EPROOF, UVZK_EDELETED: as in uvzk_hold_lost_cb. UVZK_EAUTH,
 * UVZK_EINTERNAL: the participant is not queued again. */
typedef void (*uvzk_election_deposed_cb)(uvzk_election_t *election, int reason);

/* Another participant leads, or the first leader is known: a participant of any client,
 * including this one. leader NULL: no participant is known, or this one was deposed. uvzk
 * may skip leaders and never goes back to an earlier one: their tokens rise. It reads the
 * znode of the first in the queue and watches it. Without a connection the last known
 * leader stays. By the time this callback runs, another participant may lead. */
typedef void (*uvzk_election_changed_cb)(uvzk_election_t *election,
                                         const uvzk_election_participant_t *leader);

/* The participant could not be queued, or has lost its place; status as in
 * uvzk_hold_acquire_cb. If uvzk_err_is_retriable(status), uvzk queues it again, without a
 * limit on attempts: after UVZK_EEXPIRED at once, otherwise after a pause by the client's
 * retry policy. For all other codes it stays out of the queue until
 * uvzk_election_requeue: for example UVZK_ENOAUTH, if an ACL forbids a create. */
typedef void (*uvzk_election_error_cb)(uvzk_election_t *election, int status);

/* The options of an election. A field that is zero means the default. */
typedef struct uvzk_election_options_s {
    size_t size;             /* set by uvzk_election_options_init */
    uint32_t kind;           /* uvzk_election_kind_t */
    uint32_t manual_requeue; /* 1: after it has led, only uvzk_election_requeue queues it
                                again (LeaderSelector without autoRequeue) */
    const void *id;          /* of this participant; NULL: none */
    size_t id_length;        /* 0 with an id: the id is a C string */
    uint64_t max_reign_ms;   /* how long it leads at most; 0: without a limit */
    uvzk_election_leader_cb leader_cb; /* may be NULL, and so may the others */
    uvzk_election_deposed_cb deposed_cb;
    uvzk_election_changed_cb changed_cb; /* NULL: uvzk does not watch who leads */
    uvzk_election_error_cb error_cb;
} uvzk_election_options_t;

#define uvzk_election_options_init(options) \
    uvzk_election_options_init_size((options), sizeof(*(options)))
UVZK_EXTERN void uvzk_election_options_init_size(uvzk_election_options_t *options,
                                                 size_t size);

/* Initialises an election, and queues a participant in it. options may be NULL for the
 * defaults. After it has returned 0, the election must be closed. Two elections on one
 * path are two participants, even in one process. Errors of an init. UV_EINVAL: also a
 * changed_cb while this client has an election of the other kind with a changed_cb on the
 * path. UVZK_ELIMIT, UV_EIO: as uvzk_lock_acquire. */
UVZK_EXTERN int uvzk_election_init(uvzk_client_t *client, uvzk_election_t *election,
                                   const char *path,
                                   const uvzk_election_options_t *options);

/* Gives up the leadership: deposed_cb runs in the loop's next turn, then the znode is
 * deleted, and the participant goes to the end of the queue. Until deposed_cb runs it
 * still leads. This is the end of LeaderSelector's takeLeadership. UVZK_ENOTHELD: it does
 * not lead, or is resigning already. UVZK_ECLOSED, UV_EINVAL. */
UVZK_EXTERN int uvzk_election_resign(uvzk_election_t *election);

/* Queues a participant that is not in the queue: with options.manual_requeue, or after
 * error_cb has received a code that is not retriable. It may be called in deposed_cb.
 * UVZK_ESTATE: it is queued or leads, or uvzk will queue it again. UVZK_ELIMIT, UV_EIO:
 * as uvzk_lock_acquire. UVZK_ECLOSED, UV_EINVAL, UV_ENOMEM. */
UVZK_EXTERN int uvzk_election_requeue(uvzk_election_t *election);

/* Tells whether this participant leads now: 1 or 0. It compares the clock with
 * uvzk_election_valid_until, and has the limits of uvzk_hold_is_valid. */
UVZK_EXTERN int uvzk_election_is_leader(const uvzk_election_t *election);

/* Return this leader's fencing token, and until when it certainly leads, as
 * uvzk_hold_token and uvzk_hold_valid_until; 0 if it does not lead. The token grows from
 * each leader of a path to the next. */
UVZK_EXTERN int64_t uvzk_election_token(const uvzk_election_t *election);
UVZK_EXTERN uint64_t uvzk_election_valid_until(const uvzk_election_t *election);

/* Returns the hold of a leader, to verify it, to write with it or to read its path; NULL
 * if it does not lead. The hold belongs to the election: do not release it, and do not
 * use it after deposed_cb. */
UVZK_EXTERN uvzk_hold_t *uvzk_election_hold(const uvzk_election_t *election);

/* Lists the participants, of any client, with their ids: lists the path and reads each
 * znode (getParticipants, getLeader). Errors of a request.
 *
 * Status 0: req->result->participants has them in the order of the queue, the leader
 * first; count is 0 if there are none. A participant that has left meanwhile is missing.
 * Others as uvzk_lock_participants; UVZK_ENOAUTH: also if a znode may not be read. */
UVZK_EXTERN int uvzk_election_participants(uvzk_election_t *election, uvzk_req_t *req,
                                           uvzk_req_cb cb);

/* Closes an election. The participant leaves the queue, and its znode is deleted in the
 * background. mode is a uvzk_election_close_mode_t. Errors of a close. If the client is
 * closed with the election open, a leader is deposed with UVZK_ECLOSED, a participant in
 * the queue receives UVZK_ECLOSED in error_cb, and the election is closed without a
 * callback of its own. */
UVZK_EXTERN int uvzk_election_close(uvzk_election_t *election, unsigned mode,
                                    uvzk_election_close_cb cb);

/* ---------------------------------------------------- recipes: persistent node
 *
 *     static uvzk_persistent_node_t worker;
 *
 *     static void worker_changed(uvzk_persistent_node_t *node, int status)
 *     {
 *         report("this worker is registered", status);
 *     }
 *     static int register_worker(void)
 *     {
 *         return uvzk_persistent_node_init(&client, &worker, "/workers/17",
 *                                          UVZK_PERSISTENT_NODE_EPHEMERAL, "10.0.0.7", 8,
 *                                          worker_changed);
 *     } */

/* A persistent node is a znode that uvzk keeps in existence while the struct is open
 * (Curator's PersistentNode): uvzk creates it, and creates it again after it was deleted,
 * or after the session of an ephemeral one has ended. The close deletes it. */

/* What kind of znode it is.
 *
 *     PERSISTENT   it outlives the client if the client ends without a close. uvzk takes
 *                  over a persistent znode that exists already
 *     EPHEMERAL    it ends with the client's session. uvzk never takes over a znode of
 *                  another session, or a persistent one, as Curator does: it waits until
 *                  that znode is gone, then creates its own */
typedef enum {
    UVZK_PERSISTENT_NODE_PERSISTENT = 0,
    UVZK_PERSISTENT_NODE_EPHEMERAL
} uvzk_persistent_node_mode_t;

/* status 0: the znode exists, with the data of the latest call of init or set_data, and
 * an ephemeral one belongs to this client's session. Called with 0 when the znode exists
 * for the first time, when it exists again after a call with status < 0, and after each
 * set_data. status < 0: uvzk does not know that it exists, tries to create it, and calls
 * again. UVZK_ENONODE: it was deleted. UVZK_EEXPIRED: the session of an ephemeral znode
 * has ended, or must be assumed to have ended (UVZK_STATE_LOST). UVZK_ENODEEXISTS: the
 * path has another session's znode or, if this one is ephemeral, a persistent znode.
 * Those of a server: uvzk tries again, at growing intervals of up to one session timeout.
 * UVZK_EAUTH: this is the last call. UVZK_ELIMIT, UVZK_ENOTSENT. */
typedef void (*uvzk_persistent_node_change_cb)(uvzk_persistent_node_t *node, int status);

/* FINAL for the node. 0: the znode is gone, or this client had none. UVZK_EEXPIRED,
 * UVZK_EAUTH, UVZK_ECLOSED, UVZK_EINTERNAL, UVZK_ENOTSENT: the servers delete an
 * ephemeral znode with its session; a persistent one may remain. UVZK_ENOTEMPTY,
 * UVZK_EREJECTED, UVZK_EZOOKEEPER: the delete was refused. UVZK_ELIMIT: no room for the
 * watch that a read sets. If an ACL forbids deleting or reading the znode, uvzk tries
 * again, at growing intervals of up to one session timeout. */
typedef void (*uvzk_persistent_node_close_cb)(uvzk_persistent_node_t *node, int status);

/* Initialises a persistent node and begins to create the znode. mode is a
 * uvzk_persistent_node_mode_t. cb may be NULL. Errors of an init. UV_EEXIST: this client
 * has an owner of the znode already, or the znode would be ephemeral and this client
 * needs znodes below it (docs/recipes/together.md). If a persistent node at the path is
 * closing, this one begins after that close. */
UVZK_EXTERN int uvzk_persistent_node_init(uvzk_client_t *client,
                                          uvzk_persistent_node_t *node, const char *path,
                                          uint32_t mode, const void *data, size_t length,
                                          uvzk_persistent_node_change_cb cb);

/* Sets the data of the znode: now, or as soon as it exists, and when it is created again.
 * If two calls come before the callback, the second one counts. If another client sets
 * the data of an ephemeral znode, uvzk sets them back; it leaves those of a persistent
 * one until the next call. UV_EINVAL, UVZK_ECLOSED, UV_ENOMEM. */
UVZK_EXTERN int uvzk_persistent_node_set_data(uvzk_persistent_node_t *node,
                                              const void *data, size_t length);

/* Closes a persistent node and deletes its znode. cb is called when the znode is known to
 * be gone; without a connection, uvzk waits for it. uvzk deletes the znode only if it is
 * this client's: it compares the session of an ephemeral one, and the version that was
 * read. So it deletes no znode that another client has created since, unless that has the
 * same version. When the client is closed instead, uvzk deletes nothing, and only
 * ephemeral znodes end with the session. Errors of a close. */
UVZK_EXTERN int uvzk_persistent_node_close(uvzk_persistent_node_t *node,
                                           uvzk_persistent_node_close_cb cb);

/* ------------------------------------------------------- recipes: group member
 *
 *     static uvzk_group_member_t this_worker;
 *
 *     static void workers_changed(uvzk_group_member_t *member, int status)
 *     {
 *         const uvzk_group_entry_t *workers;
 *         size_t count;
 *
 *         report("the list of workers", status);
 *         if (status == 0 && uvzk_group_member_list(member, &workers, &count) == 0) {
 *             for (size_t i = 0; i < count; i++) {
 *                 report(workers[i].id, 0);
 *             }
 *         }
 *     }
 *     static int join_workers(void)
 *     {
 *         return uvzk_group_member_init(&client, &this_worker, "/workers", "17",
 *                                       "10.0.0.7", 8, NULL, workers_changed);
 *     } */

/* A group member is one of the programs that are listed at a path (Curator's
 * GroupMember). It consists of an ephemeral persistent node at path/id, and a list of all
 * children of that path with their data, which uvzk keeps up to date by a watch on the
 * path and one on each znode below it. Every child of the path counts as a member, no
 * matter which client created it. */

/* One member of the group, as it is known now. */
typedef struct {
    const char *id;   /* the name of its znode */
    const void *data; /* of the znode; NULL: the ACL forbids reading them, they have not
                         been read yet, or there is no room for a watch */
    size_t length;
    int64_t mzxid; /* that wrote the data; 0: the caller's own, or data not known */
} uvzk_group_entry_t;

/* As joined_cb: reports the member's own znode, exactly as
 * uvzk_persistent_node_change_cb. status 0: it has joined. UVZK_ENODEEXISTS: the znode of
 * this id is not this member's; uvzk waits until it is gone, and never takes it over.
 *
 * As members_cb: status 0: the members, or the data of members other than the caller,
 * differ from those at the last call with 0; uvzk_group_member_list returns them. uvzk
 * calls it when the data of all members in the list have been read. One call may report
 * several changes. uvzk does not report the same list twice in a row, unless it reported
 * a status < 0 in between; two entries differ if their mzxid differ. status < 0, with a
 * code of a server or UVZK_ELIMIT: the members cannot be listed, and the list does not
 * change; uvzk tries again, at growing intervals of up to one session timeout. If there
 * is room for the watch on the path but not for those on all members, uvzk still keeps
 * the list up to date, with data NULL for the other members, and reports each change with
 * UVZK_ELIMIT instead of 0; more options.sessions make more room. */
typedef void (*uvzk_group_member_change_cb)(uvzk_group_member_t *member, int status);

/* FINAL for the member. The status is that of uvzk_persistent_node_close_cb. */
typedef void (*uvzk_group_member_close_cb)(uvzk_group_member_t *member, int status);

/* Initialises a group member and begins to join the group at the path. The id is the name
 * of the znode, and no other member of the group may have it. joined_cb and members_cb
 * may be NULL. Errors of an init. UVZK_EPATH: also the id is empty, ".", "..", contains a
 * '/' or a character that a path must not contain. UV_EEXIST: as
 * uvzk_persistent_node_init, for the member's znode. If its owner is closing, this member
 * joins after that close. */
UVZK_EXTERN int uvzk_group_member_init(uvzk_client_t *client, uvzk_group_member_t *member,
                                       const char *path, const char *id, const void *data,
                                       size_t length,
                                       uvzk_group_member_change_cb joined_cb,
                                       uvzk_group_member_change_cb members_cb);

/* Sets the member's own data. joined_cb is called when they are written, members_cb for
 * the other members only. Errors as uvzk_persistent_node_set_data. */
UVZK_EXTERN int uvzk_group_member_set_data(uvzk_group_member_t *member, const void *data,
                                           size_t length);

/* Returns the members that are known now, in the order of their ids, compared byte by
 * byte. The caller is always one of them, with its latest data, even while its znode does
 * not exist (as in Curator). Until the members have been listed for the first time, it is
 * the only one. The array is valid until the caller returns to the loop, or calls
 * uvzk_group_member_list, set_data or close. It allocates nothing. UV_EINVAL,
 * UVZK_ECLOSED. */
UVZK_EXTERN int uvzk_group_member_list(const uvzk_group_member_t *member,
                                       const uvzk_group_entry_t **members, size_t *count);

/* Closes a group member and deletes its znode, as uvzk_persistent_node_close. When the
 * client is closed instead, the znode ends with the session. Errors of a close. */
UVZK_EXTERN int uvzk_group_member_close(uvzk_group_member_t *member,
                                        uvzk_group_member_close_cb cb);

/* -------------------------------------------------------- advanced: clients */

/* Sets an option by its name, for a program that reads options from a file or a command
 * line: uvzk_client_options_set(&options, "session_timeout_ms", "10000"). docs/options.md
 * lists the names and the values. The options refer to a copy of the value. Call
 * uvzk_client_options_free after uvzk_client_init, and before the struct is initialised
 * again. UV_ENOENT: there is no option of this name. UV_EINVAL: also if the option cannot
 * have this value; uvzk_refusal names the option and its range. UV_ENOMEM. After a
 * failure the options are as they were before. */
UVZK_EXTERN int uvzk_client_options_set(uvzk_client_options_t *options, const char *name,
                                        const char *value);

/* Sets options from a connection string (docs/options.md): the hosts, and after a '?'
 * other options, each at most once. The values, their copies and the errors are as of
 * uvzk_client_options_set; '&' and '%' are written "%26" and "%25". Options that the text
 * does not name keep their values.
 *
 *     10.0.0.1:2181,10.0.0.2:2181/chroot?session_timeout_ms=10000&namespace=app */
UVZK_EXTERN int uvzk_client_options_parse(uvzk_client_options_t *options,
                                          const char *text);

/* Frees what uvzk_client_options_set and uvzk_client_options_parse have copied, and
 * overwrites it first. Then the options must not be used before they are initialised
 * again. If the struct was assigned to another one, only one of the two may be freed.
 * options may be NULL, or have no copies. */
UVZK_EXTERN void uvzk_client_options_free(uvzk_client_options_t *options);

/* Tells whether the value of the option of this name is a secret, such as a password: 1
 * or 0. A program should not log it, and should refuse a file with it that other users
 * can read. A name that is NULL or unknown: 0. */
UVZK_EXTERN int uvzk_client_option_is_secret(const char *name);

/* One session of a client, for uvzk_client_each_session. */
typedef struct uvzk_session_entry_s {
    size_t size;                 /* of the library's struct, which may grow at its end */
    uint32_t number;             /* from 0 on */
    uint32_t state;              /* uvzk_client_state_t */
    int64_t session_id;          /* 0: none */
    uint32_t session_timeout_ms; /* 0 before the first connection */
    uint64_t contenders;         /* znodes: pending, held or being deleted */
    uint64_t node_bytes, node_bytes_most;   /* of their paths: used, and the limit */
    uint64_t watches;                       /* that are set now, of one path once */
    uint64_t watch_bytes, watch_bytes_most; /* of their paths: used, and the limit */
    const uvzk_client_error_t *error;       /* as uvzk_client_last_error; never NULL */
    const char *server;                     /* as uvzk_client_current_server */
} uvzk_session_entry_t;

/* Receives one session. It may query uvzk but must not change anything. */
typedef void (*uvzk_session_entry_cb)(const uvzk_client_t *client,
                                      const uvzk_session_entry_t *entry, void *context);

/* Calls cb for each session of the client before it returns. Errors of a query. */
UVZK_EXTERN int uvzk_client_each_session(const uvzk_client_t *client,
                                         uvzk_session_entry_cb cb, void *context);

/* A histogram of durations. Bucket 0 counts durations of 0 ms, bucket i those of 2^(i-1)
 * to 2^i - 1 ms. The last bucket also counts all longer ones. */
#define UVZK_HISTOGRAM_BUCKETS 24
typedef struct uvzk_histogram_s {
    uint64_t count, sum_ms;
    uint64_t buckets[UVZK_HISTOGRAM_BUCKETS];
} uvzk_histogram_t;

/* State and counters of a client. */
typedef struct uvzk_client_metrics_s {
    size_t size; /* set by uvzk_client_metrics_init */
    /* The current state: */
    uint32_t state;              /* uvzk_client_state_t */
    uint32_t session_timeout_ms; /* 0 before the first connection */
    int64_t session_id;          /* 0: none */
    uint64_t locks;              /* that are open */
    uint64_t waiting, held;      /* pending acquires; holds */
    uint64_t contenders;         /* znodes: pending, held or being deleted */
    uint64_t undeletable; /* of those: an ACL forbids the delete, which uvzk repeats */
    uint64_t foreign;     /* children of lock paths that are not contenders'
                                    znodes, in the last listing of each path */
    uint64_t node_bytes, node_bytes_most; /* of the contenders' paths: used, the limit */
    uint64_t watches;                     /* that are set now, of one path once */
    uint64_t watch_bytes, watch_bytes_most; /* of their paths: used, and the limit */
    /* Requests to the servers since the client was initialised: */
    uint64_t requests; /* all */
    uint64_t proofs;   /* of those, proofs of ownership */
    /* Of all, by kind; listings are getChildren, reads are get and exists. */
    uint64_t creates, deletes, multis, listings, reads, others;
    /* Since uvzk_client_start_metrics; all 0 without it: */
    uint64_t counting; /* 1: these are counted; 0: they are not */
    uint64_t grants, releases;
    /* Failed acquires: UV_ETIMEDOUT; UVZK_EUNREACHABLE and UVZK_ECONNLOSS;
     * UVZK_ENOTQUEUED; UV_ECANCELED; all other codes. */
    uint64_t refused_behind_others, refused_unreachable, refused_not_queued,
        refused_cancelled, refused_otherwise;
    /* Lost holds: UVZK_EEXPIRED; UVZK_EPROOF; UVZK_EDELETED; all other codes. */
    uint64_t lost_expired, lost_unproved, lost_deleted, lost_otherwise;
    uint64_t orphans;            /* znodes of its own that no lock knew, now deleted */
    uint64_t diverged;           /* how often the client left a server: UVZK_EDIVERGED */
    uvzk_histogram_t acquire;    /* from the call to the callback of the grant */
    uvzk_histogram_t hold;       /* from the grant to the release or the loss */
    uvzk_histogram_t release;    /* from the call until its outcome is known */
    uvzk_histogram_t round_trip; /* of requests */
    uvzk_histogram_t proof;      /* of proofs of ownership */
    uvzk_histogram_t handover;   /* from when this client saw the end of any client's
                                    hold to the grant of the acquire that waited for it */
    uint64_t mixed_kinds;        /* from the init on: contenders that came after one of
                                    another kind (uvzk_mixed_kinds_t) */
} uvzk_client_metrics_t;

#define uvzk_client_metrics_init(metrics) \
    uvzk_client_metrics_init_size((metrics), sizeof(*(metrics)))
UVZK_EXTERN void uvzk_client_metrics_init_size(uvzk_client_metrics_t *metrics,
                                               size_t size);

/* Starts to count grants, refusals and losses, and to measure durations. Has no effect if
 * the client counts already (options.metrics). Errors of a query, and UV_ENOMEM. */
UVZK_EXTERN int uvzk_client_start_metrics(uvzk_client_t *client);

/* Fills in the client's state and counters, without uvzk_client_start_metrics only the
 * state and the requests. Errors of a query. */
UVZK_EXTERN int uvzk_client_metrics(const uvzk_client_t *client,
                                    uvzk_client_metrics_t *metrics);

/* Writes the metrics for Prometheus (text format 0.0.4), as uvzk_client_metrics fills
 * them in. Each sample has the label client="name", in which '"', '\\' and newlines are
 * escaped. As snprintf does, it writes at most size bytes, the NUL included, and returns
 * the length of the whole text without the NUL. buffer may be NULL if size is 0. Errors
 * of a query. */
UVZK_EXTERN int uvzk_client_write_metrics(const uvzk_client_t *client, const char *name,
                                          char *buffer, size_t size);

/* ---------------------------------------- advanced: who waits, and for what */

/* What a pending acquire waits for. */
typedef enum {
    UVZK_WAITS_FOR_NOTHING = 0, /* it is granted; its callback will be called soon */
    UVZK_WAITS_FOR_CONNECTION,  /* its session has no connection */
    UVZK_WAITS_FOR_DIRECTORY,   /* the lock's directory is being created */
    UVZK_WAITS_FOR_ZNODE,       /* its znode is being created, or searched for */
    UVZK_WAITS_FOR_PLACE,       /* its znode exists; who is ahead is not known yet */
    UVZK_WAITS_FOR_OURS,        /* only other contenders of this client are ahead */
    UVZK_WAITS_FOR_OTHERS,      /* another client's znode is ahead */
    UVZK_WAITS_FOR_LEASES,      /* of a semaphore: it is next, but all leases are taken */
    UVZK_WAITS_FOR_PROOF        /* no contender is ahead; its session is being proved */
} uvzk_wait_kind_t;

/* What a pending acquire waits for, and since when. */
typedef struct uvzk_wait_info_s {
    size_t size;   /* set by uvzk_wait_info_init */
    uint32_t kind; /* uvzk_wait_kind_t */
    /* How many contenders are known to be ahead, as in queued_cb. After a timeout, and in
     * uvzk_client_each_hold, it counts at most 1000 of this client; for a lock with a
     * driver it is 1. LEASES: how many leases are taken. */
    uint64_t ahead;
    /* OTHERS: full path of the nearest znode of another client that it waits for; else
     * NULL. The texts are valid until the next uvzk_hold_wait_info or
     * uvzk_client_each_hold, at most until the caller returns to the loop. */
    const char *predecessor;
    /* When the acquire began, or, with CONNECTION, when the connection was lost if that
     * was later. 0: not known, as of a semaphore's request that shares a znode. */
    uint64_t since;
    const char *traceparent; /* OTHERS: of the acquire whose znode is `predecessor`; NULL:
                                none, or uvzk has not read it */
    const char *node_path;   /* full path of its own znode; NULL: it has no place in the
                                queue yet, or the acquire has timed out */
} uvzk_wait_info_t;

#define uvzk_wait_info_init(wait) uvzk_wait_info_init_size((wait), sizeof(*(wait)))
UVZK_EXTERN void uvzk_wait_info_init_size(uvzk_wait_info_t *wait, size_t size);

/* Tells what a pending acquire waits for, as far as this client knows, and sends nothing.
 * In the callback of an acquire that failed by timeout_ms or UVZK_TRY_ONCE it tells what
 * that acquire waited for. UV_EINVAL, UV_ENOMEM. UVZK_ESTATE: neither a pending acquire
 * nor such a callback. */
UVZK_EXTERN int uvzk_hold_wait_info(const uvzk_hold_t *hold, uvzk_wait_info_t *wait);

/* One pending acquire or hold, for uvzk_client_each_hold. */
typedef struct uvzk_hold_entry_s {
    size_t size; /* of the library's struct, which may grow at its end */
    uvzk_lock_t *lock;
    const char *lock_path; /* with the namespace */
    uvzk_hold_t *hold;
    const void *owner;            /* NULL: none */
    int is_held;                  /* 1: granted, and acquire_cb was called */
    int64_t token;                /* 0 if it is not held */
    const char *path;             /* of its znode; NULL if it is not held */
    const uvzk_wait_info_t *wait; /* never NULL; of a hold all fields but size are 0 */
    uint32_t session;             /* the number of its session, from 0 on */
} uvzk_hold_entry_t;

/* Receives one pending acquire or hold. It may query uvzk but must not change anything.
 * uvzk_hold_wait_info and uvzk_client_each_hold overwrite entry->wait->predecessor. */
typedef void (*uvzk_hold_entry_cb)(const uvzk_client_t *client,
                                   const uvzk_hold_entry_t *entry, void *context);

/* Calls cb for every pending acquire and hold of this client's locks, before it returns.
 * Those of one lock come in the order in which they were requested; re-entries follow
 * their owner's first acquire. It sends nothing. Errors of a query. UV_ENOMEM: cb may
 * have been called for some. */
UVZK_EXTERN int uvzk_client_each_hold(const uvzk_client_t *client, uvzk_hold_entry_cb cb,
                                      void *context);

/* ------------------------------------------------- advanced: kinds of locks */

/* ------------------------------------------------------ cohort */

/* Initialises a mutex with a cohort. When a hold is released, its znode passes to the
 * next acquire of this mutex, ahead of znodes of other clients that are in between. That
 * ends after `handovers` times (1 to 1000) or `ms` (1 to 60000) after the znode was first
 * granted; then the next znode in the queue is granted. Other clients therefore wait
 * longer, by that limit plus the last hold. All holds by one znode have the same fencing
 * token: uvzk_hold_cohort tells them apart. Acquires of this mutex are granted in their
 * order. An acquire that is revocable, or whose node_data differ from the holder's, waits
 * for its own znode. A multi lock refuses such a mutex as a member. Errors of an init. */
UVZK_EXTERN int uvzk_mutex_init_with_cohort(uvzk_client_t *client, uvzk_mutex_t *mutex,
                                            const char *path, uint32_t handovers,
                                            uint32_t ms);

/* Returns the hold's position in its cohort: 1, 2, ... among the holds that share its
 * token; 0 if it is not held, or its lock has no cohort. The token of the first hold of a
 * cohort is greater than any token before. Token and position, as a pair, grow with each
 * grant. */
UVZK_EXTERN uint32_t uvzk_hold_cohort(const uvzk_hold_t *hold);

/* ------------------------------------------------- lock driver */

/* The znodes that a lock with a driver creates. */
typedef enum {
    UVZK_NODE_EPHEMERAL_SEQUENTIAL = 0, /* _c_<uuid>-<name><number>, as in other locks */
    UVZK_NODE_EPHEMERAL,                /* <name> alone, one for all clients: the client
                                           that creates it holds the lock, the others
                                           watch it, and any of them may be next */
    UVZK_NODE_PERSISTENT_SEQUENTIAL     /* as the first, but it outlives its session */
} uvzk_node_mode_t;

/* A driver for the caller's own kind of lock (LockInternalsDriver). Set the name; with
 * "lock-" and all other fields 0 the lock is InterProcessMutex with Curator's own driver.
 *
 * Each acquire creates a znode and lists the directory, and uvzk asks the driver: either
 * the acquire gets the lock, or it watches the child that the driver names, and uvzk asks
 * again when that child is gone or changed. The driver decides which acquires may hold
 * together. uvzk proves holds, reports their loss, counts re-entries and deletes znodes.
 *
 * uvzk calls the two functions when a listing has arrived, with a copy of the struct as
 * it was when the lock was initialised. They must not call uvzk, and their result must
 * depend only on their arguments. */
typedef struct uvzk_lock_driver_s {
    size_t size;         /* set by uvzk_lock_driver_init */
    const char *name;    /* "lock-"; no '/'; at most 16 bytes, with a fixed name 64 */
    uint32_t mode;       /* uvzk_node_mode_t (createsTheLock) */
    uint32_t max_leases; /* for gets_the_lock; 0 means 1 */
    /* getsTheLock: returns whether children[own] gets the lock. If not, it returns 0 and
     * sets *watch to the index of the child to wait for. If *watch is own, or no index of
     * a child, the acquire ends with UV_EINVAL. The children are sorted. NULL: the
     * acquire gets the lock if own < max_leases, else it waits for children[own -
     * max_leases]. */
    int (*gets_the_lock)(const struct uvzk_lock_driver_s *driver,
                         const char *const *children, size_t count, size_t own,
                         size_t *watch);
    /* fixForSorting: returns the text by which to sort the child. The text must stay
     * valid as long as `child`, and usually is a part of it. If the function returns
     * NULL, the child is ignored, and gets_the_lock does not receive it. NULL: the
     * children are sorted by what follows the last `name` in each of them. */
    const char *(*sort_key)(const struct uvzk_lock_driver_s *driver, const char *child);
    void *context; /* the caller's; uvzk neither reads nor writes it */
} uvzk_lock_driver_t;

#define uvzk_lock_driver_init(driver) \
    uvzk_lock_driver_init_size((driver), sizeof(*(driver)))
UVZK_EXTERN void uvzk_lock_driver_init_size(uvzk_lock_driver_t *driver, size_t size);

/* Initialises a lock with a driver. The driver's context must stay valid until the lock
 * is closed. A directory has one kind of lock: this client must not use another recipe on
 * the same path. The token is the czxid of the znode; it grows from grant to grant if the
 * driver grants one acquire after the other. queued_cb receives how many children are
 * sorted before this one, at least 1; with UVZK_NODE_EPHEMERAL 1.
 *
 * A hold by a persistent znode lasts as long as the znode exists: it outlives the
 * session, uvzk_lock_is_held needs no connection, and uvzk_hold_valid_until is
 * UINT64_MAX. It ends by a release, or is lost with UVZK_EDELETED, UVZK_ECLOSED or
 * UVZK_EAUTH, or with UVZK_ECONNLOSS if, after the end of a session, the host names do
 * not resolve and the retry policy is used up. Waiters keep their places across sessions
 * too. If the process dies, or the client is closed before uvzk could delete the znode,
 * the znode blocks other contenders until it is deleted by hand.
 *
 * With a persistent znode or a fixed name (UVZK_NODE_EPHEMERAL), a hold needs a watch on
 * its znode. It is lost with UVZK_ELIMIT if there is no room for the watch, and with
 * UVZK_ENOAUTH if the znode's ACL forbids reading it. With a fixed name, if a leader has
 * forgotten a holder's znode (A9), that holder's release may delete the next holder's
 * znode; sequential names avoid that.
 *
 * Errors of an init. UV_EINVAL: also no name, or one that is too long; functions together
 * with UVZK_NODE_EPHEMERAL, which lists nothing. UV_EEXIST: this client uses the znode of
 * the fixed name for something else, or needs znodes below it (docs/recipes/together.md).
 * From uvzk_lock_acquire: UV_EINVAL for revoke_cb and leases; UVZK_EPATH for the path
 * "/", which is allowed for uvzk_lock_participants alone. If another client deletes the
 * whole directory, an acquire ends with UVZK_EDELETED without a retry. */
UVZK_EXTERN int uvzk_lock_init_with_driver(uvzk_client_t *client, uvzk_lock_t *lock,
                                           const char *path,
                                           const uvzk_lock_driver_t *driver);

/* ----------------------------------------- advanced: calls on holds and znodes
 *
 *     static uvzk_req_t write_request;
 *
 *     static void written(uvzk_req_t *req, int status) { report("written", status); }
 *     static int write_stock(const char *text) // only if the hold's znode still exists
 *     {
 *         uvzk_write_op_t op = {UVZK_WRITE_SET, -1, "/stock", text, strlen(text)};
 *
 *         return uvzk_hold_write(&hold, &write_request, &op, 1, written);
 *     } */

/* ------------------------------------------------------ verify */

/* Asks a quorum whether the hold stands. That takes one round trip for every 256 znodes
 * of the hold. UVZK_ENOTHELD, UV_EINVAL, UV_ENOMEM, UV_EBUSY. Status 0: after the call a
 * quorum agreed that the lock's znode exists and its session lives; for a multi lock,
 * those of all members. UVZK_ELOST, UVZK_EDELETED, UVZK_EEXPIRED: the hold no longer
 * stands. All other codes: not known. UVZK_ENOAUTH: a znode of the hold may not be read.
 * UVZK_EUNIMPLEMENTED. Others as uvzk_client_read. */
UVZK_EXTERN int uvzk_hold_verify(uvzk_hold_t *hold, uvzk_req_t *req, uvzk_req_cb cb);

/* ----------------------------------------------- guarded write */

/* An operation of uvzk_hold_write, and its kind. */
typedef enum {
    UVZK_WRITE_CREATE = 0, /* creates a persistent znode, with the client's ACL */
    UVZK_WRITE_SET,
    UVZK_WRITE_DELETE,
    UVZK_WRITE_CHECK /* checks that the znode exists and has this version */
} uvzk_write_kind_t;

typedef struct uvzk_write_op_s {
    uint32_t kind;      /* uvzk_write_kind_t */
    int32_t version;    /* SET, DELETE, CHECK; -1: any */
    const char *path;   /* below the namespace */
    const void *data;   /* CREATE, SET; NULL: no data */
    size_t data_length; /* of data, bytes */
} uvzk_write_op_t;

/* Writes to ZooKeeper only if the hold stands: one transaction checks all znodes of the
 * hold and then carries out all operations or none. So a holder that was stopped or cut
 * off for too long cannot overwrite what the next holder wrote. uvzk does not retry;
 * after UVZK_ECONNLOSS read the znodes to find out. It does not create parents.
 * UV_ENOTSUP: the hold's znode has a fixed name (UVZK_NODE_EPHEMERAL): a check cannot
 * tell it from the next holder's znode. UV_EINVAL: also no operations, more than 1000000
 * bytes of paths and data, or more than 1048575 with the ACLs and the hold's znodes.
 * UVZK_EPATH, UVZK_ENOTHELD, UV_ENOMEM, UV_EBUSY.
 *
 * Status 0: all operations were carried out, and every znode of the hold existed at that
 * moment. Nothing was carried out: UVZK_EDELETED: another client deleted a znode of the
 * hold, which no longer stands. UVZK_ENONODE, UVZK_ENODEEXISTS, UVZK_ENOTEMPTY,
 * UVZK_EBADVERSION, and those of a server: an operation was refused. result->failed_op is
 * its index, or SIZE_MAX if it is none of the caller's operations (the hold's own znode
 * may not be read) or not known. UVZK_ENOTSENT: no connection. UVZK_ETHROTTLED: the
 * server is overloaded. It is not known whether all operations or none were carried out:
 * UVZK_ECONNLOSS: the connection was lost, or the session has ended. UVZK_EAUTH,
 * UVZK_ECLOSED, UV_ENOMEM. */
UVZK_EXTERN int uvzk_hold_write(uvzk_hold_t *hold, uvzk_req_t *req,
                                const uvzk_write_op_t *ops, size_t count, uvzk_req_cb cb);

/* ------------------------------------------------ participants */

/* Lists the contenders that hold the lock or wait for it, in any process. For one half of
 * a read-write lock it lists the contenders of that half. For a semaphore it lists the
 * znodes of all leases, by number, then the znodes in the queue; one of these may stand
 * for several requests of a client. A request that is being granted at that moment may
 * appear as both. Errors of a request. UV_ENOTSUP: a multi lock; list its members.
 *
 * Status 0: req->result->paths has the full paths of the contenders' znodes in queue
 * order, without other children; count is 0 if the lock's path does not exist. For a lock
 * with a driver: first the znodes that get the lock, then the others, both in the
 * driver's order; uvzk calls the driver for that. With a fixed name: only the holder's
 * znode. Others as uvzk_client_read, except UVZK_ENONODE.
 *
 * result->holding goes by the order of the znodes alone: the first contender counts as a
 * holder even if its client does not know that yet. It misjudges two kinds of Curator's
 * contenders (docs/guide/coming-from-curator.md). */
UVZK_EXTERN int uvzk_lock_participants(uvzk_lock_t *lock, uvzk_req_t *req,
                                       uvzk_req_cb cb);

/* The participants have changed, or are known for the first time. status 0: result has
 * what uvzk_lock_participants or uvzk_election_participants would find. One call may
 * report several changes. status < 0: the participants are not known now, which is
 * reported once; result is empty. UVZK_ENOAUTH: the path, or a participant of an
 * election, may not be read. UVZK_EREJECTED, UVZK_EZOOKEEPER, UVZK_ELIMIT, UVZK_EAUTH,
 * UVZK_ENOTSENT. Without a connection the last report may be out of date. */
typedef void (*uvzk_participants_view_cb)(uvzk_participants_view_t *view, int status,
                                          const uvzk_result_t *result);

/* Shows who holds a lock and who waits for it, now and after each change, without being
 * one of them. uvzk watches the lock's path, and lists the contenders again when they
 * change, at most once in interval_ms (0: without a limit; at most 4294967295). All views
 * of a lock in a client share their listings. While a semaphore's request moves from the
 * queue to the leases, it may appear as both, or with an interval as neither. The lock's
 * close callback waits until its views are closed. If the client is closed, the view ends
 * without a callback. Errors as uvzk_lock_participants. */
UVZK_EXTERN int uvzk_participants_view_init(uvzk_lock_t *lock,
                                            uvzk_participants_view_t *view,
                                            uint64_t interval_ms,
                                            uvzk_participants_view_cb cb);

/* Shows who takes part in an election of this uvzk_election_kind_t, and with which id,
 * without taking part in it. uvzk reads each participant's znode once: it does not notice
 * when the data change later. UVZK_EPATH. Others as uvzk_participants_view_init. */
UVZK_EXTERN int uvzk_participants_view_init_election(uvzk_client_t *client,
                                                     uvzk_participants_view_t *view,
                                                     const char *path, unsigned kind,
                                                     uint64_t interval_ms,
                                                     uvzk_participants_view_cb cb);

/* Closes a view. Its first callback is no longer called. Errors of a close. */
UVZK_EXTERN int uvzk_participants_view_close(uvzk_participants_view_t *view,
                                             uvzk_participants_view_close_cb cb);

/* -------------------------------------------------- revocation */

/* Asks the owner of a znode to give it up: writes __REVOKE__ into the znode, as Curator's
 * Revoker does. Acquires with options.revoke_cb and Curator's revocable locks notice the
 * message. node_path, errors and statuses are as of uvzk_client_read. Status 0: the
 * message was written; whether a holder reads it and acts on it is not known. */
UVZK_EXTERN int uvzk_client_revoke(uvzk_client_t *client, uvzk_req_t *req,
                                   const char *node_path, uvzk_req_cb cb);

/* ------------------------------------- trace in a znode's data */

/* Finds the traceparent in a znode's data (options.traceparent of an acquire): the last
 * line of the data, "traceparent: 00-...", without a newline. Returns 1 and writes the 55
 * characters and a NUL to `text`, which has UVZK_TRACEPARENT_SIZE bytes. Returns 0, and
 * writes nothing, if the data have none. Any thread may call it. */
#define UVZK_TRACEPARENT_SIZE 56
UVZK_EXTERN int uvzk_traceparent_of(const void *data, size_t length, char *text);

/* ------------------------------------------------------ locker */

/* The lock is held. Do the work, in the callback or later, then call uvzk_locker_done. */
typedef void (*uvzk_locker_locked_cb)(uvzk_locker_t *locker);

/* FINAL. 0: locked_cb was called, and the lock was released after uvzk_locker_done. If
 * locked_cb was not called, status is as in uvzk_hold_acquire_cb. If it was called,
 * status tells how the hold was lost before uvzk_locker_done, as in uvzk_hold_lost_cb, or
 * how the release failed, as in uvzk_hold_release_cb. */
typedef void (*uvzk_locker_unlocked_cb)(uvzk_locker_t *locker, int status);

/* Acquires a lock, calls locked_cb, and releases the lock when the work is done (Locker).
 * It works with every recipe. Both callbacks are required. The options' callbacks receive
 * &locker->hold, whose `data` is the caller's too; uvzk_hold_cancel(&locker->hold) stops
 * waiting. Errors as uvzk_lock_acquire. */
UVZK_EXTERN int uvzk_lock_run(uvzk_lock_t *lock, uvzk_locker_t *locker,
                              const uvzk_acquire_options_t *options,
                              uvzk_locker_locked_cb locked_cb,
                              uvzk_locker_unlocked_cb unlocked_cb);

/* Releases the lock of a locker because the work is done. UV_EINVAL. UVZK_ENOTHELD: not
 * granted yet, lost, or done before; unlocked_cb was or will be called all the same. */
UVZK_EXTERN int uvzk_locker_done(uvzk_locker_t *locker);

/* ----------------------------------------------------------- advanced: futures
 *
 *     static uvzk_mutex_t replicas[5];
 *     static uvzk_future_t parts[5], three;
 *
 *     static void have_three(uvzk_future_t *future, int status, void *context)
 *     {
 *         report("three of five", status); // the other two are cancelled
 *     }
 *     static int acquire_three(void)
 *     {
 *         uvzk_future_t *five[5];
 *         int status = 0;
 *
 *         for (int i = 0; i < 5 && status == 0; i++) {
 *             five[i] = &parts[i]; // call uvzk_future_drop for each of them later
 *             status = uvzk_lock_acquire_future(&replicas[i], &parts[i], NULL, lost);
 *         }
 *         if (status == 0) {
 *             status = uvzk_future_n_of(&three, five, 5, 3);
 *         }
 *         return status < 0 ? status : uvzk_future_then(&three, have_three, NULL);
 *     } */

/* A future holds the outcome of one asynchronous call, in place of a callback. The caller
 * can query it at any time, wait for it several times, cancel it and combine it with
 * others.
 *
 *     pending ---> done, with the status that the callback would have received
 *
 * For a call with a request, it owns the request (uvzk_future_req); it is attached to a
 * close or a release (uvzk_future_end); and uvzk_lock_acquire, uvzk_lock_run and the wait
 * for leadership have functions with a future (uvzk_..._future). These return the same
 * errors as the calls themselves; UV_EINVAL also if the future is NULL, and UV_EBUSY also
 * if the future is in use. Drop each future once if its call returned 0: pending or done,
 * before or after its client is closed, in any callback, in any order. */

/* The future is done. Several callbacks may wait for it; each is called once, in the
 * order in which they were added, never from inside a call. It may drop the future. */
typedef void (*uvzk_future_cb)(uvzk_future_t *future, int status, void *context);

/* Returns the request of a future, for any function that takes a request and a callback,
 * together with uvzk_future_complete:
 *
 *     uvzk_client_read(&client, uvzk_future_req(&future), path, uvzk_future_complete);
 *
 * If the call returns 0, the future is pending. If it is refused, the future is not in
 * use. When the future is done, req->result has what the call has found, until the future
 * is dropped; NULL if the future was cancelled. uvzk_future_req never returns NULL. If
 * there is no request to return, the call is refused: UV_ENOMEM; UV_EBUSY: the future is
 * in use; UV_EINVAL: the future is NULL. */
UVZK_EXTERN uvzk_req_t *uvzk_future_req(uvzk_future_t *future);

/* Completes the future whose request this is: the callback to pass with uvzk_future_req.
 * A call with a future's request and another callback is refused with UV_EINVAL. */
UVZK_EXTERN void uvzk_future_complete(uvzk_req_t *req, int status);

/* Calls cb when the future is done; if it is done already, soon, from the loop.
 * UV_EINVAL. UVZK_ESTATE: not in use. UV_ENOMEM. UVZK_ECLOSED: the future is done and its
 * client is closed, so cb could not be called. */
UVZK_EXTERN int uvzk_future_then(uvzk_future_t *future, uvzk_future_cb cb, void *context);

/* Returns the status of a future: that of its call, or UV_EAGAIN while it is pending.
 * UV_EINVAL. UVZK_ESTATE: not in use. */
UVZK_EXTERN int uvzk_future_status(const uvzk_future_t *future);

/* Cancels a future: it is done at once, with UV_ECANCELED, and its callbacks are called
 * soon. A pending acquire is withdrawn, as by uvzk_hold_cancel. Other calls cannot be
 * undone; only their outcome is ignored. UV_EINVAL. UVZK_ESTATE: done, or not in use. */
UVZK_EXTERN int uvzk_future_cancel(uvzk_future_t *future);

/* Attaches a future to a close or a release that is under way, after the function that
 * has begun it has returned 0. The future is done with its status, after its callback.
 * handle: the hold, lock, half of a read-write lock, shared value or count, barrier,
 * atomic long, election, persistent node, group member, view or client. Its memory is in
 * use until then, whether the future is dropped or not. UVZK_ESTATE: no close or release
 * of it is under way. UV_EBUSY: the future is in use, or another future is attached
 * already. UV_EINVAL. UV_ENOMEM: the close or the release goes on. */
UVZK_EXTERN int uvzk_future_end(uvzk_future_t *future, void *handle);

/* Sets a deadline: a future that is still pending timeout_ms from now ends with
 * UV_ETIMEDOUT, as if it were cancelled. Replaces an earlier deadline. UV_EINVAL.
 * UVZK_ESTATE: done, or not in use. UVZK_ECLOSED: its client is closed. */
UVZK_EXTERN int uvzk_future_deadline(uvzk_future_t *future, uint64_t timeout_ms);

/* Drops a future. Its callbacks are no longer called. If it is pending, it is cancelled.
 * If it has a hold, the hold is released in the background and lost_cb is no longer
 * called. The caller may reuse or free the struct at once. Has no effect if the future is
 * not in use. */
UVZK_EXTERN void uvzk_future_drop(uvzk_future_t *future);

/* ----------------------------------------------- combinations */

/* Combine futures: all of the parts, any one of them, or n of them. The combination is
 * done with 0 as soon as enough parts are done with 0; the other parts are then
 * cancelled. As soon as too many parts have failed, the combination is done with the
 * status of the first part that failed; then all parts are cancelled, and what they have
 * acquired is released. The same happens if the combination is cancelled, times out, or
 * is dropped while pending.
 *
 * The parts are futures of one client, pending or done, combinations included. Each may
 * be in one pending combination only. The caller still drops the parts. A part that is
 * dropped before the combination is done counts as failed with UV_ECANCELED, one whose
 * hold is lost before that as failed with the reason of the loss, and one that no longer
 * had its hold when it was combined as failed with UVZK_ENOTHELD.
 *
 * UV_EINVAL: also no parts, n is 0 or more than count, parts of several clients or of the
 * client's own close, more than 64 nested combinations. UVZK_ESTATE: a part is not in
 * use. UV_EBUSY: the future is in use, or a part belongs to another combination or is
 * named twice. UVZK_ECLOSED: the parts' client is closed. UV_ENOMEM. */
UVZK_EXTERN int uvzk_future_all_of(uvzk_future_t *future, uvzk_future_t *const *parts,
                                   size_t count);
UVZK_EXTERN int uvzk_future_any_of(uvzk_future_t *future, uvzk_future_t *const *parts,
                                   size_t count);
UVZK_EXTERN int uvzk_future_n_of(uvzk_future_t *future, uvzk_future_t *const *parts,
                                 size_t count, size_t n);

/* Returns which part of a successful combination was done first, second, ...: the index
 * of the part for place 0, 1, ...; SIZE_MAX beyond the last, and for any other future. */
UVZK_EXTERN size_t uvzk_future_winner(const uvzk_future_t *future, size_t place);

/* ----------------------------------- of acquires, runs and leaders */

/* Starts to acquire a lock, with a future. The future owns the hold, whose `data` is the
 * future. lost_cb (required) is called if the hold is lost; drop the future then too. */
UVZK_EXTERN int uvzk_lock_acquire_future(uvzk_lock_t *lock, uvzk_future_t *future,
                                         const uvzk_acquire_options_t *options,
                                         uvzk_hold_lost_cb lost_cb);

/* Returns the hold of such a future, for every function that takes a hold. Do not use the
 * hold after the future is dropped. NULL: not granted, released, lost or cancelled. */
UVZK_EXTERN uvzk_hold_t *uvzk_future_hold(const uvzk_future_t *future);

/* Acquires a lock, calls locked_cb, and releases the lock, with a future. locked_cb
 * receives a locker that the future owns, whose `data` is the future. Call
 * uvzk_locker_done when the work is done. If the future is cancelled or dropped while the
 * work goes on, the lock is still held until uvzk_locker_done. */
UVZK_EXTERN int uvzk_lock_run_future(uvzk_lock_t *lock, uvzk_future_t *future,
                                     const uvzk_acquire_options_t *options,
                                     uvzk_locker_locked_cb locked_cb);

/* Waits until this participant leads, with a future. The future is done with 0 when
 * leader_cb has been called, or soon if it leads already. The leader may be deposed again
 * before the future's callback runs: call uvzk_election_is_leader. UVZK_ECLOSED. Codes
 * that are not retriable: as in uvzk_election_error_cb. The call returns UVZK_ESTATE if
 * the participant is not queued and uvzk will not queue it again. */
UVZK_EXTERN int uvzk_election_lead_future(uvzk_election_t *election,
                                          uvzk_future_t *future);

/* --------------------------------------------------------- advanced: memory */

typedef void *(*uvzk_malloc_fn)(size_t size);
typedef void *(*uvzk_realloc_fn)(void *memory, size_t size);
typedef void *(*uvzk_calloc_fn)(size_t count, size_t size);
typedef void (*uvzk_free_fn)(void *memory);

/* Replaces the allocator, as uv_replace_allocator does. Call it before any other function
 * of uvzk. The functions must be thread-safe: the ZooKeeper client's threads call them
 * too. UV_EINVAL: one of the four is NULL. */
UVZK_EXTERN int uvzk_replace_allocator(uvzk_malloc_fn malloc_fn,
                                       uvzk_realloc_fn realloc_fn,
                                       uvzk_calloc_fn calloc_fn, uvzk_free_fn free_fn);

#ifdef __cplusplus
}
#endif
#endif /* UVZK_H */
