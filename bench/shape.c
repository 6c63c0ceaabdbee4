#include "shape.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

enum { MOST_TASKS = 1000000, MOST_SESSIONS = 1000, MOST_MS = 3600000 };

bool shape_number(const char *text, uint64_t least, uint64_t most, uint64_t *value)
{
    char *end = NULL;

    errno = 0;
    *value = strtoull(text, &end, 10);
    return errno == 0 && end != text && *end == '\0' && strchr(text, '-') == NULL &&
           *value >= least && *value <= most;
}

bool shape_option(struct shape *shape, int letter, const char *text)
{
    switch (letter) {
    case 'H':
        shape->hosts = text;
        return true;
    case 't':
        return shape_number(text, 1, MOST_TASKS, &shape->tasks);
    case 'p':
        return shape_number(text, 1, MOST_TASKS, &shape->paths);
    case 's':
        return shape_number(text, 1, MOST_SESSIONS, &shape->sessions);
    case 'w':
        return shape_number(text, 0, MOST_MS, &shape->warm_ms);
    case 'm':
        return shape_number(text, 1, MOST_MS, &shape->window_ms);
    default:
        return false;
    }
}

bool shape_is_whole(const struct shape *shape)
{
    return shape->hosts != NULL && shape->paths <= shape->tasks;
}
