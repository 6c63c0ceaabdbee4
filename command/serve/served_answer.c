/* SPDX-License-Identifier: Apache-2.0 */
/* Makes the JSON objects that the daemon sends (served_answer.h). */
#include "served_answer.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <uvzk.h>

#include "served_memory.h"

/* The library's sentences are shorter. */
#define REFUSAL_SIZE 256
/* Most lines fit, and are written in one go. */
#define LINE_SIZE 256U
#define TOO_LONG_TEXT "the answer would be longer than --max-unsent"

json_t *served_answer_ok(int64_t id)
{
    return json_pack("{s:I,s:b}", "id", (json_int_t)id, "ok", 1);
}

json_t *served_answer_error(int64_t id, const char *error, const char *message,
                            int retriable)
{
    json_t *answer = json_object();

    json_object_set_new(answer, "id", id < 0 ? json_null() : json_integer(id));
    json_object_set_new(answer, "ok", json_false());
    served_answer_add_text(answer, "error", error);
    served_answer_add_text(answer, "message", message);
    json_object_set_new(answer, "retriable", json_boolean(retriable));
    return answer;
}

json_t *served_answer_status(int64_t id, int status, int refused)
{
    return served_answer_error(id, uvzk_err_name(status),
                               refused ? uvzk_refusal(status) : uvzk_strerror(status),
                               uvzk_err_is_retriable(status));
}

json_t *served_answer_refused(int64_t id, int status, const char *field)
{
    const char *sentence = uvzk_refusal(status);
    char message[REFUSAL_SIZE];

    if (status != UVZK_EPATH || field == NULL) {
        return served_answer_status(id, status, 1);
    }
    /* The library calls it "path". */
    if (strncmp(sentence, "path: ", strlen("path: ")) == 0) {
        sentence += strlen("path: ");
    }
    snprintf(message, sizeof(message), "`%s`: %s", field, sentence);
    return served_answer_error(id, uvzk_err_name(status), message,
                               uvzk_err_is_retriable(status));
}

json_t *served_answer_change(int64_t id, int status)
{
    json_t *answer =
        status == 0 ? served_answer_ok(id) : served_answer_status(id, status, 0);

    if (status < 0) {
        json_object_set_new(answer, "unknown",
                            json_boolean(uvzk_err_outcome_is_unknown(status)));
    }
    return answer;
}

json_t *served_answer_ending(int64_t id)
{
    return served_answer_error(id, SERVED_EENDING, SERVED_ENDING_TEXT, 1);
}

json_t *served_answer_fit(json_t *answer, int64_t id, size_t most)
{
    if (json_dumpb(answer, NULL, 0, JSON_COMPACT) <= most) {
        return answer;
    }
    json_decref(answer);
    return served_answer_error(id, SERVED_ESIZE, TOO_LONG_TEXT, 0);
}

json_t *served_answer_event(const char *event)
{
    return json_pack("{s:s}", "event", event);
}

json_t *served_answer_event_of(const char *event, const char *error, const char *message)
{
    json_t *answer = served_answer_event(event);

    served_answer_add_text(answer, "error", error);
    served_answer_add_text(answer, "message", message);
    return answer;
}

json_t *served_answer_event_over(const char *event, const char *error,
                                 const char *message, const char *name, int64_t number)
{
    json_t *answer = served_answer_event_of(event, error, message);

    served_answer_add_number(answer, name, number);
    return answer;
}

json_t *served_answer_fit_event(json_t *event, size_t most)
{
    if (json_dumpb(event, NULL, 0, JSON_COMPACT) <= most) {
        return event;
    }
    json_t *other = served_answer_event_over(
        json_string_value(json_object_get(event, "event")), SERVED_ESIZE, TOO_LONG_TEXT,
        "object", json_integer_value(json_object_get(event, "object")));
    json_decref(event);
    return other;
}

void served_answer_add_number(json_t *answer, const char *name, int64_t number)
{
    json_object_set_new(answer, name, json_integer(number));
}

void served_answer_add_null(json_t *answer, const char *name)
{
    json_object_set_new(answer, name, json_null());
}

void served_answer_add_text(json_t *answer, const char *name, const char *text)
{
    json_object_set_new(answer, name, json_string(text));
}

void served_answer_add_texts(json_t *answer, const char *name, const char *const *texts,
                             size_t count)
{
    json_t *array = json_array();

    for (size_t i = 0; i < count; i++) {
        json_array_append_new(array, json_string(texts[i]));
    }
    json_object_set_new(answer, name, array);
}

void served_answer_add_participants(json_t *answer, const char *const *paths,
                                    size_t count, size_t holding)
{
    served_answer_add_texts(answer, "holders", paths, holding);
    served_answer_add_texts(answer, "waiters", paths + holding, count - holding);
}

void served_answer_add_session(json_t *answer, int64_t session_id)
{
    char text[32];

    snprintf(text, sizeof(text), "0x%" PRIx64, (uint64_t)session_id);
    served_answer_add_text(answer, "session", text);
}

char *served_answer_line(json_t *answer, size_t *length)
{
    char first[LINE_SIZE];
    size_t size = json_dumpb(answer, first, sizeof(first), JSON_COMPACT);
    char *line = size == 0 ? NULL : malloc(size + 1);

    if (line != NULL) {
        if (size <= sizeof(first)) {
            memcpy(line, first, size);
        } else {
            json_dumpb(answer, line, size, JSON_COMPACT);
        }
        line[size] = '\n';
        *length = size + 1;
    }
    json_decref(answer);
    if (served_memory_was_short()) {
        free(line);
        return NULL;
    }
    return line;
}
