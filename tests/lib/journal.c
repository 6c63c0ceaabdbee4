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

static bool append(int fd, char what, const char *who, int64_t token)
{
    char record[128];
    int length =
        snprintf(record, sizeof(record), "%c %s %" PRId64 "\n", what, who, token);
    return length > 0 && (size_t)length < sizeof(record) &&
           write(fd, record, (size_t)length) == length;
}

bool journal_enter(int fd, const char *who, int64_t token)
{
    return append(fd, 'E', who, token);
}

bool journal_leave(int fd, const char *who, int64_t token)
{
    return append(fd, 'L', who, token);
}

struct reading {
    struct journal_verdict *verdict;
    size_t line;
    char inside[WHO_SIZE]; /* who is in, "" for nobody */
    char before[WHO_SIZE]; /* who entered last */
    int64_t last_token;
};

static void complain(struct reading *reading, bool *property, const char *text,
                     const char *who)
{
    struct journal_verdict *verdict = reading->verdict;
    *property = false;
    if (verdict->complaint[0] == '\0') {
        snprintf(verdict->complaint, sizeof(verdict->complaint), "record %zu: %s %s",
                 reading->line, who, text);
    }
}

static void judge_entry(struct reading *reading, const char *who, int64_t token)
{
    struct journal_verdict *verdict = reading->verdict;
    if (reading->inside[0] != '\0') {
        complain(reading, &verdict->exclusive, "enters beside another", who);
    }
    if (token != 0 && token <= reading->last_token) {
        complain(reading, &verdict->tokens_grow, "enters with an old token", who);
    }
    if (token != 0) {
        reading->last_token = token;
    }
    if (verdict->entries > 0 && strcmp(reading->before, who) != 0) {
        verdict->handovers++;
    }
    verdict->entries++;
    snprintf(reading->inside, sizeof(reading->inside), "%s", who);
    snprintf(reading->before, sizeof(reading->before), "%s", who);
}

static void judge_exit(struct reading *reading, const char *who)
{
    if (strcmp(reading->inside, who) != 0) {
        complain(reading, &reading->verdict->exclusive, "leaves, but is not in", who);
    }
    reading->inside[0] = '\0';
}

bool journal_judge(const char *path, struct journal_verdict *verdict)
{
    struct reading reading = {.verdict = verdict};
    char what, who[WHO_SIZE], line[256];
    int64_t token;
    bool well_formed = true;
    FILE *file = fopen(path, "r");
    memset(verdict, 0, sizeof(*verdict));
    verdict->exclusive = true;
    verdict->tokens_grow = true;
    if (file == NULL) {
        return false;
    }
    while (fgets(line, sizeof(line), file) != NULL) {
        reading.line++;
        if (sscanf(line, "%c %63s %" SCNd64, &what, who, &token) != 3 ||
            (what != 'E' && what != 'L')) {
            well_formed = false;
        } else if (what == 'E') {
            judge_entry(&reading, who, token);
        } else {
            judge_exit(&reading, who);
        }
    }
    fclose(file);
    return well_formed;
}
