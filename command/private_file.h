/* SPDX-License-Identifier: Apache-2.0 */
/* What other users may do with a file that the command reads. The functions check the
 * open file, so it cannot be replaced in between. */
#ifndef PRIVATE_FILE_H
#define PRIVATE_FILE_H

#include <stdbool.h>
#include <stdio.h>

/* Returns true if the file's group or others may read it: then it must not have
 * credentials. */
bool private_file_is_readable_by_others(FILE *);

/* Returns why another user may have written the file's contents, for a message: its owner
 * is neither root nor the user of this process, or others may write it. NULL: no such
 * reason. */
const char *private_file_is_foreign(FILE *);

#endif
