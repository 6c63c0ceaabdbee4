/* SPDX-License-Identifier: Apache-2.0 */
/* ten_lines [HOSTS]: the shortest program that acquires a lock, works, and releases the
 * lock, in ten calls. It ignores errors; mutex.c handles them.
 *
 *   $ ./ten_lines 127.0.0.1:2181 */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <uvzk.h>

static uvzk_client_t client;
static uvzk_mutex_t mutex;
static uvzk_locker_t locker;

static void locked(uvzk_locker_t *of)
{
    printf("mine, with the token %" PRId64 "\n", uvzk_hold_token(&of->hold));
    uvzk_locker_done(of); /* here, or later when the work is done */
}

static void unlocked(uvzk_locker_t *of, int status)
{
    (void)of;
    printf("%s\n", status == 0 ? "given back" : uvzk_strerror(status));
    uvzk_client_close(&client, NULL);
}

int main(int argc, char **argv)
{
    uvzk_client_options_t options;

    uvzk_client_options_init(&options);
    options.hosts = argc > 1 ? argv[1] : getenv("ZOOKEEPER_HOSTS");
    uvzk_client_init(uv_default_loop(), &client, &options);
    uvzk_client_start(&client);
    uvzk_mutex_init(&client, &mutex, "/examples/ten_lines");
    uvzk_lock_run(&mutex, &locker, NULL, locked, unlocked);
    return uv_run(uv_default_loop(), UV_RUN_DEFAULT);
}
