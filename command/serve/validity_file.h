/* SPDX-License-Identifier: Apache-2.0 */
/* The file in memory with the slots of the holds (served_slots.h), which the parent of a
 * `uvzk serve` opens by its path below /proc. A path needs no native code in any language,
 * and can be sent over pipes; a descriptor (SCM_RIGHTS) cannot.
 *
 * Its size never changes, and only this process can write to it, as the kernel makes sure:
 * a parent that has mapped it may always read it. */
#ifndef VALIDITY_FILE_H
#define VALIDITY_FILE_H

#include <stdbool.h>
#include <stdint.h>

#include <uv.h>

struct daemon;

struct validity_file {
    bool open;
    char path[64];
    uv_prepare_t prepare; /* runs before the loop waits: a proof may have come */
    uv_timer_t timer;     /* until the validity may be told again */
    uint64_t told_at;     /* when it was told, by the loop's clock */
};

/* Makes the file. From then on each hold has a slot, and its validity is written there soon
 * after each proof. Without the file, which is reported, the daemon goes on. */
void validity_file_begin(struct daemon *);
void validity_file_close(struct validity_file *);

#endif
