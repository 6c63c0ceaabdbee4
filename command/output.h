/* Text of others' for a terminal or for a program: whatever bytes a znode has. */
#ifndef OUTPUT_H
#define OUTPUT_H

#include <stddef.h>
#include <stdio.h>

/* A JSON string, quotes included; what is no UTF-8 becomes U+FFFD. */
void output_json_string(FILE *, const char *bytes, size_t length);

/* Without bytes that a terminal would obey: each becomes a '?'. */
void output_plain(FILE *, const char *bytes, size_t length);

/* Colours, if this stream is a terminal that has them, and NO_COLOR is not set; else
 * nothing. */
enum colour { COLOUR_NONE, COLOUR_GREEN, COLOUR_YELLOW, COLOUR_BOLD };
void output_colour(FILE *, enum colour);

#endif
