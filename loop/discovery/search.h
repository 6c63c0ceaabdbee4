/* SPDX-License-Identifier: Apache-2.0 */
/* Searches for the servers behind a connect string. The search looks up the names, and
 * probes all addresses in parallel. While the search continues, it probes addresses that
 * failed again, after growing pauses.
 *
 *   RESTING --begin--> PLANNED --> SEARCHING --a server answers--> ANSWERED
 *      ^ |                ^ |          |  |                            |
 *      | |                | |          |  | no name has an address:    | after a grace
 *      | |  begin, again  | |          |  v done(UV_EAI_*)             v time: done(0)
 *      `-|--- rest -------+-+----------+--+----------------------------'
 *        `-----> CLOSING <--'   from every state, final
 *
 * The addresses of a name are kept as long as their TTL says, and longer if later
 * look-ups fail. Each unusable entry is logged with the reason, once until the reason
 * changes. Probes that are under way when a search ends continue, so their outcome is
 * logged. Nothing here blocks, and nothing uses libuv's thread pool. */
#ifndef UVZK_SEARCH_H
#define UVZK_SEARCH_H

#include <stdbool.h>
#include <stdint.h>
#include <uv.h>

#include "base/machine.h"
#include "discovery/addresses.h"
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

/* The callbacks run on the loop's thread and, except for broken(), never inside a call of
 * this interface. */
struct uvzk__search_user {
    /* The search is over. status 0: at least one server has answered. Otherwise no name
     * has an address: UV_EAI_*, UV_ENOMEM. */
    void (*done)(struct uvzk__search_user *, int status);
    /* A line for the log. */
    void (*log)(struct uvzk__search_user *, const char *line);
    /* Reports why an entry is unusable, each time a probe or a look-up fails. After 2.5 s
     * without a result, reports an entry that has not answered yet. */
    void (*connect_error)(struct uvzk__search_user *, const struct uvzk__connect_error *);
    void (*closed)(struct uvzk__search_user *); /* the search has been freed */
    /* An invariant of the search is broken (engine/port.h, 14). The only callback that
     * may run inside a call. */
    void (*broken)(struct uvzk__search_user *, const char *what);
};

/* Creates a search in state RESTING. hosts is a valid connect string and is borrowed. A
 * probe waits for a third of timeout_ms, the session timeout, at first. Returns NULL and
 * sets *status: UV_ENOMEM, UV_EMFILE, ... */
struct uvzk__search *uvzk__search_new(uv_loop_t *loop, const char *hosts,
                                      uint32_t timeout_ms, struct uvzk__search_user *user,
                                      int *status);
/* From now on, every address that accepts a connection counts as a server. This is for
 * TLS, where the port itself finds out whether it is one. */
void uvzk__search_only_connect(struct uvzk__search *search);
/* Closes the search, which frees itself. Only the callback closed() runs after this
 * call. */
void uvzk__search_close(struct uvzk__search *search);

/* Begins a search after delay_ms, plus or minus a quarter. A search that is under way
 * starts again, and earlier answers no longer count. */
void uvzk__search_begin(struct uvzk__search *search, uint32_t delay_ms);
/* Ends the search without calling done(). */
void uvzk__search_rest(struct uvzk__search *search);

/* Returns true if a search is planned or under way, so done() will be called. */
bool uvzk__search_goes_on(const struct uvzk__search *search);

/* Returns the servers that have answered since the search began, as zookeeper_init
 * expects them. They are marked as the servers in use. Servers that are distrusted or
 * avoided are returned only if no other server has answered. `local` receives this
 * machine's address towards the servers. The caller frees the text with uvzk__free.
 * Returns NULL if no server has answered, or if out of memory. */
char *uvzk__search_take(struct uvzk__search *search, char local[UVZK__ADDRESS_TEXT]);
/* The same as addresses, in a random order, for a transport that connects itself. Returns
 * their number; 0 if no server has answered, or if out of memory. The caller frees
 * *addresses with uvzk__free; their hosts are valid until the search is closed. If the
 * search only connects, an address is returned once for each of its hosts: a certificate
 * is for a host, and several servers may listen at one address. Otherwise each address is
 * returned once. */
size_t uvzk__search_take_addresses(struct uvzk__search *search,
                                   struct uvzk__named_address **addresses,
                                   char local[UVZK__ADDRESS_TEXT]);
/* Marks the server with this address ("address:port") as distrusted for as long as the
 * address is known: its answer to a probe was wrong. It is used only if no other server
 * answers. */
void uvzk__search_distrust(struct uvzk__search *search, const char *server);
/* Marks the server as avoided for a time: 10 s at first, doubled each time up to 10
 * minutes. Meanwhile it is used only if no other server answers. */
void uvzk__search_avoid(struct uvzk__search *search, const char *server);
/* Returns true if one of the servers in use has answered since the search began, and is
 * neither distrusted nor avoided. */
bool uvzk__search_finds_known(const struct uvzk__search *search);

#endif
