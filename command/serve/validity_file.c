/* SPDX-License-Identifier: Apache-2.0 */
/* Makes the file, and tells the validity of all holds at most ten times a second
 * (validity_file.h). daemon.c calls it. */
#include "serve/validity_file.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include <utlist.h>

#include "output.h"
#include "serve/daemon.h"
#include "serve/served_connection.h"
#include "serve/served_hold.h"

#define TELL_EVERY_MS 100U

/* ------------------------------------------------------------------------- the file */

/* A writable mapping that exists already stays writable. */
static bool seal(int fd)
{
    return fcntl(fd, F_ADD_SEALS,
                 F_SEAL_SHRINK | F_SEAL_GROW | F_SEAL_FUTURE_WRITE | F_SEAL_SEAL) == 0;
}

/* Returns NULL with errno if it fails. */
static struct served_slots_memory *map(int fd)
{
    size_t size = sizeof(struct served_slots_memory);
    void *memory = ftruncate(fd, (off_t)size) < 0
                       ? MAP_FAILED
                       : mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);

    if (memory == MAP_FAILED) {
        return NULL;
    }
    if (!seal(fd)) {
        munmap(memory, size);
        return NULL;
    }
    return memory;
}

/* Returns the file, which stays open as long as the process lives; -1 after it has reported
 * why there is none. */
static int make_file(struct served_slots_memory **memory)
{
    int fd = memfd_create("uvzk-validity", MFD_CLOEXEC | MFD_ALLOW_SEALING);

    *memory = fd < 0 ? NULL : map(fd);
    if (*memory == NULL) {
        output_report("the parent cannot read how long its holds are valid: %s",
                      strerror(errno));
    }
    if (fd >= 0 && *memory == NULL) {
        close(fd);
        fd = -1;
    }
    return fd;
}

/* -------------------------------------------------------------------------- the holds */

static void tell(struct daemon *daemon)
{
    struct served_connection *connection;

    if (served_slots_are_used(&daemon->slots)) {
        DL_FOREACH(daemon->connections, connection)
        {
            served_holds_tell(connection);
        }
    }
}

/* It has woken up the loop, which now runs on_prepare. */
static void on_timer(uv_timer_t *timer)
{
    (void)timer;
}

/* Only what the loop reads makes a validity longer. */
static void on_prepare(uv_prepare_t *prepare)
{
    struct daemon *daemon = prepare->loop->data;
    struct validity_file *file = &daemon->validity;
    uint64_t now = uv_now(prepare->loop), next = file->told_at + TELL_EVERY_MS;

    if (now >= next) {
        uv_timer_stop(&file->timer);
        tell(daemon);
        file->told_at = now;
    } else if (!uv_is_active((uv_handle_t *)&file->timer)) {
        uv_timer_start(&file->timer, on_timer, next - now, 0);
    }
}

void validity_file_begin(struct daemon *daemon)
{
    struct validity_file *file = &daemon->validity;
    struct served_slots_memory *memory;
    int fd = make_file(&memory);

    if (fd < 0) {
        return;
    }
    served_slots_init(&daemon->slots, memory);
    snprintf(file->path, sizeof(file->path), "/proc/%ld/fd/%d", (long)getpid(), fd);
    uv_prepare_init(&daemon->loop, &file->prepare);
    uv_timer_init(&daemon->loop, &file->timer);
    uv_prepare_start(&file->prepare, on_prepare);
    file->open = true;
}

void validity_file_close(struct validity_file *file)
{
    if (file->open) {
        uv_close((uv_handle_t *)&file->prepare, NULL);
        uv_close((uv_handle_t *)&file->timer, NULL);
    }
}
