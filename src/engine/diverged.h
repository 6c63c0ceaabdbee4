/* A server has been caught showing what the quorum knows to be gone: it is left for another
 * one. Who comes back to it, for want of others, stays for a pause that grows: two session
 * timeouts at first, five minutes in the end, and from the beginning again when nothing has
 * been found out for an hour. */
#ifndef UVZK_DIVERGED_H
#define UVZK_DIVERGED_H

#include <stdbool.h>
#include <stdint.h>

struct uvzk__session;

/* Of a client. */
struct uvzk__divergence {
    uint64_t found_ms; /* the last time that one was left; 0: never */
    uint32_t pause_ms; /* before it may happen again */
};

/* This znode gives it away: it shows it; or it does not, and it stands. False: one has
 * been left not long ago, so that it stays. */
bool uvzk__diverged(struct uvzk__session *, const char *path, bool shows);

#endif
