/* What other users may do with a file that the command reads. Of the open file, so that nobody can
 * exchange the file in between. */
#ifndef PRIVATE_FILE_H
#define PRIVATE_FILE_H

#include <stdbool.h>
#include <stdio.h>

/* Whether the file's group or others may read it: it must not have credentials then. */
bool private_file_is_readable_by_others(FILE *);

/* Returns why another user may have chosen what is in the file, for a message: it belongs to one who
 * is neither root nor the user of this process, or others may write it. NULL: no such reason. */
const char *private_file_is_foreign(FILE *);

#endif
