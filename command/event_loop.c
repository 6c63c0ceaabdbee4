/* SPDX-License-Identifier: Apache-2.0 */
/* Checks that enough file descriptors can be opened, and initialises the loop
 * (event_loop.h). */
#include "event_loop.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sysexits.h>
#include <unistd.h>

#include "output.h"

/* The loop and a client with its files and name servers, and some to spare. */
#define OF_ONE_CLIENT 20U
#define OF_EACH_MORE 10U

/* Opens one more, then the rest, and closes all again. Returns 0 or an errno. */
static int open_more(size_t count)
{
    int fd = fcntl(STDERR_FILENO, F_DUPFD_CLOEXEC, STDERR_FILENO + 1);

    if (fd < 0) {
        return errno;
    }
    int error = count > 1 ? open_more(count - 1) : 0;
    close(fd);
    return error;
}

int event_loop_has_room(size_t clients)
{
    size_t wanted = OF_ONE_CLIENT + (clients - 1) * OF_EACH_MORE;
    int error = open_more(wanted);

    /* EBADF: standard error is closed, and fill_standard_streams could not open it. */
    if (error != 0) {
        output_report("no room for %zu file descriptors: %s", wanted,
                      strerror(error == EBADF ? EMFILE : error));
    }
    return error == 0 ? EX_OK : EX_OSERR;
}

int event_loop_begin(uv_loop_t *loop)
{
    int failed = event_loop_has_room(1);

    if (failed != EX_OK) {
        return failed;
    }
    int status = uv_loop_init(loop);
    if (status < 0) {
        output_report("no event loop: %s", uv_strerror(status));
    }
    output_show_times();
    return status < 0 ? EX_OSERR : EX_OK;
}
