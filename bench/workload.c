/* SPDX-License-Identifier: Apache-2.0 */
#include "workload.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

enum { MOST_TASKS = 1000000, MOST_SESSIONS = 1000, MOST_MS = 3600000 };

bool workload_number(const char *text, uint64_t least, uint64_t most, uint64_t *value)
{
    char *end = NULL;

    errno = 0;
    *value = strtoull(text, &end, 10);
    return errno == 0 && end != text && *end == '\0' && strchr(text, '-') == NULL &&
           *value >= least && *value <= most;
}

bool workload_option(struct workload *workload, int letter, const char *text)
{
    switch (letter) {
    case 'H':
        workload->hosts = text;
        return true;
    case 't':
        return workload_number(text, 1, MOST_TASKS, &workload->tasks);
    case 'p':
        return workload_number(text, 1, MOST_TASKS, &workload->paths);
    case 's':
        return workload_number(text, 1, MOST_SESSIONS, &workload->sessions);
    case 'w':
        return workload_number(text, 0, MOST_MS, &workload->warm_ms);
    case 'm':
        return workload_number(text, 1, MOST_MS, &workload->window_ms);
    default:
        return false;
    }
}

bool workload_is_complete(const struct workload *workload)
{
    return workload->hosts != NULL && workload->paths <= workload->tasks;
}
