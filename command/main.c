/* SPDX-License-Identifier: Apache-2.0 */
/* The command `uvzk`: Curator's locks for scripts. main runs the subcommand that the
 * first word of the command line names. */
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sysexits.h>
#include <unistd.h>

#include <uvzk.h>

#include "output.h"
#include "subcommands.h"

static const struct {
    const char *name, *does;
    int (*run)(int argc, char **argv); /* returns the exit status */
} subcommands[] = {
    {"lock", "run a command while holding a lock", subcommand_lock},
    {"elect", "run a command while this host leads", subcommand_elect},
    {"leader", "show who leads", subcommand_leader},
    {"status", "show who holds a lock and who waits for it", subcommand_status},
    {"holders", "show who holds it", subcommand_holders},
    {"wait", "wait until nobody holds it", subcommand_wait},
    {"revoke", "ask its holders to release it", subcommand_revoke},
    {"verify", "check whether a fencing token is a holder's", subcommand_verify},
    {"serve", "serve locks to programs in any language", subcommand_serve},
    {"top", "show the busiest locks below a directory", subcommand_top},
    {"doctor", "check the servers, the clock and the path of a lock", subcommand_doctor},
};

enum { SUBCOMMANDS = sizeof(subcommands) / sizeof(subcommands[0]) };

static void print_usage(FILE *out)
{
    fputs("usage: uvzk SUBCOMMAND [OPTION...] PATH ...\n\n", out);
    for (size_t i = 0; i < SUBCOMMANDS; i++) {
        fprintf(out, "  %-9s %s\n", subcommands[i].name, subcommands[i].does);
    }
    fputs("\nSee uvzk SUBCOMMAND --help and uvzk(1).\n", out);
}

/* Opens /dev/null for each standard stream that is closed. Otherwise a socket that is
 * opened later would get the number of that stream, and messages would be written into
 * it. O_CLOEXEC closes these descriptors for CMD, which then finds the streams closed,
 * as they were. */
static void fill_standard_streams(void)
{
    int fd;

    /* open() returns the lowest free number. */
    do {
        fd = open("/dev/null", O_RDWR | O_CLOEXEC);
    } while (fd >= 0 && fd <= STDERR_FILENO);
    if (fd > STDERR_FILENO) {
        close(fd);
    }
}

int main(int argc, char **argv)
{
    static char own_name[] = "uvzk";

    fill_standard_streams();
    if (argc > 1 && (strcmp(argv[1], "--version") == 0 || strcmp(argv[1], "-V") == 0)) {
        printf("uvzk %s\n", uvzk_version());
        return EX_OK;
    }
    if (argc > 1 && (strcmp(argv[1], "--help") == 0 || strcmp(argv[1], "-h") == 0)) {
        print_usage(stdout);
        return EX_OK;
    }
    for (size_t i = 0; argc > 1 && i < SUBCOMMANDS; i++) {
        if (strcmp(argv[1], subcommands[i].name) == 0) {
            argv[1] = own_name; /* getopt's messages begin with it */
            return subcommands[i].run(argc - 1, argv + 1);
        }
    }
    if (argc > 1) {
        output_report("unknown subcommand: %s", argv[1]);
    }
    print_usage(stderr);
    return EX_USAGE;
}
