/* uvzk doctor: checks this machine, the servers and the path of a lock, and prints one line
 * for each check. It creates no znode and changes none. main.c calls subcommand_doctor.
 *
 *   clock_rate.c -> server_list.c (names) -> server_check.c -> path_check.c
 */
#include <signal.h>
#include <stdlib.h>
#include <sysexits.h>

#include "arguments.h"
#include "doctor/clock_rate.h"
#include "doctor/findings.h"
#include "doctor/path_check.h"
#include "doctor/server_check.h"
#include "event_loop.h"
#include "output.h"
#include "query.h"
#include "server_list.h"
#include "subcommands.h"

#define PATIENCE_MS 10000     /* with --connect-timeout 0 */
#define SLOW_NAME_MS 1000.0   /* of a look-up */
#define CLIENTS_OF_A_SERVER 2 /* at the same time */

static const char help[] =
    "usage: uvzk doctor [OPTION...] [PATH]\n"
    "\n"
    "Checks this machine's clock, the servers and, if it is given, the lock's path. "
    "Each\n"
    "line is ok, warning or wrong; the exit status is 0, 1 or 2 by the worst of them.\n"
    "\n"
    "  -j, --json                as one line of JSON\n";

static void on_name(void *data, const struct server_list_name *name)
{
    if (name->why != NULL) {
        findings_add(data, GRADE_WRONG, "dns", NULL, FIGURES({"ms", name->took_ms}),
                     "%s: %s", name->name, name->why);
    } else {
        findings_add(data, name->took_ms > SLOW_NAME_MS ? GRADE_WARNING : GRADE_OK, "dns",
                     NULL, FIGURES({"ms", name->took_ms}),
                     "%s is %s (looked up in %.1f ms)", name->name, name->found,
                     name->took_ms);
    }
}

/* Returns an exit code if the checks could not be made. */
static int check_servers(const struct connection_options *options,
                         struct findings *findings, bool *reached)
{
    uv_loop_t loop;
    struct server_list list;
    struct server_checks *checks = calloc(1, sizeof(*checks));
    int failed = checks == NULL ? EX_OSERR : event_loop_begin(&loop);

    if (failed != EX_OK) {
        free(checks);
        return failed;
    }
    failed = server_list_look_up(&list, options->hosts, on_name, findings);
    if (failed == EX_OK && list.count > 0) {
        failed = event_loop_has_room(list.count * CLIENTS_OF_A_SERVER);
    }
    if (failed == EX_OK) {
        checks->options = options;
        checks->loop = &loop;
        checks->findings = findings;
        checks->patience_ms =
            options->connect_timeout_ms > 0 ? options->connect_timeout_ms : PATIENCE_MS;
        *reached = server_checks_run(checks, &list);
    }
    uv_loop_close(&loop);
    server_list_free(&list);
    free(checks);
    return failed;
}

static int run(const struct query_options *asked)
{
    struct findings findings = {.json = asked->json};
    bool reached = false;

    signal(SIGPIPE, SIG_DFL); /* a closed pipe at stdout ends the program silently */
    clock_rate_check(&findings);
    int failed = check_servers(&asked->connection, &findings, &reached);
    if (failed == EX_OK && reached && asked->path != NULL) {
        path_check_run(asked, &findings);
    }
    int exit_code = findings_end(&findings);
    return failed != EX_OK ? failed : exit_code;
}

int subcommand_doctor(int argc, char **argv)
{
    static const struct option options[] = {QUERY_LONG_OPTIONS, {NULL, 0, NULL, 0}};
    struct query_options asked;
    int option;

    query_options_init(&asked);
    asked.tells_missing = true;
    while ((option = argument_next(argc, argv, QUERY_SHORT_OPTIONS, options)) != -1) {
        if (!query_option(&asked, option, optarg, help)) {
            subcommand_usage(help);
        }
    }
    if (argc - optind > 1 || (optind < argc && argv[optind][0] != '/')) {
        subcommand_usage(help);
    }
    asked.path = optind < argc ? argv[optind] : NULL;
    subcommand_needs_hosts(&asked.connection);
    return run(&asked);
}
