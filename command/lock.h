/* uvzk lock: what is asked for. */
#ifndef LOCK_H
#define LOCK_H

#include <stdbool.h>
#include <stdint.h>

#include "connection.h"
#include "participant_list.h"
#include "termination.h"

struct lock_request {
    enum recipe recipe;
    uint32_t leases, of; /* RECIPE_LEASES */
    bool try_once;
    bool waits_for_long; /* without end; else wait_ms */
    uint64_t wait_ms;
    int conflict_code;
    bool revocable;
    struct termination_rules rules;
    struct connection_options connection;
    const char *node_data;
    const char *path;
    char **command;
};

#endif
