/* SPDX-License-Identifier: Apache-2.0 */
/* Stops one thread of another process by ptrace. It stops the thread only where it waits,
 * because a thread that is at work may hold locks that others need. Also, Java collects
 * garbage only when each thread has stopped by itself or waits, so the whole process
 * would stand still. A system call alone does not show that the thread waits: waking
 * other threads is a system call too. So the thread must be found several times in the
 * same sleep. */
#include "stall.h"

#include <dirent.h>
#include <errno.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ptrace.h>
#include <sys/wait.h>

#include "zk_process.h"

/* How many times in a row the thread must be found in the same sleep. That takes longer
 * than other threads usually hold a lock. */
#define LOOKS 5

/* comm has at most 15 bytes, so the name is compared as far as comm goes. */
static bool has_name(pid_t process, pid_t thread, const char *name)
{
    char path[64], found[32] = "";
    snprintf(path, sizeof(path), "/proc/%d/task/%d/comm", process, thread);
    FILE *file = fopen(path, "r");
    bool is_it = file != NULL && fgets(found, sizeof(found), file) != NULL &&
                 strncmp(found, name, strcspn(found, "\n")) == 0 && found[0] != '\n';
    if (file != NULL) {
        fclose(file);
    }
    return is_it;
}

static pid_t find_thread(pid_t process, const char *name)
{
    char path[32];
    pid_t thread = 0;
    struct dirent *entry;
    snprintf(path, sizeof(path), "/proc/%d/task", process);
    DIR *tasks = opendir(path);
    while (tasks != NULL && thread == 0 && (entry = readdir(tasks)) != NULL) {
        pid_t candidate = (pid_t)strtol(entry->d_name, NULL, 10);
        thread = candidate != 0 && has_name(process, candidate, name) ? candidate : 0;
    }
    if (tasks != NULL) {
        closedir(tasks);
    }
    return thread;
}

/* Where a thread sleeps: the system call with its arguments and stack pointer, and how
 * often the thread had gone to sleep by then. */
struct sleep {
    char call[160];
    unsigned long count;
};

static FILE *open_of(pid_t process, pid_t thread, const char *what)
{
    char path[64];
    snprintf(path, sizeof(path), "/proc/%d/task/%d/%s", process, thread, what);
    return fopen(path, "r");
}

/* The kernel shows "running" if the thread does not sleep. A system call begins with its
 * number. */
static bool read_call(pid_t process, pid_t thread, struct sleep *sleep)
{
    FILE *file = open_of(process, thread, "syscall");
    bool is_known = file != NULL && fgets(sleep->call, sizeof(sleep->call), file) != NULL;
    if (file != NULL) {
        fclose(file);
    }
    return is_known && sleep->call[0] >= '0' && sleep->call[0] <= '9';
}

static bool read_count(pid_t process, pid_t thread, struct sleep *sleep)
{
    char line[128];
    bool is_known = false;
    FILE *file = open_of(process, thread, "status");
    while (file != NULL && !is_known && fgets(line, sizeof(line), file) != NULL) {
        is_known = sscanf(line, "voluntary_ctxt_switches: %lu", &sleep->count) == 1;
    }
    if (file != NULL) {
        fclose(file);
    }
    return is_known;
}

struct stalling {
    pid_t process, thread;
    struct sleep last;
    int looks;
    bool failed;
};

/* Returns true if the thread has been in the same sleep for LOOKS looks. */
static bool rests(struct stalling *stalling)
{
    struct sleep now = {"", 0};
    bool sleeps = read_call(stalling->process, stalling->thread, &now) &&
                  read_count(stalling->process, stalling->thread, &now);
    bool same = sleeps && now.count == stalling->last.count &&
                strcmp(now.call, stalling->last.call) == 0;
    stalling->looks = same ? stalling->looks + 1 : 0;
    stalling->last = now;
    return stalling->looks >= LOOKS;
}

static bool stops_where_it_rests(void *context)
{
    struct stalling *stalling = context;
    pid_t thread = stalling->thread;
    struct sleep found = {"", 0};
    if (!rests(stalling)) {
        return false;
    }
    stalling->failed = ptrace(PTRACE_SEIZE, thread, NULL, NULL) != 0 ||
                       ptrace(PTRACE_INTERRUPT, thread, NULL, NULL) != 0 ||
                       waitpid(thread, NULL, __WALL) != thread;
    if (stalling->failed || (read_call(stalling->process, thread, &found) &&
                             strcmp(found.call, stalling->last.call) == 0)) {
        return true;
    }
    /* The thread woke up before it was stopped. It goes on, and is looked at again. */
    ptrace(PTRACE_DETACH, thread, NULL, NULL);
    return false;
}

pid_t stall_begin(pid_t process, const char *thread_name, uint64_t patience_ms)
{
    struct stalling stalling = {.process = process,
                                .thread = find_thread(process, thread_name)};
    if (stalling.thread == 0 ||
        !zk_wait_until(stops_where_it_rests, &stalling, patience_ms) || stalling.failed) {
        fprintf(stderr, "stall: cannot stop %s: %s\n", thread_name, strerror(errno));
        return 0;
    }
    return stalling.thread;
}

void stall_end(pid_t thread)
{
    if (thread != 0) {
        ptrace(PTRACE_DETACH, thread, NULL, NULL);
    }
}
