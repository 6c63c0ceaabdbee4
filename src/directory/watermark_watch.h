/* The watch of a watermark, on the data of its directory (watermark.h).
 *
 * At most one watch may exist on a path (port.h, 5). If a shared value wants to watch the
 * same path, or a watch on the directory's children is wanted, the watermark ends. If
 * such a watch exists already, the watermark sets none and ends too. */
#ifndef UVZK_WATERMARK_WATCH_H
#define UVZK_WATERMARK_WATCH_H

#include <stdbool.h>

struct uvzk__session;
struct uvzk__queue;

/* Sends the get that arms the watch, if the mark needs one and requests may be sent. Ends
 * the mark if another watch exists on the path, or if there is no ample room for
 * watches. */
void uvzk__watermark_send_watch(struct uvzk__queue *);

/* No local contender is in the directory. Whether the directory is kept for its mark, for
 * up to a session timeout after the last contender got its number. */
bool uvzk__watermark_keeps_directory(struct uvzk__queue *);

/* Another part of the client is about to watch this path: ends the watermarks there. */
void uvzk__watermarks_yield_watch(struct uvzk__session *, const char *path);

#endif
