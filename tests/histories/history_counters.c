/* SPDX-License-Identifier: Apache-2.0 */
/* Directories in which thousands of millions have stood: their counters come near the
 * end, at which uvzk goes no further, or near ZooKeeper's own, where it sticks or
 * turns negative. Other libraries go on to there, and break: beside them there is the
 * first alone. */
#include <inttypes.h>
#include <stdio.h>

#include "base/place.h"
#include "history_parts.h"

#define NEAR 24 /* so many numbers */

static const char *some_directory(struct history *history, int path)
{
    const char *const *directories = history->recipe->directories(history, path);
    size_t count = 0;

    while (directories[count] != NULL) {
        count++;
    }
    return directories[chance(history, count)];
}

void counters_step(struct history *history)
{
    char directory[128];

    if ((history->kinds & HISTORY_HIGH_COUNTERS) == 0 || history->recipe->unnumbered ||
        chance(history, 400) != 0) {
        return;
    }
    int path = some_path(history);
    bool last = chance(history, 3) == 0 && history->foreign_clients == NULL;
    int32_t value =
        (last ? INT32_MAX : UVZK__SEQUENCE_LIMIT) - (int32_t)chance(history, NEAR);
    (void)snprintf(directory, sizeof(directory), "%s%s", history_paths[path],
                   some_directory(history, path));
    int32_t before = sim_counter(history->sim, directory);
    if (before >= 0 && before < value) {
        (void)sim_set_counter(history->sim, directory, value);
        history->result->high_counters++;
        sim_note(history->sim, "the counter of %s comes to %" PRId32, directory, value);
    }
}
