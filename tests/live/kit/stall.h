/* One thread of another process without the processor, as if the system had no time for
 * it, while the others go on. */
#ifndef STALL_H
#define STALL_H

#include <stdint.h>
#include <sys/types.h>

/* Stops the thread of that name (cut to 15 bytes) where it waits for something and has
 * waited for some time: its id. 0, told on stderr: there is none, or it was not found at
 * rest in so many ms. Only the thread that calls this may end it, and must before the
 * process is killed. */
pid_t stall_begin(pid_t process, const char *thread_name, uint64_t patience_ms);
/* Nothing for 0. */
void stall_end(pid_t thread);

#endif
