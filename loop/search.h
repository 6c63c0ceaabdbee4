/* The search for the servers behind a connect string: its names are looked up,
 * each address is probed, in parallel, and again at a growing distance as long
 * as the search goes on.
 *
 *   RESTING --begin--> PLANNED --> SEARCHING --a server answers--> ANSWERED
 *      ^ |                ^ |          |  |                            |
 *      | |                | |          |  | no name has an address:    | after a grace:
 *      | |  begin, again  | |          |  v done(UV_EAI_*)             v done(0)
 *      `-|--- rest -------+-+----------+--+----------------------------'
 *        `-----> CLOSING <--'   from all of them, for good
 *
 * Addresses live as long as their TTL says, and for want of better ones longer.
 * Which entry is bad, and why, is told once until it changes; what is under way
 * when the search is over goes on to its end for that. Nothing here blocks, and
 * nothing uses libuv's thread pool. */
#ifndef UVZK_SEARCH_H
#define UVZK_SEARCH_H

#include <stdbool.h>
#include <stdint.h>
#include <uv.h>

#include "addresses.h"
#include "base/machine.h"
#include "engine/port.h"

struct uvzk__search;

enum uvzk__search_state {
    UVZK__SEARCH_RESTING,   /* next: PLANNED CLOSING */
    UVZK__SEARCH_PLANNED,   /* next: SEARCHING RESTING CLOSING */
    UVZK__SEARCH_SEARCHING, /* next: ANSWERED RESTING PLANNED CLOSING */
    UVZK__SEARCH_ANSWERED,  /* next: RESTING PLANNED CLOSING */
    UVZK__SEARCH_CLOSING    /* final */
};

extern const struct uvzk__machine uvzk__search_machine;

/* Called on the loop's thread, never from inside a call. */
struct uvzk__search_user {
    void (*done)(struct uvzk__search_user *, int status);
    void (*log)(struct uvzk__search_user *, const char *line);
    /* Why one of them is of no use, each time that is found out, and that nothing is
     * known yet when it takes long. */
    void (*connect_error)(struct uvzk__search_user *, const struct uvzk__connect_error *);
    void (*closed)(struct uvzk__search_user *); /* the search is freed */
};

/* hosts is valid and is borrowed; a probe is given a third of timeout_ms, the
 * session's, at first. NULL and *status: UV_ENOMEM, UV_EMFILE, ... */
struct uvzk__search *uvzk__search_new(uv_loop_t *loop, const char *hosts,
                                      uint32_t timeout_ms, struct uvzk__search_user *user,
                                      int *status);
/* Nothing comes any more but closed(). */
void uvzk__search_close(struct uvzk__search *search);

/* Searches anew, in so many milliseconds, give or take a quarter; once more if it is
 * searching already. */
void uvzk__search_begin(struct uvzk__search *search, uint32_t delay_ms);
/* Nobody wants to know any more. */
void uvzk__search_rest(struct uvzk__search *search);

/* done() is to come. */
bool uvzk__search_goes_on(const struct uvzk__search *search);

/* Those that have answered since the search began, as zookeeper_init wants them,
 * to be freed with uvzk__free, and this machine's address as they see it. From
 * now on they are the ones in use. NULL: none, or out of memory. */
char *uvzk__search_take(struct uvzk__search *search, char local[UVZK__ADDRESS_TEXT]);
/* What this address ("address:port") answers to a probe is not to be believed: it is
 * taken for want of others only. */
void uvzk__search_distrust(struct uvzk__search *search, const char *server);
/* This one neither, for a time that grows from 10 s to 10 minutes. */
void uvzk__search_avoid(struct uvzk__search *search, const char *server);
/* Whether one of those in use, and trusted, has answered since the search began. */
bool uvzk__search_finds_known(const struct uvzk__search *search);

#endif
