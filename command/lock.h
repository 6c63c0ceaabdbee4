/* SPDX-License-Identifier: Apache-2.0 */
/* What the command line of `uvzk lock` asks for. lock.c fills it in, and lock_job.c
 * carries it out. */
#ifndef LOCK_H
#define LOCK_H

#include <stdbool.h>
#include <stdint.h>

#include "connection.h"
#include "participant_list.h"
#include "run_options.h"
#include "termination.h"

struct lock_request {
    enum recipe recipe;
    bool recipe_is_default; /* no option has chosen it */
    uint32_t leases, of;    /* RECIPE_LEASES: --leases N/OF; else 0 */
    bool try_once;          /* fail at once if others hold the lock */
    bool waits_for_long;    /* without a limit; if false, wait_ms is the limit */
    uint64_t wait_ms;       /* from the start of the command; 0: none given */
    int conflict_code;      /* the exit status if others held the lock the whole time */
    bool revocable;
    uint64_t max_hold_ms; /* after this time CMD is ended and the lock released; 0: no
                             limit */
    uint64_t min_hold_ms; /* from the start of CMD on; 0: none */
    struct run_options runs;
    struct termination_rules rules;
    struct connection_options connection;
    const char *node_data;   /* the data of the lock's znode */
    const char *traceparent; /* appended to it; NULL: none */
    const char *path;
    char *hold;     /* enclosing_hold_describe's text, owned */
    char **command; /* for execvp(), with a NULL at the end */
};

#endif
