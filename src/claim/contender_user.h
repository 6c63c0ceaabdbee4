/* The callbacks by which contenders report to their claims, and ask them. */
#ifndef UVZK_CONTENDER_USER_H
#define UVZK_CONTENDER_USER_H

struct uvzk__contender_user;

extern const struct uvzk__contender_user uvzk__claim_contender_user;

#endif
