/* The plain kind: a claim that holds when all of its contenders hold, and ends when one of
 * them ends, for whatever reason. The end of the claim withdraws the other contenders. Its
 * fencing token is the greatest czxid of their znodes. */
#ifndef UVZK_PLAIN_CLAIM_H
#define UVZK_PLAIN_CLAIM_H

struct uvzk__claim_kind;
struct uvzk__contender;

extern const struct uvzk__claim_kind uvzk__claim_plain;

/* The functions of the plain kind (claim.h), for other kinds that differ from it in one
 * of them. */
void uvzk__claim_plain_granted(struct uvzk__contender *);
void uvzk__claim_plain_ungranted(struct uvzk__contender *);
void uvzk__claim_plain_ended(struct uvzk__contender *, int code);

#endif
