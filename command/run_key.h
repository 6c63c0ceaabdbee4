/* SPDX-License-Identifier: Apache-2.0 */
/* Which runs of a job are done, by their keys. `uvzk lock --key` runs the job of a key
 * once: a run is recorded under its key in the servers, and a later run of the same key
 * finds the record. The functions here decide, and do no I/O: keyed_run.c reads and
 * writes the records, for the command and for the simulated nights of its tests.
 *
 * The list of the keys that are kept is the data of one znode, a line for each key, so
 * that it changes in the same transaction as the records. */
#ifndef RUN_KEY_H
#define RUN_KEY_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define RUN_KEY_SIZE 101U   /* of a key, with its NUL */
#define RUN_KEYS_KEPT 100U  /* the records of the last keys are kept */
#define RUN_KEYS_SIZE 10200 /* of the list as text, with its NUL */

/* Returns true if the text may be a key: 1 to 100 printable ASCII characters without
 * spaces and "/", neither "." nor "..". */
bool run_key_is_valid(const char *text);

/* Compares two keys by age: less than 0 if the first one is older. Digits that stand
 * together are compared as a number, other characters by their codes. So 9 is older than
 * 10, and 2026-11-29 older than 2026-12-01. Equal: only if the texts are. */
int run_key_compare(const char *one, const char *other);

/* What --once-per says: time is divided into slots of period_ms, of which one begins
 * offset_ms after 1970-01-01T00:00Z. The first two are whole seconds. */
struct run_slots {
    int64_t period_ms; /* at least 1 s; 0: no slots, the key is given */
    int64_t offset_ms;
    int64_t slack_ms; /* less than the period */
};

/* Stores the key of the slot to which a run belongs that has begun at this time (the
 * servers' clock, ms since 1970): the beginning of the slot, such as 2026-11-29T02:15:00Z.
 * A run that begins up to slack_ms before a slot belongs to it. */
void run_key_of_time(const struct run_slots *, int64_t begun_ms, char key[RUN_KEY_SIZE]);

/* The keys of the last runs, the oldest first. */
struct run_keys {
    size_t count;
    char keys[RUN_KEYS_KEPT][RUN_KEY_SIZE];
};

/* Reads a list. Returns false if the data is not a list; then it has no keys. */
bool run_keys_read(struct run_keys *, const char *data, size_t length);
/* Returns the length of the text, without its NUL. */
size_t run_keys_write(const struct run_keys *, char text[RUN_KEYS_SIZE]);
/* Adds a key that run_decide has allowed to run. If there is no room for it, the oldest
 * key leaves the list, and its text is stored in `dropped`, which is empty otherwise. */
void run_keys_add(struct run_keys *, const char *key, char dropped[RUN_KEY_SIZE]);
/* Returns the newest key; NULL: the list is empty. */
const char *run_keys_newest(const struct run_keys *);

enum run_decision {
    RUN_NOW,    /* the key is not done: run the job */
    RUN_DONE,   /* the key is done, or with --at-most-once was begun */
    RUN_TOO_OLD /* the key is older than those that are kept: it may have been done */
};

/* has_record: there is a record of this key. */
enum run_decision run_decide(const struct run_keys *, const char *key, bool has_record);

#endif
