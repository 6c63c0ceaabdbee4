/* One session, by one zhandle_t after the other.
 *
 *               in vain
 *            .-----------.
 *            v           |
 *   .---> SEEKING --> OPENING --> OPEN <--> CONNECTED --> DRAINING
 *   |        |           |        ^ |           |             |
 *   |        |           v        | v           v             v
 *   |        |        CLOSE_PENDING -----|-----> CLOSING <-----------'
 *   |        `-----------^--------|---------^     closed: freed
 *   |                    |        v
 *   `------------------- LEAVING -'
 *
 * It seeks until it is given the servers' addresses (reconnect.h). It leaves those that
 * do not come back, or are to be left, for others: its zhandle_t is closed, the session
 * is not (close_keep_session.h). Opening and closing block, each on a thread of its own
 * (blocking_call.h). A handle that has ended is closed beside its successor. */
#ifndef UVZK_HANDLE_H
#define UVZK_HANDLE_H

#include <pthread.h>
#include <stdbool.h>
#include <stdint.h>
#include <uv.h>

#include <zookeeper/zookeeper.h>

#include "addresses.h"
#include "base/machine.h"
#include "blocking_call.h"
#include "engine/port.h"
#include "log_route.h"
#include "submit_thread.h"
#include "to_loop.h"

struct uvzk__handle;
struct uvzk__pending_events;
struct uvzk__zk_port;

/* What a handle tells its port, on the loop. */
struct uvzk__handle_user {
    void (*connected)(struct uvzk__handle *, const struct uvzk__pending_events *);
    void (*suspended)(struct uvzk__handle *);
    /* Its session is over, or has never been. */
    void (*ended)(struct uvzk__handle *, enum uvzk__session_event_kind, int status);
    /* What it has reached is no server. */
    void (*wrong_server)(struct uvzk__handle *, const char *server);
    /* It is open; or it could not be, and goes on with a session from before: it seeks
     * again. */
    void (*opened)(struct uvzk__handle *);
    void (*unopened)(struct uvzk__handle *);
    /* It has left its servers, and seeks again. */
    void (*left)(struct uvzk__handle *);
    /* It has been closed, and is freed. */
    void (*freed)(struct uvzk__zk_port *);
};

/* What the client's thread has to tell of the session, gathered until the loop
 * looks: no memory is needed, however fast it goes up and down. */
struct uvzk__pending_events {
    bool on_its_way;
    bool suspended; /* at least once */
    bool connected; /* and not lost since */
    bool ended;
    enum uvzk__session_event_kind end;
    int end_status;
    bool wrong_server;              /* connected to what is no server */
    char server[UVZK__SERVER_TEXT]; /* connected to whom, or misled by whom */
    clientid_t session;
    uint32_t timeout_ms;
};

enum uvzk__handle_state {
    UVZK__HANDLE_SEEKING,       /* next: OPENING CLOSING */
    UVZK__HANDLE_OPENING,       /* next: OPEN SEEKING CLOSE_PENDING */
    UVZK__HANDLE_CLOSE_PENDING, /* opening or leaving, to be closed then; next: CLOSING */
    UVZK__HANDLE_OPEN,          /* not connected; next: CONNECTED LEAVING CLOSING */
    UVZK__HANDLE_LEAVING,       /* its zhandle_t; next: SEEKING OPEN CLOSE_PENDING */
    UVZK__HANDLE_CONNECTED,     /* as told to the user; next: OPEN DRAINING CLOSING */
    UVZK__HANDLE_DRAINING,      /* something is in flight; next: CLOSING */
    UVZK__HANDLE_CLOSING        /* final */
};

extern const struct uvzk__machine uvzk__handle_machine;

struct uvzk__handle {
    struct uvzk__zk_port *port;
    zhandle_t *zh;                   /* NULL until it is open */
    struct uvzk__blocking_call call; /* opening, leaving, closing */

    pthread_mutex_t mutex; /* of news */
    struct uvzk__pending_events pending;
    struct uvzk__to_loop_entry pending_entry;
    bool authenticated; /* the client's thread: zoo_add_auth was accepted */

    uint8_t state;        /* enum uvzk__handle_state */
    bool resumes_session; /* a session from a handle before; not connected since */
    char *servers;        /* to be opened with */
    int open_status;
    int end_status; /* what is submitted while its end is being told is replied */
    char local_address[UVZK__ADDRESS_TEXT];
    struct uvzk__log_route log_route;

    struct uvzk__link waiting; /* requests to be sent, in order */
    struct uvzk__link sent;    /* requests the client has, or the submit thread */
    struct uvzk__submit_thread submit_thread;
    int in_flight;              /* length of sent */
    unsigned connection;        /* the how manieth this is */
    bool asked, answered;       /* something sent on it, and answered */
    struct uvzk__link watched;  /* registrations with a watch */
    struct uvzk__link detached; /* registrations without */
};

/* Seeking; for the port's session if it has one. NULL: out of memory. */
struct uvzk__handle *uvzk__handle_new(struct uvzk__zk_port *port);
/* Opens it with these servers, which are its own from now on; the port hears of
 * it by its events. */
void uvzk__handle_start(struct uvzk__handle *handle, char *servers);

static inline bool uvzk__handle_is_connected(const struct uvzk__handle *handle)
{
    return handle->state == UVZK__HANDLE_CONNECTED;
}
/* The user is about to be told. One more connection; or nothing if it has none. */
void uvzk__handle_connect(struct uvzk__handle *handle);
void uvzk__handle_disconnect(struct uvzk__handle *handle);

/* Not connected, as far as the user has been told: its zhandle_t is closed, whatever it
 * has come to meanwhile; the session is not, and the handle seeks again. Its watches are
 * lost. */
void uvzk__handle_leave(struct uvzk__handle *handle);
/* To whom it is connected, or was last: "address:port". */
void uvzk__handle_server(struct uvzk__handle *handle, char text[UVZK__SERVER_TEXT]);
/* The client is connected, of which the loop has not heard yet. */
bool uvzk__handle_has_connected(const struct uvzk__handle *handle);

/* The port has done with it: closes it when nothing is in flight, or after
 * uvzk__handle_stop_draining. Its requests must have been abandoned and its
 * watches severed. It frees itself. */
void uvzk__handle_end(struct uvzk__handle *handle, bool drain);
void uvzk__handle_stop_draining(struct uvzk__handle *handle);

/* Ends it as if its session had expired: the port hears of it later. */
void uvzk__handle_abandon(struct uvzk__handle *handle);

/* The C client has taken a request, or the submit thread; one has come back, with an
 * answer of the servers on this connection or without; one has been recalled. */
static inline void uvzk__handle_sent(struct uvzk__handle *handle)
{
    handle->in_flight++;
    handle->asked = true;
}
static inline void uvzk__handle_returned(struct uvzk__handle *handle, bool answered)
{
    handle->in_flight--;
    handle->answered |= answered;
}
static inline void uvzk__handle_taken_back(struct uvzk__handle *handle)
{
    handle->in_flight--;
}

/* Its end is about to be told: what is submitted meanwhile is replied so. */
static inline void uvzk__handle_ending(struct uvzk__handle *handle, int status)
{
    handle->end_status = status;
}

/* A request has come back. */
void uvzk__handle_drained(struct uvzk__handle *handle);

#endif
