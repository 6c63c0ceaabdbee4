/* The watch of a watermark, on the data of its directory (watermark.h).
 *
 * One watch stands on one path: where another one is wanted, of a shared value or on the
 * children, the watermark gives way, and it does not begin where one stands. */
#ifndef UVZK_WATERMARK_WATCH_H
#define UVZK_WATERMARK_WATCH_H

#include <stdbool.h>

struct uvzk__session;
struct uvzk__queue;

/* Sends what it needs. */
void uvzk__watermark_send_watch(struct uvzk__queue *);

/* Nobody of ours is there. Whether the directory is kept for it, for a while. */
bool uvzk__watermark_keeps_directory(struct uvzk__queue *);

/* Somebody else watches this path from now on. */
void uvzk__watermarks_yield_watch(struct uvzk__session *, const char *path);

#endif
