/* SPDX-License-Identifier: Apache-2.0 */
/* A program of 0.3 whose callbacks begin on the line of their head. */
// clang-format off
#include <stdio.h>

#include <uvzk.h>

static void on_read(uvzk_read_t *r, int st, const uvzk_stat_t *stat, const void *data, size_t length) { (void)r; (void)st; (void)stat; (void)data; (void)length; }
static void on_write(uvzk_write_t *r, int st, size_t failed) {
    (void)r; (void)st; (void)failed; }
static void on_roll(uvzk_participants_t *r, int st, const char *const *paths, size_t count)
{ (void)r; (void)st; (void)paths; printf("%zu\n", count); }
static void on_value(uvzk_atomic_call_t *r, int st, const uvzk_atomic_value_t *value);
static void on_value(uvzk_atomic_call_t *r, int st, const uvzk_atomic_value_t *value) { /* nothing */
    (void)r; (void)st; (void)value; }

int main(void)
{
    static uvzk_client_t client;
    static uvzk_lock_t lock;
    static uvzk_hold_t hold;
    static uvzk_atomic_long_t number;
    static uvzk_read_t read;
    static uvzk_write_t write;
    static uvzk_participants_t roll;
    static uvzk_atomic_call_t call;
    const uvzk_write_op_t op = {UVZK_WRITE_CHECK, -1, "/x", NULL, 0};

    return uvzk_client_read(&client, &read, "/x", on_read) + uvzk_hold_write(&hold, &write, &op, 1, on_write) +
           uvzk_lock_participants(&lock, &roll, on_roll) + uvzk_atomic_long_get(&number, &call, on_value);
}
