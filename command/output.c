/* SPDX-License-Identifier: Apache-2.0 */
/* Everything that is printed from outside sources goes through here, so that it cannot
 * control the terminal or break JSON (output.h). */
#include "output.h"

#include <inttypes.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

/* Returns the length of the UTF-8 sequence at the start of `bytes`, or 0 if it is not
 * valid. Overlong sequences and surrogates are not valid. */
static size_t sequence(const unsigned char *bytes, size_t length)
{
    static const struct {
        unsigned char mask, lead;
        size_t bytes;
        unsigned long least;
    } forms[] = {{0x80, 0x00, 1, 0},
                 {0xe0, 0xc0, 2, 0x80},
                 {0xf0, 0xe0, 3, 0x800},
                 {0xf8, 0xf0, 4, 0x10000}};

    for (size_t i = 0; i < sizeof(forms) / sizeof(forms[0]); i++) {
        if ((bytes[0] & forms[i].mask) != forms[i].lead || forms[i].bytes > length) {
            continue;
        }
        unsigned long point = bytes[0] & (unsigned char)~forms[i].mask;
        for (size_t k = 1; k < forms[i].bytes; k++) {
            if ((bytes[k] & 0xc0) != 0x80) {
                return 0;
            }
            point = point << 6 | (bytes[k] & 0x3f);
        }
        bool wrong = point < forms[i].least || point > 0x10ffff ||
                     (point >= 0xd800 && point <= 0xdfff);
        return wrong ? 0 : forms[i].bytes;
    }
    return 0;
}

void output_json_string(FILE *file, const char *text, size_t length)
{
    const unsigned char *bytes = (const unsigned char *)text;

    fputc('"', file);
    for (size_t i = 0; i < length;) {
        size_t step = sequence(bytes + i, length - i);
        if (step == 0) {
            fputs("\\ufffd", file);
            step = 1;
        } else if (bytes[i] == '"' || bytes[i] == '\\') {
            fprintf(file, "\\%c", bytes[i]);
        } else if (bytes[i] < 0x20 || bytes[i] == 0x7f) {
            fprintf(file, "\\u%04x", bytes[i]);
        } else {
            fwrite(bytes + i, 1, step, file);
        }
        i += step;
    }
    fputc('"', file);
}

/* Some terminals obey U+0080 to U+009F (C2 80 to C2 9F) too. */
static bool is_control(const unsigned char *bytes, size_t step)
{
    return bytes[0] < 0x20 || bytes[0] == 0x7f ||
           (step == 2 && bytes[0] == 0xc2 && bytes[1] < 0xa0);
}

void output_plain(FILE *file, const char *text, size_t length)
{
    const unsigned char *bytes = (const unsigned char *)text;

    for (size_t i = 0; i < length;) {
        size_t step = sequence(bytes + i, length - i);
        if (step == 0 || is_control(bytes + i, step)) {
            fputc('?', file);
            step = step == 0 ? 1 : step;
        } else {
            fwrite(bytes + i, 1, step, file);
        }
        i += step;
    }
}

static bool shows_times;

/* JOURNAL_STREAM names the device and the inode of the stream that systemd has connected;
 * a process may have redirected its standard error since then. */
static bool goes_to_journal(void)
{
    const char *stream = getenv("JOURNAL_STREAM");
    char own[64];
    struct stat stat;

    if (stream == NULL || fstat(STDERR_FILENO, &stat) < 0) {
        return false;
    }
    snprintf(own, sizeof(own), "%" PRIu64 ":%" PRIu64, (uint64_t)stat.st_dev,
             (uint64_t)stat.st_ino);
    return strcmp(stream, own) == 0;
}

void output_show_times(void)
{
    shows_times = !goes_to_journal();
}

const char *output_line_begin(char text[static OUTPUT_LINE_BEGIN_SIZE])
{
    char day[32];
    struct timespec now;
    struct tm local;

    snprintf(text, OUTPUT_LINE_BEGIN_SIZE, "uvzk: ");
    if (shows_times && clock_gettime(CLOCK_REALTIME, &now) == 0 &&
        localtime_r(&now.tv_sec, &local) != NULL &&
        strftime(day, sizeof(day), "%Y-%m-%d %H:%M:%S", &local) > 0) {
        snprintf(text, OUTPUT_LINE_BEGIN_SIZE, "uvzk: %s,%03ld ", day,
                 now.tv_nsec / 1000000);
    }
    return text;
}

/* Standard error has no buffer, and the holder and the supervisor both write to it. */
static void print_line(const char *text)
{
    char begin[OUTPUT_LINE_BEGIN_SIZE];
    char *line = NULL;
    size_t length = 0;
    FILE *whole = open_memstream(&line, &length);

    if (whole == NULL) {
        fputs("uvzk: out of memory\n", stderr);
        return;
    }
    fputs(output_line_begin(begin), whole);
    output_plain(whole, text, strlen(text));
    fputc('\n', whole);
    if (fclose(whole) == 0) {
        fwrite(line, 1, length, stderr);
    }
    free(line);
}

void output_report(const char *format, ...)
{
    va_list arguments;
    char *text = NULL;

    va_start(arguments, format);
    if (vasprintf(&text, format, arguments) < 0) {
        text = NULL; /* its value is not defined */
    }
    va_end(arguments);
    print_line(text == NULL ? format : text);
    free(text);
}

static bool has_colours(FILE *file)
{
    const char *none = getenv("NO_COLOR");
    const char *terminal = getenv("TERM");

    return isatty(fileno(file)) && (none == NULL || none[0] == '\0') &&
           terminal != NULL && strcmp(terminal, "dumb") != 0;
}

void output_colour(FILE *file, enum colour colour)
{
    static const char *const codes[] = {"0", "1;32", "33", "1"};

    if (has_colours(file)) {
        fprintf(file, "\033[%sm", codes[colour]);
    }
}
