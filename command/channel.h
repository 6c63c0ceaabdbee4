/* SPDX-License-Identifier: Apache-2.0 */
/* The socket pair on which the holder process and the supervisor of `uvzk lock` and
 * `uvzk elect` exchange messages. If one of the two processes dies, the other one sees
 * the end of the channel.
 *
 * The end of the hold's validity is not sent as a message, because a message may be read
 * late. It is in a memory page that both processes share (supervisor.h). */
#ifndef CHANNEL_H
#define CHANNEL_H

#include <stdbool.h>
#include <stdint.h>

enum message_kind {
    /* From the holder to the supervisor. */
    MESSAGE_START,    /* run CMD; number: the fencing token, flags: the session timeout
                         in ms, text: the path of the hold's znode */
    MESSAGE_SIGNAL,   /* send a signal to CMD; number: the signal */
    MESSAGE_CONTINUE, /* the holder was stopped and continues: continue CMD */
    MESSAGE_REVOKE,   /* another client asks for the lock: send SIGTERM to CMD, and no
                         SIGKILL later */
    MESSAGE_LOST,     /* the lock is lost: do what --on-lost says; text: the reason */
    MESSAGE_GIVE_UP,  /* the lock must be given up, but is still held until CMD has ended:
                         end CMD; text: the reason */
    MESSAGE_MAX_HOLD, /* the hold is limited; number: its end (CLOCK_BOOTTIME, ms) */
    /* From the supervisor to the holder. */
    MESSAGE_STARTED,     /* CMD runs */
    MESSAGE_NOT_STARTED, /* CMD could not be run; number: errno */
    MESSAGE_STOPPED,     /* the shell's job must stop, because CMD has stopped */
    MESSAGE_ENDED        /* CMD has ended; number: the status of waitpid(); flags:
                            ENDED_... */
};

#define ENDED_BY_US 1U       /* the supervisor sent SIGTERM or SIGKILL to end CMD */
#define ENDED_IN_FRONT 2U    /* CMD had the terminal when it ended */
#define ENDED_NEVER_BEGUN 4U /* CMD was not run: too little validity was left */
#define ENDED_AT_LIMIT 8U    /* ENDED_BY_US, because of --max-hold */

#define MESSAGE_TEXT_MAX 4096

struct message {
    uint32_t kind; /* enum message_kind */
    uint32_t flags;
    int64_t number;
    char text[MESSAGE_TEXT_MAX]; /* sent up to its NUL */
};

/* Opens both ends. They do not block and are closed on exec. Returns 0 or -errno. */
int channel_open(int ends[2]);

/* Send a message. The second function sends one without flags and text. Return false if
 * the other process is gone, or if the socket's buffer is full because the other process
 * has read nothing for long. */
bool channel_send(int end, const struct message *);
bool channel_send_number(int end, enum message_kind, int64_t number);

/* Returns 1 if a message was received, 0 if there is none now, and -1 if the other
 * process is gone. */
int channel_receive(int end, struct message *);

#endif
