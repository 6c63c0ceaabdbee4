/* SPDX-License-Identifier: Apache-2.0 */
/* Keys of runs: their order, the list of those that are kept, and what follows for a run
 * (run_key.h). */
#include "run_key.h"

#include <stdio.h>
#include <string.h>
#include <time.h>

/* The first line of the list, which tells it from the data of another znode. */
#define HEAD "uvzk runs\n"

#define MS_PER_S 1000

/* --------------------------------------------------------------------- one key */

static bool is_digit(char letter)
{
    return letter >= '0' && letter <= '9';
}

static bool length_is_valid(const char *text, size_t length)
{
    bool is_directory = (length == 1 || length == 2) && strncmp(text, "..", length) == 0;

    return length > 0 && length < RUN_KEY_SIZE && !is_directory;
}

static bool letters_are_valid(const char *text, size_t length)
{
    for (size_t i = 0; i < length; i++) {
        if (text[i] <= ' ' || text[i] > '~' || text[i] == '/') {
            return false;
        }
    }
    return true;
}

bool run_key_is_valid(const char *text)
{
    size_t length = strlen(text);

    return length_is_valid(text, length) && letters_are_valid(text, length);
}

/* Moves both texts behind their numbers, and compares these. */
static int compare_numbers(const char **one, const char **other)
{
    *one += strspn(*one, "0");
    *other += strspn(*other, "0");
    size_t one_length = strspn(*one, "0123456789");
    size_t other_length = strspn(*other, "0123456789");
    int result = one_length != other_length ? (one_length < other_length ? -1 : 1)
                                            : memcmp(*one, *other, one_length);

    *one += one_length;
    *other += other_length;
    return result;
}

int run_key_compare(const char *one, const char *other)
{
    const char *left = one, *right = other;
    int result = 0;

    while (result == 0 && *left != '\0' && *right != '\0') {
        if (is_digit(*left) && is_digit(*right)) {
            result = compare_numbers(&left, &right);
        } else {
            result = (unsigned char)*left++ - (unsigned char)*right++;
        }
    }
    if (result == 0) {
        result = (*left != '\0') - (*right != '\0');
    }
    /* 7 and 007 are the same number, and not the same key. */
    return result != 0 ? result : strcmp(one, other);
}

/* ------------------------------------------------------------------------ slots */

static int64_t floor_of(int64_t dividend, int64_t divisor)
{
    return dividend / divisor - (dividend % divisor < 0);
}

void run_key_of_time(const struct run_slots *slots, int64_t begun_ms,
                     char key[RUN_KEY_SIZE])
{
    int64_t slot =
        floor_of(begun_ms - slots->offset_ms + slots->slack_ms, slots->period_ms);
    time_t begins = (time_t)((slot * slots->period_ms + slots->offset_ms) / MS_PER_S);
    struct tm parts;

    /* Fails only for years that an int cannot have. */
    if (gmtime_r(&begins, &parts) == NULL ||
        strftime(key, RUN_KEY_SIZE, "%Y-%m-%dT%H:%M:%SZ", &parts) == 0) {
        snprintf(key, RUN_KEY_SIZE, "%lld", (long long)begins);
    }
}

/* ------------------------------------------------------------- the list of keys */

static bool add_line(struct run_keys *keys, const char *line, size_t length)
{
    if (keys->count == RUN_KEYS_KEPT || !length_is_valid(line, length) ||
        !letters_are_valid(line, length)) {
        return false;
    }
    char *key = keys->keys[keys->count];
    memcpy(key, line, length);
    key[length] = '\0';
    if (keys->count > 0 && run_key_compare(keys->keys[keys->count - 1], key) >= 0) {
        return false;
    }
    keys->count++;
    return true;
}

bool run_keys_read(struct run_keys *keys, const char *data, size_t length)
{
    size_t head = strlen(HEAD);

    keys->count = 0;
    if (length < head || memcmp(data, HEAD, head) != 0) {
        return length == 0; /* made by hand, for its ACL */
    }
    for (size_t at = head; at < length;) {
        const char *end = memchr(data + at, '\n', length - at);
        if (end == NULL || !add_line(keys, data + at, (size_t)(end - data) - at)) {
            keys->count = 0;
            return false;
        }
        at = (size_t)(end - data) + 1;
    }
    return true;
}

size_t run_keys_write(const struct run_keys *keys, char text[RUN_KEYS_SIZE])
{
    size_t length = strlen(HEAD);

    memcpy(text, HEAD, length + 1);
    for (size_t i = 0; i < keys->count; i++) {
        length += (size_t)snprintf(text + length, RUN_KEYS_SIZE - length, "%s\n",
                                   keys->keys[i]);
    }
    return length;
}

/* Returns the index of the first key that is not older. */
static size_t place_of(const struct run_keys *keys, const char *key)
{
    size_t place = 0;

    while (place < keys->count && run_key_compare(keys->keys[place], key) < 0) {
        place++;
    }
    return place;
}

static void drop_oldest(struct run_keys *keys, char dropped[RUN_KEY_SIZE])
{
    memcpy(dropped, keys->keys[0], RUN_KEY_SIZE);
    keys->count--;
    memmove(keys->keys[0], keys->keys[1], keys->count * RUN_KEY_SIZE);
}

void run_keys_add(struct run_keys *keys, const char *key, char dropped[RUN_KEY_SIZE])
{
    size_t place = place_of(keys, key);

    dropped[0] = '\0';
    /* Its record may have been deleted by hand, for another run. */
    if (place < keys->count && strcmp(keys->keys[place], key) == 0) {
        return;
    }
    if (keys->count == RUN_KEYS_KEPT) {
        drop_oldest(keys, dropped);
        place--;
    }
    memmove(keys->keys[place + 1], keys->keys[place],
            (keys->count - place) * RUN_KEY_SIZE);
    snprintf(keys->keys[place], RUN_KEY_SIZE, "%s", key);
    keys->count++;
}

const char *run_keys_newest(const struct run_keys *keys)
{
    return keys->count == 0 ? NULL : keys->keys[keys->count - 1];
}

/* ---------------------------------------------------------------- what follows */

enum run_decision run_decide(const struct run_keys *keys, const char *key,
                             bool has_record)
{
    if (has_record) {
        return RUN_DONE;
    }
    /* The list is full, so the records of older keys may have been dropped. */
    if (keys->count == RUN_KEYS_KEPT && place_of(keys, key) == 0 &&
        strcmp(keys->keys[0], key) != 0) {
        return RUN_TOO_OLD;
    }
    return RUN_NOW;
}
