/* uvzk top: the busiest locks below some directories, as a screen that is drawn again every
 * few seconds, or once as a table or JSON. main.c calls subcommand_top.
 *
 *   connected --> read_locks() --> lock_walk.c --> on_walked() --> show()
 *                    ^                                             |
 *                    '-------------- after interval_ms -------------'
 *
 * lock_walk.c reads from the servers, and screen.c has the terminal. A lost connection
 * leaves the last table on the screen, with the reason. */
#include <inttypes.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sysexits.h>

#include "arguments.h"
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

static const char help[] =
    "usage: uvzk top [OPTION...] PATH...\n"
    "\n"
    "Shows the locks at and below each PATH, those with the most waiters first.\n"
    "\n"
    "  -1, --once                print one table and end, as if it were no terminal\n"
    "  -j, --json                print one line of JSON and end\n"
    "      --interval S          how often to read the locks (2)\n"
    "      --limit N             how many znodes to list each time (1000)\n";

struct top {
    struct query_options asked;
    bool once;
    uv_loop_t loop;
    struct connection connection;
    struct lock_walk walk;
    struct screen screen;
    uv_timer_t again;
    uvzk_read_t chroot_read;
    bool walked;     /* the walk has rows to show */
    const char *why; /* the last walk has failed; NULL: it has not */
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

static void print_row(FILE *out, const struct lock_row *row)
{
    char token[32] = "-";

    if (row->token != 0) {
        snprintf(token, sizeof(token), "%" PRId64, row->token);
    }
    fprintf(out, "%5zu  %5zu  %-5s  %10s", row->waiters, row->holders,
            row->waiters + row->holders == 0 ? "-" : recipe_name(row->recipe), token);
    print_age(out, row->held_since_ms);
    print_age(out, row->waited_since_ms);
    fputs("  ", out);
    output_plain(out, row->path, strlen(row->path));
    if (row->data_length > 0) {
        fputs("  ", out);
        output_plain(out, row->data, row->data_length);
    }
    fputc('\n', out);
}

/* What the table does not show. */
static void print_gaps(FILE *out, const struct lock_walk *walk)
{
    if (walk->left_out) {
        fprintf(out,
                "There are more znodes than the %zu that were listed: name other paths, "
                "or a greater --limit.\n",
                walk->listings_max);
    }
    if (walk->unreadable > 0) {
        fprintf(out, "%zu %s could not be listed.\n", walk->unreadable,
                walk->unreadable == 1 ? "znode" : "znodes");
    }
}

static void print_sum(FILE *out, const struct top *top)
{
    size_t held = 0, waiters = 0;

    for (size_t i = 0; i < top->walk.row_count; i++) {
        held += top->walk.rows[i].holders > 0;
        waiters += top->walk.rows[i].waiters;
    }
    fprintf(out, "%zu %s, %zu held, %zu %s%s%s\n", top->walk.row_count,
            top->walk.row_count == 1 ? "lock" : "locks", held, waiters,
            waiters == 1 ? "waits" : "wait", top->why == NULL ? "" : "; not read again: ",
            top->why == NULL ? "" : top->why);
}

/* lines_max: of all that is printed. */
static void print_table(FILE *out, const struct top *top, size_t lines_max)
{
    const struct lock_walk *walk = &top->walk;
    size_t gaps = (walk->left_out ? 1U : 0U) + (walk->unreadable > 0 ? 1U : 0U);
    size_t room = lines_max > HEAD_LINES + gaps ? lines_max - HEAD_LINES - gaps : 0;

    print_sum(out, top);
    print_gaps(out, walk);
    if (walk->row_count > 0) {
        fprintf(out, "%5s  %5s  %-5s  %10s  %9s  %9s  %s\n", "WAIT", "HOLD", "KIND",
                "TOKEN", "HELD", "LONGEST", "PATH  DATA");
    }
    for (size_t i = 0; i < walk->row_count && i < room; i++) {
        print_row(out, &walk->rows[i]);
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
    fputc('}', stdout);
}

static void print_json(const struct lock_walk *walk)
{
    fputs("{\"locks\":[", stdout);
    for (size_t i = 0; i < walk->row_count; i++) {
        fputs(i == 0 ? "" : ",", stdout);
        print_row_json(&walk->rows[i]);
    }
    printf("],\"listed\":%zu,\"left_out\":%s,\"unreadable\":%zu}\n", walk->listings,
           walk->left_out ? "true" : "false", walk->unreadable);
}

/* ------------------------------------------------------------------------ the run */

static void end(struct top *top, int exit_code)
{
    if (!top->ending) {
        top->ending = true;
        top->exit_code = exit_code;
        screen_close(&top->screen);
        lock_walk_cancel(&top->walk);
        uv_close((uv_handle_t *)&top->again, NULL);
        connection_close(&top->connection, NULL);
    }
}

static void fail(struct top *top, int status, const char *why)
{
    if (!top->ending) {
        screen_close(&top->screen);
        fprintf(stderr, "uvzk: the locks cannot be listed: %s\n", why);
        end(top, exit_code_of(status));
    }
}

static void draw(const struct top *top)
{
    char *text = NULL;
    size_t length;
    FILE *out = open_memstream(&text, &length);

    if (out != NULL) {
        print_table(out, top, screen_lines());
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
    } else if (top->walked) {
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
            print_json(&top->walk);
        } else {
            print_table(stdout, top, SIZE_MAX);
        }
        end(top, fflush(stdout) == 0 ? EX_OK : EX_IOERR);
    }
}

/* Nobody is anywhere. The paths may be below a chroot that does not exist: the user must
 * not be told that all is free. */
static void on_chroot_read(uvzk_read_t *request, int status, const uvzk_stat_t *stat,
                           const void *data, size_t length)
{
    struct top *top = request->data;

    (void)stat;
    (void)data;
    (void)length;
    /* Without READ at the chroot it is known to exist. */
    if (status < 0 && status != UVZK_ENOAUTH) {
        fail(top, status, refusal_of_chroot(&top->asked.connection, status));
    } else if (!top->ending) {
        show(top);
    }
}

static bool nobody_is_there(const struct lock_walk *walk)
{
    return walk->row_count == 0 || walk->rows[0].waiters + walk->rows[0].holders == 0;
}

static void on_walked(struct lock_walk *walk, int status)
{
    struct top *top = walk->data;

    if (status < 0 && (top->once || !query_may_pass(status))) {
        fail(top, status, uvzk_strerror(status));
        return;
    }
    top->walked = true;
    top->why = status < 0 ? uvzk_strerror(status) : NULL;
    if (status == 0 && nobody_is_there(walk) &&
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

static void read_locks(struct top *top)
{
    int status = lock_walk_start(&top->walk, on_walked);

    if (status < 0) {
        fail(top, status, refusal_text(&top->asked.connection, status));
    }
}

static void on_connected(struct connection *connection, int status)
{
    struct top *top = connection->data;

    /* connection.c has printed the reason. */
    if (status < 0) {
        end(top, EX_UNAVAILABLE);
        return;
    }
    if (!top->once) {
        status = screen_open(&top->screen, &top->loop, on_event);
    }
    if (status < 0) {
        fail(top, status, uv_strerror(status));
    } else {
        read_locks(top);
    }
}

static int run(struct top *top)
{
    signal(SIGPIPE, SIG_DFL); /* a closed pipe at stdout ends the program silently */
    uv_loop_init(&top->loop);
    top->loop.data = top;
    top->connection.data = top;
    top->screen.data = top;
    top->walk.data = top;
    top->walk.client = &top->connection.client;
    uv_timer_init(&top->loop, &top->again);
    int failed = connection_open(&top->connection, &top->loop, &top->asked.connection,
                                 NULL, on_connected);
    if (failed != EX_OK) {
        end(top, failed);
    }
    uv_run(&top->loop, UV_RUN_DEFAULT);
    uv_loop_close(&top->loop);
    lock_walk_free(&top->walk);
    return top->exit_code;
}

/* ---------------------------------------------------------------- the command line */

static void understand(struct top *top, int argc, char **argv)
{
    static const struct option options[] = {{"once", no_argument, NULL, '1'},
                                            {"interval", required_argument, NULL, 1},
                                            {"limit", required_argument, NULL, 2},
                                            QUERY_LONG_OPTIONS,
                                            {NULL, 0, NULL, 0}};
    int option;

    query_options_init(&top->asked);
    top->asked.interval_ms = INTERVAL_MS;
    top->walk.listings_max = LISTINGS;
    while ((option = getopt_long(argc, argv, "1" QUERY_SHORT_OPTIONS, options, NULL)) !=
           -1) {
        if (option == '1') {
            top->once = true;
        } else if (option == 1) {
            top->asked.interval_ms = argument_milliseconds("--interval", optarg);
        } else if (option == 2) {
            top->walk.listings_max =
                (size_t)argument_number("--limit", optarg, 1, LISTINGS_MAX);
        } else if (!query_option(&top->asked, option, optarg, help)) {
            subcommand_usage(help);
        }
    }
    if (optind == argc) {
        subcommand_usage(help);
    }
    subcommand_needs_hosts(&top->asked.connection);
    top->walk.roots = argv + optind;
    top->walk.root_count = (size_t)(argc - optind);
}

int subcommand_top(int argc, char **argv)
{
    static struct top top; /* zeroed */

    understand(&top, argc, argv);
    top.once = top.once || top.asked.json || !screen_is_possible();
    if (!top.once) {
        /* Lines on standard error would stand in the middle of the table. */
        top.asked.connection.quiet = true;
        top.asked.connection.verbose = false;
    }
    return run(&top);
}
