/* SPDX-License-Identifier: Apache-2.0 */
/* The library in a process of its own, spoken to in lines as CuratorPeer and KazooPeer are;
 * it is built against any version that has the public names of today, or those of 0.1.
 * Arguments: hosts, session timeout in ms.
 *
 * NAME is a lock of this peer, ID one of its contenders.
 *
 *   mutex NAME PATH             made NAME
 *   rw NAME PATH                made NAME     its halves are NAME.read, NAME.write
 *   semaphore NAME PATH LEASES  made NAME
 *   cycle ID NAME JOURNAL TIMES PERMITS ROUND_TRIPS    cycled ID
 *       acquire, write down that it takes so many permits (of a semaphore, so many
 *       leases), ask the server for something, write down that it leaves, release.
 *
 * At first it says "ready"; whatever fails is "error ID-or-NAME TEXT". It ends with its
 * input. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <uvzk.h>

#include "journal.h"

#define LOCKS_MAX 8
#define CONTENDERS_MAX 16
#define WORD_MAX 200

enum kind { MUTEX, READ_WRITE, SEMAPHORE };

struct lock {
    enum kind kind;
    char name[WORD_MAX], path[WORD_MAX];
    uvzk_lock_t single;
    uvzk_rwlock_t both;
};

struct contender {
    char id[WORD_MAX];
    uvzk_hold_t hold;
    uvzk_req_t proof;
    uvzk_lock_t *lock;
    enum kind kind;
    int journal, left, round_trips, still;
    unsigned permits;
    bool queued;
};

static uv_loop_t loop;
static uv_pipe_t input;
static uvzk_client_t client;
static struct lock locks[LOCKS_MAX];
static struct contender contenders[CONTENDERS_MAX];
static size_t lock_count, contender_count;
static bool ready, closing;
static char line[2048];
static size_t length;

static void say(const char *what, const char *who)
{
    printf("%s %s\n", what, who);
    fflush(stdout);
}

static void wrong(const char *who, int status)
{
    printf("error %s %s\n", who, uvzk_strerror(status));
    fflush(stdout);
}

/* ------------------------------------------------------------------------- cycles */

static void go_in(struct contender *contender);

/* A lease's token may be its neighbours', and says nothing of an order. */
static int64_t token(const struct contender *contender)
{
    return contender->kind == SEMAPHORE ? 0 : uvzk_hold_token(&contender->hold);
}

static void on_released(uvzk_hold_t *hold, int status)
{
    struct contender *contender = hold->data;

    if (status < 0) {
        wrong(contender->id, status);
    } else if (--contender->left > 0) {
        go_in(contender);
    } else {
        say("cycled", contender->id);
    }
}

static void on_proved(uvzk_req_t *proof, int status)
{
    struct contender *contender = proof->data;

    if (status == 0 && --contender->still > 0) {
        status = uvzk_hold_verify(&contender->hold, proof, on_proved);
    } else if (status == 0) {
        journal_leave(contender->journal, contender->id, token(contender));
        status = uvzk_hold_release(&contender->hold, on_released);
    }
    if (status < 0) {
        wrong(contender->id, status);
    }
}

static void on_acquired(uvzk_hold_t *hold, int status)
{
    struct contender *contender = hold->data;

    if (status == 0) {
        journal_take(contender->journal, contender->id, token(contender),
                     contender->permits);
        contender->proof.data = contender;
        status = uvzk_hold_verify(hold, &contender->proof, on_proved);
    }
    if (status < 0) {
        wrong(contender->id, status);
    }
}

static void on_lost(uvzk_hold_t *hold, int reason)
{
    wrong(((struct contender *)hold->data)->id, reason);
}

static void on_queued(uvzk_hold_t *hold, uint64_t ahead)
{
    (void)hold;
    (void)ahead;
}

/* Who wants to be told of the line stands in it with a znode of its own, as is waited for
 * when the crowd gathers; later several may share one. */
static void go_in(struct contender *contender)
{
    uvzk_acquire_options_t options;

    uvzk_acquire_options_init(&options);
    options.owner = contender;
    options.leases = contender->kind == SEMAPHORE ? contender->permits : 1;
    options.queued_cb = contender->queued ? NULL : on_queued;
    contender->queued = true;
    contender->hold.data = contender;
    contender->still = contender->round_trips;
    int status = uvzk_lock_acquire(contender->lock, &contender->hold, &options,
                                   on_acquired, on_lost);
    if (status < 0) {
        wrong(contender->id, status);
    }
}

/* ----------------------------------------------------------------------- commands */

static void make(enum kind kind, const char *name, const char *path, unsigned leases)
{
    struct lock *lock = &locks[lock_count];
    int status = UV_ENOMEM;

    if (lock_count < LOCKS_MAX) {
        lock_count++;
        lock->kind = kind;
        snprintf(lock->name, sizeof(lock->name), "%s", name);
        snprintf(lock->path, sizeof(lock->path), "%s", path);
        status = kind == MUTEX ? uvzk_mutex_init(&client, &lock->single, lock->path)
                 : kind == READ_WRITE ? uvzk_rwlock_init(&client, &lock->both, lock->path)
                                      : uvzk_semaphore_init(&client, &lock->single,
                                                            lock->path, leases, NULL);
    }
    if (status < 0) {
        wrong(name, status);
    } else {
        say("made", name);
    }
}

/* NAME, NAME.read or NAME.write. */
static bool find(struct contender *contender, const char *name)
{
    for (size_t i = 0; i < lock_count; i++) {
        struct lock *lock = &locks[i];
        size_t size = strlen(lock->name);
        if (strncmp(name, lock->name, size) == 0 &&
            (name[size] == '\0') == (lock->kind != READ_WRITE)) {
            contender->kind = lock->kind;
            contender->lock = lock->kind != READ_WRITE            ? &lock->single
                              : strcmp(name + size, ".read") == 0 ? &lock->both.read
                                                                  : &lock->both.write;
            return true;
        }
    }
    return false;
}

static void cycle(const char *id, const char *name, const char *journal)
{
    struct contender *contender = &contenders[contender_count];

    if (contender_count == CONTENDERS_MAX || !find(contender, name)) {
        wrong(id, UV_EINVAL);
        return;
    }
    contender_count++;
    snprintf(contender->id, sizeof(contender->id), "%s", id);
    contender->journal = journal_open(journal);
}

static void obey(void)
{
    char word[4][WORD_MAX];
    unsigned numbers[3] = {0};
    int count = sscanf(line, "%199s %199s %199s %199s %u %u %u", word[0], word[1],
                       word[2], word[3], &numbers[0], &numbers[1], &numbers[2]);

    if (count == 3 && strcmp(word[0], "mutex") == 0) {
        make(MUTEX, word[1], word[2], 1);
    } else if (count == 3 && strcmp(word[0], "rw") == 0) {
        make(READ_WRITE, word[1], word[2], 1);
    } else if (count == 4 && strcmp(word[0], "semaphore") == 0) {
        make(SEMAPHORE, word[1], word[2], (unsigned)strtoul(word[3], NULL, 10));
    } else if (count == 7 && strcmp(word[0], "cycle") == 0) {
        size_t before = contender_count;
        cycle(word[1], word[2], word[3]);
        if (contender_count > before) {
            contenders[before].left = (int)numbers[0];
            contenders[before].permits = numbers[1];
            contenders[before].round_trips = (int)numbers[2];
            go_in(&contenders[before]);
        }
    } else {
        say("error unknown", line);
    }
}

/* -------------------------------------------------------------------------- input */

static void on_room(uv_handle_t *handle, size_t suggested, uv_buf_t *buffer)
{
    (void)handle;
    (void)suggested;
    *buffer = uv_buf_init(line + length, (unsigned)(sizeof(line) - 1 - length));
}

static void on_read(uv_stream_t *stream, ssize_t count, const uv_buf_t *buffer)
{
    char *end;

    (void)buffer;
    if (count < 0) {
        uv_close((uv_handle_t *)stream, NULL);
        closing = true;
        uvzk_client_close(&client, NULL);
        return;
    }
    length += (size_t)count;
    line[length] = '\0';
    while ((end = strchr(line, '\n')) != NULL) {
        size_t rest = length - (size_t)(end + 1 - line);
        *end = '\0';
        obey();
        memmove(line, end + 1, rest + 1);
        length = rest;
    }
}

static void on_state(uvzk_client_t *of, uvzk_client_state_t state)
{
    (void)of;
    if (state == UVZK_STATE_CONNECTED && !ready && !closing) {
        ready = true;
        printf("ready\n");
        fflush(stdout);
        uv_read_start((uv_stream_t *)&input, on_room, on_read);
    }
}

int main(int argc, char **argv)
{
    uvzk_client_options_t options;

    if (argc != 3) {
        fprintf(stderr, "usage: %s HOSTS SESSION_MS\n", argv[0]);
        return 2;
    }
    uvzk_client_options_init(&options);
    options.hosts = argv[1];
    options.session_timeout_ms = (uint32_t)strtoul(argv[2], NULL, 10);
    options.state_cb = on_state;
    uv_loop_init(&loop);
    uv_pipe_init(&loop, &input, 0);
    uv_pipe_open(&input, 0);
    int status = uvzk_client_init(&loop, &client, &options);
    if (status == 0) {
        status = uvzk_client_start(&client);
    }
    if (status < 0) {
        wrong("client", status);
        return 1;
    }
    uv_run(&loop, UV_RUN_DEFAULT);
    return uv_loop_close(&loop) == 0 ? 0 : 1;
}
