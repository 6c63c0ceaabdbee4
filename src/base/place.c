/* SPDX-License-Identifier: Apache-2.0 */
/* Compares places by sequence number, then by czxid (place.h). */
#include "base/place.h"

bool uvzk__sequence_exhausted(int32_t sequence)
{
    return sequence < 0 || sequence > UVZK__SEQUENCE_LIMIT;
}

int uvzk__place_compare(struct uvzk__place a, struct uvzk__place b)
{
    if (a.sequence != b.sequence) {
        return a.sequence < b.sequence ? -1 : 1;
    }
    if (a.czxid != b.czxid) {
        return a.czxid < b.czxid ? -1 : 1;
    }
    return 0;
}
