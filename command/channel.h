/* What the holder of the lock and the supervisor of CMD tell each other: whole
 * messages on a socket pair, whose end is the other one's death. What must never be
 * late, until when the hold is valid, is no message: it stands in memory that both
 * share (supervisor.h). */
#ifndef CHANNEL_H
#define CHANNEL_H

#include <stdbool.h>
#include <stdint.h>

enum message_kind {
    /* to the supervisor */
    MESSAGE_START,    /* run CMD; number: the fencing token, flags: the session's length
                         in ms, text: the hold's znode */
    MESSAGE_SIGNAL,   /* for CMD; number: which */
    MESSAGE_CONTINUE, /* CMD was stopped with its holder, which goes on */
    MESSAGE_REVOKE,   /* somebody wants the lock: SIGTERM, without consequences */
    MESSAGE_LOST,
    /* to the holder */
    MESSAGE_NOT_STARTED, /* number: errno */
    MESSAGE_STOPPED,     /* CMD was stopped at the terminal */
    MESSAGE_ENDED        /* number: as waitpid() has it; flags: ENDED_... */
};

#define ENDED_BY_US 1U       /* it was made to end */
#define ENDED_IN_FRONT 2U    /* it had the terminal */
#define ENDED_NEVER_BEGUN 4U /* the lock was lost before CMD ran */

#define MESSAGE_TEXT_MAX 4096

struct message {
    uint32_t kind; /* enum message_kind */
    uint32_t flags;
    int64_t number;
    char text[MESSAGE_TEXT_MAX]; /* terminated; only so much of it is sent */
};

/* Both ends, which do not block and are closed on exec. 0 or -errno. */
int channel_open(int ends[2]);

/* false: nobody listens, or is stopped and has not listened for long. */
bool channel_send(int end, const struct message *);
bool channel_send_number(int end, enum message_kind, int64_t number);

/* 1: a message. 0: none for now. -1: the other one is gone. */
int channel_receive(int end, struct message *);

#endif
