/* What a pending acquire waits for (uvzk_hold_wait), and what one waited for whose time ran
 * out: that is written down then, for the claim is over by the time it is told. */
#ifndef UVZK_RAN_OUT_H
#define UVZK_RAN_OUT_H

#include "claim/claim.h"
#include "directory/awaiting.h"

/* What an acquire waited for that is told now that its time ran out. */
struct uvzk__ran_out;

/* In the words of the user. path: room for so many bytes, which may be none. */
size_t uvzk__awaiting_path_size(const struct uvzk__awaiting *);
uvzk_wait_t uvzk__awaiting_in_words(const struct uvzk__awaiting *, char *path);

/* What the claim waits for. */
void uvzk__claim_awaits(const struct uvzk__claim *, size_t most, struct uvzk__awaiting *);

/* The same of those of its contenders that do not hold: of one that has somebody before it,
 * else of the first. */
void uvzk__claim_plain_awaits(const struct uvzk__claim *, size_t most,
                              struct uvzk__awaiting *);

/* Its time has run out; or it was tried once, where somebody else of ours stands before it
 * so that it was never begun (NULL): the code of that, and what it waited for, to be told with it; NULL
 * if there is no memory for that. */
int uvzk__wait_ran_out(const struct uvzk__claim *, struct uvzk__ran_out **);

/* While its acquire callback runs, it can be asked about; then it is freed. NULL: nothing
 * is known. */
void uvzk__ran_out_tell(struct uvzk__ran_out *, uvzk_hold_t *, uvzk_hold_acquire_cb,
                        int status);

/* Of the one whose acquire callback runs on this thread; else NULL. */
const uvzk_wait_t *uvzk__ran_out_told(const uvzk_hold_t *);

#endif
