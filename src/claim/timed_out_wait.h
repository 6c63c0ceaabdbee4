/* What a pending acquire waits for (uvzk_hold_wait), and what one waited for whose time ran
 * out: that is written down then, for the claim is over by the time it is told. */
#ifndef UVZK_TIMED_OUT_WAIT_H
#define UVZK_TIMED_OUT_WAIT_H

#include "claim/claim.h"
#include "directory/wait_reason.h"

/* What an acquire waited for that is told now that its time ran out. */
struct uvzk__timed_out_wait;

/* In the words of the user. path: room for so many bytes, which may be none. */
size_t uvzk__wait_reason_path_size(const struct uvzk__wait_reason *);
uvzk_wait_t uvzk__wait_reason_to_public(const struct uvzk__wait_reason *, char *path);

/* What the claim waits for. */
void uvzk__claim_wait_reason(const struct uvzk__claim *, size_t most,
                             struct uvzk__wait_reason *);

/* The same of those of its contenders that do not hold: of one that has somebody before it,
 * else of the first. */
void uvzk__claim_plain_wait_reason(const struct uvzk__claim *, size_t most,
                                   struct uvzk__wait_reason *);

/* Its time has run out; or it was tried once, where somebody else of ours stands
 * before it so that it was never begun (NULL): the code of that, and what it waited
 * for, to be told with it; NULL if there is no memory for that. */
int uvzk__wait_timed_out(const struct uvzk__claim *, struct uvzk__timed_out_wait **);

/* While its acquire callback runs, it can be asked about; then it is freed. NULL: nothing
 * is known. */
void uvzk__timed_out_wait_notify(struct uvzk__timed_out_wait *, uvzk_hold_t *,
                                 uvzk_hold_acquire_cb, int status);

/* Of the one whose acquire callback runs on this thread; else NULL. */
const uvzk_wait_t *uvzk__timed_out_wait_of(const uvzk_hold_t *);

#endif
