/* SPDX-License-Identifier: Apache-2.0 */
/* Writes the journal of a lock, one line for each entry and exit, and checks it. Test
 * processes write it; the test that started them checks it at the end.
 *
 * The one idea: a record is one write to a file opened with O_APPEND, so the kernel
 * orders the records of all processes. The check replays them with the set of holders
 * that are in. */
#include "journal.h"

#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#define WHO_SIZE 64

int journal_open(const char *path)
{
    return open(path, O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0600);
}

static bool append(int fd, char what, const char *who, int64_t token, unsigned permits)
{
    char record[128];
    int length = snprintf(record, sizeof(record), "%c %s %" PRId64 " %u\n", what, who,
                          token, permits);
    return length > 0 && (size_t)length < sizeof(record) &&
           write(fd, record, (size_t)length) == length;
}

bool journal_take(int fd, const char *who, int64_t token, unsigned permits)
{
    return append(fd, 'E', who, token, permits);
}

bool journal_give_back(int fd, const char *who, int64_t token, unsigned permits)
{
    return append(fd, 'L', who, token, permits);
}

bool journal_enter(int fd, const char *who, int64_t token)
{
    return journal_take(fd, who, token, 1);
}

bool journal_leave(int fd, const char *who, int64_t token)
{
    return journal_give_back(fd, who, token, 0);
}

struct record {
    char what, who[WHO_SIZE];
    int64_t token;
    unsigned permits;
};

struct holder {
    char who[WHO_SIZE];
    unsigned permits;
};

struct reading {
    struct journal_result *result;
    unsigned permits, taken;
    struct holder inside[JOURNAL_INSIDE_MAX]; /* the first result->inside are used */
    size_t line;
    char before[WHO_SIZE]; /* the holder of the latest entry */
    int64_t highest_token; /* of all entries so far */
    int64_t sole_token;    /* of the latest entry that took all permits */
};

/* Clears the property, and keeps the text of the first violation. */
static void complain(struct reading *reading, bool *property, const char *text,
                     const char *who)
{
    struct journal_result *result = reading->result;
    *property = false;
    if (result->first_error[0] == '\0') {
        snprintf(result->first_error, sizeof(result->first_error), "record %zu: %s %s",
                 reading->line, who, text);
    }
}

static struct holder *find(struct reading *reading, const char *who)
{
    for (size_t i = 0; i < reading->result->inside; i++) {
        if (strcmp(reading->inside[i].who, who) == 0) {
            return &reading->inside[i];
        }
    }
    return NULL;
}

/* Holders that take all permits exclude all others, so their tokens are ordered with
 * those of all. Other holders enter in any order among themselves. */
static void check_token(struct reading *reading, const struct record *record)
{
    bool sole = record->permits == reading->permits;
    if (record->token == 0) {
        return;
    }
    if (record->token <= (sole ? reading->highest_token : reading->sole_token)) {
        complain(reading, &reading->result->tokens_grow, "enters with an old token",
                 record->who);
    }
    if (sole) {
        reading->sole_token = record->token;
    }
    if (record->token > reading->highest_token) {
        reading->highest_token = record->token;
    }
}

/* A handover is an entry by another holder than the entry before. */
static void check_handover(struct reading *reading, const char *who)
{
    struct journal_result *result = reading->result;
    if (result->entries > 0 && strcmp(reading->before, who) != 0) {
        result->handovers++;
        result->crossings += reading->before[0] != who[0];
    }
    result->entries++;
    snprintf(reading->before, sizeof(reading->before), "%s", who);
}

/* Returns false if more holders are in than JOURNAL_INSIDE_MAX. */
static bool check_entry(struct reading *reading, const struct record *record)
{
    struct journal_result *result = reading->result;
    if (result->inside == JOURNAL_INSIDE_MAX) {
        return false;
    }
    if (find(reading, record->who) != NULL) {
        complain(reading, &result->exclusive, "enters a second time", record->who);
    }
    struct holder *holder = &reading->inside[result->inside++];
    memcpy(holder->who, record->who, sizeof(holder->who));
    holder->permits = record->permits;
    reading->taken += record->permits;
    if (reading->taken > reading->permits) {
        complain(reading, &result->exclusive, "enters beside too many", record->who);
    }
    if (result->inside > result->peak) {
        result->peak = result->inside;
    }
    check_token(reading, record);
    check_handover(reading, record->who);
    return true;
}

static void check_exit(struct reading *reading, const struct record *record)
{
    struct journal_result *result = reading->result;
    struct holder *holder = find(reading, record->who);
    if (holder == NULL) {
        complain(reading, &result->exclusive, "leaves, but is not in", record->who);
        return;
    }
    /* 0: all that the holder has. */
    unsigned permits = record->permits == 0 ? holder->permits : record->permits;
    if (permits > holder->permits) {
        complain(reading, &result->exclusive, "gives back what it has not", record->who);
        permits = holder->permits;
    }
    holder->permits -= permits;
    reading->taken -= permits;
    if (holder->permits == 0) {
        /* The last entry takes the place of the holder that has left. */
        *holder = reading->inside[--result->inside];
    }
}

static bool read_record(const char *line, struct record *record)
{
    int fields = sscanf(line, "%c %63s %" SCNd64 " %u", &record->what, record->who,
                        &record->token, &record->permits);
    /* The permits are missing: one is taken, or all are given back. */
    if (fields == 3) {
        record->permits = record->what == 'E' ? 1 : 0;
    }
    return fields >= 3 &&
           ((record->what == 'E' && record->permits > 0) || record->what == 'L');
}

bool journal_check_permits(const char *path, unsigned permits,
                           struct journal_result *result)
{
    struct reading reading = {.result = result, .permits = permits};
    struct record record;
    char line[256];
    bool well_formed = true;
    FILE *file = fopen(path, "r");
    memset(result, 0, sizeof(*result));
    result->exclusive = true;
    result->tokens_grow = true;
    if (file == NULL) {
        return false;
    }
    while (well_formed && fgets(line, sizeof(line), file) != NULL) {
        reading.line++;
        well_formed = read_record(line, &record);
        if (well_formed && record.what == 'E') {
            well_formed = check_entry(&reading, &record);
        } else if (well_formed) {
            check_exit(&reading, &record);
        }
    }
    fclose(file);
    return well_formed;
}

bool journal_check(const char *path, struct journal_result *result)
{
    return journal_check_permits(path, 1, result);
}
