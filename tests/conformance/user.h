/* The port's user in the conformance suite: writes down all it is told, in one
 * order, and sees to it in every test that nothing is told inside a call, on
 * another thread or after the end, that replies come in order and when they are
 * due, and that no watch fires unasked. */
#ifndef USER_H
#define USER_H

#include <pthread.h>

#include "world.h"

#define USER_NOTES 20000
#define ASK_NAME 200

enum note_kind { NOTE_SESSION, NOTE_REPLY, NOTE_WATCH, NOTE_TURN, NOTE_CLOSED };

struct note {
    enum note_kind kind;
    int value; /* session event, the ask's number, watch event */
};

struct user {
    struct uvzk__port_user port_user;
    struct world *world;
    struct uvzk__port *port;
    bool inside; /* a call of the port */
    pthread_t loop_thread;
    struct note notes[USER_NOTES];
    size_t count;
    unsigned sessions[UVZK__SESSION_OPEN_FAILED + 1]; /* told so far, by kind */
    int64_t session_id;
    uint32_t timeout_ms;
    bool has_local_address;
    bool watches_lost; /* at the last CONNECTED */
    int open_status;
    unsigned turns, closed;
    uint64_t turn_at; /* the port's clock at the last turn */
    bool reopen;      /* open() inside EXPIRED */
    unsigned log_lines;
    int close_after; /* close() inside the reply of this number; -1: none */
    int asks;        /* numbers given so far */
    int replies;     /* told so far */
    int owed;        /* replies due before the next CONNECTED */
    bool connected;
};

struct ask {
    struct uvzk__rpc rpc;
    struct uvzk__watch watch;
    struct user *user;
    int number; /* in the order of submission */
    unsigned replies, fired;
    bool unwatched;
    int status;
    enum uvzk__watch_event event;
    char name[ASK_NAME]; /* CREATE */
    char text[ASK_NAME]; /* GET: the data; CHILDREN: names, each and a space */
    size_t names;
    struct uvzk__stat stat;
    size_t failed_op;
    char (*made)[ASK_NAME]; /* MULTI: the test's, one for each op, "" for none */
    bool made_is_told;
    struct ask *again; /* submitted inside this one's reply */
};

struct user *user_new(void); /* over a new world, not open */
void user_open(struct user *user);
void user_close(struct user *user);
/* Closes if that has not been done, and whether everything ended well. */
bool user_end(struct user *user);
/* Opens, and whether it got connected. */
bool user_connect(struct user *user);

/* Sets an ask to zero and to this rpc, without a watch, any version, an ACL
 * open to all. */
void ask_init(struct ask *ask, struct user *user, enum uvzk__rpc_kind kind,
              const char *path);
void ask_watch(struct ask *ask);
void ask_submit(struct ask *ask);
void ask_unwatch(struct ask *ask);
/* Submits and waits; the status. 1: no reply came. */
int ask_run(struct ask *ask);
bool ask_wait(struct ask *ask);
bool ask_wait_fired(struct ask *ask);

/* Whether as many session events of this kind have been told in time. */
bool user_wait_session(struct user *user, enum uvzk__session_event_kind kind,
                       unsigned times);
bool user_wait_turns(struct user *user, unsigned turns);
bool user_wait_watch_count(struct user *user, long count);

/* The place of the first such note at or after `from`; user->count if none. */
size_t user_find(const struct user *user, size_t from, enum note_kind kind, int value);

/* One request each, for tests that are about something else. The status. */
int user_create(struct user *user, const char *path, enum uvzk__mode mode);

#endif
