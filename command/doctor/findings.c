/* SPDX-License-Identifier: Apache-2.0 */
/* Prints findings as lines, or as one JSON object whose array grows with each of them
 * (findings.h). */
#include "doctor/findings.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "output.h"

#define SENTENCE_SIZE 1024

static const char *grade_name(enum grade grade)
{
    static const char *const names[] = {"ok", "warning", "wrong"};

    return names[grade];
}

static void print_json(const struct findings *findings, enum grade grade,
                       const char *check, const char *server,
                       const struct figure *figures, const char *sentence)
{
    printf("%s{\"check\":\"%s\",\"result\":\"%s\"",
           findings->count == 0 ? "{\"checks\":[" : ",", check, grade_name(grade));
    if (server != NULL) {
        fputs(",\"server\":", stdout);
        output_json_string(stdout, server, strlen(server));
    }
    for (; figures->name != NULL; figures++) {
        printf(",\"%s\":%.15g", figures->name, figures->value);
    }
    fputs(",\"text\":", stdout);
    output_json_string(stdout, sentence, strlen(sentence));
    putchar('}');
}

static void print_line(enum grade grade, const char *check, const char *server,
                       const char *sentence)
{
    static const enum colour colours[] = {COLOUR_GREEN, COLOUR_YELLOW, COLOUR_BOLD};

    output_colour(stdout, colours[grade]);
    printf("%-7s", grade_name(grade));
    output_colour(stdout, COLOUR_NONE);
    printf("  %-10s  ", check);
    if (server != NULL) {
        output_plain(stdout, server, strlen(server));
        fputs(": ", stdout);
    }
    output_plain(stdout, sentence, strlen(sentence));
    putchar('\n');
}

void findings_add(struct findings *findings, enum grade grade, const char *check,
                  const char *server, const struct figure *figures, const char *format,
                  ...)
{
    char sentence[SENTENCE_SIZE];
    va_list arguments;

    va_start(arguments, format);
    vsnprintf(sentence, sizeof(sentence), format, arguments);
    va_end(arguments);
    if (findings->json) {
        print_json(findings, grade, check, server, figures, sentence);
    } else {
        print_line(grade, check, server, sentence);
    }
    fflush(stdout); /* the next check may take seconds */
    findings->count++;
    findings->worst = grade > findings->worst ? grade : findings->worst;
}

int findings_end(struct findings *findings)
{
    if (findings->json) {
        printf("%s],\"result\":\"%s\"}\n", findings->count == 0 ? "{\"checks\":[" : "",
               grade_name(findings->worst));
    }
    return (int)findings->worst;
}
