/* Log lines wait for the end of the turn, as all that is told does: whoever reads them
 * may act, and the machines are in the middle of something when they write one. */
#ifndef UVZK_LOG_H
#define UVZK_LOG_H

#include "engine/turn.h"

struct uvzk__log {
    struct uvzk__notification notification;
    struct uvzk__link lines; /* that wait */
    size_t count, bytes;     /* of them */
    uint64_t dropped;        /* and not told of */
};

/* So many lines and bytes of text wait at most; what comes then is dropped, and so is
 * what finds no memory. How many were dropped is told behind those that were not. */
#define UVZK__LOG_LINES 256U
#define UVZK__LOG_BYTES 65536U

void uvzk__log_init(struct uvzk__session *);

/* One line, its control characters escaped. module: static text, one of those that uvzk.h
 * names. Nothing without a callback. */
void uvzk__log(struct uvzk__session *, int level, const char *module, const char *format,
               ...) __attribute__((format(printf, 4, 5)));

#endif
