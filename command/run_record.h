/* SPDX-License-Identifier: Apache-2.0 */
/* The record of a run: the data of its key's znode, as one line of JSON.
 *
 *     {"by":"ann@web1 pid 4711: nightly","token":34359738401,
 *      "began_ms":1764382500123,"took_ms":61250,"status":0}
 *
 * took_ms and status are missing while the run lasts, or if nobody lived to write them
 * (--at-most-once). Any program may read it. */
#ifndef RUN_RECORD_H
#define RUN_RECORD_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#define RUN_RECORD_BY_SIZE 512U

struct run_record {
    char by[RUN_RECORD_BY_SIZE]; /* what the lock's znode says of its owner; may be cut */
    int64_t token;               /* of the hold: it tells the runs of a key apart */
    int64_t began_ms;            /* since 1970, by the clock of the job's host */
    bool has_ended;              /* the next two are known */
    int64_t took_ms;
    int status; /* of the job: its exit status, or 128 + N if signal N ended it */
};

/* Returns the text, which the caller frees; NULL: no memory. */
char *run_record_write(const struct run_record *, size_t *length);
/* Returns false if the data is not a record. */
bool run_record_read(struct run_record *, const char *data, size_t length);

/* Print a record with its key, as a sentence and as a JSON object. */
void run_record_print(FILE *, const char *key, const struct run_record *);
void run_record_print_json(FILE *, const char *key, const struct run_record *);

#endif
