/* SPDX-License-Identifier: Apache-2.0 */
/* The options of `uvzk lock` about how often a job runs (run_options.h). */
#include "run_options.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sysexits.h>

#include "arguments.h"
#include "output.h"

#define MS_PER_S 1000
/* The default of --slack, unless a quarter of the period is shorter. */
#define SLACK_MS 30000

void run_options_init(struct run_options *options)
{
    *options = (struct run_options){.done_code = -1};
}

static const char *read_key(const char *text)
{
    if (!run_key_is_valid(text)) {
        argument_wrong("--key", text,
                       "1 to 100 ASCII characters without spaces and /, not . or ..");
    }
    return text;
}

static int64_t read_seconds(const char *option, const char *text, int64_t least_ms)
{
    int64_t ms = (int64_t)argument_duration(option, text);

    if (ms % MS_PER_S != 0 || ms < least_ms) {
        argument_wrong(option, text,
                       least_ms > 0 ? "whole seconds, at least one" : "whole seconds");
    }
    return ms;
}

bool run_option(struct run_options *options, int option, const char *argument)
{
    struct run_slots *slots = &options->keyed.slots;

    switch (option) {
    case RUN_OPTION_KEY:
        options->keyed.key = read_key(argument);
        return true;
    case RUN_OPTION_ONCE_PER:
        slots->period_ms = read_seconds("--once-per", argument, MS_PER_S);
        return true;
    case RUN_OPTION_OFFSET:
        slots->offset_ms = read_seconds("--offset", argument, 0);
        options->has_offset = true;
        return true;
    case RUN_OPTION_SLACK:
        slots->slack_ms = (int64_t)argument_duration("--slack", argument);
        options->has_slack = true;
        return true;
    case RUN_OPTION_AT_MOST_ONCE:
        options->keyed.at_most_once = true;
        return true;
    case RUN_OPTION_DONE_EXIT_CODE:
        options->done_code = (int)argument_number("--done-exit-code", argument, 0, 255);
        return true;
    default:
        return false;
    }
}

bool run_options_has_key(const struct run_options *options)
{
    return options->keyed.key != NULL || options->keyed.slots.period_ms > 0;
}

static void check_slots(const struct run_options *options)
{
    const struct run_slots *slots = &options->keyed.slots;

    if (options->keyed.key != NULL && slots->period_ms > 0) {
        output_report("--key and --once-per: one of the two");
        exit(EX_USAGE);
    }
    if (slots->period_ms == 0 && (options->has_offset || options->has_slack)) {
        output_report("%s: only with --once-per",
                      options->has_offset ? "--offset" : "--slack");
        exit(EX_USAGE);
    }
    if (slots->period_ms > 0 &&
        (slots->offset_ms >= slots->period_ms || slots->slack_ms >= slots->period_ms)) {
        output_report("%s: expected less than --once-per",
                      slots->offset_ms >= slots->period_ms ? "--offset" : "--slack");
        exit(EX_USAGE);
    }
}

void run_options_check(struct run_options *options, const char *path)
{
    struct run_slots *slots = &options->keyed.slots;

    options->keyed.path = path;
    check_slots(options);
    if (!run_options_has_key(options) &&
        (options->keyed.at_most_once || options->done_code >= 0)) {
        output_report("%s: only with --key or --once-per", options->keyed.at_most_once
                                                               ? "--at-most-once"
                                                               : "--done-exit-code");
        exit(EX_USAGE);
    }
    if (!options->has_slack) {
        slots->slack_ms =
            slots->period_ms / 4 < SLACK_MS ? slots->period_ms / 4 : SLACK_MS;
    }
    options->done_code = options->done_code < 0 ? EX_OK : options->done_code;
}
