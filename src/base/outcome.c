/* SPDX-License-Identifier: Apache-2.0 */
/* Classifies the status of a reply (outcome.h): done, refused, certainly not executed, or
 * unknown. Pure functions. */
#include "base/outcome.h"

#include "uvzk.h"

enum uvzk__outcome uvzk__outcome_of(int status)
{
    switch (status) {
    case 0:
        return UVZK__OUTCOME_DONE;
    case UVZK_ENOTSENT:
    case UVZK_ETHROTTLED: /* the server has dropped it before it looked at it */
        return UVZK__OUTCOME_NOT_SENT;
    case UVZK_ECONNLOSS:
    case UVZK_EEXPIRED:
    case UVZK_EAUTH:
    case UVZK_ECLOSED:
    case UV_ENOMEM: /* the reply could not be stored, or the request not be sent */
        return UVZK__OUTCOME_UNKNOWN;
    default:
        return UVZK__OUTCOME_REFUSED;
    }
}

bool uvzk__is_transient(int status)
{
    enum uvzk__outcome outcome = uvzk__outcome_of(status);

    return outcome == UVZK__OUTCOME_NOT_SENT || outcome == UVZK__OUTCOME_UNKNOWN;
}

bool uvzk__says_connection_lost(int status)
{
    return status == UVZK_ECONNLOSS || status == UVZK_ENOTSENT;
}

bool uvzk__says_session_over(int status)
{
    return status == UVZK_EEXPIRED || status == UVZK_EAUTH || status == UVZK_ECLOSED;
}

int uvzk__status_of_write(int status)
{
    return status == UVZK_EEXPIRED ? UVZK_ECONNLOSS : status;
}
