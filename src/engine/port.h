/* SPDX-License-Identifier: Apache-2.0 */
/* The only interface between src/ and the outside. loop/ implements it over
 * libzookeeper_mt and libuv, tests/sim/ over a simulated ZooKeeper ensemble with virtual
 * time. tests/conformance/ runs the same tests against both.
 *
 * Contract
 *  1 submit() does not fail synchronously: every outcome, out of memory included, is a
 *    reply.
 *  2 Each submitted rpc gets exactly one reply, on the loop's thread, in the order of
 *    submission, and never inside a call of this interface.
 *  3 The caller owns what an rpc points to (path, data, ops, acl, watch), and keeps it
 *    valid until the reply. What a reply points to is valid only during the callback.
 *    When the callback begins, the caller owns the rpc again, and may submit it again or
 *    free it.
 *  4 Status codes are uvzk's own (UVZK_E*, UV_ENOMEM). ECONNLOSS: the outcome is not
 *    known. ENOTSENT: the request was certainly not executed.
 *  5 A watch fires at most once, on the loop's thread, and after the reply that armed
 *    it. A reply arms it only if its status is 0 (for exists also ENONODE). After
 *    unwatch() the watch never fires, the caller owns it again at once, and the server
 *    forgets it too. Session events never arrive as watch events. Watches survive a
 *    disconnection: changes that happened meanwhile are reported after CONNECTED. The
 *    exception is a CONNECTED with watches_lost: no watch is still armed, none has fired
 *    for a change since SUSPENDED, and the session is the same. A path may have several
 *    watches: an event fires all watches for it, those of get and exists in the order in
 *    which they were armed, and likewise those of children. unwatch() does not affect the
 *    others. But a path that has a persistent watch (16) has no other one, armed or being
 *    armed. A watch on the children of a directory and watches on these children are
 *    watches on different paths.
 *  6 Session events.
 *    CONNECTED: the session is established, or connected again. It may come without a
 *    SUSPENDED before it; then outstanding rpcs stay outstanding.
 *    SUSPENDED: the connection is lost. Every outstanding rpc then gets ECONNLOSS or
 *    ENOTSENT as its reply, all of them before the next CONNECTED.
 *    EXPIRED, AUTH_FAILED: first, every outstanding rpc gets its reply (EEXPIRED, EAUTH;
 *    a reply that has already arrived keeps its status). Rpcs that are submitted inside
 *    these replies get the same status. All watches are dropped without firing. Then the
 *    event is reported, with nothing outstanding, and the handle is down.
 *    OPEN_FAILED: open() has failed, and the handle is down.
 *    When the handle is down, open() may be called, even inside the event. After
 *    abandon() the handle ends as if its session had expired, unless it is connected by
 *    then; the session may still live on the servers.
 *    The port ends a session only after close(), or after it has reported the end of
 *    that session (EXPIRED, AUTH_FAILED, OPEN_FAILED). While SUSPENDED, the port may
 *    leave its servers for others. Meanwhile the session may be connected and lose its
 *    connection again without an event.
 *  7 While there is no connection (before the first CONNECTED, after SUSPENDED, EXPIRED,
 *    ...), an rpc that is submitted gets ENOTSENT.
 *  8 From open() to CONNECTED, and from SUSPENDED to the next CONNECTED, no_connection()
 *    reports why there is no connection: each time the port finds a reason, and again
 *    every few seconds at least. It is not called while there is a connection.
 *  9 After close(), every outstanding rpc gets ECLOSED, no watch fires and turn() is not
 *    called. Then closed() is called once; by then the port has freed itself. close() may
 *    be called in every state, even during open().
 * 10 After leave_server(), the connection is lost soon, as in 6. The session continues
 *    at another server if one is in reach, otherwise at the same one. no_connection()
 *    then reports UVZK_EDIVERGED with the address of the server that was left; from then
 *    on the port tries that server last. Rpcs may be submitted meanwhile. If the
 *    connection is lost before, leave_server() has no effect.
 * 11 A turn at the alarm's time may come before events that happened earlier, however
 *    late the loop is. So what src/ knows of the session may be out of date then.
 * 12 least_timeout_ms is never out of date. The thread that first learns of a connection
 *    stores the granted timeout there, before CONNECTED is reported and before any
 *    request on that connection gets its reply. It does so even if the loop never hears
 *    of that connection; in that case turn() is still called.
 * 13 After end_session(), the handle ends as if its session had expired, as in 6,
 *    whatever it is doing. The port ends the session at the servers, soon after the event
 *    if there is a connection. If the handle is down, end_session() has no effect.
 * 14 broken() reports that an invariant of the port does not hold. The port continues as
 *    well as it can.
 * 15 Some servers lack requests that came late to the protocol. From a server without
 *    create2, the stat in the reply to a create is 0. A container is refused with
 *    UVZK_EUNIMPLEMENTED by a server that has none, and so is a persistent watch. A server
 *    that cannot remove watches does not forget a watch after unwatch().
 * 16 A persistent watch is on a directory, which need not exist. It fires for each change
 *    of the existence or the data of the directory and of its children, in the order of
 *    the changes, after the reply that armed it. Events and replies come in the order in
 *    which the server has carried out the changes and requests: when a reply comes, each
 *    change before its request has been reported. Changes of a znode that the client may
 *    not READ are not reported. The watch lasts until unwatch(), or until the connection
 *    or the session ends; then it never fires again. In all other respects 5 applies to
 *    it.
 * 17 An rpc with `refused` is not sent, and has no watch. If it could be sent, `refused`
 *    is the status of its reply. */
#ifndef UVZK_PORT_H
#define UVZK_PORT_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/machine.h"
#include "uvzk.h"

struct uvzk__port;
struct uvzk__rpc;
struct uvzk__watch;

/* ----------------------------------------------------------------- requests */

/* For each kind: the fields of the rpc that it uses -> the fields of the reply that it
 * sets. */
enum uvzk__rpc_kind {
    UVZK__RPC_CREATE,   /* path, data, acl, mode -> name, stat (15) */
    UVZK__RPC_DELETE,   /* path, version */
    UVZK__RPC_SET,      /* path, data, version -> stat */
    UVZK__RPC_GET,      /* path, watch -> data, stat */
    UVZK__RPC_EXISTS,   /* path, watch -> stat */
    UVZK__RPC_CHILDREN, /* path, watch -> names */
    UVZK__RPC_SYNC,     /* path */
    UVZK__RPC_MULTI,    /* ops -> made, failed_op; executes all ops or none */
    UVZK__RPC_ADD_WATCH /* path, watch: a persistent one (16) */
};

#define UVZK__RPC_KINDS (UVZK__RPC_ADD_WATCH + 1)

/* Of the znode that a create makes. */
enum uvzk__mode {
    UVZK__PERSISTENT,
    UVZK__EPHEMERAL,
    UVZK__EPHEMERAL_SEQUENTIAL, /* the server appends its counter as %010d */
    UVZK__CONTAINER,            /* UVZK_EUNIMPLEMENTED, see 15 */
    UVZK__PERSISTENT_SEQUENTIAL
};

/* The most bytes of data in a request. A server closes the connection when a request
 * exceeds its jute.maxbuffer (1,048,575 bytes by default), and the request also has a
 * path and an ACL. */
#define UVZK__DATA_MAX 1000000U

struct uvzk__acl {
    const uvzk_acl_t *entries;
    size_t count;
};

struct uvzk__stat {
    int64_t czxid; /* the transaction that created the znode */
    int64_t mzxid; /* the transaction that last set its data; at first the czxid */
    int64_t ephemeral_owner; /* the session id; 0: not ephemeral */
    int64_t created_ms;      /* since 1970, by the server's clock; 0: not known */
    int32_t version;
    int32_t child_count;
};

/* One operation of a multi: create, delete, set, or check (the znode exists with that
 * version).
 *
 * A create in a multi accepts every mode except CONTAINER, and returns a name but no
 * stat, because the C client supports no more. Each op sees the effects of the ops before
 * it. Sequential creates in one directory get consecutive numbers; each directory has its
 * own counter. A multi is one transaction: all znodes that it creates have the same
 * czxid, which is also the mzxid of all znodes that it sets. A multi that fails does not
 * change the counters. A multi without ops is also a transaction, which a quorum must
 * accept (barrier.h). */
enum uvzk__op_kind { UVZK__OP_CREATE, UVZK__OP_DELETE, UVZK__OP_SET, UVZK__OP_CHECK };

struct uvzk__op {
    uint32_t kind;   /* enum uvzk__op_kind */
    uint32_t mode;   /* CREATE: enum uvzk__mode */
    int32_t version; /* -1: any version */
    const char *path;
    const void *data;
    size_t data_length;
    const struct uvzk__acl *acl;
};

struct uvzk__reply {
    /* 0 or negative. All other fields except failed_op are set only if it is 0. */
    int status;
    /* CREATE: the full path of the new znode, with the sequence number. Like the rpc's
     * path it does not include the chroot of the connect string. */
    const char *name;
    struct uvzk__stat stat; /* CREATE, SET, GET, EXISTS */
    const void *data;       /* GET */
    size_t data_length;
    const char *const *names; /* CHILDREN: names without the parent's path */
    size_t name_count;
    /* MULTI: one entry for each op, like `name` of a CREATE; NULL: the op creates
     * nothing. */
    const char *const *made;
    /* MULTI: the index of the op that the status is about; SIZE_MAX: no op is known to
     * have failed. */
    size_t failed_op;
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
    int32_t version;  /* -1: any version */
    uint8_t kind;     /* enum uvzk__rpc_kind */
    uint8_t mode;     /* enum uvzk__mode */
    bool divisible;   /* a batch: its sender makes the next one shorter (size_limit.h) */
    int refused;      /* 0, or the status with which it is replied without being sent */
    size_t size;      /* in bytes, on the wire; 0: not sent. Written by src/ only */
    uint64_t sent_ms; /* now() at the submission; written by src/ only */
    struct {          /* the port's; src/ does not touch it while outstanding */
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
/* Of a persistent watch. child: the name of the child that the event is about, valid only
 * during the callback; NULL: it is about the directory. */
typedef void (*uvzk__child_cb)(struct uvzk__watch *watch, enum uvzk__watch_event event,
                               const char *child);

struct uvzk__watch {
    union {
        uvzk__watch_cb watch_cb;
        uvzk__child_cb child_cb; /* of a persistent watch */
    };
    void *armed; /* written by the port; NULL: not armed */
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
    const char *local_address; /* CONNECTED: as text; "": not known */
    const char *server; /* CONNECTED: to which one, "address:port"; "": not known */
    bool watches_lost;  /* CONNECTED: no watch is still armed, see 5 */
};

/* Why there is no connection. The pointers are valid only during the callback. */
struct uvzk__connect_error {
    int code;            /* of libuv or uvzk */
    const char *address; /* of the server: "address:port", or a host name; "": none */
    const char *text;    /* one line */
};

/* The callbacks of the port. The port calls them on the loop's thread, and except for
 * broken() never inside one of its own functions. lifecycle.c implements them. */
struct uvzk__port_user {
    void (*session)(struct uvzk__port_user *, const struct uvzk__session_event *);
    void (*no_connection)(struct uvzk__port_user *, const struct uvzk__connect_error *);
    void (*turn)(struct uvzk__port_user *); /* after wake(), or at the alarm */
    /* A log line of the port or of the C client. module: static text. */
    void (*log)(struct uvzk__port_user *, int level, const char *module,
                const char *line);
    void (*closed)(struct uvzk__port_user *);
    /* See 14. what: a sentence. May also be called inside a function of the port. */
    void (*broken)(struct uvzk__port_user *, const char *what);
};

/* --------------------------------------------------------------------- port */

struct uvzk__port {
    struct uvzk__port_user *user; /* set before open() */
    /* The smallest session timeout that a server has granted to this session, in ms; 0:
     * none has been granted yet. See 12. */
    atomic_uint least_timeout_ms;
    size_t chroot_length; /* of what the port puts before each path; set by the port */

    void (*open)(struct uvzk__port *);         /* one handle at a time */
    void (*abandon)(struct uvzk__port *);      /* only while SUSPENDED */
    void (*leave_server)(struct uvzk__port *); /* only while CONNECTED, see 10 */
    void (*end_session)(struct uvzk__port *);  /* in every state, see 13 */
    void (*close_soon)(struct uvzk__port *);   /* the user closes; close() follows */
    void (*close)(struct uvzk__port *);        /* once */
    void (*submit)(struct uvzk__port *, struct uvzk__rpc *);
    /* Does nothing if the watch is neither armed nor being armed. */
    void (*unwatch)(struct uvzk__port *, struct uvzk__watch *);
    /* Sets the only alarm: turn() is called once, at this time or soon after it.
     * UINT64_MAX switches the alarm off. */
    void (*alarm)(struct uvzk__port *, uint64_t at_ms);
    /* turn() is called soon, once for any number of calls, and not inside the call. */
    void (*wake)(struct uvzk__port *);
    uint64_t (*now)(struct uvzk__port *); /* CLOCK_BOOTTIME, ms, read now */
    int (*random)(struct uvzk__port *, void *bytes, size_t length); /* 0 or < 0 */
};

/* Checks what must be true of the port unless uvzk has a fault (14), and returns it. what:
 * "<subject>: <what is wrong>". */
static inline bool uvzk__port_expect(struct uvzk__port *port, bool holds,
                                     const char *what)
{
    if (!holds) {
        port->user->broken(port->user, what);
    }
    return holds;
}

/* Reports what is wrong with a move (uvzk__move_report). */
static inline void uvzk__port_report(void *port, const char *text)
{
    struct uvzk__port *self = port;

    self->user->broken(self->user, text);
}

/* Moves a machine of the port, and checks the move and what must hold after it, in the
 * same way (uvzk__machine_enter). */
static inline void uvzk__port_move(struct uvzk__port *port,
                                   const struct uvzk__machine *machine, void *object,
                                   unsigned state)
{
    (void)uvzk__machine_enter(machine, object, state, uvzk__port_report, port);
}

/* A server has granted this timeout to the session. Only one thread at a time may call
 * this function, so the load and the store need not be one atomic operation. */
static inline void uvzk__port_timeout_granted(struct uvzk__port *port,
                                              uint32_t timeout_ms)
{
    unsigned least = atomic_load_explicit(&port->least_timeout_ms, memory_order_relaxed);
    if (least == 0 || timeout_ms < least) {
        atomic_store_explicit(&port->least_timeout_ms, timeout_ms, memory_order_relaxed);
    }
}

/* The session has ended. */
static inline void uvzk__port_timeout_reset(struct uvzk__port *port)
{
    atomic_store_explicit(&port->least_timeout_ms, 0, memory_order_relaxed);
}

/* The smallest timeout that a server has granted to the session, in ms, which is never out
 * of date (12). */
static inline uint32_t uvzk__port_least_timeout(const struct uvzk__port *port)
{
    return atomic_load_explicit(&port->least_timeout_ms, memory_order_relaxed);
}

#endif
