/* The timeout of an acquire, and its single try (acquire_timeout.h). */
#include "claim/acquire_timeout.h"

#include "claim/acquisition.h"
#include "claim/acquisition_parts.h"
#include "claim/timed_out_wait.h"
#include "engine/turn.h"

bool uvzk__acquisition_is_try_once(const struct uvzk__acquisition *acquisition)
{
    return acquisition->is_limited && uvzk__timeout_of(acquisition)->try_once;
}

struct uvzk__timer *
uvzk__acquisition_deadline(const struct uvzk__acquisition *acquisition)
{
    return acquisition->is_limited && !uvzk__timeout_of(acquisition)->try_once
               ? &uvzk__timeout_of(acquisition)->timer
               : NULL;
}

struct uvzk__acquisition *uvzk__acquisition_of_try(struct uvzk__link *link)
{
    return UVZK__CONTAINER_OF(link, struct uvzk__acquire_timeout, try_link)->acquisition;
}

static void timed_out(struct uvzk__timer *timer)
{
    struct uvzk__acquire_timeout *timeout =
        UVZK__CONTAINER_OF(timer, struct uvzk__acquire_timeout, timer);
    /* Before the end: afterwards the claim no longer knows what it waited for. */
    int status =
        uvzk__wait_timed_out(timeout->acquisition->claim, &timeout->timed_out_wait);

    uvzk__acquisition_end_alone(timeout->acquisition, status);
}

void uvzk__acquisition_try_failed(struct uvzk__acquisition *acquisition)
{
    (void)uvzk__wait_timed_out(acquisition->claim,
                               &uvzk__timeout_of(acquisition)->timed_out_wait);
    uvzk__acquisition_end(acquisition, UV_ETIMEDOUT);
}

void uvzk__acquire_timeout_start(struct uvzk__acquisition *acquisition,
                                 int64_t timeout_ms)
{
    struct uvzk__session *session = uvzk__acquisition_session(acquisition);
    struct uvzk__acquire_timeout *timeout = uvzk__timeout_of(acquisition);

    timeout->acquisition = acquisition;
    timeout->try_once = timeout_ms == UVZK_TRY_ONCE;
    if (timeout->try_once) {
        uvzk__list_init(&timeout->try_link);
        uvzk__list_append(&session->claims->try_once, &timeout->try_link);
    } else {
        timeout->timer.due = timed_out;
        uvzk__timer_set(session, &timeout->timer,
                        uvzk__now(session) + (uint64_t)timeout_ms);
    }
}

void uvzk__acquire_timeout_stop(struct uvzk__acquisition *acquisition)
{
    struct uvzk__timer *deadline = uvzk__acquisition_deadline(acquisition);

    if (deadline != NULL) {
        uvzk__timer_clear(uvzk__acquisition_session(acquisition), deadline);
    } else {
        uvzk__list_remove(&uvzk__timeout_of(acquisition)->try_link);
    }
}
