/* SPDX-License-Identifier: Apache-2.0 */
/* Maps error codes, errno and wait statuses to exit codes (exit_code.h). */
#include "exit_code.h"

#include <errno.h>
#include <sys/wait.h>

#include <uvzk.h>

int exit_code_of(int status)
{
    switch (status) {
    case 0:
        return EX_OK;
    case UV_EINVAL:
    case UV_ENOENT: /* there is no option of this name */
    case UVZK_EPATH:
        return EX_USAGE;
    case UVZK_EDATA:
    case UVZK_EKIND:
        return EX_DATAERR;
    case UVZK_ENONODE:
        return EX_NOINPUT;
    case UVZK_ECONNLOSS:
    case UVZK_ENOTSENT:
    case UVZK_EEXPIRED:
    case UVZK_ETHROTTLED:
    case UVZK_EEXHAUSTED:
    case UVZK_ELIMIT:
    case UVZK_EUNREACHABLE:
    case UVZK_ENOTQUEUED:
        return EX_UNAVAILABLE;
    case UV_ENOMEM:
    case UV_EMFILE:
    case UV_ENFILE:
        return EX_OSERR;
    case UVZK_ELOST:
    case UVZK_EPROOF:
    case UVZK_EDELETED:
        return EX_TEMPFAIL;
    case UVZK_EMAXHOLD:
        return EXIT_MAX_HOLD;
    case UVZK_EUNIMPLEMENTED:
        return EX_PROTOCOL;
    case UVZK_EAUTH:
    case UVZK_ENOAUTH:
    case UVZK_EINVALIDACL:
        return EX_NOPERM;
    default:
        return EX_SOFTWARE;
    }
}

bool exit_code_is_shortage(int status)
{
    return exit_code_of(status) == EX_OSERR;
}

int exit_code_of_file(int error)
{
    return exit_code_is_shortage(-error) ? EX_OSERR : EX_NOINPUT;
}

int exit_code_of_start(int error)
{
    switch (error) {
    case ENOENT:
        return EXIT_NOT_FOUND;
    case ENOMEM:
    case EAGAIN:
    case EMFILE:
    case ENFILE:
        return EX_OSERR;
    default:
        return EXIT_CANNOT_RUN;
    }
}

int exit_code_of_process(int status)
{
    return WIFSIGNALED(status) ? 128 + WTERMSIG(status) : WEXITSTATUS(status);
}
