/* A port on its libuv loop: what wakes the port (an answer, a call, its alarm), and its
 * libuv handles from open to close. Everything here runs on the loop's thread. */
#ifndef UVZK_PORT_LOOP_H
#define UVZK_PORT_LOOP_H

#include <stdbool.h>
#include <stdint.h>
#include <uv.h>

#include "platform/to_loop.h"
#include "port/port_life.h"

struct uvzk__loop_handles;
struct uvzk__port_loop;

/* The callbacks run on the loop's thread and never inside a call of this interface. */
struct uvzk__port_loop_user {
    /* Something has arrived, or the port has been woken. What was on the to_loop queue has
     * been delivered. */
    void (*woken)(struct uvzk__port_loop *);
    /* The alarm is due. */
    void (*alarm)(struct uvzk__port_loop *);
    /* DRAIN_MS have passed since uvzk__port_loop_drain. */
    void (*drain_timeout)(struct uvzk__port_loop *);
    /* libuv has finished with all handles. */
    void (*closed)(struct uvzk__port_loop *);
};

struct uvzk__port_loop {
    uv_loop_t *loop;
    struct uvzk__to_loop *to_loop;
    const struct uvzk__port_life *life; /* of the port */
    const struct uvzk__port_loop_user *user;
    struct uvzk__loop_handles *handles;
    uv_timer_t last_timer; /* closed last; used twice in turn */
    uint64_t alarm_at;     /* in the time of uvzk_now(); UINT64_MAX: no alarm */
    bool turn_wanted;      /* a turn is due */
    bool entered;          /* the port takes the turn that becomes due */
    bool unreferenced;     /* the port does not keep its loop alive */
    bool draining;         /* the timer ends the draining */
};

/* Opens the libuv handles. From now on they keep the loop alive. */
void uvzk__port_loop_start(struct uvzk__port_loop *port_loop);
/* Sets whether the libuv handles keep their loop alive. Has no effect once the port is
 * ENDING: then they do. */
void uvzk__port_loop_set_ref(struct uvzk__port_loop *port_loop, bool keep);

/* A turn is due: `woken` is called in the loop's next iteration, unless the port takes the
 * turn before. */
void uvzk__port_loop_want_turn(struct uvzk__port_loop *port_loop);
/* A callback of the loop is in the port: turns that become due send no wake-up until
 * uvzk__port_loop_leave. The port should take them before, which saves the three system
 * calls of a wake-up. */
void uvzk__port_loop_enter(struct uvzk__port_loop *port_loop);
/* The callback ends. A turn that is due again is for the loop's next iteration. */
void uvzk__port_loop_leave(struct uvzk__port_loop *port_loop);
/* Returns true if a turn is due, and takes it: it is then no longer due. */
bool uvzk__port_loop_take_turn(struct uvzk__port_loop *port_loop);

/* The requests in flight have DRAIN_MS from now on. */
void uvzk__port_loop_drain(struct uvzk__port_loop *port_loop);
/* There are no requests in flight left. */
void uvzk__port_loop_drained(struct uvzk__port_loop *port_loop);

/* ------------------------------------------------------------ for this room alone */

/* Initialises; opens nothing. The pointers are borrowed. Returns 0 or UV_ENOMEM. */
int uvzk__port_loop_init(struct uvzk__port_loop *port_loop, uv_loop_t *loop,
                         struct uvzk__to_loop *to_loop,
                         const struct uvzk__port_life *life,
                         const struct uvzk__port_loop_user *user);
/* Frees the memory of the libuv handles, which must be closed or never opened. */
void uvzk__port_loop_free(struct uvzk__port_loop *port_loop);

/* Sets the alarm to a time of uvzk_now(); UINT64_MAX: none. */
void uvzk__port_loop_set_alarm(struct uvzk__port_loop *port_loop, uint64_t at_ms);

/* The port has become ENDING. From now on the loop stays alive, and libuv handles that the
 * program closes are replaced at once. */
void uvzk__port_loop_detect_close(struct uvzk__port_loop *port_loop);
/* The port is about to become CLOSING: from now on there is no turn and no alarm. */
void uvzk__port_loop_silence(struct uvzk__port_loop *port_loop);
/* The port is FINISHING: closes the libuv handles. `closed` is called later. */
void uvzk__port_loop_close(struct uvzk__port_loop *port_loop);

#endif
