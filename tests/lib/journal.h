/* A file to which several processes append what they did with one lock, and
 * the judgement over it. One record a line: "E who token" when a holder enters,
 * "L who token" when it leaves; who is any word without spaces. A record is
 * one write to a file opened for appending, so the file's order is the order in
 * which it happened. */
#ifndef JOURNAL_H
#define JOURNAL_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* A descriptor, or -1. */
int journal_open(const char *path);
bool journal_enter(int fd, const char *who, int64_t token);
bool journal_leave(int fd, const char *who, int64_t token);

struct journal_verdict {
    bool exclusive;   /* never two at once: enter and leave alternate */
    bool tokens_grow; /* from every entry to the next; a token of 0 says
                         nothing, as with peers that know of none */
    size_t entries;
    size_t handovers;    /* entries by another one than the entry before */
    char complaint[160]; /* the first wrong record, "" if there is none */
};

/* false: the file cannot be read, or is not a journal. */
bool journal_judge(const char *path, struct journal_verdict *verdict);

#endif
