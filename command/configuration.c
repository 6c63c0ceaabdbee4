/* SPDX-License-Identifier: Apache-2.0 */
/* Reads configuration files and connection strings into the client's options
 * (configuration.h). Every line goes through uvzk_client_options_set, so files and
 * strings have the same names and ranges; only lock_kind is an option of files alone.
 * connection.c calls it. */
#include "configuration.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sysexits.h>
#include <unistd.h>

#include <uv.h>

#include "exit_code.h"
#include "output.h"
#include "private_file.h"

#define OF_THE_MACHINE "/etc/uvzk.conf"

size_t configuration_files(const char *files[CONFIGURATION_FILES])
{
    static char of_the_user[4096];
    const char *directory = getenv("XDG_CONFIG_HOME"), *below = "";

    files[0] = OF_THE_MACHINE;
    /* The XDG specification says that a relative name must be ignored. */
    if (directory == NULL || directory[0] != '/') {
        directory = getenv("HOME");
        below = "/.config";
    }
    if (directory == NULL || directory[0] == '\0') {
        return 1;
    }
    int length =
        snprintf(of_the_user, sizeof(of_the_user), "%s%s/uvzk.conf", directory, below);
    files[1] = of_the_user;
    return length < 0 || (size_t)length >= sizeof(of_the_user) ? 1 : 2;
}

/* ------------------------------------------------------------------------- a file */

/* The source of the next line. */
struct place {
    const char *file;
    unsigned line;
};

static int wrong(const struct place *place, const char *what)
{
    output_report("%s:%u: %s", place->file, place->line, what);
    return EX_USAGE;
}

/* Prints the sentence with the option's name in place of the field's. */
static int refused(const struct place *place, const char *name, int status)
{
    const char *sentence = uvzk_refusal(status);

    if (status == UV_ENOENT) {
        output_report("%s:%u: there is no option %s", place->file, place->line, name);
    } else if (strncmp(sentence, "options.", strlen("options.")) == 0) {
        output_report("%s:%u: %s%s", place->file, place->line, name,
                      sentence + strcspn(sentence, " :"));
    } else {
        output_report("%s:%u: %s: %s", place->file, place->line, name, sentence);
    }
    return exit_code_of(status);
}

/* Returns the text without the blanks at both ends. Modifies it. */
static char *trim(char *text)
{
    static const char blanks[] = " \t\r\n";
    size_t length;

    text += strspn(text, blanks);
    length = strlen(text);
    while (length > 0 && strchr(blanks, text[length - 1]) != NULL) {
        length--;
    }
    text[length] = '\0';
    return text;
}

/* Returns true if the value looks as if it contained a comment. A password may look like
 * anything. */
static bool has_comment(const char *name, const char *value)
{
    return !uvzk_client_option_is_secret(name) &&
           (strstr(value, " #") != NULL || strstr(value, "\t#") != NULL);
}

static int read_lock_kind(const struct place *place, const char *value,
                          struct configuration *configuration)
{
    configuration->lock_is_write = strcmp(value, "write") == 0;
    return configuration->lock_is_write || strcmp(value, "mutex") == 0
               ? EX_OK
               : wrong(place, "lock_kind: expected mutex or write");
}

static int read_line(FILE *file, const struct place *place, char *line,
                     struct configuration *configuration)
{
    char *name = trim(line);

    if (name[0] == '\0' || name[0] == '#') {
        return EX_OK;
    }
    char *value = strchr(name, '=');
    if (value == NULL) {
        return wrong(place, "neither NAME = VALUE nor a comment");
    }
    *value++ = '\0';
    name = trim(name);
    if (uvzk_client_option_is_secret(name) && private_file_is_readable_by_others(file)) {
        output_report("%s: it has credentials (%s), and its group or others can read "
                      "it: chmod 600",
                      place->file, name);
        return EX_NOINPUT;
    }
    value = trim(value);
    if (has_comment(name, value)) {
        return wrong(place,
                     "a # after a value does not begin a comment: a comment needs a line "
                     "of its own");
    }
    if (strcmp(name, "lock_kind") == 0) {
        return read_lock_kind(place, value, configuration);
    }
    int status = uvzk_client_options_set(configuration->client, name, value);
    return status == 0 ? EX_OK : refused(place, name, status);
}

static int read_lines(FILE *file, struct place *place,
                      struct configuration *configuration)
{
    char *line = NULL;
    size_t size = 0;
    ssize_t length;
    int failed = EX_OK;

    while (failed == EX_OK && (length = getline(&line, &size, file)) >= 0) {
        place->line++;
        failed = strlen(line) == (size_t)length
                     ? read_line(file, place, line, configuration)
                     : wrong(place, "a NUL byte");
    }
    if (failed == EX_OK && ferror(file)) {
        output_report("%s: %s", place->file, strerror(errno));
        failed = EX_NOINPUT;
    }
    free(line);
    return failed;
}

/* A directory that this user may not enter has no file of this user. */
static bool may_enter_directory_of(const char *file)
{
    char directory[4096];
    const char *end = strrchr(file, '/');

    snprintf(directory, sizeof(directory), "%.*s", end == NULL ? 0 : (int)(end - file),
             file);
    return faccessat(AT_FDCWD, directory, X_OK, AT_EACCESS) == 0;
}

static bool is_missing(const char *file, int error)
{
    return error == ENOENT || error == ENOTDIR ||
           (error == EACCES && !may_enter_directory_of(file));
}

int configuration_read(const char *file, bool optional,
                       struct configuration *configuration)
{
    struct place place = {.file = file};
    const char *hosts = configuration->client->hosts;
    const void *auth = configuration->client->auth;
    FILE *open = fopen(file, "re");

    if (open == NULL && optional && is_missing(file, errno)) {
        return EX_OK;
    }
    if (open == NULL) {
        int error = errno;
        output_report("%s: %s", file, strerror(error));
        return exit_code_of_file(error);
    }
    /* A file that the user has named may be anything, such as /dev/null. */
    const char *foreign = optional ? private_file_is_foreign(open) : NULL;
    int failed = EX_NOINPUT;
    if (foreign != NULL) {
        output_report("%s: %s", file, foreign);
    } else {
        failed = read_lines(open, &place, configuration);
    }
    fclose(open);
    if (configuration->client->hosts != hosts) {
        configuration->hosts_from = file;
    }
    if (configuration->client->auth != auth) {
        configuration->auth_from = file;
    }
    return failed;
}

/* ------------------------------------------------------------- a connection string */

int configuration_parse(const char *from, const char *text, bool public,
                        uvzk_client_options_t *client)
{
    const void *auth = client->auth;
    int status = uvzk_client_options_parse(client, text);

    if (status < 0) {
        const char *sentence = uvzk_refusal(status);
        sentence += strncmp(sentence, "options.", 8) == 0 ? 8 : 0;
        sentence += strncmp(sentence, "text: ", 6) == 0 ? 6 : 0;
        output_report("%s: %s", from, sentence);
        return exit_code_of(status);
    }
    if (public && client->auth != auth) {
        output_report("%s: every user can read a command line: write auth into a file",
                      from);
        return EX_USAGE;
    }
    return EX_OK;
}
