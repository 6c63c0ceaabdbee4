/* SPDX-License-Identifier: Apache-2.0 */
/* What the command line of `uvzk elect` asks for. elect.c fills it in, and elect_job.c
 * carries it out. */
#ifndef ELECT_H
#define ELECT_H

#include <stdbool.h>
#include <stdint.h>

#include "connection.h"
#include "participant_list.h"
#include "termination.h"

struct elect_request {
    enum recipe recipe; /* RECIPE_LATCH; RECIPE_MUTEX with --selector, whose znodes are a
                           mutex's */
    bool once;          /* exit when CMD has ended */
    uint64_t pause_ms;  /* before it stands again after CMD has ended by itself */
    uint64_t term_ms;   /* how long it leads at most; 0: no limit */
    struct termination_rules rules;
    struct connection_options connection;
    const char *id; /* of this participant: the data of its znode */
    const char *path;
    char *hold;     /* enclosing_hold_describe's text, owned */
    char **command; /* for execvp(), with a NULL at the end */
};

#endif
