/* SPDX-License-Identifier: Apache-2.0 */
/* Finds the descendants of this process in /proc and signals them (descendants.h). A
 * spare descriptor is kept open, so /proc can be read even when the system has no more
 * descriptors. supervisor.c and supervised_run.c call it. */
#include "descendants.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <unistd.h>

struct process {
    pid_t pid, parent, group;
    unsigned long long birth; /* clock ticks since the boot */
    bool alive, ours;         /* not a zombie; a descendant, set by mark() */
};

struct processes {
    struct process *list;
    size_t count, room;
    bool incomplete; /* there may be more: file descriptors or memory were short */
};

/* Of this process. all: NULL before descendants_adopt. spare: is closed while a file of
 * /proc is open, so that there is always room for one. */
static struct {
    DIR *all;
    int spare;
} proc;

int descendants_adopt(void)
{
    if (proc.all != NULL) {
        closedir(proc.all); /* the parent's, which reads it too */
        close(proc.spare);
    }
    proc.all = opendir("/proc");
    proc.spare = proc.all == NULL ? -1 : fcntl(dirfd(proc.all), F_DUPFD_CLOEXEC, 0);
    if (proc.spare < 0) {
        return -errno;
    }
    return prctl(PR_SET_CHILD_SUBREAPER, 1L, 0L, 0L, 0L) == 0 ? 0 : -errno;
}

static void use_spare(void)
{
    if (proc.all != NULL) {
        close(proc.spare);
    }
}

static void keep_spare(void)
{
    if (proc.all != NULL) {
        proc.spare = fcntl(dirfd(proc.all), F_DUPFD_CLOEXEC, 0);
    }
}

/* Reads the file `name` of /proc. Returns false, with errno, if it cannot be read. */
static bool read_text(const char *name, char *text, size_t size)
{
    char path[64];

    snprintf(path, sizeof(path), "%s%s", proc.all == NULL ? "/proc/" : "", name);
    use_spare();
    int fd =
        openat(proc.all == NULL ? AT_FDCWD : dirfd(proc.all), path, O_RDONLY | O_CLOEXEC);
    int error = errno;
    ssize_t length = fd < 0 ? -1 : read(fd, text, size - 1);
    if (fd >= 0) {
        close(fd);
    }
    keep_spare();
    errno = error;
    text[length < 0 ? 0 : length] = '\0';
    return length > 0;
}

/* Reads a file PID/stat: "PID (NAME) STATE PARENT GROUP ...". The name may contain spaces
 * and parentheses, so the fields are read from after the last ")". The start time is the
 * 22nd field. */
static bool read_stat(const char *name, struct process *out)
{
    char text[1024];

    if (!read_text(name, text, sizeof(text))) {
        return false;
    }
    const char *behind_name = strrchr(text, ')');
    char state;
    out->pid = (pid_t)strtol(text, NULL, 10);
    if (behind_name == NULL ||
        sscanf(behind_name + 1,
               " %c %d %d %*s %*s %*s %*s %*s %*s %*s %*s %*s %*s %*s %*s %*s %*s %*s %*s"
               " %llu",
               &state, &out->parent, &out->group, &out->birth) != 4) {
        return false;
    }
    out->alive = state != 'Z' && state != 'X';
    out->ours = false;
    return true;
}

static bool read_process(pid_t pid, struct process *out)
{
    char name[32];

    snprintf(name, sizeof(name), "%d/stat", (int)pid);
    return read_stat(name, out);
}

static bool is_shortage(int error)
{
    return error == EMFILE || error == ENFILE || error == ENOMEM;
}

/* A process in its own namespace may see the /proc of another namespace, which shows it
 * under another number. */
int descendants_check(void)
{
    struct process self;

    errno = 0;
    if (read_stat("self/stat", &self)) {
        return self.pid == getpid() && self.parent == getppid() ? 0 : -ENOENT;
    }
    return is_shortage(errno) ? -errno : -ENOENT;
}

unsigned long long descendants_start_time(pid_t pid)
{
    struct process process;

    return read_process(pid, &process) ? process.birth : 0;
}

bool descendants_has(pid_t ancestor, unsigned long long start_time)
{
    struct process process = {.parent = getppid()};

    while (process.parent > 0 && read_process(process.parent, &process)) {
        if (process.pid == ancestor) {
            return process.birth == start_time;
        }
    }
    return false;
}

static void add(struct processes *processes, const struct process *process)
{
    if (processes->count == processes->room) {
        size_t room = processes->room * 2 + 64;
        struct process *more = realloc(processes->list, room * sizeof(*more));
        if (more == NULL) {
            processes->incomplete = true;
            return; /* the processes that are listed already still get the signal */
        }
        processes->list = more;
        processes->room = room;
    }
    processes->list[processes->count++] = *process;
}

/* Any other error is permanent, and tells nothing about descendants: there is no /proc,
 * or the process has ended or is another user's. */
static void note_shortage(struct processes *processes, int error)
{
    if (is_shortage(error)) {
        processes->incomplete = true;
    }
}

static void list_those_of(DIR *all, struct processes *processes)
{
    struct process process;
    struct dirent *entry;

    while ((entry = readdir(all)) != NULL) {
        pid_t pid = (pid_t)strtol(entry->d_name, NULL, 10);
        errno = 0;
        if (pid > 0 && read_process(pid, &process)) {
            add(processes, &process);
        } else {
            note_shortage(processes, errno);
        }
    }
}

static void list_all(struct processes *processes)
{
    DIR *all = proc.all == NULL ? opendir("/proc") : proc.all;

    if (all == NULL) {
        note_shortage(processes, errno);
        return;
    }
    rewinddir(all);
    list_those_of(all, processes);
    if (proc.all == NULL) {
        closedir(all);
    }
}

static bool is_ours(const struct processes *processes, pid_t pid)
{
    for (size_t i = 0; i < processes->count; i++) {
        if (processes->list[i].pid == pid) {
            return processes->list[i].ours;
        }
    }
    return false;
}

/* Marks the descendants of this process. Repeats until a pass marks no process, because a
 * child may be listed before its parent. */
static void mark(struct processes *processes)
{
    pid_t self = getpid();
    bool more = true;

    while (more) {
        more = false;
        for (size_t i = 0; i < processes->count; i++) {
            struct process *process = &processes->list[i];
            if (!process->ours &&
                (process->parent == self || is_ours(processes, process->parent))) {
                process->ours = true;
                more = true;
            }
        }
    }
}

size_t descendants_signal(pid_t group, unsigned long long since, int signal_number)
{
    struct processes processes = {0};
    size_t alive = 0;

    /* One call reaches the whole group, including a member that is started at this
     * moment. */
    if (group > 0) {
        kill(-group, signal_number);
    }
    list_all(&processes);
    mark(&processes);
    for (size_t i = 0; i < processes.count; i++) {
        const struct process *process = &processes.list[i];
        if (!process->ours || !process->alive || process->birth < since) {
            continue;
        }
        alive++;
        if (group <= 0 || process->group != group) {
            kill(process->pid, signal_number);
        }
    }
    free(processes.list);
    /* Callers repeat until none is left, so an unknown process counts as one. */
    return alive == 0 && processes.incomplete ? 1 : alive;
}
