/* A session of the bare client, and the directories that a raw bench works in. Everything
 * here blocks; the codes are ZooKeeper's. */
#ifndef BENCH_RAW_SESSION_H
#define BENCH_RAW_SESSION_H

#include <semaphore.h>
#include <stddef.h>
#include <zookeeper/zookeeper.h>

struct raw_session {
    zhandle_t *zh; /* NULL: not open */
    sem_t connected;
};

/* ZOK, or ZOPERATIONTIMEOUT after 15 s. */
int raw_session_open(struct raw_session *session, const char *hosts);
void raw_session_close(struct raw_session *session);

enum { RAW_PATH = 64, RAW_NODE = 160 };

/* The path of a directory of this process. */
void raw_directory(char path[RAW_PATH], size_t number);

/* What a contender is created as there: as long as the name of one of Curator's. */
void raw_contender(char path[RAW_NODE], const char *directory);

/* Persistent ones: the server would reap empty containers between two cycles. */
int raw_directories_make(struct raw_session *session, size_t count);
void raw_directories_remove(struct raw_session *session, size_t count);

/* Whether it was posted within so many seconds. */
int raw_wait(sem_t *semaphore, int seconds);

void raw_sleep_ms(uint64_t ms);

#endif
