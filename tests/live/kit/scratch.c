/* SPDX-License-Identifier: Apache-2.0 */
#include "scratch.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <ftw.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <unistd.h>

#define PATH_SIZE 512
#define LOCK_FILE "/in-use"
#define NEW_LOCK_FILE "/in-use.new" /* while it is not locked yet */
#define PREFIX "uvzk-test-"

static int remove_entry(const char *path, const struct stat *status, int type,
                        struct FTW *walk)
{
    (void)status;
    (void)type;
    (void)walk;
    return remove(path);
}

void scratch_remove_tree(const char *path)
{
    nftw(path, remove_entry, 8, FTW_DEPTH | FTW_PHYS);
}

/* A short path, because the directories' paths must fit into the buffers of the tests. */
static const char *root(void)
{
    const char *chosen = getenv("TMPDIR");
    if (chosen != NULL && chosen[0] == '/' && strlen(chosen) < 64) {
        return chosen;
    }
    return access("/dev/shm", W_OK) == 0 ? "/dev/shm" : "/tmp";
}

/* Opens the file and locks it. Returns the descriptor; -1 if another process has the lock,
 * or if there is no file and `flags` does not create it. */
static int take_lock(const char *path, int flags)
{
    int fd = open(path, O_RDWR | O_CLOEXEC | flags, 0600);
    if (fd >= 0 && flock(fd, LOCK_EX | LOCK_NB) != 0) {
        close(fd);
        fd = -1;
    }
    return fd;
}

/* Creates the directory's lock file, which is locked before it gets its name: another test
 * that found it unlocked would remove the directory. Returns the descriptor, or -1. */
static int make_lock(const char *directory)
{
    char made[PATH_SIZE + sizeof(NEW_LOCK_FILE)], path[PATH_SIZE + sizeof(LOCK_FILE)];
    snprintf(made, sizeof(made), "%s" NEW_LOCK_FILE, directory);
    snprintf(path, sizeof(path), "%s" LOCK_FILE, directory);
    int fd = take_lock(made, O_CREAT);
    if (fd >= 0 && rename(made, path) != 0) {
        close(fd);
        fd = -1;
    }
    return fd;
}

/* Removes the directories of killed tests: those whose lock file is not locked. The
 * kernel releases a lock when its process ends. */
static void sweep(void)
{
    char path[PATH_SIZE], lock_file[PATH_SIZE + sizeof(LOCK_FILE)];
    struct dirent *entry;
    DIR *directory = opendir(root());
    while (directory != NULL && (entry = readdir(directory)) != NULL) {
        if (strncmp(entry->d_name, PREFIX, strlen(PREFIX)) != 0) {
            continue;
        }
        snprintf(path, sizeof(path), "%s/%s", root(), entry->d_name);
        snprintf(lock_file, sizeof(lock_file), "%s" LOCK_FILE, path);
        int lock = take_lock(lock_file, 0);
        if (lock >= 0) {
            scratch_remove_tree(path);
            close(lock);
        }
    }
    if (directory != NULL) {
        closedir(directory);
    }
}

bool scratch_make(struct scratch *scratch)
{
    sweep();
    snprintf(scratch->path, sizeof(scratch->path), "%s/" PREFIX "XXXXXX", root());
    scratch->lock = mkdtemp(scratch->path) == NULL ? -1 : make_lock(scratch->path);
    if (scratch->lock < 0) {
        fprintf(stderr, "scratch: %s: %s\n", scratch->path, strerror(errno));
    }
    return scratch->lock >= 0;
}

void scratch_remove(struct scratch *scratch)
{
    scratch_remove_tree(scratch->path);
    close(scratch->lock);
}
