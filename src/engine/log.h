/* SPDX-License-Identifier: Apache-2.0 */
/* The log lines of a session. A line is passed to the user's log callback at the end of
 * the turn, like every callback: the log callback may call uvzk, and the code that writes
 * a line may be in the middle of a state change. */
#ifndef UVZK_LOG_H
#define UVZK_LOG_H

#include "engine/turn.h"

struct uvzk__log {
    struct uvzk__notification notification;
    struct uvzk__link lines; /* lines that wait for the end of the turn; owned */
    size_t count, bytes;     /* the number of these lines, and the bytes of their texts */
    uint64_t dropped;        /* lines that were dropped and not yet reported */
};

/* At most this many lines and bytes of text wait. Further lines are dropped, and so is a
 * line for which there is no memory. A last line then reports how many lines were
 * dropped. */
#define UVZK__LOG_LINES 256U
#define UVZK__LOG_BYTES 65536U

void uvzk__log_init(struct uvzk__session *);

/* Logs one line. Control characters are escaped. level: UVZK_LOG_*. module: static text,
 * one of the modules that uvzk.h names. Does nothing if the user has set no log
 * callback. */
void uvzk__log(struct uvzk__session *, int level, const char *module, const char *format,
               ...) __attribute__((format(printf, 4, 5)));

#endif
