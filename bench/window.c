/* SPDX-License-Identifier: Apache-2.0 */
#include "window.h"

#include <stdio.h>
#include <time.h>

uint64_t window_now(void)
{
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (uint64_t)now.tv_sec * 1000000000U + (uint64_t)now.tv_nsec;
}

static void tell(const char *what)
{
    printf("{\"window\":\"%s\"}\n", what);
    fflush(stdout);
}

void window_begin(struct window *window)
{
    tell("begins");
    window->began_ns = window_now();
    window->open = true;
}

void window_end(struct window *window)
{
    window->open = false;
    window->length_ns = window_now() - window->began_ns;
    tell("ends");
}
