/* SPDX-License-Identifier: Apache-2.0 */
/* Shared values and counts of the client: prints each value that it is shown, and the
 * result of each set. A count is set to the known number plus one, only if it still has
 * the known version. A value is set to a content that is unique among all writers; every
 * second set is unconditional, and the others succeed only if the value still has the
 * known version. */
#include "client.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define VALUES_MAX 4
#define SEED "seed"

struct chaos_value {
    char name[WORD_MAX], id[WORD_MAX], content[WORD_MAX * 2];
    uvzk_shared_value_t value;
    uvzk_shared_count_t count;
    uvzk_req_t request;
    uv_timer_t timer;
    uint32_t pause_ms, tries;
    uint64_t sent_ns;
    /* counts: a shared count. works: "work" was received. busy: a set is under way. */
    bool counts, works, busy;
};

static struct chaos_value values[VALUES_MAX];
static size_t value_count;

static struct chaos_value *find_value(const char *name)
{
    for (size_t i = 0; i < value_count; i++) {
        if (strcmp(values[i].name, name) == 0) {
            return &values[i];
        }
    }
    return NULL;
}

/* ---------------------------------------------------------------------------- showing */

static void tell_shown(const struct chaos_value *value, uvzk_value_version_t version,
                       const char *content)
{
    say("shown %s %llu %d %s %llu", value->name, (unsigned long long)version.mzxid,
        (int)version.version, content, (unsigned long long)now_ns());
}

static void on_value(uvzk_shared_value_t *handle, int status)
{
    const struct chaos_value *value = handle->data;
    uvzk_value_version_t version;
    const void *data;
    size_t length;
    char content[WORD_MAX * 2];
    if (status == 0 && uvzk_shared_value_get(handle, &data, &length, &version) == 0) {
        snprintf(content, sizeof(content), "%.*s", (int)length, (const char *)data);
        tell_shown(value, version, content);
    }
}

static void on_count(uvzk_shared_count_t *handle, int status, int32_t number)
{
    const struct chaos_value *value = handle->data;
    uvzk_value_version_t version;
    char content[WORD_MAX];
    if (status == 0 && uvzk_shared_count_get(handle, &number, &version) == 0) {
        snprintf(content, sizeof(content), "%d", (int)number);
        tell_shown(value, version, content);
    }
}

/* ---------------------------------------------------------------------------- setting */

static void pause_value(struct chaos_value *value);

static void on_set(uvzk_req_t *request, int status)
{
    struct chaos_value *value = request->data;
    say("set %s %s %s %s %llu %llu", value->id, value->name,
        status == 0 ? "0" : uvzk_err_name(status), value->content,
        (unsigned long long)value->sent_ns, (unsigned long long)now_ns());
    pause_value(value);
}

static int set_count(struct chaos_value *value)
{
    uvzk_value_version_t version;
    int32_t number;
    int status = uvzk_shared_count_get(&value->count, &number, &version);
    if (status < 0) {
        return status;
    }
    snprintf(value->content, sizeof(value->content), "%d", (int)number + 1);
    return uvzk_shared_count_try_set(&value->count, &value->request, &version, number + 1,
                                     on_set);
}

static int set_value(struct chaos_value *value)
{
    uvzk_value_version_t version;
    int status = uvzk_shared_value_get(&value->value, NULL, NULL, &version);
    value->tries++;
    snprintf(value->content, sizeof(value->content), "%s:%d:%u", value->id, (int)getpid(),
             (unsigned)value->tries);
    size_t length = strlen(value->content);
    if (value->tries % 2 == 0) {
        return uvzk_shared_value_set(&value->value, &value->request, value->content,
                                     length, on_set);
    }
    return status < 0
               ? status
               : uvzk_shared_value_try_set(&value->value, &value->request, &version,
                                           value->content, length, on_set);
}

static void on_turn(uv_timer_t *timer)
{
    struct chaos_value *value = timer->data;
    value->busy = true;
    value->sent_ns = now_ns();
    value->request.data = value;
    int status = value->counts ? set_count(value) : set_value(value);
    /* The call was refused, for example because no value is known yet. Try again
     * later. */
    if (status < 0) {
        pause_value(value);
    }
}

static void pause_value(struct chaos_value *value)
{
    value->busy = false;
    if (chaos.closing) {
        return;
    }
    if (!chaos.resting) {
        uv_timer_start(&value->timer, on_turn,
                       1 + (uint64_t)rand() % (2 * value->pause_ms + 1), 0);
    } else {
        tell_resting();
    }
}

/* ------------------------------------------------------------------------ all of them */

int make_value(const char *name, bool counts, const char *path)
{
    struct chaos_value *value = &values[value_count];
    if (value_count == VALUES_MAX) {
        return UV_ENOMEM;
    }
    value_count++;
    snprintf(value->name, sizeof(value->name), "%s", name);
    value->counts = counts;
    if (counts) {
        value->count.data = value;
        return uvzk_shared_count_init(&chaos.client, &value->count, path, 0, on_count);
    }
    value->value.data = value;
    return uvzk_shared_value_init(&chaos.client, &value->value, path, SEED, strlen(SEED),
                                  on_value);
}

bool begin_setting(const char *id, const char *name, uint32_t pause_ms)
{
    struct chaos_value *value = find_value(name);
    if (value == NULL) {
        return false;
    }
    snprintf(value->id, sizeof(value->id), "%s", id);
    value->pause_ms = pause_ms;
    value->works = true;
    uv_timer_init(&chaos.loop, &value->timer);
    value->timer.data = value;
    pause_value(value);
    return true;
}

bool values_rest(void)
{
    for (size_t i = 0; i < value_count; i++) {
        if (values[i].busy) {
            return false;
        }
    }
    return true;
}

void values_go(void)
{
    for (size_t i = 0; i < value_count; i++) {
        if (values[i].works && !values[i].busy) {
            pause_value(&values[i]);
        }
    }
}

void values_close_timers(void)
{
    for (size_t i = 0; i < value_count; i++) {
        if (values[i].works && !uv_is_closing((uv_handle_t *)&values[i].timer)) {
            uv_close((uv_handle_t *)&values[i].timer, NULL);
        }
    }
}
