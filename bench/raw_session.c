/* SPDX-License-Identifier: Apache-2.0 */
#include "raw_session.h"

#include <stdio.h>
#include <time.h>
#include <unistd.h>

enum { ANSWER_SECONDS = 15, BATCH = 256 };

int raw_wait(sem_t *semaphore, int seconds)
{
    struct timespec until;
    clock_gettime(CLOCK_REALTIME, &until);
    until.tv_sec += seconds;
    return sem_timedwait(semaphore, &until) == 0;
}

void raw_sleep_ms(uint64_t ms)
{
    const struct timespec pause = {(time_t)(ms / 1000), (long)(ms % 1000) * 1000000L};
    nanosleep(&pause, NULL);
}

static void on_session(zhandle_t *zh, int type, int state, const char *path,
                       void *context)
{
    struct raw_session *session = context;
    (void)zh;
    (void)path;
    if (type == ZOO_SESSION_EVENT && state == ZOO_CONNECTED_STATE) {
        sem_post(&session->connected);
    }
}

static void ignore_log(const char *line)
{
    (void)line;
}

int raw_session_open(struct raw_session *session, const char *hosts)
{
    sem_init(&session->connected, 0, 0);
    session->zh = zookeeper_init2(hosts, on_session, 30000, NULL, session,
                                  ZOO_NO_LOG_CLIENTENV, ignore_log);
    if (session->zh == NULL || !raw_wait(&session->connected, ANSWER_SECONDS)) {
        return ZOPERATIONTIMEOUT;
    }
    zoo_set_servers_resolution_delay(session->zh, -1);
    return ZOK;
}

void raw_session_close(struct raw_session *session)
{
    if (session->zh != NULL) {
        zookeeper_close(session->zh);
        sem_destroy(&session->connected);
    }
    session->zh = NULL;
}

/* --------------------------------------------------------------- directories */

static void parent(char path[RAW_PATH])
{
    snprintf(path, RAW_PATH, "/raw-tasks-%x", (unsigned)getpid());
}

void raw_directory(char path[RAW_PATH], size_t number)
{
    snprintf(path, RAW_PATH, "/raw-tasks-%x/%05zu", (unsigned)getpid(), number);
}

void raw_contender(char path[RAW_NODE], const char *directory)
{
    snprintf(path, RAW_NODE, "%s/_c_00000000-0000-4000-8000-000000000000-lock-",
             directory);
}

/* Creates or removes the directories first to first+count-1 in one multi. */
static int change(struct raw_session *session, size_t first, size_t count, int make)
{
    /* static to keep the stack small: one thread calls this */
    static char paths[BATCH][RAW_PATH];
    zoo_op_t operations[BATCH];
    zoo_op_result_t results[BATCH];

    for (size_t i = 0; i < count; i++) {
        raw_directory(paths[i], first + i);
        if (make) {
            zoo_create_op_init(&operations[i], paths[i], "", 0, &ZOO_OPEN_ACL_UNSAFE,
                               ZOO_PERSISTENT, NULL, 0);
        } else {
            zoo_delete_op_init(&operations[i], paths[i], -1);
        }
    }
    return zoo_multi(session->zh, (int)count, operations, results);
}

static int change_all(struct raw_session *session, size_t count, int make)
{
    int rc = ZOK;

    for (size_t first = 0; first < count && rc == ZOK; first += BATCH) {
        size_t left = count - first;
        rc = change(session, first, left < BATCH ? left : BATCH, make);
    }
    return rc;
}

int raw_directories_make(struct raw_session *session, size_t count)
{
    char path[RAW_PATH];

    parent(path);
    int rc = zoo_create(session->zh, path, "", 0, &ZOO_OPEN_ACL_UNSAFE, ZOO_PERSISTENT,
                        NULL, 0);
    return rc != ZOK ? rc : change_all(session, count, 1);
}

void raw_directories_remove(struct raw_session *session, size_t count)
{
    char path[RAW_PATH];

    if (change_all(session, count, 0) == ZOK) {
        parent(path);
        zoo_delete(session->zh, path, -1);
    }
}
