/* tasks: the options, and the exit code.
 *
 *   0 everything was right   1 something was wrong, or no server   2 bad arguments */
#include "tasks.h"

#include <getopt.h>
#include <stdlib.h>
#include <string.h>

static void bad_usage(void)
{
    fputs(
        "usage: tasks --hosts HOSTS [options]\n"
        "\n"
        "N tasks in one process, on one loop. Each acquires, releases as soon as it is\n"
        "granted, and when that is told acquires again. One JSON object on stdout.\n"
        "\n"
        "  --recipe R      mutex, semaphore or rwlock (mutex)\n"
        "  --tasks N       (16)\n"
        "  --paths P       locks; task i is at number i modulo P (1)\n"
        "  --sessions S    ZooKeeper sessions; those of a path take turns (1)\n"
        "  --leases L      of a semaphore (3)\n"
        "  --readers R     of a hundred acquires of a rwlock (90)\n"
        "  --warm MS       before the measuring (1000)\n"
        "  --window MS     of measuring (2000)\n",
        stderr);
    exit(2);
}

static size_t number(const char *text, unsigned long least, unsigned long most)
{
    char *end = NULL;
    unsigned long value = strtoul(text, &end, 10);
    if (end == text || *end != '\0' || text[0] == '-' || value < least || value > most) {
        bad_usage();
    }
    return value;
}

static enum recipe recipe_named(const char *name)
{
    static const char *const names[] = {
        [MUTEX] = "mutex", [SEMAPHORE] = "semaphore", [READ_WRITE] = "rwlock"};

    for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++) {
        if (strcmp(name, names[i]) == 0) {
            return (enum recipe)i;
        }
    }
    bad_usage();
    return MUTEX;
}

enum { MOST_TASKS = 1000000, MOST_SESSIONS = 1000, MOST_MS = 3600000 };

static const struct option long_options[] = {
    {"hosts", required_argument, NULL, 'H'},    {"recipe", required_argument, NULL, 'r'},
    {"tasks", required_argument, NULL, 't'},    {"paths", required_argument, NULL, 'p'},
    {"sessions", required_argument, NULL, 's'}, {"leases", required_argument, NULL, 'l'},
    {"readers", required_argument, NULL, 'R'},  {"warm", required_argument, NULL, 'w'},
    {"window", required_argument, NULL, 'm'},   {NULL, 0, NULL, 0},
};

static void set_option(struct tasks_options *options, int letter, const char *text)
{
    switch (letter) {
    case 'H':
        options->hosts = text;
        break;
    case 'r':
        options->recipe = recipe_named(text);
        break;
    case 't':
        options->tasks = number(text, 1, MOST_TASKS);
        break;
    case 'p':
        options->paths = number(text, 1, MOST_TASKS);
        break;
    case 's':
        options->sessions = number(text, 1, MOST_SESSIONS);
        break;
    case 'l':
        options->leases = number(text, 1, MOST_TASKS);
        break;
    case 'R':
        options->readers = number(text, 0, 100);
        break;
    case 'w':
        options->warm_ms = number(text, 0, MOST_MS);
        break;
    case 'm':
        options->window_ms = number(text, 1, MOST_MS);
        break;
    default:
        bad_usage();
    }
}

int main(int argc, char **argv)
{
    struct tasks_options options = {.tasks = 16,
                                    .paths = 1,
                                    .sessions = 1,
                                    .leases = 3,
                                    .readers = 90,
                                    .warm_ms = 1000,
                                    .window_ms = 2000};
    struct tasks_result result;
    int letter;

    while ((letter = getopt_long(argc, argv, "", long_options, NULL)) != -1) {
        set_option(&options, letter, optarg);
    }
    if (optind < argc || options.hosts == NULL || options.paths > options.tasks) {
        bad_usage();
    }
    tasks_run(&options, &result);
    bool right = tasks_right(&result);
    tasks_print(stdout, &options, &result, right);
    return right ? 0 : 1;
}
