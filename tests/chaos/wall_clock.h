#ifndef CHAOS_WALL_CLOCK_H
#define CHAOS_WALL_CLOCK_H

#include <stdint.h>

/* From now on the wall clock of this process is so far ahead of the machine's; less than 0:
 * behind. */
void wall_clock_set_ahead(int64_t ms);

#endif
