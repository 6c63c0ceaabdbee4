/* What the command's exit status says: of CMD what it was, of ourselves what sysexits.h
 * says. */
#ifndef EXIT_CODE_H
#define EXIT_CODE_H

#include <sysexits.h>

/* The lock was lost while CMD ran, which was ended. */
#define EXIT_LOST EX_TEMPFAIL

/* Of a failed call of uvzk's or libuv's. */
int exit_code_of(int status);

/* Of a status as waitpid() tells it: 128 and the signal's number for a signal. */
int exit_code_of_process(int status);

#endif
