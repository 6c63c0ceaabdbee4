/* SPDX-License-Identifier: Apache-2.0 */
/* The terminal while `uvzk top` shows its table: the alternative screen, keys that arrive
 * one by one and without an echo, and the signals that concern a screen. The terminal is
 * restored when the process ends, except by SIGKILL and the like. */
#ifndef SCREEN_H
#define SCREEN_H

#include <stdbool.h>
#include <stddef.h>
#include <stdio.h>

#include <uv.h>

enum screen_event {
    SCREEN_QUIT,  /* q, or the end of the input */
    SCREEN_HELP,  /* ? */
    SCREEN_REDRAW /* the size has changed, or the process was stopped */
};

struct screen;
typedef void (*screen_cb)(struct screen *, enum screen_event);

enum { SCREEN_SIGNALS = 6 };

struct screen {
    bool open;
    bool has_keys; /* standard input is a terminal */
    uv_poll_t keys;
    uv_signal_t signals[SCREEN_SIGNALS];
    screen_cb cb;
    void *data; /* the user's */
};

/* Returns true if standard output is a terminal that can show a screen. */
bool screen_is_possible(void);

/* Switches to the alternative screen. Returns 0 or a negative error code of libuv. The
 * struct must be zeroed, except for `data`. */
int screen_open(struct screen *, uv_loop_t *, screen_cb cb);
/* Restores the terminal and closes the handles. Does nothing if it is not open. */
void screen_close(struct screen *);

/* The number of lines, and of columns, at least 1. */
size_t screen_lines(void);
size_t screen_columns(void);
/* Shows the text, whose lines end with '\n', in place of the current contents. Lines that
 * are too long, or too many, are cut off. */
void screen_show(const char *text);

#endif
