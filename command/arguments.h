/* SPDX-License-Identifier: Apache-2.0 */
/* Parses the words of a command line. If a word is not valid, these functions print what
 * was expected and exit with EX_USAGE. */
#ifndef ARGUMENTS_H
#define ARGUMENTS_H

#include <getopt.h>
#include <stdint.h>

/* As getopt_long, but what it says of a wrong option is told as output_report does. */
int argument_next(int argc, char **argv, const char *letters,
                  const struct option *options);

/* Parses a time in seconds, from 0 to a day; a fraction is allowed. Returns it in ms,
 * rounded up. option: the option's name, for the message. */
uint64_t argument_milliseconds(const char *option, const char *text);
/* Returns a time in milliseconds: numbers with the units ms, s, m, h and d, or seconds
 * alone. Ends the process likewise. */
uint64_t argument_duration(const char *option, const char *text);

/* Parses a decimal number from low to high, and returns it. */
uint64_t argument_number(const char *option, const char *text, uint64_t low,
                         uint64_t high);

/* Prints that `wanted` was expected instead of `text`, and exits with EX_USAGE. */
_Noreturn void argument_wrong(const char *option, const char *text, const char *wanted);

#endif
