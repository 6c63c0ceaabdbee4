/* SPDX-License-Identifier: Apache-2.0 */
/* Prints text of unknown content, such as a znode's data, safely for a terminal or as
 * JSON. */
#ifndef OUTPUT_H
#define OUTPUT_H

#include <stddef.h>
#include <stdio.h>

/* Prints the bytes as a JSON string, with its quotes. Each byte that is not part of
 * valid UTF-8 is printed as U+FFFD. */
void output_json_string(FILE *, const char *bytes, size_t length);

/* Prints the bytes without control characters: a '?' replaces each control character and
 * each byte that is not part of valid UTF-8. */
void output_plain(FILE *, const char *bytes, size_t length);

/* Prints a line on standard error, after what output_line_begin returns, as output_plain
 * does: a name from a user, a file or a server cannot begin another line. It is written at
 * once. */
void output_report(const char *format, ...) __attribute__((format(printf, 1, 2)));

/* From now on these lines have the local time, as the ZooKeeper client's lines have it,
 * unless standard error goes to systemd's journal, which has the time of each line. */
void output_show_times(void);

/* Returns how such a line begins: "uvzk: ", or "uvzk: 2026-11-29 08:12:03,123 ". */
#define OUTPUT_LINE_BEGIN_SIZE 64
const char *output_line_begin(char text[static OUTPUT_LINE_BEGIN_SIZE]);

/* Switches to a colour; COLOUR_NONE switches back. Prints nothing if the stream is not a
 * terminal, or TERM is "dumb" or not set, or NO_COLOR is set and not empty. */
enum colour { COLOUR_NONE, COLOUR_GREEN, COLOUR_YELLOW, COLOUR_BOLD };
void output_colour(FILE *, enum colour);

#endif
