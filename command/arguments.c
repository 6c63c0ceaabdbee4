/* SPDX-License-Identifier: Apache-2.0 */
/* Parses words of the command line for all subcommands (arguments.h). */
#include "arguments.h"

#include <errno.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sysexits.h>

#include "output.h"

#define DAY_S 86400
#define DURATION_MAX_MS (UINT64_C(366) * DAY_S * 1000)

_Noreturn void argument_wrong(const char *option, const char *text, const char *wanted)
{
    output_report("%s %s: expected %s", option, text, wanted);
    exit(EX_USAGE);
}

/* The message begins with argv[0], which main has set to "uvzk". */
static void report(const char *text)
{
    static const char name[] = "uvzk: ";

    text += strncmp(text, name, strlen(name)) == 0 ? strlen(name) : 0;
    size_t length = strlen(text);
    length -= length > 0 && text[length - 1] == '\n' ? 1 : 0;
    output_report("%.*s", (int)length, text);
}

int argument_next(int argc, char **argv, const char *letters,
                  const struct option *options)
{
    char *text = NULL;
    size_t length = 0;
    FILE *direct = stderr, *kept = open_memstream(&text, &length);

    if (kept != NULL) {
        stderr = kept;
    }
    int option = getopt_long(argc, argv, letters, options, NULL);
    stderr = direct;
    if (kept != NULL && fclose(kept) == 0 && length > 0) {
        report(text);
    }
    free(text);
    return option;
}

uint64_t argument_milliseconds(const char *option, const char *text)
{
    char *end;
    double seconds = strtod(text, &end);

    /* strtod also accepts "nan", for which every comparison is false. */
    if (end == text || *end != '\0' || !(seconds >= 0 && seconds <= DAY_S)) {
        argument_wrong(option, text, "a time in seconds, at most a day");
    }
    /* Rounds up: less than 1 ms must not become 0, which means "do not wait" or
     * "forever". */
    uint64_t milliseconds = (uint64_t)(seconds * 1000);
    return milliseconds + ((double)milliseconds < seconds * 1000);
}

/* Reads a number and its unit, and moves *text behind them. Returns false if there is
 * none; a number without a unit, in seconds, must be all of the text. */
static bool take_part(const char **text, bool is_first, uint64_t *milliseconds)
{
    static const struct {
        const char *name;
        uint64_t ms;
    } units[] = {{"ms", 1},      {"s", 1000},         {"m", 60 * 1000},
                 {"h", 3600000}, {"d", DAY_S * 1000}, {"", 1000}};
    char *end;

    errno = 0;
    uint64_t number = strtoull(*text, &end, 10);
    size_t length = strspn(end, "abcdefghijklmnopqrstuvwxyz");
    if (**text < '0' || **text > '9' || errno != 0 || number > DURATION_MAX_MS) {
        return false;
    }
    for (size_t i = 0; i < sizeof(units) / sizeof(units[0]); i++) {
        if (strlen(units[i].name) == length && strncmp(end, units[i].name, length) == 0) {
            *milliseconds += number * units[i].ms;
            *text = end + length;
            return length > 0 || (is_first && *end == '\0');
        }
    }
    return false;
}

uint64_t argument_duration(const char *option, const char *text)
{
    const char *at = text;
    uint64_t milliseconds = 0;
    bool is_right;

    do {
        is_right = take_part(&at, at == text, &milliseconds);
    } while (is_right && *at != '\0' && milliseconds <= DURATION_MAX_MS);
    if (!is_right || milliseconds > DURATION_MAX_MS) {
        argument_wrong(option, text,
                       "a time such as 90, 500ms, 15m, 2h15m or 7d, at most 366 days");
    }
    return milliseconds;
}

uint64_t argument_number(const char *option, const char *text, uint64_t low,
                         uint64_t high)
{
    char *end, wanted[80];

    errno = 0;
    uint64_t number = strtoull(text, &end, 10);
    /* strtoull also accepts spaces and a sign before the digits. */
    if (text[0] < '0' || text[0] > '9' || *end != '\0' || errno != 0 || number < low ||
        number > high) {
        snprintf(wanted, sizeof(wanted), "a number from %llu to %llu",
                 (unsigned long long)low, (unsigned long long)high);
        argument_wrong(option, text, wanted);
    }
    return number;
}
