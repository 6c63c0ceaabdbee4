/* SPDX-License-Identifier: Apache-2.0 */
/* The table of locks that `uvzk top` shows: adding, sorting and freeing rows
 * (lock_rows.h). */
#include "lock_rows.h"

#include <stdlib.h>
#include <string.h>

struct lock_row *lock_rows_add(struct lock_rows *rows, const char *path)
{
    struct lock_row *more = realloc(rows->rows, (rows->count + 1) * sizeof(*more));
    char *copy = strdup(path);

    rows->rows = more == NULL ? rows->rows : more;
    if (more == NULL || copy == NULL) {
        free(copy);
        return NULL;
    }
    rows->rows[rows->count] = (struct lock_row){.path = copy};
    return &rows->rows[rows->count++];
}

/* For qsort: most waiters first, then the longest wait, then by path. */
static int by_waiters(const void *left, const void *right)
{
    const struct lock_row *a = left, *b = right;

    if (a->waiters != b->waiters) {
        return a->waiters > b->waiters ? -1 : 1;
    }
    if (a->waited_since_ms != b->waited_since_ms) {
        return a->waited_since_ms < b->waited_since_ms ? -1 : 1;
    }
    return strcmp(a->path, b->path);
}

void lock_rows_sort(struct lock_rows *rows)
{
    if (rows->count > 0) {
        qsort(rows->rows, rows->count, sizeof(*rows->rows), by_waiters);
    }
}

void lock_rows_free(struct lock_rows *rows)
{
    for (size_t i = 0; i < rows->count; i++) {
        free(rows->rows[i].path);
        free(rows->rows[i].data);
        newest_run_delete(rows->rows[i].newest);
    }
    free(rows->rows);
    *rows = (struct lock_rows){0};
}
