#include "each_server.h"

#include <inttypes.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "comparison.h"
#include "exit_code.h"
#include "output.h"
#include "server_list.h"

struct survey;

/* One server, asked once. */
struct look {
    struct survey *survey;
    struct reading *reading;
    struct connection_options options;
    struct connection connection;
    struct census census;
    char hosts[512];
    bool closing;
};

struct survey {
    const struct query_options *options;
    uv_loop_t loop;
    struct server_list servers;
    struct comparison comparison;
    struct look looks[SERVER_LIST_MAX];
    int failed; /* an exit code */
};

_Static_assert(SERVER_LIST_MAX == COMPARISON_SERVERS, "each has a bit");

/* ---------------------------------------------------------------- one server */

static void end_look(struct look *look)
{
    if (!look->closing) {
        look->closing = true;
        connection_close(&look->connection, NULL);
    }
}

static void keep(struct look *look)
{
    const struct census *census = &look->census;
    bool kept = reading_begin(look->reading, census->count);

    for (size_t i = 0; i < census->count && kept; i++) {
        const struct resident *resident = &census->residents[i];
        kept = reading_add(look->reading, resident->node, resident->token,
                           resident->session);
    }
    if (kept) {
        reading_end(look->reading);
    } else {
        look->survey->failed = EX_OSERR;
    }
}

/* Of one server that is out of reach; all others are the same at each. */
static void complain(const struct look *look, int status)
{
    fprintf(stderr, "uvzk: %s: the lock cannot be listed: %s\n", look->hosts,
            uvzk_strerror(status));
    if (exit_code_of(status) != EX_UNAVAILABLE) {
        look->survey->failed = exit_code_of(status);
    }
}

static void on_census(struct census *census, int status)
{
    struct look *look = census->data;

    if (look->closing) {
        return;
    }
    if (status < 0) {
        complain(look, status);
    } else {
        keep(look);
    }
    end_look(look);
}

static void on_connected(struct connection *connection, int status)
{
    struct look *look = connection->data;

    if (status == 0) {
        status =
            census_init(&look->census, &connection->client, look->survey->options->path);
        status = status < 0 ? status : census_take(&look->census, true, on_census);
        if (status < 0) {
            complain(look, status);
        }
    }
    if (status < 0) {
        end_look(look);
    }
}

static void begin_look(struct survey *survey, size_t server, size_t at)
{
    struct look *look = &survey->looks[server];

    *look = (struct look){.survey = survey,
                          .reading = &survey->comparison.readings[at][server],
                          .options = survey->options->connection};
    snprintf(look->hosts, sizeof(look->hosts), "%s%s", survey->servers.addresses[server],
             survey->servers.chroot);
    look->options.hosts = look->hosts;
    look->connection.data = look;
    look->census.data = look;
    int failed = connection_open(&look->connection, &survey->loop, &look->options, NULL,
                                 on_connected);
    if (failed != EX_OK) {
        survey->failed = failed;
        end_look(look);
    }
}

/* ----------------------------------------------------------------- all of them */

/* Through all at the same time, each in a session of its own; returns when all have been
 * heard, and nothing of them is left. */
static void look_through_all(struct survey *survey, size_t at)
{
    for (size_t i = 0; i < survey->servers.count; i++) {
        begin_look(survey, i, at);
    }
    uv_run(&survey->loop, UV_RUN_DEFAULT);
    for (size_t i = 0; i < survey->servers.count; i++) {
        census_free(&survey->looks[i].census);
    }
}

static bool all_have_told(const struct survey *survey, size_t at)
{
    for (size_t i = 0; i < survey->servers.count; i++) {
        if (!survey->comparison.readings[at][i].told) {
            return false;
        }
    }
    return true;
}

/* Whether all were asked all that there is to ask. */
static bool compare(struct survey *survey)
{
    survey->comparison.servers = survey->servers.count;
    look_through_all(survey, 0);
    bool complete = all_have_told(survey, 0);
    if (survey->failed != EX_OK || comparison_is_equal(&survey->comparison)) {
        return complete;
    }
    for (size_t at = 1; at < COMPARISON_LOOKS && survey->failed == EX_OK; at++) {
        look_through_all(survey, at);
        complete = complete && all_have_told(survey, at);
    }
    if (survey->failed == EX_OK && !comparison_find(&survey->comparison)) {
        survey->failed = EX_OSERR;
    }
    return complete;
}

/* ---------------------------------------------------------------------- told */

static void print_servers(FILE *out, const struct survey *survey, uint64_t which,
                          const char *quote)
{
    const char *comma = "";

    for (size_t i = 0; i < survey->servers.count; i++) {
        if ((which >> i & 1) != 0) {
            fprintf(out, "%s%s%s%s", comma, quote, survey->servers.addresses[i], quote);
            comma = ",";
        }
    }
}

static void print_json(const struct survey *survey, uint64_t told)
{
    const struct comparison *comparison = &survey->comparison;
    int odd = comparison_odd_one(comparison);

    fputs("{\"path\":", stdout);
    output_json_string(stdout, survey->options->path, strlen(survey->options->path));
    fputs(",\"servers\":[", stdout);
    print_servers(stdout, survey, told, "\"");
    fputs("],\"silent\":[", stdout);
    print_servers(stdout, survey, ~told, "\"");
    fputs("],\"differs\":", stdout);
    if (odd < 0) {
        fputs("null", stdout);
    } else {
        print_servers(stdout, survey, (uint64_t)1 << odd, "\"");
    }
    fputs(",\"differences\":[", stdout);
    for (size_t i = 0; i < comparison->count; i++) {
        const struct difference *difference = &comparison->differences[i];
        const struct sighting *znode = difference->znode;
        fputs(i == 0 ? "{\"node\":" : ",{\"node\":", stdout);
        output_json_string(stdout, znode->node, strlen(znode->node));
        printf(",\"czxid\":%" PRId64 ",\"session\":\"0x%" PRIx64 "\",\"shown_by\":[",
               znode->czxid, (uint64_t)znode->session);
        print_servers(stdout, survey, difference->shown_by, "\"");
        fputs("],\"not_by\":[", stdout);
        print_servers(stdout, survey, difference->not_by, "\"");
        fputs("]}", stdout);
    }
    puts("]}");
}

static void print_difference(const struct survey *survey,
                             const struct difference *difference)
{
    output_plain(stdout, difference->znode->node, strlen(difference->znode->node));
    printf("\n  czxid %" PRId64 ", session 0x%" PRIx64 "\n  shown by ",
           difference->znode->czxid, (uint64_t)difference->znode->session);
    print_servers(stdout, survey, difference->shown_by, "");
    fputs("\n  not by   ", stdout);
    print_servers(stdout, survey, difference->not_by, "");
    putchar('\n');
}

static void print_text(const struct survey *survey, uint64_t told)
{
    const struct comparison *comparison = &survey->comparison;
    int odd = comparison_odd_one(comparison);

    output_colour(stdout, COLOUR_BOLD);
    output_plain(stdout, survey->options->path, strlen(survey->options->path));
    output_colour(stdout, COLOUR_NONE);
    if (odd >= 0) {
        printf(": %s differs from the others\n", survey->servers.addresses[odd]);
    } else if (comparison->count > 0) {
        puts(": the servers differ");
    } else if (told == 0) {
        puts(": no server has answered");
    } else {
        fputs(": the same through ", stdout);
        print_servers(stdout, survey, told, "");
        putchar('\n');
    }
    for (size_t i = 0; i < comparison->count; i++) {
        print_difference(survey, &comparison->differences[i]);
    }
}

static uint64_t those_that_told(const struct survey *survey)
{
    uint64_t told = 0;

    for (size_t i = 0; i < survey->servers.count; i++) {
        told |= (uint64_t)survey->comparison.readings[0][i].told << i;
    }
    return told;
}

static int tell(const struct survey *survey, bool complete)
{
    uint64_t told = those_that_told(survey);

    if (survey->options->json) {
        print_json(survey, told);
    } else {
        print_text(survey, told);
    }
    if (survey->comparison.count > 0) {
        return 1;
    }
    return complete ? EX_OK : EX_UNAVAILABLE;
}

int each_server_run(const struct query_options *options)
{
    struct survey *survey = calloc(1, sizeof(*survey));

    if (survey == NULL) {
        return EX_OSERR;
    }
    signal(SIGPIPE, SIG_DFL); /* as for any program that prints */
    uv_loop_init(&survey->loop);
    survey->options = options;
    int exit_code =
        server_list_make(&survey->servers, &survey->loop, options->connection.hosts);
    if (exit_code == EX_OK && survey->servers.count < 2) {
        fputs("uvzk: there is only one server, nothing to compare\n", stderr);
        exit_code = EX_USAGE;
    }
    if (exit_code == EX_OK) {
        bool complete = compare(survey);
        exit_code = survey->failed != EX_OK ? survey->failed : tell(survey, complete);
    }
    uv_loop_close(&survey->loop);
    comparison_free(&survey->comparison);
    server_list_free(&survey->servers);
    free(survey);
    return exit_code;
}
