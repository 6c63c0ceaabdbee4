/* uvzk: Apache Curator's lock recipes for C programs on a libuv loop.
 *
 * Threads    Every function here is called on the loop's thread, and every
 *            callback runs on it. uvzk makes it wait for no server.
 * Outcome    A call that returns < 0 has done nothing and calls nothing back.
 *            A call that returns 0 calls back exactly once, later, never from
 *            inside the call.
 * Re-entry   Any callback may start, cancel, release or close anything,
 *            its own object included.
 * Memory     The caller allocates clients, locks, holds and requests, fills
 *            them with zeros before their first use, and neither moves nor
 *            frees them before their last callback has begun (marked FINAL
 *            below), a future before it is dropped.
 *            Strings and bytes handed in are copied before the call returns;
 *            what a callback is handed is valid until that callback returns.
 * Errors     0 or a negative code: libuv's own (UV_ECANCELED, UV_ETIMEDOUT,
 *            UV_EINVAL, UV_ENOMEM, UV_EBUSY), else one of UVZK_E*.
 * Time       Milliseconds. Moments are on CLOCK_BOOTTIME, which also runs
 *            while the machine is suspended.
 * Names      uvzk_<noun>_<verb>, the noun's object first, as in uvzk_lock_acquire;
 *            an init has its parent first, as libuv's. Then what takes the
 *            answer (a hold, a request, a future), then what is asked, then the
 *            callbacks. uvzk_<noun>_<event>_cb is called with that noun; a
 *            request's only callback is uvzk_<request>_cb.
 *
 * Each group below begins with an example; all of them together are one program. */
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

/* The version of this header. */
#define UVZK_VERSION_MAJOR 0
#define UVZK_VERSION_MINOR 2
#define UVZK_VERSION_PATCH 0

/* The version of the library that runs, "major.minor.patch"; static text. */
UVZK_EXTERN const char *uvzk_version(void);

/* -------------------------------------------------------------------- errors
 *
 *     static void report(const char *what, int status)
 *     {
 *         printf("%s: %s\n", what, status == 0 ? "done" : uvzk_strerror(status));
 *     } */

/* Codes of uvzk's own, clear of libuv's and of the ZooKeeper client's. Their
 * values never change; new ones are appended. */
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
    XX(ELOST, -7017, "the hold was lost before")                              \
    XX(ENOTHELD, -7018, "the request does not hold the lock")                 \
    XX(EPATH, -7019, "malformed znode path")                                  \
    XX(ESTATE, -7020, "not allowed in this state")                            \
    XX(EEXHAUSTED, -7021, "the path's sequence counter is worn out")          \
    XX(ELIMIT, -7022, "a session's budget of znodes or watches is spent")     \
    XX(EPROOF, -7023, "ownership could not be proved in time")                \
    XX(EDELETED, -7024, "somebody else deleted the lock's znode")             \
    XX(EDEADLOCK, -7025, "the wait could never end")                          \
    XX(EDATA, -7026, "the znode's data are no such value")                    \
    XX(EUNREACHABLE, -7027, "no connection when the wait ran out")            \
    XX(ENOTQUEUED, -7028, "no place in the queue when the wait ran out")      \
    XX(EDIVERGED, -7029, "the server shows a znode that was deleted")

enum uvzk_errno {
#define XX(name, value, text) UVZK_##name = (value),
    UVZK_ERRNO_MAP(XX)
#undef XX
        UVZK_ERRNO_END = -7999
};

/* A sentence for a code of ours or of libuv's, and its name ("UVZK_ELOST").
 * Static text for every int, known or not; never allocates. */
UVZK_EXTERN const char *uvzk_strerror(int code);
UVZK_EXTERN const char *uvzk_err_name(int code);

/* Why the last call on this thread that returned this code was refused: a sentence that
 * names the argument or field ("options.tick_ms: ..."). Static text; that of uvzk_strerror
 * if no call was refused so for an argument's sake. Meant to be asked right after the
 * call. */
UVZK_EXTERN const char *uvzk_refusal(int code);

/* ------------------------------------------------------------------ memory */

typedef void *(*uvzk_malloc_fn)(size_t size);
typedef void *(*uvzk_realloc_fn)(void *memory, size_t size);
typedef void *(*uvzk_calloc_fn)(size_t count, size_t size);
typedef void (*uvzk_free_fn)(void *memory);

/* Replaces the allocator, as uv_replace_allocator does. Call it before
 * anything else of uvzk; all four are needed, else UV_EINVAL. They are called
 * on other threads than the loops', too, several at a time: answers are copied
 * on the ZooKeeper client's threads. */
UVZK_EXTERN int uvzk_replace_allocator(uvzk_malloc_fn malloc_fn,
                                       uvzk_realloc_fn realloc_fn,
                                       uvzk_calloc_fn calloc_fn, uvzk_free_fn free_fn);

/* -------------------------------------------------------------------- types */

/* Shells that the caller allocates: small, frozen, their state behind impl. */
typedef struct uvzk_client_s uvzk_client_t;             /* CuratorFramework */
typedef struct uvzk_lock_s uvzk_lock_t;                 /* any recipe below */
typedef uvzk_lock_t uvzk_mutex_t;                       /* InterProcessMutex */
typedef uvzk_lock_t uvzk_semaphore_t;                   /* InterProcessSemaphoreV2 */
typedef uvzk_lock_t uvzk_semaphore_mutex_t;             /* InterProcessSemaphoreMutex */
typedef uvzk_lock_t uvzk_multilock_t;                   /* InterProcessMultiLock */
typedef struct uvzk_rwlock_s uvzk_rwlock_t;             /* InterProcessReadWriteLock */
typedef struct uvzk_hold_s uvzk_hold_t;                 /* attempt, then hold */
typedef struct uvzk_locker_s uvzk_locker_t;             /* Locker */
typedef struct uvzk_verify_s uvzk_verify_t;             /* one question */
typedef struct uvzk_write_s uvzk_write_t;               /* one guarded write */
typedef struct uvzk_participants_s uvzk_participants_t; /* one listing */
typedef struct uvzk_revoke_s uvzk_revoke_t;             /* one plea */
typedef struct uvzk_read_s uvzk_read_t;                 /* one look at a znode */
typedef struct uvzk_shared_value_s uvzk_shared_value_t; /* SharedValue */
typedef struct uvzk_shared_count_s uvzk_shared_count_t; /* SharedCount */
typedef struct uvzk_set_s uvzk_set_t;                   /* one set of either */
typedef struct uvzk_future_s uvzk_future_t;             /* what becomes of one call */

#define UVZK_SHELL_FIELDS                                                        \
    void *data;       /* yours; uvzk neither reads nor writes it */              \
    void *impl;       /* private; NULL before the first use and after the end */ \
    void *reserved[2] /* private */

struct uvzk_client_s {
    UVZK_SHELL_FIELDS;
};
struct uvzk_lock_s {
    UVZK_SHELL_FIELDS;
};
struct uvzk_rwlock_s { /* two locks */
    uvzk_lock_t read;
    uvzk_lock_t write;
};
struct uvzk_hold_s {
    UVZK_SHELL_FIELDS;
};
struct uvzk_revoke_s {
    UVZK_SHELL_FIELDS;
};
struct uvzk_verify_s {
    UVZK_SHELL_FIELDS;
};
struct uvzk_participants_s {
    UVZK_SHELL_FIELDS;
};
struct uvzk_shared_value_s {
    UVZK_SHELL_FIELDS;
};
struct uvzk_shared_count_s {
    UVZK_SHELL_FIELDS;
    uvzk_shared_value_t value; /* private */
};
struct uvzk_set_s {
    UVZK_SHELL_FIELDS;
};
struct uvzk_read_s {
    UVZK_SHELL_FIELDS;
};
struct uvzk_write_s {
    UVZK_SHELL_FIELDS;
};
struct uvzk_future_s {
    UVZK_SHELL_FIELDS;
};
struct uvzk_locker_s {
    UVZK_SHELL_FIELDS;
    uvzk_hold_t hold; /* for its token, its path, to cancel it, ...; it is released
                            by uvzk_locker_done alone */
};

/* -------------------------------------------------------------------- client
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

/* Curator's retry policies (org.apache.curator.retry). */
typedef enum {
    UVZK_RETRY_EXPONENTIAL = 0, /* ExponentialBackoffRetry: base_ms *
                                   max(1, random in [0, 2^(k+1) - 1]), at most
                                   max_sleep_ms, at most max_retries (<= 29) */
    UVZK_RETRY_N_TIMES,         /* RetryNTimes: base_ms, max_retries times */
    UVZK_RETRY_UNTIL_ELAPSED,   /* RetryUntilElapsed: base_ms, until
                                   max_elapsed_ms have passed */
    UVZK_RETRY_FOREVER          /* RetryForever: base_ms, without end */
} uvzk_retry_kind_t;

typedef struct uvzk_retry_policy_s {
    uint32_t kind;           /* uvzk_retry_kind_t */
    uint32_t base_ms;        /* 0 only in UVZK_RETRY_N_TIMES */
    uint32_t max_sleep_ms;   /* 0 = 2147483647, Curator's default */
    uint32_t max_retries;    /* RetryOneTime is N_TIMES with 1 */
    uint64_t max_elapsed_ms; /* UVZK_RETRY_UNTIL_ELAPSED only */
} uvzk_retry_policy_t;

/* What a client tells of its connection (Curator's ConnectionState). */
typedef enum {
    UVZK_STATE_LATENT = 0,  /* not started, or never connected yet */
    UVZK_STATE_CONNECTED,   /* the first connection of the client */
    UVZK_STATE_SUSPENDED,   /* no connection; the session may still live */
    UVZK_STATE_RECONNECTED, /* connected again, in the same session if LOST was
                               not told since, else perhaps in a new one */
    UVZK_STATE_LOST,        /* the session is gone, or must be taken for gone: no
                               hold in it is valid any more, and each is told of its
                               loss in the same turn. Not lost: what is held by
                               persistent znodes, or in other sessions of the client */
    UVZK_STATE_READ_ONLY,   /* never told: read-only connections are not used,
                               the C client answers wrongly on them */
    UVZK_STATE_CLOSED       /* closing or closed */
} uvzk_client_state_t;

/* How ownership is proved while something is held. */
typedef enum {
    UVZK_PROOF_QUORUM = 0, /* a request that a quorum commits; the default */
    UVZK_PROOF_SYNC,       /* sync(): cheaper, but a leader cut off with a
                              minority may still answer it */
    UVZK_PROOF_NONE        /* Curator's way: connected means owned. A follower
                              cut off from its leader makes two holders. */
} uvzk_proof_t;

/* Who may do what with a znode; an ACL is an array of them. */
#define UVZK_PERM_READ 1U
#define UVZK_PERM_WRITE 2U
#define UVZK_PERM_CREATE 4U
#define UVZK_PERM_DELETE 8U
#define UVZK_PERM_ADMIN 16U
#define UVZK_PERM_ALL 31U

typedef struct uvzk_acl_s {
    uint32_t perms;     /* UVZK_PERM_*, or-ed */
    const char *scheme; /* "world", "digest", "auth", "ip", ... */
    const char *id;     /* "anyone", ... */
} uvzk_acl_t;

/* Entries of an ACL, for common arrangements.
 *
 *     OURS             whoever has this client's credentials (auth_scheme), and nobody else
 *     MEMBER(...)      one more identity: of "digest" the id is "name:" and the base64 of the
 *                      SHA-1 of "name:password", so that no password is needed for it
 *     ANYONE_LOOKS     everybody may see who holds and who waits, and disturb nobody
 *     ANYONE           the default
 *
 * A znode is deleted by right of its *directory's* ACL: as long as that is made with OURS and
 * MEMBERs, nobody else takes a lock away. */
#define UVZK_ACL_OURS             \
    {                             \
        UVZK_PERM_ALL, "auth", "" \
    }
#define UVZK_ACL_MEMBER(scheme, id)   \
    {                                 \
        UVZK_PERM_ALL, (scheme), (id) \
    }
#define UVZK_ACL_ANYONE_LOOKS             \
    {                                     \
        UVZK_PERM_READ, "world", "anyone" \
    }
#define UVZK_ACL_ANYONE                  \
    {                                    \
        UVZK_PERM_ALL, "world", "anyone" \
    }

/* Assumed: nobody with ADMIN takes READ from a client of a lock at the moment in which the
 * lock's directory is removed, or a waiter's own znode deleted by hand: the server tells
 * nothing of either then, and its silence is believed for a session timeout.
 *
 * Whoever waits behind a contender's znode must be allowed to READ it, and so must its
 * own client: it is read, checked and watched, and from ZooKeeper 3.8.4 and 3.9.2 on even
 * exists needs READ. Who may not ends with UVZK_ENOAUTH, or is told of what has happened
 * there a session timeout late. */

/* What ACL the znode at this path is to be made with (Curator's ACLProvider), or NULL for
 * that in the options. Asked whenever a znode is to be made, for parents with their own
 * paths; the path has the namespace, and of a contender's znode, a lease included, it
 * ends before the number. What is returned must stay as it is until the client is
 * closed. It may be called from inside any function of uvzk and must call none. If it
 * is no ACL, whoever needs the znode ends with UVZK_EINVALIDACL. */
typedef const uvzk_acl_t *(*uvzk_client_acl_cb)(uvzk_client_t *client, const char *path,
                                                size_t *count);

/* How urgent a line of log is. */
typedef enum {
    UVZK_LOG_ERROR = 1,
    UVZK_LOG_WARN,
    UVZK_LOG_INFO,
    UVZK_LOG_DEBUG
} uvzk_log_level_t;

/* Called after every change of state; and with UVZK_STATE_LATENT again when the client
 * has not got its first connection for 5 s, 10 s more, 20 s, and so on, every 5 minutes in
 * the end. The log then has a line with the last reason, as uvzk_client_last_error; so it
 * has, as often, when a connection was lost and does not come back. */
typedef void (*uvzk_client_state_cb)(uvzk_client_t *client, uvzk_client_state_t state);

/* One line without a newline, bytes below 0x20 and 0x7f escaped. Lines are told soon,
 * in order, none after the client's close; 256 lines and 65536 bytes wait at most, and
 * when some were dropped a line says how many. */
typedef void (*uvzk_client_log_cb)(uvzk_client_t *client, int level, const char *line);

/* The same, and which part of the client has something to say: "session", "search" (for
 * servers), "directory" (of a lock), "proof" (of ownership), "driver" (of a lock), "log", or
 * "zookeeper", the ZooKeeper client in which it came up; more may come. Static text. */
typedef void (*uvzk_client_log_line_cb)(uvzk_client_t *client, int level,
                                        const char *module, const char *text);

/* The steps of a client, for uvzk_client_trace_cb; more may come. */
typedef enum uvzk_trace_step {
    UVZK_TRACE_ACQUIRE = 1, /* an acquire has begun */
    UVZK_TRACE_GRANTED,     /* its callback is about to be called; took_ms: since then */
    UVZK_TRACE_REFUSED,     /* likewise, with this status */
    UVZK_TRACE_RELEASE,     /* a release has begun; took_ms: it was held for so long */
    UVZK_TRACE_RELEASED,    /* the znode is known to be gone; took_ms: since then */
    UVZK_TRACE_LOST,        /* a hold is lost, with this status; took_ms: as RELEASE */
    UVZK_TRACE_REQUEST,     /* a request leaves */
    UVZK_TRACE_REPLY,       /* it is answered, with this status; took_ms: since then */
    UVZK_TRACE_STATE        /* status is the client's new uvzk_client_state_t */
} uvzk_trace_step_t;

typedef struct uvzk_trace_s {
    size_t size;   /* of what the library knows; it may grow, at its end */
    uint32_t step; /* uvzk_trace_step_t */
    int status;
    uint64_t at; /* CLOCK_BOOTTIME, ms */
    uint64_t took_ms;
    const uvzk_hold_t *hold; /* ACQUIRE to LOST; else NULL */
    const char *path;        /* of the lock, with the namespace; of the request: NULL if
                                it has several */
    const char *request;     /* REQUEST, REPLY: "create", "multi", ...; else NULL */
} uvzk_trace_t;

/* Called at each step, in the midst of it: it may write down what it is told, and must
 * call no function of uvzk. All is lent until it returns. */
typedef void (*uvzk_client_trace_cb)(uvzk_client_t *client, const uvzk_trace_t *event);

/* FINAL for the client. */
typedef void (*uvzk_client_close_cb)(uvzk_client_t *client);

/* What a client is made with. It may grow, at its end. Begin with
 * uvzk_client_options_init(&options); zero in any field means the default. */
typedef struct uvzk_client_options_s {
    size_t size;                 /* set by uvzk_client_options_init */
    const char *hosts;           /* "host:port,host:port/chroot"; required */
    uint32_t session_timeout_ms; /* asked of the server, which may clamp it;
                                    500 to 86400000; 60000, Curator's default */
    uint32_t tick_ms;            /* an upper bound of the servers' tickTime,
                                    for the proof of ownership;
                                    10 to 86400000; 2000 */
    const char *ns;              /* namespace: "app" puts every path below
                                    "/app"; none by default */
    const char *auth_scheme;     /* "digest", ...; none by default */
    const void *auth;            /* credential, auth_length <= 1000000 bytes */
    size_t auth_length;
    const uvzk_acl_t *acl;      /* of every znode made, parents included;
                                   world:anyone:all by default */
    size_t acl_count;           /* at most 40000 bytes of schemes, ids and 12 each */
    uvzk_retry_policy_t retry;  /* when a waiter's znode was deleted under it,
                                   and for a host name that does not resolve;
                                   all zeros: exponential, 1000 ms, 3 times */
    const void *default_data;   /* bytes of lock znodes; NULL: the local
                                   address towards the servers as text */
    size_t default_data_length; /* <= 1000000 */
    uint32_t proof;             /* uvzk_proof_t */
    uint32_t close_wait_ms;     /* how long close waits for releases under way
                                   before it ends the session; 1000 */
    uvzk_client_state_cb state_cb;
    uvzk_client_log_cb log_cb;           /* silent by default */
    uvzk_client_acl_cb acl_cb;           /* `acl` for all by default */
    uvzk_client_log_line_cb log_line_cb; /* if it is set log_cb is not called */
    uvzk_client_trace_cb trace_cb;       /* none by default */
    uint32_t metrics;  /* 1: uvzk_client_metrics counts from the beginning
                                            on, else since it is first called */
    const char *tls;   /* "CA.pem,CERTIFICATE.pem,KEY.pem": a place for TLS,
                         which the ZooKeeper client of Debian is built without:
                         refused so far with UV_ENOTSUP, SECURITY.md has another
                         way; NULL: plain text */
    uint32_t sessions; /* ZooKeeper sessions, at most 32; 0 is 1. See below */
} uvzk_client_options_t;

#define uvzk_client_options_init(options) \
    uvzk_client_options_init_size((options), sizeof(*(options)))
UVZK_EXTERN void uvzk_client_options_init_size(uvzk_client_options_t *options,
                                               size_t size);

/* Several sessions (options.sessions): a session can have about 13,000 znodes, since its end
 * must name them all in one transaction, and so many times that has a client with more of
 * them. Each is a connection of its own. Every path has its home in one session, the same in
 * each process that has as many. When a session's budget is spent, new acquires of mutexes,
 * and of multi locks of mutexes, are made in the next one that has room; they stand in line
 * behind the others, as another process's would. Other recipes, and mutexes with a cohort,
 * stay in their path's home, and so does a shared value; a multi lock of mutexes lives in the
 * home of its first path.
 *
 * The client's state is the worst of its sessions', in the order LOST, SUSPENDED, LATENT,
 * connected: it is CONNECTED once all of them are. When one of them is lost, so is what was
 * held or queued in that one, and nothing else: each hold is told by its own callbacks, and
 * valid by its own session's proof. uvzk_client_session_id and uvzk_client_session_timeout
 * are of the first, uvzk_client_last_error is the latest of all. */

/* Makes a client.
 * Copies the options; sends nothing. Once it returns 0, a close is owed.
 * UV_EINVAL: NULL, no hosts, unknown values, times out of bounds. UVZK_EPATH: malformed
 * chroot or namespace. UV_ENOTSUP: tls. UV_ENOMEM. UV_EBUSY: the client is in use. */
UVZK_EXTERN int uvzk_client_init(uv_loop_t *loop, uvzk_client_t *client,
                                 const uvzk_client_options_t *options);

/* Begins to connect. Names are looked up in /etc/hosts and at the name servers of
 * /etc/resolv.conf, not by the plugins of /etc/nsswitch.conf, and again while there
 * is no connection; addresses that are no ZooKeeper server are told to log_cb and
 * passed over. None of this waits on the loop's thread or in libuv's thread pool:
 * threads of the library's own open and close sessions. Acquires may be started at
 * once: they wait for the connection. UVZK_ESTATE: started before, or closing. */
UVZK_EXTERN int uvzk_client_start(uvzk_client_t *client);

/* Ends everything, in any state: pending acquires end with UVZK_ECLOSED, holds
 * are lost with UVZK_ECLOSED, releases under way are given close_wait_ms, then
 * the session is closed off the loop's thread, and cb (may be NULL) comes
 * last. Mutexes of the client that are still open are closed with it, without
 * a callback of their own. UVZK_ESTATE: closing, or not initialised.
 *
 * A client has handles of its own on the loop. A program may close them with
 * all others that uv_walk shows, if uv_is_closing does not say that they are
 * closing already: until uvzk_client_close nothing of the client is called
 * back then. The close is owed all the same, before that or after it, and the
 * loop must be run until its callback. */
UVZK_EXTERN int uvzk_client_close(uvzk_client_t *client, uvzk_client_close_cb cb);

/* Whether the client keeps its loop alive, as uv_ref and uv_unref do for a
 * handle; both may be called again. At first it does, while it closes it does
 * in any case. Nothing happens if the client is not initialised, or closing. */
UVZK_EXTERN void uvzk_client_ref(uvzk_client_t *client);
UVZK_EXTERN void uvzk_client_unref(uvzk_client_t *client);

/* What state_cb has been told last. */
UVZK_EXTERN uvzk_client_state_t uvzk_client_state(const uvzk_client_t *client);

/* The session's id as ZooKeeper's ephemeralOwner shows it; 0 without one. */
UVZK_EXTERN int64_t uvzk_client_session_id(const uvzk_client_t *client);

/* The session timeout the server granted, ms; 0 before the first connection. */
UVZK_EXTERN uint32_t uvzk_client_session_timeout(const uvzk_client_t *client);

/* The last reason why there was no connection. It may grow, at its end. Begin with
 * uvzk_client_error_init(&error). */
typedef struct uvzk_client_error_s {
    size_t size;         /* set by uvzk_client_error_init */
    int code;            /* 0: there was none yet. UV_ECONNREFUSED and others of sockets;
                            UV_ETIMEDOUT: no answer; UV_EAI_NONAME and others of names;
                            UV_ECONNRESET: it hung up, without a quorum or no ZooKeeper;
                            UV_EPROTO: no ZooKeeper server; UV_EAGAIN: there is no session
                            yet; UVZK_ECONNLOSS, UVZK_EEXPIRED, UVZK_EAUTH; UVZK_EDIVERGED:
                            it shows what was deleted, and was left for another */
    const char *address; /* whose: "10.0.0.1:2181", or a host's name; "": nobody's */
    const char *text;    /* in words */
    uint64_t at;         /* when, CLOCK_BOOTTIME, ms */
} uvzk_client_error_t;

#define uvzk_client_error_init(error) \
    uvzk_client_error_init_size((error), sizeof(*(error)))
UVZK_EXTERN void uvzk_client_error_init_size(uvzk_client_error_t *error, size_t size);

/* The last reason why there was no connection.
 * It stays known once there is a connection again. The texts are lent until you return to
 * the loop. UV_EINVAL, UVZK_ESTATE (not initialised). */
UVZK_EXTERN int uvzk_client_last_error(const uvzk_client_t *client,
                                       uvzk_client_error_t *error);

/* One session of a client, as uvzk_client_each_session shows them. */
typedef struct uvzk_session_entry_s {
    size_t size;                 /* of what the library knows; it may grow, at its end */
    uint32_t number;             /* from 0 on */
    uint32_t state;              /* uvzk_client_state_t */
    int64_t session_id;          /* 0: none */
    uint32_t session_timeout_ms; /* 0 before the first connection */
    uint64_t contenders;         /* znodes: pending, held or being withdrawn */
    uint64_t node_bytes, node_bytes_most;   /* of their paths, of how much there may be */
    uint64_t watches;                       /* armed */
    uint64_t watch_bytes, watch_bytes_most; /* likewise */
    uvzk_client_error_t error; /* as uvzk_client_last_error, of this session */
} uvzk_session_entry_t;

/* All is lent until it returns. It may ask, but must change nothing. */
typedef void (*uvzk_session_entry_cb)(uvzk_client_t *client,
                                      const uvzk_session_entry_t *entry, void *context);

/* Shows each session of the client, one if options.sessions is not set. UV_EINVAL,
 * UVZK_ESTATE (not initialised). */
UVZK_EXTERN int uvzk_client_each_session(const uvzk_client_t *client,
                                         uvzk_session_entry_cb cb, void *context);

/* What the client has cost so far, for benchmarks and for leak checks. */
typedef struct uvzk_client_stats_s {
    uint64_t requests;   /* sent to the server, proofs included */
    uint64_t listings;   /* of those, getChildren */
    uint64_t proofs;     /* of those, proofs of ownership */
    uint64_t contenders; /* alive now: pending, held or being withdrawn */
    uint64_t watches;    /* armed now */
    uint64_t foreign;    /* children seen under lock paths that are no
                            contender's, in the last listing of each path */
} uvzk_client_stats_t;
UVZK_EXTERN void uvzk_client_stats(const uvzk_client_t *client,
                                   uvzk_client_stats_t *stats);

/* How long something took. The first bucket counts what took 0 ms, the i-th after it
 * 2^(i-1) to 2^i - 1 ms, the last one all that took longer. */
#define UVZK_HISTOGRAM_BUCKETS 24
typedef struct uvzk_histogram_s {
    uint64_t count, sum_ms;
    uint64_t buckets[UVZK_HISTOGRAM_BUCKETS];
} uvzk_histogram_t;

/* What a client is and has done. It may grow, at its end. Begin with
 * uvzk_client_metrics_init(&metrics). */
typedef struct uvzk_client_metrics_s {
    size_t size; /* set by uvzk_client_metrics_init */
    /* As things stand: */
    uint32_t state;                         /* uvzk_client_state_t */
    uint32_t session_timeout_ms;            /* 0 before the first connection */
    int64_t session_id;                     /* 0: none */
    uint64_t locks;                         /* open */
    uint64_t waiting, held;                 /* acquires pending; holds */
    uint64_t contenders;                    /* znodes: pending, held or being withdrawn */
    uint64_t node_bytes, node_bytes_most;   /* of their paths, of how much there may be */
    uint64_t watches;                       /* armed */
    uint64_t watch_bytes, watch_bytes_most; /* likewise */
    /* Since it is counted: */
    uint64_t creates, deletes, multis, listings, looks, others; /* requests; looks are
                                                                   get and exists */
    uint64_t grants, releases;
    uint64_t refused_behind_others, refused_unreachable, refused_not_queued,
        refused_cancelled, refused_otherwise;
    uint64_t lost_expired, lost_unproved, lost_deleted, lost_otherwise;
    uvzk_histogram_t acquire;    /* from the call to the grant's callback */
    uvzk_histogram_t hold;       /* from there to the release, or the loss */
    uvzk_histogram_t release;    /* from the call until the znode is known to be gone */
    uvzk_histogram_t round_trip; /* of requests */
    uvzk_histogram_t proof;      /* of proofs of ownership */
    uvzk_histogram_t handover;   /* from when somebody was seen to let go, of this client
                                    or another, until the grant of who waited for it */
    uint64_t orphans;            /* znodes of this client's sessions that none of its
                                    locks knew any more, and that were deleted */
    uint64_t diverged;           /* servers that were left: UVZK_EDIVERGED */
    /* As things stand: */
    uint64_t undeletable; /* of the contenders, those whose delete the directory's ACL has
                             forbidden: it is tried again, see uvzk_hold_release */
} uvzk_client_metrics_t;

#define uvzk_client_metrics_init(metrics) \
    uvzk_client_metrics_init_size((metrics), sizeof(*(metrics)))
UVZK_EXTERN void uvzk_client_metrics_init_size(uvzk_client_metrics_t *metrics,
                                               size_t size);

/* What the client is and has done.
 * UV_EINVAL, UVZK_ESTATE (not initialised), UV_ENOMEM: it was to be counted from now on. */
UVZK_EXTERN int uvzk_client_metrics(uvzk_client_t *client,
                                    uvzk_client_metrics_t *metrics);

/* The metrics as text for Prometheus (text format 0.0.4), each sample with the label
 * client="name", of which '"', '\\' and newlines are escaped. As snprintf: at most size
 * bytes are written, the NUL included; returns how many there are without it, however
 * large the buffer is, which may be NULL if size is 0. UV_EINVAL, UVZK_ESTATE,
 * UV_ENOMEM. */
UVZK_EXTERN int uvzk_client_write_metrics(uvzk_client_t *client, const char *name,
                                          char *buffer, size_t size);

/* ----------------------------------------------------------- locks and holds
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

/* FINAL for the mutex. */
typedef void (*uvzk_lock_close_cb)(uvzk_lock_t *lock);

/* status 0: granted; the request is now the hold and lives until it is
 * released or lost. status < 0: FINAL. UV_ETIMEDOUT: the time ran out behind
 * others, or it was not free when tried once. When the time ran out for another reason:
 * UVZK_EUNREACHABLE, there was no connection (uvzk_client_last_error);
 * UVZK_ENOTQUEUED, its place was not known yet, its directory or its znode were still
 * being made; UVZK_EPROOF, nobody was before it, but its session was not proved. What
 * exactly it waited for uvzk_hold_wait tells, in the callback too.
 * UV_ECANCELED: uvzk_hold_cancel. UVZK_ECLOSED.
 * UVZK_EEXPIRED: the session in which it was queued is gone, or was given up
 * after three session timeouts without a connection.
 * UVZK_ECONNLOSS: tried once, without a connection. UVZK_EDELETED: the znode
 * was deleted while it waited and the retry policy is used up.
 * UVZK_ENONODE: the chroot does not exist.
 * UVZK_EPROOF: also, at once: the session is too short for tick_ms to prove anything.
 * UVZK_EUNIMPLEMENTED: the server is too old.
 * UVZK_EEXHAUSTED, UVZK_ELIMIT, UVZK_ENOAUTH, UVZK_EAUTH, UVZK_EINVALIDACL,
 * UVZK_ENOCHILDREN, UVZK_EREJECTED, UVZK_EZOOKEEPER, UV_ENOMEM. After each of
 * them no znode is left: what cannot be deleted now is deleted as soon as the
 * connection is back, or dies with the session. */
typedef void (*uvzk_hold_acquire_cb)(uvzk_hold_t *hold, int status);

/* FINAL. The hold ended without a release: UVZK_EEXPIRED, UVZK_EPROOF,
 * UVZK_EDELETED, UVZK_EAUTH or UVZK_ECLOSED. */
typedef void (*uvzk_hold_lost_cb)(uvzk_hold_t *hold, int reason);

/* A place in the queue is taken and kept: `ahead` contenders stand before this
 * one, at least 1. At most once for each znode made. */
typedef void (*uvzk_hold_queued_cb)(uvzk_hold_t *hold, uint64_t ahead);

/* Somebody asks for this hold, or pending attempt, to be given up: __REVOKE__ was written
 * into its znode (Curator's Revoker, uvzk_client_revoke). Once for each such write that
 * is seen; whether to release is yours to decide. */
typedef void (*uvzk_hold_revoke_cb)(uvzk_hold_t *hold);

/* FINAL. 0: the znode is known to be gone (or a re-entry was counted down).
 * UVZK_ELOST: the hold had been lost before its release was carried out.
 * UVZK_ENOAUTH: the directory's ACL forbids the delete now. The znode still stands, and
 * blocks others. The delete is repeated in the background, after pauses of 0.5 to 30 s,
 * until the znode or its session is gone; metrics.undeletable counts such znodes.
 * UVZK_EEXPIRED, UVZK_EAUTH: the session was given up before the delete
 * was answered; its end at the servers frees the lock.
 * UVZK_ECLOSED: the client was closed first; the session's end frees the
 * lock. */
typedef void (*uvzk_hold_release_cb)(uvzk_hold_t *hold, int status);

/* How to acquire. It may grow, at its end. Begin with
 * uvzk_acquire_options_init(&options). */
#define UVZK_WAIT_FOREVER (-1)
#define UVZK_TRY_ONCE 0

typedef struct uvzk_acquire_options_s {
    size_t size;                   /* set by uvzk_acquire_options_init */
    void *owner;                   /* who acquires: any pointer but NULL, compared and
                                      never followed. The same owner acquiring again on
                                      the same lock counts up without I/O, as a thread
                                      does in Java. NULL is never reentrant. */
    int64_t timeout_ms;            /* UVZK_WAIT_FOREVER, UVZK_TRY_ONCE or ms from now;
                                      it covers everything, I/O included */
    const void *node_data;         /* bytes of the lock znode; NULL: the client's */
    size_t node_data_length;       /* <= 1000000 */
    uvzk_hold_queued_cb queued_cb; /* may be NULL; not called for a re-entry */
    uint32_t leases;               /* of a semaphore: how many, taken as one unit; 0 is 1.
                                      More than 1 of any other lock: UV_EINVAL */
    uvzk_hold_revoke_cb revoke_cb; /* may be NULL; mutexes and read-write locks only, else
                                      UV_EINVAL. With it the znode has no data, as Curator
                                      makes revocable ones */
} uvzk_acquire_options_t;

/* Sets size, no owner, UVZK_WAIT_FOREVER, default data, no queued_cb. */
#define uvzk_acquire_options_init(options) \
    uvzk_acquire_options_init_size((options), sizeof(*(options)))
UVZK_EXTERN void uvzk_acquire_options_init_size(uvzk_acquire_options_t *options,
                                                size_t size);

/* Begins to acquire. options may be NULL for the defaults; acquire_cb and
 * lost_cb are required. Grants come strictly in the order in which ZooKeeper
 * created the contenders' znodes, whoever they belong to; but for uvzk_mutex_init_cohort.
 * UV_EINVAL, UVZK_ECLOSED (mutex or client closing), UV_ENOMEM,
 * UVZK_ELIMIT (a session would hold too many znodes: options.sessions; uvzk_refusal says so),
 * UVZK_EDEADLOCK (the owner would wait for itself),
 * UV_EBUSY (the request is pending or held), UV_EIO (no random bytes). */
UVZK_EXTERN int uvzk_lock_acquire(uvzk_lock_t *lock, uvzk_hold_t *hold,
                                  const uvzk_acquire_options_t *options,
                                  uvzk_hold_acquire_cb acquire_cb,
                                  uvzk_hold_lost_cb lost_cb);

/* Whether anyone holds the lock through this mutex now, or this owner does.
 * Both read the clock: false as soon as the hold can no longer be proved. */
UVZK_EXTERN int uvzk_lock_is_held(const uvzk_lock_t *lock);
UVZK_EXTERN int uvzk_lock_is_held_by(const uvzk_lock_t *lock, const void *owner);

/* Closes a lock.
 * Pending acquires end with UVZK_ECLOSED, holds are lost with UVZK_ECLOSED,
 * their znodes are withdrawn in the background, participants asked for are told; cb (may
 * be NULL) comes last. UVZK_ESTATE: closing, or not initialised. */
UVZK_EXTERN int uvzk_lock_close(uvzk_lock_t *lock, uvzk_lock_close_cb cb);

/* Gives the hold back. While a release is under way it cannot be lost: its
 * outcome is release_cb's, which is required.
 * UVZK_ENOTHELD: not granted, released, or lost already. UV_EINVAL. */
UVZK_EXTERN int uvzk_hold_release(uvzk_hold_t *hold, uvzk_hold_release_cb release_cb);

/* Gives a pending acquire up, at any moment before it is granted: its callback
 * comes with UV_ECANCELED on the loop's next turn, the znode is withdrawn in
 * the background. UVZK_ESTATE: not pending; if granted, release it. */
UVZK_EXTERN int uvzk_hold_cancel(uvzk_hold_t *hold);

/* What an acquire waits for. */
typedef enum {
    UVZK_WAITS_FOR_NOTHING = 0, /* it is granted, and about to be told */
    UVZK_WAITS_FOR_CONNECTION,  /* there is none */
    UVZK_WAITS_FOR_DIRECTORY,   /* the path it is to stand in is being made */
    UVZK_WAITS_FOR_ZNODE,       /* its own is being made, or looked for */
    UVZK_WAITS_FOR_PLACE,       /* it stands; who is before it is not known yet */
    UVZK_WAITS_FOR_OURS,        /* others of this client are before it, and nobody else */
    UVZK_WAITS_FOR_OTHERS,      /* another client's znode is before it */
    UVZK_WAITS_FOR_LEASES,      /* of a semaphore: it is its turn, all leases are out */
    UVZK_WAITS_FOR_PROOF        /* nobody is before it; its session is being proved */
} uvzk_wait_kind_t;

/* What an acquire waits for, and since when. It may grow, at its end. Begin with
 * uvzk_wait_init(&wait). */
typedef struct uvzk_wait_s {
    size_t size;    /* set by uvzk_wait_init */
    uint32_t kind;  /* uvzk_wait_kind_t */
    uint64_t ahead; /* how many stand before it, as far as they are known, as in queued_cb
                       (at most 1000 of this client once the time has run out; of a
                       lock with a driver 1); LEASES: how many are out */
    const char *predecessor; /* OTHERS: the nearest znode of others that it waits for,
                                full path; else NULL. Lent until the next call of
                                uvzk_hold_wait, at most until you return to the loop */
    uint64_t since; /* the moment since which it waits: of the acquire; CONNECTION: of
                       the loss of the connection, if that came later; 0: not known, of
                       a semaphore's claim that stands in line by another one's ticket */
} uvzk_wait_t;

#define uvzk_wait_init(wait) uvzk_wait_init_size((wait), sizeof(*(wait)))
UVZK_EXTERN void uvzk_wait_init_size(uvzk_wait_t *wait, size_t size);

/* What a pending acquire waits for, as far as this client has been told: nothing is asked.
 * In the acquire callback of one whose time ran out, or that was tried once in vain
 * (UV_ETIMEDOUT), what it waited for then. UV_EINVAL, UV_ENOMEM, UVZK_ESTATE: it is
 * neither. */
UVZK_EXTERN int uvzk_hold_wait(const uvzk_hold_t *hold, uvzk_wait_t *wait);

/* Whether the hold is valid at this moment, by the clock. */
UVZK_EXTERN int uvzk_hold_is_valid(const uvzk_hold_t *hold);

/* The fencing token: the czxid of the lock's znode. It grows on a path from each grant
 * to the next that excludes it, for as long as the ensemble lives, also when the
 * directory is removed and made again. Holds that do not exclude one another may have
 * the same one: readers that hold together, holds of a semaphore of two or more leases,
 * holds of different paths; and holds of one cohort (uvzk_hold_cohort), though they do
 * exclude one another. 0 if not held. */
UVZK_EXTERN int64_t uvzk_hold_token(const uvzk_hold_t *hold);

/* Whether the hold shares its token: 0 if not held, and of every lock without a cohort:
 * no. Else which of those it is that have this token, one after the other: 1 is the
 * first, whose token is greater than any before; each one later, while the token
 * stays. The token and then this number grow from grant to grant. */
UVZK_EXTERN uint32_t uvzk_hold_cohort(const uvzk_hold_t *hold);

/* Full path of the lock's znode, namespace included and chroot not; NULL if not
 * held. Valid until the hold is released or lost. */
UVZK_EXTERN const char *uvzk_hold_path(const uvzk_hold_t *hold);

/* The moment (CLOCK_BOOTTIME, ms) until which nobody else can have been
 * granted this lock, unless somebody deletes its znode or ends its session
 * before its time; it moves on with every proof. 0 if not held. With
 * UVZK_PROOF_NONE: UINT64_MAX while connected. By a persistent znode: UINT64_MAX. Of a
 * multi lock: the earliest of its members', of which each is proved in its own session;
 * UINT64_MAX if all of them are by persistent znodes. */
UVZK_EXTERN uint64_t uvzk_hold_valid_until(const uvzk_hold_t *hold);

/* CLOCK_BOOTTIME now, ms. */
UVZK_EXTERN uint64_t uvzk_now(void);

/* One acquire that is pending, or hold, as uvzk_client_each_hold shows them. */
typedef struct uvzk_hold_entry_s {
    size_t size; /* of what the library knows; it may grow, at its end */
    uvzk_lock_t *lock;
    const char *lock_path; /* with the namespace */
    uvzk_hold_t *hold;
    const void *owner; /* NULL: none */
    int is_held;       /* granted, as far as its user has been told */
    int64_t token;     /* 0 if it is not held */
    const char *path;  /* of its znode; NULL if it is not held */
    uvzk_wait_t wait;  /* not held: what it waits for; since: also of a hold, when it was
                          asked for */
    uint32_t session;  /* in which it lives, from 0 on */
} uvzk_hold_entry_t;

/* All is lent until it returns. It may ask, but must change nothing: no acquire, no
 * release, no cancel, no close. */
typedef void (*uvzk_hold_entry_cb)(uvzk_client_t *client, const uvzk_hold_entry_t *entry,
                                   void *context);

/* Shows all that is pending or held through this client's locks, those of one lock in the
 * order in which they were asked for; nothing is asked of the server. UV_EINVAL,
 * UVZK_ESTATE (not initialised), UV_ENOMEM (some may have been shown). */
UVZK_EXTERN int uvzk_client_each_hold(uvzk_client_t *client, uvzk_hold_entry_cb cb,
                                      void *context);

/* ------------------------------------------------------------------- recipes
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

/* ------------------------------------------------------- mutex */

/* Makes a mutex.
 * Copies the path, which must follow ZooKeeper's rules (PathUtils of the Java
 * client, and at most 1024 bytes, and not "/"); sends nothing. Two mutexes on
 * one path are two locks in this process too, as in Curator.
 * UV_EINVAL, UVZK_EPATH, UVZK_ESTATE (client closing), UV_ENOMEM, UV_EBUSY. */
UVZK_EXTERN int uvzk_mutex_init(uvzk_client_t *client, uvzk_mutex_t *mutex,
                                const char *path);

/* Makes a mutex with a cohort.
 * A release hands the znode itself to the next acquire of this
 * mutex, past other clients' znodes that stand between, up to `handovers` times (1 to 1000)
 * and for `ms` (1 to 60000) from the moment when the znode was granted first; then whoever
 * stands behind it has it. Others wait longer so, by that bound and the last hold.
 * The holds of one znode have one fencing token: uvzk_hold_cohort tells them apart.
 * Acquires of this mutex are granted in their order. What is revocable, or whose node_data
 * are not the holder's, waits for its own znode. No multi lock takes it as a member.
 * Errors as uvzk_mutex_init. */
UVZK_EXTERN int uvzk_mutex_init_cohort(uvzk_client_t *client, uvzk_mutex_t *mutex,
                                       const char *path, uint32_t handovers, uint32_t ms);

/* --------------------------------------------- read-write lock */

/* Makes a read-write lock.
 * Two locks on one path, one for readers and one for writers; each is acquired and
 * closed by itself (uvzk_lock_acquire(&lock->read, ...)). Readers hold together,
 * a writer alone; all of them queue in one order, so that a waiting writer stops
 * later readers. Each half is re-entered by its owner.
 *
 * An owner (not NULL) that holds the write lock takes the read lock at once, and may
 * then release the write lock: no writer comes in between (downgrade). The read
 * lock then has the write lock's token. An owner that holds the read lock, or waits for
 * it, and asks for the write lock would wait for itself: UVZK_EDEADLOCK, from
 * uvzk_lock_acquire, and nothing else happens.
 *
 * Curator before 5.5 puts a downgraded reader behind the writers that wait already:
 * beside such clients a writer may be granted while a reader of theirs holds. Errors as
 * uvzk_mutex_init. */
UVZK_EXTERN int uvzk_rwlock_init(uvzk_client_t *client, uvzk_rwlock_t *lock,
                                 const char *path);

/* -------------------------------------------------- semaphores */

/* Makes a semaphore.
 * As many leases as max_leases, for everybody together; who asks for several
 * (options.leases, at most 100) gets all of them at once or none. All clients of a
 * path must name the same number, or a shared count (NULL: none), which then says how
 * many there are, whatever max_leases is: when it rises, waiters are served; when
 * it falls, nobody loses a lease, and waiters wait for longer. The count must be
 * initialised, and should be closed after the semaphore: if it is closed before, or with
 * its client, who waits is told UVZK_ECLOSED, and nobody acquires any more. Served in the order
 * of arrival: a request for many leases is not overtaken by one for a few. A lease is made before it is
 * counted, as Curator's is, so for a moment more may stand than are allowed; they are not
 * held. Never re-entered:
 * options.owner says nothing here. The hold's path is that of its first lease.
 *
 * Several requests of one client may stand in the queue with one znode, and a lease that
 * one of them lets go may become the next one's as it stands. A client that does so lets
 * others have their turn as soon as it sees them there, or 256 grants or half a second
 * later. Who has a queued_cb has a znode of its own.
 *
 * The hold's token is the czxid of the znode that stood in the queue or, where nobody was
 * in the queue, of the lease. It grows between holds that exclude one another, because
 * there are not so many leases as both have together; and it is not less than that of any
 * hold granted before it was asked for. Holds that could stand side by side may share a
 * token, and if both were waiting, that with the greater one may have been granted first.
 *
 * UV_EINVAL: max_leases is 0; from uvzk_lock_acquire: more than a fixed max_leases.
 * Other errors as uvzk_mutex_init. */
UVZK_EXTERN int uvzk_semaphore_init(uvzk_client_t *client, uvzk_semaphore_t *lock,
                                    const char *path, uint32_t max_leases,
                                    uvzk_shared_count_t *count);

/* Makes a semaphore with a single lease: a lock that is not re-entered, and that whoever
 * has the hold may release. */
UVZK_EXTERN int uvzk_semaphore_mutex_init(uvzk_client_t *client,
                                          uvzk_semaphore_mutex_t *lock, const char *path);

/* How many znodes a hold has: leases of a semaphore's, members of a multi lock's, 1 of
 * any other; 0 if not held. And the full path of one of them, as uvzk_hold_path, which
 * tells the first; NULL beyond the last. */
UVZK_EXTERN uint32_t uvzk_hold_lease_count(const uvzk_hold_t *hold);
UVZK_EXTERN const char *uvzk_hold_lease_path(const uvzk_hold_t *hold, uint32_t index);

/* Gives some leases of a semaphore's hold back, in the background, and goes on holding
 * the others: fewer than it has, else UV_EINVAL. UVZK_ENOTHELD, UV_ENOMEM. */
UVZK_EXTERN int uvzk_hold_return_leases(uvzk_hold_t *hold, uint32_t leases);

/* -------------------------------------------------- multi lock */

/* One of the members failed: to be acquired, to be kept, to be released. */
typedef void (*uvzk_multilock_error_cb)(uvzk_multilock_t *lock, uvzk_lock_t *member,
                                        int status);

/* Makes a multi lock.
 * Several locks of one client as one (InterProcessMultiLock): all are held or none is,
 * options.timeout_ms is for all of them together, and the first failure ends the
 * attempt, or the hold: its status is the request's, and what was held is given back.
 *
 * If all members are mutexes, their znodes are made in one transaction, so that all
 * queues agree on the order of any two such multi locks: they can never wait for each
 * other in a circle, whatever their members. Members of other kinds are acquired one
 * after the other in the order of their paths, and so are all with
 * UVZK_MULTILOCK_IN_TURN; the hold on one of them may then be lost while another is
 * still waited for. The two ways do not go together: whoever takes several of the same
 * locks one after the other, as Curator's InterProcessMultiLock does in the order of
 * its list, and whoever takes them at once may wait for each other for ever. Beside
 * such others use UVZK_MULTILOCK_IN_TURN, and let them list their locks in the order of
 * the paths.
 *
 * An owner that has a member by itself already re-enters it, and acquires the members
 * in turn; one that has the multi lock re-enters that, not a member.
 *
 * The hold's token is the greatest of its members' (of mutexes: that of all of
 * them). It is valid as long as all its members are. queued_cb is not called. uvzk_hold_lease_path tells the members' paths, in the
 * order of the locks' paths.
 *
 * members: 1 to 100 locks, each once; the array is copied. They are not closed with
 * the multi lock, and must be closed after it. error_cb may be NULL; the first
 * failure is told before the request's own callback, and all before that of a release.
 * UV_EINVAL, UVZK_EDEADLOCK (two mutexes of one path), UVZK_ESTATE, UV_EBUSY, UV_ENOMEM;
 * from uvzk_lock_acquire: UVZK_ECLOSED if a member is closed, or was, and its struct is
 * another lock now; in turn also as an acquire's status, for a member not yet asked for. */
#define UVZK_MULTILOCK_IN_TURN 1U
UVZK_EXTERN int uvzk_multilock_init(uvzk_client_t *client, uvzk_multilock_t *lock,
                                    uvzk_lock_t *const *members, size_t count,
                                    unsigned flags, uvzk_multilock_error_cb error_cb);

/* ------------------------------------------------- lock driver */

/* What znodes a lock with a driver makes. */
typedef enum {
    UVZK_NODE_EPHEMERAL_SEQUENTIAL = 0, /* _c_<uuid>-<name><number>, as the other locks */
    UVZK_NODE_EPHEMERAL,                /* <name> alone, one for everybody: whoever
                                           creates it holds it, the others watch it,
                                           and any of them may be the next */
    UVZK_NODE_PERSISTENT_SEQUENTIAL     /* as the first, but it outlives its session */
} uvzk_node_mode_t;

/* Your own lock (LockInternalsDriver). Begin with uvzk_lock_driver_init(&driver), then
 * set the name; without more it is InterProcessMutex as Curator's own driver has it.
 *
 * Every acquire makes a znode, lists the directory and asks the driver: either it gets
 * the lock, or it watches the child that the driver names, and asks again when that one
 * has gone or changed. Who may hold beside whom is the driver's business; that a hold is
 * proved, told when it is lost, re-entered, withdrawn for certain is ours.
 *
 * The two functions are called when a listing has arrived, with this struct as it was
 * when the lock was made. They must not call uvzk, and must judge by nothing but what
 * they are given. */
typedef struct uvzk_lock_driver_s {
    size_t size;         /* set by uvzk_lock_driver_init */
    const char *name;    /* "lock-"; copied; without '/', at most 16 bytes, of
                            UVZK_NODE_EPHEMERAL 64 */
    uint32_t mode;       /* uvzk_node_mode_t (createsTheLock) */
    uint32_t max_leases; /* for gets_the_lock; 0 is 1 */
    /* getsTheLock: whether children[own] gets the lock. 0: no, and *watch becomes the
     * index of the one to wait for; if it is nobody's, or its own, the acquire ends with
     * UV_EINVAL. The children are sorted. NULL: it does if own < max_leases, else it
     * waits for children[own - max_leases]. */
    int (*gets_the_lock)(const struct uvzk_lock_driver_s *driver,
                         const char *const *children, size_t count, size_t own,
                         size_t *watch);
    /* fixForSorting: the text by which the child is sorted, to stay as long as `child`
     * does, of which it mostly is a part. If it is NULL, the child takes no part, and
     * gets_the_lock does not see it. NULL: what follows the last `name` in it. */
    const char *(*sort_key)(const struct uvzk_lock_driver_s *driver, const char *child);
    void *context; /* yours */
} uvzk_lock_driver_t;

#define uvzk_lock_driver_init(driver) \
    uvzk_lock_driver_init_size((driver), sizeof(*(driver)))
UVZK_EXTERN void uvzk_lock_driver_init_size(uvzk_lock_driver_t *driver, size_t size);

/* Makes a lock with a driver.
 * The driver is copied; its context must stay until the lock is closed. A directory is
 * of one kind of lock: this client must have no other recipe on the path of a
 * driver's lock. The token is the czxid of the znode: it grows from grant to grant if
 * the driver grants one after the other. queued_cb tells how many children are sorted
 * before this one; of UVZK_NODE_EPHEMERAL 1.
 *
 * A hold by a persistent znode lasts for as long as the znode stands: it is not lost
 * with the session, is_held needs no connection, valid_until is UINT64_MAX. It ends by
 * a release, or is lost: UVZK_EDELETED, UVZK_ECLOSED, UVZK_EAUTH. Those who wait keep
 * their places across sessions, too. The znode of a process that dies stays, and so
 * does one that could not be deleted before the client was closed: it blocks the others
 * until somebody deletes it by hand.
 *
 * UV_EINVAL also for: no name, or one that is too long; an unknown mode; functions with
 * UVZK_NODE_EPHEMERAL, which lists nobody. Other errors as uvzk_mutex_init. From
 * uvzk_lock_acquire: UV_EINVAL for revoke_cb and leases. When the whole directory was
 * deleted, an acquire ends with UVZK_EDELETED without another attempt. */
UVZK_EXTERN int uvzk_driver_lock_init(uvzk_client_t *client, uvzk_lock_t *lock,
                                      const char *path, const uvzk_lock_driver_t *driver);

/* -------------------------------------- asked about a hold, and done with it
 *
 *     static uvzk_write_t write_request;
 *
 *     static void written(uvzk_write_t *request, int status, size_t failed)
 *     {
 *         report("written", status);
 *     }
 *     static int write_stock(const char *text) // if nobody else can hold the lock by now
 *     {
 *         uvzk_write_op_t op = {UVZK_WRITE_SET, -1, "/stock", text, strlen(text)};
 *
 *         return uvzk_hold_write(&hold, &write_request, &op, 1, written);
 *     } */

/* ------------------------------------------------------ verify */

/* status 0: when the question was asked, or later, a quorum agreed that the
 * lock's znode stands and its session lives; of a multi lock those of all members.
 * UVZK_ELOST, UVZK_EDELETED, UVZK_EEXPIRED: no. UVZK_ECONNLOSS, UVZK_ENOTSENT,
 * UVZK_ECLOSED: not known. */
typedef void (*uvzk_verify_cb)(uvzk_verify_t *request, int status);

/* Asks a quorum whether the hold stands.
 * One round trip; of a hold with many znodes one for every 256.
 * UVZK_ENOTHELD, UV_EINVAL, UV_ENOMEM, UV_EBUSY. */
UVZK_EXTERN int uvzk_hold_verify(uvzk_hold_t *hold, uvzk_verify_t *request,
                                 uvzk_verify_cb cb);

/* ----------------------------------------------- guarded write */

/* One operation of a guarded write. */
typedef enum {
    UVZK_WRITE_CREATE = 0, /* a persistent znode with the client's ACL */
    UVZK_WRITE_SET,
    UVZK_WRITE_DELETE,
    UVZK_WRITE_CHECK /* the znode exists, in this version */
} uvzk_write_kind_t;

typedef struct uvzk_write_op_s {
    uint32_t kind;      /* uvzk_write_kind_t */
    int32_t version;    /* SET, DELETE, CHECK; -1: any */
    const char *path;   /* below the namespace, as in uvzk_mutex_init */
    const void *data;   /* CREATE, SET; NULL: no data */
    size_t data_length; /* of data */
} uvzk_write_op_t;

/* FINAL. 0: all is done, and every znode of the hold stood at that moment, so that nobody
 * else had been granted it.
 * Nothing is done: UVZK_EDELETED, the hold does not stand, somebody deleted its znode.
 * UVZK_ENONODE, UVZK_ENODEEXISTS, UVZK_ENOTEMPTY, UVZK_EBADVERSION, UVZK_ENOAUTH,
 * UVZK_EINVALIDACL, UVZK_ENOCHILDREN, UVZK_EREJECTED, UVZK_EZOOKEEPER: one was refused,
 * and `failed` is its index, SIZE_MAX if it is none of yours (the hold's own znode may
 * not be read) or not known. UVZK_ENOTSENT: no connection. UVZK_EUNIMPLEMENTED,
 * UVZK_ETHROTTLED. All is done or nothing, it is not known which: UVZK_ECONNLOSS (the
 * connection was lost, or the session has ended), UVZK_EAUTH, UVZK_ECLOSED, UV_ENOMEM. */
typedef void (*uvzk_write_cb)(uvzk_write_t *request, int status, size_t failed);

/* Writes to ZooKeeper only if the hold stands: one transaction, in which checks of all
 * znodes of the hold come before the operations, all or none of which are done. A
 * holder that was stopped for too long, or cut off, then cannot overwrite what its
 * successor wrote. It is not repeated: after UVZK_ECONNLOSS have a look. Parents are not
 * made. Paths and data are copied.
 * UV_ENOTSUP: a hold by a znode of a fixed name (UVZK_NODE_EPHEMERAL): a check cannot
 * tell it from its successor's. UV_EINVAL (also: no operations, more than 1000000 bytes
 * of paths, data and ACLs), UVZK_EPATH, UVZK_ENOTHELD, UV_ENOMEM, UV_EBUSY. */
UVZK_EXTERN int uvzk_hold_write(uvzk_hold_t *hold, uvzk_write_t *request,
                                const uvzk_write_op_t *ops, size_t count,
                                uvzk_write_cb cb);

/* ------------------------------------------------ participants */

/* FINAL. status < 0: UVZK_ECONNLOSS, UVZK_ENOTSENT, UVZK_EEXPIRED, UVZK_EAUTH,
 * UVZK_ECLOSED, UVZK_ENOAUTH, UV_ENOMEM. Else the full paths of the contenders' znodes,
 * in queue order, without those of other children; none if the lock path does not
 * exist. Of a lock with a driver: those that get the lock, then the others, both in the
 * order of the driver, which is asked; with a fixed name the holder's alone. */
typedef void (*uvzk_participants_cb)(uvzk_participants_t *request, int status,
                                     const char *const *paths, size_t count);

/* Who holds the lock or waits for it, in any process. A half of a read-write lock tells
 * its own contenders alone. A semaphore tells the znodes of all leases, by number, then
 * those that stand in line for some, one for several requests of a client perhaps: whoever
 * is granted some at that very moment may be told twice, once as each.
 * UV_ENOTSUP: a multi lock (ask its members). UV_EINVAL, UVZK_ECLOSED (lock or client
 * closing), UV_ENOMEM, UV_EBUSY. */
UVZK_EXTERN int uvzk_lock_participants(uvzk_lock_t *lock, uvzk_participants_t *request,
                                       uvzk_participants_cb cb);

/* How many of the paths, always the first ones, are holders': asked in the callback or
 * later, until the request is used again. Goes by the order alone: who is first counts
 * as a holder although its client may not have seen it yet. A waiting Curator semaphore
 * has a lease's znode already, and a reader that Curator before 5.5 has made under its
 * own write lock stands behind waiting writers: these two are taken for what they look
 * like. */
UVZK_EXTERN size_t uvzk_participants_holding(const uvzk_participants_t *request);

/* -------------------------------------------------- revocation */

/* FINAL. 0: the message is written; whether its reader listens, and what it does, is
 * not known. UVZK_ENONODE: nobody stands there. UVZK_ENOAUTH, UVZK_ECONNLOSS,
 * UVZK_ENOTSENT, UVZK_EEXPIRED, UVZK_EAUTH, UVZK_ECLOSED, UVZK_ETHROTTLED, UVZK_EREJECTED,
 * UVZK_EZOOKEEPER, UV_ENOMEM. */
typedef void (*uvzk_revoke_cb)(uvzk_revoke_t *request, int status);

/* Asks whoever has this znode to give it up: writes __REVOKE__ into it, as
 * Curator's Revoker does. node_path: in full, as uvzk_hold_path and the
 * participants have it, at most 2048 bytes. The path is copied. Whoever took a lock with
 * options.revoke_cb, or a Curator lock that was made revocable, hears of it.
 * UV_EINVAL, UVZK_EPATH, UVZK_ECLOSED, UV_EBUSY, UV_ENOMEM. */
UVZK_EXTERN int uvzk_client_revoke(uvzk_client_t *client, uvzk_revoke_t *request,
                                   const char *node_path, uvzk_revoke_cb cb);

/* ---------------------------------------------- a znode's data */

/* FINAL. 0: the data, which may be none (length 0). UVZK_ENONODE: there is no such znode.
 * UVZK_ENOAUTH, UVZK_ECONNLOSS, UVZK_ENOTSENT, UVZK_EEXPIRED, UVZK_EAUTH, UVZK_ECLOSED,
 * UVZK_ETHROTTLED, UVZK_EREJECTED, UVZK_EZOOKEEPER, UV_ENOMEM. */
typedef void (*uvzk_read_cb)(uvzk_read_t *request, int status, const void *data,
                             size_t length);

/* Reads a znode once: of a hold, of a lease (Lease.getData), of a participant.
 * node_path is a full path as uvzk_hold_path, uvzk_hold_lease_path and participants tell
 * it, namespace included, at most 2048 bytes. UV_EINVAL, UVZK_EPATH, UVZK_ECLOSED,
 * UV_ENOMEM, UV_EBUSY. */
UVZK_EXTERN int uvzk_client_read(uvzk_client_t *client, uvzk_read_t *request,
                                 const char *node_path, uvzk_read_cb cb);

/* What ZooKeeper keeps about a znode. */
typedef struct uvzk_stat_s {
    int64_t czxid;      /* of the transaction that made it: of a mutex or a half of a
                           read-write lock the fencing token */
    int64_t session_id; /* whose it is; 0: it outlives its session */
    int64_t created_ms; /* by the server's clock, ms since 1970; 0: not known */
    int64_t reserved[3];
} uvzk_stat_t;

/* FINAL. As uvzk_read_cb, and what is known about the znode; NULL if status < 0. */
typedef void (*uvzk_look_cb)(uvzk_read_t *request, int status, const uvzk_stat_t *stat,
                             const void *data, size_t length);

/* Reads a znode, and what ZooKeeper keeps about it. As uvzk_client_read. */
UVZK_EXTERN int uvzk_client_look(uvzk_client_t *client, uvzk_read_t *request,
                                 const char *node_path, uvzk_look_cb cb);

/* ------------------------------------------------------ locker */

/* The lock is held: work, now or later, then call uvzk_locker_done. */
typedef void (*uvzk_locker_locked_cb)(uvzk_locker_t *locker);

/* FINAL. 0: locked_cb was called, and the lock was released after uvzk_locker_done. Else,
 * if locked_cb was not called, why it was not granted, as in uvzk_hold_acquire_cb; if it
 * was, how the hold ended before uvzk_locker_done, as in uvzk_hold_lost_cb, or what
 * became of the release, as in uvzk_hold_release_cb. */
typedef void (*uvzk_locker_unlocked_cb)(uvzk_locker_t *locker, int status);

/* Acquires the lock, whatever recipe it is, calls locked_cb, and releases it when the
 * work is done (Locker). The options' callbacks are handed &locker->hold, whose `data`
 * is yours too; uvzk_hold_cancel(&locker->hold) gives up waiting. Errors as
 * uvzk_lock_acquire. */
UVZK_EXTERN int uvzk_lock_run(uvzk_lock_t *lock, uvzk_locker_t *locker,
                              const uvzk_acquire_options_t *options,
                              uvzk_locker_locked_cb locked_cb,
                              uvzk_locker_unlocked_cb unlocked_cb);

/* Releases, as the work is done.
 * UVZK_ENOTHELD: not granted yet, lost, or done before; then
 * unlocked_cb has come or will come without it. UV_EINVAL. */
UVZK_EXTERN int uvzk_locker_done(uvzk_locker_t *locker);

/* --------------------------------------------- shared value and shared count
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

/* The data of one znode, known to all who share it: each change is told to each of
 * them, across reconnections, new sessions, and the deletion and new making of the
 * znode. Everybody may set it. A shared count is such a value that is a number: four
 * bytes, the high byte first. Values are ordered by mzxid, the number of the
 * transaction that set them; it never goes back, not even when the znode is made
 * again. */

/* A value as it was read: the transaction that has set it, and how often the znode
 * had been set by then. */
typedef struct uvzk_value_version_s {
    int64_t mzxid;
    int32_t version;
} uvzk_value_version_t;

/* status 0: a new value is known, the first one included, or the last one can be read
 * again. Values may be skipped, they never go back. status < 0: it cannot be read now,
 * the last one stays known, and the first change is told as soon as it can be read.
 * UVZK_ENONODE: the znode was deleted. UVZK_ENOAUTH: its ACL forbids to read it; it is
 * tried again about once a session timeout, at first more often.
 * UVZK_ELIMIT: no room for another watch. UVZK_EAUTH: the client's credentials were
 * refused, this is the last call. UVZK_ENOTSENT: the host names do not resolve.
 * UVZK_ENOAUTH, UVZK_EINVALIDACL, UVZK_ENOCHILDREN, UVZK_EREJECTED, UVZK_EZOOKEEPER: the
 * znode is missing and could not be made. That there is no connection is told by
 * state_cb alone. */
typedef void (*uvzk_shared_value_change_cb)(uvzk_shared_value_t *value, int status);

/* FINAL for the value. */
typedef void (*uvzk_shared_value_close_cb)(uvzk_shared_value_t *value);

/* FINAL. 0: it is set, and is the known value unless a newer one is.
 * UVZK_EBADVERSION: try_set only, the value was another one by then; it has been read
 * again, unless the connection was lost meanwhile. UVZK_ENONODE: there is no such znode.
 * UVZK_ECONNLOSS, UV_ENOMEM: it is not known whether it is set. UVZK_ECLOSED: the value
 * or the client was closed; it is not known either. UVZK_EAUTH, UVZK_ENOTSENT: it is
 * not set. UVZK_ETHROTTLED: nor is it; the server was overloaded, and another set was on
 * its way behind it already; else it is sent again. UVZK_ENOAUTH, UVZK_EREJECTED,
 * UVZK_EUNIMPLEMENTED, UVZK_EZOOKEEPER: refused. */
typedef void (*uvzk_set_cb)(uvzk_set_t *request, int status);

/* Begins to read the znode and to watch it. If it is missing it is made with the seed,
 * which is copied, its parents as containers (as persistent znodes where the server has
 * none); who comes later finds it, whatever his seed. cb may be NULL. The path is as
 * in uvzk_mutex_init.
 * UV_EINVAL (also: seed_length over 1000000), UVZK_EPATH, UVZK_ESTATE (client closing),
 * UV_ENOMEM, UV_EBUSY. */
UVZK_EXTERN int uvzk_shared_value_init(uvzk_client_t *client, uvzk_shared_value_t *value,
                                       const char *path, const void *seed,
                                       size_t seed_length,
                                       uvzk_shared_value_change_cb cb);

/* The last value known, and its version; each pointer may be NULL. The data are lent
 * until you return to the loop. UVZK_ENONODE: none is known yet.
 * UVZK_ECLOSED: not initialised, or closing. UV_EINVAL. */
UVZK_EXTERN int uvzk_shared_value_get(const uvzk_shared_value_t *value, const void **data,
                                      size_t *length, uvzk_value_version_t *version);

/* Sets the value, whatever it is now. The data are copied. Sets are sent in the order
 * of the calls, and wait for the connection if there is none.
 * UV_EINVAL (also: length over 1000000), UVZK_ECLOSED, UV_ENOMEM, UV_EBUSY. */
UVZK_EXTERN int uvzk_shared_value_set(uvzk_shared_value_t *value, uvzk_set_t *request,
                                      const void *data, size_t length, uvzk_set_cb cb);

/* Sets it only if it still is what uvzk_shared_value_get told with this version. Refused
 * without a request if a newer value is known. ZooKeeper itself compares the version
 * number alone: a znode that was made again just now and has come to the same number
 * cannot be told from the old one.
 * UV_EINVAL also if the version's number is -1, which means "any" to ZooKeeper (a znode
 * gets there after four thousand million sets). */
UVZK_EXTERN int uvzk_shared_value_try_set(uvzk_shared_value_t *value, uvzk_set_t *request,
                                          const uvzk_value_version_t *version,
                                          const void *data, size_t length,
                                          uvzk_set_cb cb);

/* Closes a value.
 * Sets that are not told yet end with UVZK_ECLOSED; cb (may be NULL) comes last. A
 * client closes its values with itself, without a callback of their own.
 * UVZK_ESTATE: closing, or not initialised. */
UVZK_EXTERN int uvzk_shared_value_close(uvzk_shared_value_t *value,
                                        uvzk_shared_value_close_cb cb);

/* As uvzk_shared_value_change_cb; value: the last count known, 0 before the first.
 * UVZK_EDATA: the data are fewer than four bytes; the count stays what it was. Of more
 * than four the first four count. */
typedef void (*uvzk_shared_count_change_cb)(uvzk_shared_count_t *count, int status,
                                            int32_t value);

/* FINAL for the count. */
typedef void (*uvzk_shared_count_close_cb)(uvzk_shared_count_t *count);

/* A count that all clients share: all as their namesakes of the shared value.
 * uvzk_shared_count_get: UVZK_EDATA if what is known never was a count; its version is
 * that of the count it tells. */
UVZK_EXTERN int uvzk_shared_count_init(uvzk_client_t *client, uvzk_shared_count_t *count,
                                       const char *path, int32_t seed,
                                       uvzk_shared_count_change_cb cb);
UVZK_EXTERN int uvzk_shared_count_get(const uvzk_shared_count_t *count, int32_t *value,
                                      uvzk_value_version_t *version);
UVZK_EXTERN int uvzk_shared_count_set(uvzk_shared_count_t *count, uvzk_set_t *request,
                                      int32_t value, uvzk_set_cb cb);
UVZK_EXTERN int uvzk_shared_count_try_set(uvzk_shared_count_t *count, uvzk_set_t *request,
                                          const uvzk_value_version_t *version,
                                          int32_t value, uvzk_set_cb cb);
UVZK_EXTERN int uvzk_shared_count_close(uvzk_shared_count_t *count,
                                        uvzk_shared_count_close_cb cb);

/* ------------------------------------------------------------------- futures
 *
 *     static uvzk_mutex_t replicas[5];
 *     static uvzk_future_t parts[5], three;
 *
 *     static void have_three(uvzk_future_t *future, int status, void *context)
 *     {
 *         report("three of five", status); // the others have been given up
 *     }
 *     static int acquire_three(void)
 *     {
 *         uvzk_future_t *five[5];
 *         int status = 0;
 *
 *         for (int i = 0; i < 5 && status == 0; i++) {
 *             five[i] = &parts[i]; // to be dropped when all is over: uvzk_future_drop
 *             status = uvzk_lock_acquire_future(&replicas[i], &parts[i], NULL, lost);
 *         }
 *         if (status == 0) {
 *             status = uvzk_future_n_of(&three, five, 5, 3);
 *         }
 *         return status < 0 ? status : uvzk_future_then(&three, have_three, NULL);
 *     } */

/* What becomes of one asynchronous call, instead of its callback: something to be looked
 * at whenever one likes, waited for by several, given up, combined with others.
 *
 *     pending ---> done, with the status that the callback would have been told
 *
 * Each uvzk_..._future does what its namesake does, with a future in the place of request
 * and callback, and returns what that returns; UV_EBUSY also if the future is in use. A
 * future that was made must be dropped, once: pending or done, before or after its client
 * is closed, in any callback, and in any order with others. */

/* The future is done. Several may wait; they are called once each, in the order in which
 * they came, never from inside a call. The future may be dropped here. */
typedef void (*uvzk_future_cb)(uvzk_future_t *future, int status, void *context);

/* Calls back when the future is done; soon, if it is. UV_EINVAL, UVZK_ESTATE (not in
 * use), UV_ENOMEM, UVZK_ECLOSED: it is done and its client has gone, nobody is left who
 * could call. */
UVZK_EXTERN int uvzk_future_then(uvzk_future_t *future, uvzk_future_cb cb, void *context);

/* What has become of it.
 * UV_EAGAIN: it is pending. Else its status: 0, or how it failed. UV_EINVAL, UVZK_ESTATE
 * (not in use). */
UVZK_EXTERN int uvzk_future_status(const uvzk_future_t *future);

/* Gives a future up.
 * It is done, with UV_ECANCELED, and its callbacks are called. A pending
 * acquire is withdrawn, as by uvzk_hold_cancel. Other calls cannot be taken back, their
 * outcome is only not waited for any more. UV_EINVAL, UVZK_ESTATE (done, or not in
 * use). */
UVZK_EXTERN int uvzk_future_cancel(uvzk_future_t *future);

/* Gives a future up with UV_ETIMEDOUT if it is still pending so many ms from now;
 * replaces an earlier deadline. UV_EINVAL, UVZK_ESTATE (done, or not in use). */
UVZK_EXTERN int uvzk_future_deadline(uvzk_future_t *future, uint64_t timeout_ms);

/* Takes leave of a future.
 * None of its callbacks is called any more. If it is pending it is
 * given up; if it has a hold, that is released in the background and lost_cb not called
 * any more. Its memory is the caller's at once. Nothing happens if it is not in use. */
UVZK_EXTERN void uvzk_future_drop(uvzk_future_t *future);

/* ------------------------------------------------- of several */

/* A future of several: of all parts, any one of them, n of them.
 * Done with 0 as soon as so many parts are done
 * with 0: the other parts are given up then, their locks not acquired. Done with the
 * status of the first part that failed as soon as too many have failed: then all parts
 * are given up, and what they have acquired is released. The same happens if it is
 * cancelled, runs out of time, or is dropped while it is pending.
 *
 * The parts are futures of one client, pending or done, combinations among them, each in
 * one pending combination at most. The array is copied. Parts are dropped by their owner,
 * as ever; one that is dropped before the combination is done counts as failed, with
 * UV_ECANCELED.
 *
 * UV_EINVAL (also: no parts, n is 0 or more than count, parts of several clients or of
 * uvzk_client_close_future, more than 64 combinations inside one another), UVZK_ESTATE (a
 * part is not in use), UV_EBUSY (the future is in use, a part belongs to another
 * combination, or is named twice), UVZK_ECLOSED (the parts' client has gone), UV_ENOMEM. */
UVZK_EXTERN int uvzk_future_all_of(uvzk_future_t *future, uvzk_future_t *const *parts,
                                   size_t count);
UVZK_EXTERN int uvzk_future_any_of(uvzk_future_t *future, uvzk_future_t *const *parts,
                                   size_t count);
UVZK_EXTERN int uvzk_future_n_of(uvzk_future_t *future, uvzk_future_t *const *parts,
                                 size_t count, size_t n);

/* Of a combination that is done with 0: the index of the part that was done as the
 * place-th, from 0 on. SIZE_MAX beyond the last, and of any other future. */
UVZK_EXTERN size_t uvzk_future_winner(const uvzk_future_t *future, size_t place);

/* -------------------------------------------- of locks and holds */

/* Acquires.
 * The hold is the future's; its data is the future. lost_cb (required) is called if it is
 * lost, and is not FINAL for the future. */
UVZK_EXTERN int uvzk_lock_acquire_future(uvzk_lock_t *lock, uvzk_future_t *future,
                                         const uvzk_acquire_options_t *options,
                                         uvzk_hold_lost_cb lost_cb);

/* The hold of such a future, for all that can be done with a hold; it must not be used
 * once the future has been dropped. NULL: not granted, released, lost, given up. */
UVZK_EXTERN uvzk_hold_t *uvzk_future_hold(const uvzk_future_t *future);

/* What is done with a hold.
 * Of a hold of the caller's own the future must not be dropped before it is done: until
 * then the hold's memory is needed. */
UVZK_EXTERN int uvzk_hold_release_future(uvzk_hold_t *hold, uvzk_future_t *future);
UVZK_EXTERN int uvzk_hold_verify_future(uvzk_hold_t *hold, uvzk_future_t *future);
UVZK_EXTERN int uvzk_hold_write_future(uvzk_hold_t *hold, uvzk_future_t *future,
                                       const uvzk_write_op_t *ops, size_t count);

/* Of a write that is done: the index of the operation that was refused, as in
 * uvzk_write_cb; SIZE_MAX of any other future. */
UVZK_EXTERN size_t uvzk_future_refused(const uvzk_future_t *future);

/* Acquires, works, releases.
 * locked_cb is handed a locker of the future's, whose data is the future; it is over when
 * the work is done, uvzk_locker_done. Given up while the work goes on, the lock is held
 * until then all the same. */
UVZK_EXTERN int uvzk_lock_run_future(uvzk_lock_t *lock, uvzk_future_t *future,
                                     const uvzk_acquire_options_t *options,
                                     uvzk_locker_locked_cb locked_cb);

/* Who takes part.
 * The paths, and how many of them are holders'. They are lent until the future is
 * dropped; each pointer may be NULL. UVZK_ESTATE: no future of participants that is done
 * with 0. */
UVZK_EXTERN int uvzk_lock_participants_future(uvzk_lock_t *lock, uvzk_future_t *future);
UVZK_EXTERN int uvzk_future_participants(const uvzk_future_t *future,
                                         const char *const **paths, size_t *count,
                                         size_t *holding);

/* Closes.
 * What is closed is needed until the future is done: it must not be dropped before. */
UVZK_EXTERN int uvzk_lock_close_future(uvzk_lock_t *lock, uvzk_future_t *future);

/* ----------------------------------------- of clients and values */

/* Reads a znode.
 * The data are lent until the future is dropped; each pointer may be NULL. UVZK_ESTATE:
 * no future of a read that is done with 0. */
UVZK_EXTERN int uvzk_client_read_future(uvzk_client_t *client, uvzk_future_t *future,
                                        const char *node_path);
UVZK_EXTERN int uvzk_future_data(const uvzk_future_t *future, const void **data,
                                 size_t *length);

/* Reads a znode, and what ZooKeeper keeps about it.
 * The data are those of uvzk_future_data. UVZK_ESTATE: no future of a look that is done
 * with 0. */
UVZK_EXTERN int uvzk_client_look_future(uvzk_client_t *client, uvzk_future_t *future,
                                        const char *node_path);
UVZK_EXTERN int uvzk_future_stat(const uvzk_future_t *future, uvzk_stat_t *stat);

/* Asks for a release, sets values: as their namesakes. */
UVZK_EXTERN int uvzk_client_revoke_future(uvzk_client_t *client, uvzk_future_t *future,
                                          const char *node_path);
UVZK_EXTERN int uvzk_shared_value_set_future(uvzk_shared_value_t *value,
                                             uvzk_future_t *future, const void *data,
                                             size_t length);
UVZK_EXTERN int uvzk_shared_value_try_set_future(uvzk_shared_value_t *value,
                                                 uvzk_future_t *future,
                                                 const uvzk_value_version_t *version,
                                                 const void *data, size_t length);
UVZK_EXTERN int uvzk_shared_count_set_future(uvzk_shared_count_t *count,
                                             uvzk_future_t *future, int32_t value);
UVZK_EXTERN int uvzk_shared_count_try_set_future(uvzk_shared_count_t *count,
                                                 uvzk_future_t *future,
                                                 const uvzk_value_version_t *version,
                                                 int32_t value);

/* They close, as uvzk_lock_close_future. */
UVZK_EXTERN int uvzk_shared_value_close_future(uvzk_shared_value_t *value,
                                               uvzk_future_t *future);
UVZK_EXTERN int uvzk_shared_count_close_future(uvzk_shared_count_t *count,
                                               uvzk_future_t *future);
UVZK_EXTERN int uvzk_client_close_future(uvzk_client_t *client, uvzk_future_t *future);

#ifdef __cplusplus
}
#endif
#endif /* UVZK_H */
