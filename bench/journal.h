/* SPDX-License-Identifier: Apache-2.0 */
/* A file with one line for each hold: who held, its token (0: there are none), when it was
 * granted, and when its release was called, in ns of CLOCK_MONOTONIC. bench/turns/journals.py reads the files of all
 * processes that share a lock. */
#ifndef BENCH_JOURNAL_H
#define BENCH_JOURNAL_H

#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

/* Returns NULL, with a message on stderr, on an error. */
FILE *journal_open(const char *name);

/* Does nothing without a journal, which NULL stands for. */
void journal_add(FILE *journal, size_t holder, int64_t token, uint64_t granted_ns,
                 uint64_t released_ns);

void journal_close(FILE *journal);

#endif
