/* SPDX-License-Identifier: Apache-2.0 */
/* Options of the client from configuration files (uvzk.conf(5)) and from connection
 * strings (ZOOKEEPER_HOSTS, --hosts). Errors are printed with their place. */
#ifndef CONFIGURATION_H
#define CONFIGURATION_H

#include <stdbool.h>
#include <stddef.h>

#include <uvzk.h>

enum { CONFIGURATION_FILES = 2 };

/* Sets `files` to the names of the machine's file and of the user's file, in this order,
 * and returns their number. If neither XDG_CONFIG_HOME nor HOME names a directory, the user
 * has no file. The names are static. */
size_t configuration_files(const char *files[CONFIGURATION_FILES]);

/* What files set. A file changes only what it sets. */
struct configuration {
    uvzk_client_options_t *client;
    const char *hosts_from; /* the file that sets the hosts */
    const char *auth_from;  /* the file that sets auth */
    bool lock_is_write;     /* `uvzk lock` without an option takes the write half of a
                               read-write lock, as it did before version 0.4; else a mutex */
};

/* Reads one file: lines "name = value", and comments after '#'. If `optional` is true, a
 * file that does not exist, or is in a directory that this user may not enter, is not an
 * error, and a file that another user may have written is one. `file` must outlive the
 * configuration. Returns EX_OK or, after it has printed what is wrong, an exit code:
 * EX_NOINPUT if the file cannot be read, or if it has a secret and others can read it;
 * EX_USAGE if a line is wrong. */
int configuration_read(const char *file, bool optional, struct configuration *);

/* Sets options from a connection string. from: its source, for the message. If `public`
 * is true, others can read the string, so a secret in it is refused. Returns EX_OK, or an
 * exit code after it has printed what is wrong. */
int configuration_parse(const char *from, const char *text, bool public,
                        uvzk_client_options_t *client);

#endif
