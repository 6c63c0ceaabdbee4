/* SPDX-License-Identifier: Apache-2.0 */
/* Reads and writes the records of runs (run_record.h). */
#include "run_record.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include <jansson.h>

#include "output.h"

#define MS_PER_S 1000

static void print_members(FILE *out, const struct run_record *record)
{
    fputs("\"by\":", out);
    output_json_string(out, record->by, strlen(record->by));
    fprintf(out, ",\"token\":%" PRId64 ",\"began_ms\":%" PRId64, record->token,
            record->began_ms);
    if (record->has_ended) {
        fprintf(out, ",\"took_ms\":%" PRId64 ",\"status\":%d", record->took_ms,
                record->status);
    }
}

char *run_record_write(const struct run_record *record, size_t *length)
{
    char *text = NULL;
    FILE *out = open_memstream(&text, length);

    if (out == NULL) {
        return NULL;
    }
    fputc('{', out);
    print_members(out, record);
    fputs("}\n", out);
    if (fclose(out) != 0) {
        free(text);
        return NULL;
    }
    return text;
}

static int64_t number_of(const json_t *object, const char *name)
{
    return json_integer_value(json_object_get(object, name));
}

bool run_record_read(struct run_record *record, const char *data, size_t length)
{
    json_t *object = json_loadb(data, length, JSON_REJECT_DUPLICATES, NULL);
    const json_t *by = json_object_get(object, "by");
    bool is_record =
        json_is_string(by) && json_is_integer(json_object_get(object, "token"));

    *record = (struct run_record){0};
    if (is_record) {
        snprintf(record->by, sizeof(record->by), "%s", json_string_value(by));
        record->token = number_of(object, "token");
        record->began_ms = number_of(object, "began_ms");
        record->has_ended = json_is_integer(json_object_get(object, "status"));
        record->took_ms = number_of(object, "took_ms");
        record->status = (int)number_of(object, "status");
    }
    json_decref(object);
    return is_record;
}

/* ------------------------------------------------------------------- for a reader */

static void print_time(FILE *out, int64_t ms)
{
    time_t seconds = (time_t)(ms / MS_PER_S);
    struct tm parts;
    char text[64] = "?";

    if (gmtime_r(&seconds, &parts) != NULL) {
        strftime(text, sizeof(text), "%Y-%m-%dT%H:%M:%SZ", &parts);
    }
    fputs(text, out);
}

void run_record_print(FILE *out, const char *key, const struct run_record *record)
{
    output_plain(out, key, strlen(key));
    fputs(": begun ", out);
    print_time(out, record->began_ms);
    if (record->has_ended) {
        fprintf(out, ", took %.1fs, exit status %d", (double)record->took_ms / MS_PER_S,
                record->status);
    } else {
        fputs(", its end is not recorded", out);
    }
    fputs(", ", out);
    output_plain(out, record->by, strlen(record->by));
}

void run_record_print_json(FILE *out, const char *key, const struct run_record *record)
{
    fputs("{\"key\":", out);
    output_json_string(out, key, strlen(key));
    fputc(',', out);
    print_members(out, record);
    fputc('}', out);
}
