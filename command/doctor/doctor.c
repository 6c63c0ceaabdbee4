/* SPDX-License-Identifier: Apache-2.0 */
/* uvzk doctor: checks this machine, the servers and the path of a lock, and prints one line
 * for each check. It creates no znode and changes none. main.c calls subcommand_doctor.
 *
 *   clock_rate.c -> server_list.c (names) -> server_check.c -> access_check.c
 *   -> path_check.c
 */
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sysexits.h>

#include "arguments.h"
#include "doctor/access_check.h"
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

static void find_access(struct findings *findings, const struct access_check *check,
                        const char *path)
{
    if (!check->known) {
        findings_add(findings, GRADE_WARNING, "access", NULL, NO_FIGURES,
                     "it is not known whether this client may use %s: %s", path,
                     check->reason);
    } else if (!check->is_path) {
        findings_add(
            findings, check->may_create ? GRADE_OK : GRADE_WRONG, "access", NULL,
            NO_FIGURES,
            check->may_create
                ? "this client may create %s, below %s"
                : "%s cannot be created: the ACL of %s denies this client CREATE",
            path, check->node);
    } else if (check->may_create && check->may_delete) {
        findings_add(findings, GRADE_OK, "access", NULL, NO_FIGURES,
                     "this client may create and delete znodes of %s", path);
    } else {
        findings_add(findings, GRADE_WRONG, "access", NULL, NO_FIGURES,
                     "the ACL of %s denies this client %s", path,
                     check->may_delete   ? "CREATE"
                     : check->may_create ? "DELETE"
                                         : "CREATE and DELETE");
    }
}

static void on_over(uv_timer_t *timer)
{
    access_check_give_up(timer->data);
}

/* Returns the path with the chroot and the namespace; the caller frees it. NULL: no memory. */
static char *whole_path(const struct query_options *asked, const char *chroot)
{
    char *node = connection_node_of(&asked->connection, asked->path), *whole = NULL;

    if (node != NULL &&
        asprintf(&whole, "%s%s", strcmp(chroot, "/") == 0 ? "" : chroot, node) < 0) {
        whole = NULL;
    }
    free(node);
    return whole;
}

/* Asks the server whether this client may use the path. */
static int check_access(const struct query_options *asked, struct server_checks *servers,
                        const char *address)
{
    struct connection_credentials credentials;
    struct access_check check = {.node = NULL};
    struct sockaddr_storage parsed;
    char *path = whole_path(asked, servers->chroot);
    uv_timer_t over;
    int failed = connection_credentials_read(&asked->connection, &credentials);

    if (failed == EX_OK && path != NULL && server_words_address(address, &parsed) == 0) {
        uv_timer_init(servers->loop, &over);
        over.data = &check;
        uv_timer_start(&over, on_over, servers->patience_ms, 0);
        uv_unref((uv_handle_t *)&over);
        access_check_begin(&check, servers->loop, (struct sockaddr *)&parsed, path,
                           &credentials);
        uv_run(servers->loop, UV_RUN_DEFAULT);
        uv_close((uv_handle_t *)&over, NULL);
        uv_run(servers->loop, UV_RUN_DEFAULT);
        find_access(servers->findings, &check, asked->path);
    }
    access_check_free(&check);
    free(credentials.owned);
    free(path);
    return path == NULL ? EX_OSERR : failed;
}

/* Returns an exit code if the checks could not be made. */
static int check_servers(const struct query_options *asked, struct findings *findings,
                         bool *reached)
{
    const struct connection_options *options = &asked->connection;
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
        const char *address = server_checks_run(checks, &list);
        *reached = address != NULL;
        if (*reached && asked->path != NULL && !options->has_tls) {
            failed = check_access(asked, checks, address);
        }
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
    int failed = check_servers(asked, &findings, &reached);
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
