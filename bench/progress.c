/* SPDX-License-Identifier: Apache-2.0 */
#include "progress.h"

#include <inttypes.h>
#include <stdio.h>
#include <unistd.h>

void progress_init(struct progress *progress, uint64_t total)
{
    progress->what = "";
    progress->total = total;
    progress->done = 0;
    progress->terminal = isatty(STDERR_FILENO) == 1;
    progress->open_line = false;
    progress->next = 0;
}

static void print_line(struct progress *progress)
{
    uint64_t percent = progress->done * 100 / progress->total;
    fprintf(stderr, "%s%3" PRIu64 " %%  %-28s%s", progress->terminal ? "\r" : "", percent,
            progress->what, progress->terminal ? "" : "\n");
    fflush(stderr);
    progress->open_line = progress->terminal;
}

void progress_step(struct progress *progress, const char *what)
{
    uint64_t parts = progress->terminal ? 100 : 10;

    progress->done++;
    progress->what = what;
    if (progress->done >= progress->next) {
        print_line(progress);
        uint64_t part = progress->done * parts / progress->total;
        progress->next = ((part + 1) * progress->total + parts - 1) / parts;
    }
}

void progress_end(struct progress *progress)
{
    if (progress->open_line) {
        fprintf(stderr, "\r%36s\r", ""); /* as wide as print_line's text */
        progress->open_line = false;
    }
}
