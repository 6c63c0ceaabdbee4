/* Words of the command line. Each ends the process with a sentence if it is none such. */
#ifndef ARGUMENTS_H
#define ARGUMENTS_H

#include <stdint.h>

/* Seconds, a fraction allowed, at most a day; as milliseconds. */
uint64_t argument_milliseconds(const char *option, const char *text);

/* A whole number in [low, high]. */
uint64_t argument_number(const char *option, const char *text, uint64_t low,
                         uint64_t high);

/* Ends the process: how it is to be used. */
_Noreturn void argument_wrong(const char *option, const char *text, const char *wanted);

#endif
