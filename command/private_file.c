/* SPDX-License-Identifier: Apache-2.0 */
/* Checks owner and mode of an open file (private_file.h). */
#include "private_file.h"

#include <sys/stat.h>
#include <unistd.h>

bool private_file_is_readable_by_others(FILE *file)
{
    struct stat stat;

    return fstat(fileno(file), &stat) != 0 || (stat.st_mode & (S_IRGRP | S_IROTH)) != 0;
}

const char *private_file_is_foreign(FILE *file)
{
    struct stat stat;

    if (fstat(fileno(file), &stat) != 0) {
        return "its owner is not known";
    }
    if (stat.st_uid != 0 && stat.st_uid != geteuid()) {
        return "it belongs to another user";
    }
    return (stat.st_mode & (S_IWGRP | S_IWOTH)) != 0
               ? "its group or others can write it: chmod go-w"
               : NULL;
}
