/* SPDX-License-Identifier: Apache-2.0 */
/* The life of a session and of its client: opening, session events, closing. It is the
 * user of the session's port (uvzk__port_user). */
#ifndef UVZK_LIFECYCLE_H
#define UVZK_LIFECYCLE_H

#include "client/no_connection.h"
#include "engine/session.h"

struct uvzk__combined_state;

/* One for each session. */
struct uvzk__lifecycle {
    /* The session that this struct belongs to. */
    struct uvzk__session *session;
    /* Shared by all sessions of the client. */
    struct uvzk__combined_state *combined_state;
    struct uvzk__port_user user;
    /* May be NULL. */
    uvzk_client_state_cb state_cb;
    /* Set in the first session only; may be NULL. */
    uvzk_client_close_cb close_cb;
    /* How long the close waits for deletes, in ms. 0: that time has passed. */
    uint32_t close_wait_ms;
    /* The znodes' default data are the local address, once it is known. */
    bool default_data_is_address;
    /* When the port was last opened. */
    uint64_t opened_ms;
    /* Failed attempts to open the port, as the retry policy counts them. 0 again after a
     * connection, and when the policy is used up. */
    uint32_t open_attempts;
    /* When the first of these attempts failed. */
    uint64_t open_since_ms;
    struct uvzk__timer reopen_timer; /* until the next attempt to open the port */
    /* Until the session is LOST by the clock; then until it is given up. */
    struct uvzk__timer lost_timer;
    struct uvzk__timer close_timer; /* until close_wait_ms has passed */
    struct uvzk__no_connection no_connection;
    /* "address:port" of the last connection's server; "": not known. */
    char server[UVZK__CONNECT_ERROR_ADDRESS];
    bool close_called; /* uvzk_client_close has been called */
    bool abandoned;    /* the session was given up without an answer from a server */
};

/* Makes the session receive its port's events. */
void uvzk__lifecycle_init(struct uvzk__session *);

/* Opens the port. Called at the start and after the end of a session. */
void uvzk__open(struct uvzk__session *);

/* The user closes the client. Pending acquires are refused and holds are lost, both with
 * UVZK_ECLOSED. Their znodes are deleted. */
void uvzk__close(struct uvzk__session *);

/* An invariant of the session's client is broken. From now on all of its sessions refuse
 * all calls, as they do when the user closes the client. Ends everything, and
 * reports UVZK_STATE_CLOSED. */
void uvzk__close_broken(struct uvzk__session *);

/* Closes the port of a closing session as soon as nothing is left to wait for. Called at
 * the end of each turn. */
void uvzk__close_when_done(struct uvzk__session *);

/* Both are in create.c. The first frees what a session consists of; the second frees all
 * sessions of a client and what they share. */
void uvzk__session_free(struct uvzk__session *);
void uvzk__client_free(struct uvzk__client *);

#endif
