/* SPDX-License-Identifier: Apache-2.0 */
/* What the lock programs in C have in common: body.py says what they say and hear. */
#ifndef TORTURE_BODY_H
#define TORTURE_BODY_H

#include <stdbool.h>
#include <stdint.h>
#include <uv.h>
#include <uvzk.h>

/* A lock, as the body uses it. Each call of acquire() is answered by body_locked() or
 * body_failed(), each call of release() by body_unlocked() or body_failed(). */
struct body_lock {
    void (*acquire)(void);
    bool (*holds)(void);
    int64_t (*token)(void);
    void (*release)(void);
};

void body_locked(void);
void body_lost(int reason);
void body_unlocked(int status); /* the status may be that of a hold that was lost */
void body_failed(int status);

/* Runs the program: init makes the lock of this kind at this path. Its arguments are SERVERS
 * NAME TIMEOUT_MS c-client|native KIND. Returns its exit code. */
int body_run(const struct body_lock *lock,
             int (*init)(uvzk_client_t *client, const char *path, const char *kind),
             int argc, char **argv);

#endif
