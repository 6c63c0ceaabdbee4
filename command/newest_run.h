/* SPDX-License-Identifier: Apache-2.0 */
/* The record of the newest key of a lock (run_key.h), for uvzk status and uvzk top. */
#ifndef NEWEST_RUN_H
#define NEWEST_RUN_H

#include <stdbool.h>
#include <stdio.h>

#include <uvzk.h>

#include "run_key.h"
#include "run_record.h"

struct newest_run;
/* status: 0, or why it could not be read: an error code. Called inside newest_run_read only
 * if the request could not be made. */
typedef void (*newest_run_cb)(struct newest_run *, int status);

struct newest_run {
    void *data; /* the user's */

    char key[RUN_KEY_SIZE];   /* "": there is none */
    bool has_record;          /* else the record is not readable, or was deleted */
    struct run_record record; /* only then */

    /* Its own. */
    uvzk_client_t *client;
    uvzk_req_t request;
    char *list_node; /* owned */
    newest_run_cb cb;
};

/* Reads the list of keys beside the lock, and the record of the newest one. lock_node: the
 * full path of the lock, with the namespace. */
void newest_run_read(struct newest_run *, uvzk_client_t *, const char *lock_node,
                     newest_run_cb cb);
/* Frees what it owns; the struct too, which may be NULL. */
void newest_run_free(struct newest_run *);
void newest_run_delete(struct newest_run *);

/* Print the key and its record, as a sentence and as a JSON object. Without a key they
 * print nothing. */
void newest_run_print(FILE *, const struct newest_run *);
void newest_run_print_json(FILE *, const struct newest_run *);

#endif
