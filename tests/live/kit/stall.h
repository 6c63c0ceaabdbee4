/* SPDX-License-Identifier: Apache-2.0 */
/* Stops one thread of another process, as if it got no processor time, while the other
 * threads go on. */
#ifndef STALL_H
#define STALL_H

#include <stdint.h>
#include <sys/types.h>

/* Stops the thread with this name (cut to 15 bytes) where it waits, after it has waited
 * for some time. Returns its id. Returns 0, with a message on stderr, if there is no such
 * thread, or if it was not found waiting within patience_ms. Only the calling thread may
 * end the stall, and it must do so before the process is killed. */
pid_t stall_begin(pid_t process, const char *thread_name, uint64_t patience_ms);
/* Lets the thread go on. Does nothing for 0. */
void stall_end(pid_t thread);

#endif
