/* Limits how long an acquire waits: until its timeout_ms is over, or, with UVZK_TRY_ONCE,
 * only until it is known that it has to wait. */
#ifndef UVZK_ACQUIRE_TIMEOUT_H
#define UVZK_ACQUIRE_TIMEOUT_H

#include <stdbool.h>
#include <stdint.h>

struct uvzk__acquisition;
struct uvzk__link;
struct uvzk__timer;

/* The first function returns true if the acquisition has UVZK_TRY_ONCE; the second
 * returns the acquisition to which a link in session->claims->try_once belongs. */
bool uvzk__acquisition_is_try_once(const struct uvzk__acquisition *);
struct uvzk__acquisition *uvzk__acquisition_of_try(struct uvzk__link *);

/* ------------------------------------------------------------ for this room alone */

/* For an acquisition that is limited. The acquisition of a claim waits from now on.
 * timeout_ms: as in the options. */
void uvzk__acquire_timeout_start(struct uvzk__acquisition *, int64_t timeout_ms);
/* The acquisition no longer waits. */
void uvzk__acquire_timeout_stop(struct uvzk__acquisition *);

/* An acquisition with UVZK_TRY_ONCE finds the lock taken: ends with UV_ETIMEDOUT. */
void uvzk__acquisition_try_failed(struct uvzk__acquisition *);

/* The timer of its timeout. NULL: it has UVZK_TRY_ONCE, or waits without limit. */
struct uvzk__timer *uvzk__acquisition_deadline(const struct uvzk__acquisition *);

#endif
