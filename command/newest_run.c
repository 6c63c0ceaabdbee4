/* SPDX-License-Identifier: Apache-2.0 */
/* Reads which key of a lock has run last (newest_run.h): the list of keys, then the record
 * of the newest one. */
#include "newest_run.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "output.h"

static void newest_run_end(struct newest_run *run, int status)
{
    run->cb(run, status);
}

/* Without a record there is still a key: its record was deleted, for another run. */
static bool is_missing(int status)
{
    return status == UVZK_ENONODE || status == UVZK_ENOAUTH;
}

static void on_record(uvzk_req_t *request, int status)
{
    struct newest_run *run = request->data;

    run->has_record = status == 0 && run_record_read(&run->record, request->result->data,
                                                     request->result->length);
    newest_run_end(run, is_missing(status) ? 0 : status);
}

static void read_record(struct newest_run *run)
{
    char *node = NULL;
    int status = UV_ENOMEM;

    if (asprintf(&node, "%s/%s", run->list_node, run->key) >= 0) {
        status = uvzk_client_read(run->client, &run->request, node, on_record);
        free(node);
    }
    if (status < 0) {
        newest_run_end(run, status);
    }
}

static void on_list(uvzk_req_t *request, int status)
{
    struct newest_run *run = request->data;
    struct run_keys keys = {.count = 0};

    if (status == 0) {
        (void)run_keys_read(&keys, request->result->data, request->result->length);
    }
    const char *newest = run_keys_newest(&keys);
    if (newest == NULL) {
        newest_run_end(run, is_missing(status) ? 0 : status);
    } else {
        snprintf(run->key, sizeof(run->key), "%s", newest);
        read_record(run);
    }
}

void newest_run_read(struct newest_run *run, uvzk_client_t *client, const char *lock_node,
                     newest_run_cb cb)
{
    int status = UV_ENOMEM;

    newest_run_free(run);
    run->client = client;
    run->cb = cb;
    run->request.data = run;
    run->key[0] = '\0';
    run->has_record = false;
    if (asprintf(&run->list_node, "%s.runs", lock_node) < 0) {
        run->list_node = NULL;
    } else {
        status = uvzk_client_read(client, &run->request, run->list_node, on_list);
    }
    if (status < 0) {
        newest_run_end(run, status);
    }
}

void newest_run_free(struct newest_run *run)
{
    free(run->list_node);
    run->list_node = NULL;
}

void newest_run_delete(struct newest_run *run)
{
    if (run != NULL) {
        newest_run_free(run);
        free(run);
    }
}

void newest_run_print(FILE *out, const struct newest_run *run)
{
    if (run->has_record) {
        run_record_print(out, run->key, &run->record);
    } else if (run->key[0] != '\0') {
        output_plain(out, run->key, strlen(run->key));
        fputs(": no record", out);
    }
}

void newest_run_print_json(FILE *out, const struct newest_run *run)
{
    if (run->has_record) {
        run_record_print_json(out, run->key, &run->record);
    } else if (run->key[0] != '\0') {
        fputs("{\"key\":", out);
        output_json_string(out, run->key, strlen(run->key));
        fputc('}', out);
    }
}
