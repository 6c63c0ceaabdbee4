/* SPDX-License-Identifier: Apache-2.0 */
/* many_locks: the options and the exit code. It measures many contenders on many locks,
 * and checks each grant and what remains on the server afterwards (many_locks.h).
 * bench/run and bench/compare.sh run it.
 *
 *   0 everything was right   1 something was wrong, or no server
 *   2 bad arguments          130 interrupted */
#include "many_locks.h"

#include <errno.h>
#include <getopt.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "transport.h"
#include "uvzk.h"

static void print_usage(FILE *out)
{
    fputs("usage: many_locks --hosts HOSTS [options]\n"
          "\n"
          "M contenders on each of N locks, in one process, on one loop.\n"
          "First everybody queues, then the queues drain; R times over.\n"
          "\n"
          "  --hosts HOSTS     host:port[,host:port...][/chroot]\n"
          "  --locks N         locks (1000)\n"
          "  --contenders M    contenders on each lock (1)\n"
          "  --clients C       clients; contender j of lock i uses number\n"
          "                    (i + j) modulo C (1)\n"
          "  --sessions S      ZooKeeper sessions of each client (1)\n"
          "  --transport T     c-client or native (c-client)\n"
          "  --tls LIST        options.tls; implies native\n"
          "  --hold MS         how long each hold lasts once the queues drain;\n"
          "                    0 releases inside the grant's callback (0)\n"
          "  --rounds R        how many times (1)\n"
          "  --json            one JSON object on stdout, nothing else\n"
          "  --words           a few figures, and what they mean\n"
          "  --verbose         the library's log on stderr\n"
          "  --help\n"
          "\n"
          "Exits with 0 if everything was right, 1 if not, 2 for bad arguments,\n"
          "130 when interrupted.\n",
          out);
}

/* Returns a whole number in [least, most], or prints a message and exits with 2. */
static uint64_t number(const char *option, const char *text, uint64_t least,
                       uint64_t most)
{
    char *end = NULL;
    errno = 0;
    unsigned long long value = strtoull(text, &end, 10);
    if (errno != 0 || end == text || *end != '\0' || strchr(text, '-') != NULL ||
        value < least || value > most) {
        fprintf(stderr,
                "many_locks: %s takes a whole number from %" PRIu64 " to %" PRIu64
                ", not \"%s\"\n\n",
                option, least, most, text);
        print_usage(stderr);
        exit(2);
    }
    return value;
}

enum {
    MAX_REQUESTS = 5000000,
    MAX_CLIENTS = 1000,
    MAX_SESSIONS = 32,
    MAX_HOLD_MS = 3600000
};

static const struct option long_options[] = {
    {"hosts", required_argument, NULL, 'H'},
    {"locks", required_argument, NULL, 'n'},
    {"contenders", required_argument, NULL, 'm'},
    {"clients", required_argument, NULL, 'c'},
    {"sessions", required_argument, NULL, 's'},
    {"transport", required_argument, NULL, 't'},
    {"tls", required_argument, NULL, 'S'},
    {"hold", required_argument, NULL, 'o'},
    {"rounds", required_argument, NULL, 'r'},
    {"json", no_argument, NULL, 'j'},
    {"words", no_argument, NULL, 'w'},
    {"verbose", no_argument, NULL, 'v'},
    {"help", no_argument, NULL, 'h'},
    {NULL, 0, NULL, 0},
};

static uint32_t transport(const char *text)
{
    uint32_t transport = 0;

    if (!transport_named(text, &transport)) {
        fprintf(stderr, "many_locks: --transport takes c-client or native\n\n");
        print_usage(stderr);
        exit(2);
    }
    return transport;
}

static void set_option(struct many_locks_options *options, int letter, const char *text)
{
    switch (letter) {
    case 'H':
        options->hosts = text;
        break;
    case 'n':
        options->locks = number("--locks", text, 1, MAX_REQUESTS);
        break;
    case 'm':
        options->contenders = number("--contenders", text, 1, MAX_REQUESTS);
        break;
    case 'c':
        options->clients = number("--clients", text, 1, MAX_CLIENTS);
        break;
    case 's':
        options->sessions = number("--sessions", text, 1, MAX_SESSIONS);
        break;
    case 'S':
        options->tls = text;
        options->transport = UVZK_TRANSPORT_NATIVE;
        break;
    case 't':
        options->transport = transport(text);
        break;
    case 'o':
        options->hold_ms = number("--hold", text, 0, MAX_HOLD_MS);
        break;
    case 'r':
        options->rounds = number("--rounds", text, 1, 1000000);
        break;
    case 'j':
        options->json = true;
        break;
    case 'w':
        options->words = true;
        break;
    case 'v':
        options->verbose = true;
        break;
    case 'h':
        print_usage(stdout);
        exit(0);
    default:
        print_usage(stderr);
        exit(2);
    }
}

static void read_options(int argc, char **argv, struct many_locks_options *options)
{
    int letter;

    while ((letter = getopt_long(argc, argv, "", long_options, NULL)) != -1) {
        set_option(options, letter, optarg);
    }
    const char *complaint = NULL;
    if (optind < argc) {
        complaint = "takes no arguments but options";
    } else if (options->hosts == NULL || options->hosts[0] == '\0') {
        complaint = "needs --hosts";
    } else if (options->locks * options->contenders > MAX_REQUESTS / options->rounds) {
        complaint = "locks times contenders times rounds is at most 5000000";
    }
    if (complaint != NULL) {
        fprintf(stderr, "many_locks: %s\n\n", complaint);
        print_usage(stderr);
        exit(2);
    }
}

int main(int argc, char **argv)
{
    struct many_locks_options options = {
        .locks = 1000, .contenders = 1, .clients = 1, .sessions = 1, .rounds = 1};
    struct many_locks_result result;

    read_options(argc, argv, &options);
    many_locks_run(&options, &result);
    if (result.interrupted) {
        fputs("many_locks: interrupted\n", stderr);
        return 130;
    }
    if (result.asked == 0 && result.failure[0] != '\0') {
        fprintf(stderr, "many_locks: %s\n", result.failure);
        return 1;
    }
    if (options.json) {
        many_locks_print_json(stdout, &options, &result);
    } else if (options.words) {
        many_locks_print_words(stdout, &options, &result);
    } else {
        many_locks_print_text(stdout, &options, &result);
    }
    return many_locks_print_faults(stderr, &options, &result) == 0 ? 0 : 1;
}
