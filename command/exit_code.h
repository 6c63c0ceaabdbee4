/* SPDX-License-Identifier: Apache-2.0 */
/* The exit status of the command: the status of CMD; 126 or 127 if CMD cannot be run;
 * 124 after --max-hold; or, if uvzk itself fails, a code of sysexits.h. */
#ifndef EXIT_CODE_H
#define EXIT_CODE_H

#include <stdbool.h>

#include <sysexits.h>

/* The lock was lost: CMD was ended, or was not run. */
#define EXIT_LOST EX_TEMPFAIL

/* CMD was ended because it has held the lock for --max-hold; as timeout(1). */
#define EXIT_MAX_HOLD 124

/* An enclosing `uvzk lock` holds the lock, so the command would wait for itself. */
#define EXIT_OWN_LOCK EX_CONFIG

/* Returns the exit status for an error code of uvzk or libuv; EX_OK for 0. Any other
 * code gives EX_SOFTWARE. */
int exit_code_of(int status);

/* Returns true if an error code says that the system is short of memory or file
 * descriptors. */
bool exit_code_is_shortage(int status);

/* Returns the exit status if a file cannot be read, for its errno. */
int exit_code_of_file(int error);

/* As env(1), timeout(1) and the shell: CMD was found but cannot be run, or was not found. */
#define EXIT_CANNOT_RUN 126
#define EXIT_NOT_FOUND 127

/* Returns the exit status if CMD could not be run, for its errno. EX_OSERR: the system was
 * short of memory, processes or file descriptors. */
int exit_code_of_start(int error);

/* Returns the exit status for a status of waitpid(): the exit status of the process, or
 * 128 + N if signal N killed it. */
int exit_code_of_process(int status);

#endif
