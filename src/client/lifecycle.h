/* A client's life: opening, session events, closing. */
#ifndef UVZK_LIFECYCLE_H
#define UVZK_LIFECYCLE_H

#include "client/unreached.h"
#include "engine/client.h"

struct uvzk__states;

/* Of a client. */
struct uvzk__life {
    struct uvzk__client *client;
    struct uvzk__states *states; /* of all sessions */
    struct uvzk__port_user user;
    uvzk_client_state_cb state_cb;
    uvzk_client_close_cb close_cb;
    uint32_t close_wait_ms;
    bool default_data_is_address;
    uint64_t opened_ms;
    uint32_t open_attempts;
    uint64_t open_since_ms;
    struct uvzk__timed reopen;   /* after a failed open */
    struct uvzk__timed lapse;    /* LOST by the clock */
    struct uvzk__timed patience; /* of close */
    struct uvzk__unreached unreached;
    bool started;
    bool given_up; /* the session, without a word of the servers */
};

/* Connects the client to its port's events. */
void uvzk__lifecycle_init(struct uvzk__client *);

void uvzk__open(struct uvzk__client *);

/* Begins to close: everything pending is refused, everything held is lost. */
void uvzk__close(struct uvzk__client *);

/* Goes on closing as soon as nothing is left to wait for. */
void uvzk__close_when_done(struct uvzk__client *);

/* client.c: frees what the session itself is made of; and, when all of them are, what they
 * have shared. */
void uvzk__client_free(struct uvzk__client *);
void uvzk__sessions_free(struct uvzk__sessions *);

#endif
