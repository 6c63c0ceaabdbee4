/* SPDX-License-Identifier: Apache-2.0 */
/* uvzk top: the busiest locks below some directories, or of one daemon, as a screen that is
 * drawn again every few seconds, or once as a table or JSON. main.c calls subcommand_top.
 *
 *   connected --> read_locks() --> lock_walk.c ------> on_walked() --> show()
 *                    ^      `----> daemon_locks.c --> on_told() ---^   |
 *                    '-------------- after interval_ms ----------------'
 *
 * lock_walk.c reads from the servers, daemon_locks.c from `uvzk serve`, and screen.c has the
 * terminal. A lost connection leaves the last table on the screen, with the reason. */
#include <inttypes.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/un.h>
#include <sysexits.h>

#include "arguments.h"
#include "daemon_locks.h"
#include "event_loop.h"
#include "exit_code.h"
#include "lock_walk.h"
#include "output.h"
#include "query.h"
#include "refusal.h"
#include "screen.h"
#include "subcommands.h"

#define INTERVAL_MS 2000
#define LISTINGS 1000 /* default of --limit */
#define LISTINGS_MAX 100000
#define HEAD_LINES 2 /* before the first row: the sum and the head of the table */

/* Columns of a screen: of all but PATH and DATA, with the spaces between them; what DATA is
 * left; and what PATH has in any case. */
#define OTHER_COLUMNS 57
#define DATA_COLUMNS 16
#define PATH_COLUMNS_MIN 20
#define CUT "..." /* for what is left out of a path */

static const char help[] =
    "usage: uvzk top [OPTION...] PATH...\n"
    "       uvzk top [OPTION...] --socket SOCKET\n"
    "\n"
    "Shows the locks at and below each PATH, those with the most waiters first; or the\n"
    "locks that the programs of one `uvzk serve` hold and wait for. PATH may be /. On a\n"
    "terminal, q ends it, and ? shows what the columns mean.\n"
    "\n"
    "  -1, --once                print one table and end, as without a terminal\n"
    "  -j, --json                print one line of JSON and end\n"
    "      --interval S          how often to read the locks (2)\n"
    "      --limit N             how many znodes to list each time (1000)\n"
    "  -s, --socket SOCKET       ask the daemon at this socket, and no ZooKeeper "
    "server\n";

static const char columns[] =
    "WAIT     how many contenders wait for the lock\n"
    "HOLD     how many hold it\n"
    "PATH     its path; " CUT " stands for what there is no room for\n"
    "KIND     mutex; write or read: a half of a read-write lock; lease: a semaphore;\n"
    "         latch: an election\n"
    "TOKEN    the fencing token of the first holder\n"
    "HELD     how old the first holder's znode is; with --socket: how long it has held\n"
    "LONGEST  how old the first waiter's znode is, or how long it has waited\n"
    "DATA     what the first holder says of itself, and the newest key of --key\n"
    "\n"
    "?        shows the locks again\n"
    "q        ends\n";

struct top {
    struct query_options asked;
    bool once;
    uv_loop_t loop;
    struct connection connection;
    struct lock_walk walk;
    struct daemon_locks daemon; /* with --socket, in place of connection and walk */
    struct lock_rows locks;     /* what was read last without a failure; owned */
    struct screen screen;
    uv_timer_t again;
    uvzk_req_t chroot_read;
    bool explains;   /* the screen shows what the columns mean */
    bool read;       /* `locks` has been read once */
    const char *why; /* the last read has failed; NULL: it has not */
    bool ending;
    int exit_code;
};

/* ---------------------------------------------------------------------- the table */

static void print_age(FILE *out, int64_t since_ms)
{
    char text[32] = "-";

    if (since_ms != 0) {
        snprintf(text, sizeof(text), "%.1fs", participant_age(since_ms));
    }
    fprintf(out, "  %9s", text);
}

/* Returns how many bytes the first characters of the text have, at most so many. */
static size_t bytes_of(const char *text, size_t characters)
{
    size_t at = 0;

    while (text[at] != '\0' && (characters > 0 || (text[at] & 0xc0) == 0x80)) {
        characters -= (text[at] & 0xc0) != 0x80;
        at++;
    }
    return at;
}

static size_t length_of(const char *path)
{
    size_t length = 0;

    for (; *path != '\0'; path++) {
        length += (*path & 0xc0) != 0x80;
    }
    return length;
}

/* The beginning of a path names the application, and its end names the lock: the middle is
 * what is left out. */
static void print_path(FILE *out, const char *path, size_t width)
{
    size_t length = length_of(path);

    if (length <= width) {
        output_plain(out, path, strlen(path));
        fprintf(out, "%*s", (int)(width - length), "");
        return;
    }
    size_t tail = (width - strlen(CUT)) / 2;
    output_plain(out, path, bytes_of(path, width - strlen(CUT) - tail));
    fputs(CUT, out);
    path += bytes_of(path, length - tail);
    output_plain(out, path, strlen(path));
}

/* The width of PATH: that of the longest path, if there is room for it. */
static size_t path_width(const struct lock_rows *locks, size_t columns_max)
{
    size_t room = columns_max > OTHER_COLUMNS + DATA_COLUMNS + PATH_COLUMNS_MIN
                      ? columns_max - OTHER_COLUMNS - DATA_COLUMNS
                      : PATH_COLUMNS_MIN;
    size_t width = strlen("PATH");

    for (size_t i = 0; i < locks->count; i++) {
        size_t length = length_of(locks->rows[i].path);
        width = length > width ? length : width;
    }
    return width < room ? width : room;
}

static void print_row(FILE *out, const struct lock_row *row, size_t width)
{
    char token[32] = "-";

    if (row->token != 0) {
        snprintf(token, sizeof(token), "%" PRId64, row->token);
    }
    fprintf(out, "%5zu  %5zu  ", row->waiters, row->holders);
    print_path(out, row->path, width);
    fprintf(out, "  %-5s  %10s",
            row->waiters + row->holders == 0 ? "-" : recipe_name(row->recipe), token);
    print_age(out, row->held_since_ms);
    print_age(out, row->waited_since_ms);
    if (row->data_length > 0) {
        fputs("  ", out);
        output_plain(out, row->data, row->data_length);
    } else if (row->data != NULL && recipe_may_be_revocable(row->recipe)) {
        fputs("  " NO_NAME, out);
    }
    if (row->newest != NULL) {
        fputs("  last run ", out);
        newest_run_print(out, row->newest);
    }
    fputc('\n', out);
}

/* What the table does not show. */
static void print_gaps(FILE *out, const struct top *top)
{
    const struct lock_rows *locks = &top->locks;

    if (locks->left_out && top->daemon.socket != NULL) {
        fprintf(out, "There are more locks than these %zu.\n", locks->count);
    } else if (locks->left_out) {
        fprintf(out,
                "There are more znodes than the %zu that were listed: name other paths, "
                "or a greater --limit.\n",
                top->walk.listings_max);
    }
    if (locks->too_deep > 0) {
        fprintf(out, "%zu %s too far below to be listed: name other paths.\n",
                locks->too_deep, locks->too_deep == 1 ? "znode is" : "znodes are");
    }
    if (locks->unreadable > 0) {
        fprintf(out, "%zu %s could not be listed.\n", locks->unreadable,
                locks->unreadable == 1 ? "znode" : "znodes");
    }
}

static void print_sum(FILE *out, const struct top *top)
{
    size_t held = 0, waiters = 0;

    for (size_t i = 0; i < top->locks.count; i++) {
        held += top->locks.rows[i].holders > 0;
        waiters += top->locks.rows[i].waiters;
    }
    fprintf(out, "%zu %s, %zu held, %zu %s%s%s%s\n", top->locks.count,
            top->locks.count == 1 ? "lock" : "locks", held, waiters,
            waiters == 1 ? "waits" : "wait", top->why == NULL ? "" : "; not read again: ",
            top->why == NULL ? "" : top->why,
            top->screen.has_keys ? "    (q: end, ?: help)" : "");
}

/* lines_max, columns_max: of all that is printed. */
static void print_table(FILE *out, const struct top *top, size_t lines_max,
                        size_t columns_max)
{
    const struct lock_rows *locks = &top->locks;
    size_t width = path_width(locks, columns_max);
    size_t gaps = (locks->left_out ? 1U : 0U) + (locks->too_deep > 0 ? 1U : 0U) +
                  (locks->unreadable > 0 ? 1U : 0U);
    size_t room = lines_max > HEAD_LINES + gaps ? lines_max - HEAD_LINES - gaps : 0;

    print_sum(out, top);
    print_gaps(out, top);
    if (locks->count > 0) {
        fprintf(out, "%5s  %5s  %-*s  %-5s  %10s  %9s  %9s  %s\n", "WAIT", "HOLD",
                (int)width, "PATH", "KIND", "TOKEN", "HELD", "LONGEST", "DATA");
    }
    for (size_t i = 0; i < locks->count && i < room; i++) {
        print_row(out, &locks->rows[i], width);
    }
}

/* --------------------------------------------------------------------------- JSON */

static void print_row_json(const struct lock_row *row)
{
    fputs("{\"path\":", stdout);
    output_json_string(stdout, row->path, strlen(row->path));
    printf(",\"holders\":%zu,\"waiters\":%zu", row->holders, row->waiters);
    if (row->holders + row->waiters > 0) {
        printf(",\"kind\":\"%s\"", recipe_name(row->recipe));
    }
    if (row->token != 0) {
        printf(",\"token\":%" PRId64, row->token);
    }
    if (row->held_since_ms != 0) {
        printf(",\"held_s\":%.1f", participant_age(row->held_since_ms));
    }
    if (row->waited_since_ms != 0) {
        printf(",\"longest_wait_s\":%.1f", participant_age(row->waited_since_ms));
    }
    if (row->data != NULL) {
        fputs(",\"data\":", stdout);
        output_json_string(stdout, row->data, row->data_length);
    }
    if (row->newest != NULL) {
        fputs(",\"last_run\":", stdout);
        newest_run_print_json(stdout, row->newest);
    }
    fputc('}', stdout);
}

static void print_json(const struct lock_rows *locks)
{
    fputs("{\"locks\":[", stdout);
    for (size_t i = 0; i < locks->count; i++) {
        fputs(i == 0 ? "" : ",", stdout);
        print_row_json(&locks->rows[i]);
    }
    printf("],\"listed\":%zu,\"left_out\":%s,\"unreadable\":%zu}\n", locks->listings,
           locks->left_out || locks->too_deep > 0 ? "true" : "false", locks->unreadable);
}

/* ------------------------------------------------------------------------ the run */

static void end(struct top *top, int exit_code)
{
    if (!top->ending) {
        top->ending = true;
        top->exit_code = exit_code;
        screen_close(&top->screen);
        uv_close((uv_handle_t *)&top->again, NULL);
        if (top->daemon.socket != NULL) {
            daemon_locks_cancel(&top->daemon);
        } else {
            lock_walk_cancel(&top->walk);
            connection_close(&top->connection, NULL);
        }
    }
}

static void fail(struct top *top, int status, const char *why)
{
    if (!top->ending) {
        screen_close(&top->screen);
        output_report("the locks cannot be listed: %s", why);
        end(top, exit_code_of(status));
    }
}

static void draw(const struct top *top)
{
    if (top->explains) {
        screen_show(columns);
        return;
    }
    char *text = NULL;
    size_t length;
    FILE *out = open_memstream(&text, &length);

    if (out != NULL) {
        print_table(out, top, screen_lines(), screen_columns());
        fclose(out);
        screen_show(text);
    }
    free(text);
}

static void on_event(struct screen *screen, enum screen_event event)
{
    struct top *top = screen->data;

    if (event == SCREEN_QUIT) {
        end(top, EX_OK);
        return;
    }
    top->explains ^= event == SCREEN_HELP;
    if (top->read || top->explains) {
        draw(top);
    }
}

static void read_locks(struct top *top);

static void on_again(uv_timer_t *timer)
{
    read_locks(timer->loop->data);
}

static void show(struct top *top)
{
    if (!top->once) {
        draw(top);
        uv_timer_start(&top->again, on_again, top->asked.interval_ms, 0);
    } else {
        if (top->asked.json) {
            print_json(&top->locks);
        } else {
            print_table(stdout, top, SIZE_MAX, SIZE_MAX);
        }
        end(top, fflush(stdout) == 0 ? EX_OK : EX_IOERR);
    }
}

/* No path has a participant. The paths may be below a chroot that does not exist: the
 * user must not be told that all locks are free. */
static void on_chroot_read(uvzk_req_t *request, int status)
{
    const void *data = request->result->data;
    struct top *top = request->data;

    (void)data;
    /* A refusal (no READ) shows that the chroot exists. */
    if (status < 0 && status != UVZK_ENOAUTH) {
        fail(top, status, refusal_of_chroot(&top->asked.connection, status));
    } else if (!top->ending) {
        show(top);
    }
}

static bool nobody_is_there(const struct lock_rows *locks)
{
    return locks->count == 0 || locks->rows[0].waiters + locks->rows[0].holders == 0;
}

/* status: of the read. If it has failed, the previous result stays. */
static void take(struct top *top, struct lock_rows *found, int status)
{
    top->read = true;
    if (status == 0) {
        lock_rows_free(&top->locks);
        top->locks = *found;
        *found = (struct lock_rows){0};
    }
}

static void on_walked(struct lock_walk *walk, int status)
{
    struct top *top = walk->data;

    if (status < 0 && (top->once || !query_may_pass(status))) {
        fail(top, status, uvzk_strerror(status));
        return;
    }
    take(top, &walk->found, status);
    top->why = status < 0 ? uvzk_strerror(status) : NULL;
    if (status == 0 && nobody_is_there(&top->locks) &&
        strchr(top->asked.connection.hosts, '/') != NULL) {
        top->chroot_read.data = top;
        status = uvzk_client_read(&top->connection.client, &top->chroot_read, "/",
                                  on_chroot_read);
        if (status < 0) {
            fail(top, status, refusal_text(&top->asked.connection, status));
        }
    } else {
        show(top);
    }
}

/* A daemon that does not answer now may answer later. */
static void on_told(struct daemon_locks *daemon, int status)
{
    struct top *top = daemon->data;

    if (status < 0 && top->once) {
        output_report("%s: %s", daemon->socket, uv_strerror(status));
        end(top, EX_UNAVAILABLE);
        return;
    }
    take(top, &daemon->found, status);
    top->why = status < 0 ? uv_strerror(status) : NULL;
    show(top);
}

static void read_locks(struct top *top)
{
    if (top->daemon.socket != NULL) {
        daemon_locks_read(&top->daemon, on_told);
        return;
    }
    int status = lock_walk_start(&top->walk, on_walked);
    if (status < 0) {
        fail(top, status, refusal_text(&top->asked.connection, status));
    }
}

static void begin_reading(struct top *top)
{
    int status = top->once ? 0 : screen_open(&top->screen, &top->loop, on_event);

    if (status < 0) {
        fail(top, status, uv_strerror(status));
    } else {
        read_locks(top);
    }
}

static void on_connected(struct connection *connection, int status)
{
    /* connection.c has printed the reason. */
    if (status < 0) {
        end(connection->data, exit_code_of(status));
    } else {
        begin_reading(connection->data);
    }
}

/* Returns EX_OK or an exit code. */
static int begin(struct top *top)
{
    if (top->daemon.socket != NULL) {
        begin_reading(top);
        return EX_OK;
    }
    return connection_open(&top->connection, &top->loop, &top->asked.connection, NULL,
                           on_connected);
}

static int run(struct top *top)
{
    signal(SIGPIPE, SIG_DFL); /* a closed pipe at stdout ends the program silently */
    int failed = event_loop_begin(&top->loop);
    if (failed != EX_OK) {
        return failed;
    }
    top->loop.data = top;
    top->connection.data = top;
    top->screen.data = top;
    top->walk.data = top;
    top->walk.client = &top->connection.client;
    top->walk.connection = &top->asked.connection;
    top->daemon.data = top;
    top->daemon.loop = &top->loop;
    uv_timer_init(&top->loop, &top->again);
    failed = begin(top);
    if (failed != EX_OK) {
        end(top, failed);
    }
    uv_run(&top->loop, UV_RUN_DEFAULT);
    uv_loop_close(&top->loop);
    lock_walk_free(&top->walk);
    lock_rows_free(&top->locks);
    return top->exit_code;
}

/* ---------------------------------------------------------------- the command line */

static const char *socket_argument(const char *text)
{
    if (text[0] == '\0' ||
        strlen(text) >= sizeof(((struct sockaddr_un *)NULL)->sun_path)) {
        argument_wrong("--socket", text, "a path of 1 to 107 bytes");
    }
    return text;
}

static void understand(struct top *top, int argc, char **argv)
{
    static const struct option options[] = {{"once", no_argument, NULL, '1'},
                                            {"interval", required_argument, NULL, 1},
                                            {"limit", required_argument, NULL, 2},
                                            {"socket", required_argument, NULL, 's'},
                                            QUERY_LONG_OPTIONS,
                                            {NULL, 0, NULL, 0}};
    int option;

    query_options_init(&top->asked);
    top->asked.interval_ms = INTERVAL_MS;
    top->walk.listings_max = LISTINGS;
    while ((option = argument_next(argc, argv, "1s:" QUERY_SHORT_OPTIONS, options)) !=
           -1) {
        if (option == '1') {
            top->once = true;
        } else if (option == 1) {
            top->asked.interval_ms = argument_milliseconds("--interval", optarg);
        } else if (option == 2) {
            top->walk.listings_max =
                (size_t)argument_number("--limit", optarg, 1, LISTINGS_MAX);
        } else if (option == 's') {
            top->daemon.socket = socket_argument(optarg);
        } else if (!query_option(&top->asked, option, optarg, help)) {
            subcommand_usage(help);
        }
    }
    if ((optind == argc) != (top->daemon.socket != NULL)) {
        subcommand_usage(help);
    }
    if (top->daemon.socket == NULL) {
        subcommand_needs_hosts(&top->asked.connection);
    }
    top->walk.roots = argv + optind;
    top->walk.root_count = (size_t)(argc - optind);
}

int subcommand_top(int argc, char **argv)
{
    static struct top top; /* zeroed */

    understand(&top, argc, argv);
    top.once = top.once || top.asked.json || !screen_is_possible();
    if (!top.once) {
        /* Lines on standard error would appear in the middle of the table. */
        top.asked.connection.quiet = true;
        top.asked.connection.verbose = false;
    }
    return run(&top);
}
