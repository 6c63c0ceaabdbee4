/* SPDX-License-Identifier: Apache-2.0 */
/* Prints help and usage errors of subcommands, and completes their options
 * (subcommands.h). */
#include "subcommands.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sysexits.h>

#include "output.h"

_Noreturn void subcommand_help(const char *help)
{
    printf("%s%s", help, connection_help);
    exit(fflush(stdout) == 0 ? EX_OK : EX_IOERR);
}

_Noreturn void subcommand_usage(const char *help)
{
    fprintf(stderr, "%.*s\n", (int)strcspn(help, "\n"), help);
    exit(EX_USAGE);
}

void subcommand_needs_hosts(struct connection_options *options)
{
    int failed = connection_options_complete(options);

    if (failed != EX_OK) {
        exit(failed);
    }
    if (options->hosts == NULL || options->hosts[0] == '\0') {
        output_report(
            "no servers: give --hosts, set ZOOKEEPER_HOSTS, or write hosts into "
            "uvzk.conf");
        exit(EX_USAGE);
    }
}
