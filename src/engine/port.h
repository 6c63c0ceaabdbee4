/* The one interface through which src/ meets the world. loop/ implements it on
 * libzookeeper_mt and libuv, tests/sim on a ZooKeeper in memory with virtual
 * time; one conformance suite runs over both.
 *
 * Contract
 *  1 No synchronous failure: every outcome of submit(), out of memory included,
 *    is a reply.
 *  2 A submitted rpc is replied exactly once, on the loop's thread, never from
 *    inside a call of this interface, in the order of submission.
 *  3 What an rpc points to (path, data, ops, acl, watch) stays the caller's and
 *    must stay valid until the reply. What a reply points to is borrowed for
 *    the callback. When the callback begins, the rpc is the caller's again and
 *    may be submitted anew or freed.
 *  4 Codes are uvzk's own (UVZK_E*, UV_ENOMEM). ECONNLOSS: outcome unknown.
 *    ENOTSENT: certainly not executed.
 *  5 A watch fires at most once, on the loop's thread, and after the reply that
 *    armed it. It is armed only if that reply's status is 0 (for exists: also
 *    ENONODE). After unwatch() it never fires and is the caller's again at once;
 *    the server forgets it too. Session events never arrive as watch events.
 *    Watches survive a disconnection: what happened meanwhile is told after
 *    CONNECTED; unless that says watches_lost: then none is armed any more, none
 *    has fired for what happened since SUSPENDED, and the session has gone on.
 *    At most one watch stands on one path at a time, whatever its kind; a watch
 *    on a directory's children and watches on these children do not meet.
 *  6 Session events. CONNECTED: the session is established, or again in reach.
 *    SUSPENDED: the connection is lost; then every outstanding rpc is replied
 *    with ECONNLOSS or ENOTSENT, all before the next CONNECTED. EXPIRED,
 *    AUTH_FAILED: every outstanding rpc is replied first (EEXPIRED, EAUTH; what
 *    has an outcome already keeps it), and so is what is submitted from inside
 *    these replies, with the same; all watches are dropped without firing, then
 *    the event is told with nothing outstanding, and the handle is down.
 *    OPEN_FAILED: open() came to nothing; the handle is down. When the handle is
 *    down, open() may be called, also from inside the event. After abandon() the
 *    handle ends as if its session had expired, if it is not connected by then;
 *    the session may live on at the servers.
 *    CONNECTED may come without a SUSPENDED before it: then outstanding rpcs
 *    stand as they are.
 *    The port ends no session but after close(), or one of which it has told the end
 *    before: EXPIRED, AUTH_FAILED, OPEN_FAILED. While SUSPENDED it may leave its servers
 *    for others; the session may come through meanwhile, and be lost again, unheard.
 *  7 Not connected (before the first CONNECTED, after SUSPENDED, EXPIRED, ...):
 *    an rpc submitted all the same is replied ENOTSENT.
 *  8 From open() to CONNECTED, and from SUSPENDED to the next CONNECTED, unreached() says
 *    why there is no connection, whenever that is found out, or has been for a while:
 *    every few seconds at least. It is not told while there is one.
 *  9 After close() every outstanding rpc is replied ECLOSED, no watch fires, no
 *    turn comes, then closed() comes, once; by then the port has freed itself.
 *    close() is legal in every state, during open() too.
 * 10 After leave() the connection is lost soon, as in 6, and the session goes on by another
 *    server if one is in reach, else by the same. unreached() says UVZK_EDIVERGED then, with
 *    the address of the one that was left, which is tried last from now on. Requests may be
 *    submitted meanwhile. Nothing happens if the connection is lost before.
 * 11 A turn at the alarm's moment may come before what has happened earlier, however
 *    late the loop is: what is known of the session may be as old.
 * 12 But least_timeout_ms is not: whichever thread hears first of a connection writes it down
 *    there, before CONNECTED is told and before anything that was asked on it is replied,
 *    also if the loop never hears of that connection; then turn() comes all the same. */
#ifndef UVZK_PORT_H
#define UVZK_PORT_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "uvzk.h"

struct uvzk__port;
struct uvzk__rpc;
struct uvzk__watch;

/* ----------------------------------------------------------------- requests */

enum uvzk__rpc_kind {
    UVZK__RPC_CREATE,   /* path, data, acl, mode -> name, stat */
    UVZK__RPC_DELETE,   /* path, version */
    UVZK__RPC_SET,      /* path, data, version -> stat */
    UVZK__RPC_GET,      /* path, watch -> data, stat */
    UVZK__RPC_EXISTS,   /* path, watch -> stat */
    UVZK__RPC_CHILDREN, /* path, watch -> names */
    UVZK__RPC_SYNC,     /* path */
    UVZK__RPC_MULTI     /* ops -> made, failed_op. All or nothing. */
};

enum uvzk__mode {
    UVZK__PERSISTENT,
    UVZK__EPHEMERAL,
    UVZK__EPHEMERAL_SEQUENTIAL, /* the server appends %010d of the counter */
    UVZK__CONTAINER,            /* EUNIMPLEMENTED on servers before 3.5.1 */
    UVZK__PERSISTENT_SEQUENTIAL
};

/* Bytes of data at most: a request beyond the servers' jute.maxbuffer (1,048,575 as
 * they come) costs the connection, and its path and ACL must fit too. */
#define UVZK__DATA_MAX 1000000U

struct uvzk__acl {
    const uvzk_acl_t *entries;
    size_t count;
};

struct uvzk__stat {
    int64_t czxid;           /* of the transaction that created it */
    int64_t mzxid;           /* ... that last set it, else czxid */
    int64_t ephemeral_owner; /* session id, 0 for other znodes */
    int64_t created_ms;      /* by the server's clock, since 1970; 0: it has none */
    int32_t version;
    int32_t child_count;
};

/* One operation of a multi: create, delete, set or check (exists at version).
 *
 * A create here takes every mode but CONTAINER and tells its name but no stat:
 * the C client cannot do more. Each op sees what those before it have done, and
 * so do the numbers of sequential creates: consecutive in one directory, each
 * directory by its own counter. A multi is one transaction: all that it creates
 * has one czxid, which is the mzxid of all that it sets. A multi that fails
 * leaves the counters as they were. Of no op at all it is a transaction all the same,
 * which a quorum has to agree to (barrier.h). */
enum uvzk__op_kind { UVZK__OP_CREATE, UVZK__OP_DELETE, UVZK__OP_SET, UVZK__OP_CHECK };

struct uvzk__op {
    uint32_t kind; /* enum uvzk__op_kind */
    uint32_t mode;
    int32_t version; /* -1: any */
    const char *path;
    const void *data;
    size_t data_length;
    const struct uvzk__acl *acl;
};

struct uvzk__reply {
    int status;             /* 0 or negative; all below is only set at 0,
                               but for failed_op */
    const char *name;       /* CREATE: the full path made, number included; like
                               the rpc's path without the chroot of the hosts */
    struct uvzk__stat stat; /* CREATE, SET, GET, EXISTS */
    const void *data;       /* GET */
    size_t data_length;
    const char *const *names; /* CHILDREN: names without the parent's path */
    size_t name_count;
    const char *const *made; /* MULTI: of each op what `name` is of a CREATE;
                                NULL for those that create nothing */
    size_t failed_op;        /* MULTI: index of the op that status is about;
                                SIZE_MAX when no op is known to have failed */
};

typedef void (*uvzk__reply_cb)(struct uvzk__rpc *rpc, const struct uvzk__reply *reply);

struct uvzk__rpc {
    uvzk__reply_cb reply_cb;
    const char *path;
    const void *data;
    size_t data_length;
    const struct uvzk__acl *acl;
    struct uvzk__watch *watch; /* NULL: none */
    const struct uvzk__op *ops;
    size_t op_count;
    int32_t version;  /* -1: any */
    uint8_t kind;     /* enum uvzk__rpc_kind */
    uint8_t mode;     /* enum uvzk__mode */
    uint64_t sent_ms; /* src/'s own: now() at the submission */
    struct {          /* the port's own, untouched by src/ while outstanding */
        struct uvzk__rpc *next, *prev;
        struct uvzk__port *port;
        void *answer;
        int status;
        uint32_t state;
    } port;
};

/* ------------------------------------------------------------------ watches */

enum uvzk__watch_event {
    UVZK__WATCH_CREATED,
    UVZK__WATCH_DELETED,
    UVZK__WATCH_CHANGED,
    UVZK__WATCH_CHILDREN
};

typedef void (*uvzk__watch_cb)(struct uvzk__watch *watch, enum uvzk__watch_event event);

struct uvzk__watch {
    uvzk__watch_cb watch_cb;
    void *armed; /* the port's own; NULL when not armed */
};

/* ------------------------------------------------------------ session events */

enum uvzk__session_event_kind {
    UVZK__SESSION_CONNECTED,
    UVZK__SESSION_SUSPENDED,
    UVZK__SESSION_EXPIRED,
    UVZK__SESSION_AUTH_FAILED,
    UVZK__SESSION_OPEN_FAILED
};

struct uvzk__session_event {
    enum uvzk__session_event_kind kind;
    int status;                /* OPEN_FAILED: why */
    int64_t session_id;        /* CONNECTED */
    uint32_t timeout_ms;       /* CONNECTED: negotiated */
    const char *local_address; /* CONNECTED: as text, "" if not known */
    bool watches_lost;         /* CONNECTED: the session goes on, on a new handle */
};

/* Why there is no connection. What it points to is borrowed for the callback. */
struct uvzk__connect_error {
    int code;            /* of libuv, or uvzk's own */
    const char *address; /* whose: "address:port", or a host's name; "": nobody's */
    const char *text;    /* one line */
};

/* What the port calls, on the loop's thread. Never from inside a call of the port's
 * functions. */
struct uvzk__port_user {
    void (*session)(struct uvzk__port_user *, const struct uvzk__session_event *);
    void (*no_connection)(struct uvzk__port_user *, const struct uvzk__connect_error *);
    void (*turn)(struct uvzk__port_user *); /* after wake(), or at the alarm */
    /* module: static text. */
    void (*log)(struct uvzk__port_user *, int level, const char *module,
                const char *line);
    void (*closed)(struct uvzk__port_user *);
};

/* --------------------------------------------------------------------- port */

struct uvzk__port {
    struct uvzk__port_user *user; /* set before open() */
    atomic_uint least_timeout_ms; /* that a server has given the session; 0: none has */

    void (*open)(struct uvzk__port *);         /* one handle at a time */
    void (*abandon)(struct uvzk__port *);      /* only while SUSPENDED */
    void (*leave_server)(struct uvzk__port *); /* only while CONNECTED, see 10 */
    void (*close_soon)(struct uvzk__port *);   /* close() follows, in its own time */
    void (*close)(struct uvzk__port *);        /* once */
    void (*submit)(struct uvzk__port *, struct uvzk__rpc *);
    /* If armed or being armed, else nothing. */
    void (*unwatch)(struct uvzk__port *, struct uvzk__watch *);
    /* One alarm: turn() comes at this moment or soon after, once. UINT64_MAX
     * switches it off. */
    void (*alarm)(struct uvzk__port *, uint64_t at_ms);
    /* turn() comes soon, once however often it is asked, not from inside a call. */
    void (*wake)(struct uvzk__port *);
    uint64_t (*now)(struct uvzk__port *); /* CLOCK_BOOTTIME, ms, read now */
    int (*random)(struct uvzk__port *, void *bytes, size_t length); /* 0 or < 0 */
};

/* One thread at a time: a server has given the session this timeout. */
static inline void uvzk__port_timeout_granted(struct uvzk__port *port,
                                              uint32_t timeout_ms)
{
    unsigned least = atomic_load_explicit(&port->least_timeout_ms, memory_order_relaxed);
    if (least == 0 || timeout_ms < least) {
        atomic_store_explicit(&port->least_timeout_ms, timeout_ms, memory_order_relaxed);
    }
}

/* The session is over. */
static inline void uvzk__port_timeout_reset(struct uvzk__port *port)
{
    atomic_store_explicit(&port->least_timeout_ms, 0, memory_order_relaxed);
}

static inline uint32_t uvzk__port_least_timeout(const struct uvzk__port *port)
{
    return atomic_load_explicit(&port->least_timeout_ms, memory_order_relaxed);
}

#endif
