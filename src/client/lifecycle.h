/* A client's life: opening, session events, closing. */
#ifndef UVZK_LIFECYCLE_H
#define UVZK_LIFECYCLE_H

#include "client/no_connection.h"
#include "engine/session.h"

struct uvzk__combined_state;

/* Of a client. */
struct uvzk__lifecycle {
    struct uvzk__session *session;
    struct uvzk__combined_state *combined_state; /* of all sessions */
    struct uvzk__port_user user;
    uvzk_client_state_cb state_cb;
    uvzk_client_close_cb close_cb;
    uint32_t close_wait_ms;
    bool default_data_is_address;
    uint64_t opened_ms;
    uint32_t open_attempts;
    uint64_t open_since_ms;
    struct uvzk__timer reopen_timer; /* after a failed open */
    struct uvzk__timer lost_timer;   /* LOST by the clock */
    struct uvzk__timer close_timer;  /* of close */
    struct uvzk__no_connection no_connection;
    bool started;
    bool abandoned; /* the session, without a word of the servers */
};

/* Connects the client to its port's events. */
void uvzk__lifecycle_init(struct uvzk__session *);

void uvzk__open(struct uvzk__session *);

/* Begins to close: everything pending is refused, everything held is lost. */
void uvzk__close(struct uvzk__session *);

/* Goes on closing as soon as nothing is left to wait for. */
void uvzk__close_when_done(struct uvzk__session *);

/* create.c: frees what the session itself is made of; and, when all of them are, what they
 * have shared. */
void uvzk__session_free(struct uvzk__session *);
void uvzk__client_free(struct uvzk__client *);

#endif
