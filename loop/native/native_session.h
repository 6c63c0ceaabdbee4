/* SPDX-License-Identifier: Apache-2.0 */
/* A ZooKeeper session over the native transport: it finds servers, connects to one after
 * another, and keeps the session alive.
 *
 *            open                a server answers
 *     DOWN --------> SEEKING ------------------------> CONNECTING
 *      ^                ^ ^ ^                               | connected
 *      |                | | `-------- fails ----------------|
 *      |                | |                                 v
 *      |                | |---------- fails ---------- ESTABLISHING
 *      |                | |                                 | the session lives
 *      |                | |                                 |----------> AUTHENTICATING
 *      |                | `---------- fails ----------------|<---------------'
 *      | the session    |                                   |----------> ASKING
 *      | ends, from     |                                   v                |
 *      `- every state   |---- the connection is lost --- CONNECTED <---------|
 *                       `----------------------------------------------------'
 *
 * SEEKING: the search probes the addresses of the connect string (discovery/search.h).
 * CONNECTING: the kernel connects, then TLS begins if it is wanted. ESTABLISHING: the
 * connect request is sent. AUTHENTICATING: only with SASL; the server is to accept the client
 * (authentication.h). Until then the session is not the one to continue. ASKING: the server
 * is asked what it knows (port/dialect.h). The user is not told of a session that is lost in
 * this state, and the next connection begins another one.
 *
 * The session tries another server by way of SEEKING. It searches again only when no
 * server is left that answered the last search. */
#ifndef UVZK_NATIVE_SESSION_H
#define UVZK_NATIVE_SESSION_H

#include <stdbool.h>
#include <stdint.h>

#include "base/machine.h"
#include "discovery/addresses.h"
#include "discovery/pause.h"
#include "discovery/search.h"
#include "discovery/sockets.h"
#include "native/chroot.h"
#include "native/conduct.h"
#include "native/ending_streams.h"
#include "native/sasl.h"
#include "native/stream.h"
#include "native/tls.h"
#include "native/watch_table.h"
#include "native/wire_reply.h"
#include "port/loop_port.h"

/* ZooKeeper's servers make passwords of 16 bytes. */
#define UVZK__PASSWORD_MAX 64U

enum uvzk__native_session_state {
    UVZK__NATIVE_DOWN,           /* next: SEEKING */
    UVZK__NATIVE_SEEKING,        /* next: CONNECTING DOWN */
    UVZK__NATIVE_CONNECTING,     /* next: ESTABLISHING SEEKING DOWN */
    UVZK__NATIVE_ESTABLISHING,   /* next: AUTHENTICATING ASKING CONNECTED SEEKING DOWN */
    UVZK__NATIVE_AUTHENTICATING, /* next: ASKING CONNECTED SEEKING DOWN */
    UVZK__NATIVE_ASKING,         /* next: CONNECTED SEEKING DOWN */
    UVZK__NATIVE_CONNECTED       /* next: SEEKING DOWN */
};

extern const struct uvzk__machine uvzk__native_session_machine;

struct uvzk__native_session;

/* The callbacks run on the loop's thread. Each of them may close the port, so after each
 * one the session checks whether its stream is still the same. */
struct uvzk__native_session_user {
    /* A callback of the loop begins, or has ended: the session reports nothing outside
     * of these two. */
    void (*enter)(struct uvzk__native_session *);
    void (*leave)(struct uvzk__native_session *);
    /* The session is about to become CONNECTED. */
    void (*connects)(struct uvzk__native_session *);
    /* It is CONNECTED. */
    void (*connected)(struct uvzk__native_session *, const struct uvzk__session_event *);
    /* An answer. Returns 0, or a code if the connection is unusable. */
    int (*answered)(struct uvzk__native_session *, struct uvzk__jute_bytes frame,
                    int32_t xid);
    /* A watch event. */
    int (*event)(struct uvzk__native_session *, struct uvzk__jute_bytes frame);
    /* The connection of a CONNECTED session is lost. `taken`: how many of its bytes the
     * kernel had taken. */
    void (*lost)(struct uvzk__native_session *, uint64_t taken);
    /* The session has ended, or it could not begin (OPEN_FAILED). It is DOWN. */
    void (*ended)(struct uvzk__native_session *, enum uvzk__session_event_kind,
                  int status);
};

struct uvzk__native_session {
    const struct uvzk__native_session_user *user;
    struct uvzk__loop_port *port;
    struct uvzk__watch_table *watches;
    struct uvzk__chroot *chroot;
    struct uvzk__tls_context *tls;           /* NULL: plain text; shared, see tls.h */
    struct uvzk__sasl_context *sasl_context; /* NULL: no SASL; shared, see sasl.h */

    struct uvzk__sockets sockets;
    bool has_sockets; /* they are open */
    struct uvzk__search_user search_user;
    struct uvzk__search *search; /* NULL: not created yet, or closed */

    uint8_t state;                       /* enum uvzk__native_session_state */
    uint32_t pause_ms;                   /* before the next search; it grows */
    struct uvzk__named_address *servers; /* that have answered; owned */
    size_t server_count, next_server;
    char server[UVZK__SERVER_TEXT];         /* of the stream, as text */
    char local_address[UVZK__ADDRESS_TEXT]; /* this machine's, towards the servers */
    struct uvzk__stream *stream;            /* NULL in DOWN and SEEKING */
    struct uvzk__ending_streams endings;    /* of this session and of earlier ones */

    struct uvzk__sasl *sasl;               /* owned: the exchange of AUTHENTICATING */
    struct uvzk__connect_response granted; /* in AUTHENTICATING, by the server */
    unsigned char granted_password[UVZK__PASSWORD_MAX];

    int64_t id; /* 0: there is no session to continue */
    unsigned char password[UVZK__PASSWORD_MAX];
    size_t password_length;
    int64_t last_zxid;             /* of a reply: a later change may have been missed */
    uint32_t timeout_ms;           /* granted last; while there is none: asked for */
    uint64_t sent_at, received_at; /* by uvzk_now() */
    /* When a ping, or a request for the leader, was sent last: every server counts these as a
     * sign of life. A follower of ClickHouse Keeper does not count what it answers alone. */
    uint64_t touched_at;
    bool carries_touch;               /* the stream, since touched_at */
    uint64_t received;                /* bytes of the stream at received_at */
    uint64_t deadline;                /* of CONNECTING to ASKING */
    struct uvzk__connect_tries tries; /* of CONNECTING */
    uint64_t alarm_at;                /* when the sockets' alarm comes at the latest */
    struct uvzk__conduct conduct;     /* the server's, while CONNECTED */
    unsigned unanswered_rearms;       /* requests that re-arm watches */
    unsigned failed_rearms;           /* connections in turn that ended at them */
};

/* In memory of zeros. The pointers are borrowed; tls and sasl are shared. */
void uvzk__native_session_init(struct uvzk__native_session *session,
                               struct uvzk__loop_port *port,
                               struct uvzk__watch_table *watches,
                               struct uvzk__chroot *chroot, struct uvzk__tls_context *tls,
                               struct uvzk__sasl_context *sasl,
                               const struct uvzk__native_session_user *user);
/* Begins a session, which must be DOWN. 0; or UV_ENOMEM, UV_EMFILE, ...: then it is
 * DOWN. */
int uvzk__native_session_open(struct uvzk__native_session *session);

static inline bool
uvzk__native_session_is_down(const struct uvzk__native_session *session)
{
    return session->state == UVZK__NATIVE_DOWN;
}
static inline bool
uvzk__native_session_is_connected(const struct uvzk__native_session *session)
{
    return session->state == UVZK__NATIVE_CONNECTED;
}
/* The stream of a CONNECTED session, for writing. */
static inline struct uvzk__stream *
uvzk__native_session_stream(struct uvzk__native_session *session)
{
    return session->stream;
}

/* Leaves the server, which shows outdated data. Does nothing unless the session is
 * CONNECTED. Calls lost(). */
void uvzk__native_session_leave(struct uvzk__native_session *session);
/* Ends the session as if it had expired: calls ended(). If it is CONNECTED, it is ended
 * at the server too. Does nothing if it is DOWN. */
void uvzk__native_session_expire(struct uvzk__native_session *session);

/* The port is closing: ends the session at the server if it is CONNECTED. leave() is
 * called whenever something of it has been freed. */
void uvzk__native_session_close(struct uvzk__native_session *session);
/* Closes the connections that still end a session. */
void uvzk__native_session_stop_ending(struct uvzk__native_session *session);
/* After uvzk__native_session_close: closes what can be closed now, and returns true if
 * nothing is left. */
bool uvzk__native_session_is_gone(struct uvzk__native_session *session);
static inline bool
uvzk__native_session_is_ending(const struct uvzk__native_session *session)
{
    return session->endings.lingering != NULL;
}
/* Frees the memory. */
void uvzk__native_session_end(struct uvzk__native_session *session);

/* ------------------------------------------------------------ for this room alone */

/* A step begins, and the server has a limited time for it. */
void uvzk__native_session_allow_step(struct uvzk__native_session *session);
/* Reports and logs what is wrong with the server of the stream, unless the session is
 * CONNECTED or DOWN. */
void uvzk__native_session_blame(struct uvzk__native_session *session, int code,
                                const char *text);
/* The exchange of SASL is over. */
void uvzk__native_session_end_exchange(struct uvzk__native_session *session);
/* The server has not accepted the connection of a CONNECTING session yet: connects to it
 * once more, within the time that it has. */
void uvzk__native_session_connect_again(struct uvzk__native_session *session);
/* The server of the stream cannot be used, and the session is not CONNECTED: tries the
 * next one. */
void uvzk__native_session_try_next(struct uvzk__native_session *session, int code,
                                   const char *text);
/* The connection is lost, in any state. */
void uvzk__native_session_lose(struct uvzk__native_session *session, int code,
                               const char *text);
/* The session has ended, or could not begin. at_server: it may live there, and is ended
 * there too. */
void uvzk__native_session_finish(struct uvzk__native_session *session,
                                 enum uvzk__session_event_kind kind, int status,
                                 bool at_server);

#endif
