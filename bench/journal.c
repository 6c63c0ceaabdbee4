/* SPDX-License-Identifier: Apache-2.0 */
#include "journal.h"

#include <errno.h>
#include <inttypes.h>
#include <string.h>

FILE *journal_open(const char *name)
{
    FILE *journal = fopen(name, "w");
    if (journal == NULL) {
        fprintf(stderr, "%s: %s\n", name, strerror(errno));
    }
    return journal;
}

void journal_add(FILE *journal, size_t holder, int64_t token, uint64_t granted_ns,
                 uint64_t released_ns)
{
    if (journal != NULL) {
        fprintf(journal, "%zu %" PRId64 " %" PRIu64 " %" PRIu64 "\n", holder, token,
                granted_ns, released_ns);
    }
}

void journal_close(FILE *journal)
{
    if (journal != NULL) {
        fclose(journal);
    }
}
