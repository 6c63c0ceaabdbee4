/* What only some acquisitions have: the reports of revocation requests, a timeout, the
 * queued callback, the warning callback. Most acquisitions have none of these, so the
 * memory for them is allocated only if needed, in one piece with the acquisition:
 *
 *     struct uvzk__acquisition, or struct uvzk__revocable_acquisition
 *     struct uvzk__acquire_timeout, if is_limited
 *     struct uvzk__queued_report, if wants_place
 *     struct uvzk__hold_warning, if wants_warning
 *
 * Included by acquisition.c and acquire_timeout.c only. */
#ifndef UVZK_ACQUISITION_PARTS_H
#define UVZK_ACQUISITION_PARTS_H

#include "claim/acquisition.h"

struct uvzk__timed_out_wait;

/* An acquisition with a revoke callback. */
struct uvzk__revocable_acquisition {
    struct uvzk__acquisition acquisition;
    struct uvzk__notification notification;
    uvzk_hold_revoke_cb cb;
    uint32_t count; /* requests for a release that have not been reported yet */
};

/* The timeout or UVZK_TRY_ONCE of an acquisition. */
struct uvzk__acquire_timeout {
    union {
        struct uvzk__timer timer;
        struct uvzk__link try_link; /* try_once: in session->claims->try_once */
    };
    struct uvzk__acquisition *acquisition;
    /* What it waited for when its time ran out, for the acquire callback; NULL: not timed
     * out, or out of memory. */
    struct uvzk__timed_out_wait *timed_out_wait;
    bool try_once;
};

/* The queued callback of an acquisition. */
struct uvzk__queued_report {
    uvzk_hold_queued_cb cb; /* NULL once it has run */
    uint64_t ahead;
};

/* The warning callback of an acquisition (hold_limit.h). */
struct uvzk__hold_warning {
    struct uvzk__acquisition *acquisition;
    struct uvzk__notification notification;
    uvzk_hold_max_hold_cb cb;
};

static inline size_t uvzk__acquisition_size(bool revocable, bool is_limited,
                                            bool wants_place, bool wants_warning)
{
    return (revocable ? sizeof(struct uvzk__revocable_acquisition)
                      : sizeof(struct uvzk__acquisition)) +
           (is_limited ? sizeof(struct uvzk__acquire_timeout) : 0) +
           (wants_place ? sizeof(struct uvzk__queued_report) : 0) +
           (wants_warning ? sizeof(struct uvzk__hold_warning) : 0);
}

/* Each part; the acquisition must have it. */
static inline struct uvzk__revocable_acquisition *
uvzk__revocable_of(struct uvzk__acquisition *acquisition)
{
    return UVZK__CONTAINER_OF(acquisition, struct uvzk__revocable_acquisition,
                              acquisition);
}
static inline struct uvzk__acquire_timeout *
uvzk__timeout_of(const struct uvzk__acquisition *acquisition)
{
    return (struct uvzk__acquire_timeout *)((uintptr_t)acquisition +
                                            uvzk__acquisition_size(acquisition->revocable,
                                                                   false, false, false));
}
static inline struct uvzk__queued_report *
uvzk__queued_report_of(const struct uvzk__acquisition *acquisition)
{
    return (struct uvzk__queued_report *)((uintptr_t)acquisition +
                                          uvzk__acquisition_size(acquisition->revocable,
                                                                 acquisition->is_limited,
                                                                 false, false));
}
static inline struct uvzk__hold_warning *
uvzk__hold_warning_of(const struct uvzk__acquisition *acquisition)
{
    return (struct uvzk__hold_warning *)((uintptr_t)acquisition +
                                         uvzk__acquisition_size(acquisition->revocable,
                                                                acquisition->is_limited,
                                                                acquisition->wants_place,
                                                                false));
}

#endif
