/* SPDX-License-Identifier: Apache-2.0 */
/* A session of the bare C client, and the directories in which a raw benchmark works. All
 * functions that open, make or remove something block. Error codes are ZooKeeper's. */
#ifndef BENCH_RAW_SESSION_H
#define BENCH_RAW_SESSION_H

#include <semaphore.h>
#include <stddef.h>
#include <zookeeper/zookeeper.h>

struct raw_session {
    zhandle_t *zh; /* NULL: not open */
    sem_t connected;
};

/* Returns ZOK, or ZOPERATIONTIMEOUT after 15 s. */
int raw_session_open(struct raw_session *session, const char *hosts);
void raw_session_close(struct raw_session *session);

enum { RAW_PATH = 64, RAW_NODE = 160 };

/* Writes the path of a directory of this process. */
void raw_directory(char path[RAW_PATH], size_t number);

/* Writes the path with which a contender is created in a directory. The name is as long
 * as that of a Curator contender. */
void raw_contender(char path[RAW_NODE], const char *directory);

/* Creates persistent directories, because the server would remove empty container znodes
 * between two cycles. */
int raw_directories_make(struct raw_session *session, size_t count);
void raw_directories_remove(struct raw_session *session, size_t count);

/* Returns whether the semaphore was posted within so many seconds. */
int raw_wait(sem_t *semaphore, int seconds);

void raw_sleep_ms(uint64_t ms);

#endif
